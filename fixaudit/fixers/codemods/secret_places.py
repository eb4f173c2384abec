"""Where a credential stands, and whether a read of the environment may stand there instead.

This module must not know of `.env` files or of how a change is made.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from fixaudit.facts import Facts
from fixaudit.fixers.base import Refusal
from fixaudit.fixers.code import runs_at_import
from fixaudit.fixers.environment import home
from fixaudit.fixers.expressions import chain, is_value
from fixaudit.fixers.program import Program
from fixaudit.relations.base import Row
from fixaudit.secrets.names import environment_key
from fixaudit.secrets.program import places
from fixaudit.source.ir import Class, Literal, Module, Span, dotted
from fixaudit.syntax import span_of


@dataclass(frozen=True, slots=True)
class Place:
    """A literal that can be replaced.

    `value` is what the literal means at run time. `fallback` is the variable beside which it stands in for a missing
    value (`env || "literal"`), `dropped` the text to take away there. `at_import`: evaluated when its file is loaded.
    `holder` names, in UPPER_SNAKE, the object that the literal's own name stands in.
    """

    whole: Span
    value: str
    at_import: bool
    is_bytes: bool = False
    settings: bool = False
    fallback: str | None = None
    dropped: Span | None = None
    holder: str | None = None


_BY_KIND = {
    "config": "is configuration and cannot read the environment by itself: take the value out, pass it in when the "
    "program starts",
    "dotenv": "is an environment file: take it out of git, or leave the value empty there",
    "dockerfile": "ends up in the image: pass the value when the container starts, or as a build secret",
    "compose": "is read by Compose: write `${NAME}` there and keep the value in an untracked .env",
    "ci": "is read by the CI service: keep the value in its secret store",
    "shell": "is a script: let it read a variable that its caller sets",
    "foreign": "is in a language that is not edited here: let it read an environment variable",
    "lockfile": "is a lock file: take the credential out of the registry address and make the lock file again",
    "doc": "is documentation: write a placeholder instead",
    "test": "is a test: a made-up value does there",
    "bundle": "is generated or vendored: take the credential out where it comes from",
    "data": "is data: take the value out",
}

BROWSER_STACKS = frozenset({"react", "react-vite", "vite", "vue", "svelte", "angular"})
_BROWSER_PACKAGES = ("react-dom", "react-dom/client", "vue", "svelte", "@angular/core")
_SERVER_PACKAGES = (
    "express",
    "fastify",
    "koa",
    "hono",
    "http",
    "node:http",
    "@nestjs/core",
    "next/server",
    "fs",
    "path",
)


def refusal_of_place(row: Row, facts: Facts, program: Program | None) -> Refusal | None:
    """Say why the credential cannot be moved because of the file it is in, or the text it is a part of."""
    kind = row.text("KIND")
    if row.values.get("PROVIDER") == "private_key" and kind != "source":
        return Refusal(
            f"{row.path} holds a private key: take it out of git, make a new one, and rotate it", code="shape"
        )
    if kind in _BY_KIND:
        return Refusal(f"{row.path} {_BY_KIND[kind]}; then rotate the credential", code="shape")
    if program is not None and is_browser(facts, program):
        sentence = f"{row.path} is sent to browsers, so a variable would ship the credential too: call it from a server"
        return Refusal(sentence, code="shape")
    if row.values.get("SHAPE") == "text":
        return Refusal(f"the credential stands in a comment of {row.path}: delete it, then rotate it", code="shape")
    if row.values.get("SHAPE") == "part" or "WHOLE" not in row.spans:
        sentence = "the credential is a part of a longer text, and only whole literals are moved: build the text from a"
        return Refusal(f"{sentence} variable; then rotate the credential", code="shape")
    return None


def is_browser(facts: Facts, program: Program) -> bool:
    """Say whether a file is part of what a browser loads."""
    if program.family != "javascript":
        return False
    modules = {item.module for item in program.module.imports}
    if any(s.kind == "directive" and "use client" in program.text.content[slice(*s.span)] for s in program.module.body):
        return True
    if modules.intersection(_BROWSER_PACKAGES) or "import.meta.env" in program.text.content:
        return True
    if any(m in _SERVER_PACKAGES or m.startswith("node:") for m in modules):
        return False
    # A component is taken for the browser's: when it is only rendered on a server, a refusal costs nothing.
    if "react" in modules or program.path.endswith((".jsx", ".tsx")):
        return True
    return bool(facts.project.view(home(facts, program.path)).stacks & BROWSER_STACKS)


def place_of(row: Row, program: Program) -> Place | Refusal:
    """Describe the literal of a row, or say why no expression may stand in its place."""
    content = program.text.content
    whole = row.spans["WHOLE"]
    literal = _literal(program.module, content, whole)
    if literal is None:
        return _unmovable("it is not one whole string literal")
    whole = _with_assertion(content, program.language, whole)
    if not is_value(content, program.language, whole):
        return _unmovable("the language wants a constant there")
    prefix = re.match(r"[A-Za-z]*", literal.text)
    is_bytes = "b" in (prefix[0].lower() if prefix else "")
    if program.typed and "ANNOTATION" in row.spans:
        annotation = content[slice(*row.spans["ANNOTATION"])]
        if any(mark in annotation for mark in "\"'`"):
            return _unmovable("its type admits certain texts only")
    fallback = _beside(row, content, program.language, whole)
    dropped = _droppable(content, program.language, whole) if fallback else None
    return Place(
        whole,
        str(literal.value),
        runs_at_import(program.module, whole),
        is_bytes,
        _is_setting(program, row, whole),
        fallback,
        dropped,
        _holder(content, program.language, whole),
    )


_CONTAINERS = frozenset(
    (
        *("CONFIG", "CONFIGS", "CONFIGURATION", "SETTINGS", "OPTIONS", "OPTS", "DEFAULT", "DEFAULTS", "EXPORTS"),
        *("AUTH", "MODULE_EXPORTS", "CREDENTIALS", "SECRETS", "ENV", "CONNECTION", "PARAMS", "THIS", "SELF"),
    )
)
"""Names of objects that say nothing of what the credential belongs to."""
_NAMED_BY = {
    "pair": "key",
    "keyword_argument": "name",
    "variable_declarator": "name",
    "assignment": "left",
    "assignment_expression": "left",
}
"""Which field of a syntax node, by its kind, names the value inside it."""


def _holder(content: str, language: str, whole: Span) -> str | None:
    """Return the nearest name around the literal's own that says what it belongs to: of `smtp: { pass: "…" }` SMTP."""
    seen_own = False
    for node in reversed(chain(content, language, whole)[:-1]):
        kind = str(node.kind())
        named = node.field(_NAMED_BY[kind]) if kind in _NAMED_BY else None
        if named is None:
            if kind in ("function_definition", "function_declaration", "arrow_function", "class_definition"):
                return None
            continue
        if not seen_own:
            seen_own = True
            continue
        name = environment_key(content[slice(*span_of(named))].strip("\"'"))
        if name and name not in _CONTAINERS:
            return name.removeprefix("MODULE_EXPORTS_").removeprefix("EXPORTS_")
    return None


