"""Read-only trees of files and the complete description of one change to them.

A `Snapshot` answers which files there are, their bytes, modes and digests; paths are POSIX, relative to the audit
root, with undecodable name bytes kept by surrogateescape. `Overlay` is a snapshot plus change sets and is itself a
snapshot: the loop runs on it, so no unverified byte can reach the user's tree.
This module must not know of rules or of git; trees read through git are made in `repository`.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol, runtime_checkable

from fixaudit.text import Edit, StaleEditError, Text, byte_key

REGULAR, EXECUTABLE, LINK = "100644", "100755", "120000"


def digest_of(data: bytes) -> str:
    """Name content: 32 hex characters of BLAKE2b. Not a git object id."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


@dataclass(frozen=True, slots=True)
class FileState:
    """What is at a path: git-style mode (REGULAR, EXECUTABLE or LINK) and bytes (for a link: its target)."""

    mode: str
    data: bytes

    @property
    def digest(self) -> str:
        return digest_of(self.mode[:2].encode() + b":" + self.data)


class UnreadableError(Exception):
    """The file exists but cannot be read; `reason` is for a diagnostic."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path, self.reason = path, reason


@runtime_checkable
class Snapshot(Protocol):
    """A tree at one moment."""

    def paths(self) -> tuple[str, ...]:
        """Every file to be audited (regular files and links; no directories, no submodules), sorted by bytes."""

    def mode(self, path: str) -> str | None:
        """REGULAR, EXECUTABLE, LINK, or None when nothing is there. Also answers for git-ignored files."""

    def read(self, path: str) -> bytes:
        """Bytes of a file (of a link: its target). Raises KeyError when absent, UnreadableError otherwise."""

    def digest(self, path: str) -> str:
        """Digest of `read(path)`; cheap when nothing changed. Raises like `read`."""

    def is_tracked(self, path: str) -> bool:
        """Whether git's index holds the path."""


@dataclass(frozen=True)
class MemorySnapshot:
    """A tree held in memory: examples of rules, and trees read from git."""

    files: Mapping[str, FileState]
    tracked: frozenset[str] | None = None  # None: every file is
    ignored: frozenset[str] = frozenset()  # readable, but not among paths()

    @classmethod
    def of(cls, files: Mapping[str, str | bytes], **options: frozenset[str]) -> MemorySnapshot:
        """Make a tree of regular files from texts or bytes."""
        return cls(
            {p: FileState(REGULAR, d.encode() if isinstance(d, str) else d) for p, d in files.items()},
            **options,
        )

    def paths(self) -> tuple[str, ...]:
        return tuple(sorted((p for p in self.files if p not in self.ignored), key=byte_key))

    def mode(self, path: str) -> str | None:
        state = self.files.get(path)
        return state.mode if state else None

    def read(self, path: str) -> bytes:
        return self.files[path].data

    def digest(self, path: str) -> str:
        return digest_of(self.files[path].data)

    def is_tracked(self, path: str) -> bool:
        return path in (self.files if self.tracked is None else self.tracked)


