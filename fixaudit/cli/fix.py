"""`fixaudit fix`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from fixaudit.audit import Audit, Finding
from fixaudit.cli.review import write_review_file
from fixaudit.cli.scan import print_notes, require_rules
from fixaudit.cli.timings import Timings
from fixaudit.configuration import Agent
from fixaudit.errors import BlockedError, UsageError
from fixaudit.followups import REVIEW_NAME
from fixaudit.ledger import ATTEMPTS, CYCLES, Ledger, Reason
from fixaudit.loop import Effects, Progress, Proposal, RunReport, run
from fixaudit.masking import Masker
from fixaudit.reports import markdown
from fixaudit.session import Session, masker_for, open_session
from fixaudit.snapshot import FollowUp, Overlay
from fixaudit.workbench import Workbench, settings_for


@dataclass(frozen=True)
class Options:
    """The command's options as given."""

    max_cycles: int = CYCLES
    max_attempts: int = ATTEMPTS
    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    diff: bool = False
    interactive: bool = False
    unsafe: bool = False
    no_install: bool = False
    unit: str = "match"
    commit: bool = False
    allow_dirty: bool = False
    allow_no_vcs: bool = False
    agent: str = ""
    format: str = "console"
    rules: tuple[Path, ...] = ()
    quiet: bool = False
    timings: bool = False
    trust: bool = False


def run_fix(paths: Sequence[Path], options: Options) -> int:
    """Run the loop, write the review, render, and return the exit code."""
    from fixaudit.execute import is_nested

    _require_bounds(options)
    if is_nested():
        raise BlockedError(
            "fixaudit is running already and started this program",
            hint="an agent must edit the files of its checkout; the run that started it verifies them",
        )
    clock = Timings(options.timings)
    with clock.phase("open"):
        session = open_session(paths, rules=options.rules, tolerate_git=options.diff)
        require_rules(session, options.only, options.skip)
        bench = Workbench(session, options.allow_dirty, options.commit, options.diff)
        if not options.diff:
            bench.require_safe_place(options.allow_no_vcs)
    with nullcontext() if options.diff else bench.locked():
        with clock.phase("audit"):
            before = session.audit()
        with clock.phase("fix"):
            report = run_loop(session, bench, before, options)
        with clock.phase("report"):
            code = _finish(session, bench, report, options)
    clock.print()
    return code


def _require_bounds(options: Options) -> None:
    for name, value, most in (
        ("--max-cycles", options.max_cycles, CYCLES),
        ("--max-attempts", options.max_attempts, ATTEMPTS),
    ):
        if not 1 <= value <= most:
            raise UsageError(f"{name} must be between 1 and {most}: the bound may be lowered, never raised")
    if options.agent not in ("", "none"):
        raise UsageError("--agent takes `none`; an agent's command is configured in fixaudit.yaml")
    if options.diff and (options.commit or options.interactive):
        raise UsageError("--diff writes nothing, so it cannot be combined with --commit or --interactive")
    if options.interactive and not sys.stdin.isatty():
        raise UsageError("--interactive needs a terminal")


def run_loop(
    session: Session,
    bench: Workbench,
    before: Audit,
    options: Options,
    chosen: Callable[[Finding], bool] = lambda _: True,
) -> RunReport:
    """Run the loop with what the options allow; `chosen` narrows the findings that are worked on."""
    overlay = Overlay(session.tree)
    settings = settings_for(
        session,
        max_cycles=options.max_cycles,
        unit=options.unit,
        unsafe=options.unsafe,
        no_install=options.no_install,
        only=options.only,
        skip=options.skip,
    )
    allowed = settings.wanted
    settings = replace(
        settings,
        wanted=lambda finding: allowed(finding) and chosen(finding),
        fresh=None if options.diff else session.fresh_audit,
    )
    effects = bench.effects()
    if not options.quiet and options.format == "console" and sys.stderr.isatty():
        effects.progress = _progress()
    if options.interactive or any(session.configuration.asks(rule.id) for rule in session.rulebook.rules):
        from fixaudit.cli.ask import asker

        effects.confirm = asker(session, masker_for(before), everything=options.interactive)
    _delegation(session, bench, effects, before, options)
    return run(before, overlay, settings, effects, Ledger(options.max_attempts))


