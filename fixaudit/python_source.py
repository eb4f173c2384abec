"""Edits of Python statements and calls, as black would leave them.

Contract: a text, its module and places in; `text.Edit`s out, or None where the place cannot be edited without touching
more than was asked for (one-line suites, statements joined by semicolons, headers of blocks) or must stay first
(docstrings, `from __future__`). Comments stay with what
they stand above. Everything is a plain text edit: libcst costs 0.3 s to import and keeps no code point offsets.
This module must not know of rules, parameters or files.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from fixaudit.python_imports import ensure_import
from fixaudit.python_names import Style, bindings, bodies, free_name, quoted, style
from fixaudit.source import ir
from fixaudit.text import Edit, Text, indent_of

__all__ = [
    "Style",
    "add_keyword",
    "bindings",
    "call_at",
    "ensure_import",
    "env_read",
    "free_name",
    "insert_statement",
    "move_statement",
    "quoted",
    "remove_statement",
    "set_keyword",
    "statement_at",
    "style",
]

_DEFINITION = re.compile(r"(@|def\b|class\b|async\s+def\b)")
_CLAUSES = ("elif", "except", "case")  # heads that only continue a statement
_HEADS = ("if", "for", "while", "with", "match")
_IMPORT = re.compile(r"(import|from)\b")


@dataclass(frozen=True)
class Place:
    """A statement and its neighbours. `siblings` are the statements of its body, in order, methods included."""

    statement: ir.Statement
    siblings: tuple[ir.Statement, ...]

    def beside(self, step: int) -> ir.Statement | None:
        """Return the nearest statement before (-1) or after (1) this one, in whatever block of the body."""
        start, end = self.statement.span
        if step < 0:
            return next((s for s in reversed(self.siblings) if s.span[1] <= start), None)
        return next((s for s in self.siblings if s.span[0] >= end), None)


def env_read(os_name: str, key: str, form: str, default: str | None = None, *, quote: str = '"') -> str:
    """Write the read of a variable; `os_name` is how `ensure_import(…, package="os")` says that `os` is written.

    form: "required" raises KeyError where the variable is missing, at import time when it stands at module level;
    "optional" gives `default` ("" when None). Raises ValueError for another form.
    """
    if form == "required":
        return f"{os_name}.environ[{quoted(key, quote)}]"
    if form == "optional":
        return f"{os_name}.environ.get({quoted(key, quote)}, {quoted(default or '', quote)})"
    raise ValueError(f"no such form: {form}")


def statement_at(module: ir.Module, span: ir.Span) -> ir.Statement | None:
    """Return the innermost statement that holds a span; a method is given as a "function" statement."""
    place = _place(module, span)
    return None if place is None else place.statement


def call_at(module: ir.Module, span: ir.Span) -> ir.Call | None:
    """Return the call that has exactly this span."""
    from fixaudit.python_names import expressions

    return next((node for node in expressions(module) if isinstance(node, ir.Call) and node.span == span), None)


def _place(module: ir.Module, span: ir.Span) -> Place | None:
    best: Place | None = None
    for siblings in (*bodies(module), *_with_methods(module)):
        for statement in siblings:
            start, end = statement.span
            if start <= span[0] and span[1] <= end and statement.keyword not in (":=", "annotation", "deep"):
                if best is None or end - start <= best.statement.span[1] - best.statement.span[0]:
                    best = Place(statement, siblings)
    return best


def _with_methods(module: ir.Module) -> list[tuple[ir.Statement, ...]]:
    found = []
    for klass in module.classes:
        methods = []
        for index in klass.methods:
            function = module.functions[index]
            start = min([function.span[0], *(_decorator_start(d) for d in function.decorators)])
            methods.append(ir.Statement((start, function.span[1]), "function", index=index))
        found.append(tuple(sorted((*klass.fields, *methods), key=lambda statement: statement.span)))
    return found


def _decorator_start(decorator: ir.Expr) -> int:
    return decorator.span[0] - 1  # the `@`; its line is what counts


# Statements ----------------------------------------------------------------------------------------------------------


def insert_statement(text: Text, module: ir.Module, anchor: ir.Span, where: str, code: str) -> tuple[Edit, ...] | None:
    """Insert statements "before" or "after" the one that holds `anchor`, on lines of their own.

    `code` has any newline and no indentation of its own. Decorators are part of a definition; comments directly above
    the anchor stay with it. Raises ValueError for another `where`.
    """
    if where not in ("before", "after"):
        raise ValueError(f"no such place: {where}")
    place = _place(module, anchor)
    if place is None or not _own_lines(text, place.statement):
        return None
    statement = place.statement
    if _is_header(statement) and (where == "after" or statement.keyword in _CLAUSES):
        return None
    indent = indent_of(text.content, statement.span[0], text.lines)
    body = _indented(code, indent, text.newline)
    first = code.lstrip()
    lines, newline, content = text.lines, text.newline, text.content
    if where == "before":
        offset = _comments_above(text, module, lines.line_start(statement.span[0]))
        if statement.kind == "directive" or not _behind_future(module, statement.span[0]):
            return None
        previous = place.beside(-1)
        lead = _missing(text, offset, _blank_between(text, module, previous, statement, indent, first), backwards=True)
        tail = _blank_around(first, statement.kind, indent)
        if _IMPORT.match(first) and statement.kind != "import":
            tail = max(tail, 1)
        return (Edit(offset, offset, "", newline * lead + body + newline * (1 + tail)),)
    offset = lines.next_line(max(statement.span[1] - 1, statement.span[0]))
    if not _behind_future(module, offset):
        return None
    lead = _blank_between(text, module, statement, statement, indent, first)
    follower = place.beside(1)
    tail = 0
    if _DEFINITION.match(first):
        tail = _missing(text, offset, _blank_behind_definition(text, offset), backwards=False)
    elif follower is not None and indent_of(content, follower.span[0], lines) == indent:
        tail = _missing(text, offset, _blank_around(first, follower.kind, indent), backwards=False)
    if offset == len(content) and content and content[-1] not in "\r\n":
        return (Edit(offset, offset, "", newline * (1 + lead) + body),)
    return (Edit(offset, offset, "", newline * lead + body + newline * (1 + tail)),)


def remove_statement(text: Text, module: ir.Module, span: ir.Span) -> tuple[Edit, ...] | None:
    """Remove the statement that holds a span, with its lines; comments above it stay.

    The last statement of a block becomes `pass`. None for a header of a block and where a comment stands on its lines.
    """
    place = _place(module, span)
    if place is None or not _own_lines(text, place.statement) or _is_header(place.statement):
        return None
    statement, content, lines = place.statement, text.content, text.lines
    start, end = statement.span
    if content[end : lines.line_end(end)].strip():
        return None
    depth = len(statement.guards)
    nested = indent_of(content, start, lines) != ""
    # The head of an `except` counts as inside its block for the model, not for the parser.
    block = statement.guards[-1][2][0] if depth else 0
    alone = not any(
        other is not statement and other.guards[:depth] == statement.guards and other.span[0] >= block
        for other in place.siblings
    )
    if nested and alone:
        return (Edit(start, end, content[start:end], "pass"),)
    first, last = lines.line_start(start), lines.next_line(max(end - 1, start))
    # Of the blank lines above and below only the larger number stays.
    above, below = _blank_lines(text, first, backwards=True), _blank_lines(text, last, backwards=False)
    previous = place.beside(-1)
    opens = previous is None or len(indent_of(content, previous.span[0], lines)) < len(indent_of(content, start, lines))
    if opens and _comments_above(text, module, first) == first:
        above = below  # the first statement of a block or file: nothing to keep a distance from
    for _ in range(min(above, below)):
        last = lines.next_line(last)
    if last == len(content) and not opens:  # nothing follows: no blank lines at the end of a file
        for _ in range(above):
            first = lines.line_start(first - 1)
    return (Edit(first, last, content[first:last], ""),)


def move_statement(
    text: Text, module: ir.Module, span: ir.Span, anchor: ir.Span, where: str
) -> tuple[Edit, ...] | None:
    """Move a statement with the comments above it before or after another one; None when either place is refused."""
    place, target = _place(module, span), _place(module, anchor)
    if place is None or target is None or not _own_lines(text, place.statement):
        return None
    start, end = place.statement.span
    if start <= target.statement.span[0] < end:
        return None
    removed = remove_statement(text, module, span)
    first = _comments_above(text, module, text.lines.line_start(start))
    indent = indent_of(text.content, start, text.lines)
    code = _dedented(text.content[first:end], indent)
    inserted = insert_statement(text, module, anchor, where, code)
    if removed is None or inserted is None or removed[0].replacement:
        return None
    cut = Edit(min(first, removed[0].start), removed[0].end, "", "")
    cut = Edit(cut.start, cut.end, text.content[cut.start : cut.end], "")
    if cut.start < inserted[0].start < cut.end:
        return None
    return (*inserted, cut)


def _behind_future(module: ir.Module, offset: int) -> bool:
    """Whether code may stand here: `from __future__` imports must come first."""
    return all(i.statement[0] < offset for i in module.imports if i.module == "__future__" and not i.guards)


def _own_lines(text: Text, statement: ir.Statement) -> bool:
    """Whether a statement shares its lines with no other one."""
    start, end = statement.span
    before = text.content[text.lines.line_start(start) : start]
    after = text.content[end : text.lines.line_end(max(end, start))].lstrip()
    if before.strip() or after.startswith(";"):
        return False
    return not after or after.startswith("#") or _is_header(statement)


def _is_header(statement: ir.Statement) -> bool:
    """Whether a statement is the head of a block (`if x:`), written for the expressions in it."""
    return statement.keyword in _HEADS or statement.keyword in _CLAUSES


def _comments_above(text: Text, module: ir.Module, offset: int) -> int:
    """Return the start of the comment lines directly above a line, of its own indentation."""
    indent = indent_of(text.content, offset, text.lines)
    starts = {
        text.lines.line_start(c.span[0])
        for c in module.comments
        if c.own_line and indent_of(text.content, c.span[0], text.lines) == indent
    }
    while offset > 0 and (above := text.lines.line_start(offset - 1)) in starts:
        if re.match(r"#!|#.*coding[:=]", text.content[above:offset]):
            break
        offset = above
    return offset


def _blank_lines(text: Text, offset: int, *, backwards: bool) -> int:
    count = 0
    while True:
        start = text.lines.line_start(offset - 1) if backwards and offset else offset
        end = offset if backwards else text.lines.next_line(offset)
        if start == end or text.content[start:end].strip():
            return count
        count += 1
        offset = start if backwards else end


def _blank_behind_definition(text: Text, offset: int) -> int:
    """Return how many blank lines black wants between a definition and the code below `offset`."""
    while offset < len(text.content):
        end = text.lines.next_line(offset)
        line = text.content[offset:end].strip()
        if line:
            if re.match(r"(else|elif|except|finally|case)\b", line):
                return 0
            return 1 if text.content[offset] in " \t" else 2
        offset = end
    return 0


def _missing(text: Text, offset: int, wanted: int, *, backwards: bool) -> int:
    return max(0, wanted - _blank_lines(text, offset, backwards=backwards))


def _blank_around(code: str, kind: str, indent: str) -> int:
    """Return black's number of blank lines between new code and the kind of statement behind or before it."""
    if _DEFINITION.match(code) or kind in ("function", "class"):
        return 1 if indent else 2
    return 0


