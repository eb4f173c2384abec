"""The JSON Schema of rules, concepts, stacks and data files, made from the registries of relations, steps and filters.

Contract: closed everywhere, so that a misspelt key is never ignored; one alternative per `oneOf` is told from the
others by its type or by the first key of `required` (see `validate`). Nothing about a single relation or step is
written here: a new one appears in the schema by being registered.
`fixaudit/schemas/rule.schema.json` is this schema, for editors: `python -m fixaudit.rulebook.reference` writes it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from fixaudit.relations import base, registry
from fixaudit.rulebook.rule import FIX_TYPES, PRIORITIES
from fixaudit.rulebook.schema_parts import (
    ADDED,
    ANY_TEXT,
    COLUMN,
    FLAG,
    GLOBS,
    LANGUAGES,
    NAME_PATTERN,
    REFUSALS,
    SCALAR_TYPES,
    TEXT,
    TEXTS,
    Schema,
    closed,
    mapping,
    ref,
    union,
)
from fixaudit.rulebook.schema_vocabulary import concept_schema, packages_schema, runtimes_schema, stacks_schema
from fixaudit.rulebook.template import FILTERS

# Queries -------------------------------------------------------------------------------------------------------------

_SCALARS: Schema = union({"type": SCALAR_TYPES}, {"type": "array", "items": {"type": SCALAR_TYPES}, "minItems": 1})
_OPERANDS: Mapping[str, Mapping[str, Any]] = {
    "regex": {"type": "string", "minLength": 1},
    "is": _SCALARS,
    "present": FLAG,
    "less": {"type": "number"},
    "more": {"type": "number"},
    "contains": TEXT,
    "starts": TEXT,
    "ends": TEXT,
    "may_be": _SCALARS,
    "could_be": _SCALARS,
    "env": FLAG,
    "complete": FLAG,
}
"""What each test takes, of columns and of values alike; `not` and `option` hold tests again."""

_TESTS_OF_TYPE: Mapping[str, tuple[str, ...]] = {
    "text": ("regex", "not", "is", "present", "contains", "starts", "ends"),
    "number": ("not", "is", "present", "less", "more"),
    "flag": ("not", "is", "present"),
    "set": ("regex", "not", "is", "present", "contains", "starts", "ends"),
}


def column_tests() -> Mapping[str, tuple[str, ...]]:
    """Return which tests each type of column knows, for the documentation."""
    return _TESTS_OF_TYPE


def column_test(column: base.Column) -> Schema:
    """Return what a rule may ask of a column: a scalar, a list of scalars (one of them), or a mapping of tests."""
    if not column.values:
        return ref(f"{column.type}_test")
    return _column_test(column.type, column.values)


def _column_test(kind: str, values: tuple[str, ...] = (), inner: Schema | None = None) -> Schema:
    json_type = {"number": "number", "flag": "boolean"}.get(kind, "string")
    scalar: Schema = {"enum": list(values)} if values else {"type": json_type}
    scalars = (scalar, {"type": "array", "items": scalar, "minItems": 1})
    nothing = () if kind in ("set", "flag") else ({"type": "null"},)
    tests: Schema = {}
    for name in _TESTS_OF_TYPE[kind]:
        if name == "is":
            tests[name] = union(*scalars)
        elif name == "not":
            tests[name] = inner or union(*scalars, *nothing, _tests_without_not(kind, scalars))
        else:
            tests[name] = _OPERANDS[name]
    return union(*scalars, *nothing, {**closed((), **tests), "minProperties": 1})


def _tests_without_not(kind: str, scalars: tuple[Schema, ...]) -> Schema:
    tests = {name: _OPERANDS[name] for name in _TESTS_OF_TYPE[kind] if name not in ("is", "not")}
    return {**closed((), **tests, **{"is": union(*scalars)}), "minProperties": 1}


def _value_test() -> Schema:
    tests: Schema = {}
    for name in base.VALUE_TESTS:
        if name == "not":
            tests[name] = ref("value_test")
        elif name == "option":
            tests[name] = mapping(ref("value_test"))
        else:
            tests[name] = _OPERANDS[name]
    return union(
        {"type": SCALAR_TYPES},
        {"type": "array", "items": {"type": SCALAR_TYPES}, "minItems": 1},
        {**closed((), **tests), "minProperties": 1},
    )


_POSITION: Schema = {"pattern": r"^(0|[1-9][0-9]?)$", "description": "an argument's position, from 0"}


def relation_filters(relation: base.Relation) -> Schema:
    """Return the closed object behind a relation's name in a query: columns, options and nested values."""
    properties: Schema = {name.lower(): column_test(column) for name, column in sorted(relation.columns.items())}
    properties |= {name: dict(option.schema) for name, option in sorted(relation.options.items())}
    for name in relation.nested:
        properties[name] = mapping(ref("value_test"), _POSITION if name == "argument" else None)
    required = tuple(name for name, option in relation.options.items() if option.required)
    return {**closed(required, **properties), "description": relation.doc}


_SIBLINGS: Mapping[str, Schema] = {"priority": {"enum": list(PRIORITIES)}, "in_files": ref("query")}


