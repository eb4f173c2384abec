"""How a JavaScript file is written, which names it has taken, and how it would write a new import or `process.env`.

Contract: pure answers about one file; each is the majority in the file, or the named default when the file is silent.
This module must not know of rules or edits.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from fixaudit import syntax
from fixaudit.source import ir
from fixaudit.text import Text

# fmt: off
RESERVED = frozenset((
    "abstract", "any", "arguments", "as", "async", "await", "boolean", "break", "case", "catch", "class", "console",
    "const", "continue", "debugger", "declare", "default", "delete", "do", "else", "enum", "eval", "export",
    "exports", "extends", "false", "finally", "for", "from", "function", "get", "global", "globalThis", "if",
    "implements", "import", "in", "instanceof", "interface", "let", "module", "namespace", "never", "new", "null",
    "number", "of", "package", "private", "process", "protected", "public", "require", "return", "set", "static",
    "string", "super", "switch", "symbol", "this", "throw", "true", "try", "type", "typeof", "undefined", "unknown",
    "var", "void", "while", "with", "yield",
))
# fmt: on
"""Words that no new binding may have: keywords, TypeScript's type words, and what CommonJS and Node provide."""

_IDENTIFIER = re.compile(r"[^\W\d][\w$]*|\$[\w$]*")
_SIMPLE = ("declare", "assign", "expression", "import", "return", "raise", "augment")
_LISTS = ("object", "array", "arguments", "object_pattern", "named_imports", "formal_parameters")


@dataclass(frozen=True, slots=True)
class Style:
    """`indent` is one level; `newline` the file's line ending."""

    quote: str = '"'
    semicolons: bool = True
    indent: str = "  "
    newline: str = "\n"
    trailing_comma: bool = False

    def string(self, value: str) -> str:
        """Write a string literal."""
        escaped = value.replace("\\", "\\\\").replace(self.quote, "\\" + self.quote)
        return self.quote + escaped.replace("\r", "\\r").replace("\n", "\\n") + self.quote

    @property
    def end(self) -> str:
        """What ends a statement."""
        return ";" if self.semicolons else ""


@lru_cache(maxsize=16)
def tree_of(content: str, language: str) -> syntax.Tree:
    """Parse the text of an edit; several helpers look at one text."""
    return syntax.parse(content, language)


def style(text: Text, module: ir.Module) -> Style:
    """Return a file's style by majority; double quotes, semicolons and two spaces where it shows nothing."""
    tree = tree_of(text.content, module.language)
    quotes: Counter[str] = Counter()
    for node in tree.nodes("string"):
        parent = node.parent()
        start, end = syntax.span_of(node)
        # JSX attributes have a convention of their own, and a text with quotes inside was given no choice.
        inner = text.content[start + 1 : end - 1]
        if "'" not in inner and '"' not in inner and (parent is None or parent.kind() != "jsx_attribute"):
            quotes[text.content[start]] += 1
    ends: Counter[bool] = Counter()
    for statement in all_statements(module):
        if statement.kind in _SIMPLE:
            last = text.content[statement.span[1] - 1]
            if last == ";" or last != "}":
                ends[last == ";"] += 1
    commas: Counter[bool] = Counter()
    for node in tree.nodes(*_LISTS):
        start, end = syntax.span_of(node)
        inner = text.content[start + 1 : end - 1]
        tail = inner.rstrip()
        if tail and "\n" in inner[len(tail) :]:
            commas[tail.endswith(",")] += 1
    return Style(
        "'" if quotes["'"] > quotes['"'] else '"',
        ends[True] >= ends[False],
        _indent(text.content),
        text.newline,
        commas[True] > commas[False],
    )


def _indent(content: str) -> str:
    """Return one level: the step that most often leads from a line to a deeper one."""
    steps: Counter[str] = Counter()
    before = ""
    for line in content.splitlines():
        if not line.strip() or line.lstrip().startswith("*"):
            continue
        white = line[: len(line) - len(line.lstrip(" \t"))]
        if len(white) > len(before) and white.startswith(before):
            steps[white[len(before) :]] += 1
        before = white
    usual = [
        (count, step) for step, count in steps.items() if step == "\t" or (set(step) == {" "} and 2 <= len(step) <= 8)
    ]
    return max(usual, key=lambda pair: (pair[0], pair[1] == "\t", -len(pair[1])))[1] if usual else "  "


def all_statements(module: ir.Module) -> Iterator[ir.Statement]:
    """Yield every statement of a file: top level, functions, class fields."""
    yield from module.body
    for function in module.functions:
        yield from function.body
    for definition in module.classes:
        yield from definition.fields


