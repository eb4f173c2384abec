"""Ask git which paths a set of .gitignore files ignores.

Contract: the answer depends on the given files alone, not on this machine (no core.excludesFile, no info/exclude,
no index), so that a rule passes for everybody or for nobody. The files may exist in memory only: they are written
to a private scratch directory, one per process, that is removed at exit.
This module must not know of the repository that is audited.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from fixaudit.errors import RepositoryError
from fixaudit.repository import git
from fixaudit.snapshot import digest_of

_scratch: dict[int, Path] = {}  # by process id: a forked child must not share, or remove, its parent's
_answers: dict[tuple[str, str], bool] = {}


def scratch_git_dir() -> Path:
    """Return an empty private repository of this process, for commands that need one to read something else."""
    own = os.getpid()
    if own not in _scratch:
        directory = Path(tempfile.mkdtemp(prefix="fixaudit-"))
        _scratch[own] = directory
        atexit.register(_remove, directory, own)
        git.run(["init", "-q", "--bare", "--template=", str(directory / "git")], directory)
    return _scratch[own] / "git"


def _remove(directory: Path, owner: int) -> None:
    if os.getpid() == owner:
        shutil.rmtree(directory, ignore_errors=True)


def ignore_query(gitignores: Mapping[str, bytes], paths: Sequence[str]) -> dict[str, bool]:
    """Say for each path whether the .gitignore files ignore it, tracked or not.

    `gitignores` maps the files' paths (`.gitignore`, `api/.gitignore`) to their bytes; a path that ends in "/" asks
    about a directory. A path that leaves the tree is never ignored. Raises RepositoryError when there is no git.
    """
    rules = {path: data for path, data in sorted(gitignores.items()) if data.strip() and _inside(path)}
    if not rules:
        return dict.fromkeys(paths, False)
    key = digest_of(b"".join(b"%d:%s%d:%s" % (len(n), n, len(d), d) for n, d in _encoded(rules)))
    asked = [p for p in dict.fromkeys(paths) if (key, p) not in _answers and _inside(p.removesuffix("/"))]
    if asked:
        _answers.update({(key, path): ignored for path, ignored in _ask(key, rules, asked).items()})
    return {path: _answers.get((key, path), False) for path in paths}


def _encoded(rules: Mapping[str, bytes]) -> list[tuple[bytes, bytes]]:
    return [(os.fsencode(path), data) for path, data in rules.items()]


def _inside(path: str) -> bool:
    return all(part not in ("", ".", "..", ".git") for part in path.split("/"))


def _ask(key: str, rules: Mapping[str, bytes], paths: Sequence[str]) -> dict[str, bool]:
    files = [path for path in paths if not path.endswith("/")]
    directories = [path for path in paths if path.endswith("/")]
    answers = _ask_of(_tree(key, rules), files) if files else {}
    if directories:
        # Asked with its slash, git takes `build/` for something inside `build/*`. So the directory is made, in a
        # tree of its own, and git sees by itself what it is.
        tree = _tree(f"{key}-directories", rules)
        for path in directories:
            (tree / path).mkdir(parents=True, exist_ok=True)
        found = _ask_of(tree, [path.removesuffix("/") for path in directories])
        answers |= {f"{path}/": ignored for path, ignored in found.items()}
    return answers


def _tree(name: str, rules: Mapping[str, bytes]) -> Path:
    tree = scratch_git_dir().parent / name
    if not tree.exists():
        tree.mkdir()
        for path, data in rules.items():
            file = tree / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
    return tree


def _ask_of(tree: Path, paths: Sequence[str]) -> dict[str, bool]:
    repository = [f"--git-dir={scratch_git_dir()}", f"--work-tree={tree}"]
    answer = git.run(
        # --no-index: git calls a tracked path "not ignored" whatever the patterns say.
        [*repository, "check-ignore", "--no-index", "-z", "-v", "-n", "--stdin"],
        tree,
        stdin=git.nul_joined(f"./{path}" for path in paths),  # a name may start with ":", which is pathspec magic
        config={"core.excludesFile": "/dev/null", "core.ignoreCase": "false"},
        check=False,
    )
    if answer.code not in (0, 1):  # 1: nothing is ignored
        raise RepositoryError(f"git check-ignore failed: {git.words(answer)}")
    fields = [os.fsdecode(part) for part in answer.out.split(b"\0")[:-1]]
    # Four fields each: source, line, pattern, path. The last matching pattern decides; "!" takes the path back.
    return {
        path[2:]: bool(pattern) and not pattern.startswith("!")
        for pattern, path in zip(fields[2::4], fields[3::4], strict=True)
    }
