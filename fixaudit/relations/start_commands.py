"""What a start command starts: the program file, module or application object behind `node`, `tsx`, `uvicorn` …

Contract: command text in, `Start`s out; of `build && run` the last part counts, as it is what stays running. Wrappers
(`cross-env`, `dotenv --`, `poetry run`, `tini --`) are looked through. A command that is not known here starts
nothing that is known: an empty result, never a guess.
This module must not know of files; which script of a manifest a name stands for is the caller's to say.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Start:
    """kind: "file" (a path), "directory" (`node .`), "script" (a script of package.json), "module" (`python -m x`),
    "application" (`module:attribute` for a server) or "program" (a name that packages install).
    """

    kind: str
    text: str
    directory: str = ""  # what a server's `--app-dir` or `--chdir` says
    factory: bool = False


_WRAPPERS = frozenset(
    {
        "cross-env",
        "cross-env-shell",
        "env",
        "dotenv",
        "dotenvx",
        "env-cmd",
        "exec",
        "nohup",
        "time",
        "npx",
        "bunx",
        "tini",
    }
    | {"tini", "dumb-init", "doppler", "infisical", "op", "opentelemetry-instrument", "ddtrace-run", "newrelic-admin"}
    | {"poetry", "uv", "uvx", "pipenv", "pdm", "hatch", "rye", "sudo", "nice", "dotenv-run", "stdbuf"}
)
_WRAPPER_WORDS = frozenset({"run", "exec", "dlx", "x", "run-program"})
_WRAPPER_VALUES = frozenset(
    {"-e", "-f", "-g", "--env-file", "--file", "--with", "--extra", "--group", "-s", "--python"}
)
_NODE = frozenset({"node", "nodejs", "bun", "deno"})
_NODE_RUNNERS = frozenset(
    {"tsx", "ts-node", "ts-node-esm", "ts-node-dev", "tsnd", "nodemon", "babel-node", "esno", "swc-node", "vite-node"}
    | {"pm2", "pm2-runtime", "forever", "node-dev", "@swc-node/register", "electron"}
)
# Options of Node, its runners and process managers that take the next word as their value.
_NODE_VALUES = frozenset(
    {"-r", "--require", "--import", "--loader", "--experimental-loader", "-C", "--conditions", "--env-file", "--title"}
    | {"--env-file-if-exists", "--input-type", "-P", "--project", "--tsconfig", "-O", "--compiler-options", "--cwd"}
    | {"-w", "--watch-path", "-e", "--ext", "-i", "--ignore", "--delay", "--signal", "--name", "-n", "--instances"}
    | {"--respawn", "--ignore-watch", "--env", "--config", "--max-memory-restart", "--node-args"}
)
_NODE_NOT_FILES = frozenset({"-e", "-p", "--eval", "--print", "-pe", "-v", "--version", "--test"})
_MANAGERS = frozenset({"npm", "pnpm", "yarn", "bun"})
_SERVERS = frozenset({"uvicorn", "gunicorn", "hypercorn", "daphne", "granian", "waitress-serve", "uwsgi"})
_SHELLS = frozenset({"sh", "bash", "ash", "dash", "/bin/sh", "/bin/bash"})
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_TARGET = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*(?:\(.*\))?\Z")
_PYTHON = re.compile(r"(?:.*/)?python(?:\d(?:\.\d+)?)?\Z")
_MODULE = re.compile(r"[A-Za-z_][\w.]*\Z")
_SCRIPT_FILE = re.compile(r"[^\s*]+\.[cm]?[jt]sx?\Z")


def starts(command: str) -> tuple[Start, ...]:
    """Return what a shell command starts."""
    try:
        words = list(_shell_words(command))
    except ValueError:  # a quote that is not closed
        return ()
    groups: list[list[str]] = [[]]
    last: tuple[Start, ...] = ()
    for word in [*words, ";"]:
        if word in ("&&", ";"):
            found = _group(groups)
            if any(start.kind != "program" for start in found) or not last:
                last = found
            groups = [[]]
        elif word in ("&", "|", "||"):
            groups.append([])
        else:
            groups[-1].append(word)
    return last


def started_by(words: Sequence[str]) -> tuple[Start, ...]:
    """Return what a command starts that is given as words (a Dockerfile's exec form)."""
    environment: dict[str, str] = {}
    rest = list(words)
    while rest:
        if _ASSIGNMENT.match(rest[0]):
            name, _, value = rest.pop(0).partition("=")
            environment[name] = value
        elif rest[0] in _WRAPPERS or rest[0].rpartition("/")[2] in ("tini", "dumb-init"):
            _unwrap(rest)
        elif rest[0] in ("pnpm", "yarn", "npm") and rest[1:2] and rest[1] in ("exec", "dlx", "x"):
            del rest[:2]
        else:
            return _program(rest[0], rest[1:], environment)
    return ()


def _group(groups: Sequence[Sequence[str]]) -> tuple[Start, ...]:
    return tuple(dict.fromkeys(start for words in groups for start in started_by(words)))


def _shell_words(command: str) -> Sequence[str]:
    lexer = shlex.shlex(command.replace("\r", "").replace("\n", " ; "), posix=True, punctuation_chars=";&|")
    lexer.whitespace_split = True
    lexer.commenters = ""
    return list(lexer)


def _unwrap(words: list[str]) -> None:
    """Take a wrapper with its options off; what stands behind `--` is the command."""
    del words[0]
    while words and (words[0].startswith("-") or words[0] in _WRAPPER_WORDS):
        word = words.pop(0)
        if word == "--":
            return
        if word in _WRAPPER_VALUES and words:
            del words[0]


def _program(name: str, words: list[str], environment: dict[str, str]) -> tuple[Start, ...]:
    base = name.rpartition("/")[2]
    if base in _SHELLS:
        return starts(words[1]) if len(words) > 1 and words[0] in ("-c", "-lc", "-ec") else ()
    if base in _MANAGERS and (found := _script(base, words)):
        return found
    if base in _NODE or base in _NODE_RUNNERS:
        return _node(base, words)
    if base in ("concurrently", "conc", "npm-run-all", "run-p", "run-s", "run-pty"):
        return _several(base, words)
    if _PYTHON.match(name):
        return _python(words, environment)
    if base in _SERVERS:
        return _server(base, words)
    if base == "flask":
        return _flask(words, environment)
    if base == "fastapi" and words[:1] in (["run"], ["dev"]):
        target = next((word for word in words[1:] if word.endswith(".py")), "")
        return (Start("file", target),) if target else (Start("application", ""),)
    if name.startswith(("./", "bin/")) and "." not in base:
        return (Start("file", name),)
    return (Start("program", base),) if _MODULE.match(base.replace("-", "_")) else ()


def _script(manager: str, words: Sequence[str]) -> tuple[Start, ...]:
    """`npm start`, `npm run x`, `yarn x`; options may stand between (`npm run -s x`)."""
    plain = [word for word in words if not word.startswith("-")]
    if plain[:1] in (["run"], ["run-script"]):
        if manager == "bun" and plain[1:] and _SCRIPT_FILE.match(plain[1]):
            return (Start("file", plain[1]),)
        return tuple(Start("script", name) for name in plain[1:2])
    if plain[:1] == ["start"] or (plain and manager in ("yarn", "pnpm") and not _SCRIPT_FILE.match(plain[0])):
        return (Start("script", plain[0]),)
    return ()


def _several(name: str, words: Sequence[str]) -> tuple[Start, ...]:
    found: list[Start] = []
    for word in words:
        if word.startswith("npm:"):
            found.append(Start("script", word[4:]))
        elif name in ("concurrently", "conc", "run-pty"):
            found += starts(word) if " " in word else ()
        elif not word.startswith("-"):
            found.append(Start("script", word))
    return tuple(found)


def _node(runner: str, words: list[str]) -> tuple[Start, ...]:
    rest = list(words)
    inner: str | None = None
    while rest:
        word = rest.pop(0)
        if word == "--":
            continue
        if word in _NODE_NOT_FILES and not (runner == "nodemon" and word == "-e"):
            return ()
        if runner == "nodemon" and word in ("-x", "--exec") and rest:
            inner = rest.pop(0)
        elif word in _NODE_VALUES or (runner == "nodemon" and word == "--watch"):
            del rest[:1]
        elif word.startswith("-") or (word in ("start", "watch", "run") and runner != "node"):
            continue
        elif inner is not None:
            return starts(f"{inner} {shlex.quote(word)}")
        elif word in (".", "./"):
            return (Start("directory", "."),)
        else:
            return () if word.endswith((".json", ".config.js", ".config.cjs")) else (Start("file", word),)
    return starts(inner) if inner else ()


def _python(words: Sequence[str], environment: dict[str, str]) -> tuple[Start, ...]:
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "-m" and rest:
            module = rest.pop(0)
            known = module in _SERVERS or module in ("flask", "fastapi")
            return _program(module, rest, environment) if known else (Start("module", module),)
        if word in ("-W", "-X"):
            del rest[:1]
        elif word == "-c":
            return ()
        elif not word.startswith("-"):
            return (Start("file", word),)
    return ()


def _server(server: str, words: Sequence[str]) -> tuple[Start, ...]:
    """Find `module:attribute`; gunicorn takes a module alone for its `application`."""
    directory = ""
    for position, word in enumerate(words):
        option, equals, value = word.partition("=")
        if option in ("--app-dir", "--chdir", "--pythonpath"):
            directory = value if equals else "".join(words[position + 1 : position + 2])
    factory = "--factory" in words or "--call" in words
    for word in words:
        target = word.partition("=")[2] if word.startswith("--") and "=" in word else word
        if _TARGET.match(target):
            called = target.endswith(")")
            return (Start("application", target.partition("(")[0], directory, factory or called),)
    if server == "gunicorn":
        for before, word in zip(["", *words], words, strict=False):
            if _MODULE.match(word) and not (before.startswith("-") and "=" not in before):
                return (Start("application", f"{word}:application", directory),)
    return ()


def _flask(words: Sequence[str], environment: dict[str, str]) -> tuple[Start, ...]:
    app = environment.get("FLASK_APP", "")
    for position, word in enumerate(words):
        if word in ("--app", "-A"):
            app = "".join(words[position + 1 : position + 2])
        elif word.startswith("--app="):
            app = word[6:]
    if "run" not in words or not app:
        return ()
    if app.endswith(".py"):
        return (Start("file", app),)
    called = app.endswith(")")
    return (Start("application", app.partition("(")[0], "", called),) if ":" in app else (Start("module", app),)
