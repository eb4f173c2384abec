"""Members of modules, classes and instances.

Contract: the member as the class or module defines it; what is assigned in more than one place, or not here at all, is
`Opaque`. This module must not know of names, calls or packages.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fixaudit.resolve import imports
from fixaudit.resolve.paths import Local
from fixaudit.resolve.things import Definition, Frame, Opaque, Thing
from fixaudit.source.ir import Literal, dotted

if TYPE_CHECKING:
    from fixaudit.resolve.names import Resolver

PROPERTIES = frozenset({"property", "functools.cached_property", "cached_property"})


def module_member(resolver: Resolver, thing: Definition, name: str, steps: int) -> Thing:
    top = thing.frame
    if top.python:
        return imports.python_export(resolver, Local(top.path), name, steps)
    if name == "default" and not any(item.name == "default" for item in top.scopes.exports):
        return thing
    return resolver.export(top, name, steps)


def class_member(resolver: Resolver, thing: Definition, name: str, steps: int) -> Thing:
    tables = thing.frame.scopes
    method = tables.method(thing.index, name)
    if method is not None:
        definition = tables.module.functions[method]
        if any(
            dotted(d) in ("property", "functools.cached_property", "cached_property") for d in definition.decorators
        ):
            inner = Frame(thing.path, tables, method, thing.frame, {}, thing)
            return resolver.returned(inner, steps)
        return Definition("function", thing.frame, method, made=None) if thing.kind == "class" else Definition(
            "function", Frame(thing.path, tables, thing.frame.function, thing.frame.parent,
                              thing.frame.arguments, thing, thing.frame.key, thing.frame.called), method,
        )  # fmt: skip
    values = [
        (value, scope)
        for value, scope in tables.members.get((thing.index, name), ())
        if value is not None and not (isinstance(value, Literal) and value.value is None)
    ]
    things = resolver.each(
        (id(thing.frame), name, thing.index),
        lambda: [resolver.resolve(value, _method_frame(resolver, thing, scope), steps) for value, scope in values],
    )
    if len(things) == 1:
        return things[0]
    if things:
        return Opaque(f"{name} is assigned more than once", tuple(things))
    maker = constructor(thing)
    if thing.made is not None and maker is not None and name in thing.made.arguments:
        return thing.made.arguments[name]
    for base in tables.module.classes[thing.index].bases:
        parent = resolver.resolve(base, thing.frame, steps)
        if isinstance(parent, Definition) and parent.kind == "class":
            found = resolver.member(Definition("instance", parent.frame, parent.index, made=thing.made), name, steps)
            if not isinstance(found, Opaque) or found.alternatives:
                return found
    return Opaque(f"a member {name} that is not assigned here")


def constructor(thing: Definition) -> int | None:
    """Return the function of a class's constructor."""
    return thing.frame.scopes.method(thing.index, "__init__" if thing.frame.python else "constructor")


def _method_frame(resolver: Resolver, thing: Definition, scope: int | None) -> Frame:
    """Return the frame in which a member of an instance was assigned."""
    if scope is None:
        outer = thing.frame
        return replace(outer, this=thing)
    if thing.made is not None and thing.made.function == scope:
        return thing.made
    static = resolver.frame(thing.path, scope)
    if static is None:
        return thing.frame
    return Frame(static.path, static.scopes, scope, static.parent, {}, thing)
