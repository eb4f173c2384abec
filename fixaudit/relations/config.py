"""Rows of `config`: the values of JSON, YAML and TOML files, as they are written.

Contract: a value is text and is never resolved: `on`, `NO`, `3.10` and `0755` stay as typed (U18); strings are given
without quotes and escapes. Keys are joined by dots, items of lists are numbered from 0, documents of a YAML stream do
not show in keys. An empty list or table is one value, so that its key is seen to be there.
This module must not know what a key means.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

from fixaudit.facts import Facts
from fixaudit.formats import json, toml, yaml
from fixaudit.formats.problem import Problem
from fixaudit.globs import matches
from fixaudit.relations.base import Column, Option, RootRelation, Row, Scalar
from fixaudit.relations.places import ordered, read
from fixaudit.source.ir import Span

FORMATS = {
    ".json": "json",
    ".jsonc": "json",
    ".json5": "json",
    ".webmanifest": "json",
    ".yaml": "yaml",
    ".yml": "yaml",
    ".toml": "toml",
}
"""Formats by the last suffix; other files are read by what their names are known to hold."""

_NAMES = {"Pipfile": "toml", "uv.lock": "toml", "poetry.lock": "toml", "Pipfile.lock": "json", ".babelrc": "json"}


@dataclass(frozen=True, slots=True)
class Setting:
    """One value with its dotted key; `key_span` is None for items of lists and for merged keys."""

    key: str
    value: str
    quoted: bool
    span: Span
    key_span: Span | None


def format_of(path: str) -> str | None:
    """Return "json", "yaml" or "toml" by a file's name, None for any other file."""
    name = path.rpartition("/")[2]
    stem, dot, suffix = name.rpartition(".")
    return _NAMES.get(name) or (FORMATS.get(dot + suffix.lower()) if stem else None)


def settings(kind: str, content: str) -> tuple[Setting, ...] | Problem:
    """Return the values of a text in one of the three formats, in source order."""
    if kind == "json":
        document = json.parse(content)
        return document if isinstance(document, Problem) else tuple(_json(document.root, content, "", None))
    if kind == "toml":
        table = toml.parse(content)
        if isinstance(table, Problem):
            return table
        entries = (_toml(entry.value, entry.path, table, content, entry.key_span) for entry in table.entries)
        return tuple(chain.from_iterable(entries))
    documents = yaml.parse(content)
    if isinstance(documents, Problem):
        return documents
    found: list[Setting] = []
    for root in documents:
        for setting in _yaml(root, "", None, frozenset()):
            if len(found) >= yaml.MOST_ROWS:
                return Problem(1, f"aliases make more than {yaml.MOST_ROWS} values of this file")
            found.append(setting)
    return tuple(found)


def _below(key: str, name: str | int) -> str:
    return f"{key}.{name}" if key else str(name)


def _json(node: json.Node, content: str, key: str, key_span: Span | None) -> Iterator[Setting]:
    if node.members:
        for member in node.members:
            yield from _json(member.value, content, _below(key, member.key), member.key_span)
    elif node.items:
        for number, item in enumerate(node.items):
            yield from _json(item, content, _below(key, number), None)
    elif node.kind in ("object", "array"):
        yield Setting(key, "{}" if node.kind == "object" else "[]", False, node.span, key_span)
    else:
        quoted = node.kind == "string"
        yield Setting(key, str(node.scalar) if quoted else content[slice(*node.span)], quoted, node.span, key_span)


def _toml(
    value: toml.Value, path: toml.Path, document: toml.Document, content: str, key_span: Span | None
) -> Iterator[Setting]:
    if value.items:
        for number, item in enumerate(value.items):
            yield from _toml(item, (*path, str(number)), document, content, None)
    elif value.entries:
        for entry in value.entries:
            yield from _toml(entry.value, entry.path, document, content, entry.key_span)
    elif value.kind in ("array", "table"):
        yield Setting(".".join(path), "[]" if value.kind == "array" else "{}", False, value.span, key_span)
    else:
        quoted = value.kind == "string"
        text = document.get(path) if quoted else content[slice(*value.span)]
        yield Setting(".".join(path), text, quoted, value.span, key_span)


def _yaml(node: yaml.Node, key: str, key_span: Span | None, hidden: frozenset[str]) -> Iterator[Setting]:
    """`hidden` are the keys that the mapping which merges this one in has itself; the first of merged keys counts."""
    target = yaml.follow(node)
    if isinstance(target, yaml.Scalar):
        yield Setting(key, target.text, target.style != "", target.span, key_span)
        return
    if isinstance(target, yaml.Items):
        for number, item in enumerate(target.items):
            yield from _yaml(item, _below(key, number), None, frozenset())
    else:
        taken = hidden
        for name, value in target.pairs:
            if isinstance(name, yaml.Scalar) and not (name.text == "<<" and name.plain) and name.text not in hidden:
                taken |= {name.text}
                yield from _yaml(value, _below(key, name.text), name.span, frozenset())
        for source in yaml.merged(target):
            yield from _yaml(source, key, None, taken)
            taken |= {name.text for name, _ in source.pairs if isinstance(name, yaml.Scalar)}
    if not (target.items if isinstance(target, yaml.Items) else target.pairs) and not hidden:
        yield Setting(key, "[]" if isinstance(target, yaml.Items) else "{}", False, target.span, key_span)


def _rows(facts: Facts, options: Mapping[str, Any]) -> Sequence[Row]:
    rows = []
    for path in facts.paths:
        kind = format_of(path)
        if kind is None or not matches(facts.root.relative(path), *options["paths"]):
            continue
        for setting in read(facts, path, f"config.{kind}", partial(settings, kind)) or ():
            spans = {"VALUE": setting.span}
            if setting.key_span is not None:
                spans["KEY"] = setting.key_span
            values: dict[str, Scalar] = {"KEY": setting.key, "VALUE": setting.value, "QUOTED": setting.quoted}
            rows.append(Row(path, setting.span, {**values, "FILE": path}, spans))
    return ordered(rows)


_PATHS = {"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1}

RELATIONS = (
    RootRelation(
        "config",
        "Values of JSON, YAML and TOML files as text. Comments in JSON are read over; a broken file has no rows.",
        {
            "KEY": Column("text", "The keys joined by dots; items of lists by number from 0."),
            "VALUE": Column("text", "The value as typed (`on`, `NO`, `3.10`), strings without quotes and escapes."),
            "QUOTED": Column("flag", "Whether it is written as a string."),
            "FILE": Column("text", "The file, relative to the audit root."),
        },
        _rows,
        {"paths": Option(_PATHS, "Globs of the files to read, relative to the root.", required=True)},
    ),
)
