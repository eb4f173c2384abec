"""Judge a snapshot by a rulebook: a verdict for every rule at every root, with its findings.

Contract: pure; the same rules and the same tree give the same audit. A rule that crashes is ERROR for itself alone
(the one try/except of the audit), never PASS. After a change set only what it touched is read again.
This module must not know of fixes, of the loop or of the user's tree.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TypeAlias

from fixaudit.checks import Evaluation, Match, Vocabulary, captures, evaluate, select
from fixaudit.facts import Diagnostic, Facts, Memo, Project, SourceFile
from fixaudit.projects import Root
from fixaudit.relations.base import Truth
from fixaudit.rulebook.rule import Check, Rule, Rulebook, Variant
from fixaudit.rulebook.template import render
from fixaudit.snapshot import Snapshot
from fixaudit.syntax_guard import damage_line
from fixaudit.text import byte_key

PASS, FAIL, NOT_APPLICABLE, ERROR = "PASS", "FAIL", "NOT_APPLICABLE", "ERROR"
Place: TypeAlias = tuple[str, str]
"""(rule id, root path): what has one verdict. Rules of repository scope have the root ""."""


@dataclass(frozen=True)
class Finding:
    """One violation, or (confidence "low") one place that could not be decided."""

    rule: str
    root: str
    priority: str
    fix_type: str
    path: str | None
    span: tuple[int, int] | None  # code points
    line: int | None  # 1-based
    column: int | None  # 1-based, code points
    end_line: int | None
    end_column: int | None
    message: str
    confidence: str  # high, low
    variant: str
    match: Match
    per: str
    key: tuple[str, ...]
    """Identity for comparing two audits, as a multiset: no position, and no path, since a right fix may move a row."""

    @property
    def place(self) -> Place:
        return self.rule, self.root

    @property
    def order(self) -> tuple[str, str, str, bytes, int, int]:
        """Queue order: priority, rule id, root, path, position."""
        start, end = self.span or (0, 0)
        return self.priority, self.rule, self.root, byte_key(self.path or ""), start, end

    @cached_property
    def fingerprint(self) -> str:
        """Identity for baselines: rule, path and what was found; no line, so it survives edits elsewhere."""
        text = "\0".join((self.rule, self.root, self.path or "", *self.key))
        return hashlib.blake2b(text.encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()


@dataclass(frozen=True)
class Verdict:
    """What one rule says of one root. `priority` is the highest among its findings, its own when it passes."""

    rule: str
    root: str
    priority: str
    fix_type: str
    verdict: str
    findings: tuple[Finding, ...] = ()
    undecided: tuple[Finding, ...] = ()
    error: str | None = None
    paths: frozenset[str] = frozenset()

    @property
    def place(self) -> Place:
        return self.rule, self.root

    @property
    def failing(self) -> bool:
        return self.verdict in (FAIL, ERROR)


@dataclass(frozen=True)
class RootFacts:
    """A root as people see it. `unassessed` names recognised stacks for which no rules are written."""

    path: str
    stacks: tuple[str, ...]
    unassessed: tuple[str, ...]
    files: int


@dataclass(frozen=True)
class Audit:
    """Everything that one look at a tree gives."""

    rulebook: Rulebook
    project: Project
    roots: tuple[RootFacts, ...]
    verdicts: tuple[Verdict, ...]
    diagnostics: tuple[Diagnostic, ...]
    excluded: Callable[[str, str], bool] | None = None

    @cached_property
    def by_place(self) -> Mapping[Place, Verdict]:
        return {verdict.place: verdict for verdict in self.verdicts}

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """Every violation, in queue order."""
        return tuple(sorted((f for v in self.verdicts for f in v.findings), key=lambda f: f.order))

    @cached_property
    def undecided(self) -> tuple[Finding, ...]:
        return tuple(sorted((f for v in self.verdicts for f in v.undecided), key=lambda f: f.order))

    @cached_property
    def minified(self) -> tuple[str, ...]:
        """Return the files in a program's language that are not judged as programs because they are minified."""
        files = (self.project.file(path) for path in self.project.paths)
        return tuple(f.path for f in files if f is not None and f.kind.minified and f.kind.language is not None)

    def keys(self, place: Place) -> Counter[tuple[str, ...]]:
        """Return the multiset of finding identities of a rule at a root."""
        verdict = self.by_place.get(place)
        return Counter(f.key for f in verdict.findings) if verdict else Counter()

    def facts_for(self, finding: Finding) -> Facts:
        """Return the facts that a finding was judged on."""
        rule = self.rulebook.rule(finding.rule)
        assert rule is not None
        return _facts(self.project, rule, finding.root)


