"""Rows of `dependency`: what a root's own manifests declare.

Contract: one row for each declaration, at its place. A workspace member has what its own manifest declares; the top of
the workspace counts for itself alone. Files that a requirements file includes are followed. A broken manifest has no
rows and a diagnostic; a list that only running something would give is one row whose name is opaque.
This module must not know of lockfiles.
"""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from fixaudit.facts import Facts
from fixaudit.formats import manifests, requirements, toml
from fixaudit.formats.dependency import DEV, MAIN, OPTIONAL, PEER, Dependency
from fixaudit.formats.problem import Problem
from fixaudit.projects import Root
from fixaudit.relations.base import Column, RootRelation, Row, Scalar
from fixaudit.relations.places import join, ordered, read, roots_of
from fixaudit.source.ir import Span

_REQUIREMENT_FOLDERS = ("", "requirements")
# A requirements file whose name has one of these words is installed for work on the program, not to run it.
_DEV_WORDS = re.compile(r"(?:\A|[._/-])(?:dev|devel|development|tests?|testing|lint|docs?|ci|local|typing)(?=[._-])")


def declared(facts: Facts, root: Root) -> tuple[tuple[str, Dependency], ...]:
    """Return (manifest, dependency) of everything that a root declares; entries without a name (`-e .`) are left out.

    What a requirements file for development declares is in the group dev.
    """
    found: list[tuple[str, Dependency]] = []
    for name in ("package.json", "pyproject.toml", "Pipfile", "setup.cfg", "setup.py"):
        path = root.join(name)
        if name != "setup.py" or _computed(facts, path) is None:
            found += [(path, row) for row in read(facts, path, name, partial(manifests.dependencies, name)) or ()]
    for path, group in requirement_files(facts, root).items():
        file = read(facts, path, "requirements.txt", requirements.read)
        found += [(path, replace(row, group=group)) for row in (file.dependencies if file else ())]
    return tuple((path, row) for path, row in found if row.normalized)


def requirement_files(facts: Facts, root: Root) -> dict[str, str]:
    """Return the requirements files of a root with their group, includes (`-r`) followed; main where both hold."""
    waiting: list[tuple[str, str]] = []
    for path in facts.project.paths:
        if "requirements" not in path or not path.startswith(root.join("")):
            continue
        relative = root.relative(path)
        folder = posixpath.dirname(relative)
        if folder in _REQUIREMENT_FOLDERS and manifests.kind_of(relative) == "requirements.txt":
            waiting.append((path, DEV if _DEV_WORDS.search(relative) else MAIN))
    waiting += [(path, MAIN) for path in _dynamic_files(facts, root)]
    waiting.sort(key=lambda item: item[1] != MAIN)
    found: dict[str, str] = {}
    while waiting:
        path, group = waiting.pop(0)
        file = read(facts, path, "requirements.txt", requirements.read)
        if path in found or file is None:
            continue
        found[path] = group
        for include in file.includes:
            target = join(posixpath.dirname(path), include.path)
            if include.kind == "requirement" and target is not None:
                waiting.insert(0, (target, group))
    return found


def _dynamic(facts: Facts, root: Root) -> toml.Document | None:
    """Return a pyproject.toml that says that its dependencies stand elsewhere."""
    document = read(facts, root.join("pyproject.toml"), "toml", toml.parse)
    dynamic = document.get(("project", "dynamic")) if document else None
    return document if isinstance(dynamic, list) and "dependencies" in dynamic else None


def _dynamic_files(facts: Facts, root: Root) -> Iterator[str]:
    """Yield the files that setuptools reads the dependencies from."""
    document = _dynamic(facts, root)
    named = document.get(("tool", "setuptools", "dynamic", "dependencies", "file")) if document else None
    for name in [named] if isinstance(named, str) else named if isinstance(named, list) else ():
        path = join(root.path, name) if isinstance(name, str) else None
        if path is not None:
            yield path


