"""Reads of environment variables in one file, each spelling in its place.

Contract: one file in, rows of `env_read` out; a computed key that is a parameter marks its function as a helper, in
the row's nested value "helper", for `env_reads` to link. This module must not know of other files' reads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fixaudit.facts import SourceFile
from fixaudit.relations.base import Row, Scalar, Value
from fixaudit.relations.env_schemas import schema_reads
from fixaudit.relations.linked import marked
from fixaudit.resolve.names import Resolver, positional
from fixaudit.resolve.settings import settings_of
from fixaudit.resolve.sites import Site, sites
from fixaudit.resolve.things import Definition, Frame, Package, Thing
from fixaudit.resolve.values import value_of
from fixaudit.source.ir import Call, Expr, Literal, Logical, Member, Name, Object, Other, Span, parts

ROOTS = frozenset({"process.env", "process#env", "import.meta.env", "Bun.env"})
PYTHON_ROOTS = frozenset({"os#environ", "os#environb"})
NOT_KEYS = frozenset({"hasOwnProperty", "toString", "constructor", "get", "toObject"})

# Calls whose first argument is a key: canonical callee → keyword or position of the default.
HELPERS: Mapping[str, str | int | None] = {
    "os#getenv": 1,
    "os#environ.get": 1,
    "os#environ.pop": 1,
    "os#environ.setdefault": 1,
    "decouple#config": "default",
    "decouple#AutoConfig": "default",
    "env-var#get": None,
    "starlette.config#Config": "default",
    "environs#Env": "default",
    "environ#Env": "default",
    "environs#env": "default",
    "Deno.env.get": None,
}
INSTANCES = frozenset({"decouple#AutoConfig", "starlette.config#Config", "environs#Env", "environ#Env"})


@dataclass
class Reads:
    """The reads of one file. A computed key that is a parameter marks its function as a helper."""

    file: SourceFile
    frame: Frame
    rows: list[Row] = field(default_factory=list)

    def add(
        self, key: str | None, form: str, span: Span, default: str | None, required: bool, key_span: Span | None = None
    ) -> None:
        values: dict[str, Scalar] = {
            "KEY": key,
            "DEFAULT": default,
            "FORM": form,
            "REQUIRED": required,
            "LISTEN": False,
            "LANGUAGE": self.frame.scopes.module.language,
        }
        spans = {"READ": span} | ({"KEY": key_span} if key_span is not None else {})
        self.rows.append(Row(self.file.path, span, values, spans, () if key is not None else ("KEY",)))


def reads_of_file(resolver: Resolver, file: SourceFile, frame: Frame) -> Sequence[Row]:
    reads = Reads(file, frame)
    for site in sites(frame.scopes.module):
        at = resolver.frame(file.path, site.scope) or frame
        _destructured(resolver, reads, site, at)
        _walk(resolver, reads, site, site.expr, at, ())
    if frame.python and b"Settings" in file.data:
        for index in range(len(frame.scopes.module.classes)):
            for setting in settings_of(resolver, frame, index):
                if setting.frame.path == file.path:
                    default = text_of(resolver, setting.default, setting.frame)
                    reads.add(setting.key, "field", setting.span, default, setting.required)
    rows = [marked(row, frame.scopes.module) for row in set_of(reads.rows)]
    return sorted(rows, key=lambda row: row.span)


def set_of(rows: list[Row]) -> list[Row]:
    """Drop rows that say the same of the same place."""
    found: dict[tuple[Span, Any, Any], Row] = {}
    for row in rows:
        found.setdefault((row.span, row.values["KEY"], row.values["FORM"]), row)
    return list(found.values())


def text_of(resolver: Resolver, expr: Expr | None, frame: Frame) -> str | None:
    if expr is None:
        return None
    if isinstance(expr, Literal):
        return "" if expr.value is None else str(expr.value) if isinstance(expr.value, str) else expr.text
    return resolver.source(frame, expr.span)


def is_root(thing: Thing) -> bool:
    """Say whether a thing is the whole environment."""
    return isinstance(thing, Package) and (thing.text in ROOTS or (thing.python and thing.text in PYTHON_ROOTS))


def is_environment(resolver: Resolver, expr: Expr, frame: Frame) -> bool:
    """Say whether an expression is the whole environment, or a copy of it."""
    if isinstance(expr, Object) and len(expr.entries) == 1 and expr.entries[0].key is None:
        value = expr.entries[0].value
        return isinstance(value, Other) and any(is_environment(resolver, part, frame) for part in value.parts)
    if not isinstance(expr, Name | Member):
        return False
    return is_root(resolver.resolve(expr, frame))


def _destructured(resolver: Resolver, reads: Reads, site: Site, frame: Frame) -> None:
    statement = site.statement
    if statement is None or statement.value is not site.expr or statement.kind not in ("declare", "assign"):
        return
    paths = [target for target in statement.targets if target.path]
    if not paths or not is_environment(resolver, site.expr, frame):
        # `const { env: { PORT } } = process`
        if not (isinstance(site.expr, Name) and site.expr.name == "process"):
            return
        paths = [replace_path(target) for target in paths if target.path[0] == "env" and len(target.path) > 1]
    for target in paths:
        if len(target.path) == 1 and target.path[0] != "...":
            default = text_of(resolver, target.default, frame)
            reads.add(target.path[0], "destructure", target.span, default, default is None, target.span)


def replace_path(target: Any) -> Any:
    """Return a target one step further inside of what it destructures."""
    import msgspec

    return msgspec.structs.replace(target, path=target.path[1:])


def _walk(resolver: Resolver, reads: Reads, site: Site, expr: Expr, frame: Frame, parents: tuple[Expr, ...]) -> None:
    match expr:
        case Member():
            if not (site.written is expr and not parents) and _member(resolver, reads, site, expr, frame, parents):
                return
        case Call():
            if _call(resolver, reads, site, expr, frame, parents):
                return
    for part in parts(expr):
        _walk(resolver, reads, site, part, frame, (*parents, expr))


def _member(
    resolver: Resolver, reads: Reads, site: Site, expr: Member, frame: Frame, parents: tuple[Expr, ...]
) -> bool:
    holder = resolver.resolve(expr.object, frame) if isinstance(expr.object, Name | Member) else None
    if holder is None or not is_root(holder):
        return False
    assert isinstance(holder, Package)
    if frame.python and not expr.computed:
        return False
    if _written_by(expr, parents):
        return True
    form = "meta" if holder.text == "import.meta.env" else "member"
    if expr.name is None:
        if expr.key is not None:
            value = value_of(resolver, expr.key, frame)
            key = value.text if value.kind == "string" else None
            default = _default(resolver, expr, parents, frame)
            required = default is None and (frame.python or not _tested(expr, parents, site))
            reads.add(key, form, expr.span, default, required, expr.key.span)
            if key is None:
                helper = _helper_of(expr.key, frame)
                if helper is not None:
                    reads.rows[-1] = replace_row(reads.rows[-1], helper)
        return True
    if expr.name in NOT_KEYS and not expr.computed:
        return True
    augmented = site.statement is not None and site.statement.kind == "augment" and site.target is expr
    default = _default(resolver, expr, parents, frame)
    if augmented and site.statement is not None:
        default = text_of(resolver, site.statement.value, frame)
    required = default is None and (frame.python or not _tested(expr, parents, site))
    reads.add(expr.name, form, expr.span, default, required, expr.name_span)
    return True


def replace_row(row: Row, helper: tuple[str, int]) -> Row:
    """Mark an opaque row as the body of a helper."""
    name, position = helper
    return Row(row.path, row.span, row.values, row.spans, row.opaque, {"helper": Value("list", f"{name}:{position}")})


def _helper_of(key: Expr, frame: Frame) -> tuple[str, int] | None:
    """Return (function name, position of the key) when a computed key is a parameter of the function around it."""
    definition = frame.definition
    if definition is None or not isinstance(key, Name):
        return None
    for position, target in enumerate(definition.parameters):
        if target.name == key.name and not target.path:
            name = Definition("function", frame.parent or frame, frame.function or 0).name
            return (name, position) if name else None
    return None


def _written_by(expr: Member, parents: tuple[Expr, ...]) -> bool:
    """`a = process.env.X = "1"` and `delete process.env.X` inside of an expression."""
    if not parents:
        return False
    above = parents[-1]
    if isinstance(above, Other) and above.kind in ("assignment_expression", "unary_expression", "delete"):
        return bool(above.parts) and above.parts[0] is expr and above.kind != "unary_expression"
    return False


COMPARISONS = frozenset(
    {"binary_expression", "unary_expression", "comparison_operator", "not_operator", "assert_statement"}
)


def _tested(expr: Expr, parents: tuple[Expr, ...], site: Site) -> bool:
    """Whether a read is only looked at: `if (process.env.CI)`, `process.env.MODE === "x"`, `process.env.A ? 1 : 2`."""
    inner = expr
    for above in reversed(parents):
        if isinstance(above, Other) and above.kind in COMPARISONS:
            return True
        if not isinstance(above, Logical):
            return False
        if above.test is inner or (above.op == "and" and above.left is inner):
            return True
        inner = above
    return site.statement is not None and site.statement.kind == "other"


def _default(resolver: Resolver, expr: Expr, parents: tuple[Expr, ...], frame: Frame) -> str | None:
    """Return what stands behind `||`, `??` or `or`, also around conversions: `Number(process.env.PORT) || 3000`."""
    inner = expr
    for above in reversed(parents):
        if isinstance(above, Logical) and above.op == "or" and above.left is inner:
            return text_of(resolver, above.right, frame)
        if isinstance(above, Logical) and above.op == "if" and above.test is inner and above.left == expr:
            return text_of(resolver, above.right, frame)
        if not isinstance(above, Call | Member):
            return None
        inner = above
    return None


def _call(resolver: Resolver, reads: Reads, site: Site, call: Call, frame: Frame, parents: tuple[Expr, ...]) -> bool:
    found = schema_reads(resolver, call, frame, is_environment)
    if found is not None:
        for name, key_span, usual, required in found:
            reads.add(name, "field", key_span, usual, required, key_span)
        return True
    text, certain, thing = resolver.callee(call, frame)
    if not certain:
        return False
    helper_name = text
    if isinstance(thing, Definition) or text.rsplit(".", 1)[0] in INSTANCES:
        # `env = Env(); env("KEY")` and `env.str("KEY")` call what the class made; `Env()` itself reads nothing.
        helper_name = text if text in INSTANCES else text.rsplit(".", 1)[0]
        if helper_name not in INSTANCES:
            return False
    elif text in INSTANCES or text not in HELPERS:
        return False
    arguments = positional(call.arguments)
    where = HELPERS[helper_name]
    first = arguments[0].value if arguments else next(
        (a.value for a in call.arguments if a.keyword in ("key", "name", "var")), None
    )  # fmt: skip
    if first is None:
        return False
    if text.endswith((".read_env", ".prefixed", ".read_envfile", ".seal", ".dump")):
        return False
    default: Expr | None = next((a.value for a in call.arguments if a.keyword == "default"), None)
    if default is None and isinstance(where, int) and len(arguments) > where:
        default = arguments[where].value
    if default is None and helper_name in ("environs#Env", "environ#Env") and len(arguments) > 1:
        default = arguments[1].value
    shown = text_of(resolver, default, frame)
    if shown is None:
        shown = _chained_default(resolver, call, parents, frame)
    value = value_of(resolver, first, frame)
    key = value.text if value.kind == "string" else None
    required = shown is None and not _tested(call, parents, site)
    reads.add(key, "call", call.span, shown, required, first.span)
    if key is None:
        helper = _helper_of(first, frame)
        if helper is not None:
            reads.rows[-1] = replace_row(reads.rows[-1], helper)
    for argument in call.arguments[1:]:
        for part in calls_in(argument.value):
            _call(resolver, reads, site, part, frame, ())
    return True


def calls_in(expr: Expr) -> Iterator[Call]:
    if isinstance(expr, Call):
        yield expr
    for part in parts(expr):
        yield from calls_in(part)


def _chained_default(resolver: Resolver, call: Call, parents: tuple[Expr, ...], frame: Frame) -> str | None:
    """`env.get("PORT").default(3000).asPort()`; otherwise an `or` around the call."""
    for above in parents:
        if isinstance(above, Call) and isinstance(above.callee, Member) and above.callee.name == "default":
            if above.arguments:
                return text_of(resolver, above.arguments[0].value, frame)
    return _default(resolver, call, parents, frame)
