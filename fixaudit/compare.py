"""What a change broke or introduced, and which issue of before is which finding of after: pure, over two audits.

This module must not know of attempts, budgets or of how a change is made.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from fixaudit.audit import ERROR, FAIL, NOT_APPLICABLE, PASS, Audit, Finding, Place
from fixaudit.gate import standing
from fixaudit.snapshot import ChangeSet
from fixaudit.text import Edit, Text


@dataclass(frozen=True, slots=True)
class Regression:
    """kind "broke": `rule` passed before; "introduced": it gained a finding that no right fix brings."""

    kind: str
    rule: str
    root: str
    detail: str


def targets_gone(before: Audit, after: Audit, targets: Sequence[Finding]) -> bool:
    """Say whether the findings that a change was for are gone, and were not only hidden from the detector.

    A finding that moved to another place, or that can no longer be decided, is not gone.
    """
    if not targets:
        return True
    place = targets[0].place
    wanted = Counter(f.key for f in targets)
    had, has = before.keys(place), after.keys(place)
    hid = _undecided(before, place), _undecided(after, place)
    verdict = after.by_place.get(place)
    if verdict is None or verdict.verdict == ERROR:
        return False
    return all(has[key] <= had[key] - count and hid[1][key] <= hid[0][key] for key, count in wanted.items())


def _undecided(audit: Audit, place: Place) -> Counter[tuple[str, ...]]:
    verdict = audit.by_place.get(place)
    return Counter(f.key for f in verdict.undecided) if verdict else Counter()


def regression(
    before: Audit,
    after: Audit,
    change: ChangeSet,
    had_subject: Callable[[Place], bool],
) -> Regression | None:
    """Return the first regression in order of rule and root, or None.

    A rule that passed must not fail, error or vanish; a rule that failed (the fixed one included) must not gain a
    finding anywhere; a rule that never had a subject may begin to fail only in files that this change created,
    below P0, and without lowering the score. `had_subject` tells which places ever had a subject in this run.
    """
    lowered: bool | None = None
    touched = set(change.paths())
    for place in sorted({*before.by_place, *after.by_place}):
        old, new = before.by_place.get(place), after.by_place.get(place)
        rule, root = place
        if old is None or (old.verdict == NOT_APPLICABLE and not had_subject(place)):
            if new is None or not new.failing:
                continue
            outside = [f for f in new.findings if f.path not in change.created]
            if lowered is None:
                lowered = _score(after) < _score(before)
            if new.verdict == ERROR or outside or new.priority == "P0" or lowered:
                return Regression("introduced", rule, root, _first(outside or new.findings))
        elif old.verdict == PASS:
            if new is None or new.failing:
                return Regression("broke", rule, root, _first(new.findings if new else ()))
            # Its subject may go with the text that was edited, never otherwise: then a detector has lost sight of it.
            if new.verdict == NOT_APPLICABLE and not old.paths <= touched:
                return Regression("broke", rule, root, "it no longer finds what it judges")
        elif old.verdict == FAIL:
            if new is None or new.verdict == ERROR:
                return Regression("broke", rule, root, new.error or "" if new else "")
            gained = after.keys(place) - before.keys(place)
            if gained:
                new_finding = next(f for f in new.findings if f.key in gained)
                return Regression("introduced", rule, root, _first([new_finding]))
        elif old.verdict == NOT_APPLICABLE and new is not None and new.failing:
            return Regression("introduced", rule, root, _first(new.findings))
    return None


def _score(audit: Audit) -> int:
    score = standing(audit).score
    return -1 if score is None else score


def _first(findings: Iterable[Finding]) -> str:
    for finding in findings:
        where = f"{finding.path}:{finding.line}" if finding.line else finding.path or "."
        return f"{where}: {finding.message}"
    return ""


class SpanMap:
    """Where an offset of the old text stands in the new one: exact for edits, by lines for whole rewrites."""

    def __init__(self, edits: Sequence[Edit] | None, old: str, new: str) -> None:
        if edits is None:
            edits = _difference(old, new)
        self._edits = sorted(edits, key=lambda e: (e.start, e.end))

    def __call__(self, offset: int) -> int | None:
        """Return the new offset, or None when the text there was replaced."""
        shift = 0
        for edit in self._edits:
            if edit.end <= offset and (edit.end, edit.start) != (offset, offset):
                shift += len(edit.replacement) - (edit.end - edit.start)
            elif edit.start == edit.end == offset:
                shift += len(edit.replacement)
            elif edit.start <= offset < edit.end:
                return None
            else:
                break
        return offset + shift


def _difference(old: str, new: str) -> list[Edit]:
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    starts = [0]
    for line in before:
        starts.append(starts[-1] + len(line))
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    return [
        Edit(starts[i1], starts[i2], "".join(before[i1:i2]), "".join(after[j1:j2]))
        for tag, i1, i2, j1, j2 in matcher.get_opcodes()
        if tag != "equal"
    ]


def carry(open_findings: Mapping[str, Finding], before: Audit, after: Audit, change: ChangeSet) -> dict[str, Finding]:
    """Follow running issues (id → finding) from one audit to the next; issues whose finding is gone are left out.

    A finding is followed by its mapped position; only findings without a position, or whose text was rewritten, are
    matched by identity, and never when two could be meant: equal lines must not inherit each other's state.
    """
    maps: dict[str, SpanMap] = {}
    for path in change.paths():
        old, new = _content(before, path), _content(after, path)
        if old is not None and new is not None:
            maps[path] = SpanMap(change.edits.get(path), old, new)
    pool: dict[tuple[Place, str | None, int], list[Finding]] = {}
    for finding in after.findings:
        start = finding.span[0] if finding.span else -1
        pool.setdefault((finding.place, finding.path, start), []).append(finding)
    followed: dict[str, Finding] = {}
    left: list[tuple[str, Finding]] = []
    for issue, finding in open_findings.items():
        mapped: int | None = finding.span[0] if finding.span else -1
        if finding.span and finding.path in maps:
            mapped = maps[finding.path](finding.span[0])
        bucket = pool.get((finding.place, finding.path, mapped), []) if mapped is not None else []
        same = next((f for f in bucket if f.key == finding.key), bucket[0] if len(bucket) == 1 else None)
        if same is not None:
            bucket.remove(same)
            followed[issue] = same
        else:
            left.append((issue, finding))
    remaining = [f for bucket in pool.values() for f in bucket]
    for issue, finding in left:
        alike = [f for f in remaining if f.place == finding.place and f.key == finding.key]
        rivals = [f for _, f in left if f.place == finding.place and f.key == finding.key]
        if len(alike) == 1 and len(rivals) == 1:
            remaining.remove(alike[0])
            followed[issue] = alike[0]
    return followed


def _content(audit: Audit, path: str) -> str | None:
    if audit.project.snapshot.mode(path) is None:
        return None
    text = Text.decode(audit.project.snapshot.read(path))
    return text.content if text else None
