"""Imports and exports of JavaScript: ES modules from their syntax, CommonJS from the statements it is written with.

Contract: one Import per local name, one more for a module that is loaded without binding a name. The name of an
export that stands for a part (`require("x").y`, `const { a: { b } } = require("x")`) is the dotted path "y", "a.b".
This module must not know how statements are read.
"""

from __future__ import annotations

from collections.abc import Iterator

from fixaudit.source import ir
from fixaudit.source.javascript_literals import unescape
from fixaudit.syntax import Node, span_of

INTEROP = ("__importDefault", "__importStar", "_interopRequireDefault", "_interopRequireWildcard", "__toESM")
"""What compilers wrap around `require`: the namespace, with its default export under `default`."""


def quoted(content: str, node: Node | None) -> str | None:
    """Return the value of a module specifier."""
    if node is None:
        return None
    start, end = span_of(node)
    return unescape(content[start + 1 : end - 1])


def esm_imports(
    content: str, node: Node, guards: tuple[tuple[str, ir.Span, ir.Span], ...], scope: int | None
) -> list[ir.Import]:
    """Return the imports of an import statement, type-only ones marked."""
    statement = span_of(node)
    children = node.children()
    type_only = any(child.kind() in ("type", "typeof") for child in children)

    def bound(name: Node, export: str, module: str, clause: Node, typed: bool = False) -> ir.Import:
        local = content[slice(*span_of(name))]
        return ir.Import(
            span_of(clause), module, export, local, "import", type_only or typed, None, guards, statement, scope
        )

    found: list[ir.Import] = []
    module = quoted(content, node.field("source"))
    for child in children:
        match child.kind():
            case "import_require_clause":
                parts = child.named_children()
                source = quoted(content, child.field("source") or parts[-1])
                if source is not None:
                    found.append(bound(parts[0], "*", source, child))
                return found
            case "import_clause" if module is not None:
                for clause in child.named_children():
                    match clause.kind():
                        case "identifier":
                            found.append(bound(clause, "default", module, clause))
                        case "namespace_import":
                            found.append(bound(clause.named_children()[-1], "*", module, clause))
                        case "named_imports":
                            found += [
                                bound(
                                    specifier.field("alias") or name,
                                    _export_name(content, name),
                                    module,
                                    specifier,
                                    any(token.kind() in ("type", "typeof") for token in specifier.children()),
                                )
                                for specifier in clause.named_children()
                                if specifier.kind() == "import_specifier" and (name := specifier.field("name"))
                            ]
                if not found:
                    found.append(
                        ir.Import(statement, module, "*", None, "import", type_only, None, guards, statement, scope)
                    )
                return found
    if module is not None:
        found.append(ir.Import(statement, module, "*", None, "import", False, None, guards, statement, scope))
    return found


def _export_name(content: str, node: Node) -> str:
    start, end = span_of(node)
    text = content[start:end]
    return unescape(text[1:-1]) if text[:1] in "\"'" else text


def esm_export_clause(content: str, node: Node) -> list[ir.Export]:
    """Return the exports of `export { a as b }`, `export … from "x"` and `export * as ns from "x"`."""
    children = node.children()
    if any(child.kind() == "type" for child in children):
        return []
    span, module = span_of(node), quoted(content, node.field("source"))
    found: list[ir.Export] = []
    for child in children:
        match child.kind():
            case "*":
                found.append(ir.Export(span, "*", None, module))
            case "namespace_export":
                name = child.named_children()[-1]
                value = ir.Name(span_of(child), "*")
                found.append(ir.Export(span_of(child), _export_name(content, name), value, module))
            case "export_clause":
                for specifier in child.named_children():
                    local = specifier.field("name")
                    if local is None or any(token.kind() == "type" for token in specifier.children()):
                        continue
                    name = specifier.field("alias") or local
                    value = ir.Name(span_of(local), _export_name(content, local))
                    found.append(ir.Export(span_of(specifier), _export_name(content, name), value, module))
    return found


