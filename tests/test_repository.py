"""Git is read exactly, nothing configured in a repository ever runs, and only named entries are written."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fixaudit.errors import ConflictError, RepositoryError
from fixaudit.repository import (
    IndexEntries,
    Repository,
    commit,
    dirty_paths,
    find_repository,
    ignore_query,
    index_snapshot,
    ref_snapshot,
    require_writable,
    staged_paths,
    untrack,
    working_tree,
)
from fixaudit.snapshot import (
    EXECUTABLE,
    LINK,
    REGULAR,
    FileState,
    MemorySnapshot,
    Snapshot,
    UnreadableError,
    WorkingTree,
    digest_of,
)

ODD = [
    "with space.js",
    "line\nbreak.js",
    "модуль.py",
    os.fsdecode(b"latin\xe9.txt"),
    '"quoted".js',
    "-dash.js",
    ":(top)x.js",
    "star*.js",
]


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No configuration of this machine takes part."""
    for name in list(os.environ):
        if name.startswith("GIT_"):
            monkeypatch.delenv(name)
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(
        "[user]\n\tname = Test\n\temail = test@example.com\n[init]\n\tdefaultBranch = main\n"
    )
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)


def sh(cwd: Path, *argv: str, stdin: bytes = b"", **env: str) -> bytes:
    return subprocess.run(argv, cwd=cwd, check=True, input=stdin, capture_output=True, env=os.environ | env).stdout


def write(top: Path, files: dict[str, bytes]) -> None:
    for path, data in files.items():
        (top / path).parent.mkdir(parents=True, exist_ok=True)
        (top / path).write_bytes(data)


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """A repository with one commit."""
    directory = tmp_path / "project"
    directory.mkdir()
    sh(directory, "git", "init", "-q")
    write(directory, {"a.js": b"a\n", "api/b.js": b"b\n", ".gitignore": b"*.log\n.env\n"})
    sh(directory, "git", "add", ".")
    sh(directory, "git", "commit", "-qm", "first")
    return directory


def found(start: Path) -> Repository:
    repository = find_repository(start)
    assert repository is not None
    return repository


def tree(root: Path) -> WorkingTree:
    return working_tree(root, find_repository(root))


# Finding --------------------------------------------------------------------------------------------------------------


def test_find_from_top_and_below(top: Path) -> None:
    repository = found(top / "api")
    assert (repository.top, repository.git_dir, repository.index_file) == (top, top / ".git", top / ".git/index")
    assert not repository.is_worktree
    assert (repository.head.kind, repository.head.ref) == ("branch", "refs/heads/main")
    assert repository.head.commit == sh(top, "git", "rev-parse", "HEAD").decode().strip()
    assert (repository.prefix(top), repository.prefix(top / "api")) == ("", "api/")


def test_nothing_to_find(tmp_path: Path, top: Path) -> None:
    assert find_repository(tmp_path) is None
    assert find_repository(top / ".git") is None
    sh(tmp_path, "git", "init", "-q", "--bare", "bare.git")
    assert find_repository(tmp_path / "bare.git") is None


def test_head_states(top: Path, tmp_path: Path) -> None:
    sh(top, "git", "checkout", "-q", "--detach")
    assert found(top).head.kind == "detached"
    unborn = tmp_path / "unborn"
    sh(tmp_path, "git", "init", "-q", "unborn")
    assert (found(unborn).head.kind, found(unborn).head.ref) == ("unborn", "refs/heads/main")


def test_directory_names_with_line_breaks(tmp_path: Path) -> None:
    directory = tmp_path / "a\nb c"
    directory.mkdir()
    sh(directory, "git", "init", "-q")
    assert found(directory).top == directory


def test_another_owner_is_gits_own_word_with_a_remedy(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    with pytest.raises(RepositoryError) as caught:
        find_repository(top)
    assert "dubious ownership" in caught.value.message
    assert caught.value.hint == f"git config --global --add safe.directory {top}"
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(top.parent / "other"))
    (top.parent / "other").write_text(f"[safe]\n\tdirectory = {top}\n")
    assert found(top).top == top


