"""A private checkout of a snapshot: real files that somebody else may edit, and what they made of them.

Contract: the copy holds the snapshot's files and a git repository of its own with one commit, so that tools find what
they expect and everything done to git can be seen. What was changed is read back by comparing with what was written,
never by asking. Files that git ignores there (caches, build output) are by-products and are dropped.
This module must not know of rules, contracts or agents.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fixaudit.repository import git, ignore_query
from fixaudit.snapshot import EXECUTABLE, LINK, REGULAR, FileState, Snapshot, UnreadableError

_IDENTITY = b"fixaudit <fixaudit@localhost.invalid>"


@dataclass(frozen=True)
class Checkout:
    """A copy at `path`; `written` is what was put there, `git_state` names the state of its repository."""

    path: Path
    written: Mapping[str, FileState]
    git_state: Mapping[str, str]

    def changes(self) -> dict[str, FileState | None]:
        """Return what differs from what was written: new states by path, None for what is gone."""
        now = _read_tree(self.path)
        changed: dict[str, FileState | None] = {p: s for p, s in now.items() if self.written.get(p) != s}
        changed |= {path: None for path in self.written if path not in now}
        created = [path for path in changed if path not in self.written]
        rules = {p: s.data for p, s in self.written.items() if p.rsplit("/", 1)[-1] == ".gitignore"}
        ignored = ignore_query(rules, created)
        return {path: state for path, state in sorted(changed.items()) if not ignored.get(path)}

    def git_changes(self) -> str | None:
        """Say in words what was done to the copy's repository, or None."""
        now = _git_files(self.path)
        for part, said in _GIT_WORDS.items():
            if self.git_state.get(part) != now.get(part):
                return said
        # Only now, with its configuration as it was, is git asked.
        return "changed git's index" if self.git_state["index"] != _index(self.path) else None


_GIT_WORDS = {
    "gone": "removed the git repository",
    "config": "changed git's configuration",
    "hooks": "changed git's hooks",
    "head": "made or moved a commit",
    "refs": "changed branches, tags or stashes",
}


def materialise(snapshot: Snapshot, path: Path) -> Checkout:
    """Write a snapshot into the empty directory `path` and give it a repository with one commit."""
    written: dict[str, FileState] = {}
    for name in snapshot.paths():
        mode = snapshot.mode(name)
        if mode is None:
            continue
        try:
            data = snapshot.read(name)
        except (KeyError, UnreadableError):
            continue
        if mode == LINK and not _stays_inside(name, os.fsdecode(data)):
            continue
        target = path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if mode == LINK:
            target.symlink_to(os.fsdecode(data))
        else:
            target.write_bytes(data)
            target.chmod(0o755 if mode == EXECUTABLE else 0o644)
        written[name] = FileState(mode, data)
    git.run(["init", "-q", "-b", "main", "--template=", "."], path)
    # Neither `add` nor `commit`: they would run filters, skip ignored files, and ask for a signature.
    git.run(["fast-import", "--quiet"], path, stdin=_commit_stream(written))
    git.run(["read-tree", "HEAD"], path)
    return Checkout(path, written, {**_git_files(path), "index": _index(path)})


def _stays_inside(name: str, target: str) -> bool:
    """Say whether a link stays in the tree: one that leaves it would be a door to the user's files."""
    joined = os.path.normpath(os.path.join(os.path.dirname(name), target))  # noqa: PTH118, PTH120
    return not os.path.isabs(target) and joined != ".." and not joined.startswith("../")  # noqa: PTH117


def _commit_stream(written: Mapping[str, FileState]) -> bytes:
    """Write a commit of all files in the format of `git fast-import`: one process, whatever the number of files."""
    message = b"The project as it is\n"
    parts = [b"commit refs/heads/main\ncommitter %s 0 +0000\ndata %d\n%s" % (_IDENTITY, len(message), message)]
    for name, state in sorted(written.items()):
        quoted = os.fsencode(name).replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")
        parts.append(b'M %s inline "%s"\ndata %d\n' % (state.mode.encode(), quoted, len(state.data)))
        parts += [state.data, b"\n"]
    return b"".join(parts)


def _read_tree(root: Path) -> dict[str, FileState]:
    found: dict[str, FileState] = {}
    pending = [""]
    while pending:
        prefix = pending.pop()
        for entry in os.scandir(root / prefix if prefix else root):
            name = f"{prefix}/{entry.name}" if prefix else entry.name
            if entry.name == ".git":
                continue
            info = entry.stat(follow_symlinks=False)
            if stat.S_ISLNK(info.st_mode):
                found[name] = FileState(LINK, os.fsencode(os.readlink(entry.path)))  # noqa: PTH115
            elif stat.S_ISDIR(info.st_mode):
                pending.append(name)
            elif stat.S_ISREG(info.st_mode):
                mode = EXECUTABLE if info.st_mode & 0o100 else REGULAR
                found[name] = FileState(mode, Path(entry.path).read_bytes())
    return found


def _git_files(path: Path) -> dict[str, str]:
    directory = path / ".git"
    if not directory.is_dir() or directory.is_symlink():
        return {"gone": "yes"}
    # `commondir` would let git read everything else from another place.
    config = [_digest(directory / name) for name in ("config", "config.worktree", "commondir")]
    return {
        "gone": "no",
        "config": " ".join((*config, _digest_tree(directory / "info"), _digest_tree(directory / "worktrees"))),
        "hooks": _digest_tree(directory / "hooks"),
        "head": _digest(directory / "HEAD") + _digest(directory / "refs/heads/main"),
        "refs": _digest_tree(directory / "refs") + _digest(directory / "packed-refs"),
    }


def _index(path: Path) -> str:
    """Return the entries of the index: asking for the state of files refreshes its bytes and changes nothing."""
    file = path / ".git/index"
    if file.is_symlink() or not file.is_file():
        return ""
    return hashlib.blake2b(git.run(["ls-files", "-s", "-z"], path, check=False).out, digest_size=16).hexdigest()


def _digest(file: Path) -> str:
    if file.is_symlink() or not file.is_file():  # a pipe would never end
        return "" if not file.exists() else "no file"
    return hashlib.blake2b(file.read_bytes(), digest_size=16).hexdigest()


def _digest_tree(directory: Path) -> str:
    return ";".join(f"{p.relative_to(directory)}={_digest(p)}" for p in sorted(directory.rglob("*")) if not p.is_dir())
