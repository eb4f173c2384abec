"""Minimal edits of TOML texts: one item of an array or one key of a table more, or another scalar.

Contract: comments, order, quotes, indent and trailing commas stay. Every edit is proved: the edited text must read as
the old data plus exactly the change asked for, or the edit is refused. Asking again gives no edit.
This module must not know what a key means.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from fixaudit.formats.jsonedit import sorted_index
from fixaudit.formats.problem import Edits, Problem, insertion
from fixaudit.formats.toml import Document, Entry, Value, parse
from fixaudit.text import Edit, Text, indent_of

_BARE = re.compile(r"[A-Za-z0-9_-]+\Z")


def add_item(
    text: Text, path: Sequence[str], item: str, *, same: Callable[[str], bool] | None = None, sorted_like: bool = True
) -> Edits:
    """Add a string to the array at `path`; the array, and its table, are made when they are missing.

    No edit when an item equals it, or when `same` holds for one. The item goes to its sorted place when the array was
    sorted, else to the end, and takes the quotes of its neighbours.
    """
    document = parse(text.content)
    if isinstance(document, Problem):
        return document
    values = document.get(path)
    if values is None:
        return set_value(text, path, [item], sorted_like=False)
    entry = document.entry(path)
    if not isinstance(values, list) or entry is None or entry.value.kind != "array":
        return Problem(entry.line if entry else 1, f"{'.'.join(path)} is no array")
    if any(isinstance(value, str) and (value == item or (same is not None and same(value))) for value in values):
        return ()
    index = len(values)
    if sorted_like and all(isinstance(value, str) for value in values):
        index = sorted_index(values, item)
    array = entry.value
    quote = "'" if array.items and text.content[array.items[0].span[0]] == "'" and "'" not in item else '"'
    edits = _insert_item(text, entry, index, _string(item, quote))
    expected = copy.deepcopy(document.data)
    _put(expected, path, [*values[:index], item, *values[index:]])
    return _proved(text, edits, expected, entry.line)


def set_value(text: Text, path: Sequence[str], value: Any, *, sorted_like: bool = True) -> Edits:
    """Make `path` hold a string, number, boolean, list or flat table; a missing table is made behind its relatives.

    An existing scalar is replaced alone. A new key goes to its sorted place when the table's keys were sorted, else
    behind its last one. Refuses to overwrite an array or table that holds something else.
    """
    document = parse(text.content)
    if isinstance(document, Problem):
        return document
    existing = document.get(path)
    if existing is not None and existing == value and type(existing) is type(value):
        return ()
    expected = copy.deepcopy(document.data)
    if not _put(expected, path, value):
        return Problem(1, f"{'.'.join(path[:-1])} is no table")
    entry = document.entry(path)
    if entry is not None:
        if existing and isinstance(existing, list | dict):
            return Problem(entry.line, f"{'.'.join(path)} already holds something else")
        start, end = entry.value.span
        return _proved(text, (Edit(start, end, text.content[start:end], render(value)),), expected, entry.line)
    if existing is not None:
        return Problem(1, f"{'.'.join(path)} is a table")
    edits = _insert_key(text, document, tuple(path[:-1]), path[-1], value, sorted_like)
    return (
        edits if isinstance(edits, Problem) else _proved(text, edits, expected, text.lines.position(edits[0].start)[0])
    )


def render(value: Any) -> str:
    """Write a value on one line; raises TypeError for what TOML cannot hold."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return _string(value, '"')
    if isinstance(value, list):
        return "[" + ", ".join(map(render, value)) + "]"
    if isinstance(value, dict):
        return (
            "{ " + ", ".join(f"{_key(key)} = {render(item)}" for key, item in value.items()) + " }" if value else "{}"
        )
    raise TypeError(f"{type(value).__name__} cannot be written as TOML")


def _insert_item(text: Text, entry: Entry, index: int, written: str) -> tuple[Edit, ...]:
    content, array = text.content, entry.value
    start, closing = array.span[0] + 1, array.span[1] - 1
    items, commas = array.items, array.commas
    own = indent_of(content, array.span[0], text.lines)
    if not items:
        inner = content[start:closing]
        if not inner.strip() and not any(mark in inner for mark in "\r\n"):
            return (Edit(start, closing, inner, written),)
        end = start + len(inner.rstrip())
        return (Edit(end, closing, content[end:closing], f"{text.newline}{own}    {written},{text.newline}{own}"),)
    broken = any(mark in content[start : items[0].span[0]] for mark in "\r\n") or (
        len(items) > 1 and any(mark in content[items[0].span[1] : items[1].span[0]] for mark in "\r\n")
    )
    line = text.newline + indent_of(content, items[0].span[0], text.lines)
    if not broken:
        if index < len(items):
            return (insertion(items[index].span[0], f"{written}, "),)
        comma = commas[-1]
        return (
            insertion(items[-1].span[1], f", {written}") if comma is None else insertion(comma + 1, f" {written},"),
        )
    if index < len(items):
        place = _line_end_or(text, commas[index - 1] if index else start - 1, items[index])
        return (insertion(place, f"{line}{written},"),)
    comma, end = commas[-1], items[-1].span[1]
    if comma is not None:
        return (insertion(min(text.lines.line_end(comma), closing), f"{line}{written},"),)
    line_end = min(text.lines.line_end(end), closing)
    if line_end in (end, closing):
        return (insertion(end, f",{line}{written}"),)
    return (insertion(end, ","), insertion(line_end, f"{line}{written}"))


