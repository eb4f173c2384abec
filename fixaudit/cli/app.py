"""The commands and their options. Each command is one function that opens a session, asks it, and renders.

This module must hold no decision about findings, fixes or files.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from fixaudit.ledger import ATTEMPTS, CYCLES

app = typer.Typer(
    name="fixaudit",
    help="Audit a repository against rule packs, fix what can be fixed and verified, and write down the rest.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Paths = Annotated[
    list[Path] | None, typer.Argument(help="Show and fix only what is in these paths.", show_default=False)
]
Rules = Annotated[
    list[Path] | None,
    typer.Option("--rules", help="A rule, a pack or a folder of packs to use as well.", metavar="DIR"),
]
Only = Annotated[list[str] | None, typer.Option("--only", help="Only these rules or packs.", metavar="RULE")]
Skip = Annotated[list[str] | None, typer.Option("--skip", help="Not these rules or packs.", metavar="RULE")]


class Format(StrEnum):
    """How results are written."""

    console = "console"
    json = "json"


class FailOn(StrEnum):
    """What makes `scan` exit with 1."""

    gate = "gate"
    P0 = "P0"
    P1 = "P1"
    P2 = "P2"
    P3 = "P3"
    P4 = "P4"
    P5 = "P5"
    any = "any"
    never = "never"


class Unit(StrEnum):
    """What one issue is."""

    match = "match"
    rule = "rule"


@app.callback()
def _options(
    version: Annotated[bool, typer.Option("--version", "-V", help="Print the version and exit.")] = False,
) -> None:
    if version:
        from fixaudit import __version__

        typer.echo(f"fixaudit {__version__}")
        raise typer.Exit


@app.command()
def scan(
    paths: Paths = None,
    format_: Annotated[Format, typer.Option("--format", help="How to write the result.")] = Format.console,
    fail_on: Annotated[
        FailOn | None,
        typer.Option(
            "--fail-on",
            help="Exit with 1 when the gate is shut, or for findings of a priority (default: gate, P1 with --staged).",
            show_default=False,
        ),
    ] = None,
    staged: Annotated[
        bool, typer.Option("--staged", help="Judge what is about to be committed; findings in staged files decide.")
    ] = False,
    only: Only = None,
    skip: Skip = None,
    rules: Rules = None,
    show: Annotated[str, typer.Option("--show", help="`all` lists every finding.")] = "",
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Findings and verdict only.")] = False,
    timings: Annotated[bool, typer.Option("--timings", help="Print the time of each phase to stderr.")] = False,
) -> int:
    """Audit the project. Changes nothing."""
    from fixaudit.cli.scan import run_scan

    return run_scan(
        paths or [], format_.value, fail_on and fail_on.value, staged, only or [], skip or [], rules or [], show, quiet,
        timings,
    )  # fmt: skip


@app.command()
def fix(
    paths: Paths = None,
    max_cycles: Annotated[
        int, typer.Option("--max-cycles", help=f"How often the queue may be refilled, 1 to {CYCLES}.", metavar="N")
    ] = CYCLES,
    max_attempts: Annotated[
        int,
        typer.Option("--max-attempts", help=f"Attempts per issue over the whole run, 1 to {ATTEMPTS}.", metavar="N"),
    ] = ATTEMPTS,
    only: Only = None,
    skip: Skip = None,
    diff: Annotated[bool, typer.Option("--diff", help="Print the changes as a diff and write nothing.")] = False,
    interactive: Annotated[bool, typer.Option("--interactive", "-i", help="Ask before each fix.")] = False,
    unsafe_fixes: Annotated[
        bool, typer.Option("--unsafe-fixes", help="Apply fixes that may break a legitimate caller, too.")
    ] = False,
    no_install: Annotated[
        bool, typer.Option("--no-install", help="Never start a package manager to update a lockfile.")
    ] = False,
    issue_unit: Annotated[
        Unit, typer.Option("--issue-unit", help="`rule`: one issue per failing rule, one finding per attempt.")
    ] = Unit.match,
    commit: Annotated[bool, typer.Option("--commit", help="Commit each verified fix by itself.")] = False,
    allow_dirty: Annotated[
        bool, typer.Option("--allow-dirty", help="Fix files with uncommitted changes, too.")
    ] = False,
    allow_no_vcs: Annotated[bool, typer.Option("--allow-no-vcs", help="Fix without a git repository.")] = False,
    agent: Annotated[
        str, typer.Option("--agent", help="`none`: do not hand anything to the configured agent.", metavar="none")
    ] = "",
    trust: Annotated[
        bool, typer.Option("--trust", help="Start the agent that the project's configuration names, for this run.")
    ] = False,
    format_: Annotated[Format, typer.Option("--format", help="How to write the result.")] = Format.console,
    rules: Rules = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Results only, no progress.")] = False,
    timings: Annotated[bool, typer.Option("--timings", help="Print the time of each phase to stderr.")] = False,
) -> int:
    """Fix what can be fixed and verified; write the rest to fixaudit-review.md."""
    from fixaudit.cli.fix import Options, run_fix

    return run_fix(
        paths or [],
        Options(
            max_cycles, max_attempts, tuple(only or ()), tuple(skip or ()), diff, interactive, unsafe_fixes, no_install,
            issue_unit.value, commit, allow_dirty, allow_no_vcs, agent, format_.value, tuple(rules or ()), quiet,
            timings, trust,
        ),
    )  # fmt: skip


@app.command()
def undo(
    rule: Annotated[str | None, typer.Argument(help="Only this rule's fixes.", show_default=False)] = None,
) -> int:
    """Take back the last run, or one rule's fixes."""
    from fixaudit.cli.review import run_undo

    return run_undo(rule)


