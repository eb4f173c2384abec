"""Bring a Python name into scope: the smallest edit that isort, ruff and black leave as it is.

Contract: a text and its module in, an expression and edits out. Plain text edits and no libcst: its AddImportsVisitor
puts `import os` behind `from app import x`, above a guarded `try: import os` and beside `import os as _os`.
A binding counts only where it surely holds: at the top level, unguarded, above the place of use, and bound by nothing
else in any scope. This module must not know of statements other than imports.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from fixaudit.python_names import Style, free_name, rebound, style, taken
from fixaudit.source import ir
from fixaudit.text import Edit, Text

FUTURE, STANDARD, THIRD_PARTY, FIRST_PARTY, RELATIVE = range(5)
_INTERPRETER = re.compile(r"#!|#.*coding[:=]")
_LICENCE = re.compile(r"copyright|licen[cs]e|spdx", re.IGNORECASE)


@dataclass(frozen=True)
class Line:
    """One import statement at the top level. `plain`: `import x`; `first` and `last` bound its lines."""

    module: str
    names: tuple[ir.Import, ...]
    plain: bool
    span: ir.Span
    first: int
    last: int


def ensure_import(
    text: Text,
    module: ir.Module,
    *,
    package: str,
    name: str | None = None,
    alias: str | None = None,
    before: int | None = None,
    first_party: Collection[str] = (),
) -> tuple[str, tuple[Edit, ...]]:
    """Return how to write `package` (or `name` from it) and the edits that make it so; no edits when it is there.

    `before` is the offset of a use that runs at import time: an import below it does not serve. `first_party` are
    the project's own top-level packages, for the right section. A name that the file uses otherwise gets an alias.
    """
    lines = [line for line in _lines(text, module) if before is None or line.span[1] <= before]
    for line in lines:
        for found in line.names:
            expression = _serves(found, package, name)
            if expression is not None and not _shadowed(module, found):
                return expression, ()
    local = alias or name or package.partition(".")[0]
    if local in taken(module):
        local = free_name(module, local)
    original = name or package
    renamed = local != (original if name else package.partition(".")[0]) or (bool(alias) and local != original)
    member = f"{original} as {local}" if renamed else original
    expression = local if name or renamed else package
    manner = style(text, module)
    code = f"from {package} import {member}" if name else f"import {member}"
    if name and (merged := _merge(text, lines, package, name, member, manner)) is not None:
        return expression, merged
    new = Line(package, (), name is None, (0, 0), 0, 0)
    member_key = (*_member_key(name or ""), local)
    run = _run(text, module, lines)
    if not run:
        return expression, (_alone(text, module, code),)
    return expression, (_place(text, module, run, new, member_key, code, manner.newline, first_party),)


def _lines(text: Text, module: ir.Module) -> list[Line]:
    """Return the unguarded import statements of the top level, in order."""
    by_statement: dict[ir.Span, list[ir.Import]] = {}
    for imported in module.imports:
        by_statement.setdefault(imported.statement, []).append(imported)
    found = []
    for statement in module.body:
        if statement.kind == "import" and not statement.guards and (names := by_statement.get(statement.span)):
            start, end = text.lines.line_start(statement.span[0]), text.lines.next_line(statement.span[1])
            module_name = names[0].dotted or names[0].module
            found.append(Line(module_name, tuple(names), names[0].form == "import", statement.span, start, end))
    return found


def _serves(found: ir.Import, package: str, name: str | None) -> str | None:
    if found.local is None:
        return None
    if name is not None:
        return found.local if (found.form, found.module, found.export) == ("from", package, name) else None
    if found.form == "import":
        if found.dotted is not None:
            return package if package in (found.dotted, found.module) else None
        return found.local if found.module == package else None
    parent, _, last = package.rpartition(".")
    return found.local if parent and (found.module, found.export) == (parent, last) else None


def _shadowed(module: ir.Module, found: ir.Import) -> bool:
    """Whether the name that an import binds may mean something else somewhere in the file."""
    others = [other for other in module.imports if other.local == found.local]
    same = all((other.module, other.export) == (found.module, found.export) for other in others)
    return not same or rebound(module, found.local or "")


# Order ---------------------------------------------------------------------------------------------------------------


def _natural(text: str) -> tuple[Any, ...]:
    pieces = re.split(r"(\d+)", text)
    return tuple((0, int(piece), "") if piece.isdigit() else (1, 0, piece) for piece in pieces if piece)


def _module_key(line: Line) -> tuple[Any, ...]:
    name = line.module.lstrip(".")
    # Relative imports: the furthest first, which is isort's and ruff's default.
    return (-(len(line.module) - len(name)), _natural(name.lower()), _natural(name))


def _member_key(name: str) -> tuple[Any, ...]:
    """isort's order by type: CONSTANTS, Classes, the rest; without regard to case inside each."""
    kind = 0 if len(name) > 1 and name.isupper() else 1 if name[:1].isupper() else 2
    return (kind, _natural(name.lower()), _natural(name))


