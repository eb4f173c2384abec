"""Relation `route`: the routes that files register, one row each, whether or not their application is visible.

Contract: a simple, wide view for "the same routes before and after": paths are as registered, without the prefixes of
mounts (those are in `app_events`). This module must not know of rules.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fixaudit.apps.frameworks import handler_name
from fixaudit.facts import Facts, SourceFile
from fixaudit.relations.base import Column, RootRelation, Row
from fixaudit.relations.linked import LANGUAGES, marked, per_file
from fixaudit.relations.routing import WORDS, registrations
from fixaudit.resolve.names import Resolver
from fixaudit.resolve.things import Frame

COLUMNS = {
    "METHOD": Column("text", "HTTP method in capitals; ALL for `all`; WEBSOCKET."),
    "PATH": Column("text", "The path as registered, without mount prefixes."),
    "HANDLER": Column("text", "The handler as written; empty for an inline function."),
    "RECEIVER": Column("text", "What it is registered on, as written: app, router, this.app."),
    "LANGUAGE": Column("text", "Language of the file.", LANGUAGES),
}


def _compute(resolver: Resolver, file: SourceFile, frame: Frame) -> Sequence[Row]:
    rows = []
    for found in registrations(resolver, frame):
        definition = found.function
        name = definition.name if definition is not None else handler_name(found.handlers[-1]) if found.handlers else ""
        opaque = (("PATH",) if found.path is None else ()) + (() if found.methods else ("METHOD",))
        for method in found.methods or (None,):
            values = {
                "METHOD": method,
                "PATH": found.path,
                "HANDLER": name,
                "RECEIVER": found.receiver,
                "LANGUAGE": frame.scopes.module.language,
            }
            spans = {"CALL": found.span} | ({"PATH": found.path_span} if found.path_span is not None else {})
            rows.append(Row(file.path, found.span, dict(values), spans, opaque))
    rows = [marked(row, frame.scopes.module) for row in rows]
    return sorted(rows, key=lambda row: (row.span, str(row.values["METHOD"])))


def _rows(facts: Facts, options: Mapping[str, Any]) -> Sequence[Row]:
    return per_file(facts, "route:1", WORDS, _compute)


RELATIONS = (RootRelation("route", "Routes as registered, file by file.", COLUMNS, _rows),)
