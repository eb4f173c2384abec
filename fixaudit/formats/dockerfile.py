r"""The syntax of Dockerfiles: instructions with their places, as BuildKit reads them.

Contract: parser directives (`escape`), comments (also between continued lines), continuations, here-documents, flags,
exec and shell forms, `KEY=value` pairs in both spellings. Every span is of the source text. What stages and images
mean is in `dockerstages`, edits are in `dockeredit`.
Source: BuildKit `frontend/dockerfile/parser` (line continuation, `parseWords`, here-documents) and the Dockerfile
reference.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from fixaudit.formats.problem import Problem
from fixaudit.text import LineIndex

Span: TypeAlias = tuple[int, int]

KEYWORDS = frozenset(
    (
        *("ADD", "ARG", "CMD", "COPY", "ENTRYPOINT", "ENV", "EXPOSE", "FROM", "HEALTHCHECK", "LABEL", "MAINTAINER"),
        *("ONBUILD", "RUN", "SHELL", "STOPSIGNAL", "USER", "VOLUME", "WORKDIR"),
    )
)
_DIRECTIVE = re.compile(r"#[ \t]*(syntax|escape|check)[ \t]*=[ \t]*(.+?)[ \t]*\Z", re.IGNORECASE)
_LINE = re.compile(r"([^\r\n]*)(\r\n|\n|\r|\Z)")
_HEREDOC = re.compile(r"(?<![<\w])<<(?P<strip>-?)(?P<quote>[\"']?)(?P<name>[A-Za-z_][\w.-]*)(?P=quote)")
_FLAG = re.compile(r"--(?P<name>[A-Za-z][\w-]*)(?:=(?P<value>\S*))?(?:\s+|\Z)")


@dataclass(frozen=True, slots=True)
class Word:
    """One word of an instruction, as written, and where."""

    raw: str
    span: Span


@dataclass(frozen=True, slots=True)
class Pair:
    """`KEY=value` of ENV, ARG or LABEL. `value` has its quotes removed and keeps `$NAME`; None: an ARG without default.

    `value_span` covers the value as written, quotes included.
    """

    key: str
    value: str | None
    raw: str
    key_span: Span
    value_span: Span


@dataclass(frozen=True, slots=True)
class Heredoc:
    """A here-document; `expands` is False when its word is quoted. `span` is the body without the closing word."""

    name: str
    span: Span
    expands: bool


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction.

    `keyword` is upper case. `value` is the argument text without flags, continuations and comments joined away.
    `span` runs from the keyword to the end of the last line's text (here-documents included). `argv` is set for the
    exec form (a JSON list of strings). `inner` is the instruction behind ONBUILD or HEALTHCHECK.
    """

    keyword: str
    value: str
    span: Span
    line: int
    flags: tuple[tuple[str, str], ...] = ()
    words: tuple[Word, ...] = ()
    pairs: tuple[Pair, ...] = ()
    argv: tuple[str, ...] | None = None
    heredocs: tuple[Heredoc, ...] = ()
    inner: Instruction | None = None

    def flag(self, name: str) -> str | None:
        """Return the value of `--name=value` (empty for a bare flag), None when it is not there."""
        return next((value for key, value in self.flags if key == name), None)


@dataclass(frozen=True, slots=True)
class Dockerfile:
    """A parsed file: the escape character, comments (spans) and instructions in order, and lines that are neither."""

    escape: str
    instructions: tuple[Instruction, ...]
    comments: tuple[Span, ...]
    problems: tuple[Problem, ...]


