"""Expressions of JavaScript and TypeScript: syntax nodes to the values of `source.ir`.

Contract: every call, string and identifier that is read ends up in the result once. Types are skipped. What the model
has no word for becomes `Other` with its parts. Nothing raises, whatever the tree looks like: left-leaning chains
(`a + b + …`, `a.b().c()…`) are read by iteration, and what is nested deeper than MAX_DEPTH becomes an `Other` that
holds the names and strings inside it, reported as damage.
This module must not know of statements, imports or exports; definitions inside expressions are left to a subclass.
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

150 nested levels need some 600 frames of Python and of msgspec's encoder, which both stop at 1000; generated code
aside, nothing nests deeper than 40, and the longest method chains seen (yargs) have about 100 links.
"""

TYPES = frozenset(
    "type_annotation type_arguments type_parameters type_query predefined_type type_identifier generic_type union_type "
    "intersection_type array_type tuple_type object_type function_type constructor_type literal_type lookup_type "
    "conditional_type index_type_query nested_type_identifier parenthesized_type readonly_type template_literal_type "
    "type_predicate type_predicate_annotation asserts_annotation implements_clause accessibility_modifier "
    "override_modifier opting_type_annotation omitting_type_annotation adding_type_annotation "
    "interface_declaration type_alias_declaration index_signature method_signature abstract_method_signature".split()
)
"""Nodes that hold no values: not entered at all."""

_CHAIN = {
    "call_expression": "function",
    "member_expression": "object",
    "subscript_expression": "object",
}
_LOGICAL = {"||": "or", "??": "or", "&&": "and"}