def _blank_between(
    text: Text, module: ir.Module, previous: ir.Statement | None, statement: ir.Statement, indent: str, code: str
) -> int:
    """Return black's number of blank lines between `previous` and new code in the body of `statement`."""
    if previous is None or len(indent_of(text.content, previous.span[0], text.lines)) < len(indent):
        # First in its block: only a definition under `if` and the like is set off.
        return int(bool(_DEFINITION.match(code)) and bool(statement.guards))
    documented = previous.kind == "directive" and (not indent or any(previous in c.fields for c in module.classes))
    after_import = previous.kind == "import" and not _IMPORT.match(code)
    return max(_blank_around(code, previous.kind, indent), int(after_import), int(documented))


def _string_lines(code: str) -> set[int]:
    """Return the numbers of the lines that begin inside a string: their white space is part of a value."""
    from fixaudit.syntax import parse, span_of

    inside: set[int] = set()
    for node in parse(code, "python").nodes("string"):
        start, end = span_of(node)
        first = code.count("\n", 0, start)
        inside.update(range(first + 1, first + 1 + code.count("\n", start, end)))
    return inside


def _indented(code: str, indent: str, newline: str) -> str:
    code = code.replace("\r\n", "\n").strip("\n")
    fixed = _string_lines(code) if '"""' in code or "'''" in code else set()
    lines = code.split("\n")
    return newline.join(line if number in fixed or not line else indent + line for number, line in enumerate(lines))