def _queries() -> Schema:
    languages: Schema = union(
        {"enum": list(LANGUAGES)}, {"type": "array", "items": {"enum": list(LANGUAGES)}, "minItems": 1}
    )
    matcher: dict[str, Schema] = {
        "rule": {"type": "object", "minProperties": 1},
        "constraints": {"type": "object"},
        "utils": {"type": "object"},
        "transform": {"type": "object"},
    }
    raw = {
        "ast": closed(("language", "rule"), language=languages, **matcher),
        "regex": closed(("pattern", "files"), pattern=TEXT, files=TEXTS),
        "concept": TEXT,
        "any": {"type": "array", "items": ref("query"), "minItems": 1},
    }
    native = {name: ref(f"relation.{name}") for name in registry()}
    return union(*(closed((name,), **{name: what}, **_SIBLINGS) for name, what in sorted({**raw, **native}.items())))


# Checks, parameters, fixes -------------------------------------------------------------------------------------------

_QUESTIONS: Mapping[str, tuple[tuple[str, ...], Schema]] = {
    "forbid": (("forbid",), {"forbid": ref("query")}),
    "require": (("require",), {"require": ref("query")}),
    "every": (
        ("every", "has", "on"),
        {
            "every": ref("query"),
            "has": ref("query"),
            "on": {**mapping(COLUMN, COLUMN), "minProperties": 1},
            "before": COLUMN,
            "after": COLUMN,
        },
    ),
    "count": (("count",), {"count": ref("query"), "at_least": {"type": "integer"}, "at_most": {"type": "integer"}}),
    "agree": (("agree", "on"), {"agree": ref("query"), "on": COLUMN}),
}


def _check() -> Schema:
    common: Schema = {
        "subject": ref("query"),
        "per": {"enum": ["match", "file", "root"]},
        "at": TEXT,
        "message": TEXT,
    }
    return union(*(closed((*required, "message"), **own, **common) for required, own in _QUESTIONS.values()))


def _clause() -> Schema:
    common: Schema = {"id": {"type": "string", "pattern": r"^[a-z][a-z0-9-]*$", "description": "a-z, 0-9 and -"}}
    question: Schema = {**common, "in": TEXT, "subject": ref("query"), "message": TEXT}
    kinds = [
        closed((*required, "id"), **own, **question) for required, own in _QUESTIONS.values() if "agree" not in own
    ]
    return union(
        *kinds,
        closed(
            ("preserve", "id"),
            preserve=ref("query"),
            columns={"type": "array", "items": COLUMN, "minItems": 1},
            **common,
        ),
        closed(("unchanged", "id"), unchanged=TEXTS, **common),
        closed(("forbid_added", "id"), forbid_added={**TEXTS, "items": {"enum": list(ADDED)}}, **common),
    )


_THROUGH: Schema = {"type": "array", "items": {"enum": sorted(FILTERS)}, "minItems": 1}


def _parameter() -> Schema:
    refuse = mapping(TEXT, {"enum": list(REFUSALS)})
    accept = {**closed((), regex=TEXT, exists={"enum": ["file"]}), "minProperties": 1}
    source = union(
        closed(("capture",), capture=COLUMN, through=_THROUGH),
        closed(("rows", "column"), rows=ref("query"), column=COLUMN, values=mapping(ANY_TEXT), through=_THROUGH),
        closed(("value",), value={"type": ["string", "number", "boolean"]}, through=_THROUGH),
        closed(("release",), release={"enum": ["node", "python"], "description": "the runtime release to use"}),
    )
    tier: Schema = {"type": "array", "items": source, "minItems": 1}
    scalar: Schema = {"type": ["string", "number", "boolean"]}
    value = union(scalar, {"type": "array", "items": scalar})
    return union(
        closed(("value",), value=value),
        closed(("lookup", "by"), lookup=mapping(value), by=TEXT, optional=FLAG, refuse=refuse),
        closed(
            ("tiers",),
            tiers={"type": "array", "items": tier, "minItems": 1}, accept=accept, optional=FLAG, refuse=refuse,
        ),
    )  # fmt: skip


def _steps() -> Mapping[str, Mapping[str, Any]]:
    from fixaudit import fixers

    return {name: kind.schema for name, kind in fixers.registry().items()}


_SAFETY: Schema = {"enum": ["safe", "unsafe"]}
_FOLLOW_UPS: Schema = {"type": "array", "items": closed(("text",), text=TEXT, command=TEXT)}
_STEPS: Schema = {"type": "array", "items": ref("step"), "minItems": 1}
_PARAMETERS: Schema = mapping(ref("parameter"), {"pattern": NAME_PATTERN, "description": "a name in lower case"})


