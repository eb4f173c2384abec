"""Run git: the only place that imports GitPython, used as a process runner for plumbing.

Contract: bytes in, bytes out, and nothing that a repository or its user configured is ever started: no hooks, no
fsmonitor, no external diff, no lazy fetch. Clean and smudge filters have no switch, so no command is run here that
would call them (nothing that compares or writes working files: no status, diff-files, add, checkout).
The environment is an allow-list; `GIT_*` variables that point into a repository reach git only through `index_file`.
This module must not know what its callers ask.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO, Any

from fixaudit.errors import RepositoryError
from fixaudit.execute import scrubbed_environment

_KEPT = (
    # Where the user's own configuration is; who they are; and a variable by which git's own tests (and ours)
    # pretend that a repository belongs to somebody else.
    *("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "SUDO_UID", "GIT_TEST_ASSUME_DIFFERENT_OWNER"),
    *("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "EMAIL"),
    *("GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM"),
)

_FIXED = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "LANGUAGE": "C",
    "LC_ALL": "C",
}

_SAFE = {
    "core.fsmonitor": "false",
    "core.hooksPath": "/dev/null",
    "core.quotePath": "false",
    "diff.external": "",
    "protocol.allow": "never",  # git before 2.45 does not know GIT_NO_LAZY_FETCH
    "gc.auto": "0",
    "maintenance.auto": "false",
    "i18n.commitEncoding": "UTF-8",
}


@dataclass(frozen=True, slots=True)
class Output:
    """What git answered."""

    code: int
    out: bytes
    err: str

    def records(self) -> list[str]:
        """Split NUL-terminated output; undecodable bytes are kept by surrogateescape."""
        return [os.fsdecode(part) for part in self.out.split(b"\0") if part]

    @property
    def line(self) -> str:
        return os.fsdecode(self.out.removesuffix(b"\n"))


def executable() -> str | None:
    """Return the absolute path of git, or None when PATH has none.

    Relative entries of PATH, and the node_modules/.bin that `npm run` puts in front, belong to the audited project
    and could hold a git of its own.
    """
    entries = [Path(entry) for entry in os.environ.get("PATH", "").split(os.pathsep) if entry]
    trusted = [str(entry) for entry in entries if entry.is_absolute() and "node_modules" not in entry.parts]
    return shutil.which("git", path=os.pathsep.join(trusted)) if trusted else None


def run(
    arguments: Sequence[str],
    cwd: Path,
    *,
    stdin: bytes | None = None,
    config: Mapping[str, str] | None = None,
    env: Mapping[str, str] | None = None,
    check: bool = True,
) -> Output:
    """Run one git command in `cwd`; `config` overrides configuration, `env` adds variables.

    Raises RepositoryError with git's own words when git fails and `check` is set, and always when there is no git.
    """
    command = _command(arguments, config, env)
    with tempfile.TemporaryFile() as source:
        if stdin:
            source.write(stdin)
            source.seek(0)
        code, out, err = _runner(cwd).execute(
            command,
            istream=source if stdin is not None else None,
            with_extended_output=True,
            with_exceptions=False,
            stdout_as_string=False,
            strip_newline_in_stdout=False,
        )
    output = Output(int(code), out, str(err))
    if check and output.code != 0:
        name = next(argument for argument in arguments if not argument.startswith("-"))
        raise RepositoryError(f"git {name} failed: {words(output)}")
    return output


def words(output: Output) -> str:
    """Return git's own message on one line."""
    lines = [line.strip() for line in output.err.splitlines() if line.strip()]
    text = " ".join([line for line in lines if not line.startswith("warning: ")] or lines)
    return text.removeprefix("fatal: ").removeprefix("error: ") or f"exit code {output.code}"


def nul_joined(paths: Iterable[str]) -> bytes:
    """Encode paths for a command that reads `-z --stdin`."""
    return b"".join(os.fsencode(path) + b"\0" for path in paths)


class Objects:
    """One `cat-file --batch` process, started at the first question and again in a forked child."""

    def __init__(self, cwd: Path) -> None:
        self._cwd = cwd
        self._process: Any = None
        self._owner = 0

    def read(self, oid: str) -> bytes | None:
        """Return the bytes of a blob, or None when the object is not there (partial clone, damaged repository)."""
        if self._process is None or self._owner != os.getpid():
            import subprocess

            command = _command(["cat-file", "--batch"], None, None)
            self._process = _runner(self._cwd).execute(command, istream=subprocess.PIPE, as_process=True)
            self._owner = os.getpid()
        source: IO[bytes] = self._process.stdout
        self._process.stdin.write(oid.encode() + b"\n")
        self._process.stdin.flush()
        header = source.readline().split()
        if len(header) != 3:
            if not header:  # git gives up where a partial clone would have to fetch; the next question starts anew
                self.close()
            return None
        data = source.read(int(header[2]))
        source.read(1)
        return data

    def close(self) -> None:
        """End the process; a later `read` starts another."""
        if self._process is not None and self._owner == os.getpid():
            process = self._process.proc
            with suppress(BrokenPipeError):
                process.stdin.close()
            process.wait()
            process.stdout.close()
            process.stderr.close()
        self._process = None


def _command(arguments: Sequence[str], config: Mapping[str, str] | None, env: Mapping[str, str] | None) -> list[str]:
    program = executable()
    if program is None:
        raise RepositoryError("git is not installed or not on PATH", hint="install git, or put it on PATH")
    options = [part for key, value in {**_SAFE, **(config or {})}.items() for part in ("-c", f"{key}={value}")]
    variables = scrubbed_environment({**_FIXED, **(env or {})}, keep=_KEPT)
    # GitPython hands the whole of os.environ down and can only add to it; env(1) starts git with exactly this.
    return [
        "/usr/bin/env",
        "-i",
        *(f"{name}={value}" for name, value in variables.items()),
        program,
        *options,
        *arguments,
    ]


def _runner(cwd: Path) -> Any:
    return _git_class()(str(cwd))


@cache
def _git_class() -> Any:
    """Import GitPython.

    It runs `git version` while it is imported, with the first git that PATH has, which may be the audited project's.
    It is told which one is meant, for that moment only: nothing of ours stays in the environment.
    """
    named = {"GIT_PYTHON_REFRESH": "quiet", "GIT_PYTHON_GIT_EXECUTABLE": executable() or "git"}
    before = {name: os.environ.get(name) for name in named}
    os.environ.update(named)
    try:
        from git.cmd import Git
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
    return Git
