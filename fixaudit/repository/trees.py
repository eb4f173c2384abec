"""Read-only trees from git: the working tree's listing, the index, and any commit.

Contract: names and bytes are exactly git's (`-z`, no quoting, no filters, no line-ending conversion). Submodules,
nested repositories and directories of installed packages are not part of a tree. Nothing is written anywhere.
This module must not know why a tree is read.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fixaudit.errors import RepositoryError
from fixaudit.repository import git
from fixaudit.repository.discover import Repository
from fixaudit.repository.ignore import scratch_git_dir
from fixaudit.snapshot import EXECUTABLE, LINK, REGULAR, UnreadableError, WorkingTree, digest_of
from fixaudit.text import byte_key

MODES = frozenset({REGULAR, EXECUTABLE, LINK})
"""Entries that are files; 160000 (a submodule) and 040000 (a collapsed directory of a sparse index) are not."""

_LEFT_OUT = frozenset({"node_modules", ".git", ".hg", ".svn", ".jj"})


@dataclass(frozen=True, slots=True)
class Entry:
    """One file of the index or of a commit: git's mode and object id."""

    mode: str
    oid: str


def working_tree(root: Path, repository: Repository | None) -> WorkingTree:
    """Return the files below `root`: tracked ones and untracked ones that git does not ignore.

    Paths are relative to `root`, which may be a sub-directory of the repository. Left out: deleted files,
    submodules, nested repositories, node_modules and virtual environments even where they are tracked (`tracked`
    still names them). Without a repository, git's own ignore rules are used where git is installed; otherwise no
    ignore file is honoured.
    """
    if repository is None:
        listed = _untracked_listing(root) if git.executable() else list(_walk(root))
        return WorkingTree(root, _kept(listed))
    # One walk: H is in the index, S too but not checked out (sparse), M unmerged, R gone from disk, ? untracked.
    arguments = ["ls-files", "-z", "-t", "-s", "-c", "-o", "-d", "--exclude-standard"]
    answer = git.run(arguments, root, env=repository.read_environment())
    tracked: set[str] = set()
    present: set[str] = set()
    gone: set[str] = set()
    for record in answer.records():
        tag, rest = record[0], record[2:]
        if tag == "?":
            present.add(rest)
            continue
        head, _, path = rest.partition("\t")
        if head[:6] not in MODES:
            continue
        if tag == "R" or (tag == "S" and not os.path.lexists(root / path)):
            gone.add(path)
        tracked.add(path)
    return WorkingTree(root, _kept((present | tracked) - gone), frozenset(tracked))


def _untracked_listing(root: Path) -> list[str]:
    arguments = [f"--git-dir={scratch_git_dir()}", f"--work-tree={root}", "ls-files", "-z", "-o", "--exclude-standard"]
    return git.run(arguments, root).records()


def _walk(root: Path, prefix: str = "") -> Iterable[str]:
    """Yield files below `root` without git, following no link and entering no nested repository."""
    try:
        entries = sorted(os.scandir(root / prefix), key=lambda entry: byte_key(entry.name))
    except OSError:  # a directory that may not be read holds nothing that could be audited
        return
    if prefix and any(entry.name == ".git" for entry in entries):
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            if entry.name not in _LEFT_OUT:
                yield from _walk(root, f"{prefix}{entry.name}/")
        elif entry.is_symlink() or entry.is_file(follow_symlinks=False):
            yield prefix + entry.name


def _kept(paths: Iterable[str]) -> tuple[str, ...]:
    """Sort paths and drop nested repositories (git ends them with a slash), packages and virtual environments."""
    names = [path for path in paths if not path.endswith("/") and _LEFT_OUT.isdisjoint(path.split("/"))]
    environments = tuple(path.removesuffix("pyvenv.cfg") for path in names if path.endswith("/pyvenv.cfg"))
    # A tracked file that is a directory on disk now is still listed by git, beside what the directory holds.
    directories = {path[:end] for path in names for end in _slashes(path)}
    return tuple(
        sorted((p for p in names if p not in directories and not p.startswith(environments)), key=byte_key)
        if environments
        else sorted((p for p in names if p not in directories), key=byte_key)
    )


def _slashes(path: str) -> Iterable[int]:
    end = path.rfind("/")
    while end > 0:
        yield end
        end = path.rfind("/", 0, end)


