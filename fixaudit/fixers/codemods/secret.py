"""The codemod externalize_secret: a credential written in a program moves to the environment.

Contract: the whole literal becomes a read of one variable, in the form that fits its language and place; the value
goes to `.env` where git cannot see it, the key to `.env.example`; everything a person must still do is a follow-up.
What cannot be moved without guessing or without breaking the program is refused with what a person should do.
This module must not know how a credential is recognised; it takes a row of the relation `secret`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fixaudit.fixers.base import Candidate, Deferred, Planned, Refusal, Situation
from fixaudit.fixers.codemods.secret_places import Place, place_of, refusal_of_place
from fixaudit.fixers.environment import Loader, declared_readers, home, knows_process, loader, start_advice
from fixaudit.fixers.expressions import fitted, is_roomy, span_around
from fixaudit.fixers.files import declare
from fixaudit.fixers.program import Program, open_program
from fixaudit.fixers.support import editable, edited, fill
from fixaudit.formats import dotenv
from fixaudit.projects import Root
from fixaudit.relations import registry
from fixaudit.relations.base import Row
from fixaudit.relations.dotenv import TEMPLATES
from fixaudit.snapshot import ChangeSet, FollowUp
from fixaudit.text import Edit, Text

SCHEMES: Mapping[str, str] = {
    "postgres": "DATABASE_URL",
    "postgresql": "DATABASE_URL",
    "mysql": "DATABASE_URL",
    "mariadb": "DATABASE_URL",
    "mongodb": "MONGODB_URI",
    "redis": "REDIS_URL",
    "rediss": "REDIS_URL",
    "amqp": "AMQP_URL",
    "amqps": "AMQP_URL",
}
"""Names that the common drivers' documentation uses for a whole URI, by scheme without `+driver`."""


GENERIC = frozenset(["PASSWORD", "PASS", "PWD", "SECRET", "TOKEN", "KEY", "AUTH", "CREDENTIAL", "CREDENTIALS"])
"""Names that say nothing alone: `smtp: { password: … }` and `db: { password: … }` must not become one variable."""


@dataclass(frozen=True, slots=True)
class _Move:
    """Everything that is known about one credential before it moves."""

    row: Row
    place: Place
    program: Program
    root: Root
    key: str
    loader: Loader | None


def externalize_secret(arguments: Mapping[str, Any], situation: Situation) -> Planned:
    """Move the credential of the finding's row to the environment variable `key`."""
    row = situation.target.row
    if row is None:
        return Refusal("the finding points at no credential", code="shape")
    program = open_program(situation.facts, row.path)
    refusal = refusal_of_place(row, situation.facts, program if isinstance(program, Program) else None)
    if refusal is not None:
        return refusal
    if isinstance(program, Refusal):
        return program
    place = place_of(row, program)
    if isinstance(place, Refusal):
        return place
    key = _key(str(fill(arguments.get("key", ""), situation)), row, place)
    if isinstance(key, Refusal):
        return key
    root = home(situation.facts, row.path)
    move = _Move(row, place, program, root, key, loader(situation.facts, root, program.family))
    # A refusal is final, so it comes before a precondition that another fix may still bring about.
    # A fallback and a settings field stand beside their variable already: what it means is no question there.
    named = place.fallback or place.settings
    if not named and (taken := _taken(move, situation)) is not None:
        return taken
    return _precondition(situation, root) or _moved(move, situation)


def _key(wanted: str, row: Row, place: Place) -> str | Refusal:
    """Return the variable's name: the one read beside the literal, what the rule says, or the URI's usual name."""
    key = place.fallback or wanted or row.text("KEY")
    if key in GENERIC and key == row.text("KEY") and place.holder and not (place.fallback or place.settings):
        key = f"{place.holder}_{key}"
    if row.values.get("SHAPE") == "uri" and key in ("", "URL", "URI", "DSN", "CONNECTION", "CONNECTION_STRING"):
        key = SCHEMES.get(re.split(r"[+:]", place.value.lower(), maxsplit=1)[0], key)
    if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", key):
        return key
    name = row.text("NAME")
    about = f"from {name}" if name else "because nothing names it"
    return Refusal(f"no environment variable name can be made {about}", parameter="env_key", code="none")


def _precondition(situation: Situation, root: Root) -> Deferred | None:
    """Say when `.env` is no place for a credential yet: git would see it."""
    path = root.join(".env")
    view = situation.facts.project.view(root)
    rows = view.rows(registry()["ignored"], {"paths": [".env"]})
    ignored = any(row.values.get("PATH") in (path, ".env") and row.values.get("IGNORED") is True for row in rows)
    if not ignored or situation.facts.snapshot.is_tracked(path):
        return Deferred(f"{path} is not ignored by git")
    return None


def _taken(move: _Move, situation: Situation) -> Refusal | None:
    """Say that the key means something else here, or may: another value, or a reader that was there before."""
    secret, example = move.root.join(".env"), _template(situation, move.root)
    entries = {path: _entry(situation, path, move.key) for path in (secret, example)}
    here = entries[secret]
    if here is not None and here.value == move.place.value:
        return None
    readers = [row for row in declared_readers(situation, move.key) if home(situation.facts, row.path) == move.root]
    declared = [(path, entry) for path, entry in entries.items() if entry is not None]
    if here is not None and here.value:
        where = secret
    elif readers:
        where = declared[0][0] if declared else readers[0].path
    else:
        return None
    candidates = [Candidate(move.key, f"{path}:{entry.line}") for path, entry in declared]
    candidates += [Candidate(move.key, _line(situation, row)) for row in readers]
    verb = "declared" if declared else "read"
    sentence = f"{move.key} is already {verb} in {where}, so its meaning is unclear"
    return Refusal(sentence, tuple(sorted(set(candidates))), "env_key", "taken")


