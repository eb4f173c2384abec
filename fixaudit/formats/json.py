"""JSON, and JSON with comments and trailing commas, with the place of everything.

Contract: `parse` gives a tree whose nodes know their spans; keys keep their order and duplicates. It is as lenient as
the files people have (tsconfig.json, .eslintrc): comments and trailing commas are read and noted, anything else that
is not JSON is a Problem. Edits live in `jsonedit`.
This module must not know what a key means.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from fixaudit.formats.problem import Problem
from fixaudit.text import LineIndex

Span: TypeAlias = tuple[int, int]
Scalar: TypeAlias = str | int | float | bool | None
Value: TypeAlias = "Scalar | list[Value] | dict[str, Value]"

_DEPTH = 200  # nobody nests deeper, and Python's own stack must not be the limit
_SPACE = re.compile(r"[ \t\r\n]*")
_LINE_COMMENT = re.compile(r"//[^\r\n]*")
_BLOCK_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_STRING = re.compile(r'"[^"\\\x00-\x1f]*(?:\\.[^"\\\x00-\x1f]*)*"')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![\w.])")
_WORD = re.compile(r"(?:true|false|null)(?!\w)")


@dataclass(frozen=True, slots=True)
class Member:
    """`"key": value` of an object; `key_span` has the quotes, `comma` is the offset of the comma behind it."""

    key: str
    key_span: Span
    value: Node
    comma: int | None = None


@dataclass(frozen=True, slots=True)
class Node:
    """One value. `kind`: object, array, string, number or literal; `scalar` is the value of the last three.

    `commas` holds the offset of the comma behind each item of an array.
    """

    kind: str
    span: Span
    scalar: Scalar = None
    members: tuple[Member, ...] = ()
    items: tuple[Node, ...] = ()
    commas: tuple[int | None, ...] = ()

    def get(self, key: str) -> Node | None:
        """Return the value of a member (the last of duplicates, as every reader has it) or, by number, an item."""
        if self.kind == "array" and key.isdecimal() and int(key) < len(self.items):
            return self.items[int(key)]
        return next((member.value for member in reversed(self.members) if member.key == key), None)

    def value(self) -> Value:
        """Return the plain Python value."""
        if self.kind == "object":
            return {member.key: member.value.value() for member in self.members}
        return [item.value() for item in self.items] if self.kind == "array" else self.scalar


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed text. `comments` are spans; `trailing_commas` offsets: a strict reader refuses a file that has any."""

    root: Node
    comments: tuple[Span, ...] = ()
    trailing_commas: tuple[int, ...] = ()

    @property
    def strict(self) -> bool:
        """Whether the text is plain JSON."""
        return not self.comments and not self.trailing_commas

    def get(self, path: Sequence[str]) -> Node | None:
        """Return the node at a path of keys (items of arrays by their number, from "0")."""
        node: Node | None = self.root
        for key in path:
            node = node.get(key) if node else None
        return node

    def duplicates(self) -> tuple[tuple[tuple[str, ...], Span], ...]:
        """Return path and key span of every member whose key its object has already had."""
        return tuple(_duplicates(self.root, ()))


def parse(content: str) -> Document | Problem:
    """Parse a text; the Problem names the line and what was expected there."""
    reader = _Reader(content)
    try:
        root = reader.value(reader.skip(0), 0)
        end = reader.skip(root.span[1])
        if end != len(content):
            raise _SyntaxFault(end, "there is text behind the value")
    except _SyntaxFault as fault:
        return Problem(LineIndex(content).position(fault.offset)[0], fault.message)
    return Document(root, tuple(reader.comments), tuple(reader.trailing))


class _SyntaxFault(Exception):
    def __init__(self, offset: int, message: str) -> None:
        super().__init__(message)
        self.offset, self.message = offset, message


class _Reader:
    def __init__(self, content: str) -> None:
        self.content = content
        self.comments: list[Span] = []
        self.trailing: list[int] = []

    def skip(self, offset: int) -> int:
        while True:
            match = _SPACE.match(self.content, offset)
            offset = match.end() if match else offset
            comment = _LINE_COMMENT.match(self.content, offset) or _BLOCK_COMMENT.match(self.content, offset)
            if comment is None:
                return offset
            if not self.comments or self.comments[-1][0] < comment.start():
                self.comments.append(comment.span())
            offset = comment.end()

    def value(self, offset: int, depth: int) -> Node:
        if depth > _DEPTH:
            raise _SyntaxFault(offset, "values are nested too deeply")
        first = self.content[offset : offset + 1]
        if first == "{":
            return self.object(offset, depth)
        if first == "[":
            return self.array(offset, depth)
        if first == '"':
            text, end = self.string(offset)
            return Node("string", (offset, end), text)
        if number := _NUMBER.match(self.content, offset):
            return Node("number", number.span(), self.number(number[0], offset))
        if word := _WORD.match(self.content, offset):
            return Node("literal", word.span(), {"true": True, "false": False, "null": None}[word[0]])
        raise _SyntaxFault(offset, "a value is expected" if first else "the text ends where a value is expected")

    def number(self, raw: str, offset: int) -> int | float:
        if raw.lstrip("-").isdecimal() and len(raw) > 4000:  # Python refuses to convert longer ones
            raise _SyntaxFault(offset, "a number is too long")
        return int(raw) if raw.lstrip("-").isdecimal() else float(raw)

    def string(self, offset: int) -> tuple[str, int]:
        match = _STRING.match(self.content, offset)
        if match is None:
            raise _SyntaxFault(offset, "a string in double quotes is expected, closed on its line")
        if "\\" not in match[0]:
            return match[0][1:-1], match.end()
        try:
            return str(json.loads(match[0])), match.end()
        except json.JSONDecodeError:
            raise _SyntaxFault(offset, "a string has an escape that JSON does not know") from None

    def object(self, offset: int, depth: int) -> Node:
        members: list[Member] = []
        at = self.skip(offset + 1)
        while self.content[at : at + 1] != "}":
            key, key_end = self.string(at)
            colon = self.skip(key_end)
            if self.content[colon : colon + 1] != ":":
                raise _SyntaxFault(colon, f"a colon is expected behind the key {key!r}")
            value = self.value(self.skip(colon + 1), depth + 1)
            comma, following = self.separator(value.span[1], "}")
            members.append(Member(key, (at, key_end), value, comma))
            at = following
        return Node("object", (offset, at + 1), members=tuple(members))

    def array(self, offset: int, depth: int) -> Node:
        items: list[Node] = []
        commas: list[int | None] = []
        at = self.skip(offset + 1)
        while self.content[at : at + 1] != "]":
            item = self.value(at, depth + 1)
            items.append(item)
            comma, at = self.separator(item.span[1], "]")
            commas.append(comma)
        return Node("array", (offset, at + 1), items=tuple(items), commas=tuple(commas))

    def separator(self, offset: int, closing: str) -> tuple[int | None, int]:
        at = self.skip(offset)
        if self.content[at : at + 1] == closing:
            return None, at
        if self.content[at : at + 1] != ",":
            raise _SyntaxFault(at, f"a comma or {closing} is expected")
        following = self.skip(at + 1)
        if self.content[following : following + 1] == closing:
            self.trailing.append(at)
        return at, following


def _duplicates(node: Node, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Span]]:
    seen: set[str] = set()
    for member in node.members:
        if member.key in seen:
            yield (*path, member.key), member.key_span
        seen.add(member.key)
        yield from _duplicates(member.value, (*path, member.key))
    for index, item in enumerate(node.items):
        yield from _duplicates(item, (*path, str(index)))