@dataclass
class WorkingTree:
    """The files under `root` as they are on disk; `listing` and `tracked` come from git where there is git.

    Links are never followed: reading one gives its target text, and a path below a linked directory is absent.
    Digests are memoised by (inode, size, mtime, ctime), so that asking twice does not read twice.
    """

    root: Path
    listing: tuple[str, ...]
    tracked: frozenset[str] = frozenset()
    _plain: set[str] = field(default_factory=set, repr=False)  # directories that are no links
    _digests: dict[str, tuple[tuple[int, ...], str]] = field(default_factory=dict, repr=False)

    def paths(self) -> tuple[str, ...]:
        return self.listing

    def _stat(self, path: str) -> os.stat_result | None:
        try:
            directory, _, name = path.rpartition("/")
            if name in ("", ".", "..") or not self._is_plain(directory):
                return None
            return os.lstat(f"{self.root}/{path}")
        except (OSError, ValueError):
            return None

    def _is_plain(self, directory: str) -> bool:
        """Say whether a directory is inside the tree and reached through no link. Raises OSError."""
        if directory in self._plain or not directory:
            return True
        parent, _, name = directory.rpartition("/")
        if name in ("", ".", "..", ".git") or not self._is_plain(parent):
            return False
        if not stat.S_ISDIR(os.lstat(f"{self.root}/{directory}").st_mode):
            return False
        self._plain.add(directory)
        return True

    def mode(self, path: str) -> str | None:
        info = self._stat(path)
        if info is None:
            return None
        if stat.S_ISLNK(info.st_mode):
            return LINK
        if not stat.S_ISREG(info.st_mode):
            return None
        return EXECUTABLE if info.st_mode & 0o100 else REGULAR

    def read(self, path: str) -> bytes:
        mode = self.mode(path)
        if mode is None:
            raise KeyError(path)
        try:
            if mode == LINK:
                return os.fsencode((self.root / path).readlink())
            return (self.root / path).read_bytes()
        except OSError as error:
            raise UnreadableError(path, error.strerror or str(error)) from error

    def digest(self, path: str) -> str:
        info = self._stat(path)
        if info is None:
            raise KeyError(path)
        key = (info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns)
        known = self._digests.get(path)
        if known is None or known[0] != key:
            known = (key, digest_of(self.read(path)))
            self._digests[path] = known
        return known[1]

    def is_tracked(self, path: str) -> bool:
        return path in self.tracked


@dataclass(frozen=True, slots=True)
class FileChange:
    """One path before and after; None means that nothing is there. The unit that a transaction writes."""

    path: str
    before: FileState | None
    after: FileState | None


@dataclass(frozen=True, slots=True)
class LockUpdate:
    """Ask for a lockfile to agree with its manifest again; done by `packages` in a private copy."""

    manager: str  # npm, yarn, pnpm, uv, pip, poetry, pipenv
    manifest: str
    lockfile: str
    command: tuple[str, ...]  # what a person would run, for the review


@dataclass(frozen=True, slots=True, order=True)
class FollowUp:
    """Something a person must do for the program to start again ("npm install", "set CORS_ORIGINS")."""

    id: str  # stable: rule id and subject
    text: str
    command: str | None = None


@dataclass(frozen=True)
class ChangeSet:
    """The complete, pure description of one fix. Paths are relative to the audit root."""

    edits: Mapping[str, tuple[Edit, ...]] = field(default_factory=dict)
    created: Mapping[str, FileState] = field(default_factory=dict)
    deleted: Mapping[str, str] = field(default_factory=dict)  # path → digest of the content that may be deleted
    replaced: Mapping[str, tuple[str, bytes]] = field(default_factory=dict)  # path → (digest expected, new bytes)
    untracked: tuple[str, ...] = ()  # remove from the index, keep on disk
    lock_updates: tuple[LockUpdate, ...] = ()
    follow_ups: tuple[FollowUp, ...] = ()

    def paths(self) -> tuple[str, ...]:
        """Every path whose content changes, sorted."""
        return tuple(sorted({*self.edits, *self.created, *self.deleted, *self.replaced}, key=byte_key))

    def is_empty(self) -> bool:
        return not (self.paths() or self.untracked or self.lock_updates)

    def merged(self, other: ChangeSet) -> ChangeSet:
        """Return both changes as one; edits of one path are joined (identical ones count once)."""
        edits = dict(self.edits)
        for path, more in other.edits.items():
            edits[path] = tuple(dict.fromkeys((*edits.get(path, ()), *more)))
        for path, state in other.created.items():
            if path in self.created and self.created[path] != state:
                raise StaleEditError(f"two steps create {path} with different content")
        return ChangeSet(
            edits,
            {**self.created, **other.created},
            {**self.deleted, **other.deleted},
            {**self.replaced, **other.replaced},
            tuple(dict.fromkeys((*self.untracked, *other.untracked))),
            tuple(dict.fromkeys((*self.lock_updates, *other.lock_updates))),
            tuple(dict.fromkeys((*self.follow_ups, *other.follow_ups))),
        )

    def without_lock_updates(self) -> ChangeSet:
        return replace(self, lock_updates=())


