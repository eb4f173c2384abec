"""Which directories a root relation looks at, shared by the relations that read manifests and their neighbours.

Contract: paths relative to the audit root in and out. With `facts.repository` every root of the repository is looked
at; otherwise the judged root alone.
This module must not know what a file means.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable
from typing import TypeVar

from fixaudit.facts import Diagnostic, Facts
from fixaudit.formats.problem import Problem
from fixaudit.projects import Root
from fixaudit.relations.base import Row
from fixaudit.text import byte_key

T = TypeVar("T")


def roots_of(facts: Facts) -> tuple[Root, ...]:
    """Return the roots that are judged."""
    return facts.project.roots if facts.repository else (facts.root,)


def directories_above(path: str) -> tuple[str, ...]:
    """Return a directory and those above it, nearest first; "" is the audit root."""
    found = [path]
    while path:
        path = posixpath.dirname(path)
        found.append(path)
    return tuple(found)


def join(directory: str, name: str) -> str | None:
    """Return a path below a directory, `.` and `..` resolved; None when it leaves the audit root."""
    path = posixpath.normpath(posixpath.join(directory, name))
    return None if path.startswith(("../", "/")) or path in ("..", ".") else path


def read(facts: Facts, path: str, kind: str, parse: Callable[[str], T | Problem]) -> T | None:
    """Parse a file once for its content; None when it is absent or broken, and broken files get a diagnostic.

    `kind` names what `parse` makes: results are kept by it and by the file's digest.
    """
    file = facts.file(path)
    if file is None or file.text is None:
        return None
    content = file.text.content
    result: T | Problem = facts.project.memo.get(f"parsed:{kind}", file.digest, lambda: parse(content))
    if isinstance(result, Problem):
        facts.project.diagnostics[path] = Diagnostic(path, result.line, result.message)
        return None
    return result


def ordered(rows: Iterable[Row]) -> tuple[Row, ...]:
    """Return rows in order of path and position; equal places keep their order."""
    return tuple(sorted(rows, key=lambda row: (byte_key(row.path), row.span)))
