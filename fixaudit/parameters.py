"""Find the values that a fix needs from this project, or say why there is not exactly one.

Contract: `extract` gives every parameter of a rule for one finding, or the first refusal in the order in which the
rule writes them. Candidates come in tiers (what is declared before what is conventional): the first tier that yields
anything decides, and more than one distinct value in it is refused with all candidates and their places. A person's
answer resolves a refusal; what the project says itself is only overruled by an answer for that very path.
This module must not know of fixes, of the loop or of where answers are written down.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fixaudit.checks import Vocabulary, select
from fixaudit.facts import Facts
from fixaudit.fixers.base import Candidate, Refusal, Target
from fixaudit.fixers.names import names
from fixaudit.relations.base import Row, Truth
from fixaudit.rulebook.rule import Parameter, Rule, Rulebook, Source, Variant
from fixaudit.rulebook.template import FILTERS, render
from fixaudit.runtimes import admitted, choice, declared


@dataclass(frozen=True, slots=True)
class Answer:
    """What a person decided, from the configuration. `root` and `path` narrow it; "." is the audit root."""

    rule: str
    parameter: str
    value: str
    root: str | None = None
    path: str | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """One issue's open question: what `ambiguous_answers` compares."""

    rule: str
    root: str
    path: str | None
    refusal: Refusal


class Values(dict[str, Any]):
    """Extracted parameters by name; `answered` names those that a person decided."""

    answered: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Found:
    """What one tier yields: candidates in file order, and where something stands that could not be read."""

    candidates: tuple[Candidate, ...]
    unreadable: tuple[str, ...] = ()


def extract(
    rule: Rule,
    variant: Variant,
    target: Target,
    facts: Facts,
    rulebook: Rulebook,
    answers: Sequence[Answer] = (),
) -> Values | Refusal:
    """Return every parameter's value for one finding, or the refusal of the first that has none."""
    values = Values()
    answered: list[str] = []
    for name, parameter in {**rule.parameters, **variant.parameters}.items():
        scope = names(rule, variant, target, facts, rulebook, values)
        value = _value(name, parameter, scope, target, facts, rulebook)
        answer = answer_for(rule.id, name, facts.root.path, scope["path"], answers)
        if isinstance(value, Refusal):
            if answer is None:
                return value
        elif answer is None or answer.path is None or answer.value == value:
            values[name] = value
            continue
        given = _answered(answer, parameter, value, name, facts)
        if isinstance(given, Refusal):
            return given
        answered.append(name)
        values[name] = given
    values.answered = tuple(answered)
    return values


def answer_for(rule: str, parameter: str, root: str, path: str | None, answers: Iterable[Answer]) -> Answer | None:
    """Return the answer that speaks of this issue; one with a path comes before one with a root, then the unscoped."""
    fitting = [
        answer
        for answer in answers
        if (answer.rule, answer.parameter) == (rule, parameter)
        and (answer.root is None or _clean(answer.root) == root)
        and (answer.path is None or _clean(answer.path) == path)
    ]
    return max(fitting, key=lambda answer: (answer.path is not None, answer.root is not None), default=None)


def ambiguous_answers(asked: Iterable[Asked], answers: Sequence[Answer]) -> tuple[str, ...]:
    """Name every answer that several issues would take although their candidates differ; empty when all are clear.

    `asked` are the refusals of a run that was made without answers.
    """
    taken: dict[Answer, dict[tuple[str, ...], Asked]] = {}
    for issue in asked:
        answer = answer_for(issue.rule, issue.refusal.parameter or "", issue.root, issue.path, answers)
        if answer is not None:
            choice = tuple(sorted({candidate.value for candidate in issue.refusal.candidates}))
            taken.setdefault(answer, {}).setdefault(choice, issue)
    problems = []
    for answer, by_choice in taken.items():
        if len(by_choice) > 1:
            places = sorted(issue.path or issue.root or "." for issue in by_choice.values())
            problems.append(
                f"the answer {answer.value!r} for {answer.rule}.{answer.parameter} fits {', '.join(places)}, "
                "which have different candidates: add `root` or `path`"
            )
    return tuple(problems)


def _clean(path: str) -> str:
    cleaned = posixpath.normpath(path.strip("/") or ".")
    return "" if cleaned == "." else cleaned


def _value(
    name: str, parameter: Parameter, scope: Mapping[str, Any], target: Target, facts: Facts, rulebook: Rulebook
) -> Any:
    if parameter.lookup is not None:
        return _looked_up(name, parameter, scope)
    if not parameter.tiers:
        value = parameter.value
        return render(value, scope, {}) if isinstance(value, str) else value
    for tier in parameter.tiers:
        found = _tier(tier, scope, target, facts, rulebook)
        if found.unreadable:
            sentence = f"what is declared at {', '.join(found.unreadable)} cannot be read"
            return Refusal(sentence, found.candidates, name, "none" if not found.candidates else "many")
        if found.candidates:
            return _chosen(name, parameter, found.candidates, scope, facts)
    if parameter.optional:
        return None
    return Refusal(_sentence(parameter, "none", f"no value was found for {name}", scope), (), name, "none")


