"""State is the user's own, never the project's; contents come back byte for byte."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fixaudit.errors import FixauditError, LockedError, UsageError
from fixaudit.store import Store, cache_directory, project_key, project_state, state_directory


@pytest.fixture(autouse=True)
def own_directories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIXAUDIT_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("FIXAUDIT_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    directory = tmp_path / "project"
    directory.mkdir()
    return directory


# Directories ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("variables", "state", "cache"),
    [
        ({}, "/home/me/.local/state/fixaudit", "/home/me/.cache/fixaudit"),
        ({"XDG_STATE_HOME": "/s", "XDG_CACHE_HOME": "/c"}, "/s/fixaudit", "/c/fixaudit"),
        ({"XDG_STATE_HOME": "rel", "XDG_CACHE_HOME": ""}, "/home/me/.local/state/fixaudit", "/home/me/.cache/fixaudit"),
        ({"FIXAUDIT_STATE_DIR": "/a", "FIXAUDIT_CACHE_DIR": "/b", "XDG_STATE_HOME": "/s"}, "/a", "/b"),
    ],
)
def test_directories(variables: dict[str, str], state: str, cache: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FIXAUDIT_STATE_DIR", "FIXAUDIT_CACHE_DIR", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/home/me")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert (str(state_directory()), str(cache_directory())) == (state, cache)


def test_directories_are_owner_only_and_outside_the_project(project: Path, tmp_path: Path) -> None:
    (tmp_path / "state").mkdir(mode=0o755)
    places = project_state(project)
    for directory in (places.state, places.cache, tmp_path / "state"):
        assert directory.stat().st_mode & 0o777 == 0o700
    assert not places.state.is_relative_to(project)
    assert list(project.iterdir()) == []
    assert project_state(project) == places


def test_key_follows_links_and_tells_replaced_projects_apart(project: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(project)
    assert project_state(tmp_path / "link").state == project_state(project).state
    before = project_key(project)
    project.rename(tmp_path / "kept")
    project.mkdir()
    assert project_key(project) != before


def test_refuses_a_state_directory_in_the_project(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIXAUDIT_STATE_DIR", str(project / ".state"))
    with pytest.raises(UsageError, match="inside the project"):
        project_state(project)
    assert list(project.iterdir()) == []


def test_refuses_links_and_other_owners(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state/projects").symlink_to(project)
    with pytest.raises(FixauditError, match="remove the link"):
        project_state(project)
    (tmp_path / "state/projects").unlink()
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with pytest.raises(FixauditError, match="belongs to another user"):
        project_state(project)


# Lock -----------------------------------------------------------------------------------------------------------------


HOLD = """
import sys, pathlib
from fixaudit.store import project_state
with project_state(pathlib.Path(sys.argv[1])).lock():
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_second_run_is_refused_and_a_killed_one_leaves_no_lock(project: Path) -> None:
    other = subprocess.Popen([sys.executable, "-c", HOLD, project], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert other.stdout is not None
    assert other.stdin is not None
    assert other.stdout.readline() == b"held\n"
    places = project_state(project)
    with pytest.raises(LockedError, match=rf"another fixaudit run \(process {other.pid}\) is working"), places.lock():
        pass
    other.kill()
    other.wait()
    other.stdin.close()
    other.stdout.close()
    with places.lock(), pytest.raises(LockedError, match=rf"process {os.getpid()}"), places.lock():
        pass
    with places.lock():
        pass


# Store ----------------------------------------------------------------------------------------------------------------


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store.git")


FILES = {
    "before/with space": b"crlf\r\nlines\r\n",
    'after/"quo\\ted"\nname': b"\0binary\xff",
    os.fsdecode(b"after/latin\xe9"): b"",
    "after/same": b"crlf\r\nlines\r\n",
}


def test_contents_come_back(store: Store) -> None:
    oids = store.record("000001", "SEC-001", FILES)
    assert list(oids) == list(FILES)
    found = store.read(list(oids.values()))
    assert {name: found[oid] for name, oid in oids.items()} == FILES
    assert store.path.stat().st_mode & 0o777 == 0o700


def test_history_of_a_run(store: Store) -> None:
    store.record("000001", "first", FILES)
    store.record("000001", "second\n\nwith a body", {"after/x": b"x"})
    store.record("000002", "other", {"after/y": b"y"})

    def ask(*argv: str) -> list[str]:
        command = ["git", f"--git-dir={store.path}", *argv]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\n")[:-1]

    assert ask("log", "--format=%s %an %at", "refs/fixaudit/000001") == ["second fixaudit 0", "first fixaudit 0"]
    assert ask("ls-tree", "-r", "--name-only", "refs/fixaudit/000001") == ["after/x"]
    assert len(ask("ls-tree", "-r", "--name-only", "refs/fixaudit/000001^")) == len(FILES)
    assert store.runs() == ("000001", "000002")
    assert ask("fsck", "--strict") == []


def test_same_history_same_ids(tmp_path: Path) -> None:
    tips = []
    for name in ("one", "two"):
        store = Store(tmp_path / name)
        store.record("r", "a", FILES)
        store.record("r", "b", {"x": b"1"})
        tips.append((store.path / "refs/fixaudit/r").read_text())
    assert tips[0] == tips[1]


def test_prune(store: Store) -> None:
    kept = store.record("000002", "kept", {"a": b"shared", "b": b"kept"})
    gone = store.record("000001", "gone", {"a": b"shared", "b": b"gone"})
    assert store.prune(["000002"]) == ("000001",)
    assert store.runs() == ("000002",)
    assert sorted(store.read(list(kept.values())).values()) == [b"kept", b"shared"]
    with pytest.raises(FixauditError, match="may have been pruned"):
        store.read([gone["b"]])
    assert store.prune(["000002"]) == ()


def test_empty_store(store: Store) -> None:
    assert store.runs() == ()
    assert store.prune([]) == ()
    assert not store.path.exists()


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.binary(max_size=200), min_size=1, max_size=6))
def test_any_bytes(store: Store, contents: list[bytes]) -> None:
    files = {f"f{number}": data for number, data in enumerate(contents)}
    oids = store.record("any", "t", files)
    found = store.read(list(oids.values()))
    assert [found[oids[name]] for name in files] == contents
