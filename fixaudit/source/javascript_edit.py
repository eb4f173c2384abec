"""Edits of JavaScript and TypeScript statements and options, as values.

Contract: (text, module, spans) in, edits out; None means that the place cannot be edited without changing what the
program does or losing a comment, and the caller refuses. Code is given with ``\\n`` and takes the file's line ending
and the anchor's indentation; every edit keeps the rest of the file byte for byte.
This module must not know of rules, findings or files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from fixaudit.source import ir
from fixaudit.source.javascript_style import tree_of
from fixaudit.syntax import Node, span_of
from fixaudit.text import Edit, Text, indent_of

CONTAINERS = ("program", "statement_block", "switch_case", "switch_default", "class_static_block")
_HEADER_WORDS = ("license", "licence", "copyright", "spdx-", "@preserve", "@ts-check", "@ts-nocheck", "@jsx", "@flow")
_HAZARDS = "([`+-/*.,"
"""A statement that starts so continues the line before when that has no semicolon."""
_COMMENTS = re.compile(r"\A(?:\s|//[^\n]*(?:\n|\Z)|/\*.*?\*/)*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Place:
    """A statement and the function that holds it (None: module level)."""

    statement: ir.Statement
    function: int | None


def statement_at(module: ir.Module, span: ir.Span) -> Place | None:
    """Return the innermost statement that holds a span: a class field and a condition count as one."""
    best: Place | None = None
    bodies: list[tuple[int | None, tuple[ir.Statement, ...]]] = [(None, module.body)]
    bodies += [(definition.parent, definition.fields) for definition in module.classes]
    bodies += list(enumerate(function.body for function in module.functions))
    for index, body in bodies:
        for statement in body:
            if statement.span[0] <= span[0] and span[1] <= statement.span[1]:
                if best is None or _width(statement.span) <= _width(best.statement.span):
                    best = Place(statement, index)
    return best


def _width(span: ir.Span) -> int:
    return span[1] - span[0]


# Looking around ------------------------------------------------------------------------------------------------------


def node_at(root: Node, span: ir.Span) -> Node:
    """Return the smallest node that holds a span."""
    node = root
    while True:
        for child in node.children():
            start, end = span_of(child)
            if start <= span[0] and span[1] <= end:
                node = child
                break
        else:
            return node


def _statement_node(text: Text, module: ir.Module, span: ir.Span) -> Node | None:
    """Return the statement that holds a span and stands in a list of statements.

    None where a second statement cannot stand: the body of an `if` without braces, an arrow function's expression,
    a class body.
    """
    node = node_at(tree_of(text.content, module.language).root, span)
    while (parent := node.parent()) is not None:
        if parent.kind() in CONTAINERS and node.kind() != "comment":
            return None if parent.kind() == "switch_case" and _is_label(parent, node) else node
        body = parent.field("body") or (parent.field("consequence") if parent.kind() == "if_statement" else None)
        if body is not None and span_of(body) == span_of(node) and node.kind() != "statement_block":
            if parent.kind() != "class_static_block":
                return None
        if parent.kind() == "else_clause" and node.kind() != "statement_block":
            return None
        node = parent
    return None


def _is_label(case: Node, node: Node) -> bool:
    label = case.field("value")
    return label is not None and span_of(label) == span_of(node)


def _siblings(node: Node) -> Iterator[Node]:
    parent = node.parent()
    for child in parent.named_children() if parent is not None else ():
        if child.kind() != "comment":
            yield child


def _starts_line(text: Text, offset: int) -> bool:
    return not text.content[text.lines.line_start(offset) : offset].strip()


def _with_comments(text: Text, module: ir.Module, start: int) -> int:
    """Return where the block of own-line comments directly above a statement starts."""
    first_line = text.lines.position(start)[0]
    for comment in reversed(module.comments):
        if comment.span[1] > start:
            continue
        attached = comment.own_line and text.lines.position(comment.span[1])[0] == first_line - 1
        if not attached or is_header(comment):
            break
        if text.content[comment.span[1] : text.lines.line_end(comment.span[1])].strip():
            break
        start = comment.span[0]
        first_line = text.lines.position(start)[0]
    return start


def _after_trailing(text: Text, module: ir.Module, end: int) -> int:
    """Return the end of what belongs to a statement's last line: its trailing comments."""
    for comment in module.comments:
        if comment.span[0] < end:
            continue
        between = text.content[end : comment.span[0]]
        if between.strip() or "\n" in between:
            break
        end = comment.span[1]
    return end


def is_header(comment: ir.Comment) -> bool:
    """Say whether a comment speaks of the file and not of the statement below it."""
    text = comment.text.lower()
    return text.startswith(("/*!", "/* eslint", "///")) or any(word in text for word in _HEADER_WORDS)