def _delegation(session: Session, bench: Workbench, effects: Effects, before: Audit, options: Options) -> None:
    from fixaudit.delegate.prompt import contract_text

    masker = masker_for(before)
    effects.contract_text = lambda rule, issue, judged: masker(contract_text(rule, issue, judged))
    agent = session.configuration.agent
    if agent is None or options.agent == "none" or options.diff:
        return
    if not (options.trust or trusted(session, bench, agent)):
        shown = " ".join(agent.command)
        why = f"{session.configuration.path} names `{shown}`, which you have not allowed; `fixaudit trust` does"
        effects.agent = lambda _: Proposal(reason=Reason("agent_unstarted", {"why": why}))
        return
    from fixaudit.delegate.command import CommandAgent

    effects.agent = CommandAgent(session.root, agent.command, agent.timeout, agent.environment)


def trusted(session: Session, bench: Workbench, agent: Agent) -> bool:
    """Say whether this user has allowed the configured command as it is now."""
    from fixaudit.trust import Trust, command_digest

    return command_digest(session.root, agent.command, agent.environment) in Trust(bench.state.state).digests()


def _progress() -> Callable[[Progress], None]:
    from rich.console import Console
    from rich.status import Status

    status = Status("", console=Console(stderr=True, highlight=False, markup=False))
    status.start()

    def show(event: Progress) -> None:
        if event.kind == "cycle":
            status.update(f"cycle {event.cycle}: {event.text} issue(s)")
        else:
            status.update(f"cycle {event.cycle}: {event.rule} {event.kind}")

    import atexit

    atexit.register(status.stop)
    return show


def _finish(session: Session, bench: Workbench, report: RunReport, options: Options) -> int:
    masker = masker_for(report.before) | masker_for(report.after)
    print_notes(report.after)
    if options.diff:
        _print_diff(session, report, masker, options)
        return 0 if report.outcome == "success" else 1
    made = [masked(f, masker) for item in report.fixed for f in item.follow_ups]
    follow_ups = bench.leftovers.add(made)
    review_path = _write_review(session, bench, report, follow_ups, masker)
    if options.format == "json":
        from fixaudit.reports import json

        sys.stdout.write(masker(json.dumps(json.fix(report, follow_ups))))
    else:
        from fixaudit.reports import console

        console.fix(console.screen(mask=masker), report, follow_ups, review_path=review_path)
    return 0 if report.outcome == "success" else 1


def masked(follow_up: FollowUp, masker: Masker) -> FollowUp:
    """Return a follow-up as it may be kept and shown."""
    command = follow_up.command and masker(follow_up.command)
    return FollowUp(masker(follow_up.id), masker(follow_up.text), command)


def _write_review(
    session: Session, bench: Workbench, report: RunReport, follow_ups: Sequence[FollowUp], masker: Masker
) -> str | None:
    """Write fixaudit-review.md; return its name, or None when there is no such file of ours."""
    points = masker(markdown.points(report))
    bench.leftovers.keep_points(points)
    needed = bool(points or follow_ups)
    return write_review_file(session.root / REVIEW_NAME, markdown.review(points, follow_ups), needed=needed)


def _print_diff(session: Session, report: RunReport, masker: Masker, options: Options) -> None:
    from fixaudit.reports import diff

    text = masker(diff.unified(session.tree, report.overlay, report.changed))
    if options.format == "json":
        from fixaudit.reports import json

        sys.stdout.write(masker(json.dumps({**json.fix(report, []), "diff": text})))
        return
    sys.stdout.write(text)
    own = sum(item.by is None for item in report.fixed)
    print(
        f"{own} fix(es) would be kept, {len(report.review)} point(s) would need you; nothing was written",
        file=sys.stderr,
    )