def _template(situation: Situation, root: Root) -> str:
    """Return the file in which this root lists its variables: `.env.example`, unless it has one by another name."""
    paths = [root.join(name) for name in TEMPLATES]
    return next((path for path in paths if situation.facts.snapshot.mode(path) is not None), paths[0])


def _entry(situation: Situation, path: str, key: str) -> dotenv.Entry | None:
    text = editable(situation, path)
    return dotenv.read(text.content).get(key) if isinstance(text, Text) else None


def _line(situation: Situation, row: Row) -> str:
    text = situation.facts.text(row.path)
    return f"{row.path}:{text.lines.position(row.span[0])[0]}" if text else row.path


def _moved(move: _Move, situation: Situation) -> Planned:
    change = edited(move.program.path, _code_edits(move))
    example = declare(situation, _template(situation, move.root), move.key, "")
    value = _value_to_env(move, situation)
    follow_ups = ChangeSet(follow_ups=_follow_ups(move, situation))
    for part in (change, example, value):
        if isinstance(part, Refusal):
            return part
    assert isinstance(change, ChangeSet) and isinstance(example, ChangeSet) and isinstance(value, ChangeSet)
    return change.merged(example).merged(value).merged(follow_ups)


def _value_to_env(move: _Move, situation: Situation) -> ChangeSet | Refusal:
    """Write the value; where the program already has another one for the variable, the fallback never counted."""
    path = move.root.join(".env")
    here = _entry(situation, path, move.key)
    if here is None:
        return declare(situation, path, move.key, move.place.value)
    if here.value:
        return ChangeSet()
    text = editable(situation, path)
    assert isinstance(text, Text)
    return edited(path, dotenv.set_key(text, move.key, move.place.value, replace=True))


def _code_edits(move: _Move) -> tuple[Edit, ...]:
    """Put the read in the literal's place.

    A missing variable must never turn into an empty credential: an empty signing key signs, an empty token equals an
    empty header. So there is no `?? ""`: the read is undefined or None, or raises where `.env` is sure to be loaded,
    or where the value is needed at once and None would fail with less to say.
    """
    program, place = move.program, move.place
    content = program.text.content
    if place.fallback:
        return (_without_fallback(program, place),)
    if place.settings:
        return (_edit(content, place.whole, "None"),)
    before = place.whole[0] if place.at_import else None
    at_once = place.is_bytes or not is_roomy(content, program.language, place.whole)
    late = program.family == "python" and place.at_import and not _loads_before(move) and not at_once
    read = program.env_read(move.key, required=not late, default=None, before=before)
    code = f"{read.code}.encode()" if place.is_bytes else read.code
    return (*read.edits, _edit(content, place.whole, fitted(code, content, program.language, place.whole)))


def _without_fallback(program: Program, place: Place) -> Edit:
    """Take the literal away from beside its variable; TypeScript is told that the variable is there."""
    content = program.text.content
    if place.dropped is None:
        nothing = "None" if program.family == "python" else "undefined"
        return _edit(content, place.whole, program.quote * 2 if program.typed else nothing)
    operator = content[place.dropped[0] : place.whole[0]].strip()
    if not program.typed:
        return _edit(content, place.dropped, "")
    if operator not in ("||", "??"):  # a pattern's default or an argument: only a text fits its type
        return _edit(content, place.whole, program.quote * 2)
    outer = span_around(content, program.language, place.whole)
    code = f"{content[outer[0] : place.dropped[0]]} as string"
    return _edit(content, outer, fitted(code, content, program.language, outer))


def _edit(content: str, span: tuple[int, int], replacement: str) -> Edit:
    return Edit(span[0], span[1], content[span[0] : span[1]], replacement)


def _loads_before(move: _Move) -> bool:
    """Say whether `.env` is surely read before the literal's place is evaluated."""
    if move.loader is None:
        return False
    if move.loader.path == move.program.path:
        return move.loader.position < move.place.whole[0]
    return move.loader.early and move.loader.what != "env_file"


def _follow_ups(move: _Move, situation: Situation) -> tuple[FollowUp, ...]:
    rule, key = situation.rule.id, move.key
    where = "" if not move.root.path else f"{move.root.path}/"
    found = []
    if move.program.typed and not knows_process(situation.facts, move.program.path):
        text = f"declare @types/node for {where or 'the project'}, or the compiler does not know `process`"
        found.append(FollowUp(f"{rule}:{where}types", text, "npm install --save-dev @types/node"))
    if move.loader is None:
        text, command = start_advice(situation.facts, move.root, move.program.family, key)
        found.append(FollowUp(f"{rule}:{where}load-env", text, command))
    elif move.place.at_import and not _loads_before(move) and move.loader.what != "env_file":
        first = ', so begin with `import "dotenv/config"`' if move.program.family == "javascript" else ""
        text = f"{move.loader.path} must load .env before {move.program.path} is imported{first}"
        found.append(FollowUp(f"{rule}:{move.program.path}:order", f"{text}: it reads {key} at once"))
    found.append(FollowUp(f"{rule}:{where}{key}:set", f"set {key} wherever the program runs; {where}.env is for here"))
    found.append(
        FollowUp(
            f"{rule}:{where}{key}:rotate",
            f"rotate this credential: the value of {key} was in {move.program.path} and stays in the history",
        )
    )
    return tuple(found)
