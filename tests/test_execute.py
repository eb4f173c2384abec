"""Programs are bounded in time and output, and nothing of them stays behind."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from fixaudit import execute
from fixaudit.execute import Completed, run, scrubbed_environment


def python(code: str, tmp_path: Path, **options: object) -> Completed:
    arguments: dict[str, object] = {"timeout": 30, "env": scrubbed_environment(), **options}
    return run([sys.executable, "-c", code], cwd=tmp_path, **arguments)  # type: ignore[arg-type]


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("print('hello')", Completed(0, stdout="hello\n")),
        ("raise SystemExit(7)", Completed(7)),
        ("import sys; sys.stderr.write('bad'); sys.exit(1)", Completed(1, stderr="bad")),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", Completed(137)),
        ("import sys; print(repr(sys.stdin.read()))", Completed(0, stdout="''\n")),
        ("import sys; sys.stdout.buffer.write(b'caf\\xe9 \\xc3\\xa9')", Completed(0, stdout="caf� é")),
    ],
)
def test_result(code: str, expected: Completed, tmp_path: Path) -> None:
    assert python(code, tmp_path) == expected


def test_stdin_is_delivered_whole_and_closed(tmp_path: Path) -> None:
    data = b"x" * 3_000_000
    assert python("import sys; print(len(sys.stdin.buffer.read()))", tmp_path, stdin=data).stdout == "3000000\n"


def test_program_that_never_reads_its_input(tmp_path: Path) -> None:
    assert python("print('done')", tmp_path, stdin=b"x" * 3_000_000) == Completed(0, stdout="done\n")


@pytest.mark.parametrize(
    ("argv", "reason"),
    [
        ([], "the command is empty"),
        (["no-such-program-anywhere"], "no-such-program-anywhere: No such file or directory"),
        (["a\0b"], "a\0b: embedded null byte"),
    ],
)
def test_could_not_start(argv: list[str], reason: str, tmp_path: Path) -> None:
    result = run(argv, cwd=tmp_path, env=scrubbed_environment(), timeout=5)
    assert result == Completed(None, could_not_start=reason)


def test_not_executable(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\n")
    result = run([str(script)], cwd=tmp_path, env=scrubbed_environment(), timeout=5)
    assert result.could_not_start == f"{script}: Permission denied"


def test_output_keeps_its_end(tmp_path: Path) -> None:
    code = (
        "import sys\nfor _ in range(400): sys.stdout.write('a' * 100000)\n"
        "sys.stdout.write('END')\nsys.stderr.write('b' * 5000000)"
    )
    result = python(code, tmp_path, output_limit=1000)
    assert result.truncated
    assert result.stdout == "a" * 997 + "END"
    assert result.stderr == "b" * 1000


def test_time_limit(tmp_path: Path) -> None:
    result = python("import time; print('begun', flush=True); time.sleep(60)", tmp_path, timeout=0.5)
    assert result == Completed(None, timed_out=True, stdout="begun\n")


def test_time_limit_when_sigterm_is_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execute, "GRACE_SECONDS", 0.1)
    code = (
        "import os, signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "print(os.getpid(), flush=True); time.sleep(60)"
    )
    result = python(code, tmp_path, timeout=0.6)
    assert result.timed_out
    assert not alive(int(result.stdout))


def test_time_limit_with_all_pipes_closed(tmp_path: Path) -> None:
    result = python("import os, time; os.closerange(0, 3); time.sleep(60)", tmp_path, timeout=0.5)
    assert result == Completed(None, timed_out=True)


BACKGROUND = """
import os, sys, time
for detach in (False, True):
    if os.fork() == 0:
        if detach:
            os.setsid()
            if os.fork():
                os._exit(0)
        open(f"pid-{detach}", "w").write(str(os.getpid()))
        time.sleep(60)
while not (os.path.exists("pid-True") and os.path.exists("pid-False")):
    time.sleep(0.01)
time.sleep(float(sys.argv[1]) if len(sys.argv) > 1 else 0)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs a child subreaper")
@pytest.mark.parametrize(("linger", "timed_out"), [("0", False), ("60", True)])
def test_background_children_do_not_survive(linger: str, timed_out: bool, tmp_path: Path) -> None:
    result = run(
        [sys.executable, "-c", BACKGROUND, linger],
        cwd=tmp_path,
        env=scrubbed_environment(),
        timeout=3 if timed_out else 30,
    )
    assert result.timed_out is timed_out
    for name in ("pid-False", "pid-True"):
        assert not alive(int((tmp_path / name).read_text()))


def test_children_that_were_there_before_are_left_alone(tmp_path: Path) -> None:
    pid = os.fork()
    if pid == 0:
        time.sleep(60)
        os._exit(0)
    try:
        python("pass", tmp_path)
        assert os.waitpid(pid, os.WNOHANG) == (0, 0)
    finally:
        os.kill(pid, 9)
        os.waitpid(pid, 0)


def test_environment_is_an_allow_list(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MY_TOKEN", "t")
    monkeypatch.setenv("GIT_DIR", "/elsewhere")
    monkeypatch.setenv("AGENT_KEY", "k")
    env = scrubbed_environment({"EXTRA": "1"}, keep=["AGENT_KEY", "UNSET_NAME"])
    assert {"MY_TOKEN", "GIT_DIR", "UNSET_NAME"}.isdisjoint(env)
    assert (env["AGENT_KEY"], env["EXTRA"], env["FIXAUDIT_RUNNING"], env["LC_ALL"]) == ("k", "1", "1", "C.UTF-8")
    seen = run([sys.executable, "-c", "import os; print(sorted(os.environ))"], cwd=tmp_path, env=env, timeout=30)
    assert seen.stdout == f"{sorted(env)}\n"


def test_nested(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FIXAUDIT_RUNNING", raising=False)
    assert not execute.is_nested()
    monkeypatch.setenv("FIXAUDIT_RUNNING", "1")
    assert execute.is_nested()
