"""Python strings as expressions: literals, f-strings, implicit concatenation, `%` and `.format`.

Contract: a certain string becomes one Literal, a string with holes a Template whose pieces keep their places.
This module must not know of any other expression: `expr` is given by the class that inherits from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from fixaudit.source import ir
from fixaudit.source import python_strings as strings
from fixaudit.source.ir import Expr, Span
from fixaudit.syntax import Node, span_of

STRINGS = ("string", "concatenated_string")
"""Node kinds of string literals, formatted ones included."""


class Templates:
    """Reads the string literals of one file and what is formatted with them."""

    def __init__(self, content: str) -> None:
        self.content = content

    def expr(self, node: Node) -> Expr:
        raise NotImplementedError

    def children(self, node: Node) -> list[Node]:
        """Return the children that mean something: named ones without comments."""
        return [c for c in node.children() if c.is_named() and c.kind() not in ("comment", "line_continuation")]

    def text(self, node: Node) -> str:
        start, end = span_of(node)
        return self.content[start:end]

    def _bare(self, node: Node) -> Node:
        while node.kind() == "parenthesized_expression" and len(inner := self.children(node)) == 1:
            node = inner[0]
        return node

    def _string(self, node: Node, kind: str) -> Expr:
        span = span_of(node)
        text = self.content[span[0] : span[1]]
        head = strings.opening(text)
        if head is None:
            return ir.Other(span, kind)
        if not head.formatted:
            value = strings.decode(strings.inside(text, head), raw=head.raw, binary=head.binary)
            return ir.Other(span, kind) if value is None else ir.Literal(span, value, text)
        parts = self._pieces(node)
        if all(isinstance(part, ir.Literal) for part in parts) and len(parts) < 2:
            return ir.Literal(span, parts[0].value if parts else "", text)  # type: ignore[union-attr]
        return ir.Template(span, parts)

    def _concatenated(self, node: Node, kind: str) -> Expr:
        span = span_of(node)
        inner = [child for child in self.children(node) if child.kind() == "string"]
        values = [strings.decode_literal(self.text(child)) for child in inner]
        heads = [strings.opening(self.text(child)) for child in inner]
        if all(head is not None and not head.formatted for head in heads) and None not in values:
            return ir.Literal(span, "".join(v or "" for v in values), self.content[span[0] : span[1]])
        return ir.Template(span, tuple([piece for child in inner for piece in self._pieces(child)]))

    def _pieces(self, node: Node) -> tuple[Expr, ...]:
        """Return the certain pieces and holes of one string node, in order."""
        head = strings.opening(self.text(node))
        found: list[Expr] = []
        for child in self.children(node):
            kind = child.kind()
            if kind == "interpolation":
                found.append(self._hole(child))
            elif kind == "string_content" and head is not None:
                span = span_of(child)
                source = self.content[span[0] : span[1]]
                unescaped = source.replace("{{", "{").replace("}}", "}") if head.formatted else source
                found.append(self._piece(span, source, unescaped, head))
        return tuple(found)

    def _piece(self, span: Span, source: str, meaning: str, head: strings.Opening) -> Expr:
        value = strings.decode(meaning, raw=head.raw, binary=head.binary)
        return ir.Other(span, "string") if value is None else ir.Literal(span, value, source)

    def _hole(self, node: Node) -> Expr:
        """`{value!r:{width}}`: the value alone, or `Other` with everything that a format spec reads besides."""
        parts: list[Expr] = []
        for child in self.children(node):
            kind = child.kind()
            if kind == "format_specifier":
                for inner in self.children(child):
                    parts.extend([self.expr(value) for value in self.children(inner)])
            elif kind != "type_conversion":
                parts.append(self.expr(child))
        return parts[0] if len(parts) == 1 else ir.Other(span_of(node), "interpolation", tuple(parts))

    def _segments(self, node: Node) -> list[tuple[int, str, strings.Opening]] | None:
        """Return (start, source, opening) of each literal of a string; None when it has holes of its own."""
        found = []
        for child in [node] if node.kind() == "string" else self.children(node):
            start = span_of(child)[0]
            text = self.text(child)
            head = strings.opening(text)
            if head is None or head.formatted:
                return None
            found.append((start + head.length, strings.inside(text, head), head))
        return found

    def _percent(self, span: Span, left: Node, right: Node) -> Expr:
        operand_node = self._bare(right)
        operand = self.expr(right)
        segments = self._segments(self._bare(left))
        if segments is None:
            base = self.expr(left)
            return ir.Template(span, (*(base.parts if isinstance(base, ir.Template) else (base,)), operand))
        line: list[Expr] = [operand]
        named: dict[str, Expr] = {}
        if isinstance(operand, ir.Sequence) and operand_node.kind() == "tuple":
            line = list(operand.items)
        elif isinstance(operand, ir.Object):
            named = {entry.key: entry.value for entry in operand.entries if entry.key is not None}
            line = [entry.value for entry in operand.entries if entry.key is None]
        return self._fill(span, segments, lambda source, _: strings.percent_pieces(source), line, named)

    def _format(self, span: Span, callee: Node, arguments: Sequence[ir.Argument]) -> Expr | None:
        """Read `"…".format(…)`; None when the call is something else."""
        inner = self.children(callee)
        if len(inner) != 2 or (base := self._bare(inner[0])).kind() not in STRINGS or self.text(inner[1]) != "format":
            return None
        segments = self._segments(base)
        if segments is None:
            return None
        line = [a.value for a in arguments if a.keyword is None and not a.spread]
        named = {a.keyword: a.value for a in arguments if a.keyword is not None}
        named |= {str(index): value for index, value in enumerate(line)}
        spread: list[Expr] = [a.value for a in arguments if a.spread]
        return self._fill(
            span, segments, lambda source, head: strings.field_pieces(source, raw=head.raw), line, named, spread
        )

    def _fill(
        self,
        span: Span,
        segments: Sequence[tuple[int, str, strings.Opening]],
        cut: Callable[[str, strings.Opening], Iterator[strings.Piece]],
        line: Sequence[Expr],
        named: dict[str, Expr],
        rest: Sequence[Expr] = (),
    ) -> ir.Template:
        """Put operands into the holes. One that no hole takes comes last; one taken twice is named once."""
        parts: list[Expr] = []
        used: set[int] = set()
        position = 0
        for start, source, head in segments:
            for piece in cut(source, head):
                place = (start + piece.start, start + piece.end)
                if piece.text is not None:
                    parts.append(self._piece(place, source[piece.start : piece.end], piece.text, head))
                    continue
                taken: list[Expr] = []
                if piece.name:
                    taken = [named[piece.name]] if piece.name in named else []
                else:
                    taken = list(line[position : position + piece.takes])
                    position += piece.takes
                fresh = [value for value in taken if id(value) not in used]
                used.update(id(value) for value in fresh)
                parts.append(fresh[0] if len(fresh) == 1 else ir.Other(place, "hole", tuple(fresh)))
        operands = {id(value): value for value in (*line, *named.values(), *rest)}
        parts.extend(value for key, value in operands.items() if key not in used)
        return ir.Template(span, tuple(parts))
