"""Relation `import`: what each program file imports, as written; evidence for which stacks a root uses.

Contract: one row per imported name, from the file alone; nothing is resolved. Type-only imports are marked: they are
no evidence that a package is there at run time.
This module must not know of rules or of the tree around the file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from fixaudit.facts import Facts, SourceFile
from fixaudit.relations.base import Column, FileRelation, Option, RootRelation, Row, Scalar
from fixaudit.relations.linked import mentioning
from fixaudit.source.ir import Import

LANGUAGES = ("javascript", "typescript", "tsx", "python")


def package_of(specifier: str, python: bool) -> str | None:
    """Return the package of a module specifier ("@scope/a/b" → "@scope/a", "flask.views" → "flask"); None if local."""
    if specifier.startswith(".") or (not python and specifier.startswith(("/", "#", "~/", "@/"))):
        return None
    if python:
        return specifier.split(".")[0]
    name = specifier.removeprefix("node:")
    parts = name.split("/")
    return "/".join(parts[:2]) if name.startswith("@") else parts[0]


def _rows(file: SourceFile) -> Sequence[Row]:
    module = file.module
    if module is None:
        return ()
    python = module.language == "python"
    return [_row(file.path, item, python, module.language) for item in module.imports]


def _row(path: str, item: Import, python: bool, language: str) -> Row:
    values: dict[str, Scalar] = {
        "MODULE": item.dotted or item.module,
        "PACKAGE": package_of(item.module, python),
        "EXPORT": item.export,
        "LOCAL": item.local,
        "TYPE_ONLY": item.type_only,
        "LANGUAGE": language,
    }
    return Row(path, item.span, values, {"MODULE": item.span})


IMPORTS = FileRelation("imports_of_file", "Names that one file imports.", {}, _rows, LANGUAGES, (b"import", b"require"))


def _named(facts: Facts, options: Mapping[str, Any]) -> Sequence[Row]:
    """With `packages`, only files that hold one of the names are parsed: the names are evidence for stacks, asked of
    every project, and most files of most projects mention none of them."""
    packages = options.get("packages")
    if packages is None:
        return facts.rows(IMPORTS)
    rows = []
    for path in mentioning(facts, tuple(sorted(name.encode() for name in packages))):
        file = facts.file(path)
        if file is not None:
            found = facts.project.memo.get("imports", f"{path}\0{file.digest}", partial(_rows, file))
            rows += [row for row in found if row.values["PACKAGE"] in packages]
    return rows


RELATIONS = (
    RootRelation(
        "import",
        "Names that program files import.",
        {
            "MODULE": Column("text", 'The module as written ("express", "./routes", "os.path").'),
            "PACKAGE": Column("text", "The package that it belongs to; null for the project's own modules."),
            "EXPORT": Column("text", '"default", "*" for the whole module, or the imported name.'),
            "LOCAL": Column("text", "The name in the file; null for an import made for its effect."),
            "TYPE_ONLY": Column("flag", "Whether only types are imported."),
            "LANGUAGE": Column("text", "Language of the file.", LANGUAGES),
        },
        _named,
        {
            "packages": Option(
                {"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1},
                "Only imports of these packages; much cheaper than asking for a package among all imports.",
            )
        },
    ),
)
