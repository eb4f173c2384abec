"""Where a shared pool is put: above the statement that needs it, at the module's top level, once.

Contract: pure; a place at which the pool would not mean what it meant is a sentence for a refusal.
This module must not know of drivers.
"""

from __future__ import annotations

from collections.abc import Callable

from fixaudit.fixers.base import Situation
from fixaudit.fixers.codemods.pool_uses import Made, is_free, stays_put
from fixaudit.fixers.environment import home, loader
from fixaudit.fixers.program import Program
from fixaudit.relations import registry
from fixaudit.snapshot import FollowUp
from fixaudit.source.ir import Call, Expr, Member, Statement
from fixaudit.text import Edit


def placed(
    made: Made,
    anchor: Statement,
    written: Callable[[str], str],
    right: str,
    name: str,
    situation: Situation,
) -> tuple[str, list[Edit], tuple[FollowUp, ...]] | str:
    """Put the pool above the statement that needs it, or find the one that is there: (its name, edits, follow-ups)."""
    for argument in made.call.arguments:
        if (problem := stays_put(made, argument.value, anchor)) is not None:
            return problem
    if (problem := stays_put(made, _head(made.call.callee), anchor)) is not None:
        return problem
    early = _too_early(made, anchor, situation)
    if isinstance(early, str):
        return early
    if (known := _known(made, anchor, right)) is not None:
        return (known, [], ()) if _visible(made, known) else f"{known} means something else there"
    free = is_free(made, name) and (name == made.name or _visible(made, name))
    if not free:
        if name == made.name:
            return f"the name {name} is taken at the top of the module"
        from fixaudit.source.javascript_style import free_name

        name = free_name(made.scopes.module, "databasePool")
    edits = _inserted(made.program, anchor, written(name))
    return (name, edits, early) if isinstance(edits, list) else edits


def _known(made: Made, anchor: Statement, right: str) -> str | None:
    """Return the name of a pool that the module's top level makes already, in the same words."""
    for statement in made.scopes.module.body:
        name = statement.targets[0].name if len(statement.targets) == 1 else None
        if name is None or statement.guards or statement.span[1] > anchor.span[0]:
            continue
        value = statement.value
        same = isinstance(value, Call) and made.content[slice(*value.span)] == right
        if same and len(made.scopes.tables[None][name].values) == 1:
            return name
    return None


def _head(callee: Expr) -> Expr:
    while isinstance(callee, Member):
        callee = callee.object
    return callee


def _visible(made: Made, name: str) -> bool:
    """Whether a name of the module's top level is seen from everywhere the connection is used."""
    own = made.scopes.lookup(name, made.scope)
    return own is None or own.scope is None or own is made.binding


def _inserted(program: Program, anchor: Statement, code: str) -> list[Edit] | str:
    if program.family == "python":
        found = program.insert(anchor.span, "before", code)
        return list(found) if isinstance(found, tuple) else found.sentence
    from fixaudit.source.javascript_edit import insert_statement

    edits = insert_statement(program.text, program.module, anchor.span, "before", code)
    if edits is None:
        return "there is no place for a statement above it"
    newline = program.text.newline
    return [
        Edit(e.start, e.end, e.expected, e.replacement + (newline if e.replacement.endswith(newline) else ""))
        for e in edits
    ]


def _too_early(made: Made, anchor: Statement, situation: Situation) -> tuple[FollowUp, ...] | str:
    """Say when the options would be read before `.env` is; name the variables that must be there at the start."""
    program = made.program
    rows = [
        row
        for row in situation.facts.rows(registry()["env_read"])
        if row.path == program.path and made.call.span[0] <= row.span[0] < made.call.span[1]
    ]
    if not rows:
        return ()
    key = rows[0].text("KEY")
    found = loader(situation.facts, home(situation.facts, program.path), program.family)
    if found is not None and found.what != "env_file":
        before = found.position < anchor.span[0] if found.path == program.path else found.early
        if not before:
            return f"{key} would be read before {found.path} has loaded .env"
    if program.family == "python" and any(row.values.get("REQUIRED") is True for row in rows):
        text = f"{key} must be set when {program.path} is imported: the engine is made then"
        return (FollowUp(f"{situation.rule.id}:{program.path}:{key}", text),)
    return ()
