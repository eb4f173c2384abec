"""Which names a module binds, and where: the tables that `names` looks identifiers up in.

Contract: one `Module` in, tables out; nothing is evaluated and no other file is known. A scope is a function (by its
index in the module) or None for the module's top level; blocks are not scopes, so two `const x` in sibling blocks are
two values of one name, which makes the name ambiguous and never wrong.
This module must not know of paths, packages or values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from fixaudit.source.ir import Export, Expr, FunctionRef, Import, Module, Name, Other, Statement, Target, dotted, walk

ScopeIndex = int | None
Assignment = tuple[Target, Expr | None, Statement, ScopeIndex]


@dataclass
class Binding:
    """Everything that one scope says about one name. More than one entry in all of it makes the name ambiguous."""

    name: str
    scope: ScopeIndex
    parameter: Target | None = None
    values: list[Assignment] = field(default_factory=list)
    functions: list[int] = field(default_factory=list)
    classes: list[int] = field(default_factory=list)
    imports: list[Import] = field(default_factory=list)
    changed: bool = False  # augmented or deleted somewhere


@dataclass(frozen=True, eq=False)
class Scopes:
    """The bindings of a module. `members` holds what is stored on `this`/`self` of a class, by (class, name)."""

    module: Module
    tables: Mapping[ScopeIndex, Mapping[str, Binding]]
    members: Mapping[tuple[int, str], tuple[tuple[Expr | None, ScopeIndex], ...]]
    imports_at: Mapping[tuple[int, int], tuple[Import, ...]]
    exports: tuple[Export, ...]
    field_functions: Mapping[int, int]  # arrow function in a class's field → class: its `this` is the instance

    def lookup(self, name: str, scope: ScopeIndex) -> Binding | None:
        """Find a name from a scope outwards; None when the module does not bind it (a global, a builtin)."""
        current: ScopeIndex = scope
        while True:
            found = self.tables.get(current, {}).get(name)
            if found is not None:
                return found
            if current is None:
                return None
            current = self.module.functions[current].parent

    def owner_class(self, scope: ScopeIndex) -> int | None:
        """Return the class whose `this` or `self` is meant inside a function; None outside of methods."""
        current = scope
        while current is not None:
            function = self.module.functions[current]
            owner = self.owner_of(current)
            if owner is not None:
                return owner
            current = function.parent
        return None

    def owner_of(self, function: int) -> int | None:
        """Return the class that a function is a method of, or stands in a field of."""
        owner = self.module.functions[function].owner
        return self.field_functions.get(function) if owner is None else owner

    def method(self, index: int, name: str) -> int | None:
        """Return the function of a class's method."""
        functions = self.module.functions
        return next((i for i in self.module.classes[index].methods if functions[i].name == name), None)


def bodies(module: Module) -> Iterator[tuple[ScopeIndex, tuple[Statement, ...]]]:
    """Yield every statement list with its scope: the top level first, then functions by index."""
    yield None, module.body
    for index, function in enumerate(module.functions):
        yield index, function.body


def index(module: Module) -> Scopes:
    """Build the tables of a module."""
    tables: dict[ScopeIndex, dict[str, Binding]] = {None: {}}
    for i in range(len(module.functions)):
        tables[i] = {}
    python = module.language == "python"

    def bind(scope: ScopeIndex, name: str) -> Binding:
        return tables[scope].setdefault(name, Binding(name, scope))

    members: dict[tuple[int, str], list[tuple[Expr | None, ScopeIndex]]] = {}
    imports_at: dict[tuple[int, int], list[Import]] = {}
    for item in module.imports:
        if item.local is not None and not item.type_only:
            bind(item.scope, item.local).imports.append(item)
        imports_at.setdefault(item.statement, []).append(item)
    for i, function in enumerate(module.functions):
        for parameter in function.parameters:
            if parameter.name is not None:
                bind(i, parameter.name).parameter = parameter
    for scope, body in bodies(module):
        for statement in body:
            if statement.kind == "function" and statement.index is not None:
                name = module.functions[statement.index].name
                if name is not None:
                    bind(scope, name).functions.append(statement.index)
            elif statement.kind == "class" and statement.index is not None:
                name = module.classes[statement.index].name
                if name is not None:
                    bind(scope, name).classes.append(statement.index)
            elif statement.kind == "declare" or (python and statement.kind == "assign"):
                for target in statement.targets:
                    if target.name is not None and target.name not in _imported(module, scope, statement):
                        bind(scope, target.name)
    fields = _field_functions(module)
    scopes = Scopes(module, tables, {}, {}, (), fields)
    for scope, body in bodies(module):
        for statement in body:
            _store(scopes, members, scope, statement)
    for index_, class_ in enumerate(module.classes):
        for field_ in class_.fields:
            for target in field_.targets:
                if target.name is not None:
                    members.setdefault((index_, target.name), []).append((field_.value, None))
    return Scopes(
        module,
        tables,
        {key: tuple(values) for key, values in members.items()},
        {key: tuple(values) for key, values in imports_at.items()},
        (*module.exports, *_chained_exports(module)),
        fields,
    )


def _field_functions(module: Module) -> dict[int, int]:
    return {
        part.index: index
        for index, class_ in enumerate(module.classes)
        for statement in class_.fields
        for part in walk(statement.value)
        if isinstance(part, FunctionRef)
    }


def _chained_exports(module: Module) -> Iterator[Export]:
    """Yield what `const app = module.exports = express()` exports besides what it declares."""
    for statement in module.body:
        value = statement.value
        while isinstance(value, Other) and value.kind == "assignment_expression" and len(value.parts) == 2:
            place = dotted(value.parts[0]) or ""
            if place == "module.exports":
                yield Export(statement.span, "default", value.parts[1])
            elif place.startswith(("module.exports.", "exports.")):
                yield Export(statement.span, place.rsplit(".", 1)[1], value.parts[1])
            value = value.parts[1]


def _imported(module: Module, scope: ScopeIndex, statement: Statement) -> frozenset[str]:
    """Names that a `const x = require("x")` statement binds by import rather than by value."""
    return frozenset(
        item.local for item in module.imports if item.statement == statement.span and item.local is not None
    )


def _store(
    scopes: Scopes,
    members: dict[tuple[int, str], list[tuple[Expr | None, ScopeIndex]]],
    scope: ScopeIndex,
    statement: Statement,
) -> None:
    module = scopes.module
    if statement.kind not in ("declare", "assign", "augment", "delete"):
        return
    imported = _imported(module, scope, statement)
    for target in statement.targets:
        if target.member is not None:
            owner = scopes.owner_class(scope)
            holder = target.member.object
            if (
                owner is not None
                and target.member.name is not None
                and isinstance(holder, Name)
                and holder.name in ("this", "self", "cls")
                and statement.kind != "delete"
            ):
                members.setdefault((owner, target.member.name), []).append((statement.value, scope))
            continue
        if target.name is None or target.name in imported:
            continue
        binding = scopes.lookup(target.name, scope)
        if binding is None:
            continue
        if statement.kind in ("augment", "delete"):
            binding.changed = True
        elif statement.kind == "assign" or statement.value is not None:
            binding.values.append((target, statement.value, statement, scope))


def expressions(statement: Statement) -> Iterator[Expr]:
    """Yield every expression of a statement, parents first; inline functions are not entered."""
    for target in statement.targets:
        if target.member is not None:
            yield from walk(target.member)
        yield from walk(target.default)
    yield from walk(statement.value)
