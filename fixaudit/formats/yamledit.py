"""Minimal edits of YAML texts: whole lines added at a computed place, and one scalar replaced.

Contract: YAML is edited as text; nothing is ever loaded and dumped, so no comment, quote, indent or long line changes
(U15, U17). After an edit every scalar that was there reads as before, or the edit is refused.
This module must not know what a key means.
"""

from __future__ import annotations

from collections.abc import Sequence

from fixaudit.formats import yaml
from fixaudit.formats.problem import Edits, Problem, insertion
from fixaudit.text import Edit, Text, indent_of


def insert_entry(
    text: Text,
    path: Sequence[str | int],
    lines: Sequence[str],
    *,
    after: Sequence[str] = (),
    before: Sequence[str] = (),
    document: int = 0,
) -> Edits:
    """Add one entry to the mapping at `path` (empty for the top level).

    `lines` is the entry as it would stand at the left margin, two spaces for each level below (`permissions:`,
    `  contents: read`); it takes the file's own step of indent. The entry goes behind the first key of `after` that is
    there, else in front of the first of `before`, else to the end. A blank line separates it when the keys there are
    separated by blank lines. No edit when the mapping has the key. Refuses flow mappings (`{a: b}`).
    """
    roots = yaml.parse(text.content)
    if isinstance(roots, Problem):
        return roots
    if document >= len(roots):
        return Problem(1, "the file holds no such document")
    mapping = yaml.get(roots[document], path)
    where = ".".join(map(str, path)) or "the document"
    if not isinstance(mapping, yaml.Mapping) or not mapping.pairs:
        return Problem(1, f"{where} is no mapping")
    if mapping.flow:
        line = text.lines.position(mapping.span[0])[0]
        return Problem(line, f"{where} is written in braces, so no line can be added")
    key = lines[0].partition(":")[0].strip().strip("'\"")
    if mapping.key(key) is not None:
        return ()
    first = mapping.pairs[0][0]
    column = text.lines.position(first.span[0])[1] - 1
    own_indent = indent_of(text.content, first.span[0], text.lines)
    indent = own_indent if len(own_indent) == column else " " * column
    step = _step(text, roots[document])
    written = [indent + _reindent(line, step) if line else "" for line in lines]
    keys = [name.text if isinstance(name, yaml.Scalar) else "" for name, _ in mapping.pairs]
    number = next((keys.index(name) for name in after if name in keys), None)
    if number is None:
        number = next((keys.index(name) - 1 for name in before if name in keys), len(keys) - 1)
    if number < 0:
        edits = _above(text, mapping, written)
    else:
        edits = _below(text, mapping, number, written)
    return _checked(text, edits, document, (*path, key))


def replace_scalar(text: Text, span: yaml.Span, written: str) -> Edits:
    """Put `written` (quoted by the caller where needed) in a scalar's place; refuses to change any other value."""
    old = text.content[slice(*span)]
    if old == written:
        return ()
    edits = (Edit(span[0], span[1], old, written),)
    before, after = yaml.scalars(text.content), yaml.scalars(text.apply(edits).content)
    line = text.lines.position(span[0])[0]
    if isinstance(before, Problem) or isinstance(after, Problem):
        return before if isinstance(before, Problem) else Problem(line, "the text would no longer be YAML")
    same = [row.path for row in before] == [row.path for row in after]
    changed = [old_row for old_row, row in zip(before, after) if old_row.text != row.text]
    if not same or any(row.span != span for row in changed):
        return Problem(line, "another value would change")
    return edits


def _below(text: Text, mapping: yaml.Mapping, number: int, written: Sequence[str]) -> tuple[Edit, ...]:
    """Insert behind the last line of an entry, before the blank and comment lines that belong to the next one."""
    content, index = text.content, text.lines
    start = mapping.pairs[number][0].span[0]
    end = _end(mapping.pairs[number])
    separated = _is_separated(text, mapping)
    lead = [""] if separated else []
    column = index.position(start)[1] - 1
    if content[:end].endswith(("\n", "\r")):  # a block scalar: its end is the start of the next line
        kept = content[:end]
        if _keeps_blank_lines(text, mapping.pairs[number]):
            place = end
            lead = []
        else:
            place = index.line_start(len(kept.rstrip()))
            place = index.next_line(place)
        inserted = "".join(line + text.newline for line in [*lead, *written])
        return (insertion(place, inserted),)
    place = index.line_end(end)
    while (following := index.next_line(place)) < len(content):
        # A comment deeper than the key still belongs to the entry above (a commented-out item).
        line_end = index.line_end(following)
        line = content[following:line_end]
        if not line.strip().startswith("#") or len(line) - len(line.lstrip()) <= column:
            break
        place = line_end
    return (insertion(place, "".join(text.newline + line for line in [*lead, *written])),)


