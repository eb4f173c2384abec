"""JavaScript, TypeScript and JSX to the program model.

Contract: text and language in, Module out, for any text at all: damaged input gives what can be read of it and the
ranges in which the parser had to guess. What each construct becomes is said in `source.ir`; what is left open there:

- a `require("x")` or `import("x")` that binds nothing is an Import without local name; a declared one stays a
  "declare" statement as well, with the call as its value;
- a name that is exported where it is declared (`export const a`) has an Export whose value is the Name;
- `export =` counts as `module.exports =`; `export * as ns from` has the value Name "*";
- `delete x` and `void x` inside an expression are Other of the kinds "delete" and "void", a tagged template is
  "tagged_template", a getter or setter in an object literal is "accessor", a JSX element is "jsx_element": its tag, its
  attributes as one Object, its children.

This module must not know of files or relations.
"""

from __future__ import annotations

from fixaudit import syntax
from fixaudit.source import ir
from fixaudit.source.javascript_program import ProgramReader


def parse_javascript(content: str, language: str) -> ir.Module:
    """Read a program; `language` is "javascript" (with JSX), "typescript" or "tsx", anything else raises ValueError."""
    if language not in ("javascript", "typescript", "tsx"):
        raise ValueError(f"not a JavaScript language: {language!r}")
    tree = syntax.parse(content, language)
    reader = ProgramReader(content)
    damage = tree.damage()
    body = reader.read_program(tree.root, tree.nodes("ERROR") if damage else [])
    system = _system(reader)
    strict = system == "esm" or language != "javascript"
    return ir.Module(
        language,
        body,
        tuple([function for function in reader.functions if function is not None]),
        tuple([definition for definition in reader.classes if definition is not None]),
        tuple(sorted(reader.imports, key=lambda found: found.span)),
        tuple(reader.exports),
        _comments(tree),
        system,
        tuple(sorted({*damage, *reader.damage})),
        strict or any(s.kind == "directive" and _text(s.value) == "use strict" for s in body),
    )


def _system(reader: ProgramReader) -> str:
    if reader.is_esm or reader.uses_import_meta:
        return "esm"
    return "commonjs" if reader.uses_require or reader.exports else "none"


def _text(value: ir.Expr | None) -> object:
    return value.value if isinstance(value, ir.Literal) else None


def _comments(tree: syntax.Tree) -> tuple[ir.Comment, ...]:
    if "/*" not in tree.content and "//" not in tree.content and "<!--" not in tree.content:
        return ()
    found = []
    for node in tree.nodes("comment", "html_comment"):
        start, end = syntax.span_of(node)
        before = start
        while before and tree.content[before - 1] in " \t":
            before -= 1
        own_line = before == 0 or tree.content[before - 1] in "\r\n"
        found.append(ir.Comment((start, end), tree.content[start:end], own_line))
    return tuple(found)
