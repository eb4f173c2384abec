"""Python expressions: syntax nodes in, `ir` expressions out.

Contract: total. Every node of a damaged tree becomes something, every call, string and name read is kept, and what
the model has no word for becomes `Other` with its parts. The result is at most DEPTH levels deep whatever the source
looks like, so that neither this module nor any reader (the cache's encoder recurses in C) meets the recursion limit:
what lies deeper is handed to the statement level, which gives it a statement of its own.
This module must not know of statements, files or relations.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from fixaudit.source import ir
from fixaudit.source.ir import Expr, Span
from fixaudit.source.python_templates import STRINGS, Templates
from fixaudit.syntax import Node, span_of

DEPTH = 80
"""Levels of one expression. msgspec needs about three levels of the interpreter's limit of 1000 for each of ours."""

_SEQUENCES = ("tuple", "list", "set", "expression_list", "pattern_list", "tuple_pattern", "list_pattern")
_NUMBER = re.compile(r"0[xX][0-9a-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+|[0-9][0-9_]*")
_SMALLEST, _LARGEST = -(2**63), 2**64 - 1  # what the cache's encoding can hold


@dataclass
class Scope:
    """What one body collects while it is read: names bound inside expressions, and nodes that were put off."""

    function: int | None = None
    owner: int | None = None
    bound: list[ir.Target] = field(default_factory=list)
    deferred: list[Node] = field(default_factory=list)
    yields: bool = False


