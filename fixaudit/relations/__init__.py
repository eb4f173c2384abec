"""The registry of relations: name → Relation. A new relation is one module here and one line below."""

from __future__ import annotations

from functools import cache

from fixaudit.relations.base import Relation


@cache
def registry() -> dict[str, Relation]:
    """Return every native relation by name, in alphabetical order."""
    from importlib import import_module

    found: dict[str, Relation] = {}
    for module in MODULES:
        for relation in import_module(f"fixaudit.relations.{module}").RELATIONS:
            found[relation.name] = relation
    return dict(sorted(found.items()))


MODULES: tuple[str, ...] = (
    "app_events",
    "calls",
    "config",
    "dependencies",
    "docker",
    "dotenv",
    "entries",
    "env_reads",
    "files",
    "imports",
    "lockfiles",
    "managers",
    "secrets",
    "functions",
    "queries",
    "routes",
    "runtimes",
)
