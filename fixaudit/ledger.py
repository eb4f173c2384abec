"""The append-only record of a run, the pure decisions about budgets, and every sentence of the review.

The review file, the reports and the exit code are rendered from here alone. Reasons are data; their sentences stand
in one place, so that the same thing is always said in the same words.
This module must not know of how a change is made or judged.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from fixaudit.fixers.base import Candidate
from fixaudit.snapshot import FollowUp

ATTEMPTS = 3
"""Attempts per issue, counted over the whole run. The bounded loop's own number; `--max-attempts` may only lower it."""
CYCLES = 5
"""How often the queue may be refilled. `--max-cycles` may only lower it."""

# What the loop stopped an issue for, as machine-readable output names it.
STOPS = {
    "refused": "refused",
    "agent_missing": "agent",
    "agent_unstarted": "agent",
    "precondition": "precondition",
    "broke": "regression",
    "introduced": "regression",
    "lane": "regression",
    "program": "regression",
    "syntax": "syntax",
    "clause": "contract",
    "agent_slow": "agent",
    "agent_idle": "agent",
    "declined": "declined",
    "no_progress": "no_progress",
    "budget": "budget",
    "budget_agent": "budget",
    "ceiling": "ceiling",
    "lockfile": "lockfile",
    "unsafe": "unsafe",
    "dirty": "dirty",
    "unwritable": "dirty",
    "error": "error",
}


@dataclass(frozen=True)
class Reason:
    """Why an issue is in review, or why an attempt did not count. `kind` is a key of STOPS."""

    kind: str
    data: Mapping[str, Any] = field(default_factory=dict)
    candidates: tuple[Candidate, ...] = ()

    @property
    def stop(self) -> str:
        return STOPS[self.kind]


def sentence(reason: Reason) -> str:
    """Say a reason in words, without its final full stop."""
    data = reason.data
    match reason.kind:
        case "refused":
            values = ", ".join(dict.fromkeys(c.value for c in reason.candidates))
            # Candidates end the line, as the first recorded runs wrote it; without any the part is left out.
            return f"{data['sentence']}. Candidates: {values}" if values else str(data["sentence"])
        case "agent_missing":
            return "no agent is configured"
        case "agent_unstarted":
            return f"could not start the agent: {data['why']}"
        case "precondition":
            return str(data["what"])
        case "broke":
            return f"fixing {data['rule']} broke {data['other']}, which passed before it, so the change was reverted"
        case "introduced":
            return f"fixing {data['rule']} introduced a violation of {data['other']}, so the change was reverted"
        case "lane":
            return f"fixing {data['rule']} turned the lane {data['lane']} red, so the change was reverted"
        case "program":
            return f"fixing {data['rule']} broke the program: {data['why']}"
        case "syntax":
            return f"the change does not parse: {data['where']}"
        case "clause":
            return str(data["what"])
        case "agent_slow":
            return f"the agent ran longer than {data['seconds']} s"
        case "agent_idle":
            return "the agent changed nothing"
        case "declined":
            return "declined"
        case "no_progress":
            return f"stopped after {data['attempts']} attempt(s) without progress: {data['why']}"
        case "budget":
            return f"unresolved after {data['attempts']} attempt(s): the rule still fails after the change"
        case "budget_agent":
            return f"unresolved after {data['attempts']} attempt(s): the rule still fails after the agent's change"
        case "ceiling":
            return f"stopped at the ceiling of {data['cycles']} cycle(s) with attempts left: {data['why']}"
        case "lockfile":
            return f"the package manager could not update the lockfile: {data['why']}"
        case "unsafe":
            return "not applied: needs --unsafe-fixes"
        case "dirty":
            return f"not applied: {data['path']} has uncommitted changes"
        case "unwritable":
            return f"not applied: {data['path']} {data['why']}"
        case "error":
            return f"the rule could not be evaluated: {data['why']}"
    raise ValueError(f"unknown reason {reason.kind}")


@dataclass(frozen=True)
class Location:
    """A place that a person can open; line and column are 1-based."""

    path: str
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        return ":".join(str(part) for part in (self.path, self.line, self.column) if part is not None)


