"""Trees, overlays and change sets."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fixaudit.snapshot import (
    EXECUTABLE,
    LINK,
    REGULAR,
    ChangeSet,
    FileChange,
    FileState,
    FollowUp,
    MemorySnapshot,
    Overlay,
    WorkingTree,
)
from fixaudit.text import Edit, StaleEditError


def test_an_overlay_shows_the_change_and_nothing_else() -> None:
    base = MemorySnapshot.of({"a.js": "one\r\ntwo\r\n", "b.js": "keep", "gone": "x"})
    change = ChangeSet(
        edits={"a.js": (Edit(0, 3, "one", "1"),)},
        created={"c.js": FileState(EXECUTABLE, b"new")},
        deleted={"gone": base.digest("gone")},
    )
    after = Overlay(base).apply(change)
    assert after.paths() == ("a.js", "b.js", "c.js")
    assert after.read("a.js") == b"1\r\ntwo\r\n"
    assert after.mode("c.js") == EXECUTABLE
    assert after.mode("gone") is None
    with pytest.raises(KeyError):
        after.read("gone")
    assert base.paths() == ("a.js", "b.js", "gone"), "the base never changes"
    assert after.changes_since(base, change.paths()) == (
        FileChange("a.js", FileState(REGULAR, b"one\r\ntwo\r\n"), FileState(REGULAR, b"1\r\ntwo\r\n")),
        FileChange("c.js", None, FileState(EXECUTABLE, b"new")),
        FileChange("gone", FileState(REGULAR, b"x"), None),
    )


@pytest.mark.parametrize(
    "change",
    [
        ChangeSet(edits={"a": (Edit(0, 1, "y", "z"),)}),
        ChangeSet(created={"a": FileState(REGULAR, b"")}),
        ChangeSet(deleted={"a": "another digest"}),
        ChangeSet(replaced={"a": ("another digest", b"")}),
        ChangeSet(edits={"link": (Edit(0, 0, "", "z"),)}),
        ChangeSet(edits={"binary": (Edit(0, 0, "", "z"),)}),
    ],
)
def test_a_change_planned_on_other_content_is_refused(change: ChangeSet) -> None:
    files = {"a": FileState(REGULAR, b"x"), "link": FileState(LINK, b"a"), "binary": FileState(REGULAR, b"\0")}
    with pytest.raises(StaleEditError):
        Overlay(MemorySnapshot(files)).apply(change)


def test_a_file_that_git_ignores_is_not_listed() -> None:
    base = MemorySnapshot.of({".gitignore": ".env\n", "a": "x"})
    made = {".env": FileState(REGULAR, b"A=1\n"), ".env.example": FileState(REGULAR, b"A=\n")}
    after = Overlay(base).apply(ChangeSet(created=made))
    assert after.paths() == (".env.example", ".gitignore", "a")
    assert after.read(".env") == b"A=1\n"


def test_untracking_changes_the_index_alone() -> None:
    base = MemorySnapshot.of({"a": "x"})
    after = Overlay(base).apply(ChangeSet(untracked=("a",)))
    assert base.is_tracked("a") and not after.is_tracked("a")
    assert after.read("a") == b"x"


def test_changes_join() -> None:
    one = ChangeSet(edits={"a": (Edit(0, 0, "", "x"),)}, follow_ups=(FollowUp("i", "t"),))
    two = ChangeSet(edits={"a": (Edit(0, 0, "", "x"), Edit(1, 1, "", "y"))}, follow_ups=(FollowUp("i", "t"),))
    both = one.merged(two)
    assert both.edits["a"] == (Edit(0, 0, "", "x"), Edit(1, 1, "", "y"))
    assert both.follow_ups == (FollowUp("i", "t"),)
    with pytest.raises(StaleEditError):
        ChangeSet(created={"a": FileState(REGULAR, b"1")}).merged(ChangeSet(created={"a": FileState(REGULAR, b"2")}))


def test_a_working_tree_follows_no_link(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.py").write_text("x")
    root = tmp_path / "root"
    root.mkdir()
    (root / "run.sh").write_text("#!/bin/sh\n")
    (root / "run.sh").chmod(0o755)
    (root / "link.py").symlink_to("../outside/secret.py")
    (root / "dir").symlink_to("../outside")
    os.mkfifo(root / "pipe")
    tree = WorkingTree(root, ("link.py", "run.sh"))
    assert tree.mode("run.sh") == EXECUTABLE
    assert tree.mode("link.py") == LINK
    assert tree.read("link.py") == b"../outside/secret.py"
    for path in ("dir/secret.py", "../outside/secret.py", "/etc/passwd", "pipe", "a/../run.sh", "", ".", ".git/config"):
        assert tree.mode(path) is None, path
    with pytest.raises(KeyError):
        tree.read("dir/secret.py")


def test_a_digest_follows_the_content(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("one")
    tree = WorkingTree(tmp_path, ("a",))
    first = tree.digest("a")
    assert tree.digest("a") == first
    (tmp_path / "a").write_text("two!")
    assert tree.digest("a") != first
