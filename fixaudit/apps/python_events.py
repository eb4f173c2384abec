"""What the arguments of Python frameworks' calls say: middleware, error handlers, routers and routes as events.

This module must not know which call registers what; `python` does.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fixaudit.apps.frameworks import Part, handler_name, parts_of
from fixaudit.apps.headers import headers_of
from fixaudit.apps.leaks import leaks_and_place
from fixaudit.apps.model import Event, Owner
from fixaudit.apps.serving import default_port, literal_port, port_of
from fixaudit.resolve.names import positional
from fixaudit.resolve.things import Definition, Frame, Package, Thing
from fixaudit.resolve.values import value_of
from fixaudit.source.ir import Call, Expr, Member, Name, Object, Other

if TYPE_CHECKING:
    from fixaudit.apps.run import Machine

PREFIXES = {"fastapi": "prefix", "flask": "url_prefix", "starlette": "prefix"}
VERBS = frozenset({"get", "post", "put", "patch", "delete", "head", "options", "trace"})
HIDDEN = frozenset({"KIND", "METHOD", "PATH", "CALLEE", "HANDLER", "ARITY", "LEAKS"})


_CATCHES_ALL = re.compile(r"^\s*except\s*(:|\(?(Base)?Exception\b)", re.MULTILINE)


def new_event(machine: Machine, kind: str, call: Call, receiver: Expr, frame: Frame) -> Event:
    name = machine.resolver.source(frame, receiver.span) if isinstance(receiver, Name | Member) else ""
    return Event(kind, frame.path, call.span, machine.statement, name)


def listening(machine: Machine, call: Call, receiver: Expr, frame: Frame) -> Event:
    """A server that is started: on the port that it is given, or on the one that it has by default."""
    event = new_event(machine, "listen", call, receiver, frame)
    event.port_value = port_of(machine.resolver, call, frame)
    given = event.port_value is not None
    event.port = literal_port(event.port_value) if given else default_port(machine.resolver, call, frame)
    return event


def describe_headers(machine: Machine, event: Event, expr: Expr, frame: Frame, thing: Thing) -> None:
    """Say which security headers a middleware sets."""
    headers = headers_of(machine.resolver, expr, frame, thing)
    event.headers = headers or ()
    if isinstance(thing, Definition) and thing.kind in ("function", "class"):
        module = thing.frame.scopes.module
        span = (module.functions if thing.kind == "function" else module.classes)[thing.index].span
        if _CATCHES_ALL.search(machine.resolver.source(thing.frame, span)):
            event.catches = "Exception"
    if headers is None:
        event.opaque |= {"HEADERS"}


def listed_middleware(machine: Machine, owner: Owner, part: Part, frame: Frame) -> None:
    """`Middleware(CORSMiddleware, allow_origins=…)`."""
    event = Event("use", part.frame.path, part.expr.span, machine.statement, owner.name)
    inner = part.thing.expr if isinstance(part.thing, Definition) else None
    if isinstance(inner, Call) and part.callee == "fastapi.middleware#Middleware" and inner.arguments:
        assert isinstance(part.thing, Definition)
        middleware(machine, owner, event, inner.arguments[0].value, part.thing.frame)
        return
    event.opaque = HIDDEN
    machine.emit(owner, event)


def listed_handlers(machine: Machine, owner: Owner, value: Expr, frame: Frame) -> None:
    thing = machine.resolver.resolve(value, frame)
    event = Event("error_handler", frame.path, value.span, machine.statement, owner.name)
    if isinstance(thing, Definition) and isinstance(thing.expr, Object):
        for entry in thing.expr.entries:
            key = entry.value
            inner = Event("error_handler", thing.path, entry.span, machine.statement, owner.name)
            # A class as a key is a computed key: its text still says what is caught.
            caught = entry.key or machine.resolver.source(thing.frame, entry.key_span)
            handler = key.parts[-1] if isinstance(key, Other) and key.kind == "pair" and key.parts else key
            inner.catches = caught.strip("\"'") or None
            error_function(machine, inner, handler, thing.frame)
            machine.emit(owner, inner)
        if thing.expr.complete or thing.expr.entries:
            return
    event.opaque = HIDDEN - {"KIND"}
    machine.emit(owner, event)


def dependency(machine: Machine, owner: Owner, part: Part) -> None:
    event = Event("use", part.frame.path, part.expr.span, machine.statement, owner.name)
    inner = part.thing.expr if isinstance(part.thing, Definition) else None
    if isinstance(inner, Call) and inner.arguments and (part.callee or "").endswith(("#Depends", "#Security")):
        assert isinstance(part.thing, Definition)
        middleware(machine, owner, event, inner.arguments[0].value, part.thing.frame)
        return
    event.opaque = HIDDEN
    machine.emit(owner, event)


def listed_route(machine: Machine, owner: Owner, part: Part) -> None:
    """Starlette's `Route("/x", endpoint)` and `Mount("/x", app=…)`."""
    event = Event("route", part.frame.path, part.expr.span, machine.statement, owner.name)
    call = part.thing.expr if isinstance(part.thing, Definition) else None
    text = part.callee or ""
    if not isinstance(call, Call) or not text.startswith(("starlette.routing#", "fastapi#")):
        event.opaque = HIDDEN
        machine.emit(owner, event)
        return
    assert isinstance(part.thing, Definition)
    frame = part.thing.frame
    arguments = positional(call.arguments)
    keywords = {a.keyword: a.value for a in call.arguments if a.keyword is not None}
    first = arguments[0].value if arguments else keywords.get("path")
    second = arguments[1].value if len(arguments) > 1 else keywords.get("endpoint", keywords.get("app"))
    if text.endswith("#Mount"):
        if "routes" in keywords:
            prefix = value_of(machine.resolver, first, frame) if first is not None else None
            inner = Owner((frame.path, call.span, frame.key), "router", owner.framework, "python", "Mount")
            inner = machine.owners.setdefault(inner.id, inner)
            event.kind, event.mounted = "mount", inner
            event.route = prefix.text if prefix is not None and prefix.kind == "string" else None
            machine.emit(owner, event)
            for nested in parts_of(machine, keywords["routes"], frame):
                listed_route(machine, inner, nested)
            return
        mount(machine, owner, event, first, second, frame)
        return
    name = "websocket" if text.endswith("WebSocketRoute") else "route"
    route(machine, owner, event, name, first, keywords, second, frame)


