"""Start a program, bounded in time and output, and leave nothing of it running.

Contract: an argv list is started without a shell, with a closed standard input, an environment that holds nothing
but what the caller put into it, and in a session of its own. Whatever happens is a returned value; the caller judges
it. When `run` returns, the program's process group is gone, and on Linux so is everything that left the group.
On other systems a child that starts its own session may survive.
This module must not know of rules, git, agents or trust; whether something may be started is decided before.
"""

from __future__ import annotations

import ctypes
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

RUNNING = "FIXAUDIT_RUNNING"
"""Set to 1 for everything that fixaudit starts, so that a fixaudit started inside a lane can refuse to recurse."""

ALLOWED = (
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TERM", "TZ"),
    *("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR"),
)
"""What a program needs to find itself and its user. Nothing that commonly holds a credential, no GIT_*."""

GRACE_SECONDS = 2.0
"""Between SIGTERM and SIGKILL: enough to flush and remove temporary files, short enough for an interactive run."""

_CHUNK = 65536
_PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h


@dataclass(frozen=True, slots=True)
class Completed:
    """What a program did. `exit_code` is None when it was not started or was stopped at the time limit."""

    exit_code: int | None  # 128 + n for a program that died of signal n, as shells count
    timed_out: bool = False
    could_not_start: str | None = None
    stdout: str = ""  # the last `output_limit` bytes, undecodable bytes replaced
    stderr: str = ""
    truncated: bool = False

    @property
    def succeeded(self) -> bool:
        return self.exit_code == 0


def scrubbed_environment(extra: Mapping[str, str] | None = None, *, keep: Sequence[str] = ()) -> dict[str, str]:
    """Return a new environment: the allow-list, the names in `keep` where they are set, and `extra` on top.

    The locale is fixed to C.UTF-8 so that no output depends on the user's language.
    """
    environment = {name: os.environ[name] for name in (*ALLOWED, *keep) if name in os.environ}
    environment |= {"LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", RUNNING: "1"}
    return environment | dict(extra or {})


def is_nested() -> bool:
    """Say whether this process was started by fixaudit itself."""
    return os.environ.get(RUNNING) == "1"


