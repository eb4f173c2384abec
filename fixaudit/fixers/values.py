"""The step set_value: one value of a JSON, YAML or TOML file, by pointer; all other text stays as it is.

This module must not know what a key means.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from fixaudit.fixers.base import Deferred, Planned, Refusal, Situation, StepKind
from fixaudit.fixers.support import NAME, closed, editable, edited, fill, path_of
from fixaudit.formats.problem import Edits, Problem
from fixaudit.text import Text


def _set_value(arguments: Mapping[str, Any], situation: Situation) -> Planned:
    path = path_of(situation, arguments["path"])
    if isinstance(path, Refusal):
        return path
    text = editable(situation, path)
    if isinstance(text, Refusal):
        return text
    if text is None:
        if arguments.get("when_absent") == "defer":
            return Deferred(f"no file at {path}")
        return Refusal(f"there is no {path} to change", code="none")
    keys = pointer(str(fill(arguments["pointer"], situation)))
    value = fill(arguments["value"], situation)
    before, after = arguments.get("before", ()), arguments.get("after", ())
    name = path.rpartition("/")[2]
    if name.endswith((".json", ".jsonc")):
        from fixaudit.formats import jsonedit

        return edited(path, jsonedit.set_value(text, keys, value, before=before))
    if name.endswith((".yaml", ".yml")):
        return edited(path, _in_yaml(text, keys, value, before, after))
    if name.endswith(".toml"):
        from fixaudit.formats import tomledit

        return edited(path, tomledit.set_value(text, keys, value))
    return Refusal(f"values are set in JSON, YAML and TOML files, and {path} is none", code="shape")


def pointer(written: str) -> tuple[str, ...]:
    """Split a JSON pointer (RFC 6901): "/scripts/start" → ("scripts", "start")."""
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in written.removeprefix("/").split("/"))


def _in_yaml(text: Text, keys: Sequence[str], value: Any, before: Sequence[str], after: Sequence[str]) -> Edits:
    """Replace a scalar, or add an entry below the deepest mapping that is there."""
    from fixaudit.formats import yaml, yamledit

    documents = yaml.parse(text.content)
    if isinstance(documents, Problem):
        return documents
    if len(documents) != 1:
        return Problem(1, "the file does not hold exactly one document")
    path = _numbered(documents[0], keys)
    node = yaml.get(documents[0], path)
    if node is not None:
        if isinstance(node, yaml.Scalar) and not isinstance(value, dict | list):
            written = _yaml_scalar(value)
            return () if node.text == _as_read(value) else yamledit.replace_scalar(text, node.span, written)
        if _yaml_value(node) == _as_read(value):
            return ()
        return Problem(text.lines.position(node.span[0])[0], f"{'.'.join(keys)} holds something else already")
    depth = len(path) - 1
    while depth and yaml.get(documents[0], path[:depth]) is None:
        depth -= 1
    lines = _yaml_lines([str(part) for part in path[depth:]], value)
    return yamledit.insert_entry(text, path[:depth], lines, before=before, after=after)


def _numbered(root: Any, keys: Sequence[str]) -> tuple[str | int, ...]:
    from fixaudit.formats import yaml

    path: list[str | int] = []
    for key in keys:
        node = yaml.get(root, path)
        path.append(int(key) if isinstance(node, yaml.Items) and key.isdecimal() else key)
    return tuple(path)


def _yaml_value(node: Any) -> Any:
    from fixaudit.formats import yaml

    node = yaml.follow(node)
    if isinstance(node, yaml.Mapping):
        return {name.text: _yaml_value(value) for name, value in node.pairs if isinstance(name, yaml.Scalar)}
    if isinstance(node, yaml.Items):
        return [_yaml_value(item) for item in node.items]
    return node.text


def _as_read(value: Any) -> Any:
    """Return a value as `_yaml_value` gives it: every scalar is its text."""
    if isinstance(value, Mapping):
        return {str(key): _as_read(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_as_read(item) for item in value]
    return value if isinstance(value, str) else json.dumps(value)


def _yaml_lines(keys: Sequence[str], value: Any) -> list[str]:
    head = _yaml_scalar(keys[0])
    if len(keys) > 1:
        return [f"{head}:", *(f"  {line}" for line in _yaml_lines(keys[1:], value))]
    if isinstance(value, Mapping) and value:
        return [f"{head}:", *(f"  {line}" for key in value for line in _yaml_lines([str(key)], value[key]))]
    if isinstance(value, list) and value:
        return [f"{head}:", *(f"  - {_yaml_scalar(item)}" for item in value)]
    return [f"{head}: {'{}' if value == {} else '[]' if value == [] else _yaml_scalar(value)}"]


def _yaml_scalar(value: Any) -> str:
    """Write a scalar plain where every YAML reader takes it for the same value, in JSON's quotes elsewhere."""
    if not isinstance(value, str):
        return json.dumps(value)
    special = {"true", "false", "null", "yes", "no", "on", "off", "~", "y", "n", ""}
    plain = value.replace("-", "a").replace("_", "a").replace("/", "a").replace(".", "a").replace("@", "a")
    starts_plain = value[:1].isalpha() or value[:1] == "_"
    if plain.replace(" ", "a").isalnum() and value.isascii() and starts_plain and value.lower() not in special:
        return value if value == value.strip() else json.dumps(value)
    return json.dumps(value, ensure_ascii=False)


STEPS = (
    StepKind(
        "set_value",
        "Set one value of a JSON, YAML or TOML file by pointer (`/engines/node`); all other text stays. A new entry "
        "goes behind the first key of `after` or in front of the first key of `before` that is there.",
        closed(
            ("path", "pointer", "value"),
            path=NAME,
            pointer={"type": "string", "pattern": "^/"},
            value={},
            before={"type": "array", "items": NAME},
            after={"type": "array", "items": NAME},
            when_absent={"enum": ["refuse", "defer"]},
        ),
        _set_value,
        ("path", "pointer", "value"),
    ),
)
