"""Compare a value with a JSON Schema so that every message names one mistake.

Contract: where a schema offers alternatives (`oneOf`), the branch is chosen by what is written, in code, before
anything is validated: by type, then by the one key that tells object branches apart (the first of `required`).
jsonschema then judges each node alone, so nobody ever reads a dump of alternatives.
This module must not know of rules or YAML.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from fixaudit.rulebook.positions import Fault, Path
from fixaudit.rulebook.template import nearest

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator

Schema: TypeAlias = Mapping[str, Any]

_WORDS = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "nothing",
    "array": "a list",
    "object": "a mapping",
}
_OWN = ("properties", "items", "oneOf", "$ref", "$defs", "$schema", "$id", "title")
"""Keywords that this module follows itself, node by node."""


class Validation:
    """A schema with its validators, each made once. `faults` may be asked for many values."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._defs: Mapping[str, Schema] = schema.get("$defs", {})
        self._validators: dict[int, Draft202012Validator] = {}

    def faults(self, value: Any) -> list[Fault]:
        """Return everything that is wrong with a value, from top to bottom."""
        return list(self._faults(self._schema, value, ()))

    def _resolved(self, schema: Schema) -> Schema:
        while "$ref" in schema:
            schema = self._defs[schema["$ref"].rpartition("/")[2]]
        return schema

    def _faults(self, schema: Schema, value: Any, path: Path) -> Iterator[Fault]:
        schema = self._resolved(schema)
        if "oneOf" in schema:
            chosen = self._chosen(schema, value, path)
            if isinstance(chosen, Fault):
                yield chosen
            else:
                yield from self._faults(chosen, value, path)
            return
        own = list(self._shallow(schema, value, path))
        yield from own
        if any(fault.path == path and "is expected" in fault.message for fault in own):
            return
        if isinstance(value, Mapping):
            properties = schema.get("properties", {})
            extra = schema.get("additionalProperties")
            for key, inner in value.items():
                if key in properties:
                    yield from self._faults(properties[key], inner, (*path, key))
                elif isinstance(extra, Mapping):
                    yield from self._faults(extra, inner, (*path, key))
        elif isinstance(value, list) and "items" in schema:
            for index, item in enumerate(value):
                yield from self._faults(schema["items"], item, (*path, index))

    # -- alternatives -------------------------------------------------------------------------------------------

    def _branches(self, schema: Schema) -> Iterator[Schema]:
        for branch in schema["oneOf"]:
            branch = self._resolved(branch)
            if "oneOf" in branch:
                yield from self._branches(branch)
            else:
                yield branch

    def _chosen(self, schema: Schema, value: Any, path: Path) -> Schema | Fault:
        branches = list(self._branches(schema))
        fitting = [branch for branch in branches if _admits(branch, value)]
        if not fitting:
            words = list(dict.fromkeys(_word(branch) for branch in branches))
            return Fault(path, f"{_found(value)} where {_either(words)} is expected")
        if len(fitting) == 1:
            return fitting[0]
        keys = {branch["required"][0]: branch for branch in fitting}
        present = [key for key in keys if key in value]
        if len(present) == 1:
            return keys[present[0]]
        if len(present) > 1:
            return Fault((*path, present[1]), f"{_quoted(present)} exclude each other: keep one", at_key=True)
        known = {name for branch in fitting for name in branch.get("properties", {})}
        unknown = [key for key in value if key not in known]
        expected = f"expected one of {_quoted(sorted(keys))}"
        if unknown:
            hint = nearest(unknown[0], sorted(keys))
            return Fault((*path, unknown[0]), f'unknown key "{unknown[0]}" ({expected}{hint})', at_key=True)
        return Fault(path, f"a key is missing ({expected})")

    # -- one node -----------------------------------------------------------------------------------------------

    def _shallow(self, schema: Schema, value: Any, path: Path) -> Iterator[Fault]:
        for error in self._validator(schema).iter_errors(value):
            # A name's error says which test it fails; that it is about the names stands in its path alone.
            match error.relative_schema_path[0]:
                case "additionalProperties":
                    known = sorted(schema.get("properties", {}))
                    for key in value:
                        if key not in known:
                            expected = f"expected one of {_quoted(known)}" if known else "no keys are expected here"
                            hint = nearest(key, known)
                            yield Fault((*path, key), f'unknown key "{key}" ({expected}{hint})', at_key=True)
                case "required":
                    missing = next(key for key in schema["required"] if f"'{key}'" in error.message)
                    yield Fault(path, f'the key "{missing}" is missing')
                case "propertyNames":
                    names = schema["propertyNames"]
                    for key in value:
                        if not _named_well(key, names):
                            what = names.get("description") or f"one of {_quoted(names.get('enum', ()))}"
                            hint = nearest(key, names.get("enum", ()))
                            yield Fault((*path, key), f'the key "{key}" is wrong (expected {what}{hint})', at_key=True)
                    return
                case "type":
                    yield Fault(path, f"{_found(value)} where {_word(schema)} is expected{_quote_hint(schema, value)}")
                case "enum":
                    hint = nearest(str(value), [str(choice) for choice in schema["enum"]])
                    yield Fault(
                        path, f"{json.dumps(value)} is unknown (expected one of {_quoted(schema['enum'])}{hint})"
                    )
                case "const":
                    yield Fault(path, f"{json.dumps(value)} is wrong (expected {json.dumps(schema['const'])})")
                case "pattern":
                    what = schema.get("description") or f"text that matches {schema['pattern']}"
                    yield Fault(path, f"{json.dumps(value, ensure_ascii=False)} is wrong (expected {what})")
                case "minItems" | "minProperties" | "minLength":
                    yield Fault(path, "this may not be empty")
                case "uniqueItems":
                    yield Fault(path, "an entry is written twice")
                case _:
                    yield Fault(path, error.message)

    def _validator(self, schema: Schema) -> Draft202012Validator:
        known = self._validators.get(id(schema))
        if known is None:
            from jsonschema import Draft202012Validator

            shallow = {key: inner for key, inner in schema.items() if key not in _OWN}
            if isinstance(shallow.get("additionalProperties"), Mapping):
                del shallow["additionalProperties"]
            elif "additionalProperties" in shallow:
                shallow["properties"] = dict.fromkeys(schema.get("properties", {}), True)
            known = self._validators[id(schema)] = Draft202012Validator(shallow)
        return known