def run(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    timeout: float,
    stdin: bytes | None = None,
    output_limit: int = 200_000,
) -> Completed:
    """Run `argv` to its end or for `timeout` seconds and return what happened; raises nothing but interrupts.

    `output_limit` is in bytes for each of the two streams; the end of a longer output is kept, because that is where
    programs say why they failed. Children that the program left behind are killed.
    """
    if not argv:
        return Completed(None, could_not_start="the command is empty")
    before = _become_subreaper()
    try:
        process = subprocess.Popen(
            list(argv),
            cwd=cwd,
            env=dict(env),
            stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:  # ValueError: a NUL byte in an argument
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        return Completed(None, could_not_start=f"{argv[0]}: {reason}")
    try:
        streams = _Streams(process, stdin or b"", output_limit)
        timed_out = not streams.pump(time.monotonic() + timeout)
        if timed_out:
            _signal_group(process.pid, signal.SIGTERM)
            streams.pump(time.monotonic() + GRACE_SECONDS)
    finally:
        # Before wait(): while the leader is not reaped, its process group id cannot belong to anyone else.
        _signal_group(process.pid, signal.SIGKILL)
        code = process.wait()
        _kill_orphans(before)
    streams.drain()
    out, err = streams.tails
    return Completed(
        None if timed_out else (code if code >= 0 else 128 - code),
        timed_out,
        None,
        out.decode("utf-8", "replace"),
        err.decode("utf-8", "replace"),
        streams.truncated,
    )


class _Streams:
    """The three pipes of one program, read and written together so that neither side can block the other."""

    def __init__(self, process: subprocess.Popen[bytes], stdin: bytes, limit: int) -> None:
        self._process, self._limit = process, limit
        self._input = memoryview(stdin)
        self._buffers = [bytearray(), bytearray()]
        self.truncated = False
        self._selector = selectors.DefaultSelector()
        for index, stream in enumerate((process.stdout, process.stderr)):
            if stream is not None:
                os.set_blocking(stream.fileno(), False)
                self._selector.register(stream, selectors.EVENT_READ, index)
        if process.stdin is not None:
            os.set_blocking(process.stdin.fileno(), False)
            self._selector.register(process.stdin, selectors.EVENT_WRITE, -1)

    @property
    def tails(self) -> tuple[bytes, bytes]:
        return bytes(self._buffers[0][-self._limit :]), bytes(self._buffers[1][-self._limit :])

    def pump(self, deadline: float) -> bool:
        """Serve the pipes until the program has ended; False when the deadline came first.

        A background child may hold the pipes open for ever, so the end is the leader's exit, not the end of file.
        """
        while not _has_exited(self._process):
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            # Without open pipes nothing wakes the selector; 20 ms is below what a person notices.
            self._serve(min(left, 0.02))
        return True

    def drain(self) -> None:
        """Take what is still in the pipes once every writer is gone."""
        while self._selector.get_map() and self._serve(0):
            pass
        for key in list(self._selector.get_map().values()):
            self._close(key.fileobj)  # type: ignore[arg-type]
        self._selector.close()

    def _serve(self, seconds: float) -> bool:
        if not self._selector.get_map():
            time.sleep(seconds)
            return False
        ready = self._selector.select(seconds)
        for key, _ in ready:
            stream: IO[bytes] = key.fileobj  # type: ignore[assignment]
            if key.data < 0:
                self._write(stream)
            else:
                self._read(stream, self._buffers[key.data])
        return bool(ready)

    def _write(self, stream: IO[bytes]) -> None:
        try:
            self._input = self._input[os.write(stream.fileno(), self._input[:_CHUNK]) :]
        except BlockingIOError:
            return
        except OSError:  # the program closed its input without reading it: its right
            self._input = self._input[:0]
        if not self._input:
            self._close(stream)

    def _read(self, stream: IO[bytes], buffer: bytearray) -> None:
        try:
            data = os.read(stream.fileno(), _CHUNK)
        except BlockingIOError:
            return
        if not data:
            self._close(stream)
        buffer += data
        self.truncated = self.truncated or len(buffer) > self._limit
        if len(buffer) > self._limit + 16 * _CHUNK:
            del buffer[: -self._limit]

    def _close(self, stream: IO[bytes]) -> None:
        self._selector.unregister(stream)
        with suppress(OSError):
            stream.close()


def _has_exited(process: subprocess.Popen[bytes]) -> bool:
    """Look without reaping, so that the process group keeps its leader until it has been killed."""
    if not hasattr(os, "waitid"):  # macOS before Python 3.13
        return process.poll() is not None
    try:
        return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None
    except ChildProcessError:
        return True


def _signal_group(pid: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


def _become_subreaper() -> frozenset[int]:
    """Have orphans of our children reparented to us (Linux) and return the children there are already."""
    if sys.platform != "linux":
        return frozenset()
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    return _children()


def _children() -> frozenset[int]:
    found = set()
    own = os.getpid()
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, ValueError, IndexError):
            # The command name in parentheses may itself hold spaces and parentheses: read behind the last one.
            if int(entry.read_bytes().rpartition(b")")[2].split()[1]) == own:
                found.add(int(entry.parent.name))
    return frozenset(found)


def _kill_orphans(before: frozenset[int]) -> None:
    """Kill and reap every child that is new; killing one hands its own children to us, so look again."""
    if sys.platform != "linux":
        return
    for _ in range(100):  # a program that forks faster than this is stopped by its own process limit
        orphans = _children() - before
        if not orphans:
            return
        for pid in orphans:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
            with suppress(ChildProcessError):
                os.waitpid(pid, 0)
