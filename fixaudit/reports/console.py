"""What a person sees in the terminal: grouped by rule, capped, with the code and what can be done next.

Contract: renders values and nothing else; quiet and plain when piped or with NO_COLOR (rich decides), the same bytes
for the same input off a terminal. No file content is interpreted as markup, and every excerpt is masked by the caller.
This module must not know how findings or fixes came about.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

from fixaudit.audit import Audit, Finding
from fixaudit.gate import Standing
from fixaudit.ledger import Entry, sentence
from fixaudit.loop import RunReport
from fixaudit.rulebook.rule import Rule
from fixaudit.snapshot import FollowUp

if TYPE_CHECKING:
    from rich.console import Console

WIDTH = 100
"""Columns off a terminal, so that output does not depend on where it is made."""
PER_RULE = 3
LONGEST_LINE = 160

COLORS = {"P0": "bold red", "P1": "red", "P2": "yellow", "P3": "yellow", "P4": "cyan", "P5": "cyan"}


@dataclass(frozen=True)
class Style:
    """How much to say. `excerpt(finding)` gives (line number, masked line, first column, last column) or None."""

    show_all: bool = False
    quiet: bool = False
    excerpt: Callable[[Finding], tuple[int, str, int, int] | None] = lambda _: None


@dataclass(frozen=True)
class Screen:
    """Where lines go, and what takes credentials out of every text on its way."""

    console: Console
    mask: Callable[[str], str]


def screen(stream: TextIO | None = None, mask: Callable[[str], str] = str) -> Screen:
    """Return a screen on a stream (default stdout) that never interprets text."""
    from rich.console import Console

    stream = stream or sys.stdout
    terminal = stream.isatty()
    console = Console(
        file=stream, highlight=False, markup=False, emoji=False, width=None if terminal else WIDTH, soft_wrap=True
    )
    return Screen(console, mask)


def say(out: Screen, *parts: str | tuple[str, str], indent: int = 0) -> None:
    """Print one line of plain and (text, style) parts; control characters become visible."""
    from rich.text import Text

    line = Text(" " * indent)
    for part in parts:
        text, style = part if isinstance(part, tuple) else (part, "")
        line.append(_clean(out.mask(text)), style=style)
    out.console.print(line, soft_wrap=True)


def _clean(text: str) -> str:
    # Names and code come from the audited project: an escape sequence in them must not reach the terminal.
    shown = "".join(c if c.isprintable() or c == " " else "␀" if c == "\0" else " " if c == "\t" else "�" for c in text)
    return shown.encode("utf-8", "replace").decode()


def scan(
    out: Screen,
    audit: Audit,
    standing: Standing,
    findings: Sequence[Finding],
    undecided: Sequence[Finding],
    fixable: Callable[[Finding], bool],
    style: Style,
) -> None:
    """Print a scan."""
    if not style.quiet:
        _head(out, audit)
    for rule, group in _by_rule(audit, findings):
        _rule(out, audit, rule, group, fixable, style)
    if undecided and not style.quiet:
        say(out, ("Could not be decided", "bold"), " (low confidence: never fixed, never failing)")
        shown = undecided if style.show_all else undecided[:5]
        for finding in shown:
            say(out, f"{finding.rule}  ", (_place(finding), "cyan"), f"  {finding.message}", indent=2)
        if len(undecided) > len(shown):
            say(out, f"… and {len(undecided) - len(shown)} more (--show all)", indent=2)
        say(out)
    _errors(out, audit)
    _skipped(out, audit, style)
    _verdict(out, standing)
    if not style.quiet:
        _next(out, findings, fixable)


def _head(out: Screen, audit: Audit) -> None:
    from fixaudit import __version__

    for root in audit.roots:
        stacks = ", ".join(root.stacks) or "no known stack"
        say(out, (root.path or ".", "bold"), f"  {stacks}  ({root.files} files)")
    say(out, (f"fixaudit {__version__}, rules {audit.rulebook.version}", "dim"))
    say(out)


def _by_rule(audit: Audit, findings: Sequence[Finding]) -> Iterable[tuple[Rule, list[Finding]]]:
    groups: dict[str, list[Finding]] = {}
    for finding in findings:
        groups.setdefault(finding.rule, []).append(finding)
    for rule_id, group in sorted(groups.items(), key=lambda item: (min(f.priority for f in item[1]), item[0])):
        rule = audit.rulebook.rule(rule_id)
        if rule is not None:
            yield rule, group


def _rule(
    out: Screen,
    audit: Audit,
    rule: Rule,
    group: list[Finding],
    fixable: Callable[[Finding], bool],
    style: Style,
) -> None:
    priority = min(f.priority for f in group)
    many = f"  {len(group)} findings" if len(group) > 1 else ""
    say(out, (priority, COLORS[priority]), "  ", (rule.id, "bold"), f"  {rule.title}", (many, "dim"))
    shown = group if style.show_all else group[:PER_RULE]
    for finding in shown:
        lowered = f" ({finding.priority})" if finding.priority != priority else ""
        say(out, (_place(finding), "cyan"), f"  {finding.message}{lowered}", indent=4)
        excerpt = None if style.quiet else style.excerpt(finding)
        if excerpt is not None:
            _code(out, *excerpt, color=COLORS[finding.priority])
    if len(group) > len(shown):
        say(out, (f"… and {len(group) - len(shown)} more (--show all)", "dim"), indent=4)
    if not style.quiet:
        able = sum(fixable(f) for f in group)
        if rule.fix is not None and able:
            title = re.sub(r"\{\{.*?\}\}", "…", rule.fix.title)  # what stands there is only known once it is planned
            note = "" if rule.fix.safety == "safe" else ", with --unsafe-fixes"
            say(out, ("fix", "green"), f"  {title} ({rule.fix.safety}{note})", indent=4)
        elif rule.contract is not None:
            say(out, ("fix", "green"), "  by an agent or by hand, within a checked contract", indent=4)
    say(out)


def _code(out: Screen, line: int, text: str, first: int, last: int, *, color: str) -> None:
    """Print a line with its span marked; a long line is cut around the span."""
    start = 0
    if len(text) > LONGEST_LINE:
        start = max(0, min(first - 20, len(text) - LONGEST_LINE))
        text = ("…" if start else "") + text[start : start + LONGEST_LINE] + "…"
        first, last = first - start + bool(start), last - start + bool(start)
    text = text.replace("\t", " ")
    number = str(line)
    say(out, (f"{number} │ ", "dim"), text, indent=6)
    width = max(1, min(last, len(text)) - first)
    say(out, (f"{' ' * len(number)} │ ", "dim"), " " * first, ("^" * width, color), indent=6)


def _place(finding: Finding) -> str:
    parts = (finding.path or finding.root or ".", finding.line, finding.column)
    return ":".join(str(part) for part in parts if part is not None)


def _errors(out: Screen, audit: Audit) -> None:
    for verdict in audit.verdicts:
        if verdict.error:
            say(out, ("error", "bold red"), f"  {verdict.rule} could not be evaluated: {verdict.error}")


def _skipped(out: Screen, audit: Audit, style: Style) -> None:
    """Name what looks like a program and was not read as one, so that nobody takes silence for a pass."""
    if not audit.minified or style.quiet:
        return
    shown = audit.minified if style.show_all else audit.minified[:3]
    more = f" and {len(audit.minified) - len(shown)} more (--show all)" if len(audit.minified) > len(shown) else ""
    noun = "file" if len(audit.minified) == 1 else "files"
    say(out, ("skipped", "dim"), f"  {len(audit.minified)} minified {noun}: {', '.join(shown)}{more}")
    say(out)


def _verdict(out: Screen, standing: Standing) -> None:
    if standing.empty:
        say(out, "Nothing to judge: there is no file here.")
        return
    score = "Not assessed" if standing.score is None else f"Score {standing.score}, {standing.band}"
    undecided = sum(item.undecided for item in standing.roots)
    extra = f", {undecided} undecided" if undecided else ""
    if standing.gate.open:
        say(out, (f"{score}. Gate open{extra}.", "bold green"))
    else:
        say(out, (f"{score}. Gate shut{extra}: ", "bold"), "; ".join(standing.gate.reasons))
    if len(standing.roots) > 1:
        for item in standing.roots:
            # Why a root is not assessed stands among the reasons already.
            if item.score is not None:
                say(out, f"{item.root.path or '.'}: score {item.score}, {item.band}", indent=2)


def _next(out: Screen, findings: Sequence[Finding], fixable: Callable[[Finding], bool]) -> None:
    if not findings:
        return
    say(out)
    able = sum(fixable(f) for f in findings)
    if able:
        say(out, f"{able} of {len(findings)} can be fixed. Next:")
        say(out, ("fixaudit fix --diff", "bold"), "   see every change before anything is written", indent=2)
        say(
            out,
            ("fixaudit fix", "bold"),
            "          fix, verify, and write what is left to fixaudit-review.md",
            indent=2,
        )
    say(out, (f"fixaudit explain {findings[0].rule}", "bold"), "  why it matters and what the fix does", indent=2)


def fix(out: Screen, report: RunReport, follow_ups: Sequence[FollowUp], *, review_path: str | None) -> None:
    """Print the end of a run of `fix`."""
    own = [item for item in report.fixed if item.by is None]
    along = [item for item in report.fixed if item.by is not None]
    for item in own:
        where = f"{item.path}:{item.line}" if item.line else item.path or ", ".join(item.paths)
        say(out, ("fixed", "green"), f"  {item.rule}  ", (where, "cyan"), f"  {item.title}")
    for item in along:
        say(out, ("fixed", "green"), f"  {item.rule}  {item.path or ''}  along with {item.by}")
    taken_back = report.ledger.reverted()
    said = Counter((a.rule, sentence(a.reason)) for a in taken_back if a.reason is not None)
    for (rule, why), times in said.items():
        say(out, ("taken back", "yellow"), f"  {rule}  {why}{f' ({times} times)' if times > 1 else ''}")
    for entry in report.review:
        _review_line(out, entry)
    if own or along or report.review:
        say(out)
    needs = len(report.review)
    undone = len({a.issue for a in taken_back})
    summary = f"{len(own) + len(along)} fixed, {needs} {'needs' if needs == 1 else 'need'} you, {undone} taken back."
    before, after = report.standing_before.score, report.standing_after.score
    moved = f" Score {before} → {after}." if before is not None and after is not None and before != after else ""
    say(out, (summary, "bold"), moved)
    _verdict(out, report.standing_after)
    if report.stopped:
        say(out, f"The run was {report.stopped}; what was kept stays.")
    if follow_ups:
        say(out)
        say(out, ("Before you start it again", "bold"))
        for number, follow_up in enumerate(follow_ups, 1):
            say(out, f"{number}. {follow_up.text}", indent=2)
            if follow_up.command:
                say(out, (follow_up.command, "bold"), indent=5)
    _after_fix(out, report, review_path)


def _review_line(out: Screen, entry: Entry) -> None:
    where = f"  ({entry.locations[0]})" if entry.locations else ""
    say(out, ("needs you", "magenta"), f"  {entry.line}", (where, "cyan"))


def _after_fix(out: Screen, report: RunReport, review_path: str | None) -> None:
    say(out)
    if report.changed:
        say(out, ("git diff", "bold"), "         read what changed", indent=2)
        say(out, ("fixaudit undo", "bold"), "    take this run back", indent=2)
    if report.review and review_path:
        say(out, ("fixaudit review", "bold"), f"  read {review_path}", indent=2)
