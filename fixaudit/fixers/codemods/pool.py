"""The codemod shared_pool: connections come from one pool that the module makes once.

Contract: three shapes are changed, each only where every use of the name is understood: a pool or engine made for each
request moves to the module's top level; one client that all requests share becomes a pool; a client made for each
request becomes a query of a shared pool, or a connection that is lent by it and given back. Everything else is refused
with what a person should do.
This module must not know which calls are wrong; it takes a row of the relation `call`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fixaudit.fixers.base import Planned, Refusal, Situation
from fixaudit.fixers.codemods.pool_calls import CALLEES, DRIVERS, Library, pool_call, statement_problem
from fixaudit.fixers.codemods.pool_placing import placed
from fixaudit.fixers.codemods.pool_uses import Made, Use, anchor_of, awaits, cut, joined, made_at, removed
from fixaudit.fixers.program import open_program
from fixaudit.fixers.support import edited, fill
from fixaudit.relations.base import Row
from fixaudit.snapshot import ChangeSet, FollowUp
from fixaudit.source.ir import Statement
from fixaudit.text import Edit

_LISTENER = """
// A connection that breaks while idle is replaced; without a listener it would end the process.
{name}.on({quote}error{quote}, () => {{}}){end}"""
"""A pool of `pg` keeps idle connections and emits their errors; a client for each request had none."""


def shared_pool(arguments: Mapping[str, Any], situation: Situation) -> Planned:
    """Make the connections of the finding's call come from one shared pool of the database `driver`."""
    row = situation.target.row
    if row is None:
        return Refusal("the finding points at no connection", code="shape")
    callee = row.text("CALLEE")
    wanted, spoken = str(fill(arguments.get("driver", ""), situation)), DRIVERS.get(callee.partition("#")[0], "")
    if wanted and spoken and wanted != spoken:
        return Refusal(f"{_place(situation, row)}: this is a connection to {spoken}, not to {wanted}", code="shape")
    program = open_program(situation.facts, row.path)
    if isinstance(program, Refusal):
        return program
    library = CALLEES.get(callee)
    if library is None:
        return _refused(situation, row, f"no shared pool can be put in place of {row.text('NAME')} mechanically")
    made = made_at(program, row.span)
    if isinstance(made, str):
        return _refused(situation, row, made)
    if library.makes_pool:
        found = _hoisted(made, library, situation)
    elif made.scope is None:
        found = _shared_client(made, library, situation)
    else:
        found = _request_client(made, library, situation)
    return _refused(situation, row, found) if isinstance(found, str) else found


def _place(situation: Situation, row: Row) -> str:
    text = situation.facts.text(row.path)
    return f"{row.path}:{text.lines.position(row.span[0])[0]}" if text else row.path


def _refused(situation: Situation, row: Row, why: str) -> Refusal:
    return Refusal(f"{_place(situation, row)}: {why}, so a person must make the pool shared", code="shape")


# A pool or engine made for each request ------------------------------------------------------------------------------


def _hoisted(made: Made, library: Library, situation: Situation) -> ChangeSet | str:
    problem = _unsteady(made, library)
    anchor = anchor_of(made)
    if problem is not None or anchor is None:
        return problem or "it does not stand in a plain function of the module"
    if awaits(made.call, made.content) != made.call.span:
        return "a pool that must be awaited cannot be made when the module is loaded"
    taken = cut(made, made.statement)
    if isinstance(taken, str):
        return taken
    code, edit = taken
    edits = [edit]
    closed = _closings(made, library, [use for use in made.uses if use.method in library.close])
    if isinstance(closed, str):
        return closed
    edits += closed
    right = made.content[slice(*made.call.span)]
    found_place = placed(made, anchor, lambda _: code, right, made.name, situation)
    if isinstance(found_place, str):
        return found_place
    name, more, follow_ups = found_place
    gone = {use.span for use in made.uses if use.method in library.close}
    if name != made.name:
        edits += [_rename(made, use, name) for use in made.uses if use.span not in gone]
    return _change(made, [*edits, *more], follow_ups)


def _unsteady(made: Made, library: Library) -> str | None:
    """Say why the uses of a pool do not allow to move it."""
    if made.scope is None:
        return "it is made when the module is loaded"
    if any(guard[0] != "try" for guard in made.statement.guards):
        return "it is made under a condition"
    for use in made.uses:
        if use.method is None:
            return f"{made.name} is handed on"
        if use.method in library.close and not use.alone:
            return f"{made.name} is closed in a way that is not followed"
        if use.method in ("on", "once", "add_listener"):
            return f"{made.name} gets a listener for each request"
    return None


def _closings(made: Made, library: Library, closings: list[Use]) -> list[Edit] | str:
    edits: list[Edit] = []
    for use in closings:
        statement = use.site.statement
        assert statement is not None
        found = removed(made, statement)
        if isinstance(found, str):
            clause = _finally_clause(made, statement)
            if isinstance(clause, str):
                return clause
            edits.append(clause)
        else:
            edits += found
    return edits


def _finally_clause(made: Made, statement: Statement) -> Edit | str:
    """Remove a whole `finally` that only closes, where a `catch` keeps the `try` a statement."""
    if made.program.family == "python" or not statement.guards or statement.guards[-1][0] != "finally":
        return "a block would be left empty"
    _, header, block = statement.guards[-1]
    before = made.content[: header[0]].rstrip()
    comments = any(header[0] <= comment.span[0] < block[1] for comment in made.scopes.module.comments)
    if comments or not _has_catch(made, statement):
        return "a `finally` would be left empty"
    return Edit(len(before), block[1], made.content[len(before) : block[1]], "")


