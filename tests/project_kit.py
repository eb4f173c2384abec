"""Repositories for tests of the command: small, real, with a home of their own."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from tests.cases.runner import Result, environment

TOKEN = "ghp" + "_" + "qRciU1ISC4uXDjdjMatL4gJuqG1aOEAsyEux"
"""Has the form of a credential; nobody ever issued it."""
CLEAN = "module.exports = (a, b) => a + b;\n"
SECRET = f'module.exports = {{ token: "{TOKEN}" }};\n'
BASE = {
    "package.json": '{"name": "demo", "private": true}\n',
    ".gitignore": "node_modules/\n.env\n.env.*\n!.env.example\n",
    "a.js": CLEAN,
}


@dataclass
class Repo:
    """A repository at `place`; its home, state and caches are beside it."""

    place: Path
    home: Path

    def git(self, *arguments: str, check: bool = True, **env: str) -> str:
        done = subprocess.run(
            ["git", *arguments], cwd=self.place, env=environment(self.home, **env), capture_output=True, check=False
        )
        assert done.returncode == 0 or not check, done.stderr.decode()
        return done.stdout.decode("utf-8", "surrogateescape").rstrip("\n")

    def commit(self, *arguments: str) -> Result:
        """Run `git commit`, which runs the hook."""
        done = subprocess.run(
            ["git", "commit", "-qm", "change", *arguments],
            cwd=self.place, env=environment(self.home), capture_output=True, check=False,
        )  # fmt: skip
        return Result(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))

    def run(self, *arguments: str, **env: str) -> Result:
        """Run the command in this process, which is quicker, with an environment and streams of its own."""
        from fixaudit.cli.main import _run

        out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="") for _ in range(2))
        here = Path.cwd()
        os.chdir(self.place)
        try:
            with (
                mock.patch.dict(os.environ, environment(self.home, **env), clear=True),
                contextlib.redirect_stdout(out),
                contextlib.redirect_stderr(err),
            ):
                code = _run(list(arguments))
        finally:
            os.chdir(here)
        for stream in (out, err):
            stream.flush()
        shown = [stream.buffer.getvalue().decode("utf-8", "replace") for stream in (out, err)]  # type: ignore[attr-defined]
        return Result(code, *shown)

    def write(self, files: Mapping[str, str | bytes]) -> None:
        for path, content in files.items():
            file = self.place / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content.encode() if isinstance(content, str) else content)

    def text(self, path: str) -> str:
        return (self.place / path).read_text(encoding="utf-8")

    def install(self, action: str, *arguments: str) -> None:
        """Make `fixaudit hook …` the pre-commit hook."""
        hook = Path(self.git("rev-parse", "--git-path", "hooks"))
        hook = (self.place / hook) / "pre-commit"
        hook.parent.mkdir(parents=True, exist_ok=True)
        words = " ".join([sys.executable, "-m", "fixaudit", "hook", action, *arguments])
        hook.write_text(f"#!/bin/sh\nexec {words}\n")
        hook.chmod(0o755)


def make(tmp_path: Path, files: Mapping[str, str | bytes] | None = None, *, born: bool = True) -> Repo:
    """Make a repository with BASE and `files`, committed unless `born` is False."""
    repo = Repo(tmp_path / "project", tmp_path)
    repo.place.mkdir()
    repo.write({**BASE, **(files or {})})
    repo.git("init", "-q", "-b", "main")
    if born:
        repo.git("add", "-A")
        repo.git("commit", "-qm", "base", "--no-verify")
    return repo


def everything(place: Path) -> dict[str, tuple[int, bytes]]:
    """Return mode and bytes of every file and link below a directory, git's own included."""
    found = {}
    for file in sorted(place.rglob("*")):
        if file.is_symlink():
            found[str(file.relative_to(place))] = (0, os.fsencode(os.readlink(file)))
        elif file.is_file():
            found[str(file.relative_to(place))] = (file.stat().st_mode, file.read_bytes())
    return found