def _line_end_or(text: Text, offset: int | None, following: Value) -> int:
    """Return the end of the line at `offset` (its comment stays with it), or the place just behind it."""
    at = offset or 0
    end = text.lines.line_end(at)
    return end if end <= following.span[0] else at + 1


def _insert_key(
    text: Text, document: Document, parent: tuple[str, ...], key: str, value: Any, sorted_like: bool
) -> tuple[Edit, ...] | Problem:
    content, newline = text.content, text.newline
    written = f"{_key(key)} = {render(value)}"
    for length in range(len(parent), 0, -1):
        holder = document.entry(parent[:length])
        if holder is not None and holder.value.kind != "table":
            return Problem(holder.line, f"{'.'.join(parent[:length])} is no table")
        if holder is not None:
            for name in reversed([*parent[length:], key][1:]):
                value = {name: value}
            return _insert_inline(text, holder.value, f"{_key([*parent, key][length])} = {render(value)}")
    table = document.table(parent)
    children = [entry for entry in document.entries if entry.path[:-1] == parent]
    if table is None and children:  # written with dotted keys in a table above
        last = children[-1]
        prefix = content[last.key_span[0] : last.key_span[1]].rpartition(".")[0]
        return (insertion(text.lines.line_end(last.value.span[1]), f"{newline}{prefix}.{written}"),)
    if table is None:
        return _new_table(text, document, parent, written)
    if not children:
        if not parent:
            rest = newline if document.tables[1:] else ""
            start = document.tables[1].span[0] if document.tables[1:] else len(content)
            lead = "" if not content[:start] or content[:start].endswith("\n") else newline
            return (insertion(start, f"{lead}{written}{newline}{rest}"),)
        return (insertion(text.lines.line_end(table.end), f"{newline}{written}"),)
    simple = [entry for entry in children if entry.path[-1] != "python"]  # Poetry keeps `python` first
    keys = [entry.path[-1] for entry in simple]
    index = sorted_index(keys, key) if sorted_like else len(keys)
    indent = indent_of(content, children[0].key_span[0], text.lines)
    above = simple[index - 1] if index else next((entry for entry in children if entry not in simple), None)
    if index == len(keys):
        above = max(children, key=lambda entry: entry.value.span)
    if above is None:
        return (insertion(simple[0].key_span[0], f"{written}{newline}{indent}"),)
    return (insertion(text.lines.line_end(above.value.span[1]), f"{newline}{indent}{written}"),)


def _insert_inline(text: Text, table: Value, written: str) -> tuple[Edit, ...]:
    start, end = table.span
    if not table.entries:
        return (Edit(start, end, text.content[start:end], f"{{ {written} }}"),)
    return (insertion(table.entries[-1].value.span[1], f", {written}"),)


def _new_table(text: Text, document: Document, path: tuple[str, ...], written: str) -> tuple[Edit, ...]:
    """Put `[path]` behind the last table that shares its longest prefix, else at the end of the file."""
    newline = text.newline
    block = f"[{'.'.join(map(_key, path))}]{newline}{written}"
    for length in range(len(path) - 1, 0, -1):
        relatives = [table for table in document.tables[1:] if table.path[:length] == path[:length]]
        if relatives:
            place = text.lines.line_end(relatives[-1].end)
            if text.content[place:].strip():
                return (insertion(place, f"{newline}{newline}{block}"),)
            break
    content = text.content
    lead = "" if not content else newline if content.endswith("\n") else newline * 2
    return (insertion(len(content), f"{lead}{block}{newline}"),)


def _put(data: dict[str, Any], path: Sequence[str], value: Any) -> bool:
    node: Any = data
    for key in path[:-1]:
        if isinstance(node, list) and key.isdecimal() and int(key) < len(node):
            node = node[int(key)]
        elif isinstance(node, dict):
            node = node.setdefault(key, {})
        else:
            return False
    if not isinstance(node, dict):
        return False
    node[path[-1]] = value
    return True


def _proved(text: Text, edits: tuple[Edit, ...], expected: dict[str, Any], line: int) -> Edits:
    after = parse(text.apply(edits).content)
    if isinstance(after, Problem) or repr(_ordered(after.data)) != repr(_ordered(expected)):
        return Problem(line, "the change cannot be made without changing something else")
    return edits


def _ordered(value: Any) -> Any:
    """Make dictionaries comparable by `repr`, which also tells 1 from True and nan from nothing."""
    if isinstance(value, dict):
        return [(key, _ordered(value[key])) for key in sorted(value)]
    return [_ordered(item) for item in value] if isinstance(value, list) else value


def _key(key: str) -> str:
    return key if _BARE.match(key) else _string(key, '"')


def _string(value: str, quote: str) -> str:
    if quote == "'" and not re.search(r"['\x00-\x08\x0a-\x1f\x7f]", value):
        return f"'{value}'"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
