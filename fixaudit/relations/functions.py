"""Relation `exports`: the names that each module offers to others, for "nothing was taken away".

Contract: JavaScript: every export, with "default" for `export default` and `module.exports`; Python: every name that a
module binds at its top level and that does not begin with an underscore, or those of `__all__`.
This module must not know of rules.
"""

from __future__ import annotations

from collections.abc import Sequence

from fixaudit.facts import SourceFile
from fixaudit.relations.base import Column, FileRelation, Row
from fixaudit.relations.linked import LANGUAGES
from fixaudit.resolve import scopes as scoping
from fixaudit.source.ir import Literal, Module, Span
from fixaudit.source.ir import Sequence as SequenceNode

COLUMNS = {
    "NAME": Column("text", "The exported name; `default` for a default export, `*` for `export * from`."),
    "FROM": Column("text", "The module that it is re-exported from, as written; null for the file's own."),
    "LANGUAGE": Column("text", "Language of the file.", LANGUAGES),
}


def _rows(file: SourceFile) -> Sequence[Row]:
    module = file.module
    if module is None:
        return ()
    found = _python(module) if module.language == "python" else _script(module)
    rows = {
        (name, origin): Row(
            file.path, span, {"NAME": name, "FROM": origin, "LANGUAGE": module.language}, {"EXPORT": span}
        )
        for name, origin, span in reversed(found)
    }
    return sorted(rows.values(), key=lambda row: (row.span, str(row.values["NAME"])))


def _script(module: Module) -> list[tuple[str, str | None, Span]]:
    tables = scoping.index(module)
    return [(item.name, item.module, item.span) for item in tables.exports]


def _python(module: Module) -> list[tuple[str, str | None, Span]]:
    found: list[tuple[str, str | None, Span]] = []
    for statement in module.body:
        names = [target.name for target in statement.targets if target.name is not None]
        if statement.kind == "function" and statement.index is not None:
            names = [module.functions[statement.index].name or ""]
        elif statement.kind == "class" and statement.index is not None:
            names = [module.classes[statement.index].name or ""]
        elif statement.kind not in ("assign", "declare"):
            continue
        if "__all__" in names and isinstance(statement.value, SequenceNode):
            return [
                (item.value, None, item.span)
                for item in statement.value.items
                if isinstance(item, Literal) and isinstance(item.value, str)
            ]
        found += [(name, None, statement.span) for name in names if name and not name.startswith("_")]
    return found


RELATIONS = (FileRelation("exports", "Names that modules export.", COLUMNS, _rows, LANGUAGES),)
