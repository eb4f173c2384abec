"""Schemas through which an environment is validated: envalid, zod, joi, yup, valibot, t3-env.

Contract: one call in; the keys that it reads out, or None when it validates no environment.
This module must not know of rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from fixaudit.resolve.names import Resolver, positional
from fixaudit.resolve.things import Definition, Frame
from fixaudit.source.ir import Call, Expr, Literal, Member, Object, Span

Key: TypeAlias = tuple[str | None, Span, str | None, bool]
IsEnvironment = Callable[[Resolver, Expr, Frame], bool]

CLEAN = frozenset({"envalid#cleanEnv", "envalid#customCleanEnv"})
CREATE = frozenset({"@t3-oss/env-core#createEnv", "@t3-oss/env-nextjs#createEnv", "@t3-oss/env-nuxt#createEnv"})
PARSERS = frozenset({"parse", "safeParse", "parseAsync", "safeParseAsync", "validate", "validateAsync", "validateSync",
                     "attempt", "assert", "cast"})  # fmt: skip
OPTIONAL = frozenset({"optional", "nullish", "notRequired", "nullable"})
DEFAULTS = frozenset({"default", "catch", "prefault"})


def schema_reads(resolver: Resolver, call: Call, frame: Frame, is_environment: IsEnvironment) -> list[Key] | None:
    """Return (key, span, default, required) of every variable that a validating call reads."""
    if frame.python:
        return None
    arguments = [argument.value for argument in positional(call.arguments)]
    callee = call.callee
    parser = isinstance(callee, Member) and callee.name in PARSERS and bool(arguments)
    text = "" if parser else resolver.callee(call, frame)[0]
    if text in CLEAN and len(arguments) > 1 and is_environment(resolver, arguments[0], frame):
        return _object(resolver, arguments[1], frame, required=True)
    if text in CREATE and arguments and isinstance(arguments[0], Object):
        found: list[Key] = []
        for entry in arguments[0].entries:
            if entry.key in ("server", "client", "shared"):
                found += _object(resolver, entry.value, frame, required=True) or []
        return found or None
    if not parser:
        return None
    assert isinstance(callee, Member)
    if is_environment(resolver, arguments[0], frame):
        return _schema(resolver, callee.object, frame)
    if len(arguments) > 1 and is_environment(resolver, arguments[1], frame):  # valibot: `v.parse(schema, process.env)`
        return _schema(resolver, arguments[0], frame)
    return None


def _schema(resolver: Resolver, expr: Expr, frame: Frame, depth: int = 8) -> list[Key] | None:
    """Follow `z.object({…}).strict().extend({…})` to its entries."""
    thing = resolver.settle(resolver.resolve(expr, frame))
    if not isinstance(thing, Definition) or not isinstance(thing.expr, Call) or depth == 0:
        return [(None, expr.span, None, True)]
    call, at = thing.expr, thing.frame
    name = call.callee.name if isinstance(call.callee, Member) else resolver.callee(call, at)[0].rsplit("#", 1)[-1]
    arguments = [argument.value for argument in positional(call.arguments)]
    if name in ("object", "strictObject", "looseObject", "keys", "shape", "type", "partial") and arguments:
        return _object(resolver, arguments[0], at, required=True)
    if not isinstance(call.callee, Member):
        return [(None, expr.span, None, True)]
    found = _schema(resolver, call.callee.object, at, depth - 1)
    if name in ("extend", "augment", "append", "merge", "concat") and arguments and found is not None:
        added = _object(resolver, arguments[0], at, required=True) if name == "extend" else None
        return found + (added if added is not None else _schema(resolver, arguments[0], at, depth - 1) or [])
    return found


def _object(resolver: Resolver, expr: Expr, frame: Frame, required: bool) -> list[Key] | None:
    thing = resolver.resolve(expr, frame)
    if not isinstance(thing, Definition) or not isinstance(thing.expr, Object):
        return [(None, expr.span, None, required)]
    found: list[Key] = []
    local = thing.path == frame.path
    for entry in thing.expr.entries:
        default, needed = _entry(resolver, entry.value, thing.frame)
        found.append((entry.key, entry.key_span if local else expr.span, default, needed))
    return found


def _entry(resolver: Resolver, expr: Expr, frame: Frame) -> tuple[str | None, bool]:
    """Return (default, required) of `str({ default: "x" })`, `z.string().default("x")`, `z.string().optional()`."""
    required, default = True, None
    current = expr
    while isinstance(current, Call):
        name = current.callee.name if isinstance(current.callee, Member) else None
        if name in OPTIONAL:
            required = False
        if name in DEFAULTS and current.arguments:
            default = _text(resolver, current.arguments[0].value, frame)
        for argument in current.arguments:
            if isinstance(argument.value, Object):
                for entry in argument.value.entries:
                    if entry.key in ("default", "devDefault") and default is None:
                        default = _text(resolver, entry.value, frame)
        current = current.callee.object if isinstance(current.callee, Member) else current.callee
    return default, required and default is None


def _text(resolver: Resolver, expr: Expr, frame: Frame) -> str:
    if isinstance(expr, Literal) and isinstance(expr.value, str):
        return expr.value
    return resolver.source(frame, expr.span)
