"""Rows about files as such: `file`, `lines`, `tracked`, `ignored`.

Paths in rows are relative to the audit root; paths in options are relative to the root that is judged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fixaudit.facts import Facts
from fixaudit.globs import matches
from fixaudit.relations.base import Column, Option, RootRelation, Row
from fixaudit.repository.ignore import ignore_query

_PATHS = {"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1}


def _file_rows(facts: Facts, options: Mapping[str, Any]) -> Sequence[Row]:
    wanted = options.get("paths")
    rows = []
    for path in facts.paths:
        relative = facts.root.relative(path)
        if wanted is not None and not matches(relative, *wanted):
            continue
        file = facts.file(path)
        kind = file.kind if file else None
        rows.append(
            Row(
                path,
                (0, 0),
                {
                    "PATH": relative,
                    "NAME": path.rsplit("/", 1)[-1],
                    "LANGUAGE": kind.language if kind else None,
                    "PROGRAM": bool(kind and kind.is_program),
                    "TEST": bool(kind and kind.test),
                    "TRACKED": facts.snapshot.is_tracked(path),
                },
            )
        )
    return rows


def _line_rows(facts: Facts, options: Mapping[str, Any]) -> Sequence[Row]:
    rows = []
    for path in facts.paths:
        text = facts.text(path) if matches(facts.root.relative(path), *options["paths"]) else None
        if text is None:
            continue
        for number in range(1, len(text.lines) + 1):
            start = text.lines.start_of(number)
            end = text.lines.line_end(start)
            if start < len(text.content):
                line = text.content[start:end]
                rows.append(Row(path, (start, end), {"TEXT": line, "LINE": number}, {"TEXT": (start, end)}))
    return rows


def _tracked_rows(facts: Facts, options: Mapping[str, Any]) -> Sequence[Row]:
    rows = []
    for path in facts.project.paths:
        if facts.owns(path) and facts.snapshot.is_tracked(path) and matches(path, *options["paths"]):
            rows.append(Row(path, (0, 0), {"PATH": path}))
    return rows


def _ignored_rows(facts: Facts, options: Mapping[str, Any]) -> Sequence[Row]:
    """One row per path and root: git ignores what a *repository's own* files say, the same on every machine."""
    rules = {
        path: facts.snapshot.read(path)
        for path in facts.project.paths
        if path.rsplit("/", 1)[-1] == ".gitignore" and facts.file(path) is not None
    }
    roots = facts.project.roots if facts.repository else (facts.root,)
    asked = {root.join(path): path for root in roots for path in options["paths"]}
    answers = ignore_query(rules, list(asked))
    top = ".gitignore"
    return [Row(top, (0, 0), {"PATH": path, "NAME": name, "IGNORED": answers[path]}) for path, name in asked.items()]


RELATIONS = (
    RootRelation(
        "file",
        "Files of the root.",
        {
            "PATH": Column("text", "Path relative to the root."),
            "NAME": Column("text", "The last segment."),
            "LANGUAGE": Column("text", "Language of the front end that reads it.",
                               ("javascript", "typescript", "tsx", "python")),
            "PROGRAM": Column("flag", "Whether it is the program's own code (no test, vendored or generated file)."),
            "TEST": Column("flag", "Whether it is a test."),
            "TRACKED": Column("flag", "Whether git's index holds it."),
        },
        _file_rows,
        {"paths": Option(_PATHS, "Only files that match one of these globs.")},
    ),
    RootRelation(
        "lines",
        "Lines of text files.",
        {"TEXT": Column("text", "The line without its ending."), "LINE": Column("number", "1-based.")},
        _line_rows,
        {"paths": Option(_PATHS, "Globs of the files to read.", required=True)},
    ),
    RootRelation(
        "tracked",
        "Files that git's index holds.",
        {"PATH": Column("text", "Path relative to the audit root.")},
        _tracked_rows,
        {"paths": Option(_PATHS, "Globs; a pattern without a slash matches at any depth.", required=True)},
    ),
    RootRelation(
        "ignored",
        "Whether git would ignore a path, by git's own rules and the repository's own .gitignore files only.",
        {
            "PATH": Column("text", "The path asked about, relative to the audit root."),
            "NAME": Column("text", "The path as asked."),
            "IGNORED": Column("flag", "What git says."),
        },
        _ignored_rows,
        {"paths": Option(_PATHS, "Paths to ask about, at every root when the whole repository is judged.",
                         required=True)},
    ),
)  # fmt: skip
