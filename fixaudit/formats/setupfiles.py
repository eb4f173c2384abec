"""Dependencies in setup.cfg and setup.py.

Contract: setup.cfg is read line by line as configparser would, with places; setup.py is parsed, never run, and counts
only where its lists are plain literals.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from fixaudit.formats.dependency import MAIN, OPTIONAL, Dependency, Span, parse_requirement, python_name, styled
from fixaudit.formats.jsonedit import sorted_index
from fixaudit.formats.problem import Edits, Problem, insertion
from fixaudit.text import LineIndex, Text, indent_of

_SECTION = re.compile(r"\[([^\]]+)\]")
_OPTION = re.compile(r"([^\s=:#;\[][^=:]*?)[ \t]*[=:][ \t]*(.*)")


@dataclass(frozen=True, slots=True)
class _Item:
    section: str
    key: str
    text: str
    line: int
    span: Span
    own_line: bool


def read_cfg(content: str) -> tuple[Dependency, ...] | Problem:
    """Return what `install_requires` and the extras of a setup.cfg declare."""
    rows: list[Dependency] = []
    for item in _cfg_items(content):
        if (item.section, item.key) == ("options", "install_requires"):
            group = MAIN
        elif item.section == "options.extras_require":
            group = OPTIONAL
        else:
            continue
        row = _row(item.text, group, f"{item.section}.{item.key}", item.line, item.span)
        if row is not None:
            rows.append(row)
    return tuple(rows)


def add_cfg(text: Text, name: str, spec: str) -> Edits:
    """Add a line to `install_requires`; the key is made when `[options]` is there. One-line lists are refused."""
    rows = read_cfg(text.content)
    assert not isinstance(rows, Problem)
    main = [row for row in rows if row.group == MAIN]
    if any(row.normalized == python_name(name) for row in main):
        return ()
    line = f"{name}{styled(spec, (row.spec for row in main), ('==', '~=', '>=', ''), '>=')}"
    items = [item for item in _cfg_items(text.content) if (item.section, item.key) == ("options", "install_requires")]
    values = [item for item in items if item.text]
    if any(not item.own_line for item in values):
        return Problem(values[0].line, "install_requires is written on one line")
    if values:
        index = sorted_index([row.normalized for row in main], python_name(name))
        indent = indent_of(text.content, values[0].span[0], text.lines)
        above = items[0] if index == 0 else values[min(index, len(values)) - 1]
        return (insertion(text.lines.line_end(above.span[1]), f"{text.newline}{indent}{line}"),)
    if items:
        return (insertion(text.lines.line_end(items[0].span[1]), f"{text.newline}    {line}"),)
    header = re.search(r"^\[options\][^\r\n]*", text.content, re.MULTILINE)
    if header is None:
        return Problem(1, "there is no section [options]")
    entry = f"{text.newline}install_requires ={text.newline}    {line}"
    return (insertion(header.end(), entry),)


def read_py(content: str) -> tuple[Dependency, ...] | Problem:
    """Return what a setup.py passes to `setup` as plain lists; a Problem where the lists are computed."""
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError, RecursionError) as error:
        return Problem(getattr(error, "lineno", None) or 1, "the file does not parse as Python")
    names = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    rows: list[Dependency] = []
    index = LineIndex(content)
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call) or not _is_setup(call.func):
            continue
        for keyword in call.keywords:
            if keyword.arg is None:
                return Problem(call.lineno, "setup() is called with **, so its arguments are not known")
            if keyword.arg == "install_requires":
                lists: list[tuple[str, str, ast.expr]] = [(MAIN, "install_requires", keyword.value)]
            elif keyword.arg == "extras_require" and isinstance(keyword.value, ast.Dict):
                lists = [(OPTIONAL, "extras_require", value) for value in keyword.value.values]
            else:
                continue
            for group, section, value in lists:
                literal = names.get(value.id, value) if isinstance(value, ast.Name) else value
                if not isinstance(literal, ast.List | ast.Tuple):
                    return Problem(value.lineno, f"{section} is computed, so it is not known")
                for item in literal.elts:
                    if not isinstance(item, ast.Constant) or not isinstance(item.value, str):
                        return Problem(item.lineno, f"an item of {section} is computed, so it is not known")
                    row = _row(item.value, group, section, item.lineno, _span(content, index, item))
                    if row is not None:
                        rows.append(row)
    return tuple(rows)


def _is_setup(node: ast.expr) -> bool:
    return (isinstance(node, ast.Name) and node.id == "setup") or (
        isinstance(node, ast.Attribute) and node.attr == "setup"
    )


def _span(content: str, index: LineIndex, node: ast.expr) -> Span:
    """ast counts columns in UTF-8 bytes."""

    def offset(line: int, column: int) -> int:
        start = index.start_of(line)
        return start + len(content[start:].split("\n", 1)[0].encode()[:column].decode(errors="ignore"))

    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    return offset(node.lineno, node.col_offset), offset(node.end_lineno, node.end_col_offset)


def _row(text: str, group: str, section: str, line: int, span: Span) -> Dependency | None:
    found = parse_requirement(text)
    if found is None:
        return None
    normalized = python_name(found.name)
    return Dependency(
        found.name, normalized, found.spec, group, section, line, span, found.source, found.extras, found.marker
    )


def _cfg_items(content: str) -> Iterator[_Item]:
    """Yield the lines of every value; a key whose value starts below yields one empty item for its own line first."""
    section = key = ""
    offset = 0
    for number, raw in enumerate(re.split(r"(?<=\n)", content), 1):
        line = raw.rstrip("\r\n")
        start, offset = offset, offset + len(raw)
        stripped = line.strip()
        if not stripped or stripped.startswith(("#", ";")):
            continue
        if line[0] in " \t":
            begin = start + len(line) - len(line.lstrip())
            if key:
                yield _Item(section, key, stripped, number, (begin, begin + len(stripped)), True)
            continue
        if header := _SECTION.match(line):
            section, key = header[1].strip(), ""
        elif option := _OPTION.match(line):
            key = option[1].strip().lower()
            value = option[2].strip()
            begin = start + option.start(2)
            yield _Item(section, key, value, number, (begin, begin + len(value)), False)
