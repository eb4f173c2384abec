"""The `fixaudit` command: argv in, exit code out. The one place that turns an error into a message.

`--version` is answered before anything heavy is imported, and `hook` runs without the command-line library: it starts
for every commit. Exit codes: 0 success, 1 findings or PARTIAL, 2 usage,
configuration, lock or tool error, 3 waiting for an agent or a person, 130 interrupted.
Nothing imports this module.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line and exit."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments in (["--version"], ["-V"]):
        from fixaudit import __version__

        print(f"fixaudit {__version__}")
        sys.exit(0)
    sys.exit(_run(arguments))


def _run(arguments: list[str]) -> int:
    from fixaudit.errors import FixauditError

    if sys.platform == "win32":
        print("error: fixaudit runs on Linux and macOS; on Windows use it inside WSL", file=sys.stderr)
        return 2

    # Names of files are bytes: one that is not UTF-8 must not end a report in a traceback.
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        if arguments[:1] == ["hook"] and (known := _hook_arguments(arguments[1:])) is not None:
            from fixaudit.cli.hook import run_hook

            return run_hook(*known, [])
        from fixaudit.cli.app import app

        code = app(arguments, standalone_mode=False)
        return code if isinstance(code, int) else 0
    except FixauditError as error:
        _explain(error)
        return error.exit_code
    except KeyboardInterrupt:
        print("interrupted; what was kept so far stays, `fixaudit undo` takes it back", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader has gone (`fixaudit scan | head`): not an error of ours, and nothing more can be said.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:  # noqa: BLE001  (the one place)
        return _unexpected(error)


def _hook_arguments(arguments: list[str]) -> tuple[str, str] | None:
    """Read `scan` or `fix`, with `--fail-on` at most; anything else is left to the command-line library."""
    match arguments:
        case ["scan" | "fix" as action]:
            return action, "P1"
        case ["scan" | "fix" as action, "--fail-on", ("P0" | "P1" | "P2" | "P3" | "P4" | "P5" | "any") as fail_on]:
            return action, fail_on
    return None


def _unexpected(error: Exception) -> int:
    import click

    if isinstance(error, click.exceptions.Abort):
        print("interrupted; what was kept so far stays, `fixaudit undo` takes it back", file=sys.stderr)
        return 130
    if isinstance(error, click.exceptions.Exit):
        return int(error.exit_code)
    if isinstance(error, click.ClickException):
        error.show()
        return 2
    if os.environ.get("FIXAUDIT_DEBUG"):
        raise error
    print(
        f"error: fixaudit failed: {type(error).__name__}: {error}\n"
        "This is a bug. Nothing unverified was written. Run again with FIXAUDIT_DEBUG=1 for the details to report.",
        file=sys.stderr,
    )
    return 2


def _explain(error: object) -> None:
    from fixaudit.errors import ConfigurationError, FixauditError

    assert isinstance(error, FixauditError)
    print(f"error: {error.message}", file=sys.stderr)
    for problem in error.problems if isinstance(error, ConfigurationError) else ():
        print(f"  {problem}", file=sys.stderr)
    if error.hint:
        print(f"hint: {error.hint}", file=sys.stderr)
