"""Add a property to an options object of JavaScript, or an options object to a call.

Contract: as in `javascript_edit`. The object keeps its shape: one line or many, trailing comma or none, its comments.
This module must not know of rules, findings or files.
"""

from __future__ import annotations

import re

from fixaudit.source import ir
from fixaudit.source.javascript_edit import node_at
from fixaudit.source.javascript_style import style, tree_of
from fixaudit.syntax import Node, span_of
from fixaudit.text import Edit, Text, indent_of


def add_option(
    text: Text, module: ir.Module, span: ir.Span, key: str, code: str, *, argument: int = 0
) -> tuple[Edit, ...] | None:
    """Add `key: code` to the object literal with this span, or to the given argument of the call with this span.

    A call that ends before that argument gets it as its last one. No edit when the key is there with this very code.
    None when the key has another value, when a spread or computed key may bring it, or when the argument is no object
    literal.
    """
    node = node_at(tree_of(text.content, module.language).root, span)
    while node.kind() in ("parenthesized_expression", "arguments") and span_of(node) != span:
        node = node.parent()
    chosen = node if span_of(node) == span else None
    # A call, its callee's bracket and an await may share a start, but only one node is as wide.
    if chosen is None:
        return None
    own = style(text, module)
    name = key if re.fullmatch(r"[A-Za-z_$][\w$]*", key) else own.string(key)
    option = key if code == key and name == key else f"{name}: {code}"
    if chosen.kind() == "object":
        return _into_object(text, chosen, key, option, code)
    given = chosen.field("arguments")
    if given is None and chosen.kind() == "new_expression":
        return (Edit(span[1], span[1], "", f"({{ {option} }})"),) if argument == 0 else None
    if given is None or given.kind() != "arguments":
        return None
    values = [child for child in given.named_children() if child.kind() != "comment"]
    if any(child.kind() == "spread_element" for child in values[: argument + 1]):
        return None
    if len(values) > argument:
        inner = values[argument]
        while inner.kind() in ("parenthesized_expression", "as_expression", "satisfies_expression"):
            inner = inner.named_children()[0]
        return _into_object(text, inner, key, option, code) if inner.kind() == "object" else None
    if len(values) < argument:
        return None
    return _new_argument(text, given, values, f"{{ {option} }}")


def _new_argument(text: Text, given: Node, values: list[Node], code: str) -> tuple[Edit, ...] | None:
    start, end = span_of(given)
    if not values:
        if "//" in text.content[start:end]:
            return None
        return (Edit(end - 1, end - 1, "", code),)
    last = span_of(values[-1])[1]
    if "," in re.sub(r"/\*.*?\*/|//[^\n]*", "", text.content[last : end - 1], flags=re.S):
        comma = text.content.index(",", last) + 1
        return (Edit(comma, comma, "", f" {code},"),)
    return (Edit(last, last, "", f", {code}"),)


def _into_object(text: Text, node: Node, key: str, option: str, code: str) -> tuple[Edit, ...] | None:
    start, end = span_of(node)
    content = text.content
    properties = [child for child in node.named_children() if child.kind() != "comment"]
    for child in properties:
        if child.kind() in ("spread_element", "ERROR"):
            return None
        name = child.field("key") or child.field("name") or child
        if name.kind() == "computed_property_name":
            return None
        if content[slice(*span_of(name))].strip("\"'") == key:
            value = child.field("value")
            same = content[slice(*span_of(value))] == code if value is not None else code == key
            return () if same and child.kind() != "method_definition" else None
    if not properties:
        inner = content[start + 1 : end - 1]
        if not inner.strip():
            return (Edit(start, end, content[start:end], f"{{ {option} }}"),)
        # Only comments: they stay, the option goes on a line of its own behind them.
        indent = indent_of(content, end - 1, text.lines)
        gap = len(inner) - len(inner.rstrip())
        edit_start = end - 1 - gap
        return (
            Edit(
                edit_start,
                end - 1,
                content[edit_start : end - 1],
                f"{text.newline}{indent}  {option}{text.newline}{indent}",
            ),
        )
    first, last = span_of(properties[0]), span_of(properties[-1])
    comma = _comma_after(node, last[1])
    if "\n" not in content[start : first[0]]:
        place = last[1] if comma is None else comma
        return (Edit(place, place, "", f", {option}" if comma is None else f" {option},"),)
    indent = indent_of(content, last[0], text.lines)
    ended = last[1] if comma is None else comma
    line_end = _behind_comments(node, text, ended)
    if line_end is None:
        line_end = ended
    added = Edit(line_end, line_end, "", f"{text.newline}{indent}{option}" + ("" if comma is None else ","))
    return (added,) if comma is not None else _with_comma(last[1], added)


def _with_comma(place: int, added: Edit) -> tuple[Edit, ...]:
    if added.start == place:
        return (Edit(place, place, "", "," + added.replacement),)
    return (Edit(place, place, "", ","), added)


def _comma_after(node: Node, last: int) -> int | None:
    """Return the offset behind the comma that follows the last property."""
    for child in node.children():
        start, end = span_of(child)
        if start >= last and child.kind() == ",":
            return end
    return None


def _behind_comments(node: Node, text: Text, end: int) -> int | None:
    """Return the end of the comments that follow on the same line."""
    found = None
    for child in node.children():
        start, stop = span_of(child)
        if start >= end and child.kind() == "comment" and "\n" not in text.content[end:start]:
            found = end = stop
    return found
