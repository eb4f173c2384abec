"""Judge an edit by a contract: every clause is a question that a program answers, on the audits before and after.

Contract: pure. The first broken clause is returned with a sentence that says what to do otherwise; the boundary comes
first, then what is forbidden, then what is required. Nothing that an agent says about its own work is asked.
This module must not know how an agent is run.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from fixaudit.audit import Audit, Finding
from fixaudit.checks import Match, Vocabulary, captures, evaluate, select
from fixaudit.facts import Facts
from fixaudit.globs import matches
from fixaudit.relations.base import Truth
from fixaudit.rulebook.rule import Boundary, Clause, Contract, Rule
from fixaudit.rulebook.template import render
from fixaudit.snapshot import LINK, REGULAR, ChangeSet, Snapshot
from fixaudit.text import Text

OWN_FILES = ("fixaudit.yaml", "fixaudit.yml", ".fixaudit/**", "fixaudit-review.md", ".git/**", ".gitmodules")
"""No contract may open these: an agent would change its own judge."""


@dataclass(frozen=True)
class Broken:
    """The clause that an edit breaks. `sentence` names the clause and what was seen."""

    id: str
    sentence: str
    is_requirement: bool = False


def names_for(rule: Rule, finding: Finding) -> dict[str, str]:
    """Return what templates in a contract may use: columns of the finding, its path, directory and root."""
    path = finding.path or ""
    return captures(finding.match) | {
        "path": path,
        "dir": path.rpartition("/")[0],
        "root": finding.root,
        "rule": rule.id,
    }


def broken_contract(
    contract: Contract, before: Audit, after: Audit, finding: Finding, change: ChangeSet
) -> Broken | None:
    """Return the first clause of a contract that a change breaks, or None."""
    rule = before.rulebook.rule(finding.rule)
    assert rule is not None
    names = names_for(rule, finding)
    found = broken_boundary(contract.boundary, before, after, names, change)
    if found is None:
        found = broken_clause(contract.forbidden, before, after, finding, change)
    if found is None:
        found = broken_clause(contract.requirement, before, after, finding, change)
        found = replace(found, is_requirement=True) if found else None
    return found


def broken_clause(
    clauses: Iterable[Clause], before: Audit, after: Audit, finding: Finding, change: ChangeSet
) -> Broken | None:
    """Return the first broken clause of a list, or None."""
    rule = before.rulebook.rule(finding.rule)
    assert rule is not None
    names = names_for(rule, finding)
    for clause in clauses:
        what = _KINDS[clause.kind](clause, before, after, finding, change, names)
        if what is not None:
            return Broken(clause.id, f"{clause.id}: {what}")
    return None


def broken_boundary(
    boundary: Boundary, before: Audit, after: Audit, names: Mapping[str, str], change: ChangeSet
) -> Broken | None:
    """Judge which paths a change touches and how much of them."""
    root = names.get("root", "")

    def allowed(path: str, globs: Sequence[str]) -> bool:
        rendered = [render(glob, names, {}) for glob in globs]
        # Globs are relative to the root, except a template that already gave a path of the whole tree.
        return matches(path, *(g if g == path or not root else f"{root}/{g}" for g in rendered))

    old, new = before.project.snapshot, after.project.snapshot
    for path in change.paths():
        if matches(path, *OWN_FILES):
            return _boundary("edit", f"{path} belongs to fixaudit or git")
        was, now = old.mode(path), new.mode(path)
        if now is None:
            kind, globs = "delete", boundary.delete
        elif was is None:
            kind, globs = "create", (*boundary.create,)
        else:
            kind, globs = "edit", boundary.edit
        if not allowed(path, globs):
            done = {"delete": "deleted", "create": "created", "edit": "edited"}[kind]
            return _boundary(kind, f"{path} may not be {done}")
        if now == LINK or (was is not None and now is not None and was != now) or (was is None and now != REGULAR):
            return _boundary("mode", f"{path} may not become a link or change its mode")
    if len(change.paths()) > boundary.files_at_most:
        return _boundary("files", f"{len(change.paths())} files changed, at most {boundary.files_at_most} may")
    lines = sum(changed_lines(old, new, path) for path in change.paths())
    if lines > boundary.lines_at_most:
        return _boundary("lines", f"{lines} lines changed, at most {boundary.lines_at_most} may")
    return None


def _boundary(part: str, what: str) -> Broken:
    return Broken(f"boundary.{part}", f"boundary.{part}: {what}")


def _lines(snapshot: Snapshot, path: str) -> list[str]:
    if snapshot.mode(path) is None:
        return []
    text = Text.decode(snapshot.read(path))
    return text.content.splitlines() if text else ["(binary)"]


def changed_lines(old: Snapshot, new: Snapshot, path: str) -> int:
    """Count added plus removed lines of one file."""
    before, after = _lines(old, path), _lines(new, path)
    same = sum(b.size for b in SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks())
    return len(before) + len(after) - 2 * same


# -- clause kinds -------------------------------------------------------------------------------------------------


def _check(
    clause: Clause, before: Audit, after: Audit, finding: Finding, change: ChangeSet, names: Mapping[str, str]
) -> str | None:
    assert clause.check is not None
    facts = after.facts_for(finding)
    evaluation = evaluate(clause.check, facts, Vocabulary(after.rulebook.concepts))
    violations: Sequence[Match] = evaluation.violations
    hidden: Sequence[Match] = evaluation.opaque
    if clause.in_path is not None:
        path = render(clause.in_path, names, {})
        violations = [m for m in violations if m.path == path]
        hidden = [m for m in hidden if m.path == path]
    if violations:
        return _where(facts, violations[0]) + render(clause.check.message, {**names, **captures(violations[0])}, {})
    old = evaluate(clause.check, before.facts_for(finding), Vocabulary(before.rulebook.concepts))
    if len(hidden) > len(old.opaque):
        return _where(facts, hidden[0]) + "the change hides this place from the check"
    return None


def _where(facts: Facts, match: Match) -> str:
    text = facts.text(match.row.path) if match.row else None
    if match.row is None or text is None:
        return ""
    return f"{match.row.path}:{text.lines.position(match.row.span[0])[0]}: "


def _preserve(
    clause: Clause, before: Audit, after: Audit, finding: Finding, change: ChangeSet, names: Mapping[str, str]
) -> str | None:
    old, new = (_rows(clause, audit, finding) for audit in (before, after))
    gone, added = old - new, new - old
    if gone:
        return f"{_row_text(min(gone))} is no longer there"
    if added:
        return f"{_row_text(min(added))} was not there before"
    return None


def _rows(clause: Clause, audit: Audit, finding: Finding) -> Counter[tuple[str, ...]]:
    assert clause.query is not None
    found = select(clause.query, audit.facts_for(finding), Vocabulary(audit.rulebook.concepts))
    # A row that cannot be read keeps its place in the count, so that hiding one is seen as losing one.
    return Counter(
        tuple("?" if column in m.row.opaque else m.row.text(column) for column in clause.columns)
        for m in found
        if m.row is not None and (m.truth is Truth.YES or m.row.opaque)
    )


def _row_text(row: tuple[str, ...]) -> str:
    text = " ".join(row)
    return text if len(text) <= 120 else text[:119] + "…"


def _unchanged(
    clause: Clause, before: Audit, after: Audit, finding: Finding, change: ChangeSet, names: Mapping[str, str]
) -> str | None:
    globs = [render(glob, names, {}) for glob in clause.globs]
    for path in change.paths():
        if matches(path, *globs):
            return f"{path} may not change"
    return None


SUPPRESSIONS = re.compile(
    r"fixaudit:\s*ignore|eslint-disable|@ts-(?:ignore|nocheck|expect-error)|prettier-ignore|istanbul ignore|c8 ignore"
    r"|biome-ignore|oxlint-disable|\bnoqa\b|type:\s*ignore|pylint:\s*disable|pyright:\s*ignore|\bnosec\b|nosemgrep"
    r"|pragma:\s*no cover|fmt:\s*(?:off|skip)|NOSONAR|hadolint ignore|checkov:skip|trufflehog:ignore|gitleaks:allow",
    re.IGNORECASE,
)
OMISSIONS = re.compile(
    r"^\W*(?:\.\.\.|…)\s*(?:\(?(?:rest|existing|other|remaining|same|unchanged|previous|more)\b|$)"
    r"|\b(?:rest of (?:the )?(?:code|file|function|implementation)|existing code|code (?:remains|unchanged|omitted)"
    r"|same as before|implementation (?:omitted|goes here)|remains? (?:the same|unchanged))\b",
    re.IGNORECASE,
)
_SKIP_CALLS = re.compile(
    r"\b(?:(?:it|test|describe|context|suite)\.(?:skip|only|todo|failing|skipIf)|xit|xtest|xdescribe|fit|fdescribe"
    r"|pytest\.(?:skip|mark\.(?:skip|skipif|xfail)|importorskip)|unittest\.(?:skip\w*|expectedFailure)|t\.Skip\w*)\b"
)


def _forbid_added(
    clause: Clause, before: Audit, after: Audit, finding: Finding, change: ChangeSet, names: Mapping[str, str]
) -> str | None:
    for path in change.paths():
        for kind in clause.added:
            old, new = _found(before, path, kind), _found(after, path, kind)
            more = new - old
            if more:
                label = {"suppression": "a suppression", "skipped_test": "a skipped test"}.get(kind, "an omission")
                return f"{path}: {label} was added: {min(more)}"
    return None


def _found(audit: Audit, path: str, kind: str) -> Counter[str]:
    file = audit.project.file(path)
    if file is None or file.text is None:
        return Counter()
    module = file.module
    if kind == "skipped_test":
        return Counter(m.group() for m in _SKIP_CALLS.finditer(file.text.content)) if module else Counter()
    pattern = SUPPRESSIONS if kind == "suppression" else OMISSIONS
    texts = [c.text for c in module.comments] if module else file.text.content.splitlines()
    return Counter(m.group().strip() for text in texts for line in text.splitlines() if (m := pattern.search(line)))


_KINDS: Mapping[str, Callable[[Clause, Audit, Audit, Finding, ChangeSet, Mapping[str, str]], str | None]] = {
    "forbid": _check,
    "require": _check,
    "every": _check,
    "count": _check,
    "preserve": _preserve,
    "unchanged": _unchanged,
    "forbid_added": _forbid_added,
}
