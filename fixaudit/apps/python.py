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

from fixaudit.apps.frameworks import Part, handler_name, parts_of
from fixaudit.apps.leaks import leaks_of
from fixaudit.apps.model import Event, Owner
from fixaudit.resolve.names import positional
from fixaudit.resolve.paths import Local
from fixaudit.resolve.things import Definition, Frame, Opaque, Package, Thing
from fixaudit.resolve.values import value_of
from fixaudit.source.ir import Call, Expr, Literal, Member, Name, Object, Other, Target

if TYPE_CHECKING:
    from fixaudit.apps.run import Machine

CREATORS = {
    "fastapi#FastAPI": ("app", "fastapi"),
    "fastapi#APIRouter": ("router", "fastapi"),
    "starlette.applications#Starlette": ("app", "starlette"),
    "starlette.routing#Router": ("router", "starlette"),
    "flask#Flask": ("app", "flask"),
    "flask#Blueprint": ("router", "flask"),
}
PREFIXES = {"fastapi": "prefix", "flask": "url_prefix", "starlette": "prefix"}
VERBS = frozenset({"get", "post", "put", "patch", "delete", "head", "options", "trace"})
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
    "fastapi.testclient#", "httpx#", "asgi_lifespan#", "mangum#", "logging#", "print", "isinstance",
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
HIDDEN = frozenset({"KIND", "METHOD", "PATH", "CALLEE", "HANDLER", "ARITY", "LEAKS"})


