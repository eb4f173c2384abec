"""From an expression to a `Value`: what a relation can say of an argument, an option or a default.

Contract: pure over the resolver; never raises, and says "unknown" rather than guess. Names, members of objects and
one import are followed; conversions of an environment variable (`Number(x)`, `x.split(",")`) stay "env", because what
matters is where the value comes from.
This module must not know of relations.
"""

from __future__ import annotations

from fixaudit.relations.base import Value
from fixaudit.resolve.names import NEAR, Resolver, positional
from fixaudit.resolve.things import Definition, Frame, Opaque, Package, Thing
from fixaudit.source.ir import (
    Argument,
    Call,
    ClassRef,
    Expr,
    FunctionRef,
    Literal,
    Logical,
    Member,
    Name,
    Object,
    Other,
    Sequence,
    Template,
    walk,
)

MAX_ITEMS = 200
"""Items of a list or object that are read; a data file's table of thousands is no option of anything."""

MAX_DEPTH = 12

CONVERSIONS = frozenset(
    {
        "String", "Number", "parseInt", "parseFloat", "Boolean", "BigInt", "Number.parseInt", "Number.parseFloat",
        "JSON.parse", "Array.from", "str", "int", "float", "bool", "list", "tuple", "set", "json#loads", "new URL",
    }
)  # fmt: skip
METHODS = frozenset(
    {
        "trim", "toLowerCase", "toUpperCase", "toString", "split", "filter", "map", "replace", "replaceAll", "slice",
        "strip", "lstrip", "rstrip", "lower", "upper", "removeprefix", "removesuffix", "splitlines", "concat",
    }
)  # fmt: skip
ENV_CALLS = frozenset({"os#getenv", "os#environ.get", "os#environb.get"})
ENV_ROOTS = ("process.env.", "import.meta.env.", "process#env.", "Bun.env.", "Deno.env.")


def env_key(thing: Thing) -> str | None:
    """Return KEY for `process.env.KEY`, `import.meta.env.KEY` and what was destructured from them."""
    if isinstance(thing, Package) and not thing.python:
        text = thing.text
        for root in ENV_ROOTS:
            key = text.removeprefix(root)
            if key != text and "." not in key and key:
                return key
    return None


def value_of(resolver: Resolver, expr: Expr, frame: Frame, depth: int = MAX_DEPTH) -> Value:
    """Evaluate an expression as far as it can be read."""
    place = {"span": expr.span, "path": frame.path}
    if depth == 0:
        return Value("unknown", **place)  # type: ignore[arg-type]
    match expr:
        case Literal(value=value):
            return _literal(value, expr.span, frame.path)
        case Template(parts=parts):
            inner = tuple(value_of(resolver, part, frame, depth - 1) for part in parts)
            if all(item.kind in ("string", "number") for item in inner):
                return Value("string", "".join(item.text for item in inner), **place)  # type: ignore[arg-type]
            return Value("template", "", items=inner, **place)  # type: ignore[arg-type]
        case Sequence():
            return _sequence(resolver, expr, frame, depth)
        case Object():
            return _object(resolver, expr, frame, depth)
        case FunctionRef() | ClassRef():
            return Value("function", **place)  # type: ignore[arg-type]
        case Logical():
            return _choice(resolver, expr, frame, depth)
        case Call():
            return _call(resolver, expr, frame, depth)
        case Other(kind=kind):
            return _other(resolver, expr, kind, frame, depth)
        case Name() | Member():
            if isinstance(expr, Member) and frame.python:
                setting = _setting(resolver, expr, frame)
                if setting is not None:
                    return setting
            thing = resolver.settle(resolver.resolve(expr, frame, NEAR))
            return _thing(resolver, thing, expr, frame, depth)


def _literal(value: str | float | bool | None, span: tuple[int, int], path: str) -> Value:
    if value is None:
        return Value("null", "null", span, path)
    if isinstance(value, bool):
        return Value("boolean", "true" if value else "false", span, path)
    if isinstance(value, str):
        return Value("string", value, span, path)
    return Value("number", str(value), span, path)


