"""The bounded loop: one issue at a time, P0 first, three attempts each over the whole run, at most five cycles.

Contract: the loop runs on an overlay. Every attempt is planned, audited and verified in memory; only a verified change
reaches `Effects.keep`, which writes it to the user's tree as one transaction. What does not verify was never anywhere
but in memory, so "back to the parent tree" is simply not moving on. The record of everything is the ledger.
This module must not know how files are written, agents are run or reports are made.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from fixaudit.audit import ERROR, FAIL, NOT_APPLICABLE, Audit, Finding, Place, audit_after
from fixaudit.checks import captures
from fixaudit.fixers import plan_all
from fixaudit.fixers.base import Deferred, Planned, Refusal, Situation, Target
from fixaudit.gate import Standing, standing
from fixaudit.issues import Issue, Tracker
from fixaudit.ledger import CYCLES, Attempt, Entry, Fixed, Ledger, Location, Reason, merge_entries, scrub, sentence
from fixaudit.parameters import Answer, extract
from fixaudit.rulebook.rule import Rule, Variant
from fixaudit.rulebook.template import UndefinedError, render
from fixaudit.snapshot import ChangeSet, FileChange, FileState, LockUpdate, Overlay, Snapshot, digest_of
from fixaudit.text import StaleEditError
from fixaudit.verify import Verification, verify


@dataclass(frozen=True)
class Assignment:
    """What an agent is asked to do: one issue of a delegated rule, on the tree as it is now."""

    rule: Rule
    issue: Issue
    audit: Audit
    attempt: int
    feedback: str | None  # what the last attempt did wrong


@dataclass(frozen=True)
class Proposal:
    """What an agent made. `reason` is set when there is nothing to verify (idle, slow, could not start, clause)."""

    states: Mapping[str, FileState | None] = field(default_factory=dict)
    reason: Reason | None = None
    tail: str = ""


@dataclass(frozen=True)
class Progress:
    """Something that happened, for a screen: kind is cycle, attempt, kept, reverted, deferred, refused, review."""

    kind: str
    cycle: int
    rule: str = ""
    text: str = ""
    path: str | None = None


@dataclass
class Effects:
    """The loop's only ways to the outside. The defaults have no effect at all: a dry run."""

    keep: Callable[[Rule, Sequence[FileChange], ChangeSet, str], Reason | None] = lambda *_: None
    """Write a verified change; a reason means that nothing was written (a read-only file, a link)."""
    dirty: Callable[[ChangeSet, Snapshot], Reason | None] = lambda *_: None
    update_lock: Callable[[LockUpdate, Snapshot], bytes | str] = lambda update, _: "installing is switched off"
    agent: Callable[[Assignment], Proposal] | None = None
    confirm: Callable[[Rule, Issue, ChangeSet, Overlay], str] | None = None  # yes, no, rule, stop
    progress: Callable[[Progress], None] = lambda _: None
    contract_text: Callable[[Rule, Issue, Audit], str] | None = None


@dataclass(frozen=True)
class Settings:
    """What the person chose for this run."""

    max_cycles: int = CYCLES
    unit: str = "match"  # match, rule
    unsafe: bool = False
    no_install: bool = False
    answers: tuple[Answer, ...] = ()
    wanted: Callable[[Finding], bool] = lambda _: True
    """Which findings may be fixed: --only, --skip, PATH arguments, `fix: never`."""
    minimum_score: int = 90
    blocked_files: Callable[[Audit], Sequence[str]] = lambda _: ()
    fresh: Callable[[], Audit] | None = None
    """How the final audit looks at the tree that was really written; None judges the overlay (a dry run)."""


@dataclass(frozen=True)
class RunReport:
    """What a finished run says; reports render this and nothing else."""

    outcome: str  # success, partial
    before: Audit
    after: Audit
    standing_before: Standing
    standing_after: Standing
    ledger: Ledger
    fixed: tuple[Fixed, ...]
    review: tuple[Entry, ...]
    changed: tuple[str, ...]
    overlay: Overlay
    stopped: str | None = None


class Stop(Exception):
    """The person stopped an interactive run."""


def run(before: Audit, overlay: Overlay, settings: Settings, effects: Effects, ledger: Ledger) -> RunReport:
    """Fix what can be fixed and say why for the rest. `before` must be the audit of `overlay`."""
    state = _Run(before, overlay, settings, effects, ledger)
    stopped = None
    try:
        state.cycles()
    except Stop:
        stopped = "stopped by you"
    return state.report(stopped)