def audit(
    rulebook: Rulebook,
    snapshot: Snapshot,
    *,
    memo: Memo[object] | None = None,
    excluded: Callable[[str, str], bool] | None = None,
) -> Audit:
    """Audit a tree. `excluded(rule id, path)` leaves findings out (configuration: excludes, rules switched off)."""
    project = Project(snapshot, memo if memo is not None else Memo())
    return _judge(rulebook, project, excluded)


def audit_after(before: Audit, snapshot: Snapshot, touched: Iterable[str]) -> Audit:
    """Audit a tree that differs from an audited one in `touched` paths only."""
    return _judge(before.rulebook, before.project.after(snapshot, touched), before.excluded)


def _judge(rulebook: Rulebook, project: Project, excluded: Callable[[str, str], bool] | None) -> Audit:
    vocabulary = Vocabulary(rulebook.concepts)
    roots = tuple(_describe(rulebook, project, root, vocabulary) for root in project.roots)
    top = project.view(Root(""), repository=True)
    top.stacks = frozenset(stack for root in roots for stack in root.stacks)
    verdicts = [
        _verdict(rule, root, _facts(project, rule, root.path), vocabulary, excluded)
        for rule in rulebook.rules
        for root in ((Root(""),) if rule.scope == "repository" else project.roots)
    ]
    verdicts.sort(key=lambda v: (v.rule, v.root))
    diagnostics = tuple(sorted((*project.diagnostics.values(), *_damaged(project))))
    return Audit(rulebook, project, roots, tuple(verdicts), diagnostics, excluded)


def _damaged(project: Project) -> Iterable[Diagnostic]:
    """Name the program files that do not parse; relations read what is left of them."""
    for path in project.paths:
        file = project.file(path)
        if file is None or not file.kind.is_program:
            continue
        if file.text is None:
            yield Diagnostic(path, None, "not read as a program: it is binary or not UTF-8 text")
            continue
        line = project.memo.get("damage", f"{file.kind.language}\0{file.digest}", partial(_damage, file))
        if line:
            yield Diagnostic(path, line, "does not parse from here on; what can be read of it is still judged")


def _damage(file: SourceFile) -> int:
    assert file.text is not None and file.kind.language is not None
    return damage_line(file.text.content, file.kind.language) or 0


def _facts(project: Project, rule: Rule, root: str) -> Facts:
    if rule.scope == "repository":
        return project.view(Root(""), repository=True)
    return project.view(next(r for r in project.roots if r.path == root))


def _describe(rulebook: Rulebook, project: Project, root: Root, vocabulary: Vocabulary) -> RootFacts:
    """Decide a root's stacks from evidence and remember them on its facts."""
    facts = project.view(root)
    found: set[str] = set()
    for name, stack in rulebook.stacks.items():
        if any(m.truth is Truth.YES for query in stack.detect for m in select(query, facts, vocabulary)):
            found.add(name)
    found -= {name for name in found if found.intersection(rulebook.stacks[name].unless)}
    pending = list(found)
    while pending:
        for implied in rulebook.stacks[pending.pop()].implies:
            if implied not in found:
                found.add(implied)
                pending.append(implied)
    facts.stacks = frozenset(found)
    stacks = tuple(sorted(found))
    unassessed = tuple(name for name in stacks if not rulebook.stacks[name].assessed)
    return RootFacts(root.path, stacks, unassessed, len(facts.paths))


