"""Bring a package's export into scope: reuse the binding that is there, or add one import.

Contract: as in `javascript_edit`. A new import stands behind the last import of the leading block, else behind the
shebang, licence comments and directives; it never binds a name that the file binds or reads anywhere.
This module must not know of rules, findings or files.
"""

from __future__ import annotations

from collections import Counter

from fixaudit.source import ir
from fixaudit.source.javascript_edit import insert_statement, is_header
from fixaudit.source.javascript_style import Style, all_statements, free_name, style
from fixaudit.text import Edit, Text


def ensure_import(
    text: Text,
    module: ir.Module,
    *,
    package: str,
    export: str,
    local_hint: str,
    system: str,
    type_only: bool = False,
) -> tuple[str, tuple[Edit, ...]]:
    """Return how code refers to a package's export, and the edits that make it so (none when it is bound already).

    `export` is "default", "*" or a name. The reference is a local name, or `namespace.name` when the file has the
    whole module bound. In CommonJS the default export is what `require` returns.
    """
    found = _bound(text, module, package, export, type_only)
    if found is not None:
        return found, ()
    own = style(text, module)
    local = free_name(module, local_hint)
    return local, _placed(text, module, _code(text, module, own, package, export, local, system, type_only))


def _bound(text: Text, module: ir.Module, package: str, export: str, type_only: bool) -> str | None:
    namespace = None
    for imported in module.imports:
        if imported.module != package or imported.local is None or imported.scope is not None or imported.guards:
            continue
        if imported.type_only and not type_only:
            continue
        if imported.export == export:
            return imported.local
        if imported.export == "*":
            namespace = imported
    if namespace is None or namespace.local is None:
        return None
    if export != "default":
        return f"{namespace.local}.{export}"
    statement = text.content[slice(*namespace.statement)]
    whole = namespace.form == "require" or "require" in statement or _is_called(module, namespace.local)
    # `import * as express` without interop is the module itself, and code that calls it says so.
    return namespace.local if whole else f"{namespace.local}.default"


def _is_called(module: ir.Module, name: str) -> bool:
    return any(
        isinstance(node, ir.Call) and isinstance(node.callee, ir.Name) and node.callee.name == name
        for statement in all_statements(module)
        for node in ir.walk(statement.value)
    )


def _code(
    text: Text, module: ir.Module, own: Style, package: str, export: str, local: str, system: str, type_only: bool
) -> str:
    source = own.string(package)
    if system == "esm":
        word = "import type" if type_only else "import"
        if export == "default" and _assigns_requires(text, module):
            return f"import {local} = require({source}){own.end}"
        if export == "default":
            clause = local
        elif export == "*":
            clause = f"* as {local}"
        else:
            clause = f"{{ {export} }}" if export == local else f"{{ {export} as {local} }}"
        return f"{word} {clause} from {source}{own.end}"
    keyword = _keyword(text, module)
    if export in ("default", "*"):
        return f"{keyword} {local} = require({source}){own.end}"
    clause = export if export == local else f"{export}: {local}"
    return f"{keyword} {{ {clause} }} = require({source}){own.end}"


def _assigns_requires(text: Text, module: ir.Module) -> bool:
    """Say whether a TypeScript file writes `import x = require("x")` throughout."""
    statements = [text.content[slice(*found.statement)] for found in module.imports if found.form == "import"]
    return bool(statements) and all("require" in statement for statement in statements)


def _keyword(text: Text, module: ir.Module) -> str:
    words = Counter(
        text.content[slice(*found.statement)].split(None, 1)[0]
        for found in module.imports
        if found.form == "require" and found.local and found.scope is None
    )
    return "var" if words["var"] > words["const"] else "const"


def _placed(text: Text, module: ir.Module, code: str) -> tuple[Edit, ...]:
    last = _last_of_leading_block(module)
    if last is not None:
        edits = insert_statement(text, module, last.span, "after", code)
        if edits is not None:
            return edits
    return (_at_top(text, module, code),)


def _last_of_leading_block(module: ir.Module) -> ir.Statement | None:
    """Return the last import of the block that the file begins with; a `require("dotenv").config()` belongs to it."""
    imports = {found.statement for found in module.imports if found.scope is None and not found.guards}
    last = None
    for statement in module.body:
        if statement.span in imports:
            last = statement
        elif statement.kind != "directive" and not _types_only(statement):
            break
    return last


def _types_only(statement: ir.Statement) -> bool:
    return statement.kind == "other" and statement.keyword in ("type", "declare")


def _at_top(text: Text, module: ir.Module, code: str) -> Edit:
    """Insert behind shebang, licence comments and directives, with an empty line before what follows."""
    content, lines = text.content, text.lines
    place = lines.next_line(0) if content.startswith("#!") else 0
    directives = [statement for statement in module.body if statement.kind == "directive"]
    if directives:
        place = lines.next_line(directives[-1].span[1])
    else:
        for comment in module.comments:
            if content[place : comment.span[0]].strip():
                break
            blank_behind = not content[lines.next_line(comment.span[1]) :].split("\n", 1)[0].strip()
            if not (is_header(comment) or (blank_behind and comment.own_line)):
                break
            place = lines.next_line(comment.span[1])
    newline = text.newline
    head = content[:place]
    lead = newline if head and not head.endswith("\n") else ""
    if head.strip() and content[place:].startswith(("\n", "\r\n")):
        place = lines.next_line(place)
    rest = content[place:]
    tail = "" if not rest.strip() or rest.startswith(("\n", "\r\n")) else newline
    return Edit(place, place, "", lead + code.replace("\n", newline) + newline + tail)
