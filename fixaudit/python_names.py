"""What a Python file calls its things and how it is written: names, quotes, indent, line length.

Contract: pure questions about one text and its module. This module must not know of edits.
"""

from __future__ import annotations

import builtins
import keyword
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from fixaudit.source import ir
from fixaudit.source.python_strings import opening
from fixaudit.text import Text, indent_of

LINE_LENGTH = 88
"""Black's and ruff's default; the guess for a file whose lines are not longer."""
_LONGEST = 120


@dataclass(frozen=True, slots=True)
class Style:
    """`quote` is one character, `indent` one level, `newline` the line ending, `line_length` a guess."""

    quote: str
    indent: str
    newline: str
    line_length: int

    def string(self, value: str) -> str:
        """Write a string literal."""
        return quoted(value, self.quote)


def style(text: Text, module: ir.Module) -> Style:
    """Return how a file is written. A file without strings has double quotes, one without blocks four spaces."""
    quotes: Counter[str] = Counter()
    for node in expressions(module):
        if isinstance(node, ir.Literal) and isinstance(node.value, str) and (head := opening(node.text)) is not None:
            quotes[head.quote] += 1
    levels: Counter[str] = Counter()
    blocks = [function.body_span for function in module.functions if function.parent is None and function.owner is None]
    blocks += [guard[2] for statement in module.body for guard in statement.guards[:1]]
    for start, _ in blocks:
        levels[indent_of(text.content, start, text.lines)] += 1
    del levels[""]  # one-line suites
    long = sorted(n for line in text.content.splitlines() if (n := len(line)) > LINE_LENGTH and "://" not in line)
    return Style(
        quote="'" if quotes["'"] > quotes['"'] else '"',
        indent=levels.most_common(1)[0][0] if levels else "    ",
        newline=text.newline,
        # One long line is an accident, two are a setting.
        line_length=min(long[-1], _LONGEST) if len(long) > 1 else LINE_LENGTH,
    )


def bodies(module: ir.Module) -> Iterator[tuple[ir.Statement, ...]]:
    """Yield every list of statements: the module's, each function's, each class's."""
    yield module.body
    for function in module.functions:
        yield function.body
    for klass in module.classes:
        yield klass.fields


def expressions(module: ir.Module) -> Iterator[ir.Expr]:
    """Yield every expression of a module, those in defaults, decorators and bases included."""
    for function in module.functions:
        for decorator in function.decorators:
            yield from ir.walk(decorator)
        for parameter in function.parameters:
            yield from ir.walk(parameter.default)
    for klass in module.classes:
        for expression in (*klass.decorators, *klass.bases):
            yield from ir.walk(expression)
    for body in bodies(module):
        for statement in body:
            yield from ir.walk(statement.value)
            for target in statement.targets:
                yield from ir.walk(target.member)


def bindings(module: ir.Module) -> frozenset[str]:
    """Return every name that is bound anywhere in the file, in whatever scope; comprehensions are left out."""
    return frozenset(_bound(module))


def _bound(module: ir.Module) -> Iterator[str]:
    for imported in module.imports:
        if imported.local is not None:
            yield imported.local
    for function in module.functions:
        yield from (parameter.name for parameter in function.parameters if parameter.name)
        if function.name:
            yield function.name
    yield from (klass.name for klass in module.classes if klass.name)
    for body in bodies(module):
        for statement in body:
            yield from (target.name for target in statement.targets if target.name)


def rebound(module: ir.Module, name: str) -> bool:
    """Say whether something other than an import binds a name, in whatever scope."""
    bare = ir.Module("python", module.body, module.functions, module.classes, (), (), (), "python")
    return name in bindings(bare)


def taken(module: ir.Module) -> frozenset[str]:
    """Return the names that a new import must not bind: bound ones, and builtins or star imports that are read."""
    names = bindings(module)
    read = {node.name for node in expressions(module) if isinstance(node, ir.Name)} - names
    star = any(imported.form == "from" and imported.export == "*" for imported in module.imports)
    return names | (read if star else {name for name in read if hasattr(builtins, name)})


def free_name(module: ir.Module, hint: str) -> str:
    """Return a name that nothing in the file binds or reads: the hint, `_hint`, `_hint2`, …"""
    used = bindings(module) | {node.name for node in expressions(module) if isinstance(node, ir.Name)}
    used |= set(keyword.kwlist) | set(dir(builtins))
    if hint not in used:
        return hint
    base = "_" + hint.lstrip("_")
    number = 1
    while (name := base if number == 1 else f"{base}{number}") in used:
        number += 1
    return name


def quoted(value: str, quote: str = '"') -> str:
    """Return a string literal with the given quote, where that needs no more escapes than the other one."""
    if quote in value and ("'" if quote == '"' else '"') not in value:
        quote = "'" if quote == '"' else '"'
    body = "".join(_escaped(char, quote) for char in value)
    return f"{quote}{body}{quote}"


def _escaped(char: str, quote: str) -> str:
    if char in (quote, "\\"):
        return "\\" + char
    return char if char.isprintable() else repr(char)[1:-1]
