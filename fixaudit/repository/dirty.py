"""Which files hold work of the user's that exists nowhere else.

Contract: bytes on disk are compared with bytes in git, without filters. Where git is configured to convert line
endings, CRLF against LF is no difference, as it is none for git.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Literal

from fixaudit.repository import git
from fixaudit.repository.discover import Repository
from fixaudit.repository.trees import Entry, index_entries, staged_paths
from fixaudit.snapshot import LINK, FileState, UnreadableError, WorkingTree, state_at

Dirt = Literal["staged", "modified", "deleted", "untracked", "ignored"]


def dirty_paths(
    repository: Repository,
    tree: WorkingTree,
    paths: Iterable[str],
    *,
    left_behind: Mapping[str, str] | None = None,
    against_head: bool = True,
) -> dict[str, Dirt]:
    """Return those of `paths` (relative to the tree's root) that hold uncommitted work, and of which kind.

    `left_behind` maps paths to the `FileState.digest` that an earlier run wrote: such a file is clean. With
    `against_head=False` (in the hook) a file that equals its index entry is clean although it is staged.
    A path where neither git nor the disk has anything is clean. "ignored" is an untracked file that git ignores.
    """
    known = left_behind or {}
    entries = index_entries(repository, tree.root)
    staged = staged_paths(repository, tree.root) if against_head else {}
    found: dict[str, Dirt] = {}
    suspects: dict[str, tuple[FileState, Entry, bytes]] = {}
    objects = git.Objects(repository.top)
    try:
        for path in dict.fromkeys(paths):
            entry = entries.get(path)
            try:
                state = state_at(tree, path)
            except UnreadableError:
                found[path] = "modified"
                continue
            if state is not None and known.get(path) == state.digest:
                continue
            if path in staged:
                found[path] = "staged"
            elif entry is None:
                if state is not None:
                    found[path] = "untracked"
            elif state is None:
                found[path] = "deleted"
            else:
                blob = objects.read(entry.oid)
                if state.mode != entry.mode or state.data != blob:
                    found[path] = "modified"
                    if blob is not None:
                        suspects[path] = (state, entry, blob)
    finally:
        objects.close()
    for path in _same_for_git(repository, tree, suspects):
        del found[path]
    for path in _ignored(repository, tree, [path for path, kind in found.items() if kind == "untracked"]):
        found[path] = "ignored"
    return found


def _same_for_git(
    repository: Repository, tree: WorkingTree, suspects: Mapping[str, tuple[FileState, Entry, bytes]]
) -> list[str]:
    """Return the paths whose only difference is one that git is told to overlook: line endings, the exec bit."""
    if not suspects:
        return []
    modes_count = git.run(["config", "--type=bool", "core.fileMode"], repository.top, check=False).line != "false"
    plain: list[str] = []
    endings: list[str] = []
    for path, (state, entry, blob) in suspects.items():
        if state.mode != entry.mode and (modes_count or LINK in (state.mode, entry.mode)):
            continue
        if state.data == blob:
            plain.append(path)
        elif b"\r" not in blob and state.data.replace(b"\r\n", b"\n") == blob:
            endings.append(path)
    return plain + _converted(repository, tree, endings)


def _converted(repository: Repository, tree: WorkingTree, paths: list[str]) -> list[str]:
    if not paths:
        return []
    automatic = git.run(["config", "core.autocrlf"], repository.top, check=False).line in ("true", "input")
    attributes: dict[str, dict[str, str]] = {path: {} for path in paths}
    answer = git.run(
        ["check-attr", "-z", "--stdin", "text", "eol", "crlf"],
        tree.root,
        stdin=git.nul_joined(paths),
        env=repository.read_environment(),
    )
    fields = [os.fsdecode(part) for part in answer.out.split(b"\0")[:-1]]
    for path, name, value in zip(fields[::3], fields[1::3], fields[2::3], strict=True):
        attributes[path][name] = value
    return [path for path in paths if _converts(attributes[path], automatic)]


def _converts(attributes: Mapping[str, str], automatic: bool) -> bool:
    text = attributes.get("text", "unspecified")
    if text == "unset" or attributes.get("crlf") == "unset":
        return False
    return text in ("set", "auto") or attributes.get("eol") in ("lf", "crlf") or automatic


def _ignored(repository: Repository, tree: WorkingTree, paths: list[str]) -> list[str]:
    if not paths:
        return []
    names = git.nul_joined(f"./{path}" for path in paths)  # a name may start with ":", which is pathspec magic
    answer = git.run(["check-ignore", "-z", "--stdin"], tree.root, stdin=names, check=False)
    return [path[2:] for path in answer.records()] if answer.code == 0 else []
