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

    `fixed` is True where the language wants a literal: a JSX attribute's string, an enum member.
    `fallback` is the span of `env || "literal"` as a whole; `env_key` the variable read there.
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
    kind: str | None = None  # what it is by its place, whatever its name: "password" in `auth=("user", "…")`, "secret"


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
    kind: str | None = None
    form: str = "literal"

    def place(self, node: ir.Literal | ir.Template, form: str) -> Place:
        return Place(
            node, form, self.name, self.name_span, self.statement, self.target, self.annotation, self.fallback,
            self.env_key, self.fixed, self.basic, self.kind,
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
    reader = _Reader(content, module.language)
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
    language: str

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
        # A stack of its own: a chain of ten thousand calls is a legal program.
        stack: list[tuple[ir.Expr | None, _Binding]] = [(node, at)]
        while stack:
            current, binding = stack.pop()
            if isinstance(current, ir.Literal) and isinstance(current.value, str):
                yield binding.place(current, binding.form)
            elif isinstance(current, ir.Template):
                yield binding.place(current, "template")
            stack.extend(reversed(list(self._inside(current, binding))))

    def _inside(self, node: ir.Expr | None, at: _Binding) -> Iterator[tuple[ir.Expr | None, _Binding]]:
        """Yield the parts of an expression with what they are bound to."""
        nothing = _Binding(statement=at.statement, basic=at.basic)
        match node:
            case ir.Template(parts=parts):
                inner = _Binding(statement=at.statement, basic=at.basic or _is_basic(parts))
                for part in parts:
                    yield part, replace(nothing, form="piece") if isinstance(part, ir.Literal) else inner
            case ir.Object(entries=entries):
                for entry in entries:
                    attribute = isinstance(entry.value, ir.Literal) and self._is_attribute(entry)
                    yield entry.value, _Binding(entry.key, entry.key_span, at.statement, fixed=at.fixed or attribute)
            case ir.Logical(op=op, left=left, right=right, test=test):
                yield test, nothing
                yield left, nothing if op == "and" else at
                yield right, self._fallback(at, left, node.span) if op == "or" else at
            case ir.Sequence(items=items):
                # `auth=("user", "password")`: the second of a pair is the password.
                pair = at.name == "auth" and len(items) == 2
                for index, item in enumerate(items):
                    yield item, replace(at, kind="password") if pair and index == 1 else nothing
            case ir.Call(callee=callee, arguments=arguments):
                yield callee, nothing
                for index, argument in enumerate(arguments):
                    yield argument.value, self._argument(node, index, argument, nothing)
            case _:
                for part in ir.parts(node):
                    yield part, nothing

    def _argument(self, call: ir.Call, index: int, argument: ir.Argument, nothing: _Binding) -> _Binding:
        callee = ir.dotted(call.callee) or ""
        first, keyword = call.arguments[0].value, argument.keyword
        reads = callee.rpartition(".")[2] in _READERS
        if reads and isinstance(first, ir.Literal) and isinstance(first.value, str):
            if (index == 1 and keyword is None) or keyword == "default":
                inner = (first.span[0] + 1, first.span[1] - 1)
                return _Binding(first.value, inner, nothing.statement, fallback=call.span, env_key=first.value)
        if keyword is not None:  # its place is directly before the value, as `name=`
            start = self.content.rfind(keyword, max(0, argument.value.span[0] - 200), argument.value.span[0])
            return _Binding(keyword, (start, start + len(keyword)) if start >= 0 else None, nothing.statement)
        kind = "secret" if KEY_ARGUMENTS.get(callee) == index else None
        return _Binding(statement=nothing.statement, basic=nothing.basic and callee in _ENCODERS, kind=kind)

    def _fallback(self, at: _Binding, left: ir.Expr, span: Span) -> _Binding:
        key, key_span = _env_read(left)
        name, name_span = (at.name, at.name_span) if at.name else (key, key_span)
        return _Binding(name, name_span, at.statement, at.target, at.annotation, span, key, at.fixed, at.basic)

    def _is_attribute(self, entry: ir.Entry) -> bool:
        # Python's `dict(password="x")` has the same mark between key and value, and wants no literal.
        return self.language != "python" and self.content[entry.key_span[1] : entry.value.span[0]].strip() == "="


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
