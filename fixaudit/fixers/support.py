"""What every step family needs: arguments filled in, paths of a root, texts of the tree, and wording of refusals.

This module must not know of any step.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping
from typing import Any

from fixaudit.fixers.base import Refusal, Situation
from fixaudit.fixers.names import names as template_names
from fixaudit.formats.problem import Problem
from fixaudit.rulebook.template import Name, Template, parse, render
from fixaudit.snapshot import EXECUTABLE, REGULAR, ChangeSet
from fixaudit.text import Edit, Text

Functions = Mapping[str, Callable[..., str]]

TEXT: Mapping[str, Any] = {"type": "string"}
NAME: Mapping[str, Any] = {"type": "string", "minLength": 1}
LINES: Mapping[str, Any] = {"type": "array", "items": TEXT, "minItems": 1}


def closed(required: tuple[str, ...], **properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the closed JSON Schema of a step's arguments."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }


def names(situation: Situation) -> dict[str, Any]:
    """Return what a step's templates may name."""
    return template_names(
        situation.rule, situation.variant, situation.target, situation.facts, situation.rulebook, situation.values
    )


def fill(value: Any, situation: Situation, functions: Functions | None = None, **more: Any) -> Any:
    """Fill in the templates inside an argument, at any depth.

    A text that is one template alone keeps the type of its value; inside a list, a list takes its place item by item
    (`lines: ['{{ stack.ignore }}', .DS_Store]`).
    """
    scope = {**names(situation), **more}
    return _filled(value, scope, functions or {})


def _filled(value: Any, scope: Mapping[str, Any], functions: Functions) -> Any:
    if isinstance(value, str):
        parsed = parse(value)
        if isinstance(parsed, Template) and len(parsed.parts) == 1 and isinstance(parsed.parts[0], Name):
            found = _lookup(scope, parsed.parts[0].name)
            if found is not None:
                return found
        return render(value, scope, functions)
    if isinstance(value, Mapping):
        return {key: _filled(inner, scope, functions) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        filled: list[Any] = []
        for inner in value:
            result = _filled(inner, scope, functions)
            if isinstance(inner, str) and isinstance(result, list):
                filled += result
            else:
                filled.append(result)
        return filled
    return value


def _lookup(scope: Mapping[str, Any], dotted: str) -> Any:
    value: Any = scope
    for name in dotted.split("."):
        if not isinstance(value, Mapping) or name not in value:
            return None
        value = value[name]
    return value


def path_of(situation: Situation, written: str) -> str | Refusal:
    """Return a step's path relative to the audit root.

    Rules write paths relative to the finding's root; a captured path (`{{ path }}`) is one of the tree already.
    """
    root = situation.facts.root
    path = posixpath.normpath(str(fill(written, situation)))
    if path.startswith(("/", "../")) or path in ("..", ".") or ".git" in path.split("/"):
        return Refusal(f"{path} is outside of the project", code="shape")
    inside = not root.path or path.startswith(f"{root.path}/")
    return path if inside else root.join(path)


def editable(situation: Situation, path: str) -> Text | Refusal | None:
    """Return the text at a path; None when nothing is there; a refusal for links, binary and undecodable files."""
    snapshot = situation.facts.snapshot
    mode = snapshot.mode(path)
    if mode is None:
        return None
    if mode not in (REGULAR, EXECUTABLE):
        return Refusal(f"{path} is a link, so its text is not changed", code="shape")
    text = Text.decode(snapshot.read(path))
    return text if text is not None else Refusal(f"{path} is not UTF-8 text", code="shape")


def edited(path: str, edits: tuple[Edit, ...] | Problem) -> ChangeSet | Refusal:
    """Wrap what a format module answers."""
    if isinstance(edits, Problem):
        return Refusal(f"{path}:{edits.line}: {edits.message}", code="shape")
    real = tuple(edit for edit in edits if edit.expected != edit.replacement)
    return ChangeSet(edits={path: real}) if real else ChangeSet()
