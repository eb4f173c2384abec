"""Find the git repository around a directory and the state it is in.

Contract: every path comes from git itself (linked worktrees, submodules and `.git` files have no fixed layout).
Reading never needs a state; writing asks `require_writable` first.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

from fixaudit.errors import RepositoryError
from fixaudit.repository import git

HeadKind = Literal["branch", "detached", "unborn"]


@dataclass(frozen=True)
class Head:
    """Where HEAD points: `ref` is the full branch name (None when detached), `commit` None when unborn."""

    ref: str | None
    commit: str | None

    @property
    def kind(self) -> HeadKind:
        return "unborn" if self.commit is None else "detached" if self.ref is None else "branch"


@dataclass(frozen=True)
class Repository:
    """A repository with a working tree. `index_file` is the one to read: inside a hook git names another one."""

    top: Path
    git_dir: Path
    common_dir: Path
    index_file: Path
    in_hook: bool = False

    @property
    def is_worktree(self) -> bool:
        """Whether this is a linked worktree."""
        return self.git_dir != self.common_dir

    @cached_property
    def head(self) -> Head:
        ref = git.run(["symbolic-ref", "-q", "HEAD"], self.top, check=False)
        commit = git.run(["rev-parse", "-q", "--verify", "HEAD^{commit}"], self.top, check=False)
        return Head(ref.line if ref.code == 0 else None, commit.line if commit.code == 0 else None)

    @cached_property
    def empty_tree(self) -> str:
        """The object id of a tree without entries; git knows it without it being stored."""
        return git.run(["hash-object", "-t", "tree", "--stdin"], self.top, stdin=b"").line

    @property
    def in_progress(self) -> str | None:
        """Name the operation that has to be finished first: merge, rebase, am, cherry-pick, revert or bisect."""
        for marker, name in _MARKERS:
            if (self.git_dir / marker).exists():
                return name
        return None

    @property
    def merged_commits(self) -> tuple[str, ...]:
        """The other parents of the merge commit that is being made; empty outside a merge."""
        try:
            return tuple((self.git_dir / "MERGE_HEAD").read_text(encoding="ascii").split())
        except OSError:
            return ()

    def prefix(self, root: Path) -> str:
        """Return `root` relative to the top, "" or with a final slash. Raises ValueError when it is outside."""
        relative = root.resolve().relative_to(self.top).as_posix()
        return "" if relative == "." else f"{relative}/"

    def with_own_index(self) -> Repository:
        """Return this repository outside of any hook: writing is never meant for a hook's temporary index."""
        return replace(self, index_file=self.git_dir / "index", in_hook=False)

    def read_environment(self) -> dict[str, str]:
        """Return the variables by which git reads the index that is being committed."""
        return {"GIT_INDEX_FILE": str(self.index_file)} if self.in_hook else {}


_MARKERS = (
    ("rebase-merge", "rebase"),
    ("rebase-apply/applying", "am"),
    ("rebase-apply", "rebase"),
    ("MERGE_HEAD", "merge"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
    ("sequencer", "cherry-pick"),
    ("BISECT_LOG", "bisect"),
)


def find_repository(start: Path) -> Repository | None:
    """Return the repository whose working tree holds the directory `start`, or None when there is none.

    Raises RepositoryError when there is one that git will not read (another owner, damage, no git on PATH);
    a read-only command catches exactly this and goes on without git.
    """
    start = start.resolve()
    if git.executable() is None:
        if any((parent / ".git").exists() for parent in (start, *start.parents)):
            raise RepositoryError("git is not installed or not on PATH", hint="install git, or put it on PATH")
        return None
    asked = ("--is-inside-work-tree", "--show-toplevel", "--absolute-git-dir", "--git-common-dir")
    answer = git.run(["rev-parse", *asked], start, check=False)
    if answer.code != 0:
        _raise_refusal(start, answer)
        return None
    lines = os.fsdecode(answer.out).splitlines()
    if len(lines) != len(asked):  # a directory name with a line break: ask one by one
        lines = [git.run(["rev-parse", question], start).line for question in asked]
    top, git_dir, common_dir = (Path(os.path.normpath(start / line)).resolve() for line in lines[1:])
    if not (start.is_relative_to(top) and os.path.lexists(top / ".git")):
        # core.worktree in the repository's own configuration may name any directory of this machine.
        raise RepositoryError(f"the repository says that its working tree is elsewhere: {top}")
    index = _index_of_hook(top, git_dir)
    if index is not None:
        return Repository(top, git_dir, common_dir, index, in_hook=True)
    return Repository(top, git_dir, common_dir, git_dir / "index")


def _raise_refusal(start: Path, answer: git.Output) -> None:
    """Raise what git said, unless it said only that there is no repository or no working tree."""
    message = git.words(answer)
    if message.startswith("not a git repository (or any"):  # the other form names a broken `.git` file
        return
    if answer.out.startswith(b"false") or "must be run in a work tree" in message:
        return  # inside .git itself, or a bare repository: a directory without a working tree
    hint = None
    if "dubious ownership" in message or "safe.directory" in message:
        message = message.partition(" To add an exception")[0]
        hint = f"git config --global --add safe.directory {start}"
    raise RepositoryError(f"git refuses to read this repository: {message}", hint=hint)


def _index_of_hook(top: Path, git_dir: Path) -> Path | None:
    """Return the index that a running `git commit` of this same repository names, or None.

    `git commit -- path` and `-a` put what is being committed into `next-index-N.lock` or `index.lock`; read without
    it, a hook sees the old content. In a hook of another repository (a submodule's parent) it means nothing here.
    """
    named = os.environ.get("GIT_INDEX_FILE")
    if not named:
        return None
    outer = os.environ.get("GIT_DIR")
    if outer is not None and Path(outer).resolve() != git_dir:
        return None
    for base in (Path.cwd(), top):
        index = (base / named).resolve()
        if index.exists() and (outer is not None or index.parent == git_dir):
            return index
    return None


def require_writable(repository: Repository) -> None:
    """Raise RepositoryError while a merge, rebase or the like is going on."""
    operation = repository.in_progress
    if operation is not None:
        raise RepositoryError(
            f"a {operation} is in progress in this repository", hint=f"finish or abort the {operation}, then try again"
        )
