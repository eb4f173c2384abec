"""The generated parts of docs/rules.md: relations with their columns, steps, filters and tests, from the registries.

Contract: `refreshed(text)` replaces what stands between `<!-- generated: NAME -->` and `<!-- end -->` and leaves the
rest alone. `python -m fixaudit.rulebook.reference` writes docs/rules.md and the JSON Schema of rules in a checkout.
This module must not know of single rules.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fixaudit import fixers
from fixaudit.relations import registry
from fixaudit.relations.base import VALUE_KINDS, VALUE_TESTS
from fixaudit.rulebook.schema import SCHEMA_FILE, column_tests, shipped_text
from fixaudit.rulebook.template import FILTER_DOCS

DOCS_FILE = Path(__file__).parent.parent.parent / "docs" / "rules.md"
_SECTION = re.compile(r"(<!-- generated: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def refreshed(text: str) -> str:
    """Return the document with every generated part as it should be. Raises KeyError for an unknown part."""
    return _SECTION.sub(lambda part: "\n".join((part[1].rstrip(), "", *_PARTS[part[2]](), part[3])), text)


def _relations() -> Iterator[str]:
    for name, relation in registry().items():
        yield f"### `{name}`"
        yield ""
        yield relation.doc
        yield ""
        yield "| column | type | meaning |"
        yield "|---|---|---|"
        for column, what in relation.columns.items():
            values = f" One of {', '.join(f'`{value}`' for value in what.values)}." if what.values else ""
            yield f"| `{column}` | {what.type} | {_cell(what.doc)}{values} |"
        if relation.options:
            yield ""
            for option, meaning in relation.options.items():
                yield f"- option `{option}`{' (required)' if meaning.required else ''}: {meaning.doc}"
        if relation.nested:
            yield ""
            yield f"Its values can be asked with {' and '.join(f'`{part}`' for part in relation.nested)}."
        yield ""


def _steps() -> Iterator[str]:
    for name, kind in fixers.registry().items():
        yield f"### `{name}`"
        yield ""
        yield kind.doc
        yield ""
        required = kind.schema.get("required", ())
        for argument, schema in kind.schema.get("properties", {}).items():
            marks = ["required"] if argument in required else []
            marks += ["template"] if argument in kind.templates else []
            noted = f" ({', '.join(marks)})" if marks else ""
            yield f"- `{argument}`{noted}: {_type(schema)}"
        if kind.offers:
            yield f"- its templates may also name {', '.join(f'`{name}`' for name in kind.offers)}"
        yield ""


def _type(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return " or ".join(f"`{value}`" for value in schema["enum"])
    if "oneOf" in schema:
        return " or ".join(_type(branch) for branch in schema["oneOf"])
    match schema.get("type"):
        case "array":
            return f"a list of {_type(schema.get('items', {}))}"
        case "object":
            keys = ", ".join(f"`{key}`" for key in schema.get("properties", {}))
            return f"a mapping with {keys}" if keys else "a mapping"
        case "string":
            return "text"
        case "boolean":
            return "true or false"
        case "integer" | "number":
            return "a number"
    return "a query" if schema.get("$ref", "").endswith("/query") else "any value"


def _filters() -> Iterator[str]:
    yield "| filter | what it makes |"
    yield "|---|---|"
    for name, doc in FILTER_DOCS.items():
        yield f"| `{name}` | {_cell(doc)} |"


def _tests() -> Iterator[str]:
    yield "| column type | tests |"
    yield "|---|---|"
    for kind, tests in column_tests().items():
        yield f"| {kind} | {', '.join(f'`{test}`' for test in tests)} |"
    yield f"| a value (option or argument) | {', '.join(f'`{test}`' for test in VALUE_TESTS)} |"
    yield ""
    yield f"Kinds of values that `is` may name: {', '.join(f'`:{kind}`' for kind in VALUE_KINDS)}."


def _cell(text: str) -> str:
    return text.replace("|", r"\|").replace("\n", " ")


_PARTS = {"relations": _relations, "steps": _steps, "filters": _filters, "tests": _tests}


if __name__ == "__main__":
    DOCS_FILE.write_text(refreshed(DOCS_FILE.read_text(encoding="utf-8")), encoding="utf-8")
    SCHEMA_FILE.parent.mkdir(exist_ok=True)
    SCHEMA_FILE.write_text(shipped_text(), encoding="utf-8")
