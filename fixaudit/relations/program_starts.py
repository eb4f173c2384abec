"""Whether a program file starts a server, and which application object a Python server would be given.

Contract: read from the module and from what it imports of the project; nothing is executed. A file starts something
when it, or a file that it imports, listens; where no candidate does, one that makes an application does.
This module must not know how entry points are named.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from fixaudit.apps.order import imports_of
from fixaudit.resolve.names import Resolver
from fixaudit.resolve.sites import sites
from fixaudit.resolve.things import Definition, Frame, Package, Thing
from fixaudit.source.ir import Call, Expr, Member, Name, Span, walk

MOST_FILES = 400
"""Files that are followed from one candidate; the entry point of a larger program is declared."""

APPLICATIONS = {
    "fastapi#FastAPI": "asgi",
    "starlette.applications#Starlette": "asgi",
    "quart#Quart": "asgi",
    "litestar#Litestar": "asgi",
    "falcon.asgi#App": "asgi",
    "sanic#Sanic": "asgi",
    "django.core.asgi#get_asgi_application": "asgi",
    "channels.routing#ProtocolTypeRouter": "asgi",
    "socketio#ASGIApp": "asgi",
    "flask#Flask": "wsgi",
    "bottle#Bottle": "wsgi",
    "falcon#App": "wsgi",
    "django.core.wsgi#get_wsgi_application": "wsgi",
}
"""What makes an application, as canonical names, and the interface it has."""

_WRAPPERS = ("fastapi.middleware", "starlette.middleware", "werkzeug.middleware", "whitenoise#", "a2wsgi#")
_NODE_PACKAGES = frozenset(
    {"express", "fastify", "koa", "@hapi/hapi", "hono", "restify", "polka", "connect", "@nestjs/core"}
    | {"http", "https", "http2", "@apollo/server", "socket.io"}
)
_NODE_STARTS = frozenset(
    {"@hono/node-server#serve", "Bun.serve", "Deno.serve", "@apollo/server/standalone#startStandaloneServer"}
)
_PYTHON_STARTS = (
    "uvicorn#run",
    "hypercorn",
    "waitress#serve",
    "granian#",
    "gunicorn",
    "gevent.pywsgi#",
    "aiohttp.web#run_app",
)
_USUAL_NAMES = ("app", "application", "api", "server", "asgi_app", "wsgi_app")
_USUAL_FACTORIES = ("create_app", "make_app", "get_app", "build_app", "app_factory", "create_application", "init_app")


@dataclass(frozen=True, slots=True)
class Application:
    """An application object, or a factory of one that takes no arguments, of a Python module."""

    name: str
    interface: str
    factory: bool


def starters(resolver: Resolver, paths: Iterable[str]) -> tuple[str, ...]:
    """Return which files start a server, without those that another of them imports."""
    reached = {path: _reached(resolver, path) for path in paths}
    listening = [path for path, files in reached.items() if any(_listens(resolver, file) for file in files)]
    found = listening or [path for path, files in reached.items() if any(_creates(resolver, file) for file in files)]
    # Two files that import each other both stay: which one is started cannot be told.
    return tuple(
        path
        for path in found
        if not any(path in reached[other] and other not in reached[path] for other in found if other != path)
    )


def application_of(resolver: Resolver, path: str) -> Application | None:
    """Return the application that a server would take from a Python file; None for none and where it is unclear.

    An object comes before a factory, one that the file makes before one that it imports, `app` before other names.
    """
    frame = resolver.frame(path)
    if frame is None or not frame.python:
        return None
    objects: dict[str, str] = {}
    imported: dict[str, str] = {}
    factories: dict[str, str] = {}
    for name, binding in frame.scopes.tables.get(None, {}).items():
        thing = resolver.resolve(Name((0, 0), name), frame)
        interface = _interface(resolver, thing)
        if interface is not None:
            (imported if binding.imports else objects)[name] = interface
        elif isinstance(thing, Definition) and thing.kind == "function" and not binding.imports:
            interface = _made_by(resolver, thing)
            if interface is not None:
                factories[name] = interface
    for found, usual, factory in (
        (objects, _USUAL_NAMES, False),
        (imported, _USUAL_NAMES, False),
        (factories, _USUAL_FACTORIES, True),
    ):
        chosen = next((name for name in usual if name in found), next(iter(found)) if len(found) == 1 else None)
        if chosen is not None:
            return Application(chosen, found[chosen], factory)
        if found:
            return None
    return None


def interface_of(resolver: Resolver, path: str, name: str) -> str | None:
    """Return the interface ("asgi", "wsgi") of a file's application object or factory; None when it is not known."""
    frame = resolver.frame(path)
    if frame is None:
        return None
    thing = resolver.resolve(Name((0, 0), name), frame)
    if isinstance(thing, Definition) and thing.kind == "function":
        return _made_by(resolver, thing)
    return _interface(resolver, thing)