class Expressions(Templates):
    """Reads expressions of one file. `lambda_index` is given by the statement level, which owns all functions."""

    def __init__(self, content: str) -> None:
        super().__init__(content)
        self.scope = Scope()
        self._level = 0
        same = self._generic
        self._readers: dict[str, Callable[[Node, str], Expr]] = {
            "attribute": self._attribute,
            "call": self._call,
            "string": self._string,
            "concatenated_string": self._concatenated,
            "integer": self._number,
            "float": self._number,
            "true": self._constant,
            "false": self._constant,
            "none": self._constant,
            "subscript": self._subscript,
            "dictionary": self._dictionary,
            "parenthesized_expression": self._inner,
            "type": self._inner,
            "await": self._await,
            "binary_operator": self._binary,
            "boolean_operator": self._boolean,
            "unary_operator": self._unary,
            "conditional_expression": self._conditional,
            "lambda": self._lambda,
            "named_expression": self._named,
            "yield": self._yield,
            "dotted_name": self._dotted_name,
            "for_in_clause": self._for_in,
            "keyword_argument": self._keyword,
            **dict.fromkeys(_SEQUENCES, self._sequence),
            "comparison_operator": same,
        }

    def lambda_index(self, node: Node) -> int:
        raise NotImplementedError

    def expr(self, node: Node) -> Expr:
        """Read one expression."""
        kind = node.kind()
        if kind == "identifier":
            span = span_of(node)
            return ir.Name(span, self.content[span[0] : span[1]])
        if self._level >= DEPTH:
            self.scope.deferred.append(node)
            return ir.Other(span_of(node), "deep")
        self._level += 1
        result = self._readers.get(kind, self._generic)(node, kind)
        self._level -= 1
        return result

    def detached(self, node: Node) -> Expr:
        """Read an expression that was put off, from level 0."""
        level, self._level = self._level, 0
        result = self.expr(node)
        self._level = level
        return result

    def parts(self, node: Node) -> tuple[Expr, ...]:
        return tuple([self.expr(child) for child in self.children(node)])

    # Plain forms -----------------------------------------------------------------------------------------------------

    def _generic(self, node: Node, kind: str) -> Expr:
        return ir.Other(span_of(node), kind, self.parts(node))

    def _inner(self, node: Node, kind: str) -> Expr:
        inner = self.children(node)
        return self.expr(inner[0]) if len(inner) == 1 else ir.Other(span_of(node), kind, self.parts(node))

    def _attribute(self, node: Node, kind: str) -> Expr:
        inner = self.children(node)
        if len(inner) != 2:
            return self._generic(node, kind)
        span = span_of(inner[1])
        return ir.Member(span_of(node), self.expr(inner[0]), self.content[span[0] : span[1]], span)

    def _dotted_name(self, node: Node, kind: str) -> Expr:
        names = self.children(node)
        if not names:
            return self._generic(node, kind)
        result = self.expr(names[0])
        for name in names[1:]:
            span = span_of(name)
            result = ir.Member((result.span[0], span[1]), result, self.content[span[0] : span[1]], span)
        return result

    def _subscript(self, node: Node, kind: str) -> Expr:
        inner = self.children(node)
        span = span_of(node)
        if len(inner) < 2:
            return self._generic(node, kind)
        base = self.expr(inner[0])
        key_span = (span_of(inner[1])[0], span_of(inner[-1])[1])
        if len(inner) > 2:
            parts = tuple([self.expr(child) for child in inner[1:]])
            return ir.Member(span, base, None, key_span, True, ir.Other(key_span, "subscript", parts))
        key = self.expr(inner[1])
        if isinstance(key, ir.Literal) and isinstance(key.value, str):
            return ir.Member(span, base, key.value, key_span, True)
        return ir.Member(span, base, None, key_span, True, key)

    def _constant(self, node: Node, kind: str) -> Expr:
        return ir.Literal(span_of(node), {"true": True, "false": False}.get(kind), self.text(node))

    def _number(self, node: Node, kind: str) -> Expr:
        span = span_of(node)
        text = self.content[span[0] : span[1]]
        value: int | float
        try:
            if kind == "integer" and _NUMBER.fullmatch(text):
                value = int(text, 10 if text[:2].isdigit() or len(text) == 1 or text[1] == "_" else 0)
                if value > _LARGEST:
                    return ir.Other(span, kind)
            else:
                value = float(text)
        except ValueError:  # `1j`, Python 2's `10L`, thousands of digits
            return ir.Other(span, kind)
        return ir.Literal(span, value, text)

    def _unary(self, node: Node, kind: str) -> Expr:
        inner = self.children(node)
        span = span_of(node)
        if len(inner) == 1 and self.content[span[0]] == "-" and inner[0].kind() in ("integer", "float"):
            operand = self.expr(inner[0])
            if not isinstance(operand, ir.Literal) or not isinstance(operand.value, int | float):
                return ir.Other(span, kind, (operand,))
            if isinstance(operand.value, float) or -operand.value >= _SMALLEST:
                return ir.Literal(span, -operand.value, self.content[span[0] : span[1]])
        return self._generic(node, kind)

    def _sequence(self, node: Node, kind: str) -> Expr:
        inner = self.children(node)
        complete = all(child.kind() not in ("list_splat", "list_splat_pattern") for child in inner)
        return ir.Sequence(span_of(node), tuple([self.expr(child) for child in inner]), complete)

    def _dictionary(self, node: Node, kind: str) -> Expr:
        entries: list[ir.Entry] = []
        complete = True
        for child in self.children(node):
            span = span_of(child)
            pair = self.children(child) if child.kind() == "pair" else []
            if len(pair) != 2:
                complete = False
                entries.append(ir.Entry(span, None, self.expr(child), (span[0], span[0])))
                continue
            key, value, key_span = self.expr(pair[0]), self.expr(pair[1]), span_of(pair[0])
            if isinstance(key, ir.Literal) and isinstance(key.value, str):
                entries.append(ir.Entry(span, key.value, value, key_span))
            else:
                # An Entry has no room for a computed key's expression: it goes with the value, nothing is lost.
                complete = complete and isinstance(key, ir.Literal)
                entries.append(ir.Entry(span, None, ir.Other(span, "pair", (key, value)), key_span))
        return ir.Object(span_of(node), tuple(entries), complete)

    # Operators -------------------------------------------------------------------------------------------------------

    def _await(self, node: Node, kind: str) -> Expr:
        inner = self.children(node)
        if len(inner) != 1:
            return self._generic(node, kind)
        value = self.expr(inner[0])
        if isinstance(value, ir.Call):
            return ir.Call(value.span, value.callee, value.arguments, value.arguments_span, awaited=True)
        return value

    def _boolean(self, node: Node, kind: str) -> Expr:
        inner = self.children(node)
        if len(inner) != 2:
            return self._generic(node, kind)
        op = next((c.kind() for c in node.children() if c.kind() in ("or", "and")), "or")
        return ir.Logical(span_of(node), op, self.expr(inner[0]), self.expr(inner[1]))

    def _conditional(self, node: Node, kind: str) -> Expr:
        inner = self.children(node)
        if len(inner) != 3:
            return self._generic(node, kind)
        left, test, right = (self.expr(child) for child in inner)
        return ir.Logical(span_of(node), "if", left, right, test)

    def _named(self, node: Node, kind: str) -> Expr:
        inner = self.children(node)
        if len(inner) != 2:
            return self._generic(node, kind)
        span = span_of(inner[0])
        self.scope.bound.append(ir.Target(span, self.content[span[0] : span[1]]))
        return ir.Other(span_of(node), kind, (self.expr(inner[1]),))

    def _yield(self, node: Node, kind: str) -> Expr:
        self.scope.yields = True
        return self._generic(node, kind)

    def _lambda(self, node: Node, kind: str) -> Expr:
        return ir.FunctionRef(span_of(node), self.lambda_index(node))

    def _for_in(self, node: Node, kind: str) -> Expr:
        """`for x in y` of a comprehension: only what is read; the names live inside the comprehension."""
        inner = self.children(node)
        read = [self.expr(child) for child in inner[1:]]
        return ir.Other(span_of(node), kind, (*self._read_in_pattern(inner[:1]), *read))

    def _read_in_pattern(self, nodes: Sequence[Node]) -> list[Expr]:
        found: list[Expr] = []
        stack = list(reversed(nodes))
        while stack:
            node = stack.pop()
            kind = node.kind()
            if kind in ("attribute", "subscript"):
                found.append(self.expr(node))
            elif kind != "identifier":
                stack.extend(reversed(self.children(node)))
        return found

    def _binary(self, node: Node, kind: str) -> Expr:
        # Generated code adds thousands of operands in one expression: the left spine is walked, not recursed into.
        span = span_of(node)
        operands: list[Node] = []
        plus = self._operator(node) == "+"
        while node.kind() == "binary_operator" and (self._operator(node) == "+") == plus:
            inner = self.children(node)
            if len(inner) != 2 or (not plus and self._is_format(inner[0], node)):
                break
            operands.append(inner[1])
            node = inner[0]
        if not operands:
            inner = self.children(node)
            return self._percent(span, *inner) if len(inner) == 2 else self._generic(node, kind)
        operands.append(node)
        parts = [self.expr(operand) for operand in reversed(operands)]
        if plus and any(
            isinstance(p, ir.Template) or (isinstance(p, ir.Literal) and type(p.value) is str) for p in parts
        ):
            flat: list[Expr] = []
            for part in parts:
                flat.extend(part.parts if isinstance(part, ir.Template) else (part,))
            return ir.Template(span, tuple(flat))
        return ir.Other(span, kind, tuple(parts))

    def _operator(self, node: Node) -> str:
        return next((c.kind() for c in node.children()[1:-1] if not c.is_named()), "")

    def _is_format(self, left: Node, node: Node) -> bool:
        return self._operator(node) == "%" and self._bare(left).kind() in STRINGS

    # Calls -----------------------------------------------------------------------------------------------------------

    def _call(self, node: Node, kind: str) -> Expr:
        inner = self.children(node)
        if len(inner) != 2:
            return self._generic(node, kind)
        callee_node, list_node = inner
        span, list_span = span_of(node), span_of(list_node)
        if list_node.kind() != "argument_list":  # f(x for x in y)
            return ir.Call(span, self.expr(callee_node), (ir.Argument(list_span, self.expr(list_node)),), list_span)
        arguments = tuple([self._argument(child) for child in self.children(list_node)])
        if callee_node.kind() == "attribute" and (template := self._format(span, callee_node, arguments)) is not None:
            return template
        callee = self.expr(callee_node)
        if isinstance(callee, ir.Name) and callee.name == "dict" and all(a.keyword or a.spread for a in arguments):
            if not any(a.spread and self.content[a.span[0] : a.span[0] + 2] != "**" for a in arguments):
                return self._dict_call(span, arguments)
        return ir.Call(span, callee, arguments, list_span)

    def _argument(self, node: Node) -> ir.Argument:
        kind = node.kind()
        span = span_of(node)
        if kind in ("list_splat", "dictionary_splat"):
            return ir.Argument(span, self._inner_of(node), spread=True)
        if kind == "keyword_argument":
            inner = self.children(node)
            if len(inner) == 2:
                return ir.Argument(span, self.expr(inner[1]), self.text(inner[0]))
        return ir.Argument(span, self.expr(node))

    def _inner_of(self, node: Node) -> Expr:
        inner = self.children(node)
        return self.expr(inner[0]) if inner else ir.Other(span_of(node), node.kind())

    def _keyword(self, node: Node, kind: str) -> Expr:
        """`metaclass=M` among the bases of a class: the keyword is no name that is read."""
        return ir.Other(span_of(node), kind, tuple([self.expr(child) for child in self.children(node)[1:]]))

    def _dict_call(self, span: Span, arguments: Sequence[ir.Argument]) -> ir.Object:
        entries = []
        for argument in arguments:
            start = argument.span[0]
            key = argument.keyword
            entries.append(ir.Entry(argument.span, key, argument.value, (start, start + len(key or ""))))
        return ir.Object(span, tuple(entries), all(argument.keyword for argument in arguments))
