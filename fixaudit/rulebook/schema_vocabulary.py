"""JSON Schemas of what rules quote: concepts, stacks, and the dated data of runtimes and packages.

Contract: closed everywhere, as in `schema`. This module must not know of rules.
"""

from __future__ import annotations

from fixaudit.rulebook.schema_parts import (
    ANY_TEXT,
    COLUMN,
    FLAG,
    LANGUAGES,
    TEXT,
    TEXTS,
    Schema,
    closed,
    mapping,
    ref,
    union,
)


def concept_schema() -> Schema:
    """Return the schema of `concepts/NAME.yaml`."""
    language = closed(
        ("match",),
        match={"type": "object", "minProperties": 1},
        render=TEXT,
        needs_import=closed(("module",), module=TEXT, name=TEXT),
    )
    example = union(
        closed(("recognised", "language"), recognised=TEXT, language={"enum": list(LANGUAGES)},
               rows={"type": "array", "items": mapping(ANY_TEXT, COLUMN), "minItems": 1}),
        closed(("ignored", "language"), ignored=TEXT, language={"enum": list(LANGUAGES)}),
    )  # fmt: skip
    return closed(
        ("concept", "means", "binds", "languages", "examples"),
        concept={
            "type": "string",
            "pattern": r"^[a-z][a-z_]*(\.[a-z][a-z_]*)+$",
            "description": "a name like env.read",
        },
        means=TEXT,
        binds={"type": "array", "items": COLUMN, "minItems": 1},
        unquote={"type": "array", "items": COLUMN},
        sensitive={"type": "array", "items": COLUMN},
        languages=mapping(language, {"enum": list(LANGUAGES)}),
        examples={"type": "array", "items": example, "minItems": 1},
    )


def stacks_schema() -> Schema:
    """Return the schema of `stacks.yaml`."""
    stack = closed(
        ("detect",),
        language={"enum": ["javascript", "python"]},
        implies=union(TEXT, TEXTS),
        detect={"type": "array", "items": ref("query"), "minItems": 1},
        facts=mapping(union({"type": "string"}, {"type": "array", "items": ANY_TEXT})),
        assessed=FLAG,
        unless=TEXTS,
    )
    return closed(
        ("stacks",), stacks=mapping(stack, {"pattern": r"^[a-z][a-z0-9-]*$", "description": "a name in lower case"})
    )


def runtimes_schema() -> Schema:
    """Return the schema of `runtimes.yaml`."""
    date: Schema = {"type": "string", "pattern": r"^[0-9]{4}-[0-9]{2}(-[0-9]{2})?$", "description": "a date"}
    release = closed(("released", "eol"), released=date, eol=date, lts=date, image=TEXT)
    runtime = closed(("name", "releases"), name=TEXT, source=TEXT, releases=mapping(release))
    return closed(("as_of", "runtimes"), as_of=date, runtimes=mapping(runtime))


def packages_schema() -> Schema:
    """Return the schema of `packages.yaml`."""
    date: Schema = {"type": "string", "pattern": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$", "description": "a date"}
    version = closed(("version", "runtime"), version=TEXT, runtime=TEXT)
    package = closed(("releases",), releases={"type": "array", "items": version, "minItems": 1}, module=TEXT)
    return closed(("as_of", "npm", "pypi"), as_of=date, npm=mapping(package), pypi=mapping(package))