def _indented(code: str, indent: str, newline: str) -> str:
    return newline.join(indent + line if line.strip() else "" for line in code.split("\n"))


def _own_end(text: Text, end: int) -> int:
    """Return a statement's end without a semicolon that guards the next line (`a` and below it `;(b)()`)."""
    body = text.content[:end].removesuffix(";")
    kept = len(body.rstrip())
    return kept if kept < len(body) and "\n" in body[kept:] and len(body) < end else end


def _previous_is_open(text: Text, node: Node | None) -> bool:
    """Say whether a statement has no semicolon, so that the next one could run into it."""
    return node is not None and text.content[span_of(node)[1] - 1] not in ";}"


# Statements ----------------------------------------------------------------------------------------------------------


def insert_statement(text: Text, module: ir.Module, anchor: ir.Span, where: str, code: str) -> tuple[Edit, ...] | None:
    """Insert statements "before" or "after" the one that holds `anchor`.

    Comments directly above the anchor stay with it, and so does a comment behind it on its line. None where no second
    statement can stand, and after a `return`, `throw`, `break` or `continue`, where the code would never run.
    """
    node = _statement_node(text, module, anchor)
    if node is None:
        return None
    siblings = list(_siblings(node))
    index = next(i for i, sibling in enumerate(siblings) if span_of(sibling) == span_of(node))
    start, whole = span_of(node)
    end = _own_end(text, whole)
    code = code.strip("\n")
    following = node if where == "before" else (siblings[index + 1] if index + 1 < len(siblings) else None)
    preceding = (siblings[index - 1] if index else None) if where == "before" else node
    guarded = where == "after" and end < whole
    if (
        following is not None
        and not guarded
        and code[-1:] not in ";}"
        and text.content[span_of(following)[0]] in _HAZARDS
    ):
        code += ";"
    if _COMMENTS.sub("", code, count=1)[:1] in _HAZARDS and _previous_is_open(text, preceding):
        code = ";" + code
    indent = indent_of(text.content, start, text.lines)
    if where == "after":
        if node.kind() in ("return_statement", "throw_statement", "break_statement", "continue_statement"):
            return None
        return (_after(text, module, end, code, indent),)
    if _starts_line(text, start):
        place = text.lines.line_start(_with_comments(text, module, start))
        return (Edit(place, place, "", _indented(code, indent, text.newline) + text.newline),)
    if "\n" not in code and "//" not in code:
        ended = code if code[-1:] in ";}" else code + ";"
        return (Edit(start, start, "", ended + " "),)
    lines = text.newline + _indented(code, indent, text.newline) + text.newline + indent
    return (Edit(start, start, "", lines),)


def _after(text: Text, module: ir.Module, end: int, code: str, indent: str) -> Edit:
    place = _after_trailing(text, module, end)
    rest = text.content[place : text.lines.line_end(place)]
    if not rest.strip():
        return Edit(place, place, "", text.newline + _indented(code, indent, text.newline))
    # Something else follows on the line.
    if "\n" not in code and "//" not in code:
        lead = "" if text.content[end - 1] in ";}" else ";"
        tail = code if code[-1:] in ";}" or rest.lstrip().startswith("}") else code + ";"
        return Edit(end, end, "", f"{lead} {tail}")
    return Edit(place, place, "", text.newline + _indented(code, indent, text.newline) + text.newline + indent)


def remove_statement(text: Text, module: ir.Module, span: ir.Span) -> tuple[Edit, ...] | None:
    """Remove the statement with exactly this span, and its line when nothing else stands there.

    None when a comment inside it or behind it would be lost, when one declaration of several shares the span, or when
    the statements around it would run into each other.
    """
    node = _exact(text, module, span)
    if node is None or _shared(module, span) or _comments_in(module, span):
        return None
    if _after_trailing(text, module, span[1]) != span[1] or not _may_close(text, node):
        return None
    start, end = span
    if _starts_line(text, start) and not text.content[end : text.lines.line_end(end)].strip():
        start, end = text.lines.line_start(start), text.lines.next_line(end)
        before = text.content[:start].rstrip(" \t\r\n")
        blank_above = text.content[len(before) : start].count("\n") > 1
        below = text.content[end:]
        blank_below = not below.strip() or not below.split("\n", 1)[0].strip() or below.lstrip().startswith("}")
        if start == 0:
            while end < len(text.content) and text.content[end] in "\r\n":
                end += 1
        elif blank_above and blank_below and before:
            start = text.lines.next_line(len(before))
    else:
        while end < len(text.content) and text.content[end] in " \t":
            end += 1
    return (Edit(start, end, text.content[start:end], ""),)


def _exact(text: Text, module: ir.Module, span: ir.Span) -> Node | None:
    node = _statement_node(text, module, span)
    return node if node is not None and span_of(node) == span and _own_end(text, span[1]) == span[1] else None


