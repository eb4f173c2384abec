"""Minimal edits of JSON texts: one member or one item more, or another scalar, and no other byte changed.

Contract: indent, one-line or many-line shape, spacing round colons and commas, trailing commas, comments and the end of
the file stay (U24). Non-ASCII text is written raw. Asking again for what is there gives no edit.
This module must not know what a key means.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from fixaudit.formats.json import Document, Node, Span, Value, parse
from fixaudit.formats.problem import Edits, Problem, insertion
from fixaudit.text import Edit, Text, indent_of


def set_value(
    text: Text, path: Sequence[str], value: Value, *, sorted_like: bool = True, before: Sequence[str] = ()
) -> Edits:
    """Return the edits after which `path` holds `value`; missing parents are made, as objects.

    An existing scalar is replaced alone. A new member goes to its sorted place when the keys were sorted and
    `sorted_like` is set, else in front of the first of the `before` keys that is there, else to the end. Refuses to
    overwrite an object or array that holds something, and a path through something that is no object.
    """
    document = parse(text.content)
    if isinstance(document, Problem):
        return document
    node = document.root
    for depth, key in enumerate(path):
        child = node.get(key)
        if child is None:
            if node.kind != "object":
                return Problem(_line(text, node), f"{'.'.join(path[:depth]) or 'the document'} is no object")
            for parent in reversed(path[depth + 1 :]):
                value = {parent: value}
            index = _place(node, key, sorted_like, before if depth == len(path) - 1 else ())
            return _insert_member(_Layout.of(text, document), node, index, key, value)
        node = child
    if _same(node.value(), value):
        return ()
    if node.members or node.items:
        return Problem(_line(text, node), f"{'.'.join(path) or 'the document'} already holds something else")
    layout = _Layout.of(text, document)
    start, end = node.span
    written = layout.render(value, indent_of(text.content, start, text.lines), layout.is_broken(document.root))
    return (Edit(start, end, text.content[start:end], written),)


def add_item(text: Text, path: Sequence[str], value: Value, *, sorted_like: bool = True) -> Edits:
    """Return the edits after which the array at `path` holds `value`; a missing array is made.

    The item goes to its sorted place when the array is a sorted list of strings, else to the end.
    """
    document = parse(text.content)
    if isinstance(document, Problem):
        return document
    node = document.get(path)
    if node is None:
        return set_value(text, path, [value], sorted_like=sorted_like)
    if node.kind != "array":
        return Problem(_line(text, node), f"{'.'.join(path)} is no array")
    if any(_same(item.value(), value) for item in node.items):
        return ()
    layout = _Layout.of(text, document)
    texts = [item.scalar for item in node.items]
    index = len(texts)
    if sorted_like and isinstance(value, str) and all(isinstance(item, str) for item in texts):
        index = sorted_index([str(item) for item in texts], value)
    broken = layout.is_broken(node)
    spans = [item.span for item in node.items]
    indent = layout.child_indent(node, spans)
    return layout.insert(node, spans, node.commas, index, layout.render(value, indent, broken), ", ")


def sorted_index(keys: Sequence[str], key: str) -> int:
    """Return where `key` belongs: its sorted place in a sorted list (by code points or without case), else the end."""
    for fold in (str, str.casefold):
        folded = [fold(existing) for existing in keys]
        if folded == sorted(folded):
            return sum(existing < fold(key) for existing in folded)
    return len(keys)


def _place(node: Node, key: str, sorted_like: bool, before: Sequence[str]) -> int:
    keys = [member.key for member in node.members]
    if sorted_like and sorted_index(keys, key) < len(keys):
        return sorted_index(keys, key)
    return next((keys.index(other) for other in before if other in keys), len(keys))


def _insert_member(layout: _Layout, node: Node, index: int, key: str, value: Value) -> Edits:
    broken = layout.is_broken(node)
    spans = [(member.key_span[0], member.value.span[1]) for member in node.members]
    commas = [member.comma for member in node.members]
    indent = layout.child_indent(node, spans)
    written = f"{_scalar(key)}{layout.colon(node)}{layout.render(value, indent, broken)}"
    return layout.insert(node, spans, commas, index, written, ", " if layout.colon(node) != ":" else ",")


@dataclass(frozen=True)
class _Layout:
    """How this text is written: all that an insertion copies."""

    text: Text
    document: Document
    unit: str

    @classmethod
    def of(cls, text: Text, document: Document) -> _Layout:
        return cls(text, document, _unit(text, document.root) or "  ")

    def is_broken(self, node: Node) -> bool:
        """Whether the children of a node stand on lines of their own; an empty node does as the nodes round it do."""
        children = [member.key_span for member in node.members] or [item.span for item in node.items]
        if children:
            ends = [node.span[0] + 1, *(member.value.span[1] for member in node.members)]
            ends += [item.span[1] for item in node.items]
            gaps = zip(ends, [start for start, _ in children])
            return any(
                "\n" in self.text.content[end:start] or "\r" in self.text.content[end:start] for end, start in gaps
            )
        if any(mark in self.text.content[slice(*node.span)] for mark in "\r\n"):
            return True
        parent = _parent(self.document.root, node)
        return parent is None or self.is_broken(parent)

    def child_indent(self, node: Node, spans: Sequence[Span]) -> str:
        content, lines = self.text.content, self.text.lines
        for start, _ in spans:
            if not content[lines.line_start(start) : start].strip():
                return indent_of(content, start, lines)
        return indent_of(content, node.span[0], lines) + self.unit

    def colon(self, node: Node) -> str:
        """The text between key and value, copied from a neighbour."""
        parent = _parent(self.document.root, node)
        for member in (*node.members, *(parent.members if parent else ()), *self.document.root.members):
            between = self.text.content[member.key_span[1] : member.value.span[0]]
            if set(between) <= {" ", ":"}:
                return between if len(between) <= 3 else ": "  # aligned columns are not copied
        return ": "

    def render(self, value: Value, indent: str, broken: bool) -> str:
        newline = self.text.newline
        colon = self.colon(self.document.root)
        if isinstance(value, dict):
            parts = [
                f"{_scalar(key)}{colon}{self.render(item, indent + self.unit, broken)}" for key, item in value.items()
            ]
            brackets = "{}"
        elif isinstance(value, list):
            parts = [self.render(item, indent + self.unit, broken) for item in value]
            brackets = "[]"
        else:
            return _scalar(value)
        if not parts:
            return brackets
        if broken:
            inner = f",{newline}".join(indent + self.unit + part for part in parts)
            return f"{brackets[0]}{newline}{inner}{newline}{indent}{brackets[1]}"
        tight = colon == ":"
        padding = " " if brackets == "{}" and not tight else ""
        return brackets[0] + padding + ("," if tight else ", ").join(parts) + padding + brackets[1]

    def insert(
        self, node: Node, spans: Sequence[Span], commas: Sequence[int | None], index: int, written: str, gap: str
    ) -> Edits:
        """Insert a rendered child as number `index` of `node`."""
        content, newline = self.text.content, self.text.newline
        broken = self.is_broken(node)
        line = newline + self.child_indent(node, spans)
        closing = node.span[1] - 1
        if not spans:
            return self._insert_only(node, written, gap)
        if index == 0:
            start = node.span[0] + 1
            if broken and (end := self._line_end(start)) <= self._line_start(spans[0][0]):
                return (insertion(end, f"{line}{written},"),)
            return (insertion(spans[0][0], f"{written},{line if broken else self._gap(spans, commas, gap)}"),)
        before_end, comma = spans[index - 1][1], commas[index - 1]
        separator = line if broken else self._gap(spans, commas, gap)
        if index < len(spans):
            assert comma is not None
            end = self._line_end(comma + 1)
            if broken and end <= self._line_start(spans[index][0]):
                return (insertion(end, f"{line}{written},"),)
            return (insertion(comma + 1, f"{separator}{written},"),)
        if comma is not None:
            end = min(self._line_end(comma + 1), closing) if broken else comma + 1
            place = end if not content[end:closing].strip(" \t") or broken else comma + 1
            if broken and self._line_end(comma + 1) > closing:
                place = comma + 1
            return (insertion(place, f"{separator}{written},"),)
        end = self._line_end(before_end) if broken else before_end
        if not broken or end > closing or end == before_end:
            return (insertion(before_end, f",{separator}{written}"),)
        return (insertion(before_end, ","), insertion(end, f"{separator}{written}"))

    def _insert_only(self, node: Node, written: str, gap: str) -> Edits:
        content, newline = self.text.content, self.text.newline
        start, closing = node.span[0] + 1, node.span[1] - 1
        inner = content[start:closing]
        own = indent_of(content, node.span[0], self.text.lines)
        if not self.is_broken(node):
            padding = " " if inner.isspace() or (not inner and node.kind == "object" and gap == ", ") else ""
            if not inner.strip():
                return (Edit(start, closing, inner, f"{padding}{written}{padding}"),)
            return (insertion(closing, f"{written}{padding}"),)
        if not inner.strip():
            return (Edit(start, closing, inner, f"{newline}{own}{self.unit}{written}{newline}{own}"),)
        end = len(content[:closing].rstrip())
        return (Edit(end, closing, content[end:closing], f"{newline}{own}{self.unit}{written}{newline}{own}"),)

    def _gap(self, spans: Sequence[Span], commas: Sequence[int | None], gap: str) -> str:
        """The white space behind a comma, copied from a neighbour."""
        for (start, _), comma in zip(spans[1:], commas):
            if comma is not None and self.text.content[comma + 1 : start].strip(" ") == "":
                return self.text.content[comma + 1 : start]
        return gap[1:]

    def _line_start(self, offset: int) -> int:
        return self.text.lines.line_start(offset)

    def _line_end(self, offset: int) -> int:
        """End of the line's text, or of a block comment that begins on it and goes on below."""
        end = self.text.lines.line_end(offset)
        for first, last in self.document.comments:
            if offset <= first < end < last:
                return last
        return end


