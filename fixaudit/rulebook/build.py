"""Make rule values out of validated YAML values.

Contract: pure; the input has passed its schema, so nothing is checked here. This module must not know of files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fixaudit.relations import registry
from fixaudit.rulebook.rule import (
    Boundary,
    Check,
    Clause,
    Concept,
    Contract,
    Example,
    Fix,
    Parameter,
    Query,
    Rule,
    Source,
    Stack,
    Step,
    Variant,
)

QUESTIONS = ("forbid", "require", "every", "count", "agree")
SIBLINGS = ("priority", "in_files")

Written = Mapping[str, Any]


def kind_of(written: Written) -> str:
    """Return the relation's name of a query as written, or "any", "ast", "regex", "concept"."""
    return next(key for key in written if key not in SIBLINGS)


def query(written: Written) -> Query:
    """Build a query. Keys of a relation's object are options when the relation has an option of that name."""
    name = kind_of(written)
    body = written[name]
    in_files = query(written["in_files"]) if "in_files" in written else None
    priority = written.get("priority")
    if name == "any":
        return Query(any=tuple(query(inner) for inner in body), priority=priority, in_files=in_files)
    if name == "concept":
        return Query(name, options={"name": body}, priority=priority, in_files=in_files)
    if name in ("ast", "regex"):
        return Query(name, options=dict(body), priority=priority, in_files=in_files)
    declared = registry()[name].options
    options = {key: value for key, value in body.items() if key in declared}
    filters = {key: value for key, value in body.items() if key not in declared}
    return Query(name, filters, options, priority=priority, in_files=in_files)


def check(written: Written, message: str = "") -> Check:
    """Build a check, or the check inside a clause."""
    kind = next(key for key in QUESTIONS if key in written)
    return Check(
        kind,
        query(written[kind]),
        written.get("message", message),
        has=query(written["has"]) if "has" in written else None,
        on=dict(written["on"]) if kind == "every" else {},
        before=written.get("before"),
        after=written.get("after"),
        at_least=written.get("at_least"),
        at_most=written.get("at_most"),
        agree_on=written["on"] if kind == "agree" else None,
        subject=query(written["subject"]) if "subject" in written else None,
        per=written.get("per", "match"),
        at=written.get("at"),
    )


def _source(written: Written) -> Source:
    through = tuple(written.get("through", ()))
    if "capture" in written:
        return Source("capture", capture=written["capture"], through=through)
    if "rows" in written:
        values = dict(written.get("values", {}))
        return Source("rows", query=query(written["rows"]), column=written["column"], values=values, through=through)
    if "release" in written:
        return Source("release", value=written["release"])
    return Source("value", value=written["value"], through=through)


def _parameters(written: Written) -> dict[str, Parameter]:
    return {
        name: Parameter(
            name,
            value=entry.get("value"),
            lookup=entry.get("lookup"),
            by=entry.get("by"),
            tiers=tuple(tuple(_source(source) for source in tier) for tier in entry.get("tiers", ())),
            accept=entry.get("accept", {}),
            optional=entry.get("optional", False),
            refuse=entry.get("refuse", {}),
        )
        for name, entry in written.items()
    }


def _steps(written: Sequence[Written]) -> tuple[Step, ...]:
    return tuple(Step(kind, arguments) for entry in written for kind, arguments in entry.items())


def _clause(written: Written) -> Clause:
    name = written["id"]
    if "preserve" in written:
        return Clause(name, "preserve", query=query(written["preserve"]), columns=tuple(written["columns"]))
    if "unchanged" in written:
        return Clause(name, "unchanged", globs=tuple(written["unchanged"]))
    if "forbid_added" in written:
        return Clause(name, "forbid_added", added=tuple(written["forbid_added"]))
    asked = check(written, f"{name} does not hold")
    return Clause(name, asked.kind, check=asked, in_path=written.get("in"))


def _contract(written: Written) -> Contract:
    limits = written["boundary"]
    return Contract(
        written["goal"],
        tuple(_clause(entry) for entry in written["requirement"]),
        Boundary(
            tuple(limits["edit"]),
            tuple(limits["create"]),
            tuple(limits["delete"]),
            limits["files_at_most"],
            limits["lines_at_most"],
        ),
        tuple(_clause(entry) for entry in written["forbidden"]),
    )


def _variant(name: str, written: Written) -> Variant:
    return Variant(
        name,
        tuple(written.get("stacks", ())),
        tuple(written.get("languages", ())),
        check(written["check"]) if "check" in written else None,
        _steps(written.get("steps", ())),
        _parameters(written.get("parameters", {})),
        tuple(written["follow_ups"]) if "follow_ups" in written else None,
        written.get("safety"),
    )


def _fix(written: Written) -> Fix:
    return Fix(
        written["title"],
        written["safety"],
        _steps(written.get("steps", ())),
        tuple(written.get("follow_ups", ())),
    )


EXAMPLE_KINDS = {
    "good": "good", "fixed": "fixed", "refused": "refused", "deferred": "deferred", "accepts": "delegated",
}  # fmt: skip


def example(written: Written, line: int) -> Example:
    """Build an example; `line` is where it stands in its file."""
    kind = next(kind for key, kind in EXAMPLE_KINDS.items() if key in written)
    return Example(
        written["name"],
        kind,
        written["good" if kind == "good" else "bad"],
        stack=written.get("stack"),
        finds=tuple(written["finds"]) if "finds" in written else None,
        fixed=written.get("fixed", {}),
        refused=written.get("refused", {}),
        deferred=written.get("deferred"),
        accepts=tuple(written.get("accepts", ())),
        rejects=tuple(written.get("rejects", ())),
        undecided=written.get("undecided", False),
        verdict=written.get("verdict"),
        line=line,
    )


def rule(written: Written, path: str, digest: str, lines: Sequence[int]) -> Rule:
    """Build a rule; `lines` are those of its examples."""
    applies = written.get("applies", {})
    variants = written.get("variants", {})
    return Rule(
        written["id"],
        written["title"],
        written["priority"],
        written["fix_type"],
        written["docs"],
        check(written["check"]) if "check" in written else None,
        scope=written.get("scope", "root"),
        stacks=tuple(applies.get("stacks", ())),
        when=query(applies["when"]) if "when" in applies else None,
        parameters=_parameters(written.get("parameters", {})),
        fix=_fix(written["fix"]) if "fix" in written else None,
        contract=_contract(written["delegate"]) if "delegate" in written else None,
        clauses=tuple(_clause(entry) for entry in written.get("clauses", ())),
        variants=tuple(_variant(name, entry) for name, entry in variants.items()),
        examples=tuple(example(entry, line) for entry, line in zip(written["examples"], lines, strict=True)),
        equivalent_mutants=written.get("equivalent_mutants", {}),
        path=path,
        digest=digest,
    )


def stack(name: str, written: Written) -> Stack:
    """Build a stack."""
    implies = written.get("implies", ())
    return Stack(
        name,
        written.get("language"),
        (implies,) if isinstance(implies, str) else tuple(implies),
        tuple(query(entry) for entry in written["detect"]),
        written.get("facts", {}),
        written.get("assessed", True),
        tuple(written.get("unless", ())),
    )


def concept(written: Written) -> Concept:
    """Build a concept."""
    return Concept(
        written["concept"],
        written["means"],
        tuple(written["binds"]),
        written["languages"],
        tuple(written["examples"]),
        tuple(written.get("unquote", ())),
        tuple(written.get("sensitive", ())),
    )