class PythonWeb:
    """Implements `frameworks.Framework`."""

    kinds: Mapping[str, tuple[str, str]] = CREATORS

    def owner(self, machine: Machine, call: Call, frame: Frame) -> Owner | None:
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
        event = self._event(machine, "use", call, callee.object, frame)
        if name == "add_middleware":
            self._middleware(machine, owner, event, keywords.get("middleware_class", first), frame)
        elif name in ERROR_CALLS:
            second = arguments[1].value if len(arguments) > 1 else keywords.get("handler", keywords.get("f"))
            self._error_handler(machine, owner, event, first, second, frame)
        elif name in HOOKS and first is not None and not isinstance(first, Literal):
            self._middleware(machine, owner, event, first, frame)
        elif name in ("include_router", "register_blueprint"):
            self._include(machine, owner, event, keywords.get("router", first), keywords, frame)
        elif name in ("mount", "host"):
            target = arguments[1].value if len(arguments) > 1 else keywords.get("app")
            self._mount(machine, owner, event, keywords.get("path", first), target, frame)
        elif name in ("add_api_route", "add_route", "add_url_rule", "add_api_websocket_route", "add_websocket_route"):
            position = 2 if name == "add_url_rule" else 1
            handler = arguments[position].value if len(arguments) > position else None
            handler = handler or keywords.get("endpoint" if position == 1 else "view_func") or keywords.get("route")
            self._route(machine, owner, event, name, first, keywords, handler, frame)
        elif name in ("run", "run_server"):
            event.kind = "listen"
            machine.emit(owner, event)
        elif name in VERBS | {"route", "api_route", "websocket"}:
            return False  # a decorator: `decorated` sees it
        return True

    def _event(self, machine: Machine, kind: str, call: Call, receiver: Expr, frame: Frame) -> Event:
        name = machine.resolver.source(frame, receiver.span) if isinstance(receiver, Name | Member) else ""
        return Event(kind, frame.path, call.span, machine.statement, name)

    # Creation

    def _created(self, machine: Machine, call: Call, frame: Frame) -> None:
        owner = self.owner(machine, call, frame)
        assert owner is not None
        if owner.kind == "app":
            machine.emit(owner, Event("app", frame.path, call.span, machine.statement, owner.name))
        for argument in call.arguments:
            if argument.keyword == "middleware":
                for part in parts_of(machine, argument.value, frame):
                    self._listed(machine, owner, part, frame)
            elif argument.keyword == "exception_handlers":
                self._handlers(machine, owner, argument.value, frame)
            elif argument.keyword == "dependencies":
                for part in parts_of(machine, argument.value, frame):
                    self._dependency(machine, owner, part)
            elif argument.keyword == "routes":
                for part in parts_of(machine, argument.value, frame):
                    self._listed_route(machine, owner, part)

    def _listed(self, machine: Machine, owner: Owner, part: Part, frame: Frame) -> None:
        """`Middleware(CORSMiddleware, allow_origins=…)`."""
        event = Event("use", part.frame.path, part.expr.span, machine.statement, owner.name)
        inner = part.thing.expr if isinstance(part.thing, Definition) else None
        if isinstance(inner, Call) and part.callee == "fastapi.middleware#Middleware" and inner.arguments:
            assert isinstance(part.thing, Definition)
            self._middleware(machine, owner, event, inner.arguments[0].value, part.thing.frame)
            return
        event.opaque = HIDDEN
        machine.emit(owner, event)

    def _handlers(self, machine: Machine, owner: Owner, value: Expr, frame: Frame) -> None:
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
                self._error_function(machine, inner, handler, thing.frame)
                machine.emit(owner, inner)
            if thing.expr.complete or thing.expr.entries:
                return
        event.opaque = HIDDEN - {"KIND"}
        machine.emit(owner, event)

    def _dependency(self, machine: Machine, owner: Owner, part: Part) -> None:
        event = Event("use", part.frame.path, part.expr.span, machine.statement, owner.name)
        inner = part.thing.expr if isinstance(part.thing, Definition) else None
        if isinstance(inner, Call) and inner.arguments and (part.callee or "").endswith(("#Depends", "#Security")):
            assert isinstance(part.thing, Definition)
            self._middleware(machine, owner, event, inner.arguments[0].value, part.thing.frame)
            return
        event.opaque = HIDDEN
        machine.emit(owner, event)

    def _listed_route(self, machine: Machine, owner: Owner, part: Part) -> None:
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
                    self._listed_route(machine, inner, nested)
                return
            self._mount(machine, owner, event, first, second, frame)
            return
        name = "websocket" if text.endswith("WebSocketRoute") else "route"
        self._route(machine, owner, event, name, first, keywords, second, frame)

    # Middleware and error handlers

    def _middleware(self, machine: Machine, owner: Owner, event: Event, expr: Expr | None, frame: Frame) -> None:
        if expr is None:
            return
        event.handler = handler_name(expr)
        event.spans["HANDLER"] = expr.span
        text, certain, thing = machine.resolver.named(expr, frame)
        if certain:
            event.callee = text
        else:
            event.opaque |= {"CALLEE"}
        if isinstance(thing, Definition) and thing.kind == "function":
            event.is_async = thing.frame.scopes.module.functions[thing.index].is_async
        if isinstance(thing, Definition) and thing.kind == "class":
            # `class Cors(CORSMiddleware)` is that middleware.
            for base in thing.frame.scopes.module.classes[thing.index].bases:
                base_text, base_certain, base_thing = machine.resolver.named(base, thing.frame)
                if base_certain and isinstance(base_thing, Package) and "BaseHTTPMiddleware" not in base_text:
                    event.callee = base_text
        machine.emit(owner, event)

    def _error_handler(
        self, machine: Machine, owner: Owner, event: Event, caught: Expr | None, handler: Expr | None, frame: Frame
    ) -> None:
        event.kind = "error_handler"
        event.catches = machine.resolver.source(frame, caught.span).strip("\"'") if caught is not None else None
        if handler is not None:
            self._error_function(machine, event, handler, frame)
        else:
            event.opaque |= {"LEAKS", "HANDLER"}
        machine.emit(owner, event)

    def _error_function(self, machine: Machine, event: Event, handler: Expr, frame: Frame) -> None:
        event.handler = handler_name(handler)
        event.spans["HANDLER"] = handler.span
        text, certain, thing = machine.resolver.named(handler, frame)
        event.callee = text if certain else None
        if isinstance(thing, Definition) and thing.kind == "function":
            self._error_body(machine, event, thing)
            return
        if isinstance(thing, Package):
            event.leaks = "none"
            return
        event.opaque |= {"LEAKS"} if certain else {"LEAKS", "CALLEE"}

    def _error_body(self, machine: Machine, event: Event, function: Definition) -> None:
        definition = function.frame.scopes.module.functions[function.index]
        event.arity = len(definition.parameters)
        event.is_async = definition.is_async
        event.leaks = leaks_of(machine.resolver, function)
        if event.leaks is None:
            event.opaque |= {"LEAKS"}

    # Routers

    def _include(
        self, machine: Machine, owner: Owner, event: Event, router: Expr | None, keywords: dict[str, Expr], frame: Frame
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

    def _mount(
        self, machine: Machine, owner: Owner, event: Event, path: Expr | None, target: Expr | None, frame: Frame
    ) -> None:
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

    # Routes

    def _route(
        self,
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
            event.middleware = (*event.middleware, *self._dependencies(machine, keywords["dependencies"], frame))
        for method in self._methods(machine, verb, keywords.get("methods"), frame):
            copy = Event(**{name: getattr(event, name) for name in Event.__dataclass_fields__})
            copy.method = method
            copy.opaque = event.opaque | ({"METHOD"} if method is None else set())
            machine.emit(owner, copy)

    def _dependencies(self, machine: Machine, value: Expr, frame: Frame) -> list[str]:
        found = []
        for part in parts_of(machine, value, frame):
            inner = part.thing.expr if isinstance(part.thing, Definition) else None
            if isinstance(inner, Call) and inner.arguments and isinstance(part.thing, Definition):
                found.append(machine.resolver.named(inner.arguments[0].value, part.thing.frame)[0])
        return found

    def _methods(self, machine: Machine, verb: str, methods: Expr | None, frame: Frame) -> list[str | None]:
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
            self._error_body(machine, event, function)
            machine.emit(owner, event)
        elif name in HOOKS:
            machine.emit(owner, event)
        else:
            keywords = {a.keyword: a.value for a in call.arguments if a.keyword is not None} if call else {}
            event.middleware = self._beside(machine, decorator, definition.decorators, frame)
            self._route(machine, owner, event, name, first or keywords.get("path"), keywords, None, frame)

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
            machine.emit(owner, self._event(machine, "listen", call, first, frame))

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
            event = self._event(machine, "use", call, expr, frame)
            if certain and not isinstance(callee, Opaque):
                event.callee = text.removesuffix(".init_app")
                event.opaque = frozenset() if event.callee.startswith(MIDDLEWARE) else frozenset({"KIND"})
            else:
                event.kind, event.opaque = "other", HIDDEN
            machine.emit(owner, event)

    def assigned(self, machine: Machine, target: Target, value: Expr | None, frame: Frame) -> None:
        """`app.wsgi_app = ProxyFix(app.wsgi_app)` wraps the application."""
        member = target.member
        if not frame.python or member is None or member.name != "wsgi_app" or not isinstance(value, Call):
            return
        owner = machine.owner(member.object, frame)
        if owner is not None:
            event = self._event(machine, "use", value, member.object, frame)
            self._middleware(machine, owner, event, value.callee, frame)

    def concerns(self, machine: Machine, call: Call, frame: Frame) -> bool:
        """Say whether a call makes an application, or records something on one."""
        if not frame.python:
            return False
        text, certain, _ = machine.resolver.callee(call, frame)
        if certain and text in CREATORS:
            return True
        callee = call.callee
        if not isinstance(callee, Member) or text.rsplit(".", 1)[0] not in CREATORS:
            return False
        return callee.name in ERROR_CALLS | {
            "add_middleware", "include_router", "register_blueprint", "mount", "add_api_route", "add_url_rule", "run",
        }  # fmt: skip