def _shared(module: ir.Module, span: ir.Span) -> bool:
    place = statement_at(module, span)
    if place is None or place.statement.kind != "declare":
        return False
    body = module.body if place.function is None else module.functions[place.function].body
    return sum(statement.span == span for statement in body) > 1


def _comments_in(module: ir.Module, span: ir.Span) -> bool:
    return any(span[0] <= comment.span[0] < span[1] for comment in module.comments)


def _may_close(text: Text, node: Node) -> bool:
    """Say whether the neighbours of a statement stay apart without it."""
    siblings = list(_siblings(node))
    index = next(i for i, sibling in enumerate(siblings) if span_of(sibling) == span_of(node))
    if index == 0 or index + 1 == len(siblings):
        return True
    hazard = text.content[span_of(siblings[index + 1])[0]] in _HAZARDS
    return not (hazard and _previous_is_open(text, siblings[index - 1]))


def move_statement(text: Text, module: ir.Module, span: ir.Span, after: ir.Span) -> tuple[Edit, ...] | None:
    """Move a statement, with the comments above and behind it, to the place behind another one of the same block.

    None when it is not alone on its lines, when something between the two places declares, assigns or uses a name
    that would change its turn, or leaves the block. No edit when it stands there already.
    """
    node, goal = _exact(text, module, span), _statement_node(text, module, after)
    if node is None or goal is None or _shared(module, span):
        return None
    siblings = list(_siblings(node))
    spans = [span_of(sibling) for sibling in siblings]
    if span_of(goal) not in spans:
        return None
    here, there = spans.index(span), spans.index(span_of(goal))
    if here == there or here == there + 1:
        return ()
    down = there > here
    between = siblings[here + 1 : there + 1] if down else siblings[there + 1 : here]
    if not _may_pass(module, node, between, down=down) or not _may_close(text, node):
        return None
    first = _with_comments(text, module, span[0])
    last = _after_trailing(text, module, span[1])
    if not _starts_line(text, span[0]) or text.content[last : text.lines.line_end(last)].strip():
        return None
    start, end = text.lines.line_start(first), text.lines.next_line(last)
    block = text.content[start:last]
    place = _after_trailing(text, module, span_of(goal)[1])
    if text.content[place : text.lines.line_end(place)].strip():
        return None
    ahead = siblings[there + 1] if there + 1 < len(siblings) else None
    if text.content[span[0]] in _HAZARDS and _previous_is_open(text, goal):
        return None
    if ahead is not None and text.content[span_of(ahead)[0]] in _HAZARDS and _previous_is_open(text, node):
        return None
    # A blank line that stood around the statement stays where it is needed once.
    before = text.content[:start]
    if before.endswith(("\n\n", "\r\n\r\n")) and text.content[end : end + 2].startswith(("\n", "\r\n")):
        end = text.lines.next_line(end)
    removal = Edit(start, end, text.content[start:end], "")
    return tuple(sorted((removal, Edit(place, place, "", text.newline + block))))


def _may_pass(module: ir.Module, node: Node, between: list[Node], *, down: bool) -> bool:
    uses, binds = _names(node), _bound(module, span_of(node))
    for other in between:
        if other.kind() in ("return_statement", "throw_statement", "break_statement", "continue_statement"):
            return False
        others = _bound(module, span_of(other))
        if down and binds & _names(other):
            return False
        # Moving up: what the statement uses is declared in between. Moving down: what it uses is given a new value.
        if uses & (others if not down else _assigned(module, span_of(other))):
            return False
    return True


def _names(node: Node) -> set[str]:
    found: set[str] = set()
    stack = [node]
    while stack:
        current = stack.pop()
        if current.kind() in ("identifier", "shorthand_property_identifier"):
            found.add(current.text())
        stack.extend(current.named_children())
    return found


def _bound(module: ir.Module, span: ir.Span) -> set[str]:
    """Return the names that a statement declares for the ones behind it; functions and imports are there before."""
    found: set[str] = set()
    for statement in _bodies(module):
        if span[0] <= statement.span[0] and statement.span[1] <= span[1]:
            if statement.kind in ("declare", "assign", "augment"):
                found.update(target.name for target in statement.targets if target.name)
            elif statement.kind == "class" and statement.index is not None:
                found.add(module.classes[statement.index].name or "")
    return found


def _assigned(module: ir.Module, span: ir.Span) -> set[str]:
    return {
        target.name
        for statement in _bodies(module)
        if span[0] <= statement.span[0] and statement.span[1] <= span[1] and statement.kind in ("assign", "augment")
        for target in statement.targets
        if target.name
    }


def _bodies(module: ir.Module) -> Iterator[ir.Statement]:
    yield from module.body
    for function in module.functions:
        yield from function.body