def _thing(resolver: Resolver, thing: Thing, expr: Expr, frame: Frame, depth: int) -> Value:
    key = env_key(thing)
    if key is not None:
        return Value("env", key, expr.span, frame.path)
    match thing:
        case Package(python=True) if (
            isinstance(expr, Member) and expr.computed and thing.text.startswith("os#environ.")
        ):
            return Value("env", thing.text.removeprefix("os#environ."), expr.span, frame.path)
        case Package(text="undefined"):
            return Value("null", "undefined", expr.span, frame.path)
        case Definition(kind="value", expr=inner) if inner is not None and inner is not expr:
            return value_of(resolver, inner, thing.frame, depth - 1)
        case Definition(kind="function" | "class"):
            return Value("function", thing.text, expr.span, thing.path)
        case Package():
            return Value("unknown", thing.text, expr.span, frame.path)
        case Opaque(alternatives=options) if isinstance(expr, Member):
            if options and all(env_key(option) is not None for option in options):
                return Value("either", "", expr.span, frame.path, tuple(
                    Value("env", env_key(option) or "", expr.span, frame.path) for option in options
                ))  # fmt: skip
        case Opaque(reason="a default", alternatives=(source, default)):
            # `const { ORIGIN = "*" } = process.env`
            name = env_key(source)
            if name is not None:
                fallback = _thing(resolver, default, expr, frame, depth - 1)
                return Value("env", name, expr.span, frame.path, (fallback,))
    return Value("unknown", "", expr.span, frame.path)


def _setting(resolver: Resolver, expr: Member, frame: Frame) -> Value | None:
    """A field of a pydantic settings object comes from the environment."""
    from fixaudit.resolve.settings import setting_key

    holder = resolver.resolve(expr.object, frame, NEAR)
    if isinstance(holder, Definition) and holder.kind == "instance" and expr.name is not None:
        found = setting_key(resolver, holder, expr.name)
        if found is not None:
            key, default = found
            items = (value_of(resolver, default, holder.frame, 3),) if default is not None else ()
            return Value("env", key, expr.span, frame.path, items)
    return None


def _sequence(resolver: Resolver, expr: Sequence, frame: Frame, depth: int) -> Value:
    items: list[Value] = []
    complete = len(expr.items) <= MAX_ITEMS
    for item in expr.items[:MAX_ITEMS]:
        spread = _spread(item)
        if spread is None:
            items.append(value_of(resolver, item, frame, depth - 1))
            continue
        inner = value_of(resolver, spread, frame, depth - 1)
        if inner.kind == "list":
            items += inner.items
            complete = complete and inner.complete
        else:
            complete = False
    if not expr.complete and not any(_spread(item) is not None for item in expr.items):
        complete = False
    return Value("list", "", expr.span, frame.path, tuple(items), complete=complete)


def _object(resolver: Resolver, expr: Object, frame: Frame, depth: int) -> Value:
    entries: dict[str, Value] = {}
    complete, explained = len(expr.entries) <= MAX_ITEMS, False
    for entry in expr.entries[:MAX_ITEMS]:
        if entry.key is not None:
            entries[entry.key] = value_of(resolver, entry.value, frame, depth - 1)
            continue
        explained = True
        spread = _spread(entry.value)
        inner = value_of(resolver, spread if spread is not None else entry.value, frame, depth - 1)
        if spread is None and not isinstance(entry.value, Other):
            complete = False
        elif inner.kind == "object":
            entries.update(inner.entries)
            complete = complete and inner.complete
        else:
            # What was written before the spread may be overridden by it.
            entries = {key: Value("unknown", "", value.span, value.path) for key, value in entries.items()}
            complete = False
    if not expr.complete and not explained:
        complete = False
    return Value("object", "", expr.span, frame.path, (), entries, complete)


def _spread(expr: Expr) -> Expr | None:
    """Return what `...x`, `*x` or `**x` spreads; None for anything else."""
    if isinstance(expr, Other) and ("spread" in expr.kind or "splat" in expr.kind) and expr.parts:
        return expr.parts[0]
    return None


def _choice(resolver: Resolver, expr: Logical, frame: Frame, depth: int) -> Value:
    left = value_of(resolver, expr.left, frame, depth - 1)
    if expr.op == "or" and ((left.kind == "string" and left.text) or left.kind in ("list", "object", "function")):
        return left
    right = value_of(resolver, expr.right, frame, depth - 1)
    return Value("either", "", expr.span, frame.path, (left, right))