@dataclass(frozen=True)
class Attempt:
    """One pass over one issue. `outcome`: kept, reverted, deferred, failed. `signature` is for delegated issues."""

    issue: str
    rule: str
    number: int
    cycle: int
    outcome: str
    reason: Reason | None = None
    signature: str | None = None


@dataclass(frozen=True)
class Fixed:
    """A kept change, or (`by`) an issue that another rule's fix resolved along the way."""

    rule: str
    root: str
    fix_type: str
    path: str | None
    line: int | None
    attempts: int
    safety: str
    title: str
    paths: tuple[str, ...] = ()
    follow_ups: tuple[FollowUp, ...] = ()
    by: str | None = None
    issue_resolved: bool = True
    answered: tuple[str, ...] = ()


@dataclass(frozen=True)
class Entry:
    """One line of the review, with what a person needs to act on it."""

    rule: str
    root: str
    fix_type: str
    priority: str
    title: str
    reason: Reason
    locations: tuple[Location, ...]
    attempts: int
    blocking: bool = True
    requirement: str = ""
    tried: tuple[str, ...] = ()
    contract: str | None = None
    message: str = ""

    @property
    def line(self) -> str:
        """The one-line form, exact: `RULE (FIX TYPE): reason`."""
        return f"{self.rule} ({self.fix_type}): {sentence(self.reason)}"


@dataclass(frozen=True)
class Decision:
    """What the budget says about an issue. kind: retry, exhausted, no_progress, closed."""

    kind: str
    attempts: int
    next_attempt: int


@dataclass
class Ledger:
    """Append-only: attempts, kept fixes and closed issues of one run, in order."""

    max_attempts: int = ATTEMPTS
    attempts: list[Attempt] = field(default_factory=list)
    fixed: list[Fixed] = field(default_factory=list)
    entries: list[tuple[str, Entry]] = field(default_factory=list)  # (issue id, entry)
    cycles: int = 0

    def spent(self, issue: str) -> int:
        return sum(attempt.issue == issue for attempt in self.attempts)

    def of(self, issue: str) -> list[Attempt]:
        return [attempt for attempt in self.attempts if attempt.issue == issue]

    def closed(self, issue: str) -> bool:
        return any(known == issue for known, _ in self.entries)

    def decide(self, issue: str, *, delegated: bool) -> Decision:
        """Return the pure decision for an issue; no-progress is asked before the ceiling, for delegated issues only."""
        own = self.of(issue)
        spent = len(own)
        if self.closed(issue):
            return Decision("closed", spent, spent)
        if delegated and spent >= 2 and own[-1].signature is not None and own[-1].signature == own[-2].signature:
            return Decision("no_progress", spent, spent + 1)
        if spent >= self.max_attempts:
            return Decision("exhausted", spent, spent + 1)
        return Decision("retry", spent, spent + 1)

    def close(self, issue: str, entry: Entry) -> None:
        if not self.closed(issue):
            self.entries.append((issue, entry))

    def reverted(self) -> list[Attempt]:
        return [a for a in self.attempts if a.outcome == "reverted"]


def merge_entries(entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """Join entries of one rule and root that say the same, keeping every location; sorted by priority and rule."""
    joined: dict[tuple[Any, ...], Entry] = {}
    for entry in entries:
        key = (entry.rule, entry.root, entry.line, entry.contract)
        known = joined.get(key)
        if known is None:
            joined[key] = entry
        else:
            locations = tuple(dict.fromkeys((*known.locations, *entry.locations)))
            joined[key] = replace(known, locations=locations, attempts=max(known.attempts, entry.attempts))
    return tuple(sorted(joined.values(), key=lambda e: (e.priority, e.rule, e.root, e.line)))


_VOLATILE = re.compile(r"0x[0-9a-fA-F]+|\b\d+(?:\.\d+)?\s?(?:ms|s|seconds?)\b|/tmp/[^\s'\"]+")


def scrub(text: str) -> str:
    """Drop what changes from run to run (durations, addresses, temporary paths) so that equal failures look equal."""
    return _VOLATILE.sub("…", text)
