"""Applications, routers and what happens to them: the values that `run` gathers and `flatten` reads.

This module must not know how a program is followed or what a framework's call means.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from fixaudit.relations.base import Value
from fixaudit.source.ir import Span

OwnerId = tuple[str, Span, str]


@dataclass(eq=False)
class Owner:
    """An application or a router: one creating call, in one chain of calls. `prefix` None: it cannot be read."""

    id: OwnerId
    kind: str  # app, router
    framework: str  # express, fastapi, starlette, flask
    language: str
    name: str
    prefix: str | None = ""
    scope: int | None = None  # the function that makes it
    events: list[Event] = field(default_factory=list)

    @property
    def label(self) -> str:
        return f"{self.id[0]}#{self.name.removeprefix('this.').removeprefix('self.')}"


@dataclass(eq=False)
class Event:
    """One thing that a program does to an application or a router. None: cannot be read (named in `opaque`)."""

    kind: str
    path: str  # the file it stands in
    span: Span
    statement: Span
    app_name: str = ""
    method: str | None = None
    route: str | None = None  # the path below its owner
    callee: str | None = None
    handler: str | None = None
    arity: int | None = None
    leaks: str | None = None
    catches: str | None = None
    is_async: bool | None = None
    conditional: bool = False
    repeated: bool = False  # in a loop, or in what is called for each item of a list
    headers: tuple[str, ...] = ()  # security headers that a middleware sets
    port: str | None = None
    port_value: Value | None = None
    takes_error: bool = False  # three parameters, the first named like an error: no error handler to Express
    told: Value | None = None  # the one place where an error handler tells the client the stack trace
    last_parameter: Value | None = None
    mounted: Owner | None = None
    middleware: tuple[str, ...] = ()
    opaque: frozenset[str] = frozenset()
    spans: dict[str, Span] = field(default_factory=dict)