@app.command()
def review(
    done: Annotated[list[str] | None, typer.Option("--done", help="Mark a follow-up as done.", metavar="ID")] = None,
) -> int:
    """Show what the last run left for a person."""
    from fixaudit.cli.review import run_review

    return run_review(done or [])


@app.command()
def trust() -> int:
    """Allow the commands that this project's configuration names; a changed one asks again."""
    from fixaudit.cli.trust import run_trust

    return run_trust()


@app.command()
def explain(rule: Annotated[str, typer.Argument(help="A rule id such as SEC-003.")], rules: Rules = None) -> int:
    """Say what a rule asks, why, and what its fix does."""
    from fixaudit.cli.rules import run_explain

    return run_explain(rule, rules or [])


@app.command("rules")
def list_rules(
    rules: Rules = None,
    format_: Annotated[Format, typer.Option("--format", help="How to write the list.")] = Format.console,
    stats: Annotated[bool, typer.Option("--stats", help="How many requirements are fixed deterministically.")] = False,
) -> int:
    """List every rule."""
    from fixaudit.cli.rules import run_rules

    return run_rules(rules or [], format_.value, stats)


@app.command("test")
def test_rules(
    names: Annotated[list[str] | None, typer.Argument(help="Rules, packs or concepts (default: all).")] = None,
    mutate: Annotated[
        bool, typer.Option("--mutate", help="Weaken each part of a rule; an example must notice.")
    ] = False,
    rules: Rules = None,
) -> int:
    """Run the examples inside rules and concepts."""
    from fixaudit.cli.rules import run_test

    return run_test(names or [], mutate, rules or [])


@app.command()
def init() -> int:
    """Write a commented fixaudit.yaml."""
    from fixaudit.cli.rules import run_init

    return run_init()


class HookAction(StrEnum):
    """What the hook does."""

    scan = "scan"
    fix = "fix"
    show = "show"


@app.command()
def hook(
    action: Annotated[
        HookAction, typer.Argument(help="`scan` or `fix` what is staged; `show` prints how to set the hook up.")
    ] = HookAction.show,
    fail_on: Annotated[FailOn, typer.Option("--fail-on", help="What makes the commit fail.")] = FailOn.P1,
    rules: Rules = None,
) -> int:
    """Judge what is about to be committed; meant for pre-commit."""
    from fixaudit.cli.hook import run_hook

    return run_hook(action.value, fail_on.value, rules or [])


@app.command()
def demo(
    sample: Annotated[str, typer.Argument(help="Name of a sample.")] = "node_express_secrets",
) -> int:
    """Copy a sample to a temporary repository, scan it, fix it and show the diff."""
    from fixaudit.cli.demo import run_demo

    return run_demo(sample)
