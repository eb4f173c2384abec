"""Where the literals of a program stand and which names they are bound to, read from the program model.

A literal's name is the nearest thing that names it: the variable, property, parameter, keyword, entry or attribute
that takes it; for the default of an environment read, the variable it reads. A literal inside another text, a call
or an operator has no name: `password = hash("x")` says nothing about "x".
This module must not know of credentials' shapes or of files.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from fixaudit.source import ir
from fixaudit.source.ir import Span


@dataclass(frozen=True, slots=True)
class Place:
    """One string literal or template. `form`: "literal", "template" (never replaced) or "piece" (of a template).

    `fixed` is True where the language wants a literal: a JSX attribute's string, an enum member, a decorator-free
    type. `fallback` is the span of `env || "literal"` as a whole; `env_key` the variable read there.
    """

    node: ir.Literal | ir.Template
    form: str = "literal"
    name: str | None = None
    name_span: Span | None = None
    statement: Span | None = None
    target: Span | None = None
    annotation: Span | None = None
    fallback: Span | None = None
    env_key: str | None = None
    fixed: bool = False
    basic: bool = False  # it is encoded for HTTP Basic authentication: "user:password"
    password: bool = False  # it is the second of `auth=("user", "password")`


@dataclass(frozen=True, slots=True)
class _Binding:
    name: str | None = None
    name_span: Span | None = None
    statement: Span | None = None
    target: Span | None = None
    annotation: Span | None = None
    fallback: Span | None = None
    env_key: str | None = None
    fixed: bool = False
    basic: bool = False
    password: bool = False

    def place(self, node: ir.Literal | ir.Template, form: str) -> Place:
        return Place(
            node, form, self.name, self.name_span, self.statement, self.target, self.annotation, self.fallback,
            self.env_key, self.fixed, self.basic, self.password,
        )  # fmt: skip


# The argument (by position) of a library call that is a key although nothing names it.
KEY_ARGUMENTS = {
    "jwt.sign": 1, "jwt.verify": 1, "jwt.encode": 1, "jwt.decode": 1, "jsonwebtoken.sign": 1,
    "jsonwebtoken.verify": 1, "crypto.createHmac": 1, "createHmac": 1, "cookieParser": 0,
}  # fmt: skip
_ENCODERS = ("Buffer.from", "btoa", "base64.b64encode", "b64encode", "Base64.encode")
_READERS = ("get", "getenv", "config", "env", "str", "setdefault")


def places(module: ir.Module, content: str) -> Iterator[Place]:
    """Yield every string literal and template of a program, outer templates before their pieces."""
    reader = _Reader(content)
    for statement in module.body:
        yield from reader.statement(statement)
    for function in module.functions:
        for parameter in function.parameters:
            yield from reader.expression(parameter.default, _bound(parameter, None))
        for expression in function.decorators:
            yield from reader.expression(expression, _Binding())
        for statement in function.body:
            yield from reader.statement(statement)
    for klass in module.classes:
        for expression in (*klass.decorators, *klass.bases):
            yield from reader.expression(expression, _Binding())
        for statement in klass.fields:
            yield from reader.statement(statement)


def _bound(target: ir.Target, statement: Span | None, fixed: bool = False) -> _Binding:
    if target.member is not None:
        return _Binding(target.member.name, target.member.name_span, statement, target.span, fixed=fixed)
    return _Binding(target.name, target.span, statement, target.span, target.annotation_span, fixed=fixed)


@dataclass(frozen=True, slots=True)
class _Reader:
    content: str

    def statement(self, statement: ir.Statement) -> Iterator[Place]:
        if statement.kind == "directive":  # a docstring: text, not a value
            return
        whole = [target for target in statement.targets if not target.path]
        binding = _Binding(statement=statement.span)
        if len(statement.targets) >= 1 and whole:
            binding = _bound(whole[0], statement.span, statement.keyword.endswith("enum"))
        for target in statement.targets:
            if target.default is not None:
                yield from self.expression(target.default, _bound(target, statement.span))
        yield from self.expression(statement.value, binding)

    def expression(self, node: ir.Expr | None, at: _Binding) -> Iterator[Place]:
        nothing = _Binding(statement=at.statement, basic=at.basic)
        match node:
            case ir.Literal(value=str()):
                yield at.place(node, "literal")
            case ir.Template(parts=parts):
                yield at.place(node, "template")
                basic = at.basic or _is_basic(parts)
                for part in parts:
                    if isinstance(part, ir.Literal):
                        yield nothing.place(part, "piece")
                    else:
                        yield from self.expression(part, _Binding(statement=at.statement, basic=basic))
            case ir.Object(entries=entries):
                for entry in entries:
                    attribute = isinstance(entry.value, ir.Literal) and self._is_attribute(entry)
                    named = _Binding(entry.key, entry.key_span, at.statement, fixed=at.fixed or attribute)
                    yield from self.expression(entry.value, named)
            case ir.Logical(op=op, left=left, right=right, test=test):
                yield from self.expression(test, nothing)
                yield from self.expression(left, nothing if op == "and" else at)
                yield from self.expression(right, self._fallback(at, left, node.span) if op == "or" else at)
            case ir.Sequence(items=items):
                # `auth=("user", "password")`: the second of a pair is the password.
                pair = at.name == "auth" and len(items) == 2
                for index, item in enumerate(items):
                    second = replace(at, password=True) if pair and index == 1 else nothing
                    yield from self.expression(item, second)
            case ir.Call():
                yield from self._call(node, nothing)
            case _:
                for part in ir.parts(node):
                    yield from self.expression(part, nothing)

    def _call(self, call: ir.Call, nothing: _Binding) -> Iterator[Place]:
        callee = ir.dotted(call.callee) or ""
        last = callee.rpartition(".")[2]
        yield from self.expression(call.callee, nothing)
        basic = nothing.basic and callee in _ENCODERS
        first = call.arguments[0].value if call.arguments else None
        key = first.value if isinstance(first, ir.Literal) and isinstance(first.value, str) else None
        for index, argument in enumerate(call.arguments):
            at = _Binding(statement=nothing.statement, basic=basic)
            if argument.keyword is not None:
                # The keyword's place: directly before the value, as `name=`.
                start = self.content.rfind(argument.keyword, max(0, argument.span[0] - 200), argument.value.span[0])
                span = (start, start + len(argument.keyword)) if start >= 0 else None
                at = _Binding(argument.keyword, span, nothing.statement)
            if key is not None and first is not None and last in _READERS:
                if (index == 1 and argument.keyword is None) or argument.keyword == "default":
                    inner = (first.span[0] + 1, first.span[1] - 1)
                    at = _Binding(key, inner, nothing.statement, fallback=call.span, env_key=key)
            elif KEY_ARGUMENTS.get(callee) == index and argument.keyword is None:
                at = _Binding("jwt_secret" if "jwt" in callee or "jsonwebtoken" in callee else "secret", None)
            yield from self.expression(argument.value, at)

    def _fallback(self, at: _Binding, left: ir.Expr, span: Span) -> _Binding:
        key, key_span = _env_read(left)
        name, name_span = (at.name, at.name_span) if at.name else (key, key_span)
        return _Binding(name, name_span, at.statement, at.target, at.annotation, span, key, at.fixed, at.basic)

    def _is_attribute(self, entry: ir.Entry) -> bool:
        return self.content[entry.key_span[1] : entry.value.span[0]].strip() == "="


def _env_read(node: ir.Expr) -> tuple[str | None, Span | None]:
    """Return the key of `process.env.KEY`, `import.meta.env.KEY`, `os.environ.get("KEY")`, `os.getenv("KEY")`."""
    if isinstance(node, ir.Member) and node.name is not None:
        chain = ir.dotted(node.object) or ""
        if chain.endswith(("process.env", "environ", "env", "config")) or chain == "":
            return (node.name, node.name_span) if node.name.isupper() else (None, None)
    if isinstance(node, ir.Call) and node.arguments:
        first = node.arguments[0].value
        callee = ir.dotted(node.callee) or ""
        if callee.rpartition(".")[2] in _READERS and isinstance(first, ir.Literal) and isinstance(first.value, str):
            return first.value, (first.span[0] + 1, first.span[1] - 1)
    return None, None


def _is_basic(parts: tuple[ir.Expr, ...]) -> bool:
    first = parts[0] if parts else None
    return isinstance(first, ir.Literal) and isinstance(first.value, str) and first.value.endswith("Basic ")