def middleware(machine: Machine, owner: Owner, event: Event, expr: Expr | None, frame: Frame) -> None:
    if expr is None:
        return
    event.handler = handler_name(expr)
    event.spans["HANDLER"] = expr.span
    text, certain, thing = machine.resolver.named(expr, frame)
    if certain:
        event.callee = text
    else:
        event.opaque |= {"CALLEE"}
    describe_headers(machine, event, expr, frame, thing)
    if isinstance(thing, Definition) and thing.kind == "function":
        event.is_async = thing.frame.scopes.module.functions[thing.index].is_async
    if isinstance(thing, Definition) and thing.kind == "class":
        # `class Cors(CORSMiddleware)` is that middleware.
        for base in thing.frame.scopes.module.classes[thing.index].bases:
            base_text, base_certain, base_thing = machine.resolver.named(base, thing.frame)
            if base_certain and isinstance(base_thing, Package) and "BaseHTTPMiddleware" not in base_text:
                event.callee = base_text
    machine.emit(owner, event)


def error_handler(
    machine: Machine, owner: Owner, event: Event, caught: Expr | None, handler: Expr | None, frame: Frame
) -> None:
    event.kind = "error_handler"
    event.catches = machine.resolver.source(frame, caught.span).strip("\"'") if caught is not None else None
    if handler is not None:
        error_function(machine, event, handler, frame)
    else:
        event.opaque |= {"LEAKS", "HANDLER"}
    machine.emit(owner, event)


def error_function(machine: Machine, event: Event, handler: Expr, frame: Frame) -> None:
    event.handler = handler_name(handler)
    event.spans["HANDLER"] = handler.span
    text, certain, thing = machine.resolver.named(handler, frame)
    event.callee = text if certain else None
    if isinstance(thing, Definition) and thing.kind == "function":
        error_body(machine, event, thing)
        return
    if isinstance(thing, Package):
        event.leaks = "none"
        return
    event.opaque |= {"LEAKS"} if certain else {"LEAKS", "CALLEE"}


