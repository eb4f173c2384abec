"""Files of patterns, one a line: .gitignore, .dockerignore and their kin.

Contract: lines are only ever appended, in the order asked for, because in these files a later line wins. Whether a
path is ignored is git's to say, not this module's.
"""

from __future__ import annotations

from collections.abc import Sequence

from fixaudit.formats.problem import append_lines
from fixaudit.text import Edit, Text


def ensure_lines(text: Text, lines: Sequence[str]) -> tuple[Edit, ...]:
    """Return the edit that makes every one of `lines` hold; empty when all do.

    A line holds when it stands in the file, exactly, and no later line is its opposite (`.env` and `!.env`). A
    negation that stands only above a pattern added here is added again below it: `.env*` behind `!.env.example` would
    take the exception back. Comments and blank lines come along with the next pattern that is added, never alone
    (unless they are all that is asked for).
    """
    present = text.content.replace("\r\n", "\n").split("\n")
    added: list[str] = []
    waiting: list[str] = []
    pattern_added = False
    only_comments = not any(_is_pattern(line) for line in lines)
    for line in lines:
        if not _is_pattern(line):
            if line == "" or line not in present:
                waiting.append(line)
            continue
        if _holds(line, present) and not (pattern_added and line.startswith("!")):
            waiting.clear()
            continue
        added += [*_without_double_blank(waiting, added or present), line]
        waiting.clear()
        pattern_added = pattern_added or not line.startswith("!")
    if only_comments:
        added += [line for line in waiting if line]
    return append_lines(text, added)


def _is_pattern(line: str) -> bool:
    return bool(line.strip()) and not line.startswith("#")


def _holds(line: str, present: Sequence[str]) -> bool:
    opposite = line[1:] if line.startswith("!") else "!" + line
    for existing in reversed(present):
        if existing == line:
            return True
        if existing == opposite:
            return False
    return False


def _without_double_blank(waiting: Sequence[str], before: Sequence[str]) -> list[str]:
    """Drop a blank line at the start of the file and one that follows another blank line."""
    kept: list[str] = []
    for line in waiting:
        if line == "" and (kept[-1] if kept else _last_line(before)) == "":
            continue
        kept.append(line)
    return kept


def _last_line(lines: Sequence[str]) -> str:
    """Return the last line that a reader sees: the empty piece behind a final line ending is none."""
    if len(lines) >= 2 and lines[-1] == "":
        return lines[-2]
    return lines[-1] if lines else ""