def _computed(facts: Facts, path: str) -> Problem | None:
    """Return why the lists of a setup.py that is Python cannot be read; None when they can, and for a broken one."""
    text = facts.text(path)
    result = manifests.dependencies("setup.py", text.content) if text else ()
    if not isinstance(result, Problem) or text is None:
        return None
    try:
        ast.parse(text.content)
    except (SyntaxError, ValueError, RecursionError):
        return None
    return result


def _hidden(facts: Facts, root: Root) -> Iterator[tuple[str, Span]]:
    """Yield the places of lists that cannot be read, except those that are made of a requirements file read anyway."""
    known = [posixpath.basename(path) for path in requirement_files(facts, root)]
    setup = root.join("setup.py")
    problem = _computed(facts, setup)
    text = facts.text(setup)
    if problem is not None and text is not None and not any(name in text.content for name in known):
        start = text.lines.start_of(problem.line)
        yield setup, (start, text.lines.line_end(start))
    document = _dynamic(facts, root)
    elsewhere = any(facts.file(root.join(name)) is not None for name in ("setup.py", "setup.cfg"))
    entry = document.entry(("project", "dynamic")) if document else None
    poetry = document is not None and document.get(("tool", "poetry", "dependencies")) is not None
    if entry is not None and not elsewhere and not poetry and not any(_dynamic_files(facts, root)):
        yield root.join("pyproject.toml"), (entry.key_span[0], entry.value.span[1])


def _rows(facts: Facts, options: Mapping[str, Any]) -> Sequence[Row]:
    rows: dict[tuple[str, Span], Row] = {}
    for root in roots_of(facts):
        for path, dependency in declared(facts, root):
            rows.setdefault((path, dependency.span), _row(facts, path, dependency))
        for path, span in _hidden(facts, root):
            values: dict[str, Scalar] = {"NAME": None, "SPEC": None, "EXTRAS": [], "GROUP": MAIN, "ECOSYSTEM": "pypi"}
            rows[path, span] = Row(path, span, {**values, "MANIFEST": path}, {}, ("NAME", "SPEC"))
    return ordered(rows.values())


def _row(facts: Facts, path: str, dependency: Dependency) -> Row:
    values: dict[str, Scalar] = {
        "NAME": dependency.normalized,
        "SPEC": dependency.spec,
        "EXTRAS": list(dependency.extras),
        "GROUP": dependency.group,
        "ECOSYSTEM": "npm" if path.endswith("package.json") else "pypi",
        "MANIFEST": path,
    }
    text = facts.text(path)
    return Row(path, dependency.span, values, _spans(text.content, dependency) if text else {})


def _spans(content: str, dependency: Dependency) -> dict[str, Span]:
    """Return where name and specification stand inside the entry, as far as they are written as they are read."""
    start, end = dependency.span
    name = content.find(dependency.name, start, end)
    if name < 0:
        return {}
    spans = {"NAME": (name, name + len(dependency.name))}
    spec = content.find(dependency.spec, spans["NAME"][1], end) if dependency.spec else -1
    if spec >= 0:
        spans["SPEC"] = (spec, spec + len(dependency.spec))
    return spans


RELATIONS = (
    RootRelation(
        "dependency",
        "Packages that a root's own manifests declare.",
        {
            "NAME": Column("text", "The package: as is for npm, normalised (PEP 503) for Python."),
            "SPEC": Column("text", "The range as written, or the address; empty for any."),
            "EXTRAS": Column("set", "Extras that are asked for with it (`fastapi[standard]`)."),
            "GROUP": Column("text", "What it is needed for.", (MAIN, DEV, OPTIONAL, PEER)),
            "ECOSYSTEM": Column("text", "The index that it comes from.", ("npm", "pypi")),
            "MANIFEST": Column("text", "The manifest, relative to the audit root."),
        },
        _rows,
    ),
)
