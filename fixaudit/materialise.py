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

IDENTITY = {
    f"GIT_{role}_{part}": value
    for role in ("AUTHOR", "COMMITTER")
    for part, value in (("NAME", "fixaudit"), ("EMAIL", "fixaudit@localhost.invalid"), ("DATE", "0 +0000"))
}


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
        now = _git_state(self.path)
        words = {
            "head": "made or moved a commit",
            "refs": "changed branches, tags or stashes",
            "index": "changed git's index",
            "config": "changed git's configuration",
            "hooks": "changed git's hooks",
            "gone": "removed the git repository",
        }
        return next((said for part, said in words.items() if self.git_state.get(part) != now.get(part)), None)


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
    # Paths are given one by one and without filters: `add` would run the project's own filters and skip ignored files.
    entries = b"".join(
        b"%s %s\t%s\0" % (state.mode.encode(), _blob(path, state), os.fsencode(name))
        for name, state in sorted(written.items())
    )
    git.run(["update-index", "-z", "--index-info"], path, stdin=entries)
    git.run(["commit", "-q", "--no-verify", "--allow-empty", "-m", "The project as it is"], path, env=IDENTITY)
    return Checkout(path, written, _git_state(path))


def _stays_inside(name: str, target: str) -> bool:
    """Say whether a link stays in the tree: one that leaves it would be a door to the user's files."""
    joined = os.path.normpath(os.path.join(os.path.dirname(name), target))  # noqa: PTH118, PTH120
    return not os.path.isabs(target) and joined != ".." and not joined.startswith("../")  # noqa: PTH117


def _blob(path: Path, state: FileState) -> bytes:
    return git.run(["hash-object", "-w", "--no-filters", "--stdin"], path, stdin=state.data).line.encode()


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


def _git_state(path: Path) -> dict[str, str]:
    directory = path / ".git"
    if not directory.is_dir():
        return {"gone": "yes"}
    return {
        "gone": "no",
        "head": _digest(directory / "HEAD")
        + _digest(directory / "refs/heads/main")
        + _digest(directory / "packed-refs"),
        "refs": _digest_tree(directory / "refs"),
        "index": git.run(["ls-files", "-s", "-z"], path, check=False).out.hex(),
        "config": _digest(directory / "config") + _digest_tree(directory / "info"),
        "hooks": _digest_tree(directory / "hooks"),
    }


def _digest(file: Path) -> str:
    try:
        return hashlib.blake2b(file.read_bytes(), digest_size=16).hexdigest()
    except OSError:
        return ""


def _digest_tree(directory: Path) -> str:
    if not directory.is_dir():
        return ""
    return ";".join(f"{p.relative_to(directory)}={_digest(p)}" for p in sorted(directory.rglob("*")) if p.is_file())
