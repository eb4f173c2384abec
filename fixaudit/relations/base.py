"""What a relation is: a named set of rows with typed columns, and how a row answers a question in three values.

A relation is the only place where meaning is made; rules select and join its columns. `FileRelation` rows depend on
one file alone and are memoised by the file's digest; `RootRelation` rows are derived from the facts of a whole root.
This module must not know of rules, checks or fixes.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from fixaudit.source.ir import Span

if TYPE_CHECKING:
    from fixaudit.facts import Facts, SourceFile

Scalar: TypeAlias = str | int | float | bool | list[str] | None


class Truth(enum.Enum):
    """Kleene's three values. UNKNOWN means that the program could not be seen through here."""

    NO = 0
    UNKNOWN = 1
    YES = 2

    @classmethod
    def of(cls, value: bool) -> Truth:
        return cls.YES if value else cls.NO

    def negated(self) -> Truth:
        return Truth(2 - self.value)


def conjunction(values: Sequence[Truth]) -> Truth:
    """Return the weakest of the values; YES for none."""
    return min(values, key=lambda truth: truth.value, default=Truth.YES)


def disjunction(values: Sequence[Truth]) -> Truth:
    """Return the strongest of the values; NO for none."""
    return max(values, key=lambda truth: truth.value, default=Truth.NO)


