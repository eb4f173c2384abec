"""Rows of `lockfile`: the lockfiles that cover a root, and whether they were made for its manifest.

Contract: a root has the lockfiles of its own directory, else those of the nearest directory above that is a workspace
with the root as a member. Whether a lockfile agrees with the manifest is said without a solver, and is opaque where
only a solver could say.
This module must not know how a lockfile is updated.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from fixaudit.facts import Facts
from fixaudit.formats import json, lockfiles, manifests
from fixaudit.formats.lockfiles import LOCKFILE_NAMES, Agreement
from fixaudit.projects import Root
from fixaudit.relations.base import Column, RootRelation, Row
from fixaudit.relations.places import directories_above, join, ordered, read, roots_of
from fixaudit.relations.workspaces import is_member

ECOSYSTEMS = {"node": "npm", "python": "pypi"}
"""The index of each ecosystem that `formats.lockfiles` names."""

MANAGERS = ("npm", "yarn", "pnpm", "bun", "uv", "poetry", "pipenv", "pdm")
_SHOWN_REASONS = 3


@dataclass(frozen=True, slots=True)
class Lock:
    """A lockfile that covers a root. `above` is False for one in the root's own directory."""

    path: str
    manager: str
    ecosystem: str
    above: bool

    @property
    def name(self) -> str:
        return posixpath.basename(self.path)


def locks_of(facts: Facts, root: Root) -> tuple[Lock, ...]:
    """Return the lockfiles that cover a root, those of npm's ecosystem first."""
    found: list[Lock] = []
    for family, ecosystem in ECOSYSTEMS.items():
        for directory in directories_above(root.path):
            above = directory != root.path
            here = [
                Lock(path, kind.manager, ecosystem, above)
                for name, kind in LOCKFILE_NAMES.items()
                if kind.ecosystem == family and facts.project.has(path := join(directory, name) or "")
                if not above or _covers(facts, directory, root, kind)
            ]
            if here:
                found += here
                break
    return tuple(found)


def _covers(facts: Facts, directory: str, root: Root, kind: lockfiles.Kind) -> bool:
    return facts.project.has(root.join(kind.manifest)) and is_member(facts, directory, root.path, kind.manager)


def _lock_rows(facts: Facts, options: Mapping[str, Any]) -> Sequence[Row]:
    rows = []
    for root in roots_of(facts):
        for lock in locks_of(facts, root):
            manifest = root.join(LOCKFILE_NAMES[lock.name].manifest)
            agreement = _agreement(facts, root, lock, manifest)
            reasons = [*agreement.reasons[:_SHOWN_REASONS]]
            if len(agreement.reasons) > _SHOWN_REASONS:
                reasons.append(f"{len(agreement.reasons) - _SHOWN_REASONS} more")
            rows.append(
                Row(
                    lock.path,
                    (0, 0),
                    {
                        "FILE": lock.path,
                        "NAME": lock.name,
                        "MANAGER": lock.manager,
                        "ECOSYSTEM": lock.ecosystem,
                        "MANIFEST": manifest if facts.project.has(manifest) else None,
                        "AT": "above" if lock.above else "here",
                        "AGREES": agreement.holds,
                        "REASON": ", ".join(reasons) or None,
                    },
                    opaque=("AGREES",) if agreement.holds is None else (),
                )
            )
    return ordered(rows)


def _agreement(facts: Facts, root: Root, lock: Lock, manifest: str) -> Agreement:
    kind = posixpath.basename(manifest)
    text = facts.text(manifest)
    if text is None:
        return Agreement(None, (f"there is no {kind} beside it",))
    declared = read(facts, manifest, kind, partial(manifests.dependencies, kind))
    if declared is None:
        return Agreement(None, (f"{kind} cannot be read",))
    if facts.text(lock.path) is None or lock.manager == "bun":
        return Agreement(None, ("the lockfile cannot be read here",))
    locked = read(facts, lock.path, lock.name, partial(lockfiles.read, lock.name))
    if locked is None:
        return Agreement(None, ("the lockfile is broken",))
    project = root.path[len(posixpath.dirname(lock.path)) :].strip("/")
    local = _own_packages(facts) if lock.manager == "yarn" else ()
    return lockfiles.agrees(locked, declared, text.content, project=project, local=local)


def _own_packages(facts: Facts) -> frozenset[str]:
    """Return the names of the repository's own packages, which a lockfile links instead of locking them."""
    names = set()
    for root in facts.project.roots:
        document = read(facts, root.join("package.json"), "json", json.parse)
        node = document.get(("name",)) if document else None
        if node is not None and isinstance(node.scalar, str):
            names.add(node.scalar)
    return frozenset(names)


RELATIONS = (
    RootRelation(
        "lockfile",
        "Lockfiles that cover a root: its own, else those of the workspace that it is a member of.",
        {
            "FILE": Column("text", "The lockfile, relative to the audit root."),
            "NAME": Column("text", "The lockfile's name.", tuple(LOCKFILE_NAMES)),
            "MANAGER": Column("text", "The package manager that writes it.", MANAGERS),
            "ECOSYSTEM": Column("text", "The index that packages come from.", ("npm", "pypi")),
            "MANIFEST": Column("text", "The root's manifest that it locks, if it is there."),
            "AT": Column("text", "Whether it is in the root's directory.", ("here", "above")),
            "AGREES": Column("flag", "Whether it was made for the manifest as it is; opaque when a solver must say."),
            "REASON": Column("text", "Why it does not agree, or why that is not known."),
        },
        _lock_rows,
    ),
)
