"""Where the project roots of a tree are, and what kind of file each path is.

Contract: paths and first bytes in, values out. Nothing is decided by the absolute path: a project that lives below a
directory called `build` or `vendor` is judged like any other.
This module must not know of rules or relations.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FileClass:
    """Why a file may not count as the program's own code. `language` is None when no front end reads it."""

    language: str | None = None  # javascript, typescript, tsx, python
    test: bool = False
    vendored: bool = False
    generated: bool = False
    minified: bool = False
    example: bool = False  # documentation, example and fixture folders: no roots are made there

    @property
    def is_program(self) -> bool:
        return self.language is not None and not (self.test or self.vendored or self.generated or self.minified)


@dataclass(frozen=True, slots=True, order=True)
class Root:
    """A project root: `path` is "" for the audit root, else a POSIX path without a final slash."""

    path: str
    manifests: tuple[str, ...] = ()

    def relative(self, path: str) -> str:
        """Return a path of the tree relative to this root."""
        return path[len(self.path) + 1 :] if self.path else path

    def join(self, path: str) -> str:
        """Return a path of this root relative to the audit root."""
        return f"{self.path}/{path}" if self.path else path


def classify(path: str, data: bytes) -> FileClass:
    """Classify a file by its path relative to the audit root and its content (all of it, or its first 64 KiB)."""
    raise NotImplementedError


def find_roots(paths: Iterable[str]) -> tuple[Root, ...]:
    """Return the project roots, sorted; the audit root alone when there is no manifest."""
    raise NotImplementedError


def owner(roots: tuple[Root, ...], path: str) -> Root:
    """Return the nearest root that holds the path; the first root when none does."""
    raise NotImplementedError