class _Run:
    """The moving parts of one run: the audit and overlay of now, the tracker, and the agent's availability."""

    def __init__(self, before: Audit, overlay: Overlay, settings: Settings, effects: Effects, ledger: Ledger) -> None:
        self.before, self.now, self.overlay = before, before, overlay
        self.settings, self.effects, self.ledger = settings, effects, ledger
        self.tracker = Tracker(settings.unit)
        self.tracker.start(before)
        self.subjects: set[Place] = set()
        self._note_subjects(before)
        self.agent_failure: Reason | None = None
        self.declined_rules: set[str] = set()
        self.changed: set[str] = set()
        self.deferred: set[str] = set()

    # -- the queue ----------------------------------------------------------------------------------------------

    def cycles(self) -> None:
        for cycle in range(1, self.settings.max_cycles + 1):
            queue = self.queue()
            if not queue:
                return
            self.ledger.cycles = cycle
            self.effects.progress(Progress("cycle", cycle, text=str(len(queue))))
            self.deferred.clear()
            spent = len(self.ledger.attempts)
            for name in [issue.id for issue in queue]:
                self.work_on(name, cycle)
            if len(self.ledger.attempts) == spent:
                return

    def queue(self) -> list[Issue]:
        """Return the open issues, P0 first; within a priority by rule, path and position."""
        return [
            issue
            for issue in self.tracker.issues()
            if not self.ledger.closed(issue.id) and any(self.settings.wanted(f) for f in issue.findings)
        ]

    def work_on(self, name: str, cycle: int) -> None:
        """Spend attempts on one issue until it is resolved, waits for the next cycle, or is closed."""
        while (issue := self.tracker.by_id().get(name)) is not None and name not in self.deferred:
            rule = self.rule(issue.rule)
            delegated = rule.contract is not None
            decision = self.ledger.decide(name, delegated=delegated)
            if decision.kind == "closed":
                return
            if decision.kind != "retry":
                self.close(issue, self._exhausted(issue, decision.kind, delegated))
                return
            if delegated:
                self.delegate(issue, rule, cycle, decision.next_attempt)
            else:
                self.attempt(issue, rule, cycle, decision.next_attempt)

    def _exhausted(self, issue: Issue, kind: str, delegated: bool) -> Reason:
        own = self.ledger.of(issue.id)
        last = own[-1].reason
        if kind == "no_progress":
            why = sentence(last) if last else "the rule still fails after the agent's change"
            return Reason("no_progress", {"attempts": len(own), "why": why})
        return last or Reason("budget_agent" if delegated else "budget", {"attempts": len(own)})

    # -- deterministic fixes --------------------------------------------------------------------------------------

    def attempt(self, issue: Issue, rule: Rule, cycle: int, number: int) -> None:
        targets = issue.findings if self.settings.unit == "match" else issue.findings[:1]
        first = targets[0]
        facts = self.now.facts_for(first)
        variant = next((v for v in rule.variants if v.name == first.variant), Variant(""))
        situations = []
        for finding in targets:
            target = Target(finding.match.row, finding.match.related, finding.path)
            values = extract(rule, variant, target, facts, self.now.rulebook, self.settings.answers)
            if isinstance(values, Refusal):
                self.close(issue, _refused(values))
                return
            situations.append(
                Situation(rule, variant, target, facts, self.now.rulebook, values, self.settings.no_install)
            )
        if rule.fix is None:
            self.close(issue, Reason("error", {"why": "the rule has no fix"}))
            return
        if (variant.safety or rule.fix.safety) == "unsafe" and not self.settings.unsafe:
            self.close(issue, Reason("unsafe"))
            return
        planned = _planned(situations)
        if isinstance(planned, Reason):
            self.close(issue, planned)
            return
        if isinstance(planned, Refusal):
            self.close(issue, _refused(planned))
            return
        if isinstance(planned, Deferred):
            self.spend(issue, cycle, number, "deferred", Reason("precondition", {"what": planned.reason}))
            self.deferred.add(issue.id)
            return
        if (reason := self.effects.dirty(planned, self.overlay)) is not None:
            self.close(issue, reason)
            return
        if self._declines(rule, issue, planned):
            self.close(issue, Reason("declined"))
            return
        self.try_change(issue, rule, targets, planned, cycle, number, variant, situations[0].values)

    def _declines(self, rule: Rule, issue: Issue, change: ChangeSet) -> bool:
        if self.effects.confirm is None:
            return False
        if rule.id in self.declined_rules:
            return True
        answer = self.effects.confirm(rule, issue, change, self.overlay)
        if answer == "stop":
            raise Stop
        if answer == "rule":
            self.declined_rules.add(rule.id)
        return answer != "yes"

    def try_change(
        self,
        issue: Issue,
        rule: Rule,
        targets: Sequence[Finding],
        planned: ChangeSet,
        cycle: int,
        number: int,
        variant: Variant,
        values: Mapping[str, Any],
    ) -> None:
        """Audit and verify one planned change; keep it or go back to the parent tree."""
        change, failed = self._with_locks(planned)
        if failed is not None:
            self.spend(issue, cycle, number, "failed", failed)
            self.close(issue, failed)
            return
        try:
            overlay = self.overlay.apply(change)
        except StaleEditError as error:
            self.spend(issue, cycle, number, "failed", Reason("error", {"why": str(error)}))
            return
        touched = (*change.paths(), *change.untracked)
        after = audit_after(self.now, overlay, touched)
        verification = verify(self.now, after, rule, targets, change, self.subjects.__contains__)
        if not verification.kept:
            self._not_kept(issue, cycle, number, verification)
            return
        title = _title(rule, targets[0], values)
        self.keep(issue, rule, targets, change, overlay, after, cycle, number, title, variant)

    def _with_locks(self, change: ChangeSet) -> tuple[ChangeSet, Reason | None]:
        """Let the package manager bring each lockfile in step with its manifest, on the changed tree."""
        if not change.lock_updates:
            return change, None
        bare = change.without_lock_updates()
        try:
            overlay = self.overlay.apply(bare)
        except StaleEditError as error:
            return change, Reason("error", {"why": str(error)})
        replaced = dict(bare.replaced)
        for update in change.lock_updates:
            result = self.effects.update_lock(update, overlay)
            if isinstance(result, str):
                return change, Reason("lockfile", {"why": result})
            if result != overlay.read(update.lockfile):
                replaced[update.lockfile] = (self.overlay.digest(update.lockfile), result)
        return replace(bare, replaced=replaced), None

    def _not_kept(self, issue: Issue, cycle: int, number: int, verification: Verification) -> None:
        reason = verification.reason
        self.spend(issue, cycle, number, "failed" if reason is None else "reverted", reason)
        # Planning again would give the same change, so what broke another rule once is closed at once.
        if reason is not None and reason.kind in ("broke", "introduced", "syntax"):
            self.close(issue, reason)

    # -- delegated fixes ------------------------------------------------------------------------------------------

    def delegate(self, issue: Issue, rule: Rule, cycle: int, number: int) -> None:
        if self.effects.agent is None:
            self.close(issue, Reason("agent_missing"))
            return
        if self.agent_failure is not None:
            self.close(issue, self.agent_failure)
            return
        own = self.ledger.of(issue.id)
        feedback = None
        if own:
            last = own[-1].reason
            feedback = sentence(last) if last else "the rule still fails after the agent's change"
        proposal = self.effects.agent(Assignment(rule, issue, self.now, number, feedback))
        if proposal.reason is not None:
            if proposal.reason.kind == "agent_unstarted":
                # Not an attempt, and no use trying again for every other issue.
                self.agent_failure = proposal.reason
                self.close(issue, proposal.reason)
                return
            self.spend(issue, cycle, number, "failed", proposal.reason, _signature(proposal, proposal.reason, ()))
            return
        overlay = self.overlay.with_states(proposal.states)
        change = _as_change(self.overlay, proposal.states)
        if (reason := self.effects.dirty(change, self.overlay)) is not None:
            self.close(issue, reason)
            return
        after = audit_after(self.now, overlay, change.paths())
        verification = self._judge_delegated(rule, issue, after, change)
        if not verification.kept:
            left = tuple(f.key for f in after.findings if f.place == issue.first.place)
            signature = _signature(proposal, verification.reason, left)
            outcome = "reverted" if verification.reason else "failed"
            self.spend(issue, cycle, number, outcome, verification.reason, signature)
            return
        self.keep(issue, rule, issue.findings, change, overlay, after, cycle, number, rule.title, Variant(""))

    def _judge_delegated(self, rule: Rule, issue: Issue, after: Audit, change: ChangeSet) -> Verification:
        from fixaudit.delegate.contract import broken_contract

        assert rule.contract is not None
        broken = broken_contract(rule.contract, self.now, after, issue.first, change)
        still = verify(self.now, after, rule, issue.findings, change, self.subjects.__contains__)
        # A requirement clause says the same as "the rule still fails", in the rule author's words: the loop's own
        # sentence is kept for it; everything that is forbidden names its clause.
        # Of a file that does not parse the other clauses would say nothing true.
        damaged = still.reason is not None and still.reason.kind == "syntax"
        if damaged and broken is not None and not broken.id.startswith("boundary."):
            return still
        if broken is not None and not (broken.is_requirement and still.still_fails):
            return Verification(Reason("clause", {"what": broken.sentence, "clause": broken.id}))
        return still

    # -- bookkeeping ----------------------------------------------------------------------------------------------

    def rule(self, rule_id: str) -> Rule:
        rule = self.now.rulebook.rule(rule_id)
        assert rule is not None
        return rule

    def _note_subjects(self, audit: Audit) -> None:
        self.subjects.update(v.place for v in audit.verdicts if v.verdict != NOT_APPLICABLE)

    def spend(
        self,
        issue: Issue,
        cycle: int,
        number: int,
        outcome: str,
        reason: Reason | None = None,
        signature: str | None = None,
    ) -> None:
        self.ledger.attempts.append(Attempt(issue.id, issue.rule, number, cycle, outcome, reason, signature))
        text = sentence(reason) if reason else ""
        self.effects.progress(Progress(outcome, cycle, issue.rule, text, issue.first.path))

    def keep(
        self,
        issue: Issue,
        rule: Rule,
        targets: Sequence[Finding],
        change: ChangeSet,
        overlay: Overlay,
        after: Audit,
        cycle: int,
        number: int,
        title: str,
        variant: Variant,
    ) -> None:
        """Write a verified change and move on to its tree."""
        changes = overlay.changes_since(self.overlay, change.paths())
        if (reason := self.effects.keep(rule, changes, change, title)) is not None:
            self.close(issue, reason)
            return
        resolved = self.tracker.follow(self.now, after, change)
        self.now, self.overlay = after, overlay
        self._note_subjects(after)
        self.changed.update(c.path for c in changes)
        self.spend(issue, cycle, number, "kept")
        done = {other.id for other in resolved}
        first = targets[0]
        safety = variant.safety or (rule.fix.safety if rule.fix else "safe")
        self.ledger.fixed.append(
            Fixed(
                rule.id,
                first.root,
                rule.fix_type,
                first.path,
                first.line,
                number,
                safety,
                title,
                tuple(c.path for c in changes),
                change.follow_ups,
                None,
                issue.id in done,
            )
        )
        for other in resolved:
            if other.id != issue.id:
                finding = other.first
                self.ledger.fixed.append(
                    Fixed(
                        other.rule,
                        finding.root,
                        finding.fix_type,
                        finding.path,
                        finding.line,
                        self.ledger.spent(other.id),
                        "safe",
                        finding.message,
                        by=rule.id,
                    )
                )

    def close(self, issue: Issue, reason: Reason) -> None:
        """Send an issue to manual review, for ever."""
        self.ledger.close(issue.id, self._entry(issue, reason))
        self.effects.progress(Progress("review", self.ledger.cycles, issue.rule, sentence(reason), issue.first.path))

    def _entry(self, issue: Issue, reason: Reason) -> Entry:
        rule = self.rule(issue.rule)
        contract = None
        if rule.contract is not None and self.effects.contract_text is not None:
            contract = self.effects.contract_text(rule, issue, self.now)
        tried = []
        for attempt in self.ledger.of(issue.id):
            what = sentence(attempt.reason) if attempt.reason else "the rule still fails after the change"
            tried.append(f"attempt {attempt.number} (cycle {attempt.cycle}): {what}")
        return Entry(
            rule.id,
            issue.first.root,
            rule.fix_type,
            issue.first.priority,
            rule.title,
            reason,
            _locations(issue.findings),
            len(tried),
            True,
            str(rule.docs.get("what", "")),
            tuple(tried),
            contract,
            issue.first.message,
        )

    def report(self, stopped: str | None) -> RunReport:
        """Judge the tree afresh and render what the ledger says of it."""
        settings = self.settings
        final = settings.fresh() if settings.fresh else audit_after(self.now, self.overlay, ())
        alive = self.tracker.by_id()
        entries = []
        for name, entry in self.ledger.entries:
            verdict = final.by_place.get((entry.rule, entry.root))
            if name in alive and verdict is not None and verdict.failing:
                entries.append(replace(entry, locations=_locations(alive[name].findings)))
        for issue in self.queue():
            last = self.ledger.of(issue.id)
            why = "it was not attempted"
            if last:
                why = sentence(last[-1].reason) if last[-1].reason else "the rule still fails after the change"
            if stopped is None and self.ledger.cycles >= settings.max_cycles:
                reason = Reason("ceiling", {"cycles": self.ledger.cycles, "why": why})
            else:
                reason = (last[-1].reason if last else None) or Reason("declined")
            entries.append(self._entry(issue, reason))
        for verdict in final.verdicts:
            if verdict.verdict == ERROR:
                rule = self.rule(verdict.rule)
                reason = Reason("error", {"why": verdict.error or ""})
                entries.append(Entry(rule.id, verdict.root, rule.fix_type, rule.priority, rule.title, reason, (), 0))
        review = merge_entries(entries)
        after = standing(final, minimum=settings.minimum_score, blocked_files=settings.blocked_files(final))
        blocking = any(_blocks(final, entry) for entry in review)
        review = tuple(replace(entry, blocking=_blocks(final, entry)) for entry in review)
        good = (after.gate.open or after.empty) and not blocking and stopped is None
        before = standing(
            self.before, minimum=settings.minimum_score, blocked_files=settings.blocked_files(self.before)
        )
        return RunReport(
            "success" if good else "partial",
            self.before,
            final,
            before,
            after,
            self.ledger,
            tuple(self.ledger.fixed),
            review,
            tuple(sorted(self.changed)),
            self.overlay,
            stopped,
        )