class Value(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is known of an expression after resolution.

    kind: "string", "number", "boolean", "null" (`text` is the value as text), "regex" (`text` is the literal as
    written), "env" (`text` is the key; `items` holds its default if any), "template" (a string with holes), "list"
    (`items`), "object" (`entries`), "function", "call" (`text` is the resolved callee), "either" (`items` are the
    alternatives of `a || b`, `c ? a : b`) and
    "unknown". `complete` is False when a spread or computed part hides items or entries.
    """

    kind: str
    text: str = ""
    span: Span = (0, 0)
    path: str = ""  # the file that holds the span, after resolution
    items: tuple[Value, ...] = ()
    entries: dict[str, Value] = {}
    complete: bool = True


class Row(msgspec.Struct, frozen=True, omit_defaults=True):
    """One fact. `values` has every column of its relation; `spans` the places of those that stand in the text.

    `opaque` names the columns whose value could not be read ("*": whether the row exists at all).
    `nested` holds the values of calls: "argument" (a list) and "option" (an object).
    """

    path: str
    span: Span
    values: dict[str, Scalar]
    spans: dict[str, Span] = {}
    opaque: tuple[str, ...] = ()
    nested: dict[str, Value] = {}

    def text(self, column: str) -> str:
        """Return a column as text ("" for None), for templates and keys."""
        value = self.values.get(column)
        return "" if value is None else value if isinstance(value, str) else msgspec.json.encode(value).decode()


@dataclass(frozen=True, slots=True)
class Column:
    """type: "text", "number", "flag" or "set" (of texts); `values` closes the set of texts that can occur."""

    type: str
    doc: str
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Option:
    """An argument that decides which rows are read at all. `schema` is its closed JSON Schema."""

    schema: Mapping[str, Any]
    doc: str
    required: bool = False


@dataclass(frozen=True)
class FileRelation:
    """Rows of one file. `literals`: a file that holds none of these byte strings has no rows (empty: read always).

    `programs_only`: test, vendored, generated and minified files are left out. `any_encoding`: files that are text but
    not UTF-8 are read, too (through `SourceFile.shown`).
    """

    name: str
    doc: str
    columns: Mapping[str, Column]
    rows: Callable[[SourceFile], Sequence[Row]]
    languages: tuple[str, ...] = ()  # empty: every text file
    literals: tuple[bytes, ...] = ()
    programs_only: bool = True
    any_encoding: bool = False
    version: int = 1  # part of the cache key: raise it when rows change for equal input
    nested: tuple[str, ...] = ()
    options: Mapping[str, Option] = field(default_factory=dict)


@dataclass(frozen=True)
class RootRelation:
    """Rows derived from the facts of one root (or of the whole repository). `rows` must be pure."""

    name: str
    doc: str
    columns: Mapping[str, Column]
    rows: Callable[[Facts, Mapping[str, Any]], Sequence[Row]]
    options: Mapping[str, Option] = field(default_factory=dict)
    nested: tuple[str, ...] = ()


Relation: TypeAlias = FileRelation | RootRelation

# How a rule may ask for a column. A plain scalar or a list of scalars means equality with one of them.
COLUMN_TESTS = ("regex", "not", "is", "present", "less", "more", "contains", "starts", "ends")
# How a rule may ask for a nested value (an option or argument of a call).
VALUE_TESTS = ("is", "may_be", "could_be", "present", "not", "env", "less", "more", "option", "complete")


def ask(row: Row, filters: Mapping[str, Any]) -> Truth:
    """Say whether a row satisfies every filter: lower-case column names, and `option`/`argument` for calls."""
    answers = [Truth.UNKNOWN] if "*" in row.opaque else []
    for key, wanted in filters.items():
        if key in row.nested or key in ("option", "argument"):
            answers.append(_ask_nested(row.nested.get(key), wanted, key))
        else:
            column = key.upper()
            answers.append(Truth.UNKNOWN if column in row.opaque else _ask_scalar(row.values.get(column), wanted))
        if answers[-1] is Truth.NO:
            return Truth.NO
    return conjunction(answers)


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _equal(value: Scalar, wanted: Scalar) -> bool:
    if isinstance(value, bool) or isinstance(wanted, bool):
        return value is wanted
    return value == wanted


def _ask_scalar(value: Scalar, wanted: Any) -> Truth:
    if isinstance(wanted, Mapping):
        return conjunction([_test_scalar(value, name, operand) for name, operand in wanted.items()])
    choices = wanted if isinstance(wanted, list) else [wanted]
    if isinstance(value, list):
        return Truth.of(any(choice in value for choice in choices))
    return Truth.of(any(_equal(value, choice) for choice in choices))


def _test_scalar(value: Scalar, name: str, operand: Any) -> Truth:
    texts = value if isinstance(value, list) else [] if value is None else [str(value)]
    match name:
        case "regex":
            return Truth.of(any(_compiled(operand).search(text) for text in texts))
        case "not":
            return _ask_scalar(value, operand).negated()
        case "is":
            return _ask_scalar(value, operand)
        case "present":
            return Truth.of((value not in (None, "", [])) == operand)
        case "contains":
            return Truth.of(any(operand in text for text in texts))
        case "starts":
            return Truth.of(any(text.startswith(operand) for text in texts))
        case "ends":
            return Truth.of(any(text.endswith(operand) for text in texts))
        case "less" | "more":
            if not isinstance(value, int | float):
                return Truth.NO
            return Truth.of(value < operand if name == "less" else value > operand)
    raise ValueError(f"unknown column test {name}")


def _ask_nested(value: Value | None, wanted: Mapping[str, Any], key: str) -> Truth:
    """`wanted` maps option names, or argument positions as text, to what is asked of the value there."""
    if value is None:
        value = Value("unknown")
    answers = []
    for name, test in wanted.items():
        answers.append(ask_value(_member(value, str(name), key), test))
    return conjunction(answers)


def _member(value: Value, name: str, key: str) -> Value | None:
    """Return the value of an option or argument; None when it is surely absent; unknown when it may be hidden."""
    if value.kind not in ("object", "list"):
        return Value("unknown")
    if key == "argument":
        position = int(name)
        if position < len(value.items):
            return value.items[position]
    elif name in value.entries:
        return value.entries[name]
    return None if value.complete else Value("unknown")


def alternatives(value: Value) -> tuple[Value, ...]:
    """Return every value that an expression may take, as far as it can be read."""
    if value.kind == "either":
        return tuple(inner for item in value.items for inner in alternatives(item))
    if value.kind == "env":
        return (value, *(inner for item in value.items for inner in alternatives(item)))
    return (value,)


def literal_of(value: Value) -> Scalar:
    """Return the plain value of a literal, None when it is not one (and for null)."""
    match value.kind:
        case "string" | "regex":
            return value.text
        case "boolean":
            return value.text == "true"
        case "number":
            number = float(value.text)
            return int(number) if number.is_integer() else number
    return None


def ask_value(value: Value | None, wanted: Any) -> Truth:
    """Say whether a value satisfies a test: a scalar means "is surely this literal"."""
    if not isinstance(wanted, Mapping):
        wanted = {"is": wanted}
    return conjunction([_test_value(value, name, operand) for name, operand in wanted.items()])


def _test_value(value: Value | None, name: str, operand: Any) -> Truth:
    if name == "present":
        if value is None:
            return Truth.of(not operand)
        return Truth.UNKNOWN if value.kind == "unknown" else Truth.of(bool(operand))
    if name == "not":
        return ask_value(value, operand).negated()
    if value is None:
        return Truth.NO
    if name == "complete":
        return Truth.of(value.complete == operand) if value.kind != "unknown" else Truth.UNKNOWN
    if name == "option":
        return _ask_nested(value, operand, "option")
    options = alternatives(value)
    match name:
        case "is":
            answers = [_is(option, operand) for option in options]
            return conjunction(answers) if answers else Truth.NO
        case "may_be":
            return disjunction([_may_be(option, operand) for option in options])
        case "could_be":
            return disjunction([_could_be(option, operand) for option in options])
        case "env":
            answers = [Truth.UNKNOWN if o.kind == "unknown" else Truth.of(o.kind == "env") for o in options]
            found = disjunction(answers)
            return found if operand else found.negated()
        case "less" | "more":
            numbers = [literal_of(option) for option in options]
            if any(not isinstance(n, int | float) or isinstance(n, bool) for n in numbers):
                return Truth.UNKNOWN
            return conjunction([Truth.of(n < operand if name == "less" else n > operand) for n in numbers])
    raise ValueError(f"unknown value test {name}")


VALUE_KINDS = (
    "string", "number", "boolean", "null", "env", "template", "list", "object", "function", "call", "regex",
)  # fmt: skip


def _is(value: Value, wanted: Any) -> Truth:
    """`wanted`: a literal, a kind as a word with a colon (":env", ":list", ":string"), or a list of these."""
    choices = wanted if isinstance(wanted, list) else [wanted]
    if value.kind == "unknown":
        return Truth.UNKNOWN
    answers = []
    for choice in choices:
        if isinstance(choice, str) and choice.startswith(":"):
            answers.append(Truth.of(value.kind == choice[1:]))
        elif choice is None:
            answers.append(Truth.of(value.kind == "null"))
        elif value.kind in ("env", "template", "call"):
            answers.append(Truth.NO)
        else:
            answers.append(
                Truth.of(value.kind in ("string", "number", "boolean", "regex") and _equal(literal_of(value), choice))
            )
    return disjunction(answers)


def _may_be(value: Value, wanted: Any) -> Truth:
    """Whether a value itself is one of the wanted literals; a list that holds one is not."""
    return Truth.UNKNOWN if value.kind == "call" else _is(value, wanted)


def _could_be(value: Value, wanted: Any) -> Truth:
    """Whether a value is, or a list holds, one of the wanted literals."""
    if value.kind == "list":
        inner = disjunction([_could_be(option, wanted) for item in value.items for option in alternatives(item)])
        return inner if inner is Truth.YES or value.complete else Truth.UNKNOWN
    if value.kind in ("template", "call", "function"):
        return Truth.UNKNOWN
    return _is(value, wanted)
