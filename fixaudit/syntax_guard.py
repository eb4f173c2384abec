"""Whether a file parses no worse than it did, for every format that fixes write.

Contract: text in, line of the first new problem out. Counting damage instead of asking "does it parse" lets a fix be
made in a file that was broken elsewhere before.
This module must not know of snapshots, rules or fixes.
"""

from __future__ import annotations

import json
from collections.abc import Callable


def first_problem(path: str, old: str | None, new: str, language: str | None) -> int | None:
    """Return the 1-based line of damage in `new` that `old` (None: a new file) had not, or None."""
    if language is not None:
        from fixaudit.syntax import parses_no_worse

        return None if parses_no_worse(old or "", new, language) else damage_line(new, language) or 1
    parser = _parser_for(path)
    if parser is None:
        return None
    problem = parser(new)
    if problem is None or (old is not None and parser(old) is not None):
        return None
    return problem


def damage_line(content: str, language: str) -> int | None:
    """Return the 1-based line of the first place where a program does not parse, or None."""
    from fixaudit.syntax import duplicate_bindings, parse, python_accepts
    from fixaudit.text import LineIndex

    if language == "python":
        # The interpreters' own verdict: the tolerant grammar stumbles over some valid text and misses bad indentation.
        return None if python_accepts(content) else _python_line(content)
    tree = parse(content, language)
    spans = tree.damage() or duplicate_bindings(tree)
    return LineIndex(content).position(spans[0][0])[0] if spans else None


def _python_line(content: str) -> int:
    import ast

    try:
        ast.parse(content)
    except SyntaxError as error:
        return error.lineno or 1
    except (ValueError, RecursionError, MemoryError):
        pass
    return 1


def _parser_for(path: str) -> Callable[[str], int | None] | None:
    name = path.rsplit("/", 1)[-1]
    if name == "package.json" or name.endswith("package-lock.json"):
        return _json_line
    if name.endswith((".yml", ".yaml")):
        return _yaml_line
    if name.endswith(".toml") or name in ("uv.lock", "poetry.lock", "Pipfile"):
        return _toml_line
    return None


def _json_line(text: str) -> int | None:
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return error.lineno
    return None


def _yaml_line(text: str) -> int | None:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        for _ in YAML(typ="rt").compose_all(text):
            pass
    except MarkedYAMLError as error:
        return int(error.problem_mark.line) + 1 if error.problem_mark else 1
    except YAMLError:
        return 1
    return None


def _toml_line(text: str) -> int | None:
    import tomllib

    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        return int(getattr(error, "lineno", 1) or 1)
    return None