def index_entries(repository: Repository, root: Path) -> dict[str, Entry]:
    """Return the files in the index below `root`, by path relative to `root`; an unmerged one as "ours"."""
    answer = git.run(["ls-files", "-z", "-s"], root, env=repository.read_environment())
    entries: dict[str, Entry] = {}
    for record in answer.records():
        head, _, path = record.partition("\t")
        mode, oid, stage = head.split(" ")
        if mode in MODES and (stage in "02" or path not in entries):
            entries[path] = Entry(mode, oid)
    return entries


def staged_paths(repository: Repository, root: Path | None = None, *, against: str | None = None) -> dict[str, str]:
    """Return what differs between HEAD and the index below `root`: A, M, D or T by path relative to `root`.

    A rename is a deletion and an addition. Everything is added where HEAD is unborn; submodules are left out.
    `against` names another commit than HEAD.
    """
    root = root or repository.top
    base = against or repository.head.commit or repository.empty_tree
    prefix = repository.prefix(root)
    found: dict[str, str] = {}
    arguments = ["diff-index", "--cached", "--raw", "-z", "--no-renames", "--ita-invisible-in-index", base]
    records = git.run(arguments, repository.top, env=repository.read_environment()).records()
    for head, path in zip(records[::2], records[1::2], strict=True):
        before, after, _, _, status = head[1:].split(" ")
        if "160000" not in (before, after) and path.startswith(prefix):
            found[path[len(prefix) :]] = status[0]
    return found


def committed_paths(repository: Repository, root: Path | None = None) -> frozenset[str]:
    """Return what the commit that is being made changes by itself, deletions included.

    In a merge that is what differs from every parent: what comes over unchanged from either side was committed there.
    """
    paths = frozenset(staged_paths(repository, root))
    for parent in repository.merged_commits:
        paths &= frozenset(staged_paths(repository, root, against=parent))
    return paths


@dataclass(frozen=True)
class GitTree:
    """A snapshot of blobs, read when they are asked for through one process; contents are not kept in memory."""

    entries: Mapping[str, Entry]
    objects: git.Objects
    listing: tuple[str, ...]
    _digests: dict[str, str] = field(default_factory=dict, repr=False)

    def paths(self) -> tuple[str, ...]:
        return self.listing

    def mode(self, path: str) -> str | None:
        entry = self.entries.get(path)
        return entry.mode if entry else None

    def read(self, path: str) -> bytes:
        data = self.objects.read(self.entries[path].oid)
        if data is None:
            raise UnreadableError(path, "its content is not in the object store")
        return data

    def digest(self, path: str) -> str:
        oid = self.entries[path].oid
        if oid not in self._digests:
            self._digests[oid] = digest_of(self.read(path))
        return self._digests[oid]

    def is_tracked(self, path: str) -> bool:
        return path in self.entries


def index_snapshot(repository: Repository, root: Path | None = None) -> GitTree:
    """Return the index as a tree: what `git commit` would record, also inside a hook of a partial commit."""
    root = root or repository.top
    entries = index_entries(repository, root)
    empty = git.run(["hash-object", "--stdin"], repository.top, stdin=b"").line
    if any(entry.oid == empty for entry in entries.values()):
        # `git add -N` leaves an empty entry that no commit would hold; only diff-index tells it from an empty file.
        arguments = ["diff-index", "--cached", "--name-only", "-z", "--no-renames", "--ita-invisible-in-index"]
        answer = git.run([*arguments, repository.empty_tree], repository.top, env=repository.read_environment())
        prefix = repository.prefix(root)
        real = {path[len(prefix) :] for path in answer.records() if path.startswith(prefix)}
        entries = {path: entry for path, entry in entries.items() if entry.oid != empty or path in real}
    return GitTree(entries, git.Objects(repository.top), _kept(entries))


def ref_snapshot(repository: Repository, ref: str, root: Path | None = None) -> GitTree:
    """Return the tree of a commit below `root`. Raises RepositoryError when `ref` names no commit."""
    if ref.startswith("-"):
        raise RepositoryError(f"not a commit: {ref}")
    resolved = git.run(["rev-parse", "-q", "--verify", f"{ref}^{{commit}}"], repository.top, check=False)
    if resolved.code != 0:
        raise RepositoryError(f"not a commit: {ref}")
    prefix = repository.prefix(root or repository.top)
    entries: dict[str, Entry] = {}
    for record in git.run(["ls-tree", "-r", "-z", "--full-tree", resolved.line], repository.top).records():
        head, _, path = record.partition("\t")
        mode, _, oid = head.split(" ")
        if mode in MODES and path.startswith(prefix):
            entries[path[len(prefix) :]] = Entry(mode, oid)
    return GitTree(entries, git.Objects(repository.top), _kept(entries))