def _planned(situations: Sequence[Situation]) -> Planned | Reason:
    """Plan a fix; a fixer's crash sends its issue to review instead of ending the run for every other one."""
    try:
        return plan_all(situations)
    except Exception as error:
        if os.environ.get("FIXAUDIT_DEBUG"):
            raise
        return Reason("error", {"why": f"its fix crashed: {type(error).__name__}: {error}"})


def _title(rule: Rule, target: Finding, values: Mapping[str, Any]) -> str:
    """Say what the fix did, with the values that it used."""
    if rule.fix is None:
        return rule.title
    names = {**captures(target.match), "path": target.path or "", "root": target.root, **values}
    try:
        return render(rule.fix.title, names, {})
    except UndefinedError:
        return rule.title


def _blocks(final: Audit, entry: Entry) -> bool:
    verdict = final.by_place.get((entry.rule, entry.root))
    return verdict is None or verdict.verdict in (FAIL, ERROR)


def _refused(refusal: Refusal) -> Reason:
    data = {"sentence": refusal.sentence, "code": refusal.code, "parameter": refusal.parameter}
    return Reason("refused", data, refusal.candidates)


def _locations(findings: Sequence[Finding]) -> tuple[Location, ...]:
    return tuple(dict.fromkeys(Location(f.path, f.line, f.column) for f in findings if f.path))


def _as_change(base: Overlay, states: Mapping[str, FileState | None]) -> ChangeSet:
    """Describe an agent's result as a change set, so that one verification serves both kinds of fix."""
    created = {p: s for p, s in states.items() if s is not None and base.mode(p) is None}
    replaced = {p: (base.digest(p), s.data) for p, s in states.items() if s is not None and base.mode(p) is not None}
    deleted = {p: base.digest(p) for p, s in states.items() if s is None and base.mode(p) is not None}
    return ChangeSet(created=created, replaced=replaced, deleted=deleted)


def _signature(proposal: Proposal, reason: Reason | None, left: Sequence[tuple[str, ...]]) -> str:
    """Name the outcome of a delegated attempt: two equal ones in a row are no progress."""
    parts = [scrub(sentence(reason)) if reason else "still fails", *(repr(key) for key in sorted(left))]
    for path in sorted(proposal.states):
        state = proposal.states[path]
        parts.append(f"{path}:{state.digest if state else 'gone'}")
    return digest_of("\n".join(parts).encode("utf-8", "surrogateescape"))
