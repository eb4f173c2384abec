r"""Python string literals: what their source text means.

Contract: source text of a literal in, its value out; a value that this program cannot hold (a lone surrogate, an
escape that Python refuses) is None. Formatted strings are cut on their *source*, so that every certain piece keeps
its place in the file. This module must not know of the parser or of the program model.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

PREFIX = re.compile(r"""([A-Za-z]{0,2})('''|\"\"\"|'|")""")
_ESCAPE = re.compile(r"\\(\r\n|[\n\r]|[0-7]{1,3}|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|N\{[^}]*\}|.)", re.S)
_SIMPLE = {
    "\\": "\\", "'": "'", '"': '"', "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
    "\n": "", "\r": "", "\r\n": "",
}  # fmt: skip
_SURROGATE = re.compile("[\ud800-\udfff]")

# printf-style: https://docs.python.org/3/library/stdtypes.html#printf-style-string-formatting
_PERCENT = re.compile(
    r"%(?:\((?P<name>[^)]*)\))?[#0\- +]*(?P<width>\*|\d+)?(?:\.(?P<precision>\*|\d+))?[hlL]?(?P<kind>.)"
)
# `\N{DASH}` holds braces that are no field; nested braces occur in a format spec, one level deep.
_FIELD = re.compile(r"\\N\{[^}]*\}|\{\{|\}\}|\{(?P<name>[^{}!:.\[]*)(?P<rest>(?:[^{}]|\{[^{}]*\})*)\}")


class Opening(NamedTuple):
    """How a literal starts: `length` of prefix and quotes, and what the prefix says."""

    length: int
    quote: str
    raw: bool
    binary: bool
    formatted: bool


class Piece(NamedTuple):
    """A cut of a format string: `text` is a certain piece of the source, or None for a hole; offsets are in the source.

    `name` is the hole's key ("" for the next one in line), `takes` how many operands it takes from the line.
    """

    start: int
    end: int
    text: str | None
    name: str = ""
    takes: int = 1


def opening(text: str) -> Opening | None:
    """Read prefix and quotes at the start of a literal; None when there are none (damaged source)."""
    match = PREFIX.match(text)
    if match is None:
        return None
    prefix = match[1].lower()
    return Opening(match.end(), match[2], "r" in prefix, "b" in prefix, "f" in prefix or "t" in prefix)


def inside(text: str, head: Opening) -> str:
    """Return the source between the quotes; an unterminated literal reaches to its end."""
    end = len(text) - len(head.quote) if len(text) >= head.length + len(head.quote) else len(text)
    return text[head.length : end]


def decode(source: str, *, raw: bool = False, binary: bool = False) -> str | None:
    """Return the value of the source between two quotes; bytes come out as Latin-1 text."""
    if "\r" in source:
        source = source.replace("\r\n", "\n").replace("\r", "\n")
    if raw or "\\" not in source:
        return source
    broken = False

    def replace(match: re.Match[str]) -> str:
        nonlocal broken
        body = match[1]
        if body in _SIMPLE:
            return _SIMPLE[body]
        if body[0] in "01234567":
            code = int(body, 8)
            return chr(code & 255 if binary else code)
        if body[0] == "x" and len(body) == 3:
            return chr(int(body[1:], 16))
        if binary:
            return match[0]
        if body[0] in "uU" and len(body) > 1:
            code = int(body[1:], 16)
            broken |= code > 0x10FFFF
            return "" if broken else chr(code)
        if body[0] == "N" and len(body) > 1:
            try:
                return unicodedata.lookup(body[2:-1])
            except KeyError:
                broken = True
                return ""
        return match[0]  # an unknown escape stays as it is written

    value = _ESCAPE.sub(replace, source)
    return None if broken or _SURROGATE.search(value) else value


def decode_literal(text: str) -> str | None:
    """Return the value of a whole literal, prefix and quotes included; None when it is not certain."""
    head = opening(text)
    return None if head is None else decode(inside(text, head), raw=head.raw, binary=head.binary)


def percent_pieces(source: str) -> Iterator[Piece]:
    """Cut the source of a `%` format at its holes; `%%` is a piece of its own with the text `%`."""
    position = 0
    for match in _PERCENT.finditer(source):
        if match.start() > position:
            yield Piece(position, match.start(), source[position : match.start()])
        position = match.end()
        if match["kind"] == "%":
            yield Piece(match.start(), match.end(), "%")
        else:
            stars = (match["width"] == "*") + (match["precision"] == "*")
            yield Piece(match.start(), match.end(), None, match["name"] or "", 1 + stars)
    if position < len(source):
        yield Piece(position, len(source), source[position:])


def field_pieces(source: str, *, raw: bool) -> Iterator[Piece]:
    """Cut the source of a `.format` string at its replacement fields; `{{` and `}}` are pieces of one brace."""
    position = 0
    for match in _FIELD.finditer(source):
        if match[0].startswith("\\N") and not raw:
            continue
        if match.start() > position:
            yield Piece(position, match.start(), source[position : match.start()])
        position = match.end()
        if match[0] in ("{{", "}}"):
            yield Piece(match.start(), match.end(), match[0][0])
        elif match["name"] is None:
            yield Piece(match.start(), match.end(), match[0])
        else:
            yield Piece(match.start(), match.end(), None, match["name"].strip(), 1 + match["rest"].count("{"))
    if position < len(source):
        yield Piece(position, len(source), source[position:])