def _example() -> Schema:
    tree = {**mapping(ref("file"), {"pattern": r"^(?!/)(?!.*(^|/)\.\.?(/|$)).+", "description": "a relative path"})}
    name: Schema = {"name": TEXT, "stack": TEXT}
    found = closed(("path",), path=TEXT, at=TEXT, priority={"enum": list(PRIORITIES)})
    bad: Schema = {**name, "bad": tree, "finds": {"type": "array", "items": found}}
    refused = closed(
        ("code",),
        code={"enum": [*REFUSALS, "taken", "shape", "lockfile", "refused"]},
        parameter=TEXT, candidates={"type": "array", "items": ANY_TEXT}, reason=TEXT,
    )  # fmt: skip
    return union(
        closed(("good", "name"), good=tree, undecided=FLAG, verdict={"enum": ["PASS", "NOT_APPLICABLE"]}, **name),
        closed(("fixed", "name", "bad"), fixed=tree, **bad),
        closed(("refused", "name", "bad"), refused=refused, **bad),
        closed(("deferred", "name", "bad"), deferred=TEXT, **bad),
        closed(
            ("accepts", "name", "bad", "rejects"),
            accepts={"type": "array", "items": tree, "minItems": 1},
            rejects={"type": "array", "items": closed(("clause", "edit"), clause=TEXT, edit=tree), "minItems": 1},
            **bad,
        ),
    )


def _file_form() -> Schema:
    common: Schema = {"mode": {"enum": ["644", "755"]}, "tracked": FLAG, "ignored": FLAG}
    return union(
        ANY_TEXT,
        closed(("content",), content=ANY_TEXT, **common),
        closed(("base64",), base64=ANY_TEXT, **common),
        closed(("link",), link=TEXT, tracked=FLAG),
        closed(("absent",), absent={"const": True}),
        closed(("untracked",), untracked={"const": True}),  # of `fixed` alone: as it was, but not in git's index
    )


def _variant() -> Schema:
    return closed(
        (),
        stacks=TEXTS,
        languages={**TEXTS, "items": {"enum": list(LANGUAGES)}},
        check=ref("check"), steps=_STEPS, parameters=_PARAMETERS, follow_ups=_FOLLOW_UPS, safety=_SAFETY,
    )  # fmt: skip


def _rule() -> Schema:
    cwe: Schema = {"pattern": r"^CWE-[0-9]+$", "type": "string", "description": "a name like CWE-798"}
    clauses: Schema = {"type": "array", "items": ref("clause"), "minItems": 1}
    docs = closed(
        ("what", "why"),
        what=TEXT,
        why=TEXT,
        safety=TEXT,
        references=TEXTS,
        cwe=union(cwe, {"type": "array", "items": cwe}),
    )
    boundary = closed(
        ("edit", "create", "delete", "files_at_most", "lines_at_most"),
        edit=GLOBS, create=GLOBS, delete=GLOBS,
        files_at_most={"type": "integer", "minimum": 1}, lines_at_most={"type": "integer", "minimum": 1},
    )  # fmt: skip
    return closed(
        ("id", "title", "priority", "fix_type", "docs", "examples"),
        id={"type": "string", "pattern": r"^[A-Z]{2,10}-[0-9]{3}$", "description": "a name like SEC-003"},
        title=TEXT,
        priority={"enum": list(PRIORITIES)},
        fix_type={"enum": list(FIX_TYPES)},
        scope={"enum": ["root", "repository"]},
        applies=closed((), stacks=TEXTS, when=ref("query")),
        docs=docs,
        check=ref("check"),
        parameters=_PARAMETERS,
        fix=closed(("title", "safety"), title=TEXT, safety=_SAFETY, steps=_STEPS, follow_ups=_FOLLOW_UPS),
        delegate=closed(
            ("goal", "requirement", "boundary", "forbidden"),
            goal=TEXT, requirement=clauses, boundary=boundary, forbidden=clauses,
        ),
        clauses=clauses,
        variants=mapping(ref("variant"), {"pattern": r"^[a-z][a-z0-9_-]*$", "description": "a name in lower case"}),
        examples={"type": "array", "items": ref("example"), "minItems": 1},
        equivalent_mutants=mapping(TEXT),
    )  # fmt: skip


_TOPS: Mapping[str, Callable[[], Schema]] = {
    "rule": _rule,
    "concept": concept_schema,
    "stacks": stacks_schema,
    "runtimes": runtimes_schema,
    "packages": packages_schema,
}


@cache
def schema_for(kind: str) -> Schema:
    """Return the schema of a file: "rule", "concept", "stacks", "runtimes" or "packages"."""
    top = _TOPS[kind]
    definitions = {
        "query": _queries(),
        "value_test": _value_test(),
        **{f"{name}_test": _column_test(name) for name in _TESTS_OF_TYPE},
        **{f"relation.{name}": relation_filters(relation) for name, relation in registry().items()},
        "check": _check(),
        "clause": _clause(),
        "parameter": _parameter(),
        "step": union(*(closed((name,), **{name: schema}) for name, schema in _steps().items())),
        "variant": _variant(),
        "example": _example(),
        "file": _file_form(),
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"fixaudit {kind}",
        **top(),
        "$defs": definitions if kind in ("rule", "stacks") else {},
    }


SCHEMA_FILE = Path(__file__).parent.parent / "schemas" / "rule.schema.json"


def shipped_text() -> str:
    """Return the text that `schemas/rule.schema.json` must have."""
    return json.dumps(schema_for("rule"), indent=1, ensure_ascii=False) + "\n"
