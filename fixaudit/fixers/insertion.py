"""Steps that put statements somewhere: insert new ones, move one that is there.

Contract: the place is an anchor: a captured place of the finding, or the first or last row of a query (in run order
where the relation has one). Where a row that may not be there makes the place unclear, the fix is refused.
This module must not know of any single rule.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fixaudit.checks import Match, Vocabulary, select
from fixaudit.fixers.base import Planned, Refusal, Situation, StepKind
from fixaudit.fixers.code import IMPORTS, Spot, spot, written
from fixaudit.fixers.program import Program, open_program
from fixaudit.fixers.support import TEXT, closed, edited
from fixaudit.relations.base import Row, Truth
from fixaudit.source.ir import Span


def _anchor(written_anchor: Mapping[str, Any], situation: Situation, where: str) -> tuple[Spot, Row | None] | Refusal:
    if "capture" in written_anchor:
        found = spot(situation, written_anchor["capture"])
        return found if isinstance(found, Refusal) else (found, situation.target.row)
    row = _picked(written_anchor, situation, where)
    if isinstance(row, Refusal):
        return row
    program = open_program(situation.facts, row.path)
    if isinstance(program, Refusal):
        return program
    span = row.spans.get(written_anchor.get("on", "STATEMENT"), row.span)
    if row.values.get("CONDITIONAL") is True or row.values.get("REPEATED") is True:
        outer = _block_around(program, span)
        if outer is None:
            line = program.text.lines.position(span[0])[0]
            return Refusal(f"{row.path}:{line} does not run exactly once, so nothing is put beside it", code="shape")
        span = outer
    return Spot(program, span), row


def _block_around(program: Program, span: Span) -> Span | None:
    """Return the outermost block around a statement: what belongs behind `if (x) app.use(y)` stands behind the `if`."""
    bodies = [program.module.body, *(function.body for function in program.module.functions)]
    for body in bodies:
        for statement in body:
            if statement.span == span and statement.guards:
                _, header, block = statement.guards[0]
                return header[0], block[1]
    return None


def _picked(written_anchor: Mapping[str, Any], situation: Situation, where: str) -> Row | Refusal:
    from fixaudit.rulebook.build import query

    own = situation.target.row
    matches: list[tuple[Match, Row]] = []
    for match in select(query(written_anchor["query"]), situation.facts, Vocabulary(situation.rulebook.concepts)):
        row = match.row
        if row is None or not _same(own, row, written_anchor):
            continue
        matches.append((match, row))
    if not matches:
        return Refusal("there is no place in the code to put it at", code="none")
    if all(isinstance(row.values.get("SEQ"), int | float) for _, row in matches):
        matches.sort(key=lambda pair: float(pair[1].values["SEQ"]))  # type: ignore[arg-type]
    pick = written_anchor.get("pick", "first")
    match, row = matches[0 if pick == "first" else -1]
    # Behind a last row that perhaps is none is still behind all others; so is in front of a first one.
    outside = (pick, where) in (("first", "before"), ("last", "after"))
    if match.truth is not Truth.YES and not outside:
        return Refusal(f"{row.path}: whether this place comes first or last cannot be seen", code="shape")
    return row


def _same(own: Row | None, row: Row, written_anchor: Mapping[str, Any]) -> bool:
    if own is None:
        return True
    if written_anchor.get("same_file") and own.path != row.path:
        return False
    return all(own.values.get(column) == row.values.get(column) for column in written_anchor.get("same", ()))


def _insert(arguments: Mapping[str, Any], situation: Situation) -> Planned:
    planned = _insert_at(arguments, situation)
    if isinstance(planned, Refusal) and "otherwise" in arguments:
        second = _insert_at({"where": "after", **arguments, **arguments["otherwise"]}, situation)
        return planned if isinstance(second, Refusal) else second
    return planned


def _insert_at(arguments: Mapping[str, Any], situation: Situation) -> Planned:
    where = arguments.get("where", "after")
    found = _anchor(arguments["anchor"], situation, where)
    if isinstance(found, Refusal):
        return found
    place, row = found
    program = place.program
    columns = {name: row.text(name) for name in row.values} if row else {}
    template = "\n".join(arguments["code"]) if isinstance(arguments["code"], list) else arguments["code"]
    # What the anchor's row says counts there: the app may have another name than where the finding is.
    code = written(template, situation, program, arguments.get("imports", {}), place.span, **columns, anchor=columns)
    body = code.code.strip("\n")
    if _stands_there(program.text.content, place.span, program.styled(body)):
        return edited(program.path, ())
    edits = program.insert(place.span, where, body)
    # Imports come first: two insertions at one place keep their order.
    return edits if isinstance(edits, Refusal) else edited(program.path, (*code.edits, *edits))


def _stands_there(content: str, span: Span, code: str) -> bool:
    """Say whether the code stands around the anchor already, whatever its indentation."""
    lines = [line.strip() for line in code.split("\n") if line.strip()]
    around = [line.strip() for line in content.splitlines() if line.strip()]
    width = len(lines)
    here = len([line for line in content[: span[0]].splitlines() if line.strip()])
    reach = width + content[slice(*span)].count("\n") + 2
    for start in range(max(0, here - reach), min(len(around) - width, here + reach) + 1):
        if around[start : start + width] == lines:
            return True
    return False


def _move(arguments: Mapping[str, Any], situation: Situation) -> Planned:
    place = spot(situation, arguments["capture"])
    if isinstance(place, Refusal):
        return place
    goal = _anchor(arguments["after"], situation, "after")
    if isinstance(goal, Refusal):
        return goal
    if goal[0].program.path != place.program.path:
        return Refusal(f"{place.program.path}: the place to move to is in {goal[0].program.path}", code="shape")
    edits = place.program.move(place.span, goal[0].span)
    return edits if isinstance(edits, Refusal) else edited(place.program.path, edits)


_COLUMN = {"type": "string", "pattern": "^[A-Z][A-Z0-9_]*$"}
_ANCHOR = {
    "oneOf": [
        closed(
            ("query",),
            query={"$ref": "#/$defs/query"},
            on=_COLUMN,
            pick={"enum": ["first", "last"]},
            same={"type": "array", "items": _COLUMN},
            same_file={"type": "boolean"},
        ),
        closed(("capture",), capture=_COLUMN),
    ]
}
_CODE = {"oneOf": [TEXT, {"type": "array", "items": TEXT, "minItems": 1}]}

STEPS = (
    StepKind(
        "insert",
        "Insert statements before or after (the default) an anchor's statement; where none can stand there (beside the "
        "field of a class), at the anchor of `otherwise`. Columns are those of the anchor's row.",
        closed(
            ("anchor", "code"),
            anchor=_ANCHOR,
            where={"enum": ["before", "after"]},
            code=_CODE,
            imports=IMPORTS,
            otherwise=closed(("anchor",), anchor=_ANCHOR, where={"enum": ["before", "after"]}),
        ),
        _insert,
        ("code", "imports"),
    ),
    StepKind(
        "move",
        "Move a captured statement behind an anchor of the same block; refused where names would change their meaning.",
        closed(("capture", "after"), capture=_COLUMN, after=_ANCHOR),
        _move,
    ),
)
