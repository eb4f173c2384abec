"""Facts about a snapshot: files, programs and the rows of relations, each computed once.

Contract: everything here is a pure function of file contents. Rows of a file relation are memoised by the digest of
the file's content, so that after a change only the touched files are read again; a derived `Project` shares the memo
and the unchanged rows of the one before it.
This module must not know of rules, checks or fixes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, TypeVar

import msgspec

from fixaudit.projects import FileClass, Root, classify, find_roots, owner
from fixaudit.relations import base
from fixaudit.snapshot import LINK, Snapshot, UnreadableError, digest_of
from fixaudit.source.ir import Module
from fixaudit.text import Text

T = TypeVar("T")

MAX_FILE_BYTES = 5_000_000
"""A larger file is named in a diagnostic and not read: no program is that long, and data that is holds no rows."""


@dataclass(frozen=True, slots=True, order=True)
class Diagnostic:
    """Something about one file that a person should know; `line` is 1-based or None."""

    path: str
    line: int | None
    message: str


HELD_BYTES = 48_000_000
"""How much file content stays in memory: whole small projects, and a bounded part of large ones."""


class Memo(Generic[T]):
    """Results by (kind, path class, digest). One per run, shared by every snapshot of it; may be preloaded."""

    def __init__(self) -> None:
        self.entries: dict[tuple[str, str], T] = {}
        self.hits = self.misses = 0

    def get(self, kind: str, key: str, compute: Callable[[], T]) -> T:
        try:
            value = self.entries[kind, key]
            self.hits += 1
        except KeyError:
            value = self.entries[kind, key] = compute()
            self.misses += 1
        return value


@dataclass(frozen=True)
class SourceFile:
    """One file of a snapshot with lazy views of it. `text` is None for binary, undecodable and oversized content."""

    path: str
    digest: str
    data: bytes
    memo: Memo[Any]

    @cached_property
    def text(self) -> Text | None:
        return Text.decode(self.data)

    @cached_property
    def shown(self) -> Text | None:
        """The text for looking only, never for edits: Latin-1 where it is text but not UTF-8; None for binaries."""
        if self.text is None and b"\0" not in self.data[:8000]:
            return Text(self.data.decode("latin-1"))
        return self.text

    @cached_property
    def kind(self) -> FileClass:
        kind: FileClass = self.memo.get("class", f"{self.path}\0{self.digest}", lambda: classify(self.path, self.data))
        return kind

    @cached_property
    def module(self) -> Module | None:
        """The program in this file, or None when no front end reads it."""
        text, language = self.text, self.kind.language
        if text is None or language is None:
            return None
        key = f"{language}\0{self.digest}"
        return self.memo.get("module", key, lambda: parse_module(language, text.content))  # type: ignore[no-any-return]


def parse_module(language: str, content: str) -> Module:
    """Read a program with the front end of its language."""
    if language == "python":
        from fixaudit.source.python import parse_python

        return parse_python(content)
    from fixaudit.source.javascript import parse_javascript

    return parse_javascript(content, language)


@dataclass
class Project:
    """All files of a snapshot, cut into roots. Derive the next one with `after` instead of building it again."""

    snapshot: Snapshot
    memo: Memo[Any] = field(default_factory=Memo)
    narrowed: str | None = None  # only for tests: treat this path as the audit root's only root
    diagnostics: dict[str, Diagnostic] = field(default_factory=dict)
    _files: dict[str, SourceFile | None] = field(default_factory=dict, repr=False)
    _held: int = 0
    _file_rows: dict[str, dict[str, tuple[base.Row, ...]]] = field(default_factory=dict, repr=False)
    _roots: tuple[Root, ...] | None = None
    _views: dict[tuple[str, bool], Facts] = field(default_factory=dict, repr=False)

    @cached_property
    def paths(self) -> tuple[str, ...]:
        return self.snapshot.paths()

    @property
    def roots(self) -> tuple[Root, ...]:
        if self._roots is None:
            self._roots = find_roots(self.paths)
        return self._roots

    def file(self, path: str) -> SourceFile | None:
        """Return a file by path (git-ignored files too); None when absent, unreadable, a link or oversized."""
        if path not in self._files:
            file = self._files[path] = self._load(path)
            self._held += len(file.data) if file else 0
            if self._held > HELD_BYTES:
                self._let_go(path)
        return self._files[path]

    def _let_go(self, kept: str) -> None:
        """Forget the bytes that were read first; they are read again when asked for, and rows are kept anyway."""
        for path in list(self._files):
            file = self._files[path]
            if self._held <= HELD_BYTES // 2:
                break
            if file is not None and path != kept:
                self._held -= len(file.data)
                del self._files[path]

    def _load(self, path: str) -> SourceFile | None:
        mode = self.snapshot.mode(path)
        if mode is None or mode == LINK:
            return None
        try:
            data = self.snapshot.read(path)
        except UnreadableError as error:
            self.diagnostics[path] = Diagnostic(path, None, f"cannot be read: {error.reason}")
            return None
        except KeyError:
            return None
        if len(data) > MAX_FILE_BYTES:
            self.diagnostics[path] = Diagnostic(path, None, f"not read: larger than {MAX_FILE_BYTES} bytes")
            return None
        return SourceFile(path, digest_of(data), data, self.memo)

    def after(self, snapshot: Snapshot, touched: Iterable[str]) -> Project:
        """Return the project over a snapshot in which only `touched` paths differ from this one."""
        changed = set(touched)
        project = Project(snapshot, self.memo)
        project._files = {p: f for p, f in self._files.items() if p not in changed}
        project._held = sum(len(f.data) for f in project._files.values() if f)
        project.diagnostics = {p: d for p, d in self.diagnostics.items() if p not in changed}
        project._file_rows = {
            name: {p: rows for p, rows in by_path.items() if p not in changed}
            for name, by_path in self._file_rows.items()
        }
        known = set(self.paths)
        for name in self._file_rows:
            relation = self._relations[name]
            for path in changed:
                rows = project._rows_of(relation, path)
                if rows:
                    project._file_rows[name][path] = rows
        project._relations = dict(self._relations)
        if all((p in known) == (snapshot.mode(p) is not None) for p in changed):
            project.__dict__["paths"] = self.paths
            project._roots = self._roots
        return project

    _relations: dict[str, base.FileRelation] = field(default_factory=dict, repr=False)

    def rows_by_path(self, relation: base.FileRelation) -> Mapping[str, tuple[base.Row, ...]]:
        """Return the non-empty rows of every file, by path, in path order."""
        if relation.name not in self._file_rows:
            self._relations[relation.name] = relation
            found = {}
            for path in self.paths:
                rows = self._rows_of(relation, path)
                if rows:
                    found[path] = rows
            self._file_rows[relation.name] = found
        return self._file_rows[relation.name]

    def _rows_of(self, relation: base.FileRelation, path: str) -> tuple[base.Row, ...]:
        file = self.file(path)
        if file is None or path not in self._path_set:
            return ()
        if relation.literals and not any(word in file.data for word in relation.literals):
            return ()
        if relation.languages and file.kind.language not in relation.languages:
            return ()
        if relation.programs_only and (
            file.kind.test or file.kind.vendored or file.kind.generated or file.kind.minified
        ):
            return ()
        if (file.shown if relation.any_encoding else file.text) is None:
            return ()
        key = f"{path}\0{file.digest}"
        rows = self.memo.get(f"rows:{relation.name}:{relation.version}", key, lambda: tuple(relation.rows(file)))
        return rows  # type: ignore[no-any-return]

    @cached_property
    def _path_set(self) -> frozenset[str]:
        return frozenset(self.paths)

    def has(self, path: str) -> bool:
        """Say whether an audited file is at the path."""
        return path in self._path_set

    def view(self, root: Root, *, repository: bool = False) -> Facts:
        """Return the facts of one root, or of the whole repository seen from its top."""
        key = (root.path, repository)
        if key not in self._views:
            self._views[key] = Facts(self, root, repository)
        return self._views[key]


@dataclass
class Facts:
    """The rows of one root. With `repository`, of every file, judged once at the top."""

    project: Project
    root: Root
    repository: bool = False
    stacks: frozenset[str] = frozenset()
    _rows: dict[tuple[str, str], tuple[base.Row, ...]] = field(default_factory=dict, repr=False)

    @property
    def snapshot(self) -> Snapshot:
        return self.project.snapshot

    @cached_property
    def paths(self) -> tuple[str, ...]:
        """Paths of this root, relative to the audit root, sorted."""
        if self.repository or len(self.project.roots) == 1:
            return self.project.paths
        return tuple(p for p in self.project.paths if owner(self.project.roots, p) == self.root)

    def owns(self, path: str) -> bool:
        return self.repository or len(self.project.roots) == 1 or owner(self.project.roots, path) == self.root

    def file(self, path: str) -> SourceFile | None:
        return self.project.file(path)

    def text(self, path: str) -> Text | None:
        file = self.project.file(path)
        return file.text if file else None

    def module(self, path: str) -> Module | None:
        file = self.project.file(path)
        return file.module if file else None

    def programs(self, *literals: bytes) -> Iterator[SourceFile]:
        """Yield the root's program files that hold one of the byte strings, in path order."""
        for path in self.paths:
            file = self.project.file(path)
            if file is None or (literals and not any(word in file.data for word in literals)):
                continue
            if file.kind.is_program:
                yield file

    def rows(self, relation: base.Relation, options: Mapping[str, Any] | None = None) -> tuple[base.Row, ...]:
        """Return a relation's rows in order of path and position."""
        options = options or {}
        key = (relation.name, msgspec.json.encode(options, order="sorted").decode())
        if key not in self._rows:
            if isinstance(relation, base.FileRelation):
                by_path = self.project.rows_by_path(relation)
                rows: Sequence[base.Row] = [
                    row for path in sorted(by_path, key=_byte_key) if self.owns(path) for row in by_path[path]
                ]
            else:
                rows = relation.rows(self, options)
            self._rows[key] = tuple(rows)
        return self._rows[key]


def _byte_key(path: str) -> bytes:
    return path.encode("utf-8", "surrogateescape")