def _parent(node: Node, child: Node) -> Node | None:
    """Return the node that holds `child` directly (by identity), searched below `node`."""
    for inner in (*(member.value for member in node.members), *node.items):
        if inner is child:
            return node
        if inner.span[0] <= child.span[0] and child.span[1] <= inner.span[1]:
            return _parent(inner, child)
    return None


def _unit(text: Text, node: Node) -> str | None:
    """Return one step of indent: what the first child on a line of its own has more than its parent's line."""
    outer = indent_of(text.content, node.span[0], text.lines)
    children = [(member.key_span[0], member.value) for member in node.members]
    children += [(item.span[0], item) for item in node.items]
    for start, child in children:
        inner = indent_of(text.content, start, text.lines)
        own_line = not text.content[text.lines.line_start(start) : start].strip()
        if own_line and inner.startswith(outer) and len(inner) > len(outer):
            return inner[len(outer) :]
        if (deeper := _unit(text, child)) is not None:
            return deeper
    return None


def _same(left: Value, right: Value) -> bool:
    """Compare as JSON does: `true` is not 1, and 1.0 is not 1 as written."""
    return json.dumps(left, sort_keys=True) == json.dumps(right, sort_keys=True)


def _scalar(value: Value) -> str:
    return json.dumps(value, ensure_ascii=False)


def _line(text: Text, node: Node) -> int:
    return text.lines.position(node.span[0])[0]
