"""Look at and replace single files below a root, and never anything else.

Contract: every step goes from directory to directory by descriptor and refuses links on the way, so no link, however
late it appears, can lead out of the root. A replaced file keeps its permission bits, its extended attributes and,
where the system allows it, its owner; another hard link to it keeps the old content. A file is replaced in one
step by rename and is on disk when `Disk.sync` returns.
This module must not know of journals or undo.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from fixaudit.errors import FixauditError
from fixaudit.snapshot import EXECUTABLE, LINK, REGULAR, FileState

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# O_NONBLOCK: opening a named pipe must not wait for its writer.
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_NO_HARD_LINKS = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK, errno.EXDEV, errno.ENOSYS})


class BlockedError(Exception):
    """A path cannot be written at all; `reason` is for a person."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path} {reason}")
        self.path, self.reason = path, reason


class ChangedError(Exception):
    """A path is not what the caller last saw there."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


@dataclass(frozen=True, slots=True)
class Found:
    """A file as it is on disk: content and git-style mode, all twelve permission bits, and the owner."""

    state: FileState
    permissions: int
    owner: tuple[int, int]


@dataclass
class Disk:
    """A root directory held open. Use it as a context manager."""

    root: Path
    _top: int = -1
    _open: dict[str, int] = field(default_factory=dict, repr=False)

    def __enter__(self) -> Self:
        try:
            self._top = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise FixauditError(f"the project directory cannot be opened: {error.strerror}") from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for descriptor in (*self._open.values(), self._top):
            os.close(descriptor)
        self._open.clear()

    def look(self, path: str) -> Found | None:
        """Return what is at `path`, or None. Raises BlockedError for what is neither a file nor a link."""
        parent, name = self._parent(path)
        if parent is None:
            return None
        try:
            descriptor = os.open(name, _READ, dir_fd=parent)
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.EMLINK):  # EMLINK: the BSDs' word for a link met by O_NOFOLLOW
                target = os.fsencode(os.readlink(name, dir_fd=parent))
                return Found(FileState(LINK, target), 0o777, (0, 0))
            if error.errno == errno.EACCES:
                raise BlockedError(path, "is not readable") from error
            if error.errno == errno.ENXIO:
                raise BlockedError(path, "is not a regular file") from error
            raise
        with os.fdopen(descriptor, "rb") as file:
            info = os.fstat(descriptor)
            if not stat.S_ISREG(info.st_mode):
                raise BlockedError(path, "is not a regular file")
            mode = EXECUTABLE if info.st_mode & 0o100 else REGULAR
            return Found(FileState(mode, file.read()), stat.S_IMODE(info.st_mode), (info.st_uid, info.st_gid))

    def require_writable(self, path: str, found: Found | None) -> None:
        """Raise BlockedError where the file or the directory that takes it does not let its owner write.

        The bits count, not what the kernel would let us do: root may write everything, and a person who took the
        write bit away meant it.
        """
        if found is not None:
            if found.state.mode == LINK:
                raise BlockedError(path, "is a link")
            if not found.permissions & stat.S_IWUSR:
                raise BlockedError(path, "is not writable")
        directory = path.rpartition("/")[0]
        while directory and self._directory(directory) is None:
            directory = directory.rpartition("/")[0]
        descriptor = self._directory(directory)
        assert descriptor is not None
        info = os.fstat(descriptor)
        if not info.st_mode & stat.S_IWUSR or not os.access(".", os.W_OK, dir_fd=descriptor):
            raise BlockedError(path, "is in a directory that is not writable")
        if found is not None:
            name = path.rpartition("/")[2]
            if not os.access(name, os.W_OK, dir_fd=descriptor):
                raise BlockedError(path, "is not writable")

    def missing_directories(self, path: str) -> list[str]:
        """Return the parents of `path` that do not exist yet, outermost first."""
        missing: list[str] = []
        directory = path.rpartition("/")[0]
        while directory and self._directory(directory) is None:
            missing.insert(0, directory)
            directory = directory.rpartition("/")[0]
        return missing

    def make_directory(self, path: str) -> None:
        """Create one directory; one that somebody else has made meanwhile is used."""
        parent, name = self._parent(path)
        assert parent is not None
        with suppress(FileExistsError):
            os.mkdir(name, dir_fd=parent)
        os.fsync(parent)

    def remove_directory(self, path: str) -> None:
        """Remove a directory if it is there and empty."""
        with suppress(OSError, BlockedError):
            descriptor = self._open.pop(path, None)
            if descriptor is not None:
                os.close(descriptor)
            parent, name = self._parent(path)
            if parent is not None:
                os.rmdir(name, dir_fd=parent)

    def stage(
        self, path: str, temporary: str, data: bytes, permissions: int | None, owner: tuple[int, int] | None
    ) -> None:
        """Write `data` beside `path` under the name `temporary`, durable and with its final bits.

        `permissions` None: what the user's umask gives a new file.
        """
        parent, name = self._parent(path)
        assert parent is not None
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(temporary, flags, 0o600 if permissions is not None else 0o666, dir_fd=parent)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            if permissions is not None:
                _copy_attributes(parent, name, descriptor)
                info = os.fstat(descriptor)
                if owner is not None and owner != (info.st_uid, info.st_gid):
                    with suppress(PermissionError):
                        os.fchown(descriptor, *owner)
                os.fchmod(descriptor, permissions)  # after chown, which clears the set-id bits
            os.fsync(descriptor)

    def add_execute_bits(self, path: str, temporary: str) -> None:
        """Let everybody who may read a staged new file run it."""
        parent, _ = self._parent(path)
        info = os.stat(temporary, dir_fd=parent, follow_symlinks=False)
        os.chmod(temporary, with_mode(stat.S_IMODE(info.st_mode), EXECUTABLE), dir_fd=parent)

    def replace(self, path: str, temporary: str, seen: Found | None) -> None:
        """Put the staged file in place of what was `seen` there. Raises ChangedError, and then nothing changed.

        A new file is linked into place, which fails where something exists. For an existing one the bytes are read
        again right before the rename; a save in the microseconds between the two cannot be seen by any means.
        """
        parent, name = self._parent(path)
        assert parent is not None
        if seen is None:
            try:
                os.link(temporary, name, src_dir_fd=parent, dst_dir_fd=parent, follow_symlinks=False)
            except FileExistsError:
                raise ChangedError(path) from None
            except OSError as error:
                if error.errno not in _NO_HARD_LINKS:
                    raise
            else:
                os.unlink(temporary, dir_fd=parent)
                return
        if self.look(path) != seen:
            raise ChangedError(path)
        os.rename(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)

    def remove(self, path: str, seen: Found) -> None:
        """Delete what was `seen` at `path`. Raises ChangedError, and then nothing changed."""
        parent, name = self._parent(path)
        if parent is None or self.look(path) != seen:
            raise ChangedError(path)
        os.unlink(name, dir_fd=parent)

    def discard(self, path: str, temporary: str) -> None:
        """Remove the temporary file beside `path` if it is there."""
        with suppress(FileNotFoundError, BlockedError):
            parent, _ = self._parent(path)
            if parent is not None:
                os.unlink(temporary, dir_fd=parent)

    def sync(self, path: str) -> None:
        """Make what happened in the directory of `path` durable."""
        parent, _ = self._parent(path)
        if parent is not None:
            os.fsync(parent)

    def _parent(self, path: str) -> tuple[int | None, str]:
        reason = path_refusal(path)
        if reason is not None:
            raise BlockedError(path, reason)
        directory, _, name = path.rpartition("/")
        return self._directory(directory), name

    def _directory(self, directory: str) -> int | None:
        """Return a descriptor, or None where the directory is missing. Raises BlockedError below a link or file."""
        if not directory:
            return self._top
        if directory in self._open:
            return self._open[directory]
        above, _, name = directory.rpartition("/")
        parent = self._directory(above)
        if parent is None:
            return None
        try:
            self._open[directory] = os.open(name, _DIRECTORY, dir_fd=parent)
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENOTDIR, errno.EMLINK):
                raise BlockedError(directory, "is not a directory of its own") from error
            if error.errno == errno.EACCES:
                raise BlockedError(directory, "is not readable") from error
            raise
        return self._open[directory]


def path_refusal(path: str) -> str | None:
    """Say why a path is never written, or None: it must stay below the root and out of git's own directory."""
    parts = path.split("/")
    if "\0" in path or any(part in ("", ".", "..") for part in parts):
        return "is not a path below the root"
    # Some file systems take .GIT for .git.
    return "belongs to git" if any(part.casefold() == ".git" for part in parts) else None


def with_mode(permissions: int, mode: str) -> int:
    """Return permission bits that agree with a git mode: who may read an executable file may run it."""
    if mode == EXECUTABLE:
        return permissions if permissions & 0o100 else permissions | (permissions & 0o444) >> 2
    return permissions & ~0o111 if permissions & 0o100 else permissions


def _copy_attributes(parent: int, name: str, target: int) -> None:
    """Copy extended attributes (access control lists, security labels) as far as the system lets us."""
    if not hasattr(os, "listxattr"):  # macOS
        return
    try:
        source = os.open(name, _READ, dir_fd=parent)
    except OSError:  # nothing there: the file comes back after a deletion
        return
    try:
        with suppress(OSError):
            for attribute in os.listxattr(source):
                with suppress(OSError):
                    os.setxattr(target, attribute, os.getxattr(source, attribute))
    finally:
        os.close(source)
