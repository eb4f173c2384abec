"""What calls on Express applications and routers mean.

Facts about Express (https://expressjs.com/en/4x/api.html): `use` takes an optional path, then any mix of functions,
arrays, routers and applications; a function with exactly four parameters is an error handler; `app.get(name)` with
one argument reads a setting; `route(path)` gives an object whose verbs return itself.
This module must not know how a program is followed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from fixaudit.apps.frameworks import Part, arity, handler_name, parts_of
from fixaudit.apps.headers import headers_of, promises
from fixaudit.apps.leaks import leaks_and_place
from fixaudit.apps.model import Event, Owner
from fixaudit.apps.serving import literal_port, port_of
from fixaudit.relations.base import Value
from fixaudit.resolve.things import Definition, Frame, Opaque, Thing
from fixaudit.resolve.values import value_of
from fixaudit.source.ir import Argument, Call, Expr, Member, Name, Target, walk

if TYPE_CHECKING:
    from fixaudit.apps.owners import Registry
    from fixaudit.apps.run import Machine

CREATORS = {
    "express#default": "app",
    "express#Router": "router",
    "express-promise-router#default": "router",
    "@awaitjs/express#default": "app",
}
VERBS = frozenset(
    {
        "get", "post", "put", "patch", "delete", "head", "options", "all", "connect", "trace", "copy", "lock", "merge",
        "mkcol", "move", "notify", "propfind", "proppatch", "purge", "report", "search", "subscribe", "unlock",
        "unsubscribe", "checkout", "link", "unlink", "ws",
    }
)  # fmt: skip
MAX_CHAIN = 50  # verbs on one route object; `r = r.get(h)` has no end

# Methods that return the application itself.
CHAINING = VERBS | {"use", "set", "enable", "disable", "engine", "param", "on"}

SERVERS = frozenset(
    {
        "http#createServer", "https#createServer", "http2#createServer", "http2#createSecureServer",
        "spdy#createServer", "http#Server", "https#Server", "http-shutdown#default", "http2-express-bridge#default",
    }
)  # fmt: skip
# Packages that are given an application and add nothing to it that a rule asks about.
HARMLESS = (
    "http#", "https#", "http2#", "spdy#", "socket.io#", "ws#", "supertest#", "serverless-http#", "console.",
    "@vendia/serverless-express#", "aws-serverless-express#", "express-ws#", "@godaddy/terminus#", "http-terminator#",
    "http-graceful-shutdown#", "express-list-endpoints#", "@apollo/server", "express-async-errors#", "util#", "assert#",
    "firebase-functions", "@google-cloud/functions-framework#", "express-list-routes#", "lightship#", "stoppable#",
    "process.", "Object.", "Promise.", "setTimeout", "setInterval",
)  # fmt: skip
_ERROR = re.compile(r"_?(err|error|exception|e|ex)$", re.IGNORECASE)
_REQUEST = re.compile(r"_*(req|request|ctx|_)$", re.IGNORECASE)
ERROR_PACKAGES = {"errorhandler#default": "stack", "strong-error-handler#default": "none"}
HIDDEN = frozenset({"KIND", "METHOD", "PATH", "CALLEE", "HANDLER", "ARITY", "LEAKS"})


class Express:
    """Implements `frameworks.Framework`."""

    kinds: Mapping[str, tuple[str, str]] = {text: (kind, "express") for text, kind in CREATORS.items()}
    methods = VERBS | {"use", "listen", "default"}

    def owner(self, machine: Registry, call: Call, frame: Frame) -> Owner | None:
        """Return the application or router that a call makes or gives back."""
        if frame.python:
            return None
        text, certain, _ = machine.resolver.callee(call, frame)
        kind = CREATORS.get(text) if certain else None
        if kind is not None:
            return machine.create(call, frame, kind, "express")
        if isinstance(call.callee, Member) and call.callee.name in CHAINING and text.split(".")[0] in CREATORS:
            if call.callee.name in VERBS and len(call.arguments) < 2:
                return None
            return machine.owner(call.callee.object, frame)
        return None

    def call(self, machine: Machine, call: Call, frame: Frame) -> bool:
        """Record what a call does to an application; False when it is not this framework's business."""
        if frame.python:
            return False
        text, certain, _ = machine.resolver.callee(call, frame)
        if certain and text in CREATORS:
            made = machine.create(call, frame, CREATORS[text], "express")
            if made.kind == "app":
                machine.emit(made, Event("app", frame.path, call.span, machine.statement, made.name))
            return True
        callee = call.callee
        if not isinstance(callee, Member):
            return False
        owner = machine.owner(callee.object, frame)
        if owner is None:
            return self._route_chain(machine, call, callee, frame) or self._server(machine, call, callee, frame)
        if owner.framework != "express":
            return False
        name = callee.name
        if name is None:
            machine.emit(owner, self._event(machine, "route", call, callee, frame, {"METHOD", "PATH", "HANDLER"}))
        elif name == "use":
            self._use(machine, owner, call, callee, frame)
        elif name in VERBS:
            if len(call.arguments) > 1:
                path = call.arguments[0]
                self._route(machine, owner, call, callee, frame, path, call.arguments[1:])
        elif name == "listen":
            machine.emit(owner, self._listening(machine, call, callee, frame))
            return False  # its callback runs
        return True

    def _event(
        self, machine: Machine, kind: str, call: Call, callee: Member, frame: Frame, opaque: set[str] | None = None
    ) -> Event:
        event = Event(kind, frame.path, call.span, machine.statement, self._app_name(machine, callee.object, frame))
        event.opaque = frozenset(opaque or ())
        event.spans = {"METHOD": callee.name_span}
        return event

    def _app_name(self, machine: Machine, expr: Expr, frame: Frame) -> str:
        while isinstance(expr, Call) and isinstance(expr.callee, Member) and expr.callee.name in CHAINING:
            expr = expr.callee.object
        return machine.resolver.source(frame, expr.span) if isinstance(expr, Name | Member) else ""

    # use

    def _use(self, machine: Machine, owner: Owner, call: Call, callee: Member, frame: Frame) -> None:
        arguments = list(call.arguments)
        path: Argument | None = None
        if arguments and not arguments[0].spread and self._is_path(machine, arguments[0].value, frame):
            path = arguments.pop(0)
        routes = self._paths(machine, path.value, frame) if path is not None else [""]
        for argument in arguments:
            for part in parts_of(machine, argument.value, frame):
                for route in routes:
                    event = self._event(machine, "use", call, callee, frame)
                    event.route = route
                    if route is None:
                        event.opaque |= {"PATH"}
                    if path is not None:
                        event.spans["PATH"] = path.span
                    event.conditional = part.choice
                    self._describe(machine, event, part, argument.value)
                    machine.emit(owner, event)

    def _is_path(self, machine: Machine, expr: Expr, frame: Frame) -> bool:
        value = value_of(machine.resolver, expr, frame)
        if value.kind in ("string", "template", "env", "either", "regex"):
            return True
        if value.kind == "list":
            return bool(value.items) and all(item.kind in ("string", "template") for item in value.items)
        return getattr(expr, "kind", "") == "regex" or (value.kind == "unknown" and self._names_path(expr))

    def _names_path(self, expr: Expr) -> bool:
        """`app.use(prefix, router)` with a prefix that cannot be read: its name says that it is text."""
        name = expr.name if isinstance(expr, Name | Member) else None
        return name is not None and name.lower().endswith(("path", "prefix", "url", "route_path", "base"))

    def _paths(self, machine: Machine, expr: Expr, frame: Frame) -> list[str | None]:
        value = value_of(machine.resolver, expr, frame)
        if value.kind == "list" and value.complete and value.items:
            return [item.text if item.kind == "string" else None for item in value.items]
        if value.kind in ("string", "regex"):
            return [value.text]
        if getattr(expr, "kind", "") == "regex":
            return [machine.resolver.source(frame, expr.span)]
        return [None]

    def _describe(self, machine: Machine, event: Event, part: Part, written: Expr) -> None:
        """Say what one argument of `use` is."""
        event.handler = handler_name(written)
        event.spans["HANDLER"] = written.span
        event.callee = part.callee
        thing = part.thing
        owner = machine.owner_of(thing)
        if owner is not None:
            event.kind, event.mounted = "mount", owner
            event.callee = None
            return
        headers = headers_of(machine.resolver, part.expr, part.frame, thing)
        event.headers = headers or ()
        if headers is None:
            event.opaque |= {"HEADERS"}
        if isinstance(thing, Definition) and thing.kind == "function":
            self._function(machine, event, thing)
            return
        if part.callee is None:
            event.opaque |= HIDDEN - {"PATH", "METHOD", "HANDLER"}
            return
        if part.callee == "express#static":
            event.kind = "static"
        elif part.callee in ERROR_PACKAGES:
            event.kind, event.arity, event.leaks = "error_handler", 4, ERROR_PACKAGES[part.callee]
        elif isinstance(thing, Definition) and thing.kind != "value":
            event.opaque |= {"KIND", "ARITY", "LEAKS"}
        elif part.callee.startswith("local:"):
            # A local factory whose result could not be read: `app.use(makeHandler())`.
            event.opaque |= HIDDEN - {"PATH", "METHOD", "HANDLER"}

    def _function(self, machine: Machine, event: Event, function: Definition) -> None:
        event.arity = arity(function)
        definition = function.frame.scopes.module.functions[function.index]
        event.is_async = definition.is_async
        names = [target.name or "" for target in definition.parameters]
        if event.arity == 3 and len(names) == 3 and _ERROR.match(names[0]) and _REQUEST.match(names[1]):
            event.takes_error = True
            last = definition.parameters[-1]
            end = (last.annotation_span or last.span)[1]
            event.last_parameter = Value("unknown", "", (last.span[0], end), function.path)
            # What else would be wrong with it once it is one is wrong now: no fix may bring a finding.
            event.leaks, event.told = leaks_and_place(machine.resolver, function)
        if event.arity == 4:
            event.kind = "error_handler"
            event.leaks, event.told = leaks_and_place(machine.resolver, function)
            if event.leaks is None:
                event.opaque |= {"LEAKS"}
            return
        delegated = self._delegated(machine, function)
        if delegated is not None:
            event.callee = delegated

    def _delegated(self, machine: Machine, function: Definition) -> str | None:
        """`app.use((req, res, next) => limiter(req, res, next))` applies the limiter."""
        module = function.frame.scopes.module
        inner = machine.resolver.enter(function, None, None, function.frame.this)
        names = [t.name for t in module.functions[function.index].parameters][:3]
        for statement in module.functions[function.index].body:
            for expr in walk(statement.value):
                if not isinstance(expr, Call) or len(expr.arguments) != 3 or len(names) != 3:
                    continue
                if [a.value.name for a in expr.arguments if isinstance(a.value, Name)] == names:
                    for part in parts_of(machine, expr.callee, inner):
                        if part.callee is not None and not part.callee.startswith("local:"):
                            return part.callee
        return None

    # routes

    def _route_chain(self, machine: Machine, call: Call, callee: Member, frame: Frame) -> bool:
        """`app.route("/x").get(h).post(h)`, also with the route in a variable."""
        if callee.name not in VERBS:
            return False
        thing = machine.resolver.resolve(callee.object, frame)
        for _ in range(MAX_CHAIN):
            if not (isinstance(thing, Definition) and isinstance(thing.expr, Call)):
                return False
            if not isinstance(thing.expr.callee, Member):
                return False
            base = thing.expr.callee
            if base.name == "route" and thing.expr.arguments:
                owner = machine.owner(base.object, thing.frame)
                if owner is None:
                    return False
                self._route(machine, owner, call, callee, frame, thing.expr.arguments[0], call.arguments, base.object)
                return True
            if base.name not in VERBS:
                return False
            thing = machine.resolver.resolve(base.object, thing.frame)
        return False

    def _route(
        self,
        machine: Machine,
        owner: Owner,
        call: Call,
        callee: Member,
        frame: Frame,
        path: Argument,
        handlers: tuple[Argument, ...],
        receiver: Expr | None = None,
    ) -> None:
        name = callee.name or ""
        parts = [part for argument in handlers for part in parts_of(machine, argument.value, frame)]
        span = call.span if receiver is None else (callee.name_span[0], call.span[1])
        for route in self._paths(machine, path.value, frame):
            event = self._event(machine, "route", call, callee, frame)
            event.span = span
            event.method, event.route = name.upper(), route
            event.spans |= {"PATH": path.span, "CALL": call.span}
            if receiver is not None:
                event.app_name = self._app_name(machine, receiver, frame)
            if route is None:
                event.opaque |= {"PATH"}
            if handlers:
                last = handlers[-1].value
                event.handler = handler_name(last)
                event.spans["HANDLER"] = last.span
            if parts:
                self._handled(machine, event, parts)
            machine.emit(owner, event)

    def _handled(self, machine: Machine, event: Event, parts: list[Part]) -> None:
        thing = parts[-1].thing
        if isinstance(thing, Definition) and isinstance(thing.expr, Call) and thing.expr.arguments:
            # `asyncHandler(async (req, res) => …)`
            inner = machine.resolver.settle(machine.resolver.resolve(thing.expr.arguments[-1].value, thing.frame))
            thing = inner if isinstance(inner, Definition) and inner.kind == "function" else thing
        if isinstance(thing, Definition) and thing.kind == "function":
            event.arity = arity(thing)
            event.is_async = thing.frame.scopes.module.functions[thing.index].is_async
        else:
            event.opaque |= {"ARITY", "ASYNC"}
        event.callee = parts[-1].callee
        if event.callee is None:
            event.opaque |= {"CALLEE"}
        event.middleware = tuple(part.callee for part in parts[:-1] if part.callee is not None)
        if any(part.callee is None for part in parts[:-1]):
            event.opaque |= {"MIDDLEWARE"}

    # servers

    def _listening(self, machine: Machine, call: Call, callee: Member, frame: Frame) -> Event:
        event = self._event(machine, "listen", call, callee, frame)
        event.port_value = port_of(machine.resolver, call, frame)
        event.port = literal_port(event.port_value)
        return event

    def _server(self, machine: Machine, call: Call, callee: Member, frame: Frame) -> bool:
        """`http.createServer(app).listen(3000)`."""
        if callee.name != "listen":
            return False
        for option in machine.resolver.options(machine.resolver.resolve(callee.object, frame)):
            if isinstance(option, Definition) and isinstance(option.expr, Call):
                text, _, _ = machine.resolver.callee(option.expr, option.frame)
                if text in SERVERS or text.startswith("local:"):
                    for owner, _ in machine.given(option.expr, option.frame):
                        machine.emit(owner, self._listening(machine, call, callee, frame))
        return False

    def given(self, machine: Machine, call: Call, callee: Thing, frame: Frame) -> None:
        """Record what it may mean that a function outside of the project is given an application."""
        if frame.python:
            return
        text, _, _ = machine.resolver.callee(call, frame)
        if text.startswith(HARMLESS) and not isinstance(callee, Opaque):
            return
        for owner, expr in machine.given(call, frame):
            if owner.framework == "express":
                event = Event("other", frame.path, call.span, machine.statement)
                event.app_name = machine.resolver.source(frame, expr.span)
                event.handler = text
                event.opaque = HIDDEN - {"HANDLER"}
                if isinstance(callee, Opaque) or promises(text):
                    event.opaque |= {"HEADERS"}
                machine.emit(owner, event)

    def decorated(self, machine: Machine, decorator: Expr, function: Definition, frame: Frame) -> None:
        """Express has no decorators."""

    def assigned(self, machine: Machine, target: Target, value: Expr | None, frame: Frame) -> None:
        """Assignments mean nothing to an Express application."""

    def concerns(self, machine: Machine, call: Call, frame: Frame) -> bool:
        """Say whether a call makes an application, or records something on one."""
        if frame.python:
            return False
        text, certain, _ = machine.resolver.callee(call, frame)
        if certain and text in CREATORS:
            return True
        if not isinstance(call.callee, Member) or text.split(".")[0] not in CREATORS:
            return False
        name = call.callee.name
        return name in ("use", "listen") or (name in VERBS and len(call.arguments) > 1)
