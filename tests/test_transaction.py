"""All of a change set or none, at any moment of dying, and never over a user's save."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fixaudit.errors import ConflictError, FixauditError
from fixaudit.repository import IndexEntries, find_repository, merge_texts
from fixaudit.snapshot import EXECUTABLE, LINK, REGULAR, FileChange, FileState
from fixaudit.store import Store
from fixaudit.transaction import (
    Journal,
    NotWritten,
    Recovered,
    Written,
    apply,
    disk,
    journal,
    recover,
    undo_rule,
    undo_run,
)


class FakeIndex:
    """The index port, kept in a file so that it survives a killed process."""

    def __init__(self, path: Path, entries: Mapping[str, str]) -> None:
        self.path = path
        self.refuses = False
        path.write_text(json.dumps(entries))

    @property
    def entries(self) -> dict[str, str]:
        found: dict[str, str] = json.loads(self.path.read_text())
        return found

    def read(self, paths: Sequence[str]) -> dict[str, str | None]:
        return {path: self.entries.get(path) for path in paths}

    def remove(self, paths: Sequence[str]) -> None:
        if self.refuses:
            raise ConflictError("the index holds staged changes")
        self.path.write_text(json.dumps({p: e for p, e in self.entries.items() if p not in paths}))

    def restore(self, entries: Mapping[str, str]) -> None:
        self.path.write_text(json.dumps({**self.entries, **entries}))


class Project:
    """A root, its journal and a run."""

    def __init__(self, directory: Path) -> None:
        self.root = directory / "project"
        self.state = directory / "state"
        self.root.mkdir(parents=True)
        self.state.mkdir()
        self.index = FakeIndex(directory / "index.json", {".env": "100644 abc"})
        self.journal = self.reopened()
        self.run = self.journal.new_run()

    def reopened(self) -> Journal:
        return Journal(self.state / "journal.jsonl", Store(self.state / "store.git"))

    def put(self, path: str, data: bytes, permissions: int = 0o644) -> None:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
        target.chmod(permissions)

    def state_of(self, path: str) -> FileState | None:
        target = self.root / path
        if not target.exists():
            return None
        return FileState(EXECUTABLE if target.stat().st_mode & 0o100 else REGULAR, target.read_bytes())

    def change(self, path: str, data: bytes | None, mode: str | None = None) -> FileChange:
        before = self.state_of(path)
        after = None if data is None else FileState(mode or (before.mode if before else REGULAR), data)
        return FileChange(path, before, after)

    def apply(self, *changes: FileChange, rule: str = "SEC-001", **options: Any) -> Written | NotWritten:
        return apply(self.root, changes, self.journal, run=self.run, rule=rule, **options)

    def fix(self, rule: str, **files: bytes | None) -> None:
        outcome = self.apply(*(self.change(path, data) for path, data in files.items()), rule=rule)
        assert isinstance(outcome, Written)

    def undo_run(self) -> tuple[list[str], dict[str, str]]:
        result = undo_run(self.root, self.journal, merge_texts, self.index)
        return result.restored, result.refused

    def undo_rule(self, rule: str) -> tuple[list[str], dict[str, str]]:
        result = undo_rule(self.root, rule, self.journal, merge_texts, self.index)
        return result.restored, result.refused

    def files(self) -> dict[str, tuple[bytes, int]]:
        """Return everything below the root, directories included, with permission bits."""
        return {
            str(path.relative_to(self.root)): (
                path.read_bytes() if path.is_file() else b"<dir>",
                path.lstat().st_mode & 0o7777,
            )
            for path in sorted(self.root.rglob("*"))
        }

    def read(self, path: str) -> bytes:
        return (self.root / path).read_bytes()


@pytest.fixture
def project(tmp_path: Path) -> Project:
    os.umask(0o022)
    return Project(tmp_path)


# Writing --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("permissions", [0o644, 0o600, 0o755, 0o640, 0o4755, 0o664])
def test_bytes_and_permission_bits(permissions: int, project: Project) -> None:
    project.put("a.js", b"old\r\n", permissions)
    result = project.apply(project.change("a.js", b"\xef\xbb\xbfnew\r\n\0"))
    assert result == Written(1, ("a.js",))
    assert project.files() == {"a.js": (b"\xef\xbb\xbfnew\r\n\0", permissions)}


ODD = ["with space/x y.js", "line\nbreak.js", "модуль.py", os.fsdecode(b"latin\xe9/f"), '"q".js']


def test_creation_deletion_and_odd_names(project: Project) -> None:
    project.put("gone.txt", b"x")
    changes = [project.change(name, name.encode("utf-8", "surrogateescape")) for name in ODD]
    result = project.apply(
        *changes, project.change("gone.txt", None), project.change("bin/run", b"#!/bin/sh\n", EXECUTABLE)
    )
    assert isinstance(result, Written)
    assert {name: project.read(name) for name in ODD} == {n: n.encode("utf-8", "surrogateescape") for n in ODD}
    assert project.files()["bin/run"] == (b"#!/bin/sh\n", 0o755)
    assert project.files()["line\nbreak.js"][1] == 0o644
    assert "gone.txt" not in project.files()
    assert not [name for name in project.files() if "fixaudit" in name]
    assert project.reopened().transactions == project.journal.transactions


def test_umask_and_mode_changes(project: Project) -> None:
    os.umask(0o077)
    project.put("script", b"1", 0o640)
    project.put("data", b"1", 0o751)
    project.apply(
        project.change("new", b"n"), project.change("script", b"2", EXECUTABLE), project.change("data", b"2", REGULAR)
    )
    os.umask(0o022)
    assert project.files() == {"new": (b"n", 0o600), "script": (b"2", 0o750), "data": (b"2", 0o640)}


def test_other_names_of_a_hard_linked_file_keep_the_old_content(project: Project) -> None:
    project.put("a", b"old")
    os.link(project.root / "a", project.root / "b")
    project.apply(project.change("a", b"new"))
    assert (project.read("a"), project.read("b")) == (b"new", b"old")


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="no extended attributes here")
def test_extended_attributes_are_kept(project: Project) -> None:
    project.put("a", b"old")
    try:
        os.setxattr(project.root / "a", "user.note", b"kept")
    except OSError:
        pytest.skip("the file system has none")
    project.apply(project.change("a", b"new"))
    assert os.getxattr(project.root / "a", "user.note") == b"kept"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_owner_is_kept(project: Project) -> None:
    project.put("a", b"old")
    os.chown(project.root / "a", 1234, 4321)
    project.apply(project.change("a", b"new"))
    info = (project.root / "a").stat()
    assert (info.st_uid, info.st_gid) == (1234, 4321)


def test_file_systems_without_hard_links(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    def link(*arguments: Any, **options: Any) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", link)
    project.apply(project.change("new", b"n"))
    assert project.files() == {"new": (b"n", 0o644)}


# Refusals -------------------------------------------------------------------------------------------------------------


def test_paths_that_cannot_be_written(project: Project, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "f").write_bytes(b"theirs")
    project.put("read-only", b"x", 0o444)
    project.put("locked/f", b"x")
    (project.root / "locked").chmod(0o555)
    (project.root / "link").symlink_to(outside / "f")
    (project.root / "dir").symlink_to(outside)
    os.mkfifo(project.root / "pipe")
    project.put("file", b"x")
    project.put("good", b"old")
    link = FileState(LINK, os.fsencode(outside / "f"))
    new = FileState(REGULAR, b"evil")
    table = [
        (FileChange("read-only", FileState(REGULAR, b"x"), new), "read-only", "is not writable"),
        (FileChange("read-only", FileState(REGULAR, b"x"), None), "read-only", "is not writable"),
        (FileChange("locked/f", FileState(REGULAR, b"x"), new), "locked/f", "is in a directory that is not writable"),
        (FileChange("locked/new/f", None, new), "locked/new/f", "is in a directory that is not writable"),
        (FileChange("link", link, new), "link", "is a link"),
        (FileChange("link2", None, link), "link2", "is a link"),
        (FileChange("dir/f", FileState(REGULAR, b"theirs"), new), "dir", "is not a directory of its own"),
        (FileChange("dir/new", None, new), "dir", "is not a directory of its own"),
        (FileChange("file/new", None, new), "file", "is not a directory of its own"),
        (FileChange("pipe", None, new), "pipe", "is not a regular file"),
        (FileChange("dir2/../../outside/f", None, new), "dir2/../../outside/f", "is not a path below the root"),
        (FileChange("/etc/x", None, new), "/etc/x", "is not a path below the root"),
        (FileChange("a\0b", None, new), "a\0b", "is not a path below the root"),
        (FileChange(".git/config", None, new), ".git/config", "belongs to git"),
        (FileChange("sub/.GIT/hooks/x", None, new), "sub/.GIT/hooks/x", "belongs to git"),
    ]
    good = project.change("good", b"new")
    for change, path, reason in table:
        assert project.apply(good, change) == NotWritten(path, reason)
    assert project.read("good") == b"old"
    assert (outside / "f").read_bytes() == b"theirs"
    assert project.journal.transactions == ()


@pytest.mark.parametrize(
    "meanwhile",
    [
        lambda p: p.put("b.js", b"the user's"),
        lambda p: (p.root / "b.js").unlink(),
        lambda p: (p.root / "b.js").chmod(0o755),
        lambda p: p.put("new.js", b"the user's"),
        lambda p: (p.root / "new.js").symlink_to("nowhere"),
    ],
)
def test_a_save_before_the_transaction(meanwhile: Callable[[Project], None], project: Project) -> None:
    project.put("a.js", b"a")
    project.put("b.js", b"b")
    changes = [project.change("a.js", b"A"), project.change("b.js", b"B"), project.change("new.js", b"N")]
    meanwhile(project)
    before = project.files() if not (project.root / "new.js").is_symlink() else None
    with pytest.raises(ConflictError, match=r"changed on disk while fixaudit was working|is a link"):
        outcome = project.apply(*changes)
        if isinstance(outcome, NotWritten):
            raise ConflictError(outcome.reason)
    assert project.read("a.js") == b"a"
    assert before is None or project.files() == before


@pytest.mark.parametrize("victim", ["a.js", "b.js", "new/c.js"])
def test_a_save_in_the_middle_of_the_transaction(
    victim: str, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An editor saves right after everything was staged: its bytes stay, the rest is taken back."""
    project.put("a.js", b"a", 0o600)
    project.put("b.js", b"b")
    original = disk.Disk.stage

    def stage(self: disk.Disk, path: str, *rest: Any) -> None:
        original(self, path, *rest)
        if path == "new/c.js":  # the last one
            (project.root / victim).write_bytes(b"the user's")

    monkeypatch.setattr(disk.Disk, "stage", stage)
    changes = [project.change("a.js", b"A"), project.change("b.js", b"B"), project.change("new/c.js", b"C")]
    with pytest.raises(ConflictError, match=f"working: {victim};"):
        project.apply(*changes)
    expected = {"a.js": (b"a", 0o600), "b.js": (b"b", 0o644)}
    found = {path: value for path, value in project.files().items() if path != "new"}
    user = (b"the user's", expected.get(victim, (b"", 0o644))[1])
    assert found == {**expected, victim: user}
    assert project.journal.transactions[-1].status == "rolled back"
    assert recover(project.root, project.reopened(), None) == Recovered()