def _has_catch(made: Made, statement: Statement) -> bool:
    from fixaudit.source.javascript_edit import node_at
    from fixaudit.source.javascript_style import tree_of

    node = node_at(tree_of(made.content, made.program.language).root, statement.span)
    while node is not None and node.kind() != "try_statement":
        parent = node.parent()
        if parent is None:
            return False
        node = parent
    return node.field("handler") is not None


# One client that every request shares --------------------------------------------------------------------------------


def _shared_client(made: Made, library: Library, situation: Situation) -> ChangeSet | str:
    if made.statement.guards or "export" in made.statement.keyword:
        return f"{made.name} is used by other files, too" if not made.statement.guards else "it is made in a block"
    edits: list[Edit] = []
    for use in made.uses:
        if use.method is None:
            return f"{made.name} is handed on"
        if use.method == "connect" and use.alone:
            assert use.site.statement is not None
            found = removed(made, use.site.statement)
            if isinstance(found, str):
                return found
            edits += found
        elif use.method in library.queries:
            if (problem := statement_problem(made, use, situation)) is not None:
                return problem
        elif use.method != "end" and not (use.method == "on" and library.pool == "Pool"):
            return f"{made.name}.{use.method} may need the one connection"
    pool = pool_call(made, library, situation)
    if isinstance(pool, str):
        return pool
    right, more = pool
    whole = awaits(made.call, made.content)
    return _change(made, [*edits, *more, Edit(*whole, made.content[slice(*whole)], right)], ())


# A client for each request -------------------------------------------------------------------------------------------


def _request_client(made: Made, library: Library, situation: Situation) -> ChangeSet | str:
    anchor = anchor_of(made)
    if anchor is None or any(guard[0] != "try" for guard in made.statement.guards):
        return "it is not made in a plain function of the module"
    connects = [use for use in made.uses if use.method == "connect"]
    ends = [use for use in made.uses if use.method == "end"]
    for use in made.uses:
        if use.method is None or use.site.scope != made.scope:
            return f"{made.name} is handed on"
        if use.method in ("connect", "end"):
            if not use.alone:
                return f"{made.name}.{use.method} is called in a way that is not followed"
        elif use.method not in library.queries:
            return f"{made.name}.{use.method} may need a connection of its own"
        elif (problem := statement_problem(made, use, situation)) is not None:
            return problem
    if len(connects) > 1 or (library.pool == "Pool" and not connects):
        return f"how {made.name} connects is not followed"
    pool = pool_call(made, library, situation)
    if isinstance(pool, str):
        return pool
    right, more = pool
    lent = len(ends) == 1 and _is_lent(made, ends[0])
    if lent and library.pool != "Pool" and awaits(made.call, made.content) == made.call.span:
        return f"{made.name} is closed in a `finally`"
    edits = list(more)
    for use in connects:
        assert use.site.statement is not None
        found = removed(made, use.site.statement)
        if isinstance(found, str):
            return found
        edits += found
    end = ";" if made.program.style.semicolons else ""
    above = ""
    if not lent:
        taken = cut(made, made.statement)
        closed = _closings(made, library, ends)
        if isinstance(taken, str) or isinstance(closed, str):
            return taken if isinstance(taken, str) else str(closed)
        edits += [taken[1], *closed]
        above = "".join(f"{line}\n" for line in taken[0].split("\n") if line.lstrip().startswith("//"))

    def written(name: str) -> str:
        code = f"{above}const {name} = {right}{end}"
        return code + (_LISTENER.format(name=name, end=end, quote=made.program.quote) if library.pool == "Pool" else "")

    found_place = placed(made, anchor, written, right, "pool", situation)
    if isinstance(found_place, str):
        return found_place
    name, new, follow_ups = found_place
    if lent:
        whole = awaits(made.call, made.content)
        edits.append(Edit(*whole, made.content[slice(*whole)], f"await {name}.{library.lend}()"))
        statement = ends[0].site.statement
        assert statement is not None and ends[0].call is not None
        whole = awaits(ends[0].call, made.content)
        start = min(whole[0], statement.span[0])
        edits.append(Edit(start, whole[1], made.content[start : whole[1]], f"{made.name}.release()"))
    else:
        edits += [_rename(made, use, name) for use in made.uses if use.method in library.queries]
    return _change(made, [*edits, *new], follow_ups)


def _is_lent(made: Made, end: Use) -> bool:
    """Whether the client is surely given back: it ends in a `finally` that no `catch` stands beside."""
    statement = end.site.statement
    if statement is None or not statement.guards or statement.guards[-1][0] != "finally":
        return False
    return not _has_catch(made, statement)


def _rename(made: Made, use: Use, name: str) -> Edit:
    return Edit(*use.span, made.content[slice(*use.span)], name)


def _change(made: Made, edits: list[Edit], follow_ups: tuple[FollowUp, ...]) -> ChangeSet | str:
    found = edited(made.program.path, joined(edits, made.content))
    if isinstance(found, Refusal):
        return found.sentence
    return found.merged(ChangeSet(follow_ups=follow_ups))
