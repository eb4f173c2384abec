"""Templates in rules: `{{ name }}`, `{{ name | filter }}`, `{{ function(argument, "text") }}`; nothing else.

Contract: no conditionals and no loops, so that a template can be checked completely when its rule loads: every name,
filter and function in it must be known. Rendering is pure. A list renders joined by ", "; a line that is only a
list's name is expanded by the steps that take lines.
This module must not know of rules or of languages; functions are given by the caller.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

_HOLE = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*")
_TOKEN = re.compile(
    r"""\s*(?:(?P<name>[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*)|(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
    |(?P<number>-?\d+)|(?P<mark>[|(),]))""",
    re.VERBOSE,
)


class TemplateError(ValueError):
    """A template that cannot be read, or that names something unknown; the message says where and what."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A name whose value is put in."""

    name: str


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A function with its arguments: references, texts or numbers."""

    name: str
    arguments: tuple[Reference | str | int, ...]


@dataclass(frozen=True, slots=True)
class Hole:
    """One `{{ … }}`: what it takes, then its filters with their arguments."""

    source: Reference | FunctionCall | str
    filters: tuple[tuple[str, tuple[str | int, ...]], ...] = ()


Part: TypeAlias = str | Hole


@dataclass(frozen=True, slots=True)
class Template:
    """A parsed template."""

    parts: tuple[Part, ...]

    @property
    def names(self) -> frozenset[str]:
        """Every name that must be defined to render it."""
        found: set[str] = set()
        for part in self.parts:
            if isinstance(part, Hole):
                if isinstance(part.source, Reference):
                    found.add(part.source.name)
                elif isinstance(part.source, FunctionCall):
                    found.update(a.name for a in part.source.arguments if isinstance(a, Reference))
        return frozenset(found)

    @property
    def functions(self) -> frozenset[str]:
        """Every function that it calls."""
        return frozenset(
            part.source.name for part in self.parts if isinstance(part, Hole) and isinstance(part.source, FunctionCall)
        )


def words(text: str) -> list[str]:
    """Split an identifier or phrase into words: `dbURL2Host` → db, URL2, Host."""
    spaced = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", text)
    spaced = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1 \2", spaced)
    return [word for word in re.split(r"[^0-9A-Za-z]+", spaced) if word]


def _camel(text: str) -> str:
    first, *rest = words(text) or [""]
    return first.lower() + "".join(word[:1].upper() + word[1:].lower() for word in rest)


def _strip_ext(text: str) -> str:
    return posixpath.splitext(text)[0]


def _quoted(text: str, quote: str = '"') -> str:
    escaped = json.dumps(text, ensure_ascii=False)[1:-1]
    return quote + (escaped if quote == '"' else escaped.replace('\\"', '"').replace("'", "\\'")) + quote


def _relative(path: str, start: str) -> str:
    relative = posixpath.relpath(path, start or ".")
    return relative if relative.startswith(".") else f"./{relative}"


FILTERS: Mapping[str, Callable[..., str]] = {
    "upper_snake": lambda text: "_".join(words(text)).upper() if text.isascii() else text,
    "snake": lambda text: "_".join(words(text)).lower(),
    "camel": _camel,
    "lower": str.lower,
    "basename": posixpath.basename,
    "dirname": posixpath.dirname,
    "strip_ext": _strip_ext,
    "json": lambda text: json.dumps(text, ensure_ascii=False),
    "quoted": _quoted,
    "relative": _relative,
}
"""The closed set of filters. `upper_snake` leaves a name that is not ASCII alone, so that `accept` can refuse it."""


@lru_cache(maxsize=4096)
def parse(text: str) -> Template:
    """Read a template; raises TemplateError for a hole that is not of the grammar or an unknown filter."""
    parts: list[Part] = []
    position = 0
    for match in _HOLE.finditer(text):
        if match.start() > position:
            parts.append(text[position : match.start()])
        parts.append(_hole(match[1]))
        position = match.end()
    if position < len(text):
        parts.append(text[position:])
    return Template(tuple(parts))


def _hole(source: str) -> Hole:
    tokens: list[tuple[str, str]] = []
    position = 0
    stripped = source.rstrip()
    while position < len(stripped):
        match = _TOKEN.match(stripped, position)
        if match is None:
            raise TemplateError(f"`{{{{{source}}}}}` cannot be read at `{stripped[position:].strip()}`")
        tokens.append((match.lastgroup or "", match[match.lastgroup or ""]))
        position = match.end()
    if not tokens:
        raise TemplateError("`{{ }}` is empty")
    kind, value = tokens.pop(0)
    taken: Reference | FunctionCall | str
    if kind == "text":
        taken = _unquote(value)
    elif kind != "name":
        raise TemplateError(f"`{{{{{source}}}}}` must begin with a name or a text")
    elif tokens and tokens[0] == ("mark", "("):
        taken = FunctionCall(value, tuple(_arguments(tokens, source)))
    else:
        taken = Reference(value)
    filters: list[tuple[str, tuple[str | int, ...]]] = []
    while tokens:
        if tokens.pop(0) != ("mark", "|") or not tokens or tokens[0][0] != "name":
            raise TemplateError(f"`{{{{{source}}}}}`: a filter is written `| name`")
        name = tokens.pop(0)[1]
        if name not in FILTERS:
            raise TemplateError(f"unknown filter `{name}`; there are {', '.join(sorted(FILTERS))}")
        arguments = tuple(_arguments(tokens, source)) if tokens and tokens[0] == ("mark", "(") else ()
        if any(isinstance(a, Reference) for a in arguments):
            raise TemplateError(f"`{{{{{source}}}}}`: a filter takes texts and numbers only")
        filters.append((name, tuple(a for a in arguments if not isinstance(a, Reference))))
    return Hole(taken, tuple(filters))


def _arguments(tokens: list[tuple[str, str]], source: str) -> list[Reference | str | int]:
    tokens.pop(0)
    found: list[Reference | str | int] = []
    while tokens:
        kind, value = tokens.pop(0)
        if (kind, value) == ("mark", ")"):
            return found
        if (kind, value) == ("mark", ","):
            continue
        if kind == "name":
            found.append(Reference(value))
        elif kind == "text":
            found.append(_unquote(value))
        elif kind == "number":
            found.append(int(value))
        else:
            break
    raise TemplateError(f"`{{{{{source}}}}}`: a bracket is not closed")


def _unquote(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text[1:-1])


def render(text: str, names: Mapping[str, Any], functions: Mapping[str, Callable[..., str]]) -> str:
    """Put values into a template. `names` may nest ("stack.ignore" looks into `stack`). Raises TemplateError."""
    out = []
    for part in parse(text).parts:
        out.append(part if isinstance(part, str) else _value(part, names, functions))
    return "".join(out)


def _value(hole: Hole, names: Mapping[str, Any], functions: Mapping[str, Callable[..., str]]) -> str:
    source = hole.source
    if isinstance(source, Reference):
        value = as_text(lookup(source.name, names))
    elif isinstance(source, FunctionCall):
        if source.name not in functions:
            raise TemplateError(f"unknown function `{source.name}`")
        given = [lookup(a.name, names) if isinstance(a, Reference) else a for a in source.arguments]
        value = functions[source.name](*given)
    else:
        value = source
    for name, arguments in hole.filters:
        value = FILTERS[name](value, *arguments)
    return value


def lookup(name: str, names: Mapping[str, Any]) -> Any:
    """Return the value of a name, looking into mappings at each dot. Raises TemplateError when it is not defined."""
    if name in names:
        return names[name]
    head, _, rest = name.partition(".")
    inner = names.get(head)
    if rest and isinstance(inner, Mapping):
        return lookup(rest, inner)
    raise TemplateError(f"`{name}` is not defined here")


def as_text(value: Any) -> str:
    """Return a value as text: lists joined by ", ", flags in lower case, nothing for None."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return ", ".join(as_text(item) for item in value)
    return str(value)
