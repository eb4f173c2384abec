"""Every place of a module where an expression stands, with the function it stands in.

This module must not know what is looked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fixaudit.resolve.scopes import ScopeIndex
from fixaudit.source.ir import Expr, FunctionRef, Member, Module, Name, Statement


@dataclass(frozen=True)
class Site:
    """One root expression. `written` is the expression when a statement assigns to it or deletes it; `target` is the
    member that an augmented assignment both reads and writes."""

    expr: Expr
    scope: ScopeIndex
    statement: Statement | None = None
    written: Expr | None = None
    target: Member | None = None


def sites(module: Module) -> Iterator[Site]:
    """Yield the root expressions of a module: of statements, targets, defaults, decorators, fields and exports."""
    seen: set[int] = set()
    for statement in module.body:
        yield from _of_statement(statement, None, seen)
    for index, function in enumerate(module.functions):
        for parameter in function.parameters:
            if parameter.default is not None:
                yield Site(parameter.default, index)
        for decorator in function.decorators:
            yield Site(decorator, function.parent)
        for statement in function.body:
            yield from _of_statement(statement, index, seen)
    for class_ in module.classes:
        for base in (*class_.bases, *class_.decorators):
            yield Site(base, class_.parent)
        for statement in class_.fields:
            yield from _of_statement(statement, class_.parent, seen)
    for export in module.exports:
        value = export.value
        if value is not None and id(value) not in seen and not isinstance(value, Name | FunctionRef):
            if not any(start <= value.span[0] < end for start, end in (s.span for s in module.body)):
                yield Site(value, None)


def _of_statement(statement: Statement, scope: ScopeIndex, seen: set[int]) -> Iterator[Site]:
    for target in statement.targets:
        if target.member is not None:
            augmented = statement.kind == "augment"
            yield Site(
                target.member,
                scope,
                statement,
                None if augmented else target.member,
                target.member if augmented else None,
            )
        if target.default is not None:
            yield Site(target.default, scope, statement)
    if statement.value is not None:
        seen.add(id(statement.value))
        deleted = statement.value if statement.kind == "delete" else None
        yield Site(statement.value, scope, statement, deleted)