def _above(text: Text, mapping: yaml.Mapping, written: Sequence[str]) -> tuple[Edit, ...]:
    """Insert in front of the first entry; on `- key:` lines the new entry takes the place behind the dash."""
    first = mapping.pairs[0][0].span[0]
    line_start = text.lines.line_start(first)
    trail = [""] if _is_separated(text, mapping) else []
    if text.content[line_start:first].strip():
        indent = " " * (first - line_start)
        head = written[0].strip()
        rest = "".join(line + text.newline for line in [*written[1:], *trail])
        return (insertion(first, f"{head}{text.newline}{rest}{indent}"),)
    return (insertion(line_start, "".join(line + text.newline for line in [*written, *trail])),)


def _end(pair: tuple[yaml.Node, yaml.Node]) -> int:
    """Return where the text of an entry really ends: the end marks of block collections lie on the next token."""
    node: yaml.Node = pair[1]
    while True:
        if isinstance(node, yaml.Mapping) and not node.flow and node.pairs:
            node = _last_written(node.pairs[-1])
        elif isinstance(node, yaml.Items) and not node.flow and node.items:
            node = node.items[-1]
        else:
            return max(node.span[1], pair[0].span[1])


def _last_written(pair: tuple[yaml.Node, yaml.Node]) -> yaml.Node:
    """An empty value (`key:`) is marked somewhere behind the colon; the key's own end is certain."""
    key, value = pair
    return key if isinstance(value, yaml.Scalar) and value.plain and not value.text else value


def _keeps_blank_lines(text: Text, pair: tuple[yaml.Node, yaml.Node]) -> bool:
    """Whether the entry ends with a block scalar to which trailing blank lines belong (`|+`)."""
    end = _end(pair)
    node: yaml.Node = pair[1]
    while not isinstance(node, yaml.Scalar):
        if isinstance(node, yaml.Mapping) and node.pairs and not node.flow:
            node = node.pairs[-1][1]
        elif isinstance(node, yaml.Items) and node.items and not node.flow:
            node = node.items[-1]
        else:
            return False
    header = text.content[node.span[0] : min(end, text.lines.line_end(node.span[0]))]
    return "+" in header.partition("#")[0]


def _is_separated(text: Text, mapping: yaml.Mapping) -> bool:
    """Whether blank lines stand between the entries: in most of the gaps, and at least in one."""
    ends = [len(text.content[: _end(pair)].rstrip()) for pair in mapping.pairs]
    gaps = [text.content[end : pair[0].span[0]] for end, pair in zip(ends, mapping.pairs[1:])]
    blank = [any(not line.strip() for line in gap.split("\n")[1:-1]) for gap in gaps]
    return sum(blank) * 2 > len(blank)


def _step(text: Text, root: yaml.Node) -> str:
    """Return one level of indent: what the first nested block mapping has more than its parent; two spaces else."""
    stack: list[yaml.Node] = [root]
    while stack:
        node = stack.pop(0)
        if isinstance(node, yaml.Mapping) and not node.flow:
            column = text.lines.position(node.span[0])[1]
            for _, value in node.pairs:
                if isinstance(value, yaml.Mapping) and not value.flow and value.pairs:
                    inner = text.lines.position(value.pairs[0][0].span[0])[1]
                    outer = text.lines.position(node.pairs[0][0].span[0])[1] if node.pairs else column
                    if inner > outer:
                        return " " * (inner - outer)
                stack.append(value)
        elif isinstance(node, yaml.Items):
            stack.extend(node.items)
    return "  "


def _reindent(line: str, step: str) -> str:
    bare = line.lstrip(" ")
    depth, rest = divmod(len(line) - len(bare), 2)
    return step * depth + " " * rest + bare


def _checked(text: Text, edits: tuple[Edit, ...], document: int, path: Sequence[str | int]) -> Edits:
    before, after = yaml.scalars(text.content), yaml.scalars(text.apply(edits).content)
    line = text.lines.position(edits[0].start)[0]
    if isinstance(before, Problem) or isinstance(after, Problem):
        return before if isinstance(before, Problem) else Problem(line, "the text would no longer be YAML")
    depth = len(path)
    rest = [row for row in after if not (row.document == document and row.path[:depth] == tuple(path))]
    if len(before) != len(rest) or any(not _reads_alike(old, new, text) for old, new in zip(before, rest)):
        return Problem(line, "another value would change")
    return edits


def _reads_alike(old: yaml.Row, new: yaml.Row, text: Text) -> bool:
    """A block scalar that ended the file without a line ending gains one with the line that ends it; no more."""
    open_end = old.style in ("|", ">") and old.span[1] == len(text.content) and not text.content.endswith(("\n", "\r"))
    return old.path == new.path and (old.text == new.text or (open_end and old.text + "\n" == new.text))
