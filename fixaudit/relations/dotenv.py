"""Rows of `.env`-style files: which keys are declared. Values are never put into rows: they may be credentials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fixaudit.facts import Facts
from fixaudit.formats import dotenv
from fixaudit.relations.base import Column, Option, RootRelation, Row

TEMPLATES = (".env.example", ".env.sample", ".env.template", ".env.dist", ".env-example", "env.example", "example.env")
"""File names under which projects keep the list of their variables; the first is the one that fixes write."""


def _rows(facts: Facts, options: Mapping[str, Any]) -> Sequence[Row]:
    """Keys of a root's own files, then of those at the top of the repository, which are shared by every root."""
    names = TEMPLATES if options.get("templates") else (options.get("path", TEMPLATES[0]),)
    paths = [facts.root.join(name) for name in names]
    paths += [name for name in names if name not in paths]
    rows = []
    for path in paths:
        text = facts.text(path)
        if text is None:
            continue
        for entry in dotenv.read(text.content).entries:
            rows.append(
                Row(
                    path,
                    entry.span,
                    {"KEY": entry.key, "EMPTY": entry.value == "", "FILE": path},
                    {"KEY": entry.key_span, "VALUE": entry.value_span},
                )
            )
    return rows


RELATIONS = (
    RootRelation(
        "dotenv",
        "Keys that a `.env`-style file declares.",
        {
            "KEY": Column("text", "The variable's name."),
            "EMPTY": Column("flag", "Whether no value is written."),
            "FILE": Column("text", "The file, relative to the audit root."),
        },
        _rows,
        {
            "path": Option({"type": "string", "minLength": 1}, "The file to read, relative to the root."),
            "templates": Option(
                {"type": "boolean"}, "Read every usual template name (`.env.example`, `.env.sample` …)."
            ),
        },
    ),
)
