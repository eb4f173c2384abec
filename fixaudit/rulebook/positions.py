"""YAML text with the place of every key and value: what rule files, stacks, concepts and data files are read with.

Contract: a document is plain mappings, lists and scalars, or one `Problem` with its place. The language is smaller
than YAML's: no anchors and aliases, no tags, no second document, no key twice; dates and numbers with a leading zero
stay text, so that no value is quietly changed. Positions are 1-based lines and columns in code points.
This module must not know what the keys mean. It is used for rules; users' files are read by `formats`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Path: TypeAlias = tuple[str | int, ...]
"""Keys and list indices from the document's top to a value."""


@dataclass(frozen=True, order=True)
class Problem:
    """One thing that is wrong with a file, for a person: `file:line:column: key.path: message`."""

    file: str
    line: int
    column: int
    key_path: str
    message: str

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}:{self.column}: "
        return where + (f"{self.key_path}: {self.message}" if self.key_path else self.message)


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong at a place of a document. `at_key`: the key is wrong, not its value."""

    path: Path
    message: str
    at_key: bool = False


def key_path(path: Path) -> str:
    """Write a path as people do: `examples[2].finds[0].at`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            plain = re.fullmatch(r"[\w-]+", part) is not None
            text += f".{part}" if plain and text else part if plain else f'["{part}"]'
    return text


@dataclass(frozen=True)
class Document:
    """A file's value and, through its nodes, where each part of it stands."""

    file: str
    value: Any
    _root: Any = field(repr=False, compare=False)

    def position(self, path: Path, *, at_key: bool = False) -> tuple[int, int]:
        """Return line and column of a value, or of its key; of what encloses it when it is not there."""
        node, mark = self._root, self._root.start_mark
        for depth, part in enumerate(path):
            last = depth == len(path) - 1
            found = _child(node, part)
            if found is None:
                break
            key, value = found
            mark = key.start_mark if last and at_key else value.start_mark
            node = value
        return mark.line + 1, mark.column + 1

    def problem(self, fault: Fault) -> Problem:
        """Give a fault its place in the file."""
        return Problem(self.file, *self.position(fault.path, at_key=fault.at_key), key_path(fault.path), fault.message)


def _child(node: Any, part: str | int) -> tuple[Any, Any] | None:
    """Return (key node, value node); for a list item both are the item."""
    if isinstance(part, int):
        items = node.value if node.id == "sequence" else ()
        return (items[part], items[part]) if part < len(items) else None
    for key, value in node.value if node.id == "mapping" else ():
        if key.value == part:
            return key, value
    return None


def read(text: str, file: str) -> Document | Problem:
    """Read one YAML document; `file` is how messages call it."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        root = YAML(typ="safe").compose(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        return Problem(file, line, column, "", _trouble(error.problem or error.context or "", text, line))
    except YAMLError as error:
        found = re.search(r"[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", text)
        line = text.count("\n", 0, found.start()) + 1 if found else 1
        column = found.start() - text.rfind("\n", 0, found.start()) if found else 1
        return Problem(file, line, column, "", f"not YAML: {str(error).splitlines()[0]}")
    if root is None:
        return Problem(file, 1, 1, "", "the file is empty")
    try:
        return Document(file, _value(root, (), set()), root)
    except _Wrong as wrong:
        mark = wrong.node.start_mark
        return Problem(file, mark.line + 1, mark.column + 1, key_path(wrong.path), wrong.message)


def _trouble(problem: str, text: str, line: int) -> str:
    lines: Sequence[str] = text.splitlines()
    written = lines[line - 1] if line <= len(lines) else ""
    indent = written[: len(written) - len(written.lstrip())]
    if "\t" in indent:
        return "a tab cannot indent YAML: use spaces"
    if re.match(r"\s*-\w", written) and "-" in problem:
        return f"{problem}: a list item needs a space after its dash"
    return f"not YAML: {problem}"


class _Wrong(Exception):
    def __init__(self, node: Any, path: Path, message: str) -> None:
        super().__init__(message)
        self.node, self.path, self.message = node, path, message


_TAG = "tag:yaml.org,2002:"
_TAGS = ("str", "int", "float", "bool", "null", "timestamp", "map", "seq")
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(?:0|[1-9][0-9]*)\.[0-9]+")
_MAX_DEPTH = 60


def _value(node: Any, path: Path, seen: set[int]) -> Any:
    # An alias is the anchor's own node a second time: its place is unknown, and it may even hold itself.
    if id(node) in seen:
        raise _Wrong(node, path, "anchors and aliases are not part of the rule language: write the value out")
    seen.add(id(node))
    if len(path) > _MAX_DEPTH:
        raise _Wrong(node, path, "nested too deeply")
    if node.tag.removeprefix(_TAG) not in _TAGS:
        raise _Wrong(node, path, f"the tag {node.tag} is not part of the rule language")
    if node.id == "mapping":
        mapping: dict[str, Any] = {}
        for key, value in node.value:
            if key.id != "scalar":
                raise _Wrong(key, path, "a key must be text")
            name = key.value
            if name in mapping:
                raise _Wrong(key, (*path, name), "this key is written twice")
            if key.tag == _TAG + "merge":
                raise _Wrong(key, path, "merge keys are not part of the rule language: write the value out")
            mapping[name] = _value(value, (*path, name), seen)
        return mapping
    if node.id == "sequence":
        return [_value(item, (*path, index), seen) for index, item in enumerate(node.value)]
    return _scalar(node.tag.removeprefix(_TAG), node.value)


def _scalar(tag: str, text: str) -> Any:
    match tag:
        case "null":
            return None
        case "bool":
            return text.lower() == "true"
        case "int" if _INTEGER.fullmatch(text):
            return int(text)
        case "float" if _FLOAT.fullmatch(text):
            return float(text)
    return text
