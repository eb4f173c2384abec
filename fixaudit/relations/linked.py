"""Rows whose meaning crosses files: computed once for each file and kept while nothing they rest on changes.

Contract: `per_file` calls `compute` for the files of a root that hold one of some words, and remembers each answer
with the digests of every path that resolution touched, so that after a change only what saw a changed file is
computed again. Which files hold the words is itself remembered by digest, through a file relation.
This module must not know of any single relation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import TypeVar

from fixaudit.facts import Facts, SourceFile
from fixaudit.relations.base import FileRelation, Row
from fixaudit.resolve.names import Resolver
from fixaudit.resolve.things import Frame
from fixaudit.source.ir import Module, in_damage

LANGUAGES = ("javascript", "typescript", "tsx", "python")

T = TypeVar("T")
Stamp = tuple[tuple[str, str | None], ...]


@lru_cache(maxsize=64)
def mention(words: tuple[bytes, ...]) -> FileRelation:
    """Return a file relation with one row for each program file that holds one of the words."""
    name = "mention:" + ",".join(word.decode("latin-1") for word in words)
    return FileRelation(name, "", {}, lambda file: (Row(file.path, (0, 0), {}),), LANGUAGES, words)


def mentioning(facts: Facts, words: tuple[bytes, ...]) -> list[str]:
    """Return the root's program files that hold one of the words, in path order."""
    return [row.path for row in facts.rows(mention(words))]


def stamp(facts: Facts, paths: Iterable[str]) -> Stamp:
    """Return the digest of each path, None where nothing is."""
    found = []
    for path in sorted(paths):
        file = facts.file(path) if facts.project.has(path) else None
        found.append((path, file.digest if file else None))
    return tuple(found)


def holds(facts: Facts, marks: Stamp) -> bool:
    """Say whether every path still has the digest that was noted."""
    for path, digest in marks:
        file = facts.file(path) if facts.project.has(path) else None
        if (file.digest if file else None) != digest:
            return False
    return True


def marked(row: Row, module: Module) -> Row:
    """Return a row, opaque as a whole where the parser had to guess."""
    if not module.damage or not in_damage(module, row.span):
        return row
    return Row(row.path, row.span, row.values, row.spans, ("*", *row.opaque), row.nested)


def resolver_of(facts: Facts) -> Resolver:
    """Return the one resolver of a root's facts."""
    found = facts.__dict__.get("_resolver")
    if not isinstance(found, Resolver):
        found = facts.__dict__["_resolver"] = Resolver(facts)
    return found


def per_file(
    facts: Facts, name: str, words: tuple[bytes, ...], compute: Callable[[Resolver, SourceFile, Frame], Sequence[T]]
) -> list[T]:
    """Return what `compute` gives for every file that holds one of the words, in path order.

    `name` names the computation and its version; no words: every program file.
    """
    resolver = resolver_of(facts)
    rows: list[T] = []
    for path in mentioning(facts, words):
        file = facts.file(path)
        if file is None:
            continue
        known: list[tuple[Stamp, tuple[T, ...]]] = file.memo.get(
            f"linked:{name}", f"{facts.root.path}\0{path}\0{file.digest}", list
        )
        found = next((kept for marks, kept in known if holds(facts, marks)), None)
        if found is None:
            resolver.begin()
            frame = resolver.frame(path)
            found = () if frame is None else tuple(compute(resolver, file, frame))
            known.append((stamp(facts, resolver.touched - {path}), found))
        rows += found
    return rows