def _unmovable(why: str) -> Refusal:
    sentence = f"the literal cannot be replaced by a read of the environment: {why}; move it by hand and rotate it"
    return Refusal(sentence, code="shape")


def _literal(module: Module, content: str, span: Span) -> Literal | None:
    for place in places(module, content):
        if place.node.span == span and isinstance(place.node, Literal) and isinstance(place.node.value, str):
            return place.node
    return None


def _with_assertion(content: str, language: str, span: Span) -> Span:
    """Take `as const` along: it may stand behind a literal only."""
    nodes = chain(content, language, span)
    if len(nodes) > 1 and nodes[-2].kind() == "as_expression":
        outer = span_of(nodes[-2])
        if content[span[1] : outer[1]].split() == ["as", "const"]:
            return outer
    return span


def _beside(row: Row, content: str, language: str, whole: Span) -> str | None:
    """Return the variable that the literal stands in for: `env || "…"`, or `const { KEY = "…" } = process.env`."""
    key = row.text("KEY")
    if "FALLBACK" in row.spans and key and re.search(rf"\b{re.escape(key)}\b", content[slice(*row.spans["FALLBACK"])]):
        return key
    nodes = chain(content, language, whole)
    if len(nodes) > 3 and nodes[-2].kind() == "object_assignment_pattern" and nodes[-4].kind() == "variable_declarator":
        source = nodes[-4].field("value")
        if source is not None and source.text() == "process.env":
            return str(next(iter(nodes[-2].children())).text())
    return None


def _droppable(content: str, language: str, whole: Span) -> Span | None:
    """Return the text that goes with the literal: ` || "…"`, ` = "…"` of a pattern, `, "…"` of an argument.

    None when anything but an operator, a comma and white space would go, too.
    """
    nodes = chain(content, language, whole)
    if len(nodes) < 3:
        return None
    node, parent = nodes[-1], nodes[-2]
    if parent.kind() == "keyword_argument":
        node, parent = parent, nodes[-3]
    if parent.kind() in ("argument_list", "arguments"):
        before = [span_of(child)[1] for child in parent.named_children() if span_of(child)[1] <= span_of(node)[0]]
        start = max(before, default=None)
    elif parent.kind() in ("binary_expression", "boolean_operator", "object_assignment_pattern"):
        left = parent.field("left") or next(iter(parent.children()), None)
        start = span_of(left)[1] if left is not None and span_of(parent)[1] == whole[1] else None
    else:
        return None
    end = span_of(node)[1]
    operators = ("||", "??", "=", "or", ",")
    return (start, end) if start is not None and content[start : span_of(node)[0]].strip() in operators else None


def _is_setting(program: Program, row: Row, whole: Span) -> bool:
    """Say whether the literal is the default of a pydantic settings field, which reads KEY from the environment."""
    if program.language != "python":
        return False
    for owner, span in _fields(program.module):
        if span[0] <= whole[0] and whole[1] <= span[1] and span[1] == whole[1]:
            bases = {(dotted(base) or "").rpartition(".")[2] for base in owner.bases}
            body = program.text.content[slice(*owner.span)]
            named = row.text("NAME").upper() == row.text("KEY")
            return "BaseSettings" in bases and named and "env_prefix" not in body and "alias" not in body
    return False


def _fields(module: Module) -> Iterator[tuple[Class, Span]]:
    for owner in module.classes:
        for statement in owner.fields:
            yield owner, statement.span
