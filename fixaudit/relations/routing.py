"""Which calls and decorators of a file register HTTP routes, judged by the file alone.

Contract: works for routers whose application is not visible: the receiver is a known application or router, or is
called like one (`app`, `userRouter`, `api`) and is given a path and a handler. What `app_events` sees in more depth is
seen here more widely; a call on another package's object (`axios.get("/x")`) is no route.
This module must not know of rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from fixaudit.apps.express import CREATORS as SCRIPT_CREATORS
from fixaudit.apps.python import CREATORS as PYTHON_CREATORS
from fixaudit.relations.base import Value
from fixaudit.resolve.names import Resolver, positional
from fixaudit.resolve.sites import sites
from fixaudit.resolve.things import Definition, Frame, Opaque, Package
from fixaudit.resolve.values import value_of
from fixaudit.source.ir import Call, Expr, FunctionRef, Member, Name, Span, walk

VERBS = frozenset({"get", "post", "put", "patch", "delete", "head", "options", "all"})
DECORATORS = frozenset({"get", "post", "put", "patch", "delete", "head", "options", "route", "api_route", "websocket"})
NAMED_LIKE_ROUTER = re.compile(
    r"^(app|application|router|server|api|routes?|blueprint|bp|r)$|(router|routes|app|api|_bp)$", re.I
)
ROUTERS = frozenset(
    {"fastify#default", "koa-router#default", "@koa/router#default", "hono#Hono", "restify#createServer"}
)
WORDS = tuple(
    f".{verb}{bracket}".encode()
    for verb in sorted(VERBS | DECORATORS | {"use", "add_url_rule", "add_api_route", "add_route"})
    for bracket in "(<"
)


@dataclass(frozen=True)
class Registration:
    """One registration: methods in capitals, `path` None when it cannot be read; `handlers` as they are written."""

    methods: tuple[str, ...]
    path: str | None
    span: Span
    frame: Frame
    handlers: tuple[Expr, ...]
    function: Definition | None = None  # a decorated function
    receiver: str = ""
    path_span: Span | None = None


def registrations(resolver: Resolver, frame: Frame) -> Iterator[Registration]:
    """Yield the registrations of a file, in no particular order."""
    module = frame.scopes.module
    if frame.python:
        yield from _decorated(resolver, frame)
    for site in sites(module):
        at = resolver.frame(frame.path, site.scope) or frame
        for expr in walk(site.expr):
            if isinstance(expr, Call) and isinstance(expr.callee, Member):
                found = _python_call(resolver, expr, at) if frame.python else _script_call(resolver, expr, at)
                yield from found


def is_router(resolver: Resolver, expr: Expr, frame: Frame) -> bool:
    """Say whether an expression is an application or router, by what it resolves to or else by its name."""
    thing = resolver.settle(resolver.resolve(expr, frame))
    if isinstance(thing, Package):
        # An undeclared name in a fragment (`router.get(…)`), but not another package's object.
        last = thing.members[-1] if thing.members else thing.export
        return not thing.name and len(thing.members) < 2 and bool(NAMED_LIKE_ROUTER.search(last))
    if isinstance(thing, Definition) and isinstance(thing.expr, Call):
        text = resolver.callee(thing.expr, thing.frame)[0]
        head = text.split(".")[0]
        if head in SCRIPT_CREATORS or text in PYTHON_CREATORS or head in ROUTERS:
            return True
        if not text.startswith("local:") and "#" in text:
            return False
    if isinstance(thing, Opaque) and thing.alternatives:
        return any(_creates(resolver, option) for option in resolver.options(thing))
    name = expr.name if isinstance(expr, Name | Member) else None
    return name is not None and NAMED_LIKE_ROUTER.search(name) is not None


def _creates(resolver: Resolver, thing: object) -> bool:
    if not isinstance(thing, Definition) or not isinstance(thing.expr, Call):
        return False
    text = resolver.callee(thing.expr, thing.frame)[0]
    return text.split(".")[0] in SCRIPT_CREATORS or text in PYTHON_CREATORS


def _script_call(resolver: Resolver, call: Call, frame: Frame) -> Iterator[Registration]:
    callee = call.callee
    assert isinstance(callee, Member)
    if callee.name not in VERBS or not call.arguments:
        return
    handlers = tuple(argument.value for argument in call.arguments)
    base: Expr = callee.object
    while isinstance(base, Call) and isinstance(base.callee, Member) and base.callee.name in VERBS:
        base = base.callee.object
    thing = resolver.resolve(base, frame) if isinstance(base, Name) else None
    if isinstance(thing, Definition) and isinstance(thing.expr, Call):
        base = thing.expr
    if isinstance(base, Call) and isinstance(base.callee, Member) and base.callee.name == "route" and base.arguments:
        if is_router(resolver, base.callee.object, frame):
            span = (callee.name_span[0], call.span[1])
            for path in _paths(resolver, base.arguments[0].value, frame):
                name = resolver.source(frame, base.callee.object.span)
                yield Registration(
                    (callee.name.upper(),), path, span, frame, handlers, None, name, base.arguments[0].span
                )
        return
    if len(call.arguments) < 2 or not is_router(resolver, callee.object, frame):
        return
    name = resolver.source(frame, callee.object.span)
    for path in _paths(resolver, call.arguments[0].value, frame):
        yield Registration(
            (callee.name.upper(),), path, call.span, frame, handlers[1:], None, name, call.arguments[0].span
        )


def _paths(resolver: Resolver, expr: Expr, frame: Frame) -> list[str | None]:
    value = value_of(resolver, expr, frame)
    if value.kind == "list" and value.complete and value.items:
        return [_path(item) for item in value.items]
    if getattr(expr, "kind", "") == "regex":
        return [resolver.source(frame, expr.span)]
    return [_path(value)]


def _path(value: Value) -> str | None:
    return value.text if value.kind in ("string", "regex") else None


def _decorated(resolver: Resolver, frame: Frame) -> Iterator[Registration]:
    for index, function in enumerate(frame.scopes.module.functions):
        at = resolver.frame(frame.path, function.parent) or frame
        for decorator in function.decorators:
            if not isinstance(decorator, Call) or not isinstance(decorator.callee, Member):
                continue
            name = decorator.callee.name
            if name not in DECORATORS or not is_router(resolver, decorator.callee.object, at):
                continue
            keywords = {a.keyword: a.value for a in decorator.arguments if a.keyword is not None}
            listed = positional(decorator.arguments)
            first = listed[0].value if listed else keywords.get("path", keywords.get("rule"))
            path = value_of(resolver, first, at) if first is not None else None
            yield Registration(
                _methods(resolver, name, keywords.get("methods"), at),
                _path(path) if path is not None else None,
                decorator.span,
                at,
                (),
                Definition("function", at, index),
                resolver.source(at, decorator.callee.object.span),
                first.span if first is not None else None,
            )


def _methods(resolver: Resolver, name: str, methods: Expr | None, frame: Frame) -> tuple[str, ...]:
    if name not in ("route", "api_route", "add_api_route", "add_url_rule", "add_route"):
        return (name.upper(),)
    if methods is None:
        return ("GET",)
    value = value_of(resolver, methods, frame)
    if value.kind == "list" and value.complete:
        return tuple(item.text.upper() for item in value.items if item.kind == "string")
    return ()


def _python_call(resolver: Resolver, call: Call, frame: Frame) -> Iterator[Registration]:
    callee = call.callee
    assert isinstance(callee, Member)
    name = callee.name
    if name not in ("add_api_route", "add_url_rule", "add_route") or not is_router(resolver, callee.object, frame):
        return
    keywords = {a.keyword: a.value for a in call.arguments if a.keyword is not None}
    listed = [argument.value for argument in positional(call.arguments)]
    handler = listed[2 if name == "add_url_rule" else 1 :][:1] or [
        value for key, value in keywords.items() if key in ("endpoint", "view_func") and not isinstance(value, str)
    ]
    path = value_of(resolver, listed[0], frame) if listed else None
    yield Registration(
        _methods(resolver, name, keywords.get("methods"), frame),
        _path(path) if path is not None else None,
        call.span,
        frame,
        tuple(handler),
        None,
        resolver.source(frame, callee.object.span),
        listed[0].span if listed else None,
    )


def handler_functions(resolver: Resolver, found: Registration) -> Iterator[Definition]:
    """Yield the functions that answer requests: handlers and middleware, also inside of a wrapping call."""
    if found.function is not None:
        yield found.function
    for expr in found.handlers:
        yield from functions_in(resolver, expr, found.frame)


def functions_in(resolver: Resolver, expr: Expr, frame: Frame, depth: int = 3) -> Iterator[Definition]:
    """Yield the functions that an argument holds: itself, items of an array, arguments of a wrapper."""
    if isinstance(expr, Call):
        for argument in expr.arguments:
            if depth:
                yield from functions_in(resolver, argument.value, frame, depth - 1)
        return
    if hasattr(expr, "items"):
        for item in expr.items:
            yield from functions_in(resolver, item, frame, depth - 1)
        return
    if isinstance(expr, Name | Member | FunctionRef):
        thing = resolver.settle(resolver.resolve(expr, frame))
        if isinstance(thing, Definition) and thing.kind == "function":
            yield thing
