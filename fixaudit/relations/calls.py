"""Relation `call`: every call, with its callee resolved through imports and its arguments evaluated.

Contract: CALLEE is "package#export" with members ("express#default", "sqlalchemy#create_engine", "pg#Pool.query" for
a method of what a package's call made), "local:path#name" for the project's own functions, a dotted name for globals,
and the callee's text otherwise. It is opaque only where it is imported from the project and could not be followed.
A class that a call registers (`app.add_middleware(CORSMiddleware, …)`, `Middleware(CORSMiddleware, …)`) has a row of
its own, with the options that it will be made with.
This module must not know of rules.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fixaudit.facts import Facts, SourceFile
from fixaudit.relations.base import Column, RootRelation, Row, Scalar, Value
from fixaudit.relations.linked import LANGUAGES, per_file
from fixaudit.relations.routing import WORDS as ROUTE_WORDS
from fixaudit.relations.routing import functions_in, handler_functions, registrations
from fixaudit.resolve.names import Resolver
from fixaudit.resolve.scopes import ScopeIndex
from fixaudit.resolve.sites import Site, sites
from fixaudit.resolve.things import Definition, Frame, Opaque, Package
from fixaudit.resolve.values import value_of
from fixaudit.source.ir import Argument, Call, Expr, Member, Name, Object, Span, Statement, dotted, in_damage, parts

COLUMNS = {
    "CALLEE": Column("text", "package#export.member, local:path#name, a global's dotted name, or the callee's text."),
    "NAME": Column("text", "The callee as written."),
    "METHOD": Column("text", "The last name of the callee: `query` of pool.query(…)."),
    "NEW": Column("flag", "Written with `new`."),
    "ASSIGNED": Column("text", "The name or member that the result is bound to; null for none."),
    "TOP_LEVEL": Column("flag", "Runs when the module is loaded, not inside of a function."),
    "IN_HANDLER": Column("flag", "Runs for each request: in a handler, middleware, dependency or what they call."),
    "CACHED": Column("flag", "In a function that is cached (lru_cache) or keeps its result outside of itself."),
    "LANGUAGE": Column("text", "Language of the file.", LANGUAGES),
}

REGISTERED = frozenset({"add_middleware", "Middleware"})
CACHES = re.compile(r"(^|\.)(lru_cache|cache|cached|alru_cache|cached_property|singleton|once|cache_resource)$")
MAX_SPAN = 400  # characters of a callee's text that a row shows


@dataclass(frozen=True)
class _Found:
    """One call with what linking needs: functions around it, innermost first, and the local function it calls."""

    row: Row | None
    within: tuple[tuple[str, int], ...] = ()
    target: tuple[str, int] | None = None
    handlers: tuple[tuple[str, int], ...] = ()


def _compute(resolver: Resolver, file: SourceFile, frame: Frame) -> Sequence[_Found]:
    found: list[_Found] = []
    frames: dict[ScopeIndex, Frame] = {}
    for site in sites(frame.scopes.module):
        if site.scope not in frames:
            frames[site.scope] = resolver.frame(file.path, site.scope) or frame
        for call in _calls(site.expr):
            found += _describe(resolver, call, site, frames[site.scope])
    if any(word in file.data for word in ROUTE_WORDS) or b"Depends" in file.data:
        found.append(_Found(None, handlers=tuple(sorted(set(_handlers(resolver, frame))))))
    found.sort(key=lambda item: item.row.span if item.row is not None else (0, 0))
    return found


def _calls(expr: Expr) -> Iterator[Call]:
    stack = [expr]
    while stack:
        current = stack.pop()
        if isinstance(current, Call):
            yield current
        stack.extend(parts(current))


def _within(frame: Frame, scope: ScopeIndex) -> tuple[tuple[str, int], ...]:
    found = []
    while scope is not None:
        found.append((frame.path, scope))
        scope = frame.scopes.module.functions[scope].parent
    return tuple(found)


def _describe(resolver: Resolver, call: Call, site: Site, frame: Frame) -> Iterator[_Found]:
    text, certain, thing = resolver.callee(call, frame)
    within = _within(frame, site.scope)
    target = (thing.path, thing.index) if isinstance(thing, Definition) and thing.kind == "function" else None
    opaque = () if certain or not _hidden(resolver, call.callee, frame) else ("CALLEE",)
    row = _row(resolver, call, site, frame, text, opaque, call.callee, call.arguments)
    yield _Found(row, within, target)
    method = call.callee.name if isinstance(call.callee, Name | Member) else None
    if frame.python and method in REGISTERED and call.arguments:
        first = call.arguments[0]
        if isinstance(first.value, Name | Member) and not first.spread:
            name, sure, _ = resolver.named(first.value, frame)
            hidden = () if sure or not _hidden(resolver, first.value, frame) else ("CALLEE",)
            inner = _row(resolver, call, site, frame, name, hidden, first.value, call.arguments[1:])
            yield _Found(inner, within)


def _hidden(resolver: Resolver, callee: Expr, frame: Frame) -> bool:
    """Whether a callee is imported from the project's own files and could not be followed there."""
    depth = 0
    while isinstance(callee, Member):
        callee, depth = callee.object, depth + 1
    if not isinstance(callee, Name) or depth > 1:
        return False
    binding = frame.scopes.lookup(callee.name, frame.function)
    if binding is None or not binding.imports:
        return False
    thing = resolver.resolve(callee, frame)
    if not isinstance(thing, Opaque):
        return False
    # `logger.info(…)`: a method of something that a file of the project makes is no export of a package.
    made_here = any(_located(resolver, item.module, frame) for item in binding.imports)
    return depth == 0 or not made_here or any(isinstance(item, Package) for item in thing.alternatives)


