"""The one dialect of regular expressions that rules may use: what Rust's engine and Python's both read alike.

Contract: no look-around, no back-references, no possessive or atomic groups, so a pattern means the same inside an
ast matcher (Rust) and in a column test (Python), and a rule cannot ask for what only backtracking can answer.
This module must not know where patterns stand.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

_REFUSED = (
    (re.compile(r"\(\?<?[=!]"), "look-around is not part of the dialect"),
    (re.compile(r"\(\?P="), "a back-reference is not part of the dialect"),
    (re.compile(r"\(\?>"), "an atomic group is not part of the dialect"),
    (re.compile(r"\(\?\("), "a conditional group is not part of the dialect"),
    (re.compile(r"[*+?}]\+"), "a possessive repeat is not part of the dialect"),
)
_BACK_REFERENCE = re.compile(r"\\[1-9]")


def _pieces(pattern: str) -> Iterator[tuple[int, str, bool]]:
    """Yield (offset, piece, whether it is a class or an escape) so that `[(?=]` and `\\(?=` are not misread."""
    index = 0
    while index < len(pattern):
        char = pattern[index]
        if char == "\\":
            yield index, pattern[index : index + 2], True
            index += 2
        elif char == "[":
            end = index + 1
            if pattern[end : end + 1] == "^":
                end += 1
            if pattern[end : end + 1] == "]":
                end += 1
            while end < len(pattern) and pattern[end] != "]":
                end += 2 if pattern[end] == "\\" else 1
            yield index, pattern[index : end + 1], True
            index = end + 1
        else:
            yield index, char, False
            index += 1


def problem(pattern: str) -> str | None:
    """Say why a pattern cannot be used, or None."""
    plain = ""
    for _, piece, opaque in _pieces(pattern):
        if opaque and _BACK_REFERENCE.fullmatch(piece):
            return "a back-reference is not part of the dialect"
        plain += "\0" * len(piece) if opaque else piece
    for refused, sentence in _REFUSED:
        found = refused.search(plain)
        if found is not None:
            return f"{sentence}: {pattern[found.start() : found.end()]}"
    try:
        compiled(pattern)
    except re.error as error:
        return f"the regular expression is broken: {error.msg}" + (f" at {error.pos}" if error.pos is not None else "")
    return None


@lru_cache(maxsize=1024)
def compiled(pattern: str) -> re.Pattern[str]:
    r"""Compile a pattern; `(?<NAME>…)` and `\z` are spelt as Python's. Raises re.error."""
    text = ""
    for _, piece, opaque in _pieces(pattern):
        text += r"\Z" if opaque and piece == r"\z" else piece
    return re.compile(re.sub(r"\(\?<(?=[A-Za-z_])", "(?P<", text))


def group_names(pattern: str) -> tuple[str, ...]:
    """Return the named groups of a usable pattern, in order."""
    return tuple(compiled(pattern).groupindex)
