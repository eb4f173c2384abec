"""Lockfiles are brought in step without running anything of the project's."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from fixaudit.packages import update_lock
from fixaudit.snapshot import LockUpdate, MemorySnapshot

NPM = LockUpdate("npm", "package.json", "package-lock.json", ("npm", "install", "--package-lock-only"))


LOCK = json.dumps({"name": "a", "version": "1.0.0", "lockfileVersion": 3, "requires": True, "packages": {
    "": {"name": "a", "version": "1.0.0"}}}, indent=2)  # fmt: skip


@pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")
def test_npm_writes_the_root_entry_and_nothing_else() -> None:
    manifest = json.dumps({"name": "a", "version": "2.0.0"})
    result = update_lock(NPM, MemorySnapshot.of({"package.json": manifest, "package-lock.json": LOCK}))
    assert isinstance(result, bytes), result
    assert json.loads(result)["packages"][""]["version"] == "2.0.0"


@pytest.mark.parametrize(
    ("extra", "spec", "words"),
    [
        ({".npmrc": "git=./evil.sh\n"}, "^1.0.0", ".npmrc changes what the package manager does"),
        ({}, "git+ssh://git@example.invalid/x.git", "x comes from git+ssh"),
        ({}, "file:../x", "x comes from file"),
        ({}, "https://example.invalid/x.tgz", "x comes from https"),
    ],
)
def test_what_may_run_programs_is_refused_with_the_command(extra: dict[str, str], spec: str, words: str) -> None:
    manifest = json.dumps({"name": "a", "dependencies": {"x": spec}})
    result = update_lock(NPM, MemorySnapshot.of({"package.json": manifest, "package-lock.json": LOCK, **extra}))
    assert isinstance(result, str)
    assert words in result
    assert result.endswith("run `npm install --package-lock-only` yourself")


def test_other_managers_name_the_command() -> None:
    update = LockUpdate("yarn", "package.json", "yarn.lock", ("yarn", "install"))
    result = update_lock(update, MemorySnapshot.of({"package.json": "{}", "yarn.lock": ""}))
    assert result == "yarn lockfiles are not updated by fixaudit; run `yarn install`"


def test_a_manager_that_is_not_there_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    result = update_lock(NPM, MemorySnapshot.of({"package.json": "{}", "package-lock.json": LOCK}))
    assert isinstance(result, str)
    assert "could not be started" in result