def _located(resolver: Resolver, specifier: str, frame: Frame) -> bool:
    place = resolver.locator.place(frame.path, specifier, frame.python)
    return isinstance(getattr(place, "path", None), str)


def _row(
    resolver: Resolver,
    call: Call,
    site: Site,
    frame: Frame,
    text: str,
    opaque: tuple[str, ...],
    callee: Expr,
    arguments: tuple[Argument, ...],
) -> Row:
    module = frame.scopes.module
    listed, options, literal = _evaluated(resolver, arguments, frame)
    name = resolver.source(frame, callee.span)
    spans: dict[str, Span] = {"CALL": call.span, "CALLEE": callee.span, "ARGUMENTS": call.arguments_span}
    if literal is not None:
        spans["OPTIONS"] = literal
    values: dict[str, Scalar] = {
        "CALLEE": text if len(text) <= MAX_SPAN else text[:MAX_SPAN],
        "NAME": name if len(name) <= MAX_SPAN else name[:MAX_SPAN],
        "METHOD": callee.name if isinstance(callee, Name | Member) else None,
        "NEW": call.new,
        "ASSIGNED": _assigned(resolver, call, site, frame),
        "TOP_LEVEL": site.scope is None,
        "IN_HANDLER": False,
        "CACHED": _cached(resolver, call, site, frame),
        "LANGUAGE": module.language,
    }
    if module.damage and in_damage(module, call.span):
        opaque = ("*", *opaque)
    return Row(frame.path, call.span, values, spans, opaque, {"argument": listed, "option": options})


