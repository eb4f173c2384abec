"""`fixaudit-review.md`: what a person has to do, with the exact reason for each point.

Contract: deterministic, rendered from the ledger alone. The one-line form `RULE (FIX TYPE): reason` is exact; every
other value is escaped for Markdown, so that no file content can add structure to the file. The first line marks the
file as ours: a file without it is never overwritten.
This module must not know how the run was made.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from fixaudit.gate import Standing
from fixaudit.ledger import Entry
from fixaudit.loop import RunReport
from fixaudit.snapshot import FollowUp

HEADER = "<!-- fixaudit review: written by `fixaudit fix`, replaced by its next run -->"
MOST_LOCATIONS = 20
"""More places than this are counted instead of listed; the JSON output has them all."""


def escape(text: str) -> str:
    """Make text safe inside a Markdown line: no structure, no HTML, no line breaks."""
    flat = re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+", " ", text)
    return re.sub(r"([\\`*_{}\[\]<>#|~])", r"\\\1", flat)


def code(text: str) -> str:
    """Return an inline code span that holds any text."""
    flat = re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+", " ", text)
    longest = max((len(run) for run in re.findall(r"`+", flat)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if flat.startswith("`") or flat.endswith("`") else ""
    return f"{fence}{pad}{flat}{pad}{fence}"


def one_line(entry: Entry) -> str:
    """Return the exact line of an entry; control characters in it become spaces, nothing else changes."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+", " ", entry.line)


def points(report: RunReport) -> str:
    """Render what needs a person; empty when nothing does."""
    if not report.review:
        return ""
    blocking = sum(entry.blocking for entry in report.review)
    lines = [
        f"{_count(len(report.review), 'point')} {'needs' if len(report.review) == 1 else 'need'} a person"
        + (f", {blocking} of them before the gate can open." if blocking else "."),
        "",
        _standing(report.standing_after),
        "",
    ]
    for entry in report.review:
        lines += _entry(entry)
    return "\n".join(lines)


def review(points: str, follow_ups: Sequence[FollowUp]) -> str:
    """Render the review file: the points of a run, and the follow-ups that are open now."""
    lines = [HEADER, "# fixaudit review", ""]
    if not points and not follow_ups:
        lines += ["Nothing to review: every rule that applies passes, or its fix was verified and kept.", ""]
    if points:
        lines.append(points)
    if follow_ups:
        lines += ["## Before you start it again", "", "In this order:", ""]
        for number, item in enumerate(follow_ups, 1):
            command = f": {code(item.command)}" if item.command else ""
            done = code(f"fixaudit review --done {shlex.quote(item.id)}")
            lines.append(f"{number}. {escape(item.text)}{command} (done? {done})")
        lines.append("")
    return "\n".join(lines)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _standing(standing: Standing) -> str:
    score = "not assessed" if standing.score is None else f"{standing.score} ({standing.band})"
    gate = "open" if standing.gate.open else "shut: " + "; ".join(escape(r) for r in standing.gate.reasons)
    return f"Score {score}. Gate {gate}."


def _entry(entry: Entry) -> list[str]:
    where = f" in {code(entry.root)}" if entry.root else ""
    lines = [f"## {escape(entry.title)} ({entry.priority}){where}", "", one_line(entry), ""]
    for location in entry.locations[:MOST_LOCATIONS]:
        lines.append(f"- at {code(str(location))}")
    if len(entry.locations) > MOST_LOCATIONS:
        lines.append(f"- and {len(entry.locations) - MOST_LOCATIONS} more")
    if entry.requirement:
        lines.append(f"- requirement: {escape(entry.requirement)}")
    if entry.message:
        lines.append(f"- found: {escape(entry.message)}")
    for candidate in entry.reason.candidates:
        lines.append(f"- candidate {code(candidate.value)} from {code(candidate.location)}")
    for tried in entry.tried:
        lines.append(f"- tried: {escape(tried)}")
    lines += [f"- next: {next_step(entry)}", ""]
    if entry.contract:
        lines += [
            "<details><summary>What an edit must hold to</summary>",
            "",
            entry.contract.rstrip(),
            "",
            "</details>",
            "",
        ]
    return lines


def next_step(entry: Entry) -> str:
    """Say what a person can do about an entry, in one sentence (Markdown)."""
    again = "then run `fixaudit fix` again"
    match entry.reason.kind:
        case "refused" if entry.reason.candidates:
            parameter = entry.reason.data.get("parameter") or "…"
            return (
                f"choose one and write it into `fixaudit.yaml` as `answers: [{{rule: {entry.rule}, "
                f"parameter: {parameter}, value: …}}]`, {again}"
            )
        case "unsafe":
            return "read what the fix does with `fixaudit explain " + entry.rule + "`, then use `--unsafe-fixes`"
        case "dirty":
            return f"commit or stash your changes there, {again} (or use `--allow-dirty`)"
        case "agent_missing" | "agent_unstarted" | "agent_slow" | "agent_idle" | "clause":
            return "make the change by hand within the boundary below, or configure an agent in `fixaudit.yaml`"
        case "precondition":
            return f"create what is missing, {again}"
        case "lockfile":
            return f"run the package manager yourself, commit the lockfile, {again}"
        case "declined":
            return "nothing: you chose to leave it"
        case "error":
            return "run `fixaudit scan` with FIXAUDIT_DEBUG=1 and report the rule's error"
    return f"change it by hand (`fixaudit explain {entry.rule}` says what is asked), {again}"