def _first_member(line: Line) -> tuple[Any, ...]:
    names = sorted((*_member_key(found.export), found.local or "") for found in line.names)
    return names[0] if names and not line.plain else ()


_ORDERS: tuple[Callable[[Line], tuple[Any, ...]], ...] = (
    lambda line: (not line.plain, *_module_key(line)),
    lambda line: (*_module_key(line)[1:], not line.plain),  # force_sort_within_sections
    lambda line: (line.plain, *_module_key(line)),  # from_first
)


def _section(line: Line, first_party: Collection[str]) -> int:
    if line.module.startswith("."):
        return RELATIVE
    root = line.module.partition(".")[0]
    if root == "__future__":
        return FUTURE
    if root in sys.stdlib_module_names:
        return STANDARD
    return FIRST_PARTY if root in first_party else THIRD_PARTY


# Places --------------------------------------------------------------------------------------------------------------


def _run(text: Text, module: ir.Module, lines: Sequence[Line]) -> list[Line]:
    """Return the first block of imports: what stands between it and the next is code, and each block sorts alone."""
    known = {line.span: line for line in lines}
    run: list[Line] = []
    for statement in module.body:
        line = known.get(statement.span) if statement.kind == "import" and not statement.guards else None
        if line is not None:
            run.append(line)
        elif run:
            break
    return run


def _groups(text: Text, run: Sequence[Line]) -> list[list[Line]]:
    """Cut a block where a blank line stands between two imports."""
    groups: list[list[Line]] = []
    for line in run:
        between = text.content[groups[-1][-1].span[1] : line.first] if groups else ""
        if groups and not re.search(r"\n[ \t]*\r?\n", between):
            groups[-1].append(line)
        else:
            groups.append([line])
    return groups


def _sections(
    text: Text, groups: Sequence[list[Line]], first_party: Collection[str]
) -> tuple[list[list[Line]], list[int]]:
    """Join groups of one section, which a comment in it cuts, and return the section of each."""
    joined: list[list[Line]] = []
    ranks: list[int] = []
    for group in groups:
        rank = max(_section(line, first_party) for line in group)
        if (ranks and rank == ranks[-1] != THIRD_PARTY) or (
            ranks
            and rank == ranks[-1]
            and "#" in text.content[joined[-1][-1].last : group[0].first]
            and (any(_sorted([*joined[-1], *group], order) for order in _ORDERS))
        ):
            joined[-1] = joined[-1] + group
        else:
            # A second section of packages that are not the standard library is the project's own.
            joined.append(group)
            ranks.append(FIRST_PARTY if rank == THIRD_PARTY and THIRD_PARTY in ranks else rank)
    return joined, ranks


def _sorted(group: Sequence[Line], order: Callable[[Line], tuple[Any, ...]]) -> bool:
    keys = [order(line) for line in group]
    return keys == sorted(keys)