def _evaluated(resolver: Resolver, arguments: tuple[Argument, ...], frame: Frame) -> tuple[Value, Value, Span | None]:
    """Return (positional arguments, options, span of the literal that holds the options)."""
    items: list[Value] = []
    complete = True
    entries: dict[str, Value] = {}
    sure = True
    for argument in arguments:
        if argument.keyword is not None:
            entries[argument.keyword] = value_of(resolver, argument.value, frame)
        elif argument.spread:
            inner = value_of(resolver, argument.value, frame)
            if inner.kind == "object":  # **options
                entries.update(inner.entries)
                sure = sure and inner.complete
            elif inner.kind == "list" and inner.complete and complete:
                items += inner.items
            else:
                complete = sure = False
        elif complete:
            items.append(value_of(resolver, argument.value, frame))
    place = (arguments[0].span[0], arguments[-1].span[1]) if arguments else (0, 0)
    listed = Value("list", "", place, frame.path, tuple(items), complete=complete)
    if frame.python:
        return listed, Value("object", "", place, frame.path, (), entries, sure), None
    return listed, *_script_options(items, arguments, complete, frame)


def _script_options(
    items: list[Value], arguments: tuple[Argument, ...], complete: bool, frame: Frame
) -> tuple[Value, Span | None]:
    """The options of a JavaScript call are its last object; without one, none are given, unless one may be hidden."""
    for position in range(len(items) - 1, -1, -1):
        value = items[position]
        if value.kind == "object":
            written = arguments[position].value if position < len(arguments) else None
            return value, written.span if isinstance(written, Object) else None
        if value.kind == "either" and any(item.kind == "object" for item in value.items):
            return Value("unknown", "", value.span, frame.path), None
    if not complete or any(item.kind in ("unknown", "call", "either") for item in items):
        return Value("unknown"), None
    return Value("object", "", (0, 0), frame.path), None


def _assigned(resolver: Resolver, call: Call, site: Site, frame: Frame) -> str | None:
    statement = site.statement
    if statement is None or statement.value is not call or not statement.targets:
        return None
    target = statement.targets[0]
    if target.name is not None:
        return target.name
    return resolver.source(frame, target.member.span) if target.member is not None else None


def _cached(resolver: Resolver, call: Call, site: Site, frame: Frame) -> bool:
    module = frame.scopes.module
    scope = site.scope
    while scope is not None:
        function = module.functions[scope]
        for decorator in function.decorators:
            inner = decorator.callee if isinstance(decorator, Call) else decorator
            if CACHES.search(dotted(inner) or ""):
                return True
        scope = function.parent
    statement = site.statement
    if site.scope is None or statement is None:
        return False
    if _kept_later(statement, site.scope, frame) or _returns_early(statement, site.scope, frame):
        return True
    if statement.kind not in ("assign", "augment"):
        return False
    guarded = statement.kind == "augment" or any(guard[0] == "if" for guard in statement.guards)
    for target in statement.targets:
        if target.member is not None:
            # `if (!global.prisma) global.prisma = …`, `this.pool ??= …`, `if self._engine is None: self._engine = …`
            return guarded
        if target.name is not None:
            binding = frame.scopes.lookup(target.name, site.scope)
            outer = binding is not None and binding.scope != site.scope
            if outer and (guarded or _falls_back(call, site)):
                return True
    # `global engine` in Python: an assignment in the function to a name that the module binds as well.
    if frame.python and guarded:
        top = frame.scopes.tables[None]
        return any(target.name is not None and target.name in top for target in statement.targets)
    return False


def _kept_later(statement: Statement, scope: int, frame: Frame) -> bool:
    """`const pool = new Pool(); pools[tenant] = pool;` or `pools.set(tenant, pool)`, with `pools` outside."""
    names = {target.name for target in statement.targets if target.name is not None}
    for other in frame.scopes.module.functions[scope].body if names else ():
        if other.span[0] < statement.span[1]:
            continue
        if isinstance(other.value, Name) and other.value.name in names:
            for target in other.targets:
                holder = target.member.object if target.member is not None else None
                if holder is not None and _is_outside(holder, scope, frame):
                    return True
                if target.name is not None and _is_outside(Name(target.span, target.name), scope, frame):
                    return True
        if isinstance(other.value, Call) and isinstance(other.value.callee, Member):
            stored = [argument.value for argument in other.value.arguments[1:]]
            stores = other.value.callee.name in ("set", "setdefault")
            if stores and any(isinstance(value, Name) and value.name in names for value in stored):
                return _is_outside(other.value.callee.object, scope, frame)
    return False


