"""What a format module returns instead of raising when a text cannot be read or edited safely.

This module must not know of any format.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from fixaudit.text import Edit, Text


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a text cannot be read, or why an edit was refused; `line` is 1-based, `message` a clause without a stop."""

    line: int
    message: str


Edits: TypeAlias = tuple[Edit, ...] | Problem


def insertion(offset: int, text: str) -> Edit:
    """Return the edit that inserts `text` at a code-point offset."""
    return Edit(offset, offset, "", text)


def append_lines(text: Text, lines: Sequence[str]) -> tuple[Edit, ...]:
    """Return the edit that adds whole lines at the end of a file; the last line is ended first when it is not.

    The added text always ends with one line ending of the file's own kind: files of lines need it for the next
    append (U22: `dist/` and `.env` became one pattern).
    """
    if not lines:
        return ()
    newline = text.newline
    start = "" if not text.content or text.content.endswith("\n") else newline
    return (insertion(len(text.content), start + "".join(line + newline for line in lines)),)