def _looked_up(name: str, parameter: Parameter, scope: Mapping[str, Any]) -> Any:
    """A key may be exact, or "*@python": anything of that language; the most exact one counts."""
    assert parameter.lookup is not None
    key = render(parameter.by or "", scope, {})
    subject, _, language = key.rpartition("@")
    for candidate in (key, f"{subject}@*", f"*@{language}", "*") if subject else (key, "*"):
        if candidate in parameter.lookup:
            value = parameter.lookup[candidate]
            return render(value, scope, {}) if isinstance(value, str) else value
    if parameter.optional:
        return None
    return Refusal(_sentence(parameter, "none", f"no {name} is known for {key}", scope), (), name, "none")


def _chosen(
    name: str, parameter: Parameter, candidates: tuple[Candidate, ...], scope: Mapping[str, Any], facts: Facts
) -> str | Refusal:
    distinct = sorted({candidate.value for candidate in candidates})
    inner = {**scope, "count": str(len(distinct)), name: distinct[0]}
    if len(distinct) > 1:
        default = f"{len(distinct)} values are possible for {name}"
        return Refusal(_sentence(parameter, "many", default, inner), candidates, name, "many")
    if not accepts(parameter, distinct[0], facts):
        default = f"{distinct[0]} cannot be used as {name}"
        return Refusal(_sentence(parameter, "rejected", default, inner), candidates, name, "rejected")
    return distinct[0]


def _answered(answer: Answer, parameter: Parameter, found: Any, name: str, facts: Facts) -> str | Refusal:
    """Take a person's answer where it is a candidate, or where `accept` can judge it.

    `found` is what extraction gave. Only an answer for one path may differ from a value that was found without one: it
    is how a person names another variable for one credential.
    """
    candidates = found.candidates if isinstance(found, Refusal) else ()
    sentence = found.sentence if isinstance(found, Refusal) else f"{found} was found"
    rejected = isinstance(found, Refusal) and found.code == "rejected"
    if any(candidate.value == answer.value for candidate in candidates) and not rejected:
        return answer.value
    closed = {value for tier in parameter.tiers for source in tier for value in source.values.values()}
    free = isinstance(found, Refusal) and not candidates and not closed
    if (parameter.accept or answer.value in closed or free) and accepts(parameter, answer.value, facts):
        return answer.value
    return Refusal(f"the answer {answer.value!r} for {name} cannot be used: {sentence}", candidates, name, "rejected")


def accepts(parameter: Parameter, value: str, facts: Facts) -> bool:
    """Say whether a value fits `accept`: the whole of it matches `regex`; with `exists: file` a file is there."""
    pattern = parameter.accept.get("regex")
    if pattern is not None and re.fullmatch(pattern, value) is None:
        return False
    if parameter.accept.get("exists") == "file":
        return facts.project.has(facts.root.join(posixpath.normpath(value)))
    return True


def _sentence(parameter: Parameter, code: str, default: str, scope: Mapping[str, Any]) -> str:
    template = parameter.refuse.get(code)
    return default if template is None else render(template, scope, {})


def _tier(
    sources: Sequence[Source], scope: Mapping[str, Any], target: Target, facts: Facts, rulebook: Rulebook
) -> _Found:
    candidates: dict[Candidate, None] = {}
    unreadable: dict[str, None] = {}
    for source in sources:
        for raw, row in _raw(source, scope, target, facts, rulebook):
            location = _location(row, source.column or source.capture, facts)
            if raw is None:
                unreadable[location] = None
                continue
            value = source.values.get(raw) if source.values else raw
            for filter_name in source.through:
                value = str(FILTERS[filter_name](value)) if value else value
            if value:
                candidates[Candidate(value, location)] = None
    return _Found(tuple(sorted(candidates)), tuple(sorted(unreadable)))


def _raw(
    source: Source, scope: Mapping[str, Any], target: Target, facts: Facts, rulebook: Rulebook
) -> Iterable[tuple[str | None, Row | None]]:
    """Yield what a source says, text by text; None where something is declared that could not be read."""
    if source.kind == "capture":
        column = source.capture or ""
        if target.row is not None and column not in target.row.opaque:
            yield target.row.text(column), target.row
    elif source.kind == "value":
        yield (render(source.value, scope, {}) if isinstance(source.value, str) else str(source.value)), None
    elif source.kind == "release":
        yield from _release(str(source.value), facts, rulebook)
    elif source.query is not None:
        column = source.column or ""
        for match in select(source.query, facts, Vocabulary(rulebook.concepts)):
            row = match.row
            if row is None:
                continue
            if match.truth is Truth.UNKNOWN or column in row.opaque:
                yield None, row
                continue
            value = row.values.get(column)
            if isinstance(value, list):
                yield from ((item, row) for item in value)
            else:
                yield row.text(column), row


def _release(runtime: str, facts: Facts, rulebook: Rulebook) -> Iterable[tuple[str | None, Row | None]]:
    """Yield the runtime release to use: one line, or each declaration's own where they contradict each other."""
    rows = declared(facts, runtime)
    unclear = [row for row in rows if "MAJORS" in row.opaque]
    if unclear:
        yield from ((None, row) for row in unclear)
        return
    lines = admitted(rows, runtime)
    if lines is not None and not lines:
        for row in rows:
            yield choice(admitted((row,), runtime), rulebook.data, runtime) or row.text("SPEC"), row
        return
    chosen = choice(lines, rulebook.data, runtime)
    if chosen is not None:
        yield chosen, rows[0] if rows else None


def _location(row: Row | None, column: str | None, facts: Facts) -> str:
    if row is None:
        return ""
    text = facts.text(row.path)
    start = row.spans.get(column or "", row.span)[0]
    return f"{row.path}:{text.lines.position(start)[0]}" if text else row.path
