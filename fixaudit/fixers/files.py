"""Steps that work on whole files and their lines: create_file, ensure_lines, set_key, untrack.

Contract: each is idempotent; text goes in through the format modules, so comments, order, indent and line endings of
what is there stay.
This module must not know of program code.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fixaudit.fixers.base import Candidate, Deferred, Planned, Refusal, Situation, StepKind
from fixaudit.fixers.environment import declared_readers
from fixaudit.fixers.program import code_functions
from fixaudit.fixers.support import LINES, NAME, TEXT, closed, editable, edited, fill, path_of
from fixaudit.formats import dotenv, gitignore
from fixaudit.formats.problem import Problem
from fixaudit.snapshot import EXECUTABLE, REGULAR, ChangeSet, FileState, state_at
from fixaudit.text import Text


def absent(path: str) -> Deferred:
    """Say that a file is missing which another fix may still create: the review's sentence is pinned by the seed."""
    return Deferred(f"no file at {path}")


def _create_file(arguments: Mapping[str, Any], situation: Situation) -> Planned:
    path = path_of(situation, arguments["path"])
    if isinstance(path, Refusal):
        return path
    functions = code_functions(path)
    if "lines" in arguments:
        lines = fill(arguments["lines"], situation, functions)
        content = "".join(f"{line}\n" for entry in lines for line in str(entry).split("\n"))
    else:
        content = str(fill(arguments["content"], situation, functions))
    state = FileState(EXECUTABLE if arguments.get("mode") == "755" else REGULAR, content.encode("utf-8"))
    snapshot = situation.facts.snapshot
    if snapshot.mode(path) is not None:
        if arguments.get("when_exists") == "keep" or state_at(snapshot, path) == state:
            return ChangeSet()
        return Refusal(f"{path} is there already", (Candidate(path, path),), code="taken")
    parents = ["/".join(path.split("/")[:depth]) for depth in range(1, path.count("/") + 1)]
    for parent in parents:
        if snapshot.mode(parent) is not None:
            return Refusal(f"{parent} is a file, so {path} cannot be created", code="shape")
    return ChangeSet(created={path: state})


def _ensure_lines(arguments: Mapping[str, Any], situation: Situation) -> Planned:
    path = path_of(situation, arguments["path"])
    if isinstance(path, Refusal):
        return path
    lines = [str(line) for line in fill(arguments["lines"], situation)]
    text = editable(situation, path)
    if isinstance(text, Refusal):
        return text
    if text is None:
        if arguments.get("when_absent", "defer") == "defer":
            return absent(path)
        return _created(path, text_of_lines(lines))
    return edited(path, gitignore.ensure_lines(text, lines))


def text_of_lines(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _created(path: str, content: str) -> ChangeSet:
    return ChangeSet(created={path: FileState(REGULAR, content.encode("utf-8"))})


def _set_key(arguments: Mapping[str, Any], situation: Situation) -> Planned:
    path = path_of(situation, arguments["path"])
    if isinstance(path, Refusal):
        return path
    key = str(fill(arguments["key"], situation))
    value = str(fill(arguments.get("value", ""), situation))
    text = editable(situation, path)
    if isinstance(text, Refusal):
        return text
    if text is None and arguments.get("when_absent") == "defer":
        return absent(path)
    if arguments.get("when_declared") != "share":
        refusal = taken(situation, path, key, value)
        if refusal is not None:
            return refusal
    return declare(situation, path, key, value)


def taken(situation: Situation, path: str, key: str, value: str) -> Refusal | None:
    """Say that a key means something else: it is declared with another value, and the program reads it already."""
    text = editable(situation, path)
    entry = dotenv.read(text.content).get(key) if isinstance(text, Text) else None
    if entry is None or entry.value == value or not declared_readers(situation, key):
        return None
    sentence = f"{key} is already declared in {path}, so its meaning is unclear"
    return Refusal(sentence, (Candidate(key, f"{path}:{entry.line}"),), code="taken")


def declare(situation: Situation, path: str, key: str, value: str) -> ChangeSet | Refusal:
    """Return the change after which `key` stands in the dotenv file at `path`; a declared key is left as it is."""
    text = editable(situation, path)
    if isinstance(text, Refusal):
        return text
    edits = dotenv.set_key(text if text is not None else Text(""), key, value)
    if text is not None or isinstance(edits, Problem):
        return edited(path, edits)
    return _created(path, Text("").apply(edits).content)


def _untrack(arguments: Mapping[str, Any], situation: Situation) -> Planned:
    paths: list[str] = []
    for written in fill(arguments["paths"], situation):
        path = path_of(situation, str(written))
        if isinstance(path, Refusal):
            return path
        if situation.facts.snapshot.is_tracked(path):
            paths.append(path)
    return ChangeSet(untracked=tuple(dict.fromkeys(paths)))


_PATH = {**NAME, "description": "relative to the finding's root"}
_WHEN_ABSENT = {"enum": ["create", "defer"]}
_WHEN_EXISTS = {"enum": ["refuse", "keep"]}
_MODE = {"enum": ["644", "755"]}

STEPS = (
    StepKind(
        "create_file",
        "Create a file. One that is there with other content refuses the fix (`when_exists: keep` leaves it).",
        {
            "oneOf": [
                closed((content, "path"), **{content: schema}, path=_PATH, when_exists=_WHEN_EXISTS, mode=_MODE)
                for content, schema in (("lines", LINES), ("content", TEXT))
            ]
        },
        _create_file,
        ("path", "lines", "content"),
    ),
    StepKind(
        "ensure_lines",
        "Add the lines that a file of patterns does not hold yet; without the file, wait (`defer`, the default).",
        closed(("path", "lines"), path=_PATH, lines=LINES, when_absent=_WHEN_ABSENT),
        _ensure_lines,
        ("path", "lines"),
    ),
    StepKind(
        "set_key",
        "Declare a key in a dotenv file. A declared key is shared when nothing reads it or it holds the same value, "
        "and refused otherwise; `when_declared: share` is for keys whose name says what they mean (PORT).",
        closed(
            ("path", "key"),
            path=_PATH,
            key=NAME,
            value=TEXT,
            when_absent=_WHEN_ABSENT,
            when_declared={"enum": ["refuse", "share"]},
        ),
        _set_key,
        ("path", "key", "value"),
    ),
    StepKind(
        "untrack",
        "Take files out of git's index and leave them on disk.",
        closed(("paths",), paths={"type": "array", "items": NAME, "minItems": 1}),
        _untrack,
        ("paths",),
    ),
)