def error_body(machine: Machine, event: Event, function: Definition) -> None:
    definition = function.frame.scopes.module.functions[function.index]
    event.arity = len(definition.parameters)
    event.is_async = definition.is_async
    event.leaks, event.told = leaks_and_place(machine.resolver, function)
    if event.leaks is None:
        event.opaque |= {"LEAKS"}


def include(
    machine: Machine, owner: Owner, event: Event, router: Expr | None, keywords: dict[str, Expr], frame: Frame
) -> None:
    event.kind = "mount"
    event.route = ""
    prefix = keywords.get(PREFIXES[owner.framework])
    if prefix is not None:
        value = value_of(machine.resolver, prefix, frame)
        event.route = value.text if value.kind == "string" else "" if value.kind == "null" else None
        event.spans["PATH"] = prefix.span
    if event.route is None:
        event.opaque |= {"PATH"}
    if router is not None:
        event.handler = handler_name(router)
        event.spans["HANDLER"] = router.span
        event.mounted = machine.owner(router, frame)
    if event.mounted is None:
        event.opaque |= {"CALLEE", "METHOD"}
    if "dependencies" in keywords and event.mounted is not None:
        names = [p.callee for p in parts_of(machine, keywords["dependencies"], frame)]
        event.middleware = tuple(name for name in names if name is not None)
    machine.emit(owner, event)


def mount(machine: Machine, owner: Owner, event: Event, path: Expr | None, target: Expr | None, frame: Frame) -> None:
    event.kind = "mount"
    value = value_of(machine.resolver, path, frame) if path is not None else None
    event.route = value.text if value is not None and value.kind == "string" else None
    if event.route is None:
        event.opaque |= {"PATH"}
    if target is not None:
        event.handler = handler_name(target)
        event.spans["HANDLER"] = target.span
        event.mounted = machine.owner(target, frame)
        text, certain, _ = machine.resolver.named(target, frame)
        if text.endswith("#StaticFiles"):
            event.kind, event.callee = "static", text
        elif event.mounted is None:
            event.callee = text if certain else None
    if event.mounted is None and event.callee is None:
        event.opaque |= {"CALLEE", "METHOD"}
    machine.emit(owner, event)


def route(
    machine: Machine,
    owner: Owner,
    event: Event,
    verb: str,
    path: Expr | None,
    keywords: dict[str, Expr],
    handler: Expr | None,
    frame: Frame,
) -> None:
    event.kind = "route"
    value = value_of(machine.resolver, path, frame) if path is not None else None
    event.route = value.text if value is not None and value.kind == "string" else None
    if event.route is None:
        event.opaque |= {"PATH"}
    if path is not None:
        event.spans["PATH"] = path.span
    if handler is not None:
        event.handler = handler_name(handler)
        event.spans["HANDLER"] = handler.span
        text, certain, _ = machine.resolver.named(handler, frame)
        event.callee = text if certain else None
    if "dependencies" in keywords:
        event.middleware = (*event.middleware, *dependency_names(machine, keywords["dependencies"], frame))
    for method in methods_of(machine, verb, keywords.get("methods"), frame):
        copy = Event(**{name: getattr(event, name) for name in Event.__dataclass_fields__})
        copy.method = method
        copy.opaque = event.opaque | ({"METHOD"} if method is None else set())
        machine.emit(owner, copy)


def dependency_names(machine: Machine, value: Expr, frame: Frame) -> list[str]:
    found = []
    for part in parts_of(machine, value, frame):
        inner = part.thing.expr if isinstance(part.thing, Definition) else None
        if isinstance(inner, Call) and inner.arguments and isinstance(part.thing, Definition):
            found.append(machine.resolver.named(inner.arguments[0].value, part.thing.frame)[0])
    return found


def methods_of(machine: Machine, verb: str, methods: Expr | None, frame: Frame) -> list[str | None]:
    if verb in VERBS:
        return [verb.upper()]
    if "websocket" in verb:
        return ["WEBSOCKET"]
    if methods is None:
        return ["GET"]
    value = value_of(machine.resolver, methods, frame)
    if value.kind == "list" and value.complete and all(item.kind == "string" for item in value.items):
        return [item.text.upper() for item in value.items]
    return [None]