class ExpressionReader:
    """Turn expression nodes into IR. One reader reads one file."""

    def __init__(self, content: str) -> None:
        self.content = content
        self.depth = 0
        self.damage: list[ir.Span] = []
        self.requires: list[tuple[ir.Call, str]] = []  # `require("x")` and `import("x")` of the current statement
        self.uses_import_meta = False
        self.uses_require = False
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
            "object": self._object,
            "array": self._array,
            "sequence_expression": self._comma,
            "function_expression": self._function,
            "generator_function": self._function,
            "arrow_function": self._function,
            "class": self._class,
            "jsx_element": self._jsx,
            "jsx_self_closing_element": self._jsx,
            "jsx_text": lambda node: self._piece(node, self.content[slice(*span_of(node))]),
        }

    # What a subclass reads ---------------------------------------------------------------------------------------

    def read_function(self, node: Node) -> int:
        """Read a function and return its index."""
        raise NotImplementedError

    def read_class(self, node: Node) -> int:
        """Read a class and return its index."""
        raise NotImplementedError

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

    # Composite values --------------------------------------------------------------------------------------------

    def _array(self, node: Node) -> ir.Expr:
        items, complete = [], True
        for child in node.named_children():
            kind = child.kind()
            if kind == "comment":
                continue
            complete = complete and kind != "spread_element"
            items.append(self.expr(child))
        return ir.Sequence(span_of(node), tuple(items), complete)

    def _object(self, node: Node) -> ir.Expr:
        entries, complete = [], True
        for child in node.named_children():
            kind = child.kind()
            if kind == "comment":
                continue
            entry = self._entry(child, kind)
            complete = complete and entry.key is not None
            entries.append(entry)
        return ir.Object(span_of(node), tuple(entries), complete)

    def _entry(self, node: Node, kind: str) -> ir.Entry:
        if kind == "shorthand_property_identifier":
            name = self._name(node)
            return ir.Entry(name.span, name.name, name, name.span, True)
        if kind == "pair":
            key, given = node.field("key"), node.field("value")
            if key is not None and given is not None:
                name_of_key = self.property_name(key)
                if name_of_key is not None:
                    return ir.Entry(span_of(node), name_of_key, self.expr(given), span_of(key))
                hidden = ir.Other(span_of(node), "pair", (self.other(key, "computed"), self.expr(given)))
                return ir.Entry(span_of(node), None, hidden, span_of(key))
        if kind == "method_definition":
            return self._method_entry(node)
        # A spread, or something damaged: which keys it brings is not known.
        value = self.expr(node)
        return ir.Entry(value.span, None, value, value.span)

    def _method_entry(self, node: Node) -> ir.Entry:
        span, key = span_of(node), node.field("name")
        value: ir.Expr = ir.FunctionRef(span, self.read_function(node))
        if any(child.kind() in ("get", "set") for child in node.children()):
            value = ir.Other(span, "accessor", (value,))
        name = None if key is None else self.property_name(key)
        if key is None or name is None:
            computed = () if key is None else (self.other(key, "computed"),)
            return ir.Entry(span, None, ir.Other(span, "method_definition", (*computed, value)), span)
        return ir.Entry(span, name, value, span_of(key))

    def property_name(self, key: Node) -> str | None:
        """Return the name that a property key spells; None for a computed one."""
        kind = key.kind()
        if kind == "string":
            return str(self._string(key).value)
        if kind == "number":
            value = number(self.text(key))
            return self.text(key) if value is None else f"{value:g}" if isinstance(value, float) else str(value)
        if kind == "computed_property_name":
            inner = self.inside(key)
            return str(self._string(inner).value) if inner is not None and inner.kind() == "string" else None
        return self.text(key)

    def _function(self, node: Node) -> ir.Expr:
        return ir.FunctionRef(span_of(node), self.read_function(node))

    def _class(self, node: Node) -> ir.Expr:
        return ir.ClassRef(span_of(node), self.read_class(node))

    # JSX ---------------------------------------------------------------------------------------------------------

    def _jsx(self, node: Node) -> ir.Expr:
        """An element: parts are its tag (none for a fragment), its attributes as one Object, then its children."""
        parts: list[ir.Expr] = []
        opening = node
        children: list[Node] = []
        if node.kind() == "jsx_element":
            for child in node.named_children():
                kind = child.kind()
                if kind == "jsx_opening_element":
                    opening = child
                elif kind != "jsx_closing_element" and kind != "comment":
                    children.append(child)
        attributes: list[ir.Entry] = []
        if opening is not node or node.kind() == "jsx_self_closing_element":
            tag = opening.field("name")
            tag_span = None if tag is None else span_of(tag)
            for child in opening.named_children():
                kind = child.kind()
                if kind in TYPES or kind == "comment":
                    continue
                if tag_span is not None and not parts and not attributes and span_of(child) == tag_span:
                    parts.append(self._name(child) if kind == "jsx_namespace_name" else self.expr(child))
                else:
                    attributes.append(self._attribute(child, kind))
        if attributes:
            complete = all(entry.key is not None for entry in attributes)
            parts.append(ir.Object((attributes[0].span[0], attributes[-1].span[1]), tuple(attributes), complete))
        for child in children:
            kind = child.kind()
            if kind == "jsx_expression":
                parts.extend(self.other(child, kind).parts)
            elif kind != "jsx_text" or self.text(child).strip():
                parts.append(self.expr(child))
        return ir.Other(span_of(node), "jsx_element", tuple(parts))

    def _attribute(self, node: Node, kind: str) -> ir.Entry:
        span = span_of(node)
        if kind != "jsx_attribute":
            inner = self.other(node, kind)
            value = inner.parts[0] if len(inner.parts) == 1 else inner
            return ir.Entry(span, None, value, span)
        named = node.named_children()
        key = self._name(named[0])
        given = [child for child in named[1:] if child.kind() != "comment"]
        if not given:
            return ir.Entry(span, key.name, ir.Literal(span, True, key.name), key.span)
        if given[0].kind() == "jsx_expression":
            inner = self.other(given[0], "jsx_expression")
            return ir.Entry(span, key.name, inner.parts[0] if len(inner.parts) == 1 else inner, key.span)
        if given[0].kind() == "string":
            text = self.text(given[0])
            # Attribute strings know no escapes.
            return ir.Entry(span, key.name, ir.Literal(span_of(given[0]), text[1:-1], text), key.span)
        return ir.Entry(span, key.name, self.expr(given[0]), key.span)


def _is_text(value: ir.Expr) -> bool:
    return isinstance(value, ir.Template) or (isinstance(value, ir.Literal) and isinstance(value.value, str))
