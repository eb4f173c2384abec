"""`fixaudit scan`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from fixaudit.audit import ERROR, Audit, Finding
from fixaudit.cli.timings import Timings
from fixaudit.errors import UsageError
from fixaudit.gate import Standing
from fixaudit.masking import Masker
from fixaudit.session import Session, masker_for, names_rule, open_session, unknown_rules

MOST_NOTES = 10


def run_scan(
    paths: Sequence[Path],
    format_: str,
    fail_on: str | None,
    staged: bool,
    only: Sequence[str],
    skip: Sequence[str],
    rules: Sequence[Path],
    show: str,
    quiet: bool,
    timings: bool,
) -> int:
    """Audit, render, and return the exit code."""
    if show not in ("", "all"):
        raise UsageError("--show takes `all`")
    if staged and paths:
        raise UsageError("--staged judges the whole commit, so it takes no paths")
    clock = Timings(timings)
    with clock.phase("open"):
        session = open_session([] if staged else paths, rules=rules)
        require_rules(session, only, skip)
    with clock.phase("audit"):
        if staged:
            from fixaudit.cli.staged import judge_staged

            session.narrowed = ()  # a commit is judged as a whole, wherever it is made
            look = judge_staged(session)
            judged, findings, undecided = look.audit, look.findings, look.undecided
        else:
            judged = session.audit()
            findings, undecided = judged.findings, judged.undecided
        standing = session.standing(judged)
    wanted = _wanted(session, only, skip)
    findings = tuple(f for f in findings if wanted(f))
    undecided = tuple(f for f in undecided if wanted(f))
    with clock.phase("report"):
        render(session, judged, standing, findings, undecided, format_, show == "all", quiet)
    clock.print()
    return exit_code(fail_on or ("P1" if staged else "gate"), judged, standing, findings)


def require_rules(session: Session, *given: Sequence[str]) -> None:
    """Raise UsageError for rules that are not loaded: a typing error must not silently select nothing."""
    unknown = unknown_rules(session, *given)
    if unknown:
        from fixaudit.rulebook.template import nearest

        known = sorted({rule.id for rule in session.rulebook.rules} | {rule.pack for rule in session.rulebook.rules})
        raise UsageError("; ".join(f"no rule or pack `{name}`{nearest(name, known)}" for name in unknown))


def _wanted(session: Session, only: Sequence[str], skip: Sequence[str]) -> Callable[[Finding], bool]:
    def keep(finding: Finding) -> bool:
        return (
            session.shows(finding)
            and (not only or any(names_rule(rule, finding.rule) for rule in only))
            and not any(names_rule(rule, finding.rule) for rule in skip)
        )

    return keep


def exit_code(fail_on: str, judged: Audit, standing: Standing, findings: Sequence[Finding]) -> int:
    """Return 0 or 1 by what the person asked for. A rule that could not be evaluated counts as failing."""
    broken = [verdict.priority for verdict in judged.verdicts if verdict.verdict == ERROR]
    match fail_on:
        case "never":
            return 0
        case "any":
            return int(bool(findings or broken))
        case "gate":
            return int(not (standing.gate.open or standing.empty))
    return int(any(priority <= fail_on for priority in (*broken, *(finding.priority for finding in findings))))


def render(
    session: Session,
    judged: Audit,
    standing: Standing,
    findings: Sequence[Finding],
    undecided: Sequence[Finding],
    format_: str,
    show_all: bool,
    quiet: bool,
) -> None:
    masker = masker_for(judged)
    print_notes(judged, everything=show_all)
    if format_ == "json":
        from fixaudit.reports import json

        sys.stdout.write(masker(json.dumps(json.scan(judged, standing, findings, fixable(judged)))))
        return
    from fixaudit.reports import console

    style = console.Style(show_all, quiet, lambda finding: excerpt(judged, finding, masker))
    out = console.screen(mask=masker)
    if session.git_problem and not quiet:
        console.say(out, ("note", "yellow"), f"  git: {session.git_problem}")
    console.scan(out, judged, standing, findings, undecided, fixable(judged), style)


def print_notes(judged: Audit, *, everything: bool = False) -> None:
    """Name on stderr the files that could not be read as they should, whatever the format: nothing hides them."""
    shown = judged.diagnostics if everything else judged.diagnostics[:MOST_NOTES]
    for item in shown:
        where = f"{item.path}:{item.line}" if item.line else item.path
        print(f"note: {where}: {item.message}", file=sys.stderr)
    if len(judged.diagnostics) > len(shown):
        print(f"note: … and {len(judged.diagnostics) - len(shown)} more files (--show all)", file=sys.stderr)


def fixable(judged: Audit) -> Callable[[Finding], bool]:
    """Return whether a deterministic fix exists for a finding's rule (it may still refuse)."""
    able = {rule.id for rule in judged.rulebook.rules if rule.fix is not None}
    return lambda finding: finding.rule in able


def excerpt(judged: Audit, finding: Finding, masker: Masker) -> tuple[int, str, int, int] | None:
    """Return a finding's first line, masked, with its number and the columns to mark (0-based, half-open)."""
    if finding.path is None or finding.span is None or finding.line is None:
        return None
    file = judged.project.file(finding.path)
    text = file.shown if file else None
    if text is None:
        return None
    start = text.lines.start_of(finding.line)
    end = text.lines.line_end(start)
    first, last = finding.span[0] - start, min(finding.span[1], end) - start
    if last <= first:
        return None
    # Mask the pieces apart, so that the marked columns stay right; a value that crosses them is masked as a whole.
    line = text.content[start:end]
    before, marked, after = masker(line[:first]), masker(line[first:last]), masker(line[last:])
    whole = masker(line)
    if before + marked + after != whole:
        return finding.line, whole, 0, len(whole)
    return finding.line, whole, len(before), len(before) + len(marked)