def required(value: ir.Expr | None, calls: dict[ir.Span, str]) -> tuple[ir.Call, tuple[str, ...]] | None:
    """Return the `require` or `import()` call that a value is, and the path of the part taken from it.

    `calls` maps the spans of the known calls to their forms. `import()` counts when it is awaited.
    """
    path: tuple[str, ...] = ()
    while True:
        match value:
            case ir.Member(object=inner, name=str(name)):
                value, path = inner, (name, *path)
            case ir.Call(callee=ir.Name(name=name), arguments=(ir.Argument(value=inner), *_)) if name in INTEROP:
                value = inner
            case ir.Call(span=span, awaited=awaited) if span in calls and (awaited or calls[span] == "require"):
                return value, path
            case _:
                return None


def cjs_imports(statement: ir.Statement, requires: list[tuple[ir.Call, str]], scope: int | None) -> Iterator[ir.Import]:
    """Yield the imports that a statement makes by `require("x")` or `import("x")`."""
    calls = {call.span: form for call, form in requires}
    source = required(statement.value, calls) if statement.kind in ("declare", "assign") else None
    bound = False
    for call, form in requires:
        module = str(call.arguments[0].value.value)  # type: ignore[union-attr]  # a string, or it would not be here
        if source is not None and source[0].span == call.span:
            for target in statement.targets:
                if target.name is not None:
                    bound = True
                    path = [step for step in (*source[1], *target.path) if step != "..."]
                    export = ".".join(path) or "*"
                    yield ir.Import(
                        target.span,
                        module,
                        export,
                        target.name,
                        form,
                        False,
                        None,
                        statement.guards,
                        statement.span,
                        scope,
                    )
            if bound:
                continue
        yield ir.Import(call.span, module, "*", None, form, False, None, statement.guards, statement.span, scope)


def cjs_exports(statement: ir.Statement) -> Iterator[ir.Export]:
    """Yield the exports that an assignment or call makes in CommonJS."""
    value = statement.value
    if statement.kind == "assign" and value is not None:
        # `exports.a = exports.b = void 0` is how compilers announce names before they are set.
        if isinstance(value, ir.Other) and value.kind == "void":
            return
        for target in statement.targets:
            place = ir.dotted(target.member) if target.path == () else None
            if place == "module.exports":
                yield from _whole(statement.span, value)
            elif place is not None:
                for prefix in ("module.exports.", "exports."):
                    if place.startswith(prefix) and "." not in place[len(prefix) :]:
                        yield ir.Export(statement.span, place[len(prefix) :], value)
    elif isinstance(value, ir.Call) and statement.kind == "expression" and value.arguments:
        name, first = ir.dotted(value.callee), ir.dotted(value.arguments[0].value)
        if first not in ("exports", "module.exports"):
            return
        if name == "Object.assign":
            for argument in value.arguments[1:]:
                yield from _entries(argument.value)
        elif name == "Object.defineProperty" and len(value.arguments) > 1:
            key = value.arguments[1].value
            if isinstance(key, ir.Literal) and isinstance(key.value, str) and key.value != "__esModule":
                yield ir.Export(statement.span, key.value, None)


def _whole(span: ir.Span, value: ir.Expr) -> Iterator[ir.Export]:
    yield ir.Export(span, "default", value)
    yield from _entries(value)


def _entries(value: ir.Expr) -> Iterator[ir.Export]:
    for entry in value.entries if isinstance(value, ir.Object) else ():
        if entry.key is not None:
            yield ir.Export(entry.span, entry.key, entry.value)
            continue
        # `module.exports = { ...require("./a") }` passes every name on.
        match entry.value:
            case ir.Other(kind="spread_element", parts=(ir.Call(callee=ir.Name(name="require"), arguments=given),)):
                first = given[0].value if given else None
                if isinstance(first, ir.Literal) and isinstance(first.value, str):
                    yield ir.Export(entry.span, "*", None, first.value)
