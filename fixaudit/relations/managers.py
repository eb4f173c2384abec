"""Rows of `manager`: the candidates for the package manager that installs a root.

Contract: candidates come in tiers (declared in a manifest, a lockfile is there, what every runtime brings); a lower
tier counts only where none above has any. A member of a workspace is installed as its top says. Of several reasons for
one manager in one tier the first is given.
This module must not know what a lockfile holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fixaudit.facts import Facts
from fixaudit.formats import json, toml
from fixaudit.formats.lockfiles import LOCKFILE_NAMES
from fixaudit.projects import MANIFESTS, Root
from fixaudit.relations.base import Column, RootRelation, Row
from fixaudit.relations.lockfiles import MANAGERS, Lock, locks_of
from fixaudit.relations.places import directories_above, join, read, roots_of
from fixaudit.relations.workspaces import is_member
from fixaudit.source.ir import Span

_PYTHON_TABLES = ("uv", "poetry", "pdm")


@dataclass(frozen=True, slots=True)
class _Candidate:
    manager: str
    source: str
    tier: int
    path: str
    span: Span = (0, 0)
    version: str | None = None


def _manager_rows(facts: Facts, options: Mapping[str, Any]) -> Sequence[Row]:
    rows = []
    for root in roots_of(facts):
        locks = locks_of(facts, root)
        seen: set[tuple[str, int]] = set()
        for ecosystem, candidate in _candidates(facts, root, locks):
            if (candidate.manager, candidate.tier) in seen:
                continue
            seen.add((candidate.manager, candidate.tier))
            lock = next((lock for lock in locks if lock.manager == candidate.manager), None)
            rows.append(
                Row(
                    candidate.path,
                    candidate.span,
                    {
                        "MANAGER": candidate.manager,
                        "ECOSYSTEM": ecosystem,
                        "SOURCE": candidate.source,
                        "TIER": candidate.tier,
                        "VERSION": candidate.version,
                        "FROZEN": lock is not None,
                        "LOCKFILE": lock.path if lock else None,
                    },
                )
            )
    return tuple(rows)


def _candidates(facts: Facts, root: Root, locks: Sequence[Lock]) -> Iterator[tuple[str, _Candidate]]:
    """Yield (ecosystem, candidate) of each ecosystem that the root has, upper tiers first."""
    node = root.join("package.json")
    if facts.project.has(node):
        for directory in _tops(facts, root, "npm", "pnpm"):
            yield from (("npm", candidate) for candidate in _declared_node(facts, directory))
        yield from _locked(locks, "npm")
        yield "npm", _Candidate("npm", "convention", 3, node)
    python = [root.join(name) for name in sorted(MANIFESTS - {"package.json"}) if facts.project.has(root.join(name))]
    if python:
        for directory in _tops(facts, root, "uv"):
            yield from (("pypi", candidate) for candidate in _declared_python(facts, directory))
        yield from _locked(locks, "pypi")
        yield "pypi", _Candidate("pip", "convention", 3, python[0])


def _tops(facts: Facts, root: Root, *managers: str) -> Iterator[str]:
    """Yield the root's own directory, then the workspaces that it is a member of."""
    yield root.path
    for directory in directories_above(root.path)[1:]:
        if any(is_member(facts, directory, root.path, manager) for manager in managers):
            yield directory


def _locked(locks: Sequence[Lock], ecosystem: str) -> Iterator[tuple[str, _Candidate]]:
    for lock in locks:
        if lock.ecosystem == ecosystem:
            yield ecosystem, _Candidate(lock.manager, lock.name, 2, lock.path)


def _declared_node(facts: Facts, directory: str) -> Iterator[_Candidate]:
    """Yield what package.json says: Corepack's field, npm's `devEngines`, Volta's pins; then pnpm's own file."""
    path = join(directory, "package.json") or ""
    document = read(facts, path, "json", json.parse)
    field = document.get(("packageManager",)) if document else None
    match = re.match(r"(\w+)@([^+]+)", field.scalar) if field and isinstance(field.scalar, str) else None
    if field is not None and match is not None and match[1] in MANAGERS:
        yield _Candidate(match[1], "packageManager", 1, path, field.span, match[2])
    engines = document.get(("devEngines", "packageManager")) if document else None
    for node in engines.items if engines is not None and engines.kind == "array" else (engines,):
        name, version = (node.get("name"), node.get("version")) if node else (None, None)
        if name is not None and name.scalar in MANAGERS:
            written = version.scalar if version is not None and isinstance(version.scalar, str) else None
            yield _Candidate(str(name.scalar), "devEngines", 1, path, name.span, written)
    for manager in ("pnpm", "yarn"):  # Volta may pin npm although another manager is used: npm comes with Node
        pin = document.get(("volta", manager)) if document else None
        if pin is not None and isinstance(pin.scalar, str):
            yield _Candidate(manager, "volta", 1, path, pin.span, pin.scalar)
    workspace = join(directory, "pnpm-workspace.yaml") or ""
    if facts.project.has(workspace):
        yield _Candidate("pnpm", "pnpm-workspace.yaml", 1, workspace)


def _declared_python(facts: Facts, directory: str) -> Iterator[_Candidate]:
    path = join(directory, "pyproject.toml") or ""
    document = read(facts, path, "toml", toml.parse)
    for manager in _PYTHON_TABLES:
        if document is not None and isinstance(document.get(("tool", manager)), dict):
            prefix = ("tool", manager)
            table = next((table for table in document.tables if table.path[:2] == prefix), None)
            yield _Candidate(manager, f"tool.{manager}", 1, path, table.span if table else (0, 0))
    pipfile = join(directory, "Pipfile") or ""
    if facts.project.has(pipfile):
        yield _Candidate("pipenv", "Pipfile", 1, pipfile)


RELATIONS = (
    RootRelation(
        "manager",
        "Candidates for the package manager that installs a root.",
        {
            "MANAGER": Column("text", "The package manager.", (*MANAGERS, "pip")),
            "ECOSYSTEM": Column("text", "The index that packages come from.", ("npm", "pypi")),
            "SOURCE": Column(
                "text",
                "What names it.",
                (
                    *("packageManager", "devEngines", "volta", "pnpm-workspace.yaml"),
                    *("Pipfile", *(f"tool.{manager}" for manager in _PYTHON_TABLES)),
                    *LOCKFILE_NAMES,
                    "convention",
                ),
            ),
            "TIER": Column("number", "1: declared, 2: its lockfile is there, 3: what everybody has."),
            "VERSION": Column("text", "The version that the manifest pins."),
            "FROZEN": Column("flag", "Whether a lockfile of this manager covers the root."),
            "LOCKFILE": Column("text", "That lockfile, relative to the audit root."),
        },
        _manager_rows,
    ),
)
