"""Templates of rules: text with `{{ name }}`, `{{ name | filter }}`, `{{ name | filter(arg) }}`, `{{ function(arg) }}`.

Contract: no conditions and no loops. `parse` says what is wrong and where; everything a template names is known after
it, so that an undefined name, filter or function fails when a rule is loaded and never in the middle of a fix. What is
filled in is never read as a template again. `${{ … }}` is left alone: it is an expression of a GitHub workflow; two
literal braces are written `{{ "{{" }}`.
This module must not know of rules, YAML, relations or fixes.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class TemplateProblem:
    """What is wrong with a template; `offset` in code points of its text, `near` the valid names to choose from."""

    offset: int
    message: str


@dataclass(frozen=True, slots=True)
class Name:
    """A value by name; dots reach into mappings (`stack.ignore`)."""

    name: str


@dataclass(frozen=True, slots=True)
class Literal:
    """A quoted text or a number, as text."""

    text: str


@dataclass(frozen=True, slots=True)
class Application:
    """A filter or a function with arguments; a filter's first argument is what stands before the bar."""

    name: str
    arguments: tuple[Operand, ...]
    is_filter: bool


Operand: TypeAlias = "Name | Literal | Application"


@dataclass(frozen=True, slots=True)
class Template:
    """A parsed text: literal pieces and expressions."""

    text: str
    parts: tuple[str | Operand, ...]
    names: frozenset[str]
    filters: frozenset[str]
    functions: frozenset[str]

    @property
    def is_plain(self) -> bool:
        """Whether nothing has to be filled in."""
        return not (self.names or self.functions)


class UndefinedError(LookupError):
    """A template names something that is not there: a fault of the rule that `load` should have refused."""


_TOKEN = re.compile(
    r"""\s*(?:(?P<name>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)|(?P<number>-?\d+(?:\.\d+)?)"""
    r"""|(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?P<mark>\}\}|[|(),]))""",
    re.DOTALL | re.ASCII,
)
_OPEN = re.compile(r"(?<!\$)\{\{")


@lru_cache(maxsize=4096)
def parse(text: str) -> Template | TemplateProblem:
    """Parse a template, or say what is wrong with it. Filters are checked here, names and functions by the caller."""
    parts: list[str | Operand] = []
    position = 0
    while (opened := _OPEN.search(text, position)) is not None:
        parts.append(text[position : opened.start()])
        reader = _Reader(text, opened.end())
        try:
            parts.append(reader.expression())
        except _Wrong as wrong:
            return TemplateProblem(wrong.offset, wrong.message)
        position = reader.position
    parts.append(text[position:])
    found: list[Operand] = []
    for part in parts:
        if not isinstance(part, str):
            _collect(part, found)
    applied = [item for item in found if isinstance(item, Application)]
    return Template(
        text,
        tuple(part for part in parts if part != ""),
        frozenset(item.name for item in found if isinstance(item, Name)),
        frozenset(item.name for item in applied if item.is_filter),
        frozenset(item.name for item in applied if not item.is_filter),
    )


def _collect(operand: Operand, found: list[Operand]) -> None:
    found.append(operand)
    if isinstance(operand, Application):
        for inner in operand.arguments:
            _collect(inner, found)


class _Wrong(Exception):
    def __init__(self, offset: int, message: str) -> None:
        super().__init__(message)
        self.offset, self.message = offset, message


class _Reader:
    """Reads one expression from just behind `{{` to behind `}}`."""

    def __init__(self, text: str, position: int) -> None:
        self._text = text
        self.position = position
        self._opened = position - 2

    def _peek(self) -> re.Match[str] | None:
        return _TOKEN.match(self._text, self.position)

    def _take(self) -> re.Match[str]:
        token = self._peek()
        if token is None:
            if self._text.find("}}", self.position) < 0:
                raise _Wrong(self._opened, "`{{` without `}}`")
            where = self._skip_space()
            raise _Wrong(where, f"unexpected {self._text[where : where + 1]!r} in a template")
        self.position = token.end()
        return token

    def _skip_space(self) -> int:
        where = self.position
        while where < len(self._text) and self._text[where].isspace():
            where += 1
        return where

    def _mark(self, mark: str) -> bool:
        token = self._peek()
        if token is not None and token["mark"] == mark:
            self.position = token.end()
            return True
        return False

    def expression(self) -> Operand:
        value = self._operand()
        while self._mark("|"):
            token = self._take()
            name = token["name"]
            if name is None:
                raise _Wrong(token.start(), "a filter's name must follow `|`")
            if name not in FILTERS:
                raise _Wrong(token.end() - len(name), f"unknown filter {name!r}{nearest(name, FILTERS)}")
            value = Application(name, (value, *(self._arguments() if self._mark("(") else ())), True)
        if not self._mark("}}"):
            where = self._take()
            raise _Wrong(where.start(), "expected `|` or `}}`")
        return value

    def _operand(self) -> Operand:
        token = self._take()
        if token["text"] is not None:
            return Literal(re.sub(r"\\(.)", r"\1", token["text"][1:-1], flags=re.DOTALL))
        if token["number"] is not None:
            return Literal(token["number"])
        if token["name"] is None:
            raise _Wrong(token.start(), "expected a name, a function or a quoted text")
        if self._mark("("):
            return Application(token["name"], self._arguments(), False)
        return Name(token["name"])

    def _arguments(self) -> tuple[Operand, ...]:
        arguments: list[Operand] = []
        if self._mark(")"):
            return ()
        while True:
            arguments.append(self._operand())
            if self._mark(")"):
                return tuple(arguments)
            if not self._mark(","):
                raise _Wrong(self.position, "expected `,` or `)`")