def _verdict(
    rule: Rule,
    root: Root,
    facts: Facts,
    vocabulary: Vocabulary,
    excluded: Callable[[str, str], bool] | None,
) -> Verdict:
    blank = Verdict(rule.id, root.path, rule.priority, rule.fix_type, NOT_APPLICABLE)
    if rule.stacks and not facts.stacks.intersection(rule.stacks):
        return blank
    try:
        if rule.when and not any(m.truth is Truth.YES for m in select(rule.when, facts, vocabulary)):
            return blank
        judged: list[tuple[Variant, Check, Evaluation]] = []
        rest: dict[int, Evaluation] = {}
        for variant in rule.variants_for(facts.stacks):
            check = variant.check or rule.check
            if check is not None:
                asked = rest[id(check)] if id(check) in rest else evaluate(check, facts, vocabulary)
                mine, rest[id(check)] = _split(asked, variant, facts)
                judged.append((variant, check, mine))
        findings = [_finding(rule, root, v, c, m, facts, "high") for v, c, e in judged for m in _units(c, e.violations)]
        doubts = [_finding(rule, root, v, c, m, facts, "low") for v, c, e in judged for m in e.opaque]
        # What several variants cannot decide about one place is one thing that could not be decided.
        undecided = list({(f.path, f.span): f for f in reversed(doubts)}.values())
    except Exception as error:  # the one place: a rule's crash is ERROR for that rule alone
        if os.environ.get("FIXAUDIT_DEBUG"):
            raise
        return replace(blank, verdict=ERROR, error=f"{type(error).__name__}: {error}")
    if excluded is not None:
        findings = [f for f in findings if not excluded(rule.id, f.path or "")]
        undecided = [f for f in undecided if not excluded(rule.id, f.path or "")]
    findings.sort(key=lambda f: f.order)
    if not findings and not any(e.subjects for _, _, e in judged):
        return blank
    return Verdict(
        rule.id,
        root.path,
        min((f.priority for f in findings), default=rule.priority),
        rule.fix_type,
        FAIL if findings else PASS,
        tuple(findings),
        tuple(sorted(undecided, key=lambda f: f.order)),
        paths=frozenset().union(*(e.paths for _, _, e in judged)),
    )


def _split(evaluation: Evaluation, variant: Variant, facts: Facts) -> tuple[Evaluation, Evaluation]:
    """Return what of a shared check is this variant's, by the language of the file, and what is left for the next."""

    def part(matches: Sequence[Match], wanted: bool) -> tuple[Match, ...]:
        return tuple(m for m in matches if _speaks(variant, m, facts) is wanted)

    mine = replace(evaluation, violations=part(evaluation.violations, True), opaque=part(evaluation.opaque, True))
    return mine, replace(mine, violations=part(evaluation.violations, False), opaque=part(evaluation.opaque, False))


def _speaks(variant: Variant, match: Match, facts: Facts) -> bool:
    return not variant.languages or match.path is None or language_of(facts, match.path) in variant.languages


def language_of(facts: Facts, path: str | None) -> str:
    """Return the language of a file, or of the root's own stacks for a finding without a file; "" when unknown."""
    file = facts.file(path) if path else None
    if file is not None and file.kind.language:
        return file.kind.language
    return ""


def _units(check: Check, matches: Sequence[Match]) -> Sequence[Match]:
    """A check that is answered once for the root has one finding: the first place, the others as its relatives."""
    if check.per != "root" or len(matches) < 2:
        return matches
    others = tuple(match.row for match in matches[1:] if match.row)
    return (replace(matches[0], related=(*matches[0].related, *others)),)


def _finding(
    rule: Rule, root: Root, variant: Variant, check: Check, match: Match, facts: Facts, confidence: str
) -> Finding:
    names = captures(match)
    message = render(check.message, names | {"path": match.path or ""}, {})
    path = match.path
    if path is None and check.at is not None:
        path = root.join(check.at)
    line = column = end_line = end_column = None
    span = match.row.span if match.row else None
    file = facts.file(path) if path and span is not None else None
    text = file.shown if file else None
    if text is not None and span is not None:
        line, column = text.lines.position(span[0])
        end_line, end_column = text.lines.position(span[1])
    elif span is not None:
        span = None
    key = ("root",) if check.per == "root" else match.key or (message,)
    priority = match.priority or rule.priority
    return Finding(
        rule.id, root.path, priority, rule.fix_type, path, span, line, column, end_line, end_column,
        message, confidence, variant.name, match, check.per, key,
    )  # fmt: skip