def _call(resolver: Resolver, call: Call, frame: Frame, depth: int) -> Value:
    text, certain, thing = resolver.callee(call, frame)
    place = (call.span, frame.path)
    arguments = positional(call.arguments)
    if text in ENV_CALLS and arguments:
        key = value_of(resolver, arguments[0].value, frame, depth - 1)
        if key.kind == "string":
            default = arguments[1].value if len(arguments) > 1 else _keyword(call, "default")
            items = (value_of(resolver, default, frame, depth - 1),) if default is not None else ()
            return Value("env", key.text, *place, items)
        return Value("unknown", "", *place)
    if certain and text in CONVERSIONS and arguments:
        return _converted(value_of(resolver, arguments[0].value, frame, depth - 1), call, frame)
    if text in ("Object.assign", "dict") and arguments:
        return _merged([value_of(resolver, a.value, frame, depth - 1) for a in arguments], call, frame)
    if isinstance(call.callee, Member) and call.callee.name in METHODS:
        inner = value_of(resolver, call.callee.object, frame, depth - 1)
        if inner.kind == "string" and call.callee.name == "split" and len(arguments) == 1:
            return _split(inner, arguments[0], call, frame)
        converted = _converted(inner, call, frame)
        if converted.kind != "unknown":
            return converted
    result = resolver.settle(resolver.resolve(call, frame, NEAR))
    if (
        isinstance(result, Definition)
        and result.kind == "value"
        and result.expr is not call
        and result.expr is not None
    ):
        return value_of(resolver, result.expr, result.frame, depth - 1)
    if isinstance(result, Package):
        return _thing(resolver, result, call, frame, depth)
    if certain or not isinstance(thing, Opaque):
        return Value("call", text, *place)
    return Value("unknown", "", *place)


def _keyword(call: Call, name: str) -> Expr | None:
    return next((argument.value for argument in call.arguments if argument.keyword == name), None)


def _converted(inner: Value, call: Call, frame: Frame) -> Value:
    """A conversion keeps where a value comes from."""
    if inner.kind == "env":
        return Value("env", inner.text, call.span, frame.path, inner.items)
    if inner.kind == "either" and any(item.kind in ("env", "either") for item in inner.items):
        return inner
    if inner.kind in ("number", "boolean", "list"):
        return inner
    if inner.kind == "string" and not isinstance(call.callee, Member):
        try:
            float(inner.text)
        except ValueError:
            return inner
        name = call.callee.name if isinstance(call.callee, Name) else ""
        return Value("string" if name in ("String", "str") else "number", inner.text, call.span, frame.path)
    return Value("unknown", "", call.span, frame.path)


def _split(inner: Value, separator: Argument, call: Call, frame: Frame) -> Value:
    mark = separator.value
    if not isinstance(mark, Literal) or not isinstance(mark.value, str) or not mark.value:
        return Value("unknown", "", call.span, frame.path)
    items = tuple(Value("string", piece, inner.span, inner.path) for piece in inner.text.split(mark.value))
    return Value("list", "", call.span, frame.path, items[:MAX_ITEMS])


def _merged(values: list[Value], call: Call, frame: Frame) -> Value:
    entries: dict[str, Value] = {}
    complete = True
    for value in values:
        if value.kind == "object":
            entries.update(value.entries)
            complete = complete and value.complete
        else:
            complete, entries = False, {}
    return Value("object", "", call.span, frame.path, (), entries, complete)


def _other(resolver: Resolver, expr: Other, kind: str, frame: Frame, depth: int) -> Value:
    if kind == "regex":
        return Value("regex", resolver.source(frame, expr.span), expr.span, frame.path)
    if "comprehension" in kind or "generator" in kind:
        # `[o.strip() for o in os.environ["ORIGINS"].split(",")]`
        for part in walk(expr):
            if part is not expr and isinstance(part, Call | Member):
                found = value_of(resolver, part, frame, depth - 1)
                if found.kind == "env":
                    return Value("env", found.text, expr.span, frame.path, found.items)
    return Value("unknown", "", expr.span, frame.path)