def module_system(module: ir.Module, path: str, package_type: str | None) -> str:
    """Say whether a file imports by "esm" or "commonjs": its extension, then its syntax, then the nearest manifest.

    TypeScript without imports is "esm": `import` is how it is written whatever it is compiled to.
    """
    name = path.lower()
    if name.endswith((".mjs", ".mts")):
        return "esm"
    if name.endswith(".cjs"):
        return "commonjs"
    if module.system != "none":
        return module.system
    if name.endswith(".cts"):
        return "commonjs"
    return "esm" if module.language != "javascript" or package_type == "module" else "commonjs"


# Names ---------------------------------------------------------------------------------------------------------------


def bindings(module: ir.Module) -> dict[int | None, frozenset[str]]:
    """Return the names bound in a file by scope: None is the module, a number the function with that index.

    Names of types, enums and namespaces count; blocks are not told apart from their function.
    """
    found: dict[int | None, set[str]] = {None: set()}

    def bind(scope: int | None, name: str | None) -> None:
        if name:
            found.setdefault(scope, set()).add(name)

    def body(scope: int | None, statements: tuple[ir.Statement, ...]) -> None:
        for statement in statements:
            for target in statement.targets:
                bind(scope, target.name)
            if statement.index is not None and statement.kind == "function":
                bind(scope, module.functions[statement.index].name)
            elif statement.index is not None and statement.kind == "class":
                bind(scope, module.classes[statement.index].name)

    body(None, module.body)
    for imported in module.imports:
        bind(imported.scope, imported.local)
    for index, function in enumerate(module.functions):
        for target in function.parameters:
            bind(index, target.name)
        if function.owner is None:
            bind(index, function.name)
        body(index, function.body)
    for definition in module.classes:
        bind(definition.parent, definition.name)
    return {scope: frozenset(names) for scope, names in found.items()}


def free_name(module: ir.Module, hint: str) -> str:
    """Return a name that nothing in the file binds or reads: the hint, `hintMiddleware`, `hint2`, `hint3` …

    A name that is only read counts as taken: a new binding would catch what was meant for a global.
    """
    taken = {name for names in bindings(module).values() for name in names} | RESERVED
    for expression in _expressions(module):
        taken.update(node.name for node in ir.walk(expression) if isinstance(node, ir.Name))
    base = _identifier(hint)
    candidates = [base]
    if base[:1].islower():
        candidates.append(f"{base}Middleware")
    for candidate in candidates:
        if candidate not in taken:
            return candidate
    number = 2
    while f"{base}{number}" in taken:
        number += 1
    return f"{base}{number}"


def _identifier(hint: str) -> str:
    """Make a name of a package: "@scope/rate-limit" gives "rateLimit"."""
    words = [word for word in re.split(r"[^\w$]+", hint.rpartition("/")[2]) if word]
    name = "".join([words[0], *(word[:1].upper() + word[1:] for word in words[1:])]) if words else "imported"
    return name if _IDENTIFIER.fullmatch(name) else f"_{name}"


def _expressions(module: ir.Module) -> Iterator[ir.Expr | None]:
    for statement in all_statements(module):
        yield statement.value
        for target in statement.targets:
            yield target.default
            yield target.member
    for function in module.functions:
        yield from function.decorators
        for target in function.parameters:
            yield target.default
    for definition in module.classes:
        yield from definition.bases
        yield from definition.decorators


# Reading the environment ---------------------------------------------------------------------------------------------


def env_read(
    key: str,
    form: str,
    *,
    language: str,
    checked: bool = False,
    operand: bool = False,
    style: Style | None = None,
) -> str:
    """Write the read of an environment variable whose value is used as a string.

    JavaScript reads `process.env.KEY`, whatever the form: its programs already live with `undefined`. TypeScript must
    compile under `--strict`: "optional" is `process.env.KEY ?? ""`. "required" must not hide a missing value behind an
    empty string, and must not stop a program whose loader (dotenv) runs after this line, which at import time is
    common: so it throws only when the caller says `checked`, because the place is known to run after the loader (or
    there is none), and is `process.env.KEY as string` otherwise, which leaves the value undefined where it is missing.
    `operand` puts brackets around what binds more loosely than a member access.
    """
    style = style or Style()
    read = f"process.env.{key}" if re.fullmatch(r"[A-Za-z_$][\w$]*", key) else f"process.env[{style.string(key)}]"
    if form == "required" and checked:
        message = style.string(f"{key} is not set")
        code = f"{read} ?? (() => {{ throw new Error({message}){style.end} }})()"
    elif language == "javascript":
        return read
    else:
        code = f"{read} as string" if form == "required" else f"{read} ?? {style.string('')}"
    return f"({code})" if operand else code
