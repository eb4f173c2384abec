"""The leaves of JavaScript expressions, and what every reader of expressions stands on.

Contract: `expr` dispatches on a node's kind and counts the depth; a kind that no reader knows becomes `Other` with the
expressions among its children; what is nested deeper than MAX_DEPTH becomes an `Other` that holds the names and strings
inside it, reported as damage. Nothing raises, whatever the tree looks like.
This module must not know of calls, operators, statements, imports or exports.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from fixaudit.source import ir
from fixaudit.source.javascript_literals import number, unescape
from fixaudit.syntax import Node, span_of

Guards: TypeAlias = tuple[tuple[str, ir.Span, ir.Span], ...]

MAX_DEPTH = 300
"""A nested expression or statement counts 2, a link of a chain 1.

150 nested levels need some 600 frames of Python, and of msgspec's encoder, where both stop at 1000 by default.
"""

# fmt: off
TYPES = frozenset((
    "type_annotation", "type_arguments", "type_parameters", "type_query", "predefined_type", "type_identifier",
    "generic_type", "union_type", "intersection_type", "array_type", "tuple_type", "object_type", "function_type",
    "constructor_type", "literal_type", "lookup_type", "conditional_type", "index_type_query", "nested_type_identifier",
    "parenthesized_type", "readonly_type", "template_literal_type", "type_predicate", "type_predicate_annotation",
    "asserts_annotation", "implements_clause", "accessibility_modifier", "override_modifier", "interface_declaration",
    "opting_type_annotation", "omitting_type_annotation", "adding_type_annotation", "type_alias_declaration",
    "index_signature", "method_signature", "abstract_method_signature",
))
# fmt: on
"""Nodes that hold no values: not entered at all."""


class LeafReader:
    """Turn expression nodes into IR. One reader reads one file."""

    def __init__(self, content: str) -> None:
        self.content = content
        self.depth = 0
        self.damage: list[ir.Span] = []  # what was too deep to be read
        self.errors: set[ir.Span] = set()  # the ERROR nodes that were read
        self._readers: dict[str, Callable[[Node], ir.Expr]] = {
            "identifier": self._name,
            "property_identifier": self._name,
            "private_property_identifier": self._name,
            "shorthand_property_identifier": self._name,
            "shorthand_property_identifier_pattern": self._name,
            "this": self._name,
            "super": self._name,
            "undefined": self._name,
            "import": self._name,
            "string": self._string,
            "template_string": self._template,
            "number": self._number,
            "true": lambda node: self._constant(node, True),
            "false": lambda node: self._constant(node, False),
            "null": lambda node: self._constant(node, None),
            "regex": lambda node: ir.Other(span_of(node), "regex"),
        }

    def read_statement(self, node: Node, kind: str) -> bool:
        """Read a statement that stands where an expression was expected (inside an ERROR); False if it is none."""
        raise NotImplementedError

    # Entry -------------------------------------------------------------------------------------------------------

    def expr(self, node: Node) -> ir.Expr:
        """Return the value of an expression node."""
        kind = node.kind()
        if kind == "identifier":
            span = span_of(node)
            return ir.Name(span, self.content[span[0] : span[1]])
        if self.depth >= MAX_DEPTH:
            return self.too_deep(node, kind)
        self.depth += 2
        reader = self._readers.get(kind)
        value = self.other(node, kind) if reader is None else reader(node)
        self.depth -= 2
        return value

    def other(self, node: Node, kind: str) -> ir.Other:
        """Return an `Other` with every expression among the node's children."""
        parts = []
        if kind == "ERROR":
            self.errors.add(span_of(node))
        for child in node.named_children():
            inner = child.kind()
            if inner == "comment" or inner in TYPES or self.read_statement(child, inner):
                continue
            parts.append(self.expr(child))
        return ir.Other(span_of(node), kind, tuple(parts))

    def too_deep(self, node: Node, kind: str) -> ir.Other:
        """Give up on structure: keep the names and strings below a node, in source order."""
        span = span_of(node)
        self.damage.append(span)
        parts: list[ir.Expr] = []
        stack = [node]
        while stack:
            current = stack.pop()
            inner = current.kind()
            if inner == "identifier" or inner == "this":
                parts.append(self._name(current))
            elif inner == "string":
                parts.append(self._string(current))
            elif inner == "string_fragment" or inner == "jsx_text":
                parts.append(self._piece(current, self.content[slice(*span_of(current))]))
            elif inner not in TYPES:
                stack.extend(reversed(current.named_children()))
        return ir.Other(span, kind, tuple(parts))

    def text(self, node: Node) -> str:
        start, end = span_of(node)
        return self.content[start:end]

    def inside(self, node: Node) -> Node | None:
        """Return the first child that is a value: what parentheses, `as T`, `await` and decorators wrap."""
        for child in node.named_children():
            kind = child.kind()
            if kind != "comment" and kind not in TYPES:
                return child
        return None

    def unwrapped(self, node: Node) -> Node:
        """Return what stands inside any number of parentheses."""
        while node.kind() == "parenthesized_expression" and (inner := self.inside(node)) is not None:
            node = inner
        return node

    # Leaves ------------------------------------------------------------------------------------------------------

    def _name(self, node: Node) -> ir.Name:
        span = span_of(node)
        return ir.Name(span, self.content[span[0] : span[1]])

    def _constant(self, node: Node, value: bool | None) -> ir.Literal:
        span = span_of(node)
        return ir.Literal(span, value, self.content[span[0] : span[1]])

    def _string(self, node: Node) -> ir.Literal:
        span = span_of(node)
        text = self.content[span[0] : span[1]]
        # A quote that is missing at the end is not part of the value either.
        inner = text[1:-1] if len(text) > 1 and text[0] == text[-1] else text[1:]
        return ir.Literal(span, unescape(inner), text)

    def _piece(self, node: Node, value: str) -> ir.Literal:
        span = span_of(node)
        return ir.Literal(span, value, self.content[span[0] : span[1]])

    def _number(self, node: Node) -> ir.Expr:
        span = span_of(node)
        text = self.content[span[0] : span[1]]
        value = number(text)
        return ir.Other(span, "number") if value is None else ir.Literal(span, value, text)

    def _template(self, node: Node) -> ir.Expr:
        start, end = span_of(node)
        position = start + 1
        parts: list[ir.Expr] = []
        for hole in node.named_children():
            if hole.kind() != "template_substitution":
                continue
            hole_start, hole_end = span_of(hole)
            self._add_piece(parts, position, hole_start)
            inner = self.inside(hole)
            if inner is not None:
                parts.append(self.expr(inner))
            position = hole_end
        closed = end - start > 1 and self.content[end - 1] == "`"
        self._add_piece(parts, position, end - 1 if closed else end)
        if position == start + 1:
            value = parts[0].value if parts and isinstance(parts[0], ir.Literal) else ""
            return ir.Literal((start, end), value, self.content[start:end])
        return ir.Template((start, end), tuple(parts))

    def _add_piece(self, parts: list[ir.Expr], start: int, end: int) -> None:
        if start < end:
            text = self.content[start:end]
            parts.append(ir.Literal((start, end), unescape(text), text))
