"""Where fixaudit keeps what it must remember: per-user directories, the run lock, and the private content store.

Contract: everything is below the user's own state and cache directories, owner-only, and keyed by the project's real
path, device and inode. Nothing is ever kept in a project, and nothing found in one is believed: a journal that came
with a download could otherwise write chosen bytes anywhere. The store alone holds file contents.
This module must not know of rules, or of what the contents mean.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from fixaudit.errors import FixauditError, LockedError, UsageError
from fixaudit.repository import git

RUN_REFS = "refs/fixaudit/"


@dataclass(frozen=True)
class ProjectState:
    """The directories of one project. `state` must survive, `cache` may be deleted at any time."""

    root: Path
    state: Path
    cache: Path

    @property
    def journal_path(self) -> Path:
        return self.state / "journal.jsonl"

    @cached_property
    def store(self) -> Store:
        return Store(self.state / "store.git")

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the project for this process. Raises LockedError, naming the process, when another run holds it.

        The lock belongs to the open file, so it ends with the process however that ends; no lock is ever stale.
        """
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(self.state / "lock", flags, 0o600)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                holder = os.pread(descriptor, 20, 0).decode("ascii", "replace").strip()
                raise LockedError(
                    f"another fixaudit run{f' (process {holder})' if holder else ''} is working on this project",
                    hint="wait until it has ended, then try again",
                ) from None
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, b"%d\n" % os.getpid(), 0)
            yield
            os.ftruncate(descriptor, 0)
        finally:
            os.close(descriptor)


def project_state(root: Path, *, create: bool = True) -> ProjectState:
    """Return the project's directories; with `create` they are made where they are missing.

    Raises FixauditError when one belongs to somebody else or is a link, UsageError when it would lie in the project.
    """
    real = root.resolve()
    key = project_key(real)
    places = []
    for base in (state_directory(), cache_directory()):
        if base.resolve().is_relative_to(real):
            raise UsageError(f"{base} lies inside the project; nothing of fixaudit's is kept there")
        for directory in (base, base / "projects", base / "projects" / key):
            if create or os.path.lexists(directory):
                _make_private(directory)
        places.append(base / "projects" / key)
    return ProjectState(real, *places)


def project_key(root: Path) -> str:
    """Name a project: 32 hex characters of its real path, device and inode.

    A project that was replaced by another one at the same path is another project.
    """
    info = root.stat()
    named = os.fsencode(root) + b"\0%d\0%d" % (info.st_dev, info.st_ino)
    return hashlib.blake2b(named, digest_size=16).hexdigest()


def state_directory() -> Path:
    """Return $FIXAUDIT_STATE_DIR, or fixaudit below $XDG_STATE_HOME (default ~/.local/state)."""
    return _directory("FIXAUDIT_STATE_DIR", "XDG_STATE_HOME", ".local/state")


def cache_directory() -> Path:
    """Return $FIXAUDIT_CACHE_DIR, or fixaudit below $XDG_CACHE_HOME (default ~/.cache)."""
    return _directory("FIXAUDIT_CACHE_DIR", "XDG_CACHE_HOME", ".cache")


def private_cache(name: str, root: Path) -> Path | None:
    """Return a directory of the cache for what belongs to no project, or None where there can be none.

    A cache only saves time: a home that cannot be written, or one inside the project `root`, must not stop a scan.
    """
    base = cache_directory()
    if base.resolve().is_relative_to(root):
        return None
    try:
        for directory in (base, base / name):
            _make_private(directory)
    except FixauditError:
        return None
    return base / name


def _directory(own: str, standard: str, default: str) -> Path:
    named = os.environ.get(own)
    if named:
        return Path(named).absolute()
    base = os.environ.get(standard, "")
    # The XDG specification has relative paths ignored: one would land in whatever directory we were started in.
    return (Path(base) if base.startswith("/") else Path.home() / default) / "fixaudit"


