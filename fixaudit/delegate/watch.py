"""Notice what happens to the user's project while an agent works on its copy.

Contract: two looks at one directory, and the first path that differs. It cannot tell who wrote: a file that the user
saves meanwhile is seen as well, so nothing is ever put back. What only looking at a repository changes (the stat data
in git's index, fetched branches, objects, logs) is left out, because editors do it all the time.
This module must not know of agents or contracts.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from fixaudit.repository import git
from fixaudit.snapshot import EXECUTABLE, LINK, REGULAR, FileState

LEFT_OUT = frozenset({"node_modules", ".venv", "venv", "__pycache__"})
"""Dependency and cache folders: large, and nothing of an agent's is ever taken from them."""

_GIT_FILES = ("HEAD", "config", "packed-refs")
_GIT_FOLDERS = ("hooks", "info", "refs/heads", "refs/tags")


@dataclass(frozen=True)
class Look:
    """What stood in a directory: stat data by path, and the entries of its index."""

    root: Path
    files: Mapping[str, tuple[int, ...]]
    index: bytes


def look(root: Path) -> Look:
    """Name every file of a project by inode, size, mode and times; ignored files and git's own included."""
    files = dict(_walk(root))
    directory = root / ".git"
    for name in _GIT_FILES:
        _note(files, root, directory / name)
    for folder in _GIT_FOLDERS:
        for path in sorted((directory / folder).rglob("*")):
            _note(files, root, path)
    entries = git.run(["ls-files", "-s", "-z"], root, check=False).out if directory.exists() else b""
    return Look(root, files, entries)


def difference(before: Look, known: Mapping[str, FileState]) -> str | None:
    """Return the first path that is not as it was; `known` are contents whose equality makes a new date no change."""
    after = look(before.root)
    for path in sorted({*before.files, *after.files}):
        if before.files.get(path) != after.files.get(path) and not _equal(before.root / path, known.get(path)):
            return path
    return ".git/index" if before.index != after.index else None


def _walk(root: Path) -> Iterator[tuple[str, tuple[int, ...]]]:
    pending = [""]
    while pending:
        prefix = pending.pop()
        try:
            entries = list(os.scandir(root / prefix))
        except OSError:
            continue
        for entry in entries:
            name = f"{prefix}/{entry.name}" if prefix else entry.name
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in LEFT_OUT and name != ".git":
                    pending.append(name)
            else:
                yield name, _stat(entry.stat(follow_symlinks=False))


def _note(files: dict[str, tuple[int, ...]], root: Path, path: Path) -> None:
    if path.is_symlink() or path.is_file():
        files[path.relative_to(root).as_posix()] = _stat(path.lstat())


def _stat(info: os.stat_result) -> tuple[int, ...]:
    return (info.st_ino, info.st_size, info.st_mode, info.st_mtime_ns, info.st_ctime_ns)


def _equal(path: Path, known: FileState | None) -> bool:
    if known is None:
        return False
    try:
        if path.is_symlink():
            return known.mode == LINK and os.fsencode(path.readlink()) == known.data
        mode = EXECUTABLE if path.stat().st_mode & 0o100 else REGULAR
        return mode == known.mode and path.read_bytes() == known.data
    except OSError:
        return False