def _is_outside(holder: Expr, scope: int, frame: Frame) -> bool:
    """Whether something outlives one call of the function: a name of an outer scope, a member of `this` or `self`."""
    while isinstance(holder, Member):
        holder = holder.object
    if not isinstance(holder, Name):
        return False
    if holder.name in ("this", "self", "cls", "global", "globalThis"):
        return True
    binding = frame.scopes.lookup(holder.name, scope)
    return binding is not None and binding.scope != scope


def _returns_early(statement: Statement, scope: int, frame: Frame) -> bool:
    """`if (pool) return pool; pool = new Pool();`, with `pool` outside of the function."""
    if statement.kind not in ("assign", "augment"):
        return False
    for target in statement.targets:
        kept = target.member if target.member is not None else Name(target.span, target.name or "")
        written = dotted(kept)
        top = frame.scopes.tables[None]
        outside = _is_outside(kept, scope, frame) or (frame.python and written in top)
        for other in frame.scopes.module.functions[scope].body if outside else ():
            early = other.kind == "return" and other.span[1] <= statement.span[0] and other.guards
            if early and dotted(other.value) == written:
                return True
    return False


def _falls_back(call: Call, site: Site) -> bool:
    """`client = client || new Client()`."""
    return getattr(site.expr, "op", "") == "or" and getattr(site.expr, "right", None) is call


def _handlers(resolver: Resolver, frame: Frame) -> Iterator[tuple[str, int]]:
    """Yield the functions that a file registers to answer requests: handlers, middleware, dependencies."""
    for found in registrations(resolver, frame):
        for thing in handler_functions(resolver, found):
            yield thing.path, thing.index
    module = frame.scopes.module
    for site in sites(module):
        at = resolver.frame(frame.path, site.scope) or frame
        for call in _calls(site.expr):
            name = call.callee.name if isinstance(call.callee, Name | Member) else None
            if name in ("Depends", "Security") or (name == "use" and isinstance(call.callee, Member)):
                for argument in call.arguments:
                    for thing in functions_in(resolver, argument.value, at):
                        yield thing.path, thing.index
    for function in module.functions:
        for target in function.parameters:
            for name in re.findall(r"(?:Depends|Security)\(\s*(\w+)", target.annotation or ""):
                at = resolver.frame(frame.path, function.parent) or frame
                for thing in functions_in(resolver, Name((0, 0), name), at):
                    yield thing.path, thing.index


# Linking


def _link(facts: Facts) -> Iterable[Row]:
    found = per_file(facts, "call:2", (), _compute)
    roots = {handler for item in found for handler in item.handlers}
    called: dict[tuple[str, int], list[tuple[str, int]]] = {}
    for item in found:
        if item.target is not None:
            for function in item.within:
                called.setdefault(function, []).append(item.target)
    reached: set[tuple[str, int]] = set()
    stack = list(roots)
    while stack:
        function = stack.pop()
        if function not in reached:
            reached.add(function)
            stack += called.get(function, ())
    for item in found:
        if item.row is None:
            continue
        if reached and not reached.isdisjoint(item.within):
            row = item.row
            yield Row(row.path, row.span, {**row.values, "IN_HANDLER": True}, row.spans, row.opaque, row.nested)
        else:
            yield item.row


def _rows(facts: Facts, options: Mapping[str, Any]) -> Sequence[Row]:
    return list(_link(facts))


RELATIONS = (
    RootRelation(
        "call",
        "Calls with resolved callees and evaluated arguments. Nested: `argument` (positional, by position) and "
        "`option` (JavaScript: entries of the last object; Python: keyword arguments).",
        COLUMNS,
        _rows,
        nested=("argument", "option"),
    ),
)
