"""Relation `import`: what each program file imports, as written; evidence for which stacks a root uses.

Contract: one row per imported name, from the file alone; nothing is resolved. Type-only imports are marked: they are
no evidence that a package is there at run time.
This module must not know of rules or of the tree around the file.
"""

from __future__ import annotations

from collections.abc import Sequence

from fixaudit.facts import SourceFile
from fixaudit.relations.base import Column, FileRelation, Row, Scalar
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


RELATIONS = (
    FileRelation(
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
        _rows,
        LANGUAGES,
        (b"import", b"require"),
    ),
)