def render(
    template: Template | str, names: Mapping[str, Any], functions: Mapping[str, Callable[..., str]] | None = None
) -> str:
    """Fill in a template. Raises UndefinedError for a name or function that is not given.

    Lists are joined by ", ", None is nothing. A fact that no stack of this root defines (`stack.…`) is nothing too.
    """
    if isinstance(template, str):
        if "{{" not in template:
            return template
        parsed = parse(template)
        if isinstance(parsed, TemplateProblem):
            raise UndefinedError(f"{parsed.message} in {template!r}")
        template = parsed
    return "".join(
        part if isinstance(part, str) else as_text(_value(part, names, functions or {})) for part in template.parts
    )


def as_text(value: Any) -> str:
    """Write a value as a template shows it."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return ", ".join(as_text(item) for item in value)
    return str(value)


def _value(operand: Operand, names: Mapping[str, Any], functions: Mapping[str, Callable[..., str]]) -> Any:
    if isinstance(operand, Literal):
        return operand.text
    if isinstance(operand, Name):
        return _named(operand.name, names)
    arguments = [as_text(_value(inner, names, functions)) for inner in operand.arguments]
    if operand.is_filter:
        if operand.name == "relative" and len(arguments) == 1:
            arguments.append(as_text(names.get("root", "")))
        return FILTERS[operand.name](*arguments)
    if operand.name not in functions:
        raise UndefinedError(f"unknown function {operand.name!r}")
    return functions[operand.name](*arguments)


def _named(dotted: str, names: Mapping[str, Any]) -> Any:
    if dotted in names:
        return names[dotted]
    value: Any = names
    for name in dotted.split("."):
        if not isinstance(value, Mapping) or name not in value:
            if dotted.startswith("stack."):
                return None
            raise UndefinedError(f"unknown name {dotted!r}")
        value = value[name]
    return value


def nearest(word: str, known: Mapping[str, Any] | frozenset[str] | tuple[str, ...] | list[str]) -> str:
    """Return `; did you mean "…"?` for a misspelt word, "" when nothing known is near."""
    from difflib import get_close_matches

    close = get_close_matches(word, sorted(known), 1, 0.6)
    if not close:
        lowered = {name.lower(): name for name in sorted(known)}
        close = [lowered[word.lower()]] if word.lower() in lowered else []
    return f'; did you mean "{close[0]}"?' if close else ""


# Filters -------------------------------------------------------------------------------------------------------------

_BOUNDARY = re.compile(r"(?<=[^\W_A-Z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[\W_]+")


def _words(text: str) -> list[str]:
    """Cut a name into words at `_`, `-`, dots and spaces and where lower case turns to upper case."""
    return [word for word in _BOUNDARY.split(text) if word]


def _upper_snake(text: str) -> str:
    """Make the name of an environment variable; "" when the text has letters that none can have."""
    if not text.isascii():
        return ""
    name = "_".join(_words(text)).upper()
    return name if re.fullmatch(r"[A-Z][A-Z0-9_]*", name) else ""


def _snake(text: str) -> str:
    return "_".join(_words(text)).lower()


def _camel(text: str) -> str:
    words = [word.lower() for word in _words(text)]
    return "".join([*words[:1], *(word.capitalize() for word in words[1:])])


def _quoted(text: str) -> str:
    """Write a string literal; JSON's own form is one in JavaScript, TypeScript and Python alike."""
    return json.dumps(text, ensure_ascii=False)


def _strip_ext(text: str) -> str:
    return posixpath.splitext(text)[0]


def _relative(text: str, base: str = "") -> str:
    return posixpath.relpath(text, base or ".")


FILTERS: Mapping[str, Callable[..., str]] = {
    "upper_snake": _upper_snake,
    "snake": _snake,
    "camel": _camel,
    "lower": str.lower,
    "basename": posixpath.basename,
    "dirname": posixpath.dirname,
    "json": _quoted,
    "quoted": _quoted,
    "strip_ext": _strip_ext,
    "relative": _relative,
    "or": lambda text, other: text or other,
}
"""The closed set of filters. Each takes the text and its arguments; `relative` (a folder) and `or` have one."""

FILTER_DOCS: Mapping[str, str] = {
    "upper_snake": "`dbPassword` → `DB_PASSWORD`; nothing when no environment variable can be called so.",
    "snake": "`dbPassword` → `db_password`.",
    "camel": "`db_password` → `dbPassword`.",
    "lower": "Lower case.",
    "basename": "The last segment of a path.",
    "dirname": "A path without its last segment.",
    "json": "The text as a JSON string, with its quotes.",
    "quoted": "The text as a string literal of the file's language.",
    "strip_ext": "A path without its last suffix.",
    "relative": "A path relative to a folder: `relative(dir)`; without an argument, to the root.",
    "or": 'The text, or another one where it is empty: `or("a text")`.',
}
