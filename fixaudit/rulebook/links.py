"""What a schema cannot say: everything that a rule quotes exists, and its parts fit each other.

Contract: values that passed their schema in, faults out; each names the place of the one wrong word. A rule without
faults cannot fail on a missing name later: captures, parameters, concepts, stacks, columns, clauses and matchers are
all known here.
This module must not know of files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from fixaudit import dialect
from fixaudit.relations import registry
from fixaudit.relations.base import VALUE_KINDS, Column
from fixaudit.rulebook.build import QUESTIONS, kind_of
from fixaudit.rulebook.positions import Fault, Path
from fixaudit.rulebook.template import TemplateProblem, nearest, parse

Written = Mapping[str, Any]
Columns = Mapping[str, Column]

ROOT_NAMES = frozenset({"path", "dir", "root", "language", "rule"})
"""What every template of a fix or a contract may name besides columns and parameters."""
STEP_FUNCTIONS = frozenset({"env", "env_optional"})
_TEXT = Column("text", "")


@dataclass(frozen=True)
class Known:
    """The vocabulary that rules may quote."""

    stacks: Mapping[str, Written] = field(default_factory=dict)
    concepts: Mapping[str, Written] = field(default_factory=dict)

    @property
    def stack_facts(self) -> frozenset[str]:
        return frozenset(f"stack.{fact}" for stack in self.stacks.values() for fact in stack.get("facts", {}))


# Queries -------------------------------------------------------------------------------------------------------------


def columns_of(written: Written, known: Known) -> Columns:
    """Return the columns that every row of a query has; of `any`, those that all branches have."""
    name = kind_of(written)
    body = written[name]
    match name:
        case "any":
            found = [columns_of(inner, known) for inner in body]
            return {column: kind for column, kind in found[0].items() if all(column in other for other in found)}
        case "concept":
            concept = known.concepts.get(body)
            return {"TEXT": _TEXT, **dict.fromkeys(concept["binds"] if concept else (), _TEXT)}
        case "regex":
            groups = () if dialect.problem(body["pattern"]) else dialect.group_names(body["pattern"])
            return {"TEXT": _TEXT, **dict.fromkeys(groups, _TEXT)}
        case "ast":
            from fixaudit.syntax import Matcher, compile_matcher

            columns: dict[str, Column] = {"TEXT": _TEXT}
            for language in _languages(body["language"]):
                matcher = compile_matcher({k: v for k, v in body.items() if k != "language"}, language)
                if isinstance(matcher, Matcher):
                    columns |= dict.fromkeys((*matcher.captures, *matcher.lists), _TEXT)
            return columns
    return registry()[name].columns


def _languages(written: str | list[str]) -> list[str]:
    return [written] if isinstance(written, str) else written


def query_faults(written: Written, path: Path, known: Known) -> Iterator[Fault]:
    """Find what is wrong inside a query: unknown concepts, matchers and expressions that cannot match."""
    name = kind_of(written)
    body, inside = written[name], (*path, name)
    if "in_files" in written:
        yield from query_faults(written["in_files"], (*path, "in_files"), known)
    match name:
        case "any":
            for index, inner in enumerate(body):
                yield from query_faults(inner, (*inside, index), known)
        case "concept":
            if body not in known.concepts:
                yield Fault(inside, f'unknown concept "{body}"{expected(body, known.concepts)}')
        case "regex":
            yield from _regex_faults(body["pattern"], (*inside, "pattern"))
            if dialect.problem(body["pattern"]) is None:
                for group in dialect.group_names(body["pattern"]):
                    if group != group.upper():
                        yield Fault((*inside, "pattern"), f"the group {group} becomes a column: write it in upper case")
        case "ast":
            yield from matcher_faults({k: v for k, v in body.items() if k != "language"}, body["language"], inside)
        case _:
            yield from _filter_faults(body, inside)


def matcher_faults(config: Written, languages: str | list[str], path: Path) -> Iterator[Fault]:
    """Say why an ast-grep object can never match."""
    from fixaudit.syntax import Matcher, compile_matcher

    for language in _languages(languages):
        matcher = compile_matcher(config, language)
        if not isinstance(matcher, Matcher):
            for problem in matcher:
                yield Fault((*path, *problem.path), f"this matcher can match nothing: {problem.message}")


def _filter_faults(value: Any, path: Path) -> Iterator[Fault]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if key == "regex" and isinstance(inner, str):
                yield from _regex_faults(inner, (*path, key))
            else:
                yield from _filter_faults(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _filter_faults(inner, (*path, index))
    elif isinstance(value, str) and value.startswith(":") and value[1:] not in VALUE_KINDS:
        kinds = ", ".join(f":{kind}" for kind in VALUE_KINDS)
        yield Fault(path, f'"{value}" is no kind of value (expected one of {kinds}{nearest(value[1:], VALUE_KINDS)})')


def _regex_faults(pattern: str, path: Path) -> Iterator[Fault]:
    problem = dialect.problem(pattern)
    if problem is not None:
        yield Fault(path, problem)


def expected(word: str, known: Any) -> str:
    names = sorted(known)
    if not names:
        return " (none is known)"
    return f" (expected one of {', '.join(names)}{nearest(word, names)})"


# Checks --------------------------------------------------------------------------------------------------------------


def message_columns(written: Written, known: Known) -> Columns:
    """Return the columns that a finding of this check surely has.

    A finding about something missing has no row of its own: it stands at its subject, or nowhere.
    """
    kind = next(key for key in QUESTIONS if key in written)
    asked = columns_of(written[kind], known)
    if kind in ("forbid", "every", "agree"):
        return asked
    at_subject: Columns = {}
    if "subject" in written and "at" not in written:
        at_subject = columns_of(written["subject"], known)
    if kind == "count" and "at_least" not in written:
        return asked
    if kind == "count":
        return {name: column for name, column in at_subject.items() if name in asked}
    return at_subject


def check_faults(written: Written, path: Path, known: Known, names: frozenset[str] = frozenset()) -> Iterator[Fault]:
    """Find what is wrong inside a check. `names` may be used in its message besides its columns and `path`."""
    kind = next(key for key in QUESTIONS if key in written)
    for key in (kind, "has", "subject"):
        if key in written:
            yield from query_faults(written[key], (*path, key), known)
    asked = columns_of(written[kind], known)
    if kind == "every":
        there = columns_of(written["has"], known)
        for mine, theirs in written["on"].items():
            yield from _column_faults(mine, asked, (*path, "on", mine), at_key=True)
            yield from _column_faults(theirs, there, (*path, "on", mine))
        for key in ("before", "after"):
            if key in written:
                yield from _column_faults(written[key], asked, (*path, key), "number")
                yield from _column_faults(written[key], there, (*path, key), "number")
    if kind == "agree":
        yield from _column_faults(written["on"], asked, (*path, "on"), "set")
    if kind == "count" and "at_least" not in written and "at_most" not in written:
        yield Fault((*path, "count"), "a count needs `at_least` or `at_most`", at_key=True)
    if "message" in written:
        allowed = frozenset(message_columns(written, known)) | {"path"} | names
        yield from template_faults(written["message"], (*path, "message"), allowed)


def _column_faults(
    name: str, columns: Columns, path: Path, kind: str | None = None, *, at_key: bool = False
) -> Iterator[Fault]:
    if name not in columns:
        yield Fault(path, f'unknown column "{name}"{expected(name, columns)}', at_key)
    elif kind is not None and columns[name].type != kind:
        fitting = [column for column, what in columns.items() if what.type == kind]
        yield Fault(path, f"{name} is no {kind} column{expected(name, fitting)}", at_key)


# Templates -----------------------------------------------------------------------------------------------------------


def template_faults(
    text: str, path: Path, names: frozenset[str], functions: frozenset[str] = frozenset()
) -> Iterator[Fault]:
    """Find what a template names that is not there."""
    parsed = parse(text)
    if isinstance(parsed, TemplateProblem):
        yield Fault(path, f"{parsed.message} (character {parsed.offset + 1})")
        return
    for name in sorted(parsed.names - names):
        yield Fault(path, f'unknown name "{name}" in a template{expected(name, names)}')
    for name in sorted(parsed.functions - functions):
        yield Fault(path, f'unknown function "{name}" in a template{expected(name, functions)}')


def text_faults(value: Any, path: Path, names: frozenset[str], functions: frozenset[str]) -> Iterator[Fault]:
    """Find what is wrong in every template inside a value, at any depth."""
    if isinstance(value, str):
        yield from template_faults(value, path, names, functions)
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from text_faults(inner, (*path, key), names, functions)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from text_faults(inner, (*path, index), names, functions)


# Parameters and steps ------------------------------------------------------------------------------------------------


def parameter_faults(
    written: Written, path: Path, known: Known, columns: Columns, names: frozenset[str]
) -> Iterator[Fault]:
    """Find what is wrong with parameters; each may name those before it."""
    for name, entry in written.items():
        here = (*path, name)
        if isinstance(entry.get("value"), str):
            yield from template_faults(entry["value"], (*here, "value"), names)
        if "by" in entry:
            yield from template_faults(entry["by"], (*here, "by"), names)
        for key, value in entry.get("lookup", {}).items():
            yield from text_faults(value, (*here, "lookup", key), names, frozenset())
        for number, tier in enumerate(entry.get("tiers", ())):
            for index, source in enumerate(tier):
                yield from _source_faults(source, (*here, "tiers", number, index), known, columns, names)
        if "regex" in entry.get("accept", {}):
            yield from _regex_faults(entry["accept"]["regex"], (*here, "accept", "regex"))
        for code, sentence in entry.get("refuse", {}).items():
            more = frozenset({"count", name}) if code != "none" else frozenset[str]()
            yield from template_faults(sentence, (*here, "refuse", code), names | more)
        names |= {name}


def _source_faults(
    source: Written, path: Path, known: Known, columns: Columns, names: frozenset[str]
) -> Iterator[Fault]:
    if "capture" in source:
        yield from _column_faults(source["capture"], columns, (*path, "capture"))
    elif "rows" in source:
        yield from query_faults(source["rows"], (*path, "rows"), known)
        yield from _column_faults(source["column"], columns_of(source["rows"], known), (*path, "column"))
    elif isinstance(source.get("value"), str):
        yield from template_faults(source["value"], (*path, "value"), names)


def step_faults(
    written: list[Written], path: Path, columns: Columns, names: frozenset[str], known: Known
) -> Iterator[Fault]:
    """Find what is wrong with steps: templates, queries, and columns that steps take by name."""
    from fixaudit.fixers import registry as step_kinds
    from fixaudit.fixers.code import PLACES

    places = dict.fromkeys(PLACES, _TEXT) | dict(columns)
    for index, step in enumerate(written):
        for kind, arguments in step.items():
            here = (*path, index, kind)
            local = names | frozenset(arguments.get("imports", ())) | frozenset(step_kinds()[kind].offers)
            anchored = [key for key in ("anchor", "after") if isinstance(arguments.get(key), Mapping)]
            anchors = [(arguments[key], (*here, key)) for key in anchored]
            if "otherwise" in arguments:
                anchors.append((arguments["otherwise"]["anchor"], (*here, "otherwise", "anchor")))
                anchored.append("otherwise")
            for anchor, there in anchors:
                if "query" in anchor:
                    yield from query_faults(anchor["query"], (*there, "query"), known)
                    found = columns_of(anchor["query"], known)
                    local |= {f"anchor.{name}" for name in found}
                    for same, name in enumerate(anchor.get("same", ())):
                        yield from _column_faults(name, found, (*there, "same", same))
                else:
                    yield from _column_faults(anchor["capture"], places, (*there, "capture"))
            plain = {key: value for key, value in arguments.items() if key not in anchored}
            yield from text_faults(plain, here, local, STEP_FUNCTIONS)
            capture = arguments.get("capture", "")
            if capture.isupper():  # the others are `option.…` and `argument.…`: parts of a row's nested values
                yield from _column_faults(capture, places, (*here, "capture"))
            if kind == "codemod":
                yield from _codemod_faults(arguments, here)


def _codemod_faults(arguments: Written, path: Path) -> Iterator[Fault]:
    from fixaudit.fixers.codemods import CODEMODS
    from fixaudit.rulebook.validate import Validation

    _, schema = CODEMODS[arguments["name"]]
    for fault in Validation(schema).faults(arguments.get("args", {})):
        yield Fault((*path, "args", *fault.path), fault.message, fault.at_key)