@dataclass(frozen=True)
class Overlay:
    """`base` with some paths changed and some untracked. Building one validates every expectation of the change."""

    base: Snapshot
    changed: Mapping[str, FileState | None] = field(default_factory=dict)
    untracked: frozenset[str] = frozenset()

    def apply(self, change: ChangeSet) -> Overlay:
        """Return the overlay after `change`; raises StaleEditError when the change was planned on other content."""
        changed = dict(self.changed)
        for path, state in change.created.items():
            if self.mode(path) is not None:
                raise StaleEditError(f"{path} exists already")
            changed[path] = state
        for path, (expected, data) in change.replaced.items():
            if self.digest(path) != expected:
                raise StaleEditError(f"{path} is not what the change expects")
            changed[path] = FileState(self.mode(path) or REGULAR, data)
        for path, edits in change.edits.items():
            mode = self.mode(path)
            fresh = change.created.get(path)
            if fresh is not None:
                data = fresh.data
            elif mode in (REGULAR, EXECUTABLE):
                data = self.read(path)
            else:
                raise StaleEditError(f"{path} is not a regular file")
            text = Text.decode(data)
            if text is None:
                raise StaleEditError(f"{path} is not text")
            changed[path] = FileState(mode or REGULAR, text.apply(edits).encode())
        for path, expected in change.deleted.items():
            if self.digest(path) != expected:
                raise StaleEditError(f"{path} is not what the change expects")
            changed[path] = None
        return Overlay(self.base, changed, self.untracked | frozenset(change.untracked))

    def with_states(self, states: Mapping[str, FileState | None]) -> Overlay:
        """Return the overlay with whole files set or (None) removed: an agent's accepted result."""
        return Overlay(self.base, {**self.changed, **states}, self.untracked)

    def changes_since(self, earlier: Snapshot, paths: Iterable[str]) -> tuple[FileChange, ...]:
        """Return what differs from `earlier` among `paths`."""
        changes = []
        for path in sorted(set(paths), key=byte_key):
            before, after = state_at(earlier, path), state_at(self, path)
            if before != after:
                changes.append(FileChange(path, before, after))
        return tuple(changes)

    def paths(self) -> tuple[str, ...]:
        if not self.changed:
            return self.base.paths()
        listed = set(self.base.paths())
        created = []  # or not listed before: an ignored file that gained a line stays unlisted
        for path, state in self.changed.items():
            if state is None:
                listed.discard(path)
            elif path not in listed:
                created.append(path)
        if created:
            hidden = self._ignored(listed | set(created), created)
            listed.update(path for path in created if not hidden[path])
        return tuple(sorted(listed, key=byte_key))

    def _ignored(self, listed: Iterable[str], created: list[str]) -> dict[str, bool]:
        """Say which new files git will not list: a `.env` that a fix creates is no part of what is audited."""
        # The one question about a tree that only git can answer; asked late, since most changes create nothing.
        from fixaudit.repository.ignore import ignore_query

        names = (path for path in listed if path.rsplit("/", 1)[-1] == ".gitignore")
        return ignore_query({path: self.read(path) for path in names if self.mode(path) != LINK}, created)

    def mode(self, path: str) -> str | None:
        if path in self.changed:
            state = self.changed[path]
            return state.mode if state else None
        return self.base.mode(path)

    def read(self, path: str) -> bytes:
        if path in self.changed:
            state = self.changed[path]
            if state is None:
                raise KeyError(path)
            return state.data
        return self.base.read(path)

    def digest(self, path: str) -> str:
        if path in self.changed:
            return digest_of(self.read(path))
        return self.base.digest(path)

    def is_tracked(self, path: str) -> bool:
        return path not in self.untracked and self.base.is_tracked(path)


def state_at(snapshot: Snapshot, path: str) -> FileState | None:
    """Return what is at `path`, or None."""
    mode = snapshot.mode(path)
    return FileState(mode, snapshot.read(path)) if mode else None
