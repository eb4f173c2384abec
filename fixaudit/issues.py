"""What the loop takes off the queue, and how an issue keeps its identity while the tree changes under it.

An issue is a rule's finding(s) at the unit that the rule declares (`per: match`, `file` or `root`), or with the strict
unit "rule" everything one rule finds at one root. Ids are local to a run; a closed issue that disappears and is found
again later stays closed.
This module must not know of budgets or of how a change is made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from fixaudit.audit import Audit, Finding
from fixaudit.compare import carry
from fixaudit.snapshot import ChangeSet


@dataclass(frozen=True)
class Issue:
    """`findings` are in queue order and never empty."""

    id: str
    findings: tuple[Finding, ...]

    @property
    def rule(self) -> str:
        return self.findings[0].rule

    @property
    def first(self) -> Finding:
        return self.findings[0]


@dataclass
class Tracker:
    """Follows every finding of a run under a stable id."""

    unit: str  # match, rule
    findings: dict[str, Finding] = field(default_factory=dict)
    _ghosts: dict[tuple[object, ...], list[str]] = field(default_factory=dict)
    _count: int = 0

    def start(self, audit: Audit) -> None:
        """Give every finding of the first audit an id."""
        self._adopt(audit.findings, lambda finding: False)

    def follow(self, before: Audit, after: Audit, change: ChangeSet) -> list[Issue]:
        """Move on to the next audit; return the issues that have no finding left."""
        old = self.issues()
        self.findings, lost = self._carried(before, after, change)
        for name, finding in lost.items():
            self._ghosts.setdefault(self._ghost(finding), []).append(name)
        known = {id(f) for f in self.findings.values()}
        self._adopt(after.findings, lambda finding: id(finding) in known)
        alive = {issue.id for issue in self.issues()}
        return [issue for issue in old if issue.id not in alive]

    def _carried(self, before: Audit, after: Audit, change: ChangeSet) -> tuple[dict[str, Finding], dict[str, Finding]]:
        followed = carry(self.findings, before, after, change)
        return followed, {name: f for name, f in self.findings.items() if name not in followed}

    def _ghost(self, finding: Finding) -> tuple[object, ...]:
        return (finding.place, finding.path, finding.key)

    def _adopt(self, findings: Sequence[Finding], known: Callable[[Finding], bool]) -> None:
        for finding in findings:
            if known(finding):
                continue
            ghosts = self._ghosts.get(self._ghost(finding))
            if ghosts:
                name = ghosts.pop(0)
            else:
                self._count += 1
                name = f"{finding.rule}#{self._count}"
            self.findings[name] = finding

    def issues(self) -> list[Issue]:
        """Return the issues of now, in queue order."""
        groups: dict[str, list[Finding]] = {}
        for name, finding in self.findings.items():
            groups.setdefault(self._issue_id(name, finding), []).append(finding)
        issues = [Issue(name, tuple(sorted(group, key=lambda f: f.order))) for name, group in groups.items()]
        return sorted(issues, key=lambda issue: (*issue.first.order, issue.id))

    def _issue_id(self, name: str, finding: Finding) -> str:
        if self.unit == "rule" or finding.per == "root":
            return f"{finding.rule}@{finding.root}"
        if finding.per == "file":
            return f"{finding.rule}@{finding.root}:{finding.path}"
        return name

    def by_id(self) -> Mapping[str, Issue]:
        return {issue.id: issue for issue in self.issues()}