def _place(
    text: Text,
    module: ir.Module,
    run: Sequence[Line],
    new: Line,
    member_key: tuple[Any, ...],
    code: str,
    newline: str,
    first_party: Collection[str],
) -> Edit:
    groups, ranks = _sections(text, _groups(text, run), first_party)
    wanted = _section(new, first_party)
    root = new.module.partition(".")[0]
    home = next((g for g in groups if any(x.module.partition(".")[0] == root for x in g)), None)
    if home is None:
        home = next((group for group, rank in zip(groups, ranks) if rank == wanted), None)
    if home is None and len(groups) == 1 and len({_section(x, first_party) for x in run}) > 1:
        home = groups[0]  # one list without sections
    if home is not None:
        return _into(text, home, groups, new, member_key, code, newline)
    later = next((group for group, rank in zip(groups, ranks) if rank > wanted), None)
    if later is None:
        return _insert(text, groups[-1][-1].last, newline + code, newline)
    start = later[0].first if later is groups[0] else _above_comments(text, module, later[0].first)
    return Edit(start, start, "", code + newline * 2)


def _into(
    text: Text,
    home: Sequence[Line],
    groups: Sequence[Sequence[Line]],
    new: Line,
    member_key: tuple[Any, ...],
    code: str,
    newline: str,
) -> Edit:
    def keyed(order: Callable[[Line], tuple[Any, ...]], line: Line) -> tuple[Any, ...]:
        return (order(line), member_key if line is new else _first_member(line))

    for order in _ORDERS:
        keys = [[keyed(order, line) for line in group] for group in groups]
        if all(key == sorted(key) for key in keys):
            following = next((i for i, line in enumerate(home) if keyed(order, line) > keyed(order, new)), len(home))
            break
    else:
        same = [i for i, line in enumerate(home) if line.plain == new.plain]
        following = same[-1] + 1 if same else (0 if new.plain else len(home))
    if following > 0:
        return _insert(text, home[following - 1].last, code, newline)
    return Edit(home[0].first, home[0].first, "", code + newline)


def _insert(text: Text, offset: int, code: str, newline: str) -> Edit:
    """Insert whole lines at the start of a line, or behind a last line that has no end."""
    if offset == len(text.content) and offset and text.content[offset - 1] not in "\r\n":
        return Edit(offset, offset, "", newline + code)
    return Edit(offset, offset, "", code + newline)


def _above_comments(text: Text, module: ir.Module, offset: int) -> int:
    """Return the start of the comment lines that stand directly above a line."""
    starts = {text.lines.line_start(comment.span[0]) for comment in module.comments if comment.own_line}
    while offset > 0 and (above := text.lines.line_start(offset - 1)) in starts:
        offset = above
    return offset


def _alone(text: Text, module: ir.Module, code: str) -> Edit:
    """Write the first import of a file: behind the header and the docstring, with black's blank lines around."""
    content, lines, newline = text.content, text.lines, text.newline
    position = _header_end(text, module)
    if module.body and module.body[0].kind == "directive":
        position = lines.next_line(module.body[0].span[1])
    elif module.body:
        position = min(position, lines.line_start(module.body[0].span[0]))
    end = position
    while end < len(content) and content[end] in " \t\r\n":
        end += 1
    following = next((s for s in module.body if s.span[0] >= position), None)
    if end < len(content):
        end = lines.line_start(end)
    blank = 1
    if following is not None and following.kind in ("function", "class"):
        # Comments that touch a definition stand with it; others get one blank line like any code.
        blank = 2 if _above_comments(text, module, lines.line_start(following.span[0])) <= end else 1
    lead = newline if position > 0 else ""
    if position and content[position - 1] not in "\r\n":
        lead = newline * 2
    tail = newline * (1 + blank) if end < len(content) else newline
    return Edit(position, end, content[position:end], lead + code + tail)