def _dedented(code: str, indent: str) -> str:
    code = code.replace("\r\n", "\n")
    fixed = _string_lines(code.lstrip()) if '"""' in code or "'''" in code else set()
    lines = code.split("\n")
    return "\n".join(line if n in fixed else line.removeprefix(indent) for n, line in enumerate(lines))


# Calls ---------------------------------------------------------------------------------------------------------------


def add_keyword(text: Text, call: ir.Call, name: str, code: str) -> tuple[Edit, ...] | None:
    """Add `name=code` to a call: behind the other arguments, before `**kwargs`.

    None when the keyword is there already (see `set_keyword`) or a bare generator is the only argument.
    """
    if any(argument.keyword == name for argument in call.arguments):
        return None
    start, end = call.arguments_span
    content, newline = text.content, text.newline
    if any(argument.span == (start, end) for argument in call.arguments) or content[end - 1 : end] != ")":
        return None
    addition = f"{name}={code}"
    if not call.arguments:
        inside = content[start + 1 : end - 1]
        if not inside.strip():
            return (Edit(start + 1, end - 1, inside, addition),)
        # Only comments between the brackets: the argument goes on a line of its own, above the closing one.
        close = text.lines.line_start(end - 1)
        if content[close : end - 1].strip() or close <= start:
            return None
        indent = indent_of(content, start + 1 + len(inside) - len(inside.lstrip()), text.lines)
        return (Edit(close, close, "", f"{indent}{addition},{newline}"),)
    keywords = next((a for a in call.arguments if content.startswith("**", a.span[0]) and a.spread), None)
    if keywords is not None:
        place = keywords.span[0]
        line = text.lines.line_start(place)
        head = content[line:place]
        if head.strip():
            return (Edit(place, place, "", f"{addition}, "),)
        return (Edit(place, place, "", f"{addition},{newline}{head}"),)
    last = call.arguments[-1]
    place = last.span[1]
    head = content[text.lines.line_start(last.span[0]) : last.span[0]]
    if head.strip():
        return (Edit(place, place, "", f", {addition}"),)
    comma = re.compile(r"\s*,").match(content, place)
    if comma is None or text.lines.line_start(comma.end() - 1) > text.lines.line_end(place):
        own = text.lines.line_start(end - 1) > text.lines.line_start(place)  # the bracket stands on its own line
        edits = [Edit(place, place, "", ",")]
        line_end = text.lines.line_end(place)
        if own and content[place:line_end].strip():  # a comment keeps its argument
            return (*edits, Edit(line_end, line_end, "", f"{newline}{head}{addition},"))
        return (Edit(place, place, "", f",{newline}{head}{addition}{',' if own else ''}"),)
    place = text.lines.line_end(comma.end())
    if end <= place:
        return (Edit(comma.end(), comma.end(), "", f"{newline}{head}{addition},"),)
    return (Edit(place, place, "", f"{newline}{head}{addition},"),)


def set_keyword(text: Text, call: ir.Call, name: str, code: str) -> tuple[Edit, ...] | None:
    """Give a keyword argument another value: only the value is replaced; one that is missing is added."""
    found = next((argument for argument in call.arguments if argument.keyword == name), None)
    if found is None:
        return add_keyword(text, call, name, code)
    equals = re.compile(r"\s*=\s*").match(text.content, found.span[0] + len(name))
    if equals is None:
        return None
    start, end = equals.end(), found.span[1]
    old = text.content[start:end]
    return () if old == code else (Edit(start, end, old, code),)