def _named_well(key: str, names: Schema) -> bool:
    from jsonschema import Draft202012Validator

    return bool(Draft202012Validator(names).is_valid(key))


def _types(schema: Schema) -> tuple[str, ...]:
    declared = schema.get("type")
    if declared is None:
        values = schema.get("enum", (schema["const"],) if "const" in schema else ())
        return tuple(dict.fromkeys(_type_of(value) for value in values)) or tuple(_WORDS)
    return (declared,) if isinstance(declared, str) else tuple(declared)


def _type_of(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
    return "object"


def _admits(schema: Schema, value: Any) -> bool:
    kind = _type_of(value)
    types = _types(schema)
    return kind in types or (kind == "integer" and "number" in types)


def _word(schema: Schema) -> str:
    return _either([_WORDS[kind] for kind in _types(schema)])


def _found(value: Any) -> str:
    if isinstance(value, str):
        return f"the text {json.dumps(value[:40], ensure_ascii=False)}"
    if isinstance(value, bool | int | float):
        return f"{json.dumps(value)}"
    return {"null": "nothing", "array": "a list", "object": "a mapping"}[_type_of(value)]


def _quote_hint(schema: Schema, value: Any) -> str:
    if "string" in _types(schema) and isinstance(value, bool | int | float):
        return ": write it in quotes"
    if "array" in _types(schema) and isinstance(value, str):
        return f": write [{value}]"
    return ""


def _either(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _quoted(words: Any) -> str:
    return ", ".join(str(word) for word in words)
