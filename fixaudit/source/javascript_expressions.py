"""Expressions of JavaScript and TypeScript: calls, members and operators as values of `source.ir`.

Contract: every call, string and identifier that is read ends up in the result once. Types are skipped. Left-leaning
chains (`a + b + …`, `a.b().c()…`) are read by iteration, so that only real nesting counts as depth.
This module must not know of statements, imports or exports; objects, JSX and functions are added by a subclass.
"""

from __future__ import annotations

from fixaudit.source import ir
from fixaudit.source.javascript_leaves import MAX_DEPTH, LeafReader
from fixaudit.syntax import Node, span_of

_CHAIN = {
    "call_expression": "function",
    "member_expression": "object",
    "subscript_expression": "object",
}
_LOGICAL = {"||": "or", "??": "or", "&&": "and"}


class ExpressionReader(LeafReader):
    """Add calls, members and operators to leaves."""

    def __init__(self, content: str) -> None:
        super().__init__(content)
        self.requires: list[tuple[ir.Call, str]] = []  # `require("x")` and `import("x")` of the current statement
        self.uses_import_meta = False
        self.uses_require = False
        self._readers.update(
            {
                "parenthesized_expression": self._parenthesized,
                "await_expression": self._await,
                "as_expression": self._first,
                "satisfies_expression": self._first,
                "non_null_expression": self._first,
                "instantiation_expression": self._first,
                "type_assertion": self._first,
                "call_expression": self._chain,
                "member_expression": self._chain,
                "subscript_expression": self._chain,
                "new_expression": self._new,
                "meta_property": self._meta,
                "binary_expression": self._binary,
                "ternary_expression": self._ternary,
                "unary_expression": self._unary,
                "sequence_expression": self._comma,
            }
        )

    # Wrappers ----------------------------------------------------------------------------------------------------

    def _first(self, node: Node) -> ir.Expr:
        inner = self.inside(node)
        return self.other(node, node.kind()) if inner is None else self.expr(inner)

    def _parenthesized(self, node: Node) -> ir.Expr:
        inner = self.unwrapped(node)
        return self.other(node, node.kind()) if inner.kind() == "parenthesized_expression" else self.expr(inner)

    def _await(self, node: Node) -> ir.Expr:
        value = self._first(node)
        if isinstance(value, ir.Call):
            return ir.Call(
                value.span, value.callee, value.arguments, value.arguments_span, value.new, value.optional, True
            )
        return value

    def _comma(self, node: Node) -> ir.Expr:
        items: list[Node] = []
        stack = [node]
        while stack:
            current = stack.pop()
            if current.kind() == "sequence_expression":
                stack.extend(reversed(current.named_children()))
            elif current.kind() != "comment":
                items.append(current)
        if len(items) == 2 and items[0].kind() == "number":
            # `(0, module_1.f)()` is how compilers call an import without `this`.
            return self.expr(items[1])
        return ir.Other(span_of(node), "sequence_expression", tuple([self.expr(item) for item in items]))

    # Calls and members -------------------------------------------------------------------------------------------

    def _chain(self, node: Node) -> ir.Expr:
        links: list[tuple[Node, str]] = []
        current: Node = node
        kind: str = node.kind()
        while True:
            if kind in _CHAIN:
                inner = current.field(_CHAIN[kind])
                if inner is None:
                    break
                links.append((current, kind))
            elif kind == "non_null_expression" and (inner := self.inside(current)) is not None:
                pass
            else:
                break
            current, kind = inner, inner.kind()
            if self.depth + len(links) >= MAX_DEPTH:
                break
        if not links:
            return self.other(node, kind)
        self.depth += len(links)
        value = self.expr(current)
        for link, kind in reversed(links):
            self.depth -= 1
            if kind == "call_expression":
                value = self._call(link, value)
            elif kind == "member_expression":
                value = self._member(link, value)
            else:
                value = self._subscript(link, value)
        return value

    def _member(self, node: Node, value: ir.Expr) -> ir.Expr:
        field = node.field("property")
        if field is None:
            return ir.Other(span_of(node), "member_expression", (value,))
        span = span_of(field)
        return ir.Member(span_of(node), value, self.content[span[0] : span[1]], span)

    def _subscript(self, node: Node, value: ir.Expr) -> ir.Expr:
        index = node.field("index")
        if index is None:
            return ir.Other(span_of(node), "subscript_expression", (value,))
        key = self.expr(index)
        if isinstance(key, ir.Literal) and isinstance(key.value, str):
            return ir.Member(span_of(node), value, key.value, key.span, True)
        return ir.Member(span_of(node), value, None, key.span, True, key)

    def _call(self, node: Node, callee: ir.Expr) -> ir.Expr:
        optional, given = False, None
        for child in node.children()[1:]:
            kind = child.kind()
            if kind == "arguments":
                given = child
            elif kind == "template_string":
                return ir.Other(span_of(node), "tagged_template", (callee, self.expr(child)))
            elif kind == "optional_chain" or kind == "?.":
                optional = True
        span = span_of(node)
        if given is None:
            return ir.Call(span, callee, (), (span[1], span[1]), False, optional)
        call = ir.Call(span, callee, self._arguments(given), span_of(given), False, optional)
        if isinstance(callee, ir.Name) and callee.name in ("require", "import"):
            self._require(call, callee.name)
        return call

    def _require(self, call: ir.Call, form: str) -> None:
        self.uses_require = self.uses_require or form == "require"
        first = call.arguments[0].value if call.arguments else None
        if isinstance(first, ir.Literal) and isinstance(first.value, str):
            self.requires.append((call, "require" if form == "require" else "dynamic"))

    def _arguments(self, node: Node) -> tuple[ir.Argument, ...]:
        arguments = []
        for child in node.named_children():
            kind = child.kind()
            if kind == "comment":
                continue
            if kind == "spread_element":
                inner = self.inside(child)
                value = self.other(child, kind) if inner is None else self.expr(inner)
                arguments.append(ir.Argument(span_of(child), value, None, True))
            else:
                value = self.expr(child)
                arguments.append(ir.Argument(span_of(child), value))
        return tuple(arguments)

    def _new(self, node: Node) -> ir.Expr:
        constructor = node.field("constructor")
        if constructor is None:
            return self.other(node, "new_expression")
        span = span_of(node)
        callee = self.expr(constructor)
        given = node.field("arguments")
        if given is None:
            return ir.Call(span, callee, (), (span[1], span[1]), True)
        return ir.Call(span, callee, self._arguments(given), span_of(given), True)

    def _meta(self, node: Node) -> ir.Expr:
        """`import.meta` and `new.target` are members of the names `import` and `new`."""
        start, end = span_of(node)
        head, _, tail = self.content[start:end].partition(".")
        self.uses_import_meta = self.uses_import_meta or head.strip() == "import"
        name = ir.Name((start, start + len(head.rstrip())), head.strip())
        return ir.Member((start, end), name, tail.strip(), (end - len(tail.lstrip()), end))

    # Operators ---------------------------------------------------------------------------------------------------

    def _binary(self, node: Node) -> ir.Expr:
        operator = self._operator(node)
        operands: list[tuple[Node, Node]] = []  # (expression, right operand), outermost first
        current: Node = node
        while current.kind() == "binary_expression" and self._operator(current) == operator:
            left, right = current.field("left"), current.field("right")
            if left is None or right is None:
                break
            operands.append((current, right))
            current = left
            if operator in _LOGICAL and self.depth + len(operands) >= MAX_DEPTH:
                break
        if not operands:
            return self.other(node, "binary_expression")
        if operator in _LOGICAL:
            self.depth += len(operands)
            value = self.expr(current)
            for whole, right in reversed(operands):
                self.depth -= 1
                value = ir.Logical(span_of(whole), _LOGICAL[operator], value, self.expr(right))
            return value
        parts = [self.expr(current)]
        parts += [self.expr(right) for _, right in reversed(operands)]
        if operator == "+" and any(_is_text(part) for part in parts):
            flat: list[ir.Expr] = []
            for part in parts:
                flat.extend(part.parts if isinstance(part, ir.Template) else (part,))
            return ir.Template(span_of(node), tuple(flat))
        return ir.Other(span_of(node), "binary_expression", tuple(parts))

    def _operator(self, node: Node) -> str:
        operator = node.field("operator")
        return "" if operator is None else str(operator.kind())

    def _ternary(self, node: Node) -> ir.Expr:
        test, left, right = node.field("condition"), node.field("consequence"), node.field("alternative")
        if test is None or left is None or right is None:
            return self.other(node, "ternary_expression")
        condition = self.expr(test)
        return ir.Logical(span_of(node), "if", self.expr(left), self.expr(right), condition)

    def _unary(self, node: Node) -> ir.Expr:
        operator, argument = self._operator(node), node.field("argument")
        if argument is None:
            return self.other(node, "unary_expression")
        value = self.expr(argument)
        span = span_of(node)
        if isinstance(value, ir.Literal) and isinstance(value.value, int | float) and not isinstance(value.value, bool):
            text = self.content[span[0] : span[1]]
            if operator == "-":
                return ir.Literal(span, -value.value, text)
            if operator == "!":  # minifiers write `!0` for true
                return ir.Literal(span, not value.value, text)
        # `delete` and `void` have kinds of their own: the one is no read, the other yields undefined.
        kind = {"delete": "delete", "void": "void"}.get(operator, "unary_expression")
        return ir.Other(span, kind, (value,))


def _is_text(value: ir.Expr) -> bool:
    return isinstance(value, ir.Template) or (isinstance(value, ir.Literal) and isinstance(value.value, str))
