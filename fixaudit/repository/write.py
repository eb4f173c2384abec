"""The two things that may be done to the user's repository: untrack named paths, commit named paths.

Contract: exactly the named entries of the index change, nothing is done where the user has something staged there,
no hook and no filter runs, and no file of the working tree is touched.
This module must not know of rules; messages and trailers are given.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fixaudit.errors import ConflictError, RepositoryError
from fixaudit.repository import git
from fixaudit.repository.discover import Repository, require_writable
from fixaudit.repository.trees import Entry, index_entries, staged_paths
from fixaudit.snapshot import FileState


@dataclass(frozen=True)
class IndexEntries:
    """The user's index below `root`, entry by entry, for a transaction and its undo."""

    repository: Repository
    root: Path

    def read(self, paths: Sequence[str]) -> dict[str, str | None]:
        """Return "mode oid" of each path, or None where the index has no such file."""
        entries = index_entries(self.repository.with_own_index(), self.root)
        return {path: f"{e.mode} {e.oid}" if (e := entries.get(path)) else None for path in paths}

    def remove(self, paths: Sequence[str]) -> None:
        """Take paths out of the index. Raises ConflictError when the user has something staged there."""
        require_writable(self.repository)
        repository = self.repository.with_own_index()
        _refuse_staged(repository, self.root, paths)
        _update(repository, self.root, repository.index_file, dict.fromkeys(paths))

    def restore(self, entries: Mapping[str, str]) -> None:
        """Put entries ("mode oid") back."""
        values = {path: Entry(*value.split(" ")) for path, value in entries.items()}
        repository = self.repository.with_own_index()
        _update(repository, self.root, repository.index_file, values)


def untrack(repository: Repository, root: Path, paths: Sequence[str]) -> dict[str, str]:
    """Remove paths from the index, keep them on disk; return the entries removed, for `IndexEntries.restore`.

    Paths that are not tracked are left out. Raises ConflictError when something is staged at one of them and
    RepositoryError when git refuses (a held index lock, a merge in progress).
    """
    index = IndexEntries(repository, root)
    entries = {path: entry for path, entry in index.read(paths).items() if entry is not None}
    if entries:
        index.remove(list(entries))
    return entries


def commit(
    repository: Repository,
    root: Path,
    files: Mapping[str, FileState | None],
    message: str,
    trailers: Sequence[tuple[str, str]] = (),
    *,
    untracked: Sequence[str] = (),
) -> str:
    """Commit the given states of `files` (None: deleted) and the removal of `untracked`; return the commit's id.

    Everything else in the index stays as it is, staged or not. Refused with ConflictError where the user has staged
    something at one of the paths, and with RepositoryError during a merge, without an identity, when a clean filter
    would have to run, or when the branch moved meanwhile.
    """
    require_writable(repository)
    paths = [*files, *untracked]
    fresh = repository.with_own_index()  # also reads HEAD again
    # An untracked path is already gone from the index: its staged deletion is ours.
    _refuse_staged(fresh, root, [path for path in files if path not in untracked])
    _refuse_filters(fresh, root, list(files))
    _require_identity(fresh)
    entries: dict[str, Entry | None] = dict.fromkeys(untracked)
    for path, state in files.items():
        entries[path] = None if state is None else Entry(state.mode, _write_blob(fresh, root, path, state))
    head = fresh.head
    with tempfile.TemporaryDirectory(prefix="fixaudit-") as scratch:
        index = Path(scratch) / "index"
        private = {"GIT_INDEX_FILE": str(index)}
        git.run(["read-tree", head.commit] if head.commit else ["read-tree", "--empty"], fresh.top, env=private)
        _update(fresh, root, index, entries)
        tree = git.run(["write-tree"], fresh.top, env=private).line
    text = message.rstrip() + "\n"
    if trailers:
        text += "\n" + "".join(f"{key}: {value}\n" for key, value in trailers)
    parents = ["-p", head.commit] if head.commit else []
    new = git.run(["commit-tree", *parents, "-F", "-", tree], fresh.top, stdin=text.encode()).line
    expected = head.commit or "0" * len(new)
    subject = text.partition("\n")[0]
    git.run(["update-ref", "-m", f"commit: {subject}", "HEAD", new, expected], fresh.top)
    _update(fresh, root, fresh.index_file, {path: entry for path, entry in entries.items() if path in files})
    if paths:
        repository.__dict__.pop("head", None)  # cached before this commit moved it
    return new


def _refuse_staged(repository: Repository, root: Path, paths: Sequence[str]) -> None:
    staged = staged_paths(repository, root)
    conflicts = [path for path in paths if path in staged]
    if conflicts:
        raise ConflictError(
            f"the index holds staged changes of {', '.join(conflicts)}", hint="commit or unstage them, then try again"
        )


def _update(repository: Repository, root: Path, index: Path, entries: Mapping[str, Entry | None]) -> None:
    if not entries:
        return
    prefix = repository.prefix(root)
    null = "0" * len(repository.empty_tree)
    lines = [
        f"{entry.mode} {entry.oid} 0\t{prefix}{path}" if entry else f"0 {null} 0\t{prefix}{path}"
        for path, entry in entries.items()
    ]
    environment = {"GIT_INDEX_FILE": str(index)}
    git.run(["update-index", "-z", "--index-info"], repository.top, stdin=git.nul_joined(lines), env=environment)


def _refuse_filters(repository: Repository, root: Path, paths: Sequence[str]) -> None:
    """A filter is a program that the repository names; without it the commit would hold what git never would."""
    answer = git.run(["check-attr", "-z", "--stdin", "filter"], root, stdin=git.nul_joined(paths))
    fields = [os.fsdecode(part) for part in answer.out.split(b"\0")[:-1]]
    for path, value in zip(fields[::3], fields[2::3], strict=True):
        if value not in ("unspecified", "unset", "set"):
            raise RepositoryError(
                f"{path} is stored through the git filter {value}, which is not run", hint="commit this file yourself"
            )


def _require_identity(repository: Repository) -> None:
    for variable in ("GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"):
        answer = git.run(["var", variable], repository.top, config={"user.useConfigOnly": "true"}, check=False)
        if answer.code != 0:
            raise RepositoryError(
                "git does not know who commits here",
                hint='git config user.name "Your Name"; git config user.email you@example.com',
            )


def _write_blob(repository: Repository, root: Path, path: str, state: FileState) -> str:
    """Store content as `git add` would, with git's own line-ending conversion (filters were refused before)."""
    conversion = ["--no-filters"] if state.mode == "120000" else [f"--path={repository.prefix(root)}{path}"]
    arguments = ["hash-object", "-w", *conversion, "--stdin"]
    return git.run(arguments, repository.top, stdin=state.data, config={"core.safecrlf": "false"}).line