def test_listing_goes_on_without_the_refused_repository(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(top, {"x.log": b"", "new.py": b""})
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    assert working_tree(top, None).paths() == (".gitignore", "a.js", "api/b.js", "new.py")


def test_broken_repository(top: Path) -> None:
    (top / ".git/HEAD").write_text("nonsense")
    (top / "sub").mkdir()
    (top / "sub/.git").write_text("gitdir: /nowhere/at/all\n")
    with pytest.raises(RepositoryError, match="not a git repository: /nowhere/at/all"):
        find_repository(top / "sub")


@pytest.mark.parametrize("where", ["home", "."])
def test_working_tree_that_is_elsewhere(where: str, top: Path, tmp_path: Path) -> None:
    sh(top, "git", "config", "core.worktree", str(tmp_path / where))
    with pytest.raises(RepositoryError, match="working tree is elsewhere"):
        find_repository(top)


def test_without_git(top: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RepositoryError, match="not on PATH"):
        find_repository(top)
    assert find_repository(tmp_path) is None
    write(top, {"node_modules/x/index.js": b"", "venv/pyvenv.cfg": b"", "venv/lib/a.py": b""})
    (top / "loop").symlink_to(top)
    assert working_tree(top, None).paths() == (".gitignore", "a.js", "api/b.js", "loop")


def test_a_git_of_the_projects_own_is_never_started(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for directory in ("bin", "node_modules/.bin"):
        write(top, {f"{directory}/{name}": b"#!/bin/sh\ntouch ../mark\n" for name in ("git", "env")})
        for name in ("git", "env"):
            (top / directory / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"bin:{top}/node_modules/.bin::{os.environ['PATH']}")
    monkeypatch.chdir(top)
    assert "a.js" in tree(top).paths()
    assert not (top.parent / "mark").exists()


@pytest.mark.parametrize(
    ("marker", "name"),
    [
        ("MERGE_HEAD", "merge"),
        ("rebase-merge/head-name", "rebase"),
        ("rebase-apply/applying", "am"),
        ("rebase-apply/rebasing", "rebase"),
        ("CHERRY_PICK_HEAD", "cherry-pick"),
        ("REVERT_HEAD", "revert"),
        ("BISECT_LOG", "bisect"),
    ],
)
def test_operations_in_progress(marker: str, name: str, top: Path) -> None:
    require_writable(found(top))
    write(top / ".git", {marker: b""})
    assert found(top).in_progress == name
    with pytest.raises(RepositoryError, match=f"a {name} is in progress"):
        require_writable(found(top))


def test_linked_worktree(top: Path, tmp_path: Path) -> None:
    linked = tmp_path / "linked"
    sh(top, "git", "worktree", "add", "-q", str(linked), "-b", "other")
    write(linked, {"only-here.js": b"x"})
    sh(linked, "git", "add", ".")
    repository = found(linked)
    assert repository.is_worktree
    assert repository.common_dir == top / ".git"
    assert repository.index_file.parent == repository.git_dir != top / ".git"
    assert staged_paths(repository) == {"only-here.js": "A"}
    assert "only-here.js" not in index_snapshot(found(top)).paths()


# Listing --------------------------------------------------------------------------------------------------------------


def test_working_tree_listing(top: Path) -> None:
    write(
        top,
        {
            "x.log": b"",
            ".env": b"K=V\n",
            "node_modules/p/index.js": b"",
            "tools/.venv/pyvenv.cfg": b"",
            "tools/.venv/lib/site.py": b"",
            "new.py": b"",
        },
    )
    sh(top, "git", "add", "-f", "node_modules")
    sh(top, "git", "init", "-q", "nested")
    write(top, {"nested/inner.js": b""})
    (top / "a.js").unlink()
    (top / "link").symlink_to("api")
    snapshot = tree(top)
    assert isinstance(snapshot, Snapshot)
    assert snapshot.paths() == (".gitignore", "api/b.js", "link", "new.py")
    assert snapshot.tracked == {".gitignore", "a.js", "api/b.js", "node_modules/p/index.js"}
    assert (snapshot.mode("link"), snapshot.read("link")) == (LINK, b"api")
    assert snapshot.read(".env") == b"K=V\n"


def test_listing_of_a_sub_directory(top: Path) -> None:
    write(top, {"api/new.js": b"", "api/x.log": b""})
    snapshot = tree(top / "api")
    assert snapshot.paths() == ("b.js", "new.js")
    assert snapshot.tracked == {"b.js"}
    assert index_snapshot(found(top), top / "api").paths() == ("b.js",)
    assert ref_snapshot(found(top), "HEAD", top / "api").read("b.js") == b"b\n"


def test_odd_names(top: Path) -> None:
    write(top, {name: name.encode("utf-8", "surrogateescape") for name in ODD})
    assert set(ODD) <= set(tree(top).paths())
    sh(top, "git", "add", ".")
    repository = found(top)
    assert staged_paths(repository) == dict.fromkeys(ODD, "A")
    snapshot = index_snapshot(repository)
    assert {name: snapshot.read(name) for name in ODD} == {n: n.encode("utf-8", "surrogateescape") for n in ODD}
    assert list(snapshot.paths()) == sorted(snapshot.paths(), key=os.fsencode)


def test_a_file_that_became_a_directory(top: Path) -> None:
    (top / "a.js").unlink()
    write(top, {"a.js/index.js": b""})
    assert tree(top).paths() == (".gitignore", "a.js/index.js", "api/b.js")


def test_submodule(top: Path, tmp_path: Path) -> None:
    library = tmp_path / "library"
    sh(tmp_path, "git", "init", "-q", "library")
    write(library, {"lib.js": b"1"})
    sh(library, "git", "add", ".")
    sh(library, "git", "commit", "-qm", "lib")
    sh(top, "git", "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library), "vendor/lib")
    write(top, {"vendor/lib/lib.js": b"2"})
    repository = found(top)
    assert tree(top).paths() == (".gitignore", ".gitmodules", "a.js", "api/b.js")
    assert index_snapshot(repository).mode("vendor/lib") is None
    assert staged_paths(repository) == {".gitmodules": "A"}
    inner = found(top / "vendor/lib")
    assert inner.top == top / "vendor/lib"
    assert dirty_paths(inner, tree(inner.top), ["lib.js"]) == {"lib.js": "modified"}


def test_sparse_and_shallow_checkout(top: Path, tmp_path: Path) -> None:
    sparse = tmp_path / "sparse"
    sh(tmp_path, "git", "clone", "-q", "--depth=1", f"file://{top}", "sparse")
    sh(sparse, "git", "sparse-checkout", "set", "--no-cone", "/api/")
    repository = found(sparse)
    assert tree(sparse).paths() == ("api/b.js",)
    assert tree(sparse).tracked == {".gitignore", "a.js", "api/b.js"}
    assert index_snapshot(repository).read("a.js") == b"a\n"
    assert dirty_paths(repository, tree(sparse), ["api/b.js"]) == {}


def test_partial_clone_fetches_nothing(top: Path, tmp_path: Path) -> None:
    sh(top, "git", "config", "uploadpack.allowFilter", "true")
    sh(tmp_path, "git", "clone", "-q", "--no-checkout", "--filter=blob:none", f"file://{top}", "partial")
    head = ref_snapshot(found(tmp_path / "partial"), "HEAD")
    assert head.paths() == (".gitignore", "a.js", "api/b.js")
    for path in ("a.js", "api/b.js"):
        with pytest.raises(UnreadableError, match="not in the object store"):
            head.read(path)


def test_index_and_ref_are_independent_of_the_disk(top: Path) -> None:
    write(top, {"a.js": b"staged\r\n", "bin": b"\0\1\r\n", "empty.py": b""})
    (top / "bin").chmod(0o755)
    (top / "link").symlink_to("a.js")
    sh(top, "git", "add", ".")
    write(top, {"a.js": b"disk\n", "later.js": b""})
    sh(top, "git", "add", "-N", "later.js")
    (top / "api/b.js").unlink()
    repository = found(top)
    index, head = index_snapshot(repository), ref_snapshot(repository, "HEAD")
    assert index.paths() == (".gitignore", "a.js", "api/b.js", "bin", "empty.py", "link")
    assert [index.mode(p) for p in ("a.js", "bin", "link", "later.js")] == [REGULAR, EXECUTABLE, LINK, None]
    assert (index.read("a.js"), index.read("bin"), index.read("link")) == (b"staged\r\n", b"\0\1\r\n", b"a.js")
    assert index.digest("a.js") == digest_of(b"staged\r\n")
    assert (head.paths(), head.read("a.js")) == ((".gitignore", "a.js", "api/b.js"), b"a\n")
    assert staged_paths(repository) == {"a.js": "M", "bin": "A", "empty.py": "A", "link": "A"}
    with pytest.raises(KeyError):
        index.read("later.js")


def test_unborn_head(tmp_path: Path) -> None:
    sh(tmp_path, "git", "init", "-q", "new")
    write(tmp_path / "new", {"a.js": b"a", "b.js": b"b"})
    sh(tmp_path / "new", "git", "add", "a.js")
    repository = found(tmp_path / "new")
    assert staged_paths(repository) == {"a.js": "A"}
    assert index_snapshot(repository).paths() == ("a.js",)
    assert dirty_paths(repository, tree(repository.top), ["a.js", "b.js"]) == {"a.js": "staged", "b.js": "untracked"}
    with pytest.raises(RepositoryError, match="not a commit: HEAD"):
        ref_snapshot(repository, "HEAD")


def test_renames_are_a_deletion_and_an_addition(top: Path) -> None:
    sh(top, "git", "mv", "a.js", "c.js")
    assert staged_paths(found(top)) == {"a.js": "D", "c.js": "A"}


@pytest.mark.parametrize("ref", ["--output=x", "no-such-branch", "HEAD:a.js"])
def test_bad_refs(ref: str, top: Path) -> None:
    with pytest.raises(RepositoryError, match="not a commit"):
        ref_snapshot(found(top), ref)


HOOK = """#!/bin/sh
exec "$PYTHON" -c '
from pathlib import Path
from fixaudit.repository import *
repository = find_repository(Path.cwd())
tree = index_snapshot(repository)
print(repository.in_hook, tree.read("a.js"), tree.read("api/b.js"), staged_paths(repository), file=open("../seen", "w"))
'
"""


@pytest.mark.parametrize("linked", [False, True])
@pytest.mark.parametrize("how", [["--", "a.js"], ["-a"]])
def test_a_hook_of_a_partial_commit_sees_what_is_committed(
    how: list[str], linked: bool, top: Path, tmp_path: Path
) -> None:
    import sys

    hook = top / ".git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(HOOK)
    hook.chmod(0o755)
    if linked:
        sh(top, "git", "worktree", "add", "-q", str(tmp_path / "linked"), "-b", "other")
        top = tmp_path / "linked"
    write(top, {"api/b.js": b"staged\n"})
    sh(top, "git", "add", ".")
    write(top, {"a.js": b"new a\n", "api/b.js": b"new b\n"})
    sh(top, "git", "commit", "-qm", "second", *how, PYTHON=sys.executable)
    b = "new b" if how == ["-a"] else "b"
    staged = {"a.js": "M", "api/b.js": "M"} if how == ["-a"] else {"a.js": "M"}
    assert (tmp_path / "seen").read_text() == f"True {b'new a' + chr(10).encode()} {(b + chr(10)).encode()} {staged}\n"


def test_a_hook_of_another_repository_means_nothing(top: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sh(tmp_path, "git", "init", "-q", "other")
    monkeypatch.setenv("GIT_INDEX_FILE", str(top / ".git/index"))
    assert not found(tmp_path / "other").in_hook
    monkeypatch.setenv("GIT_DIR", str(top / ".git"))
    assert not found(tmp_path / "other").in_hook
    assert found(top).in_hook


# Uncommitted work -----------------------------------------------------------------------------------------------------


def test_dirty_paths(top: Path) -> None:
    names = ["clean", "modified", "staged", "both", "deleted", "removed", "mode"]
    write(top, dict.fromkeys(names, b"1\n"))
    sh(top, "git", "add", ".")
    sh(top, "git", "commit", "-qm", "second")
    write(top, {"modified": b"2\n", "staged": b"2\n", "both": b"2\n", "new": b"", "x.log": b""})
    sh(top, "git", "add", "staged", "both")
    write(top, {"both": b"3\n"})
    (top / "deleted").unlink()
    sh(top, "git", "rm", "-q", "removed")
    (top / "mode").chmod(0o755)
    repository, snapshot = found(top), tree(top)
    asked = [*names, "new", "x.log", "absent"]
    expected = {
        "modified": "modified",
        "staged": "staged",
        "both": "staged",
        "deleted": "deleted",
        "removed": "staged",
        "mode": "modified",
        "new": "untracked",
        "x.log": "ignored",
    }
    assert dirty_paths(repository, snapshot, asked) == expected
    left = {
        path: FileState(REGULAR, data).digest for path, data in {"modified": b"2\n", "new": b"", "both": b"2\n"}.items()
    }
    assert dirty_paths(repository, snapshot, ["modified", "new", "both"], left_behind=left) == {"both": "staged"}
    in_hook = dirty_paths(repository, snapshot, ["staged", "both", "modified"], against_head=False)
    assert in_hook == {"both": "modified", "modified": "modified"}
    sh(top, "git", "config", "core.fileMode", "false")
    assert dirty_paths(repository, snapshot, ["mode"]) == {}


@pytest.mark.parametrize(
    ("config", "attributes", "clean"),
    [
        ("true", b"", True),
        ("input", b"", True),
        ("false", b"", False),
        ("false", b"*.js text eol=crlf\n", True),
        ("true", b"*.js -text\n", False),
    ],
)
def test_converted_line_endings_are_no_change(config: str, attributes: bytes, clean: bool, top: Path) -> None:
    write(top, {".gitattributes": attributes, "a.js": b"a\r\n"})
    sh(top, "git", "config", "core.autocrlf", config)
    repository = found(top)
    assert dirty_paths(repository, tree(top), ["a.js"]) == ({} if clean else {"a.js": "modified"})
    write(top, {"a.js": b"a and more\r\n"})
    assert dirty_paths(repository, tree(top), ["a.js"]) == {"a.js": "modified"}


# Ignore semantics -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("files", "answers"),
    [
        ({}, {".env": False}),
        ({".gitignore": b".env\n"}, {".env": True, "api/.env": True, ".env.example": False}),
        ({".gitignore": b"/.env\n"}, {".env": True, "api/.env": False}),
        ({".gitignore": b".env*\n!.env.example\n"}, {".env.local": True, ".env.example": False}),
        ({".gitignore": b".env\r\n"}, {".env": True}),
        ({".gitignore": b"\xef\xbb\xbf.env\n"}, {".env": True}),
        ({".gitignore": b"dist/\n"}, {"dist": False, "dist/": True, "dist/a.js": True, "api/dist/": True}),
        (
            {".gitignore": b"build/*\n!build/keep\n"},
            {"build/a": True, "build/keep": False, "build/": False, "build": False},
        ),
        ({".gitignore": b"build/\n!build/keep\n"}, {"build/keep": True}),
        ({".gitignore": b"*.log\n", "api/.gitignore": b"!keep.log\n"}, {"keep.log": True, "api/keep.log": False}),
        ({"api/.gitignore": b".env\n"}, {".env": False, "api/.env": True, "api/sub/.env": True}),
        ({".gitignore": b"# .env\n\\#x\n"}, {".env": False, "#x": True}),
        ({".gitignore": b"a.js\n"}, {"../a.js": False, "/a.js": False, "": False, "./a.js": False, "a.js": True}),
        ({".gitignore": b".env"}, dict.fromkeys([f"{name}/.env" for name in ODD], True)),
    ],
)
def test_ignore_query(files: dict[str, bytes], answers: dict[str, bool]) -> None:
    assert ignore_query(files, list(answers)) == answers
    assert ignore_query(files, list(answers)) == answers


def test_ignore_query_is_independent_of_the_machine(tmp_path: Path) -> None:
    (tmp_path / "home/.config/git").mkdir(parents=True)
    (tmp_path / "home/.config/git/ignore").write_text(".env\n")
    assert ignore_query({".gitignore": b"x\n"}, [".env", "x"]) == {".env": False, "x": True}


# Writing --------------------------------------------------------------------------------------------------------------


def log(top: Path, form: str, ref: str = "HEAD") -> str:
    return sh(top, "git", "log", "-1", f"--format={form}", ref).decode().strip()


def status(top: Path) -> list[str]:
    return sh(top, "git", "status", "--porcelain").decode().splitlines()


def test_untrack_and_restore(top: Path) -> None:
    write(top, {"api/keep.log": b"x\n", "a.js": b"staged\n"})
    sh(top, "git", "add", "-f", "api/keep.log")
    sh(top, "git", "commit", "-qm", "log", "--", "api/keep.log")
    sh(top, "git", "add", "a.js")
    repository = found(top)
    removed = untrack(repository, top / "api", ["keep.log", "not-tracked"])
    assert list(removed) == ["keep.log"]
    assert status(top) == ["M  a.js", "D  api/keep.log"]
    assert (top / "api/keep.log").read_bytes() == b"x\n"
    IndexEntries(repository, top / "api").restore(removed)
    assert status(top) == ["M  a.js"]


def test_untrack_is_refused_where_something_is_staged(top: Path) -> None:
    write(top, {"a.js": b"staged\n"})
    sh(top, "git", "add", "a.js")
    with pytest.raises(ConflictError, match=r"staged changes of a\.js"):
        untrack(found(top), top, ["a.js", "api/b.js"])
    assert status(top) == ["M  a.js"]


def test_a_held_index_lock_is_an_error(top: Path) -> None:
    write(top, {".git/index.lock": b""})
    with pytest.raises(RepositoryError, match=r"index\.lock"):
        untrack(found(top), top, ["a.js"])


def test_commit_takes_exactly_the_named_paths(top: Path) -> None:
    write(top, {"a.js": b"fixed\r\n", "new file.js": b"n\n", "other.js": b"user\n", "api/b.js": b"user\n"})
    (top / "new file.js").chmod(0o755)
    sh(top, "git", "add", "other.js")
    repository = found(top)
    files = {"a.js": FileState(REGULAR, b"fixed\r\n"), "new file.js": FileState(EXECUTABLE, b"n\n")}
    first = repository.head.commit
    new = commit(repository, top, files, "Fix it\n\nBecause.", [("Fixaudit-Rule", "SEC-001")])
    assert repository.head.commit == new == log(top, "%H")
    assert log(top, "%P") == first
    assert log(top, "%B") == "Fix it\n\nBecause.\n\nFixaudit-Rule: SEC-001"
    assert log(top, "%an <%ae> %(trailers:key=Fixaudit-Rule,valueonly)") == "Test <test@example.com> SEC-001"
    assert sh(top, "git", "show", "--raw", "--format=", "HEAD").decode().split() == [
        *(":100644", "100644", "7898192"),
        *sh(top, "git", "rev-parse", "--short=7", "HEAD:a.js").decode().split(),
        *("M", "a.js", ":000000", "100755", "0000000"),
        *sh(top, "git", "rev-parse", "--short=7", "HEAD:new file.js").decode().split(),
        *("A", "new", "file.js"),
    ]
    assert status(top) == [" M api/b.js", "A  other.js"]


def test_commit_of_deletions_untracking_sub_directory_and_unborn_head(tmp_path: Path) -> None:
    sh(tmp_path, "git", "init", "-q", "new")
    top = tmp_path / "new"
    write(top, {"api/a.js": b"1", "api/b.js": b"2"})
    repository = found(top)
    root = top / "api"
    commit(repository, root, {"a.js": FileState(REGULAR, b"1"), "b.js": FileState(REGULAR, b"2")}, "first")
    assert status(top) == []
    (root / "a.js").unlink()
    untrack(repository, root, ["b.js"])
    commit(repository, root, {"a.js": None}, "second", untracked=["b.js"])
    assert status(top) == ["?? api/"]
    assert ref_snapshot(repository, "HEAD").paths() == ()


def test_sha256_repository(tmp_path: Path) -> None:
    top = tmp_path / "new"
    sh(tmp_path, "git", "init", "-q", "--object-format=sha256", "new")
    write(top, {"a.js": b"1", "b.js": b"2"})
    repository = found(top)
    assert staged_paths(repository) == {}
    commit(repository, top, {"a.js": FileState(REGULAR, b"1"), "b.js": FileState(REGULAR, b"2")}, "first")
    IndexEntries(repository, top).restore(untrack(repository, top, ["a.js"]))
    assert status(top) == []
    assert index_snapshot(repository).read("b.js") == b"2"


def test_commit_on_detached_head_and_in_a_worktree(top: Path, tmp_path: Path) -> None:
    sh(top, "git", "worktree", "add", "-q", "--detach", str(tmp_path / "linked"))
    linked = tmp_path / "linked"
    write(linked, {"a.js": b"2"})
    new = commit(found(linked), linked, {"a.js": FileState(REGULAR, b"2")}, "fix")
    assert (log(linked, "%H"), status(linked), status(top)) == (new, [], [])
    assert log(top, "%s") == "first"


def test_commit_refusals(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository = found(top)
    files = {"a.js": FileState(REGULAR, b"2")}
    write(top, {"a.js": b"staged"})
    sh(top, "git", "add", "a.js")
    with pytest.raises(ConflictError, match=r"staged changes of a\.js"):
        commit(repository, top, files, "fix")
    sh(top, "git", "reset", "-q")
    write(top, {".gitattributes": b"*.js filter=mark\n"})
    with pytest.raises(RepositoryError, match=r"a\.js is stored through the git filter mark"):
        commit(repository, top, files, "fix")
    (top / ".gitattributes").unlink()
    (top / ".git/MERGE_HEAD").write_bytes(b"")
    with pytest.raises(RepositoryError, match="a merge is in progress"):
        commit(repository, top, files, "fix")
    (top / ".git/MERGE_HEAD").unlink()
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    with pytest.raises(RepositoryError, match="does not know who commits"):
        commit(repository, top, files, "fix")
    assert log(top, "%s") == "first"


def test_commit_stores_line_endings_as_git_would(top: Path) -> None:
    sh(top, "git", "config", "core.autocrlf", "true")
    write(top, {"a.js": b"fixed\r\n"})
    commit(found(top), top, {"a.js": FileState(REGULAR, b"fixed\r\n")}, "fix")
    assert sh(top, "git", "cat-file", "blob", "HEAD:a.js") == b"fixed\n"
    assert status(top) == []


# Nothing configured ever runs -----------------------------------------------------------------------------------------


@pytest.fixture
def armed(top: Path, tmp_path: Path) -> Iterator[Callable[[], None]]:
    """Configure everything that git could start, each leaving a mark; gives a function that asserts there is none."""
    marks = tmp_path / "marks"
    marks.mkdir()

    def trap(name: str) -> str:
        script = tmp_path / f"trap-{name}"
        script.write_text(f"#!/bin/sh\ntouch '{marks}/{name}'\ncat 2>/dev/null\n")
        script.chmod(0o755)
        return str(script)

    hooks = top / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    for name in (
        *("pre-commit", "post-commit", "commit-msg", "prepare-commit-msg", "post-checkout", "post-index-change"),
        *("reference-transaction", "pre-auto-gc", "post-rewrite", "fsmonitor-watchman", "post-merge", "update"),
    ):
        (hooks / name).symlink_to(trap(name))
    write(top, {".gitattributes": b"*.bin filter=mark diff=mark\n", "f.bin": b"raw\r\n", "crlf.txt": b"1\r\n2\n"})
    sh(top, "git", "add", ".gitattributes", "crlf.txt", "f.bin")
    sh(top, "git", "-c", "core.hooksPath=/dev/null", "commit", "-qm", "armed")
    for key, value in {
        "filter.mark.clean": trap("clean"),
        "filter.mark.smudge": trap("smudge"),
        "filter.mark.required": "true",
        "diff.external": trap("external"),
        "diff.mark.textconv": trap("textconv"),
        "core.fsmonitor": trap("fsmonitor"),
        "core.pager": trap("pager"),
        "core.editor": trap("editor"),
        "core.sshCommand": trap("ssh"),
        "credential.helper": trap("credential"),
        "gpg.program": trap("gpg"),
        "commit.gpgSign": "true",
        "core.autocrlf": "true",
        "core.safecrlf": "true",
        "core.untrackedCache": "true",
        "gc.auto": "1",
    }.items():
        sh(top, "git", "config", key, value)
    for mark in marks.iterdir():
        mark.unlink()

    def check() -> None:
        assert sorted(mark.name for mark in marks.iterdir()) == []

    yield check
    check()
    sh(top, "git", "status")
    assert list(marks.iterdir()), "the traps do not work"


def everything(top: Path) -> dict[str, bytes]:
    return {str(path.relative_to(top)): path.read_bytes() for path in sorted(top.rglob("*")) if path.is_file()}


def test_reading_runs_nothing_and_writes_nothing(top: Path, armed: Callable[[], None]) -> None:
    write(top, {"new.js": b"", "f.bin": b"RAW\r\n"})
    before = everything(top)
    repository = found(top)
    snapshot = tree(top)
    index, head = index_snapshot(repository), ref_snapshot(repository, "HEAD")
    for path in index.paths():
        assert index.read(path) == head.read(path)
    assert index.read("f.bin") == b"raw\r\n"
    assert index.read("crlf.txt") == b"1\r\n2\n"
    staged_paths(repository)
    assert dirty_paths(repository, snapshot, [*snapshot.paths()]) == {"f.bin": "modified", "new.js": "untracked"}
    require_writable(repository)
    ignore_query({".gitignore": b"*.bin\n"}, ["f.bin"])
    working_tree(top, None)
    assert everything(top) == before
    armed()


def test_writing_runs_nothing(top: Path, armed: Callable[[], None]) -> None:
    repository = found(top)
    refs = sh(top, "git", "-c", "core.hooksPath=/dev/null", "for-each-ref", "--format=%(refname)")
    removed = untrack(repository, top, ["f.bin"])
    IndexEntries(repository, top).restore(removed)
    write(top, {"a.js": b"fixed\n"})
    commit(repository, top, {"a.js": FileState(REGULAR, b"fixed\n")}, "fix")
    assert sh(top, "git", "-c", "core.hooksPath=/dev/null", "for-each-ref", "--format=%(refname)") == refs
    assert ref_snapshot(repository, "HEAD").read("a.js") == b"fixed\n"
    armed()


def test_memory_and_git_trees_agree(top: Path) -> None:
    index = index_snapshot(found(top))
    memory = MemorySnapshot({path: FileState(index.mode(path) or "", index.read(path)) for path in index.paths()})
    assert memory.paths() == index.paths()
    assert [memory.digest(p) for p in memory.paths()] == [index.digest(p) for p in index.paths()]