def parse(content: str) -> Dockerfile:
    """Read a Dockerfile; never fails: an unknown instruction is kept and listed under `problems`."""
    lines = [(match.start(), match[1]) for match in _LINE.finditer(content) if match.start() < len(content)]
    index = LineIndex(content)
    escape = _escape(lines)
    instructions: list[Instruction] = []
    comments: list[Span] = []
    problems: list[Problem] = []
    number = 0
    while number < len(lines):
        start, line = lines[number]
        if not line.strip():
            number += 1
            continue
        if line.lstrip().startswith("#"):
            comments.append((start + len(line) - len(line.lstrip()), start + len(line)))
            number += 1
            continue
        logical, number, inner_comments = _join(lines, number, escape)
        comments += inner_comments
        keyword = _keyword(logical.text)
        heredocs: list[Heredoc] = []
        if keyword in ("RUN", "COPY", "ADD") or (keyword == "ONBUILD" and "<<" in logical.text):
            heredocs, number = _heredocs(logical.text, escape, lines, number)
        end = lines[number - 1][0] + len(lines[number - 1][1].rstrip())
        instruction = _instruction(logical, (logical.source(0), end), index, escape, tuple(heredocs))
        instructions.append(instruction)
        if instruction.keyword not in KEYWORDS:
            problems.append(Problem(instruction.line, f"{instruction.keyword} is no instruction of a Dockerfile"))
    return Dockerfile(escape, tuple(instructions), tuple(comments), tuple(problems))


@dataclass(frozen=True)
class _Logical:
    """The text of an instruction with continuations joined; `pieces` maps its offsets back to the source."""

    text: str
    pieces: tuple[tuple[int, int], ...]  # (offset in text, offset in the source)

    def source(self, offset: int) -> int:
        first, origin = self.pieces[bisect_right(self.pieces, (offset, 1 << 62)) - 1]
        return origin + offset - first

    def span(self, start: int, end: int) -> Span:
        return (self.source(start), self.source(end - 1) + 1) if end > start else (self.source(start),) * 2

    def without(self, offset: int) -> _Logical:
        pieces = tuple((max(first - offset, 0), self.source(max(first, offset))) for first, _ in self.pieces)
        last = max(number for number, piece in enumerate(pieces) if piece[0] == 0)
        return _Logical(self.text[offset:], ((0, self.source(offset)), *pieces[last + 1 :]))


def _escape(lines: list[tuple[int, str]]) -> str:
    seen: set[str] = set()
    for _, line in lines:
        match = _DIRECTIVE.match(line.strip())
        if match is None or match[1].lower() in seen:
            return "\\"
        seen.add(match[1].lower())
        if match[1].lower() == "escape":
            return "`" if match[2] == "`" else "\\"
    return "\\"


def _join(lines: list[tuple[int, str]], number: int, escape: str) -> tuple[_Logical, int, list[Span]]:
    continued = re.compile(rf"(?:(?<=[^{re.escape(escape)}])|^){re.escape(escape)}[ \t]*\Z")
    start, line = lines[number]
    pieces: list[tuple[int, int]] = []
    comments: list[Span] = []
    text = ""
    lead = len(line) - len(line.lstrip())
    start, line = start + lead, line[lead:]
    while True:
        match = continued.search(line)
        part = line[: match.start()] if match else line.rstrip()
        pieces.append((len(text), start))
        text += part
        number += 1
        if match is None:
            break
        while number < len(lines):  # comments and empty lines inside a continuation do not end it
            start, line = lines[number]
            if line.strip() and not line.lstrip().startswith("#"):
                break
            if line.strip():
                comments.append((start + len(line) - len(line.lstrip()), start + len(line)))
            number += 1
        if number >= len(lines):
            break
    return _Logical(text, tuple(pieces)), number, comments


def _keyword(text: str) -> str:
    return text.split(None, 1)[0].upper() if text.split() else ""


def _heredocs(text: str, escape: str, lines: list[tuple[int, str]], number: int) -> tuple[list[Heredoc], int]:
    """Take the bodies that follow the instruction's lines; a word that is never closed is no here-document."""
    found: list[Heredoc] = []
    for match in _HEREDOC.finditer(text):
        if _is_quoted(text, match.start(), escape):
            continue
        closing = number
        while closing < len(lines):
            line = lines[closing][1]
            if (line.lstrip("\t") if match["strip"] else line) == match["name"]:
                break
            closing += 1
        if closing >= len(lines):
            break
        found.append(Heredoc(match["name"], (lines[number][0], lines[closing][0]), not match["quote"]))
        number = closing + 1
    return found, number


def _is_quoted(text: str, offset: int, escape: str) -> bool:
    quote = ""
    position = 0
    while position < offset:
        char = text[position]
        if char == escape and quote != "'":
            position += 1
        elif quote:
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        position += 1
    return bool(quote)


