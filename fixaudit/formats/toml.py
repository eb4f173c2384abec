"""TOML with the place of every key and value.

Contract: `tomllib` decides whether a text is TOML and what its values are; the scanner here only adds places, and may
therefore take the text for valid. Edits live in `tomledit`. (tomlkit knows values and comments but no positions, and
positions are what findings and minimal edits need.)
This module must not know what a key means.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from fixaudit.formats.problem import Problem
from fixaudit.text import LineIndex

Span: TypeAlias = tuple[int, int]
Path: TypeAlias = tuple[str, ...]

_BLANK = re.compile(r"(?:[ \t\r\n]+|#[^\r\n]*)*")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_BASIC = re.compile(r'"(?:[^"\\\r\n]|\\.)*"')
_LITERAL = re.compile(r"'[^'\r\n]*'")
_LONG_BASIC = re.compile(r'"""(?:[^"\\]|\\.|"{1,2}(?!"))*"{3,5}', re.DOTALL)
_LONG_LITERAL = re.compile(r"'''(?:[^']|'{1,2}(?!'))*'{3,5}", re.DOTALL)
_PLAIN = re.compile(r"[^\s,\]}#]+(?: \d\d:[^\s,\]}#]+)?")
_TOML_LINE = re.compile(r"\(at line (\d+)")


@dataclass(frozen=True, slots=True)
class Value:
    """A value's place. `kind`: string, scalar, array or table (inline); `items` of an array, `entries` of a table.

    `commas` has the offset of the comma behind each child, None behind a last one without.
    """

    kind: str
    span: Span
    items: tuple[Value, ...] = ()
    entries: tuple[Entry, ...] = ()
    commas: tuple[int | None, ...] = ()


@dataclass(frozen=True, slots=True)
class Entry:
    """`key = value`; `path` is the full path from the root, indices of tables in arrays written as text ("0")."""

    path: Path
    key_span: Span
    value: Value
    line: int


@dataclass(frozen=True, slots=True)
class Table:
    """`[header]` or `[[header]]` (then `array`); the first table is the root, without a header.

    `span` is the header's; `end` the offset behind the table's last entry, or behind the header when it has none.
    """

    path: Path
    span: Span
    array: bool
    end: int
    line: int


@dataclass(frozen=True, slots=True)
class Document:
    """Values (`data`, as tomllib reads them) and places."""

    data: dict[str, Any]
    entries: tuple[Entry, ...]
    tables: tuple[Table, ...]

    def entry(self, path: Sequence[str]) -> Entry | None:
        """Return the entry at a path, looking into inline tables."""
        wanted = tuple(path)
        stack = list(self.entries)
        while stack:
            entry = stack.pop()
            if entry.path == wanted:
                return entry
            if wanted[: len(entry.path)] == entry.path:
                stack.extend(entry.value.entries)
        return None

    def table(self, path: Sequence[str]) -> Table | None:
        """Return the table with this header, None when there is none."""
        return next((table for table in self.tables if table.path == tuple(path)), None)

    def get(self, path: Sequence[str]) -> Any:
        """Return the plain value at a path; None when there is none."""
        node: Any = self.data
        for key in path:
            if isinstance(node, list) and key.isdecimal() and int(key) < len(node):
                node = node[int(key)]
            elif isinstance(node, dict):
                node = node.get(key)
            else:
                return None
        return node


def parse(content: str) -> Document | Problem:
    """Read a TOML text; the Problem names the line."""
    import tomllib

    try:
        data = tomllib.loads(content)
    except tomllib.TOMLDecodeError as error:
        match = _TOML_LINE.search(str(error))
        # "at end of document" has no line number.
        line = int(match[1]) if match else len(LineIndex(content))
        return Problem(line, str(error).partition(" (at ")[0].lower())
    except RecursionError:
        return Problem(1, "values are nested too deeply")
    return _Scanner(content).document(data)


class _Scanner:
    def __init__(self, content: str) -> None:
        self.content = content
        self.lines = LineIndex(content)

    def document(self, data: dict[str, Any]) -> Document:
        entries: list[Entry] = []
        tables: list[Table] = []
        counts: dict[Path, int] = {}
        path: Path = ()
        header, array, end, line = (0, 0), False, 0, 1
        at = self.blank(0)
        while at < len(self.content):
            if self.content[at] == "[":
                tables.append(Table(path, header, array, end, line))
                array = self.content.startswith("[[", at)
                keys, after = self.keys(at + 1 + array)
                after = self.blank(after) + 1 + array
                path = self.place(keys, array, counts)
                header, end, line = (at, after), after, self.lines.position(at)[0]
                at = self.blank(after)
                continue
            keys, after = self.keys(at)
            value = self.value(self.spaces(self.spaces(after) + 1), (*path, *keys))
            entries.append(Entry((*path, *keys), (at, after), value, self.lines.position(at)[0]))
            end = value.span[1]
            at = self.blank(end)
        tables.append(Table(path, header, array, end, line))
        return Document(data, tuple(entries), tuple(tables))

    def place(self, keys: Path, array: bool, counts: dict[Path, int]) -> Path:
        """Return a header's path with the index of the current element behind every array of tables on the way."""
        path: Path = ()
        for number, key in enumerate(keys):
            path = (*path, key)
            if array and number == len(keys) - 1:
                counts[path] = counts.get(path, -1) + 1
            if path in counts:
                path = (*path, str(counts[path]))
        return path

    def blank(self, at: int) -> int:
        match = _BLANK.match(self.content, at)
        return match.end() if match else at

    def spaces(self, at: int) -> int:
        while self.content[at : at + 1] in (" ", "\t"):
            at += 1
        return at

    def keys(self, at: int) -> tuple[Path, int]:
        import tomllib

        parts: list[str] = []
        while True:
            at = self.spaces(at)
            if match := _BARE_KEY.match(self.content, at):
                parts.append(match[0])
            else:
                match = _BASIC.match(self.content, at) or _LITERAL.match(self.content, at)
                assert match is not None, "tomllib accepted a key that the scanner cannot read"
                parts.append(str(tomllib.loads(f"a = {match[0]}")["a"]))
            end = match.end()
            at = self.spaces(end)
            if self.content[at : at + 1] != ".":
                return tuple(parts), end
            at += 1

    def value(self, at: int, path: Path) -> Value:
        first = self.content[at]
        if first == "[":
            return self.array(at, path)
        if first == "{":
            return self.inline(at, path)
        for pattern in (_LONG_BASIC, _LONG_LITERAL, _BASIC, _LITERAL):
            if match := pattern.match(self.content, at):
                return Value("string", match.span())
        match = _PLAIN.match(self.content, at)
        assert match is not None, "tomllib accepted a value that the scanner cannot read"
        return Value("scalar", match.span())

    def array(self, start: int, path: Path) -> Value:
        items: list[Value] = []
        commas: list[int | None] = []
        at = self.blank(start + 1)
        while self.content[at] != "]":
            item = self.value(at, (*path, str(len(items))))
            items.append(item)
            comma, at = self.separator(item.span[1])
            commas.append(comma)
        return Value("array", (start, at + 1), items=tuple(items), commas=tuple(commas))

    def inline(self, start: int, path: Path) -> Value:
        entries: list[Entry] = []
        commas: list[int | None] = []
        at = self.blank(start + 1)
        while self.content[at] != "}":
            keys, after = self.keys(at)
            value = self.value(self.spaces(self.spaces(after) + 1), (*path, *keys))
            entries.append(Entry((*path, *keys), (at, after), value, self.lines.position(at)[0]))
            comma, at = self.separator(value.span[1])
            commas.append(comma)
        return Value("table", (start, at + 1), entries=tuple(entries), commas=tuple(commas))

    def separator(self, end: int) -> tuple[int | None, int]:
        at = self.blank(end)
        return (at, self.blank(at + 1)) if self.content[at] == "," else (None, at)


def walk(entries: Sequence[Entry]) -> Iterator[Entry]:
    """Yield entries and those of their inline tables, in source order."""
    for entry in entries:
        yield entry
        yield from walk(entry.value.entries)