def _made_by(resolver: Resolver, function: Definition) -> str | None:
    """Return the interface of what a function makes that can be called without arguments."""
    definition = function.frame.scopes.module.functions[function.index]
    if any(target.default is None and target.path == () for target in definition.parameters):
        return None
    return _interface(resolver, resolver.returned(resolver.enter(function, None, None)))


def _interface(resolver: Resolver, thing: Thing, depth: int = 4) -> str | None:
    """Return the interface that all readable alternatives of a thing have; None when one has none."""
    found: set[str | None] = set()
    for option in resolver.options(resolver.settle(thing)):
        interface = None
        if isinstance(option, Definition) and isinstance(option.expr, Call):
            text, certain, _ = resolver.callee(option.expr, option.frame)
            interface = APPLICATIONS.get(text) if certain else None
            if interface is None and certain and text.startswith(_WRAPPERS) and option.expr.arguments and depth:
                inner = resolver.resolve(option.expr.arguments[0].value, option.frame)
                interface = _interface(resolver, inner, depth - 1)
        found.add(interface)
    return found.pop() if len(found) == 1 else None


def _reached(resolver: Resolver, path: str) -> dict[str, None]:
    """Return a file and the project's files that it imports, directly or not, in the order they are met."""
    found: dict[str, None] = {path: None}
    waiting = [path]
    while waiting and len(found) < MOST_FILES:
        for target in imports_of(resolver, waiting.pop(0)):
            if target not in found:
                found[target] = None
                waiting.append(target)
    return found


def _calls(resolver: Resolver, path: str) -> Iterator[tuple[Call, Frame]]:
    frame = resolver.frame(path)
    for site in sites(frame.scopes.module) if frame is not None else ():
        for expr in walk(site.expr):
            if frame is not None and isinstance(expr, Call):
                yield expr, frame if site.scope is None else resolver.frame(path, site.scope) or frame


def _listens(resolver: Resolver, path: str) -> bool:
    for call, frame in _calls(resolver, path):
        name = call.callee.name if isinstance(call.callee, Member) else None
        if not frame.python and name == "listen":
            return True
        if frame.python and name == "run" and isinstance(call.callee, Member):
            if _interface(resolver, resolver.resolve(call.callee.object, frame)) is not None:
                return True
        if name in ("serve", "run", "start", "Server", "run_app") or isinstance(call.callee, Name):
            text, certain, _ = resolver.callee(call, frame)
            if certain and (text in _NODE_STARTS or (frame.python and text.startswith(_PYTHON_STARTS))):
                return True
        if name == "start" and not frame.python and _is_of(resolver, call.callee, frame, "@hapi/hapi"):
            return True
    return False


def _is_of(resolver: Resolver, callee: Expr, frame: Frame, package: str) -> bool:
    thing = resolver.resolve(callee, frame)
    return isinstance(thing, Package) and thing.name == package


def _creates(resolver: Resolver, path: str) -> bool:
    for call, frame in _calls(resolver, path):
        text, certain, thing = resolver.callee(call, frame)
        if not certain or not isinstance(thing, Package):
            continue
        if text in APPLICATIONS or (not frame.python and thing.name in _NODE_PACKAGES):
            return True
    return False


def span_of(text: str, part: str, span: Span) -> Span:
    """Return where `part` stands inside a span of a text; the whole span when it does not stand there once."""
    start = text.find(part, *span) if part else -1
    return (start, start + len(part)) if start >= 0 and text.count(part, *span) == 1 else span
