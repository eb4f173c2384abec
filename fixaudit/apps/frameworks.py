"""What `run` asks of a framework, and how both frameworks describe what they are handed.

This module must not know any package's name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from fixaudit.resolve.things import Definition, Frame, Opaque, Package, Thing
from fixaudit.source.ir import Call, Expr, FunctionRef, Name, Sequence, Target, dotted

if TYPE_CHECKING:
    from fixaudit.apps.model import Owner
    from fixaudit.apps.owners import Registry
    from fixaudit.apps.run import Machine


class Framework(Protocol):
    """The meaning of calls on applications of one framework.

    `kinds`: canonical name of what makes an application or router → (app or router, framework). `methods`: names of
    methods that record something.
    """

    kinds: Mapping[str, tuple[str, str]]
    methods: frozenset[str]

    def owner(self, machine: Registry, call: Call, frame: Frame) -> Owner | None:
        """Return the application or router that a call makes or gives back."""

    def call(self, machine: Machine, call: Call, frame: Frame) -> bool:
        """Record what a call does to an application; False when it is not this framework's business."""

    def given(self, machine: Machine, call: Call, callee: Thing, frame: Frame) -> None:
        """Record what it may mean that a function outside of the project is given an application."""

    def decorated(self, machine: Machine, decorator: Expr, function: Definition, frame: Frame) -> None:
        """Record what a decorator makes of a function."""

    def assigned(self, machine: Machine, target: Target, value: Expr | None, frame: Frame) -> None:
        """Record what an assignment does to an application."""

    def concerns(self, machine: Machine, call: Call, frame: Frame) -> bool:
        """Say whether a call makes an application, or records something on one."""


@dataclass(frozen=True)
class Part:
    """One thing handed to an application: a middleware, handler or router. `thing` is Opaque when hidden."""

    expr: Expr
    frame: Frame
    thing: Thing
    callee: str | None  # canonical text, None when it is not certain
    choice: bool = False  # one of several that it may be


def parts_of(machine: Machine, expr: Expr, frame: Frame, depth: int = 5) -> Iterator[Part]:
    """Flatten an argument: arrays, spreads, variables that hold arrays, functions that return them."""
    if isinstance(expr, Sequence):
        for item in expr.items:
            yield from parts_of(machine, item, frame, depth - 1)
        return
    spread = getattr(expr, "parts", ())
    if getattr(expr, "kind", "") == "spread_element" and spread:
        yield from parts_of(machine, spread[0], frame, depth - 1)
        return
    resolver = machine.resolver
    thing = resolver.settle(resolver.resolve(expr, frame))
    options = list(resolver.options(thing))
    for option in options:
        if isinstance(option, Definition) and isinstance(option.expr, Sequence) and depth:
            for item in option.expr.items:
                yield from parts_of(machine, item, option.frame, depth - 1)
            continue
        yield Part(expr, frame, option, _callee(machine, expr, frame, option), len(options) > 1)


def _callee(machine: Machine, expr: Expr, frame: Frame, option: Thing) -> str | None:
    if isinstance(option, Opaque):
        return None
    if isinstance(option, Package):
        return option.text
    if isinstance(option.expr, Call):
        text, certain, thing = machine.resolver.callee(option.expr, option.frame)
        # The result of a local function that could not be read may be anything, helmet's middleware included.
        hidden = isinstance(thing, Definition) and thing.kind == "function" and not thing.name
        return text if certain and not hidden else None
    if option.kind in ("function", "class", "instance"):
        return option.text
    return None


def handler_name(expr: Expr) -> str:
    """Return how a handler is written: its name, or "" for an inline function."""
    if isinstance(expr, FunctionRef):
        return ""
    if isinstance(expr, Call):
        return handler_name(expr.arguments[0].value) if expr.arguments else dotted(expr.callee) or ""
    return dotted(expr) or ""


def arity(function: Definition) -> int | None:
    """Return a function's parameter count as Express sees it (`fn.length`): up to the first default or rest."""
    definition = function.frame.scopes.module.functions[function.index]
    count = 0
    covered = -1
    for target in definition.parameters:
        if target.span[0] < covered:
            continue
        if target.default is not None or target.path == ("...",):
            break
        count += 1
        covered = target.span[1] if target.name is None else -1
    if definition.has_rest and count == len(definition.parameters) and count:
        count -= 1
    return count


def is_name(expr: Expr, name: str) -> bool:
    return isinstance(expr, Name) and expr.name == name
