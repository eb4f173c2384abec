"""What calls and decorators on FastAPI, Starlette and Flask applications and routers mean.

Facts: middleware is added to a list that wraps the whole application, so that its order has nothing to do with
routes (https://fastapi.tiangolo.com/tutorial/middleware/); `include_router` copies a router's routes under its own
prefix and the call's (https://fastapi.tiangolo.com/reference/apirouter/); Flask's blueprints take `url_prefix` at
creation or registration, the latter wins (https://flask.palletsprojects.com/en/stable/blueprints/).
This module must not know how a program is followed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from fixaudit.apps import python_events as events
from fixaudit.apps.frameworks import parts_of
from fixaudit.apps.model import Event, Owner
from fixaudit.apps.python_events import HIDDEN, PREFIXES, VERBS
from fixaudit.resolve.names import positional
from fixaudit.resolve.paths import Local
from fixaudit.resolve.things import Definition, Frame, Opaque, Package, Thing
from fixaudit.resolve.values import value_of
from fixaudit.source.ir import Call, Expr, Literal, Member, Name, Target

if TYPE_CHECKING:
    from fixaudit.apps.owners import Registry
    from fixaudit.apps.run import Machine

CREATORS = {
    "fastapi#FastAPI": ("app", "fastapi"),
    "fastapi#APIRouter": ("router", "fastapi"),
    "starlette.applications#Starlette": ("app", "starlette"),
    "starlette.routing#Router": ("router", "starlette"),
    "flask#Flask": ("app", "flask"),
    "flask#Blueprint": ("router", "flask"),
}
HOOKS = frozenset(
    {
        "middleware", "before_request", "after_request", "before_app_request", "after_app_request", "teardown_request",
        "teardown_appcontext", "before_first_request", "context_processor",
    }
)  # fmt: skip
ERROR_HOOKS = frozenset({"exception_handler", "errorhandler", "app_errorhandler"})
ERROR_CALLS = frozenset({"add_exception_handler", "register_error_handler"})
SERVERS = frozenset({"uvicorn#run", "hypercorn.asyncio#serve", "waitress#serve", "uvicorn#Config", "granian#Granian"})
# What is given an application and adds nothing to it that a rule asks about.
HARMLESS = (
    "super", "fastapi.testclient#", "httpx#", "asgi_lifespan#", "mangum#", "logging#", "print", "isinstance",
    "getattr", "setattr", "uvicorn#", "hypercorn", "waitress#", "fastapi.openapi", "alembic",
    "flask_migrate#", "flask_sqlalchemy#",
    "len", "id",
    "fastapi_pagination#",
    "prometheus_fastapi_instrumentator#", "flask_login#", "flask_mail#", "flask_marshmallow#",
    "opentelemetry.", "a2wsgi#", "asgiref.",
)  # fmt: skip
# What is given an application and is known to be middleware and nothing else.
MIDDLEWARE = (
    "flask_cors#CORS", "flask_talisman#Talisman", "flask_seasurf#SeaSurf", "flask_wtf.csrf#CSRFProtect",
    "flask_wtf#CSRFProtect",
    "flask_limiter#Limiter", "flask_compress#Compress", "fastapi.middleware", "starlette.middleware",
    "werkzeug.middleware",
    "secure#",
)  # fmt: skip


class PythonWeb:
    """Implements `frameworks.Framework`."""

    kinds: Mapping[str, tuple[str, str]] = CREATORS
    methods = ERROR_CALLS | {
        "add_middleware", "include_router", "register_blueprint", "mount", "add_api_route", "add_url_rule", "run",
    }  # fmt: skip

    def owner(self, machine: Registry, call: Call, frame: Frame) -> Owner | None:
        """Return the application or router that a call makes or gives back."""
        if not frame.python:
            return None
        text, certain, thing = machine.resolver.callee(call, frame)
        made = CREATORS.get(text) if certain and isinstance(thing, Package) else None
        if made is None:
            if certain and text.startswith(MIDDLEWARE) and call.arguments:
                # `app = CORSMiddleware(app, …)` is still that application to whoever serves it.
                return machine.owner(call.arguments[0].value, frame)
            return None
        kind, framework = made
        key = PREFIXES[framework]
        known = {a.keyword: a.value for a in call.arguments if a.keyword is not None}
        prefix: str | None = ""
        if kind == "router" and key in known:
            value = value_of(machine.resolver, known[key], frame)
            prefix = value.text if value.kind in ("string", "null") else None
            prefix = "" if value.kind == "null" else prefix
        return machine.create(call, frame, kind, framework, prefix)

    def call(self, machine: Machine, call: Call, frame: Frame) -> bool:
        """Record what a call does to an application; False when it is not this framework's business."""
        if not frame.python:
            return False
        text, certain, thing = machine.resolver.callee(call, frame)
        if certain and text in CREATORS and isinstance(thing, Package):
            self._created(machine, call, frame)
            return True
        if certain and text in SERVERS:
            self._served(machine, call, frame)
            return True
        callee = call.callee
        if not isinstance(callee, Member) or callee.name is None:
            return False
        owner = machine.owner(callee.object, frame)
        if owner is None or owner.language != "python":
            return False
        return self._method(machine, owner, call, callee, frame)

    def _method(self, machine: Machine, owner: Owner, call: Call, callee: Member, frame: Frame) -> bool:
        name = callee.name or ""
        arguments = positional(call.arguments)
        keywords = {a.keyword: a.value for a in call.arguments if a.keyword is not None}
        first = arguments[0].value if arguments else next(iter(keywords.values()), None)
        event = events.new_event(machine, "use", call, callee.object, frame)
        if name == "add_middleware":
            events.middleware(machine, owner, event, keywords.get("middleware_class", first), frame)
        elif name in ERROR_CALLS:
            second = arguments[1].value if len(arguments) > 1 else keywords.get("handler", keywords.get("f"))
            events.error_handler(machine, owner, event, first, second, frame)
        elif name in HOOKS and first is not None and not isinstance(first, Literal):
            events.middleware(machine, owner, event, first, frame)
        elif name in ("include_router", "register_blueprint"):
            events.include(machine, owner, event, keywords.get("router", first), keywords, frame)
        elif name in ("mount", "host"):
            target = arguments[1].value if len(arguments) > 1 else keywords.get("app")
            events.mount(machine, owner, event, keywords.get("path", first), target, frame)
        elif name in ("add_api_route", "add_route", "add_url_rule", "add_api_websocket_route", "add_websocket_route"):
            position = 2 if name == "add_url_rule" else 1
            handler = arguments[position].value if len(arguments) > position else None
            handler = handler or keywords.get("endpoint" if position == 1 else "view_func") or keywords.get("route")
            events.route(machine, owner, event, name, first, keywords, handler, frame)
        elif name in ("run", "run_server"):
            machine.emit(owner, events.listening(machine, call, callee.object, frame))
        elif name in VERBS | {"route", "api_route", "websocket"}:
            return False  # a decorator: `decorated` sees it
        return True

    # Creation

    def _created(self, machine: Machine, call: Call, frame: Frame) -> None:
        owner = self.owner(machine, call, frame)
        assert owner is not None
        if owner.kind == "app":
            machine.emit(owner, Event("app", frame.path, call.span, machine.statement, owner.name))
        for argument in call.arguments:
            if argument.keyword == "middleware":
                for part in parts_of(machine, argument.value, frame):
                    events.listed_middleware(machine, owner, part, frame)
            elif argument.keyword == "exception_handlers":
                events.listed_handlers(machine, owner, argument.value, frame)
            elif argument.keyword == "dependencies":
                for part in parts_of(machine, argument.value, frame):
                    events.dependency(machine, owner, part)
            elif argument.keyword == "routes":
                for part in parts_of(machine, argument.value, frame):
                    events.listed_route(machine, owner, part)

    # Decorators, servers, assignments

    def decorated(self, machine: Machine, decorator: Expr, function: Definition, frame: Frame) -> None:
        """Record what a decorator makes of a function."""
        call = decorator if isinstance(decorator, Call) else None
        callee = call.callee if call is not None else decorator
        if not frame.python or not isinstance(callee, Member) or callee.name is None:
            return
        name = callee.name
        if name not in VERBS | HOOKS | ERROR_HOOKS | {"route", "api_route", "websocket"}:
            return
        owner = machine.owner(callee.object, frame)
        if owner is None:
            return
        definition = function.frame.scopes.module.functions[function.index]
        event = Event("use", frame.path, decorator.span, machine.statement)
        event.app_name = machine.resolver.source(frame, callee.object.span)
        event.handler, event.callee = definition.name or "", function.text
        event.is_async, event.arity = definition.is_async, len(definition.parameters)
        event.spans = {"METHOD": callee.name_span, "HANDLER": definition.span}
        arguments = positional(call.arguments) if call is not None else []
        first = arguments[0].value if arguments else None
        if name in ERROR_HOOKS:
            event.kind = "error_handler"
            event.catches = machine.resolver.source(frame, first.span).strip("\"'") if first is not None else None
            events.error_body(machine, event, function)
            machine.emit(owner, event)
        elif name in HOOKS:
            events.describe_headers(machine, event, Name(decorator.span, definition.name or ""), frame, function)
            machine.emit(owner, event)
        else:
            keywords = {a.keyword: a.value for a in call.arguments if a.keyword is not None} if call else {}
            event.middleware = self._beside(machine, decorator, definition.decorators, frame)
            events.route(machine, owner, event, name, first or keywords.get("path"), keywords, None, frame)

    def _beside(self, machine: Machine, decorator: Expr, decorators: tuple[Expr, ...], frame: Frame) -> tuple[str, ...]:
        """Name the decorators below a route's own: `@limiter.limit("5/minute")`, `@login_required`."""
        names = []
        for other in decorators:
            if other is decorator:
                continue
            callee = other.callee if isinstance(other, Call) else other
            text, _, _ = machine.resolver.named(callee, frame)
            if text.split("#")[0] not in ("fastapi", "flask"):
                names.append(text)
        return tuple(names)

    def _served(self, machine: Machine, call: Call, frame: Frame) -> None:
        first = next((a.value for a in call.arguments if a.keyword in (None, "app", "target")), None)
        if first is None:
            return
        owner = machine.owner(first, frame) if not isinstance(first, Literal) else None
        if isinstance(first, Literal) and isinstance(first.value, str):
            owner = self._by_name(machine, first.value, frame)
        if owner is not None:
            machine.emit(owner, events.listening(machine, call, first, frame))

    def _by_name(self, machine: Machine, text: str, frame: Frame) -> Owner | None:
        """`uvicorn.run("package.module:app")`."""
        module, _, name = text.partition(":")
        place = machine.resolver.locator.place(frame.path, module, python=True)
        if not isinstance(place, Local) or place.directory:
            return None
        machine.module(place.path)
        top = machine.resolver.frame(place.path)
        if top is None or not name.isidentifier():
            return None
        binding = Name((0, 0), name)
        return machine.owner(binding, top)

    def given(self, machine: Machine, call: Call, callee: Thing, frame: Frame) -> None:
        """Record what it may mean that a function outside of the project is given an application."""
        if not frame.python:
            return
        text, certain, _ = machine.resolver.callee(call, frame)
        if certain and text.startswith(HARMLESS):
            return
        for owner, expr in machine.given(call, frame):
            if owner.language != "python":
                continue
            event = events.new_event(machine, "use", call, expr, frame)
            if certain and not isinstance(callee, Opaque):
                event.callee = text.removesuffix(".init_app")
                event.opaque = frozenset() if event.callee.startswith(MIDDLEWARE) else frozenset({"KIND"})
            else:
                event.kind, event.opaque = "other", HIDDEN
            events.describe_headers(machine, event, call.callee, frame, callee)
            machine.emit(owner, event)

    def assigned(self, machine: Machine, target: Target, value: Expr | None, frame: Frame) -> None:
        """`app.wsgi_app = ProxyFix(app.wsgi_app)` wraps the application."""
        member = target.member
        if not frame.python or member is None or member.name != "wsgi_app" or not isinstance(value, Call):
            return
        owner = machine.owner(member.object, frame)
        if owner is not None:
            event = events.new_event(machine, "use", value, member.object, frame)
            events.middleware(machine, owner, event, value.callee, frame)

    def concerns(self, machine: Machine, call: Call, frame: Frame) -> bool:
        """Say whether a call makes an application, or records something on one."""
        if not frame.python:
            return False
        text, certain, _ = machine.resolver.callee(call, frame)
        if certain and (text in CREATORS or text in SERVERS):
            return True
        callee = call.callee
        if not isinstance(callee, Member) or text.rsplit(".", 1)[0] not in CREATORS:
            return False
        return callee.name in self.methods
