"""Follow imports and exports from file to file, in JavaScript and in Python.

Contract: an import costs two steps and a re-export one; what would cost more than is left is `Opaque`. CommonJS and
ES modules meet as Node and the bundlers let them: `module.exports` is the default export, and its members are named
exports. This module must not know what expressions mean; `names.Resolver` reads them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fixaudit.resolve.paths import External, Hidden, Local
from fixaudit.resolve.scopes import Binding
from fixaudit.resolve.things import Definition, Frame, Opaque, Package, Thing
from fixaudit.source.ir import Export, Import, Name

if TYPE_CHECKING:
    from fixaudit.resolve.names import Resolver

IMPORT_COST, REEXPORT_COST = 2, 1


def imported(resolver: Resolver, item: Import, frame: Frame, steps: int, cost: int = IMPORT_COST) -> Thing:
    """Follow one import."""
    if frame.python:
        return _imported_python(resolver, item, frame, steps, cost)
    place = resolver.locator.place(frame.path, item.module, python=False)
    match place:
        case External(name=name):
            return Package(name, item.export)
        case Hidden(reason=reason):
            return Opaque(reason)
        case Local(path=path):
            if steps < cost:
                return Opaque("more than one import away")
            top = resolver.frame(path)
            if top is None:
                return Opaque(f"{path} cannot be read")
            if item.export == "*":
                return Definition("module", top)
            return export(resolver, top, item.export, steps - cost)


def _imported_python(resolver: Resolver, item: Import, frame: Frame, steps: int, cost: int) -> Thing:
    place = resolver.locator.place(frame.path, item.module, python=True)
    whole = item.form != "from" and item.export == "*"
    if isinstance(place, Hidden):
        return Opaque(place.reason)
    if isinstance(place, External):
        if whole:
            siblings = (i.dotted for i in frame.scopes.module.imports if i.local == item.local and i.dotted)
            if item.dotted and item.local != item.module.split(".")[0]:
                return Package(item.dotted, "*", (), True)
            return Package(place.name, "*", (), True, tuple(siblings))
        return Package(place.name, item.export, (), True)
    if steps < cost:
        return Opaque("more than one import away")
    if whole:
        return _python_module(resolver, place)
    return python_export(resolver, place, item.export, steps - cost)


def _python_module(resolver: Resolver, place: Local) -> Thing:
    if place.directory:
        return Opaque(f"the namespace package {place.path}")
    top = resolver.frame(place.path)
    return Definition("module", top) if top is not None else Opaque(f"{place.path} cannot be read")


def python_export(resolver: Resolver, place: Local, name: str, steps: int) -> Thing:
    if not place.directory:
        top = resolver.frame(place.path)
        if top is None:
            return Opaque(f"{place.path} cannot be read")
        binding = top.scopes.tables[None].get(name)
        if binding is not None:
            return _exported_binding(resolver, binding, top, steps)
    inner = resolver.locator.submodule(place, name)
    if inner is not None:
        return _python_module(resolver, inner)
    if not place.directory and steps >= REEXPORT_COST:
        top = resolver.frame(place.path)
        for item in top.scopes.module.imports if top is not None else ():
            if item.form == "from" and item.export == "*" and top is not None:
                target = resolver.locator.place(top.path, item.module, python=True)
                if isinstance(target, Local):
                    found = python_export(resolver, target, name, steps - REEXPORT_COST)
                    if not isinstance(found, Opaque):
                        return found
    return Opaque(f"{place.path} has no {name}")


def _exported_binding(resolver: Resolver, binding: Binding, top: Frame, steps: int) -> Thing:
    if binding.imports and not binding.values:
        return imported(resolver, binding.imports[0], top, steps, REEXPORT_COST)
    return resolver.binding(binding, top, steps)


def export(resolver: Resolver, top: Frame, name: str, steps: int) -> Thing:
    """Return what a JavaScript file exports under a name."""
    exports = top.scopes.exports
    for item in reversed(exports):
        if item.name == name:
            return _exported(resolver, item, top, steps)
    for item in exports:
        if item.name == "*" and item.module is not None and name != "default" and steps >= REEXPORT_COST:
            place = resolver.locator.place(top.path, item.module, python=False)
            if isinstance(place, Local):
                target = resolver.frame(place.path)
                found = export(resolver, target, name, steps - REEXPORT_COST) if target else Opaque("unreadable")
                if not isinstance(found, Opaque):
                    return found
    commonjs = top.scopes.module.system != "esm"
    if name == "default":
        return Definition("module", top) if commonjs else Opaque(f"{top.path} has no default export")
    if commonjs and any(item.name == "default" for item in exports):
        return resolver.member(export(resolver, top, "default", steps), name, steps)
    return Opaque(f"{top.path} does not export {name}")


def _exported(resolver: Resolver, item: Export, top: Frame, steps: int) -> Thing:
    if item.module is None:
        if item.value is None:
            return Opaque(f"{item.name} is exported without a value")
        if isinstance(item.value, Name):
            binding = top.scopes.tables[None].get(item.value.name)
            if binding is not None:
                return _exported_binding(resolver, binding, top, steps)
        return resolver.resolve(item.value, top, steps)
    place = resolver.locator.place(top.path, item.module, python=False)
    original = item.value.name if isinstance(item.value, Name) else item.name
    if isinstance(place, External):
        return Package(place.name, original)
    if isinstance(place, Hidden) or steps < REEXPORT_COST:
        return Opaque(place.reason if isinstance(place, Hidden) else "more than one re-export away")
    target = resolver.frame(place.path)
    if target is None:
        return Opaque(f"{place.path} cannot be read")
    if original == "*":
        return Definition("module", target)
    return export(resolver, target, original, steps - REEXPORT_COST)