def _header_end(text: Text, module: ir.Module) -> int:
    """Return where the comments that belong to the file end: shebang, encoding, licence, or a block set apart."""
    content, lines = text.content, text.lines
    comments = {lines.line_start(comment.span[0]) for comment in module.comments if comment.own_line}
    position = start = 0
    while start < len(content):
        end = start
        while end in comments and end < len(content):
            end = lines.next_line(end)
        if end == start:
            if content[start : lines.next_line(start)].strip():
                break
            start = lines.next_line(start)
            continue
        if not content[end : lines.next_line(end)].strip() or _LICENCE.search(content[start:end]):
            position = end
        else:  # the block belongs to the code below it, a shebang on top of it to the file
            while _INTERPRETER.match(content, start):
                position = start = lines.next_line(start)
            break
        start = end
    return position


# Merging into `from x import a` --------------------------------------------------------------------------------------


def _merge(
    text: Text, lines: Sequence[Line], package: str, name: str, member: str, manner: Style
) -> tuple[Edit, ...] | None:
    """Add a member to an import of the same module; None when it needs a line of its own."""
    same = [line for line in lines if not line.plain and line.module == package]
    plain = [
        line for line in same if all(text.content[slice(*found.span)] == found.export for found in line.names)
    ]  # `a as a` is an alias too
    combined = [line for line in same if len(line.names) > 1 and line not in plain]
    # isort gives `from x import a as b` its own line; several imports of one name each are force_single_line.
    if member != name:
        plain = combined
    elif len(plain) > 1:
        return None
    if not plain:
        return None
    line = plain[0]
    source = text.content[slice(*line.span)]
    if "\\" in source or source.endswith("*"):
        return None
    keys = [_member_key(found.export) for found in line.names]
    index = len(keys)
    if keys == sorted(keys):
        index = next((i for i, key in enumerate(keys) if key > _member_key(name)), len(keys))
    if "\n" in source:
        return _merge_block(text, line, index, member, manner)
    # Behind the statement stands nothing but a comment, which keeps its place.
    members = [text.content[slice(*found.span)] for found in line.names]
    members.insert(index, member)
    flat = f"from {package} import {', '.join(members)}"
    rest = text.content[line.span[1] : text.lines.line_end(line.span[1])]
    if rest.strip() and not rest.lstrip().startswith("#"):
        return None
    if len(flat + rest.rstrip()) <= manner.line_length:
        return (Edit(*line.span, source, flat),)
    inner = "".join(f"{manner.newline}{manner.indent}{each}," for each in members)
    return (Edit(*line.span, source, f"from {package} import ({inner}{manner.newline})"),)


def _merge_block(text: Text, line: Line, index: int, member: str, manner: Style) -> tuple[Edit, ...]:
    """Add a line to a parenthesised import; members that share a line are left in their way of writing."""
    content = text.content
    if index < len(line.names):
        start = line.names[index].span[0]
        head = content[text.lines.line_start(start) : start]
        if not head.strip():
            # Comments above a member stay with it only when the new line goes above them too.
            previous = line.names[index - 1].span[1] if index else content.index("(", line.span[0])
            place = text.lines.next_line(previous)
            if place <= text.lines.line_start(start):
                return (Edit(place, place, "", f"{head}{member},{manner.newline}"),)
        return (Edit(start, start, "", f"{member}, "),)
    end = line.names[-1].span[1]
    start = line.names[-1].span[0]
    head = content[text.lines.line_start(start) : start]
    comma = re.compile(r"\s*,").match(content, end)
    if head.strip():
        return (Edit(end, end, "", f", {member}"),)
    if comma is None:
        return (Edit(end, end, "", f",{manner.newline}{head}{member}"),)
    place = text.lines.line_end(comma.end())
    if ")" in content[comma.end() : place].partition("#")[0]:
        return (Edit(comma.end(), comma.end(), "", f"{manner.newline}{head}{member},"),)
    return (Edit(place, place, "", f"{manner.newline}{head}{member},"),)
