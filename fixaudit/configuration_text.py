"""The text of a configuration: plain values, and the place of everything that is wrong with it.

Contract: YAML and TOML give the same values and the same sentences; each problem is one line
`file:line:column: key.path: message`, all of them at once.
This module must not know what the keys mean.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from fixaudit.errors import ConfigurationError

Locate: TypeAlias = Callable[[tuple[str | int, ...], bool], str]
"""From a path of keys, and whether the last key itself is meant, to `file:line:column`."""


def checked(name: str, data: bytes, schema: Mapping[str, Any]) -> tuple[Mapping[str, Any], Mapping[str, str]]:
    """Return the values and the places of the rules that they name. Raises ConfigurationError."""
    from fixaudit.rulebook.positions import key_path
    from fixaudit.rulebook.validate import Validation

    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        raise _unusable(name, [f"{name}:{line}:{column}: the file is not UTF-8 text"]) from error
    value, locate = _from_toml(text, name) if name == "pyproject.toml" else _from_yaml(text, name)
    problems = []
    for fault in Validation(schema).faults(value):
        where = key_path(fault.path)
        problems.append(f"{locate(fault.path, fault.at_key)}: {where}{': ' if where else ''}{fault.message}")
    if problems:
        raise _unusable(name, problems)
    places = {rule: locate(("rules", rule), True) for rule in value.get("rules", {})}
    for index, answer in enumerate(value.get("answers", ())):
        places.setdefault(answer["rule"], locate(("answers", index, "rule"), False))
    return value, places


def _unusable(name: str, problems: Sequence[str]) -> ConfigurationError:
    unique = sorted(dict.fromkeys(problems), key=by_place)
    return ConfigurationError(f"{name} cannot be used", problems=tuple(unique))


def _from_yaml(text: str, name: str) -> tuple[Any, Locate]:
    from fixaudit.rulebook.positions import Document, read

    if all(line.strip() == "" or line.lstrip().startswith("#") for line in text.splitlines()):
        return {}, lambda path, at_key: f"{name}:1:1"
    document = read(text, name)
    if not isinstance(document, Document):
        raise _unusable(name, [str(document)])

    def locate(path: tuple[str | int, ...], at_key: bool) -> str:
        line, column = document.position(path, at_key=at_key)
        return f"{name}:{line}:{column}"

    return document.value, locate


def _from_toml(text: str, name: str) -> tuple[Any, Locate]:
    from fixaudit.formats.toml import Document, Value, parse
    from fixaudit.text import LineIndex

    document = parse(text)
    assert isinstance(document, Document)  # `_manifest` has read it
    lines = LineIndex(text)

    def locate(path: tuple[str | int, ...], at_key: bool) -> str:
        offset = 0
        node: Value | None = None
        for depth in range(len(path) + 1):
            keys = ("tool", "fixaudit", *map(str, path[:depth]))
            last = path[depth - 1] if depth else None
            if (entry := document.entry(keys)) is not None:
                node = entry.value
                offset = entry.key_span[0] if at_key and depth == len(path) else node.span[0]
            elif (table := document.table(keys)) is not None:
                offset = table.span[0]
            elif node is not None and isinstance(last, int) and last < len(node.items):
                node = node.items[last]
                offset = node.span[0]
        line, column = lines.position(offset)
        return f"{name}:{line}:{column}"

    return document.get(("tool", "fixaudit")), locate


def by_place(problem: str) -> tuple[int, int, str]:
    """Order problems by line and column."""
    parts = problem.split(":")
    numbers = [int(part) for part in parts[1:3] if part.isdigit()]
    line, column = [*numbers, 0, 0][:2]
    return line, column, problem