def _instruction(
    logical: _Logical, span: Span, index: LineIndex, escape: str, heredocs: tuple[Heredoc, ...]
) -> Instruction:
    keyword = _keyword(logical.text)
    rest = len(logical.text) - len(logical.text[len(keyword) :].lstrip())
    flags: list[tuple[str, str]] = []
    while match := _FLAG.match(logical.text, rest):
        if keyword in ("ENV", "LABEL", "ARG", "CMD", "ENTRYPOINT", "SHELL", "USER", "WORKDIR"):
            break
        flags.append((match["name"], match["value"] or ""))
        rest = match.end()
    body = logical.without(rest) if rest < len(logical.text) else _Logical("", ((0, logical.source(rest)),))
    words = tuple(Word(body.text[a:b], body.span(a, b)) for a, b in _words(body.text, escape))
    inner = None
    line = index.position(span[0])[0]
    if keyword in ("ONBUILD", "HEALTHCHECK") and words and words[0].raw.upper() in KEYWORDS:
        inner = _instruction(body, (words[0].span[0], span[1]), index, escape, heredocs)
    return Instruction(
        keyword=keyword,
        value=body.text.strip(),
        span=span,
        line=line,
        flags=tuple(flags),
        words=words,
        pairs=tuple(_pairs(keyword, body, escape)),
        argv=_argv(keyword, body.text),
        heredocs=heredocs,
        inner=inner,
    )


def _argv(keyword: str, text: str) -> tuple[str, ...] | None:
    """Read the exec form; as Docker does, a list that is no JSON list of strings is a shell command."""
    if keyword not in ("CMD", "ENTRYPOINT", "RUN", "SHELL", "COPY", "ADD", "VOLUME") or not text.startswith("["):
        return None
    try:
        items = json.loads(text)
    except (json.JSONDecodeError, RecursionError):
        return None
    return tuple(items) if isinstance(items, list) and all(isinstance(item, str) for item in items) else None


def _words(text: str, escape: str) -> Iterator[Span]:
    """Split at white space outside quotes; yields offsets in `text`."""
    start: int | None = None
    quote = ""
    position = 0
    while position < len(text):
        char = text[position]
        if not quote and char.isspace():
            if start is not None:
                yield start, position
            start = None
        else:
            start = position if start is None else start
            if char == escape and quote != "'" and position + 1 < len(text):
                position += 1
            elif quote:
                quote = "" if char == quote else quote
            elif char in "\"'":
                quote = char
        position += 1
    if start is not None:
        yield start, len(text)


def _pairs(keyword: str, body: _Logical, escape: str) -> Iterator[Pair]:
    if keyword not in ("ENV", "ARG", "LABEL"):
        return
    spans = list(_words(body.text, escape))
    if keyword != "ARG" and len(spans) >= 2 and "=" not in body.text[slice(*spans[0])]:
        # The old spelling, `ENV KEY value with spaces`: one pair, the rest of the line is its value.
        (start, end), value_start = spans[0], spans[1][0]
        raw = body.text[value_start:].rstrip()
        value_span = body.span(value_start, value_start + len(raw))
        yield Pair(body.text[start:end], unquote(raw, escape), raw, body.span(start, end), value_span)
        return
    for start, end in spans:
        key, equals, raw = body.text[start:end].partition("=")
        value_start = start + len(key) + len(equals)
        value = unquote(raw, escape) if equals else None
        key_span = body.span(start, start + len(key))
        value_span = body.span(value_start, end) if end > value_start else (key_span[1] + len(equals),) * 2
        yield Pair(unquote(key, escape), value, raw, key_span, value_span)


def unquote(raw: str, escape: str = "\\") -> str:
    r"""Remove quotes and escapes as Docker does for words; `$NAME` stays, also where `\$` protects it."""
    result: list[str] = []
    quote = ""
    position = 0
    while position < len(raw):
        char = raw[position]
        following = raw[position + 1 : position + 2]
        if char == escape and quote != "'" and following:
            keeps = following == "$" or (quote == '"' and following not in (quote, escape))
            result.append(char + following if keeps else following)
            position += 1
        elif quote and char == quote:
            quote = ""
        elif not quote and char in "\"'":
            quote = char
        else:
            result.append(char)
        position += 1
    return "".join(result)
