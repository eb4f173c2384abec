"""Composite values of JavaScript: objects, arrays, JSX, and functions and classes that stand inside expressions.

Contract: an entry whose key is not known has the key None and a value that says why: a "spread_element", or a "pair"
that holds the computed key and the value. A getter or setter is an "accessor", because reading the key does not yield
the function. A JSX element is a "jsx_element": its tag (none for a fragment), its attributes as one Object, its
children.
This module must not know of statements, imports or exports; functions and classes are read by a subclass.
"""

from __future__ import annotations

from fixaudit.source import ir
from fixaudit.source.javascript_expressions import ExpressionReader
from fixaudit.source.javascript_leaves import TYPES
from fixaudit.source.javascript_literals import number
from fixaudit.syntax import Node, span_of


class CompositeReader(ExpressionReader):
    """Add composite values to expressions."""

    def __init__(self, content: str) -> None:
        super().__init__(content)
        self._readers.update(
            {
                "object": self._object,
                "array": self._array,
                "function_expression": self._function,
                "generator_function": self._function,
                "arrow_function": self._function,
                "class": self._class,
                "jsx_element": self._jsx,
                "jsx_self_closing_element": self._jsx,
                "jsx_text": lambda node: self._piece(node, self.content[slice(*span_of(node))]),
            }
        )

    def read_function(self, node: Node) -> int:
        """Read a function and return its index."""
        raise NotImplementedError

    def read_class(self, node: Node) -> int:
        """Read a class and return its index."""
        raise NotImplementedError

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
