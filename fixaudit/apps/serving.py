"""On which port a server listens, as far as the program says.

Contract: the listening call in; its port as a `Value` out: a literal with its place, "env", or "unknown" where it
cannot be read; None where no port is given. uvicorn listens on 8000 without one (https://www.uvicorn.org/settings/).
This module must not know of applications or events.
"""

from __future__ import annotations

from fixaudit.relations.base import Value
from fixaudit.resolve.names import Resolver, positional
from fixaudit.resolve.things import Frame
from fixaudit.resolve.values import value_of
from fixaudit.source.ir import Call

DEFAULTS = {"uvicorn#run": "8000", "uvicorn#Config": "8000"}
OTHER_WAYS = ("uds", "fd", "unix_socket", "path")
_UNKNOWN = Value("unknown")


def port_of(resolver: Resolver, call: Call, frame: Frame) -> Value | None:
    """Return the port that a call listens on; None when it is given none."""
    return _python(resolver, call, frame) if frame.python else _script(resolver, call, frame)


def literal_port(value: Value | None) -> str | None:
    """Return the port as text when it is one plain literal. Zero means any free port, as tests want it."""
    if value is None or value.kind not in ("number", "string"):
        return None
    return value.text if value.text.isdecimal() and int(value.text) > 0 else None


def default_port(resolver: Resolver, call: Call, frame: Frame) -> str | None:
    """Return the port that is used when none is given."""
    return DEFAULTS.get(resolver.callee(call, frame)[0]) if frame.python else None


def _script(resolver: Resolver, call: Call, frame: Frame) -> Value | None:
    if not call.arguments:
        return None
    first = call.arguments[0]
    if first.spread:
        return _UNKNOWN
    value = value_of(resolver, first.value, frame)
    if value.kind == "object":  # server.listen({ port: 3000, host: "::" })
        return value.entries.get("port", None if value.complete else _UNKNOWN)
    return None if value.kind == "function" else value


def _python(resolver: Resolver, call: Call, frame: Frame) -> Value | None:
    known = {a.keyword: a.value for a in call.arguments if a.keyword is not None}
    if "port" in known:
        return value_of(resolver, known["port"], frame)
    if any(name in known for name in OTHER_WAYS):
        return Value("null", "null")
    listed = positional(call.arguments)
    # Flask's run(host, port); uvicorn's Config(app, host, port).
    method = resolver.callee(call, frame)[0]
    position = 2 if method in DEFAULTS else 1
    if len(listed) > position:
        return value_of(resolver, listed[position].value, frame)
    return _UNKNOWN if any(a.spread for a in call.arguments) else None