def _make_private(directory: Path) -> None:
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        info = directory.lstat()
        if stat.S_ISLNK(info.st_mode) or not stat.S_ISDIR(info.st_mode):
            raise FixauditError(f"{directory} is not a directory of its own; remove the link")
        if info.st_uid != os.geteuid():
            raise FixauditError(f"{directory} belongs to another user; nothing in it can be believed")
        if info.st_mode & 0o077:
            directory.chmod(0o700)
    except OSError as error:
        raise FixauditError(
            f"{directory} cannot be used: {error.strerror}", hint="set XDG_STATE_HOME and XDG_CACHE_HOME"
        ) from error


@dataclass(frozen=True)
class Store:
    """A bare git repository of our own: one chain of commits per run, and every blob those commits name.

    Bytes go in and come out unchanged; modes and names are kept for people who look into it, but the journal alone
    says what belongs where.
    """

    path: Path

    def record(self, run: str, title: str, files: Mapping[str, bytes]) -> dict[str, str]:
        """Append one commit to a run that holds exactly `files`; return the object id of each file's bytes.

        `run` is a word of letters, digits and dashes. When this returns everything is on disk. Deterministic: the
        same contents after the same history give the same ids.
        """
        self._create()
        ref = RUN_REFS + run
        names = list(files)
        parts = [b"feature done\n"]
        for number, name in enumerate(names, 1):  # each object id is asked for at once and printed in this order
            parts.append(b"blob\nmark :%d\ndata %d\n%s\n" % (number, len(files[name]), files[name]))
            parts.append(b"get-mark :%d\n" % number)
        message = title.encode()
        parts.append(b"commit %s\ncommitter fixaudit <fixaudit> 0 +0000\n" % ref.encode())
        parts.append(b"data %d\n%s\n" % (len(message), message))
        if self.has_run(run):
            parts.append(b"from %s^0\ndeleteall\n" % ref.encode())
        parts += [b"M 100644 :%d %s\n" % (number, _quoted(name)) for number, name in enumerate(names, 1)]
        stream = b"".join([*parts, b"done\n"])
        answer = self._git(["fast-import", "--quiet", "--done", "--date-format=raw"], stream)
        return dict(zip(names, answer.out.decode().split(), strict=True))

    def has_run(self, run: str) -> bool:
        """Say whether the run has recorded anything."""
        return run in self.runs()

    def read(self, oids: Sequence[str]) -> dict[str, bytes]:
        """Return the bytes of each object id. Raises FixauditError when one is not there."""
        objects = git.Objects(self.path)
        found: dict[str, bytes] = {}
        try:
            for oid in dict.fromkeys(oids):
                data = objects.read(oid)
                if data is None:
                    raise FixauditError(f"the private store has lost {oid}; it may have been pruned")
                found[oid] = data
        finally:
            objects.close()
        return found

    def runs(self) -> tuple[str, ...]:
        """Return the runs that recorded something, sorted by name."""
        if not (self.path / "HEAD").exists():
            return ()
        refs = self._git(["for-each-ref", "--format=%(refname)", RUN_REFS]).out.decode().split()
        return tuple(ref.removeprefix(RUN_REFS) for ref in refs)

    def prune(self, keep: Sequence[str]) -> tuple[str, ...]:
        """Delete all runs but those in `keep`, and every content that no run needs; return the runs deleted."""
        gone = tuple(run for run in self.runs() if run not in keep)
        if gone:
            orders = "".join(f"delete {RUN_REFS}{run}\n" for run in gone)
            self._git(["update-ref", "--stdin"], orders.encode())
            self._git(["prune", "--expire=now"])
        return gone

    def _create(self) -> None:
        if not (self.path / "HEAD").exists():
            _make_private(self.path)
            git.run(["init", "-q", "--bare", "--template="], self.path)

    def _git(self, arguments: Sequence[str], stdin: bytes | None = None) -> git.Output:
        durable = {
            # Without these a power cut right after the rename of a user's file could lose its before-image.
            "core.fsync": "all",
            "core.fsyncObjectFiles": "true",  # git before 2.36
            "fastimport.unpackLimit": "1000000",  # loose objects, so that prune can drop them one by one
        }
        # --git-dir: nothing above the state directory can make git take another repository.
        return git.run([f"--git-dir={self.path}", *arguments], self.path, stdin=stdin, config=durable)


def _quoted(name: str) -> bytes:
    escaped = os.fsencode(name).replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")
    return b'"' + escaped + b'"'
