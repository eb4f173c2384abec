"""The pieces that JSON Schemas of rule files are made of: closed objects, free mappings, unions, common values.

Contract: plain data. The first key of a closed object's `required` tells it from its alternatives (see `validate`).
This module must not know of relations, steps or rules.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

Schema: TypeAlias = dict[str, Any]

TEXT: Schema = {"type": "string", "minLength": 1}
ANY_TEXT: Schema = {"type": "string"}
FLAG: Schema = {"type": "boolean"}
TEXTS: Schema = {"type": "array", "items": TEXT, "minItems": 1, "uniqueItems": True}
GLOBS: Schema = {"type": "array", "items": TEXT}
SCALAR_TYPES = ["string", "number", "boolean", "null"]
NAME_PATTERN = r"^[a-z][a-z0-9_]*$"
COLUMN_PATTERN = r"^[A-Z][A-Z0-9_]*$"
COLUMN: Schema = {"type": "string", "pattern": COLUMN_PATTERN, "description": "a column, in upper case"}
LANGUAGES = ("javascript", "typescript", "tsx", "python")
ADDED = ("suppression", "skipped_test", "omission_comment")
REFUSALS = ("none", "many", "rejected")


def closed(required: tuple[str, ...], /, **properties: Mapping[str, Any]) -> Schema:
    """Return a closed object; the first of `required` is the key that tells it from its alternatives."""
    schema: Schema = {"type": "object", "properties": dict(properties), "additionalProperties": False}
    return {**schema, "required": list(required)} if required else schema


def mapping(values: Mapping[str, Any], names: Mapping[str, Any] | None = None) -> Schema:
    """Return an object with free keys."""
    schema: Schema = {"type": "object", "additionalProperties": dict(values)}
    return {**schema, "propertyNames": dict(names)} if names else schema


def ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


def union(*branches: Mapping[str, Any]) -> Schema:
    return {"oneOf": [dict(branch) for branch in branches]}