def test_two_changes_of_one_path_are_a_bug(project: Project) -> None:
    with pytest.raises(ValueError, match="two changes"):
        project.apply(project.change("a", b"1"), project.change("a", b"2"))


# The index ------------------------------------------------------------------------------------------------------------


def test_untrack(project: Project) -> None:
    project.put(".env", b"K=V")
    project.put(".gitignore", b"")
    project.apply(project.change(".gitignore", b".env\n"), untrack=[".env", "other"], index=project.index)
    assert project.index.entries == {}
    assert project.undo_run() == ([".gitignore", ".env"], {})
    assert project.index.entries == {".env": "100644 abc"}
    assert project.files() == {".env": (b"K=V", 0o644), ".gitignore": (b"", 0o644)}


def test_untrack_in_a_real_repository(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    identity = ["-c", "user.name=Test", "-c", "user.email=test@example.com"]

    def git(*arguments: str) -> str:
        command = ["git", *identity, *arguments]
        return subprocess.run(command, cwd=project.root, check=True, capture_output=True, text=True).stdout

    project.put(".env", b"K=V")
    git("init", "-q")
    git("add", ".env")
    git("commit", "-qm", "first")
    repository = find_repository(project.root)
    assert repository is not None
    index = IndexEntries(repository, project.root)
    project.apply(project.change(".gitignore", b".env\n"), untrack=[".env"], index=index)
    assert git("status", "--porcelain") == "D  .env\n?? .gitignore\n"
    assert undo_run(project.root, project.journal, merge_texts, index).refused == {}
    assert git("status", "--porcelain") == ""
    project.put(".env", b"K=W")
    git("add", ".env")
    with pytest.raises(ConflictError, match=r"staged changes of \.env"):
        project.apply(project.change(".gitignore", b".env\n"), untrack=[".env"], index=index)
    assert git("status", "--porcelain") == "M  .env\n"


def test_refused_untrack_takes_the_files_back(project: Project) -> None:
    project.put(".gitignore", b"")
    project.index.refuses = True
    with pytest.raises(ConflictError, match="staged"):
        project.apply(project.change(".gitignore", b".env\n"), untrack=[".env"], index=project.index)
    assert project.read(".gitignore") == b""
    assert project.journal.kept() == ()


def test_an_entry_that_is_back_is_not_overwritten(project: Project) -> None:
    project.put(".gitignore", b"")
    project.apply(project.change(".gitignore", b".env\n"), untrack=[".env"], index=project.index)
    project.index.restore({".env": "100644 other"})
    assert project.undo_run() == (
        [],
        {".env": "is in the index again", ".gitignore": "belongs to the same fix as .env"},
    )
    assert project.index.entries == {".env": "100644 other"}


# Dying and failing ----------------------------------------------------------------------------------------------------

CALLS = ("open", "write", "fsync", "rename", "link", "unlink", "mkdir", "rmdir", "fchmod", "truncate")


class Failing:
    """The os module, with the n-th of `CALLS` doing something else first."""

    def __init__(self, number: int, action: Callable[[], None]) -> None:
        self._left, self._action = number, action

    def __getattr__(self, name: str) -> Any:
        function = getattr(os, name)
        if name not in CALLS:
            return function

        def counted(*arguments: Any, **options: Any) -> Any:
            self._left -= 1
            if self._left == 0:
                self._action()
            return function(*arguments, **options)

        return counted

    @property
    def used(self) -> bool:
        return self._left <= 0


def prepare(directory: Path) -> tuple[Project, list[FileChange]]:
    project = Project(directory)
    project.put("a.js", b"old a\r\n", 0o600)
    project.put("c.txt", b"old c", 0o640)
    project.put(".env", b"K=V")
    return project, [
        project.change("a.js", b"new a\r\n"),
        project.change("c.txt", None),
        project.change("deep/er/b.py", b"new b", EXECUTABLE),
    ]


OLD = {".env": (b"K=V", 0o644), "a.js": (b"old a\r\n", 0o600), "c.txt": (b"old c", 0o640)}
NEW = {
    ".env": (b"K=V", 0o644),
    "a.js": (b"new a\r\n", 0o600),
    "deep": (b"<dir>", 0o755),
    "deep/er": (b"<dir>", 0o755),
    "deep/er/b.py": (b"new b", 0o755),
}
STEPS = 60
"""More than the system calls of one transaction; the tests say so themselves."""


def attempt(project: Project, changes: list[FileChange], failing: Failing, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(disk, "os", failing)
        patch.setattr(journal, "os", failing)
        project.apply(*changes, untrack=[".env"], index=project.index)


@pytest.mark.parametrize("undoing", [False, True])
def test_killed_at_every_step(undoing: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.umask(0o022)
    outcomes: set[str] = set()
    for number in range(1, STEPS):
        project, changes = prepare(tmp_path / str(number))
        old, new, index_old, index_new = OLD, NEW, {".env": "100644 abc"}, {}
        if undoing:
            project.apply(*changes, untrack=[".env"], index=project.index)
            old, new, index_old, index_new = NEW, OLD, index_new, index_old
        pid = os.fork()
        if pid == 0:
            failing = Failing(number, lambda: os.kill(os.getpid(), signal.SIGKILL))
            if undoing:
                disk.os = journal.os = failing  # the child ends without giving them back
                project.undo_run()
            else:
                attempt(project, changes, failing, monkeypatch)
            os._exit(0)
        survived = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        for path, value in project.files().items():
            # At no moment is there anything but the old or the complete content at a real name.
            if value[0] != b"<dir>" and "/.fixaudit-" not in f"/{path}":
                assert value in (old.get(path), new.get(path))
        recovered = recover(project.root, project.reopened(), project.index)
        assert recovered.conflicts == ()
        state = project.files()
        assert (state, project.index.entries) in ((old, index_old), (new, index_new)), number
        outcomes.add("new" if state == new else "old")
        assert recover(project.root, project.reopened(), project.index) == Recovered()
        if survived:
            assert outcomes == {"old", "new"}
            assert recovered == Recovered()
            return
    pytest.fail("more steps than the test expects")


def test_failing_at_every_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full or broken disk at any call: the error is clear, and the files are all old (or, at the end, all new)."""
    os.umask(0o022)

    def fail() -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    for number in range(1, STEPS):
        project, changes = prepare(tmp_path / str(number))
        failing = Failing(number, fail)
        try:
            attempt(project, changes, failing, monkeypatch)
        except FixauditError as error:
            assert "No space left on device" in error.message
        if not failing.used:
            assert project.files() == NEW
            return
        before = project.files()
        recover(project.root, project.reopened(), project.index)
        assert project.files() in (OLD, NEW), number
        assert before == project.files(), number
        assert project.index.entries == ({} if before == NEW else {".env": "100644 abc"})
    pytest.fail("more steps than the test expects")


def test_recovery_leaves_what_the_user_saved_after_the_crash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(1, STEPS):
        project, changes = prepare(tmp_path / str(number))
        pid = os.fork()
        if pid == 0:
            attempt(project, changes, Failing(number, lambda: os.kill(os.getpid(), signal.SIGKILL)), monkeypatch)
            os._exit(0)
        os.waitpid(pid, 0)
        if project.read("a.js") == b"new a\r\n" and (project.root / "c.txt").exists():
            break
    else:
        pytest.fail("no step lies between the two files")
    project.put("a.js", b"the user's", 0o600)
    recovered = recover(project.root, project.reopened(), project.index)
    assert (recovered.rolled_back, recovered.conflicts) == ((1,), ("a.js",))
    assert project.files() == {**OLD, "a.js": (b"the user's", 0o600)}


def test_recovery_needs_the_index_and_respects_it(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process dies after the files and before the index."""
    project.put(".gitignore", b"")

    def die(self: FakeIndex, paths: Sequence[str]) -> None:
        os._exit(9)

    pid = os.fork()
    if pid == 0:
        monkeypatch.setattr(FakeIndex, "remove", die)
        project.apply(project.change(".gitignore", b".env\n"), untrack=[".env"], index=project.index)
    os.waitpid(pid, 0)
    assert project.read(".gitignore") == b".env\n"
    with pytest.raises(FixauditError, match="index, which cannot be read"):
        recover(project.root, project.reopened(), None)
    project.index.refuses = True
    assert recover(project.root, project.reopened(), project.index) == Recovered(rolled_back=(1,))
    assert project.read(".gitignore") == b""
    assert project.index.entries == {".env": "100644 abc"}


def test_journal_with_a_torn_last_line(project: Project) -> None:
    project.put("a", b"1")
    project.fix("R", a=b"2")
    path = project.state / "journal.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"event":"begin","id":2,"st')
    again = project.reopened()
    assert [t.id for t in again.transactions] == [1]
    again.new_run()
    assert path.read_bytes() == whole + b'{"event":"run","run":"000002"}\n'
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("line", [b"nonsense\n", b'{"event":"finish","id":99,"status":"kept"}\n', b"[]\n", b"\n"])
def test_damaged_journal(line: bytes, project: Project) -> None:
    path = project.state / "journal.jsonl"
    path.write_bytes(line + path.read_bytes())
    with pytest.raises(FixauditError, match="damaged in line 1"):
        project.reopened()


# Undo -----------------------------------------------------------------------------------------------------------------

TEXT = b"one\r\ntwo\r\nthree\r\nfour\r\nfive\r\nsix\r\nseven\r\neight\r\n"


def test_undo_of_a_whole_run(project: Project) -> None:
    project.put("a", TEXT, 0o600)
    project.put("gone", b"x", 0o755)
    start = project.files()
    project.fix("R1", a=TEXT.replace(b"two", b"2"))
    project.apply(project.change("a", TEXT.replace(b"two", b"2").replace(b"six", b"6")), rule="R2")
    project.apply(project.change("gone", None), project.change("new/deep/x", b"x"), rule="R3")
    restored, refused = project.undo_run()
    assert (restored, refused) == (["gone", "new/deep/x", "a"], {})
    assert project.files() == start
    assert project.undo_run() == ([], {})
    assert project.journal.written_digests() == {}


CONTENTS = st.none() | st.sampled_from([b"", b"x\n", b"x\r\ny\r\n", b"\0"])
FIXES = st.dictionaries(st.sampled_from(["a", "d/b", "d/e/c"]), CONTENTS, min_size=1)


@settings(max_examples=12, deadline=None)
@given(FIXES, st.lists(st.tuples(st.booleans(), FIXES), max_size=4))
def test_undoing_every_run_gives_the_start_again(
    start: dict[str, bytes | None], fixes: list[tuple[bool, dict[str, bytes | None]]]
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        project = Project(Path(directory))
        for path, data in start.items():
            if data is not None:
                project.put(path, data, 0o640)
        before = {path: value for path, value in project.files().items() if value[0] != b"<dir>"}
        for new_run, files in fixes:
            if new_run:
                project.run = project.journal.new_run()
            project.apply(*(project.change(path, data) for path, data in files.items()))
        project.journal = project.reopened()
        while project.journal.kept():
            assert project.undo_run()[1] == {}
        assert {path: value for path, value in project.files().items() if value[0] != b"<dir>"} == before


def test_only_the_last_run_is_undone(project: Project) -> None:
    project.put("a", b"1")
    project.fix("R", a=b"2")
    project.run = project.journal.new_run()
    project.fix("R", a=b"3")
    assert project.undo_run() == (["a"], {})
    assert project.read("a") == b"2"
    assert project.undo_run() == (["a"], {})
    assert project.read("a") == b"1"


def test_undo_never_touches_the_users_save(project: Project) -> None:
    project.put("a", b"1")
    project.put("b", b"1")
    project.put("c", b"1")
    project.fix("R1", a=b"2", b=b"2")
    project.fix("R2", c=b"2")
    project.put("a", b"2 and the user's")
    assert project.undo_run() == (["c"], {"a": "has changed since", "b": "belongs to the same fix as a"})
    assert [project.read(p) for p in "abc"] == [b"2 and the user's", b"2", b"1"]


@pytest.mark.parametrize(("path", "user"), [("new", b"edited"), ("new", None), ("gone", b"again")])
def test_undo_of_creation_and_deletion_with_later_edits(path: str, user: bytes | None, project: Project) -> None:
    project.put("gone", b"x")
    project.apply(project.change("new", b"n"), rule="R1")
    project.apply(project.change("gone", None), rule="R2")
    if user is None:
        (project.root / path).unlink()
    else:
        project.put(path, user)
    restored, refused = project.undo_rule("R1" if path == "new" else "R2")
    if user is None:
        assert (restored, refused) == ([], {})
        assert not (project.root / path).exists()
    else:
        assert (restored, refused) == ([], {path: "has changed since"})
        assert project.read(path) == user


def test_undo_of_one_rule_between_later_fixes_and_edits(project: Project) -> None:
    project.put("a", TEXT, 0o640)
    project.fix("R1", a=TEXT.replace(b"two", b"2"))
    project.fix("R2", a=project.read("a").replace(b"six", b"6"))
    assert project.undo_rule("R1") == (["a"], {})
    assert project.files() == {"a": (TEXT.replace(b"six", b"6"), 0o640)}
    left = project.state_of("a")
    assert left is not None
    assert project.journal.written_digests() == {"a": left.digest}
    assert project.undo_rule("R1") == ([], {})
    assert project.undo_run() == (["a"], {})
    assert project.read("a") == TEXT


def test_undo_of_one_rule_keeps_the_users_edits(project: Project) -> None:
    project.put("a", TEXT)
    project.fix("R1", a=TEXT.replace(b"two", b"2"))
    project.put("a", project.read("a").replace(b"eight", b"the user's"), 0o600)
    assert project.undo_rule("R1") == (["a"], {})
    assert project.files() == {"a": (TEXT.replace(b"eight", b"the user's"), 0o600)}
    assert project.journal.written_digests() == {}


@pytest.mark.parametrize("later", [b"two and more", b""])
def test_undo_of_one_rule_is_refused_where_edits_meet(later: bytes, project: Project) -> None:
    project.put("a", TEXT)
    project.fix("R1", a=TEXT.replace(b"two", b"2"))
    project.fix("R2", a=project.read("a").replace(b"2", later))
    assert project.undo_rule("R1") == ([], {"a": "has later changes in the same place"})
    assert project.read("a") == TEXT.replace(b"two", later)


def test_undo_of_binary_content_with_later_edits_is_refused(project: Project) -> None:
    project.put("a", b"\0one\n" * 3)
    project.fix("R1", a=b"\0two\n" + b"\0one\n" * 2)
    project.put("a", b"\0two\n" + b"\0one\n" * 2 + b"\0three\n")
    assert project.undo_rule("R1") == ([], {"a": "has later changes in the same place"})


def test_undo_of_a_read_only_file_is_refused(project: Project) -> None:
    project.put("a", b"1")
    project.fix("R1", a=b"2")
    (project.root / "a").chmod(0o444)
    assert project.undo_run() == ([], {"a": "is not writable"})
    assert project.read("a") == b"2"


def test_bits_that_the_user_changed_since_are_kept(project: Project) -> None:
    project.put("a", b"1", 0o644)
    project.fix("R1", a=b"2")
    (project.root / "a").chmod(0o600)
    assert project.undo_run() == (["a"], {})
    assert project.files() == {"a": (b"1", 0o600)}


def test_written_digests(project: Project) -> None:
    project.put("a", b"1")
    project.put("dirty", b"the user's")
    project.put("gone", b"1")
    project.fix("R1", a=b"2")
    project.apply(project.change("dirty", b"fixed"), rule="R2", mixed=["dirty"])
    project.apply(project.change("gone", None), rule="R3")
    assert project.reopened().written_digests() == {"a": FileState(REGULAR, b"2").digest}
    project.run = project.journal.new_run()
    project.fix("R1", a=b"3")
    project.undo_run()
    assert project.reopened().written_digests() == {"a": FileState(REGULAR, b"2").digest}


def test_prune(project: Project) -> None:
    project.put("a", b"0")
    for content in (b"1", b"2", b"3"):
        project.run = project.journal.new_run()
        project.fix("R", a=content)
    project.journal.prune(2)
    again = project.reopened()
    assert again.transactions == project.journal.transactions
    assert [t.run for t in again.transactions] == ["000003", "000004"]
    assert again.store.runs() == ("000003", "000004")
    assert again.new_run() == "000005"
    project.journal = again
    assert project.undo_run() == (["a"], {})
    assert project.undo_run() == (["a"], {})
    assert project.read("a") == b"1"
