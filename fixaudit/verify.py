"""Decide whether a change may be kept. This belongs to the resolver, not to the rule: a rule can only add clauses.

Cheapest first; the first failure names itself: paths inside what was declared (delegated changes: the boundary) →
every touched file parses no worse → the target findings are gone → no regression → the rule's own clauses. Guard
lanes come after, in the loop. Pure over two audits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fixaudit.audit import Audit, Finding, Place
from fixaudit.compare import regression, targets_gone
from fixaudit.facts import SourceFile
from fixaudit.ledger import Reason
from fixaudit.rulebook.rule import Rule
from fixaudit.snapshot import ChangeSet


@dataclass(frozen=True)
class Verification:
    """`reason` is None when the change may be kept. `still_fails`: nothing broke, but the target is still there."""

    reason: Reason | None = None
    still_fails: bool = False

    @property
    def kept(self) -> bool:
        return self.reason is None and not self.still_fails


def verify(
    before: Audit,
    after: Audit,
    rule: Rule,
    targets: Sequence[Finding],
    change: ChangeSet,
    had_subject: Callable[[Place], bool],
) -> Verification:
    """Judge a change by the audits before and after it."""
    if where := parses_worse(before, after, change):
        return Verification(Reason("syntax", {"where": where}))
    gone = targets_gone(before, after, targets)
    if not gone:
        return Verification(still_fails=True)
    if found := regression(before, after, change, had_subject):
        data = {"rule": rule.id, "other": found.rule, "root": found.root, "detail": found.detail}
        return Verification(Reason(found.kind, data))
    if rule.clauses:
        from fixaudit.delegate.contract import broken_clause

        if (broken := broken_clause(rule.clauses, before, after, targets[0], change)) is not None:
            return Verification(Reason("clause", {"what": broken.sentence, "clause": broken.id}))
    return Verification()


def parses_worse(before: Audit, after: Audit, change: ChangeSet) -> str | None:
    """Return "path:line" of the first touched file that parses worse than before, or None."""
    for path in change.paths():
        new = after.project.file(path)
        if new is None:
            continue
        line = _damage(before.project.file(path), new)
        if line is not None:
            return f"{path}:{line}"
    return None


def _damage(old: SourceFile | None, new: SourceFile) -> int | None:
    """Return the line of new damage; None when the file parses no worse than it did."""
    from fixaudit.syntax_guard import first_problem

    if new.text is None:
        return 1 if old is not None and old.text is not None else None
    return first_problem(new.path, old.text.content if old and old.text else None, new.text.content, new.kind.language)
