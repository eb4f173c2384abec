"""The one evaluator: checks, verification and contract clauses ask their questions here.

Contract: `evaluate` is pure; its answer is three-valued and rests on evidence: rows that are the subject, rows that
violate and rows that are opaque. No subject means that the rule does not apply; an opaque row never fails a rule.
This module must not know of fixes, priorities' weights, the loop or of any single rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from fixaudit.facts import Facts
from fixaudit.relations import registry
from fixaudit.relations.base import Row, Truth, ask, conjunction, disjunction
from fixaudit.rulebook.rule import Check, Concept, Query


@dataclass(frozen=True)
class Match:
    """A row with the answer to a query; for checks, one violation or one undecided place."""

    row: Row | None
    truth: Truth = Truth.YES
    priority: str | None = None
    related: tuple[Row, ...] = ()
    key: tuple[str, ...] = ()  # what makes two violations the same one: the `on` tuple of `every`

    @property
    def path(self) -> str | None:
        return self.row.path if self.row else None


@dataclass(frozen=True)
class Evaluation:
    """The evidence for one verdict. `paths` are the files that hold the subject."""

    subjects: int
    violations: tuple[Match, ...] = ()
    opaque: tuple[Match, ...] = ()
    paths: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Vocabulary:
    """What queries may name besides the native relations."""

    concepts: Mapping[str, Concept] = field(default_factory=dict)


def evaluate(check: Check, facts: Facts, vocabulary: Vocabulary) -> Evaluation:
    """Answer a check over the facts of one root."""
    return _KINDS[check.kind](check, facts, vocabulary)


def select(query: Query, facts: Facts, vocabulary: Vocabulary) -> list[Match]:
    """Return the rows that satisfy a query, surely (YES) or perhaps (UNKNOWN), in order of path and position."""
    if query.any:
        found: dict[int, Match] = {}
        order: list[int] = []
        for branch in query.any:
            for match in select(branch, facts, vocabulary):
                identity = id(match.row)
                known = found.get(identity)
                if known is None:
                    order.append(identity)
                if known is None or (known.truth is Truth.UNKNOWN and match.truth is Truth.YES):
                    found[identity] = replace(match, priority=match.priority or query.priority)
        matches = sorted((found[i] for i in order), key=_place)
    else:
        matches = [
            Match(row, truth, query.priority)
            for row in _rows(query, facts, vocabulary)
            if (truth := ask(row, query.filters)) is not Truth.NO
        ]
    if query.in_files is not None:
        paths = {match.path for match in select(query.in_files, facts, vocabulary)}
        matches = [match for match in matches if match.path in paths]
    return matches


def _place(match: Match) -> tuple[bytes, int, int]:
    row = match.row
    return (row.path.encode("utf-8", "surrogateescape"), *row.span) if row else (b"", 0, 0)


def _rows(query: Query, facts: Facts, vocabulary: Vocabulary) -> Sequence[Row]:
    if query.relation in ("ast", "regex", "concept"):
        from fixaudit.relations import raw

        return raw.rows(query, facts, vocabulary.concepts)
    return facts.rows(registry()[query.relation], query.options)


def _subjects(check: Check, facts: Facts, vocabulary: Vocabulary, default: Sequence[Match]) -> Sequence[Match]:
    return default if check.subject is None else select(check.subject, facts, vocabulary)


def _paths(matches: Iterable[Match]) -> frozenset[str]:
    return frozenset(match.row.path for match in matches if match.row)


_THE_ROOT = (Match(None),)  # a question about something that must exist has the root itself as its subject


def _forbid(check: Check, facts: Facts, vocabulary: Vocabulary) -> Evaluation:
    matches = select(check.query, facts, vocabulary)
    subjects = _subjects(check, facts, vocabulary, () if check.subject else _population(check.query, facts, vocabulary))
    if check.subject and not subjects:
        return Evaluation(0)
    return Evaluation(
        len(subjects),
        tuple(m for m in matches if m.truth is Truth.YES),
        tuple(m for m in matches if m.truth is Truth.UNKNOWN),
        _paths(subjects),
    )


def _population(query: Query, facts: Facts, vocabulary: Vocabulary) -> list[Match]:
    """Return the rows that a `forbid` is about: its query without what is asked of options and arguments."""
    if query.any:
        return [match for branch in query.any for match in _population(branch, facts, vocabulary)]
    kept = {key: value for key, value in query.filters.items() if key not in ("option", "argument")}
    return select(replace(query, filters=kept), facts, vocabulary)


def _require(check: Check, facts: Facts, vocabulary: Vocabulary) -> Evaluation:
    matches = select(check.query, facts, vocabulary)
    subjects = _subjects(check, facts, vocabulary, _THE_ROOT)
    truth = disjunction([m.truth for m in matches])
    held = Evaluation(len(subjects), paths=_paths(subjects) | _paths(matches))
    if not subjects or truth is Truth.YES:
        return held
    if truth is Truth.UNKNOWN:
        return replace(held, opaque=tuple(matches[:1]))
    return replace(held, violations=(_anchor(check, facts, vocabulary),))


def _anchor(check: Check, facts: Facts, vocabulary: Vocabulary) -> Match:
    """A finding about something that is missing stands at the first row of its subject, if it has one."""
    if check.subject is not None and check.at is None:
        for match in select(check.subject, facts, vocabulary):
            return Match(match.row)
    return Match(None)


def _count(check: Check, facts: Facts, vocabulary: Vocabulary) -> Evaluation:
    matches = select(check.query, facts, vocabulary)
    sure = sum(m.truth is Truth.YES for m in matches)
    subjects = _subjects(check, facts, vocabulary, _THE_ROOT)
    low, high = check.at_least or 0, check.at_most
    held = Evaluation(len(subjects), paths=_paths(subjects) | _paths(matches))
    if not subjects:
        return held
    if len(matches) >= low and (high is None or sure <= high):
        decided = sure >= low and (high is None or len(matches) <= high)
        return held if decided else replace(held, opaque=tuple(matches[:1]))
    if matches:
        first = matches[high] if high is not None and sure > high else matches[0]
        related = tuple(m.row for m in matches if m.row and m is not first)
        return replace(held, violations=(replace(first, truth=Truth.YES, related=related),))
    return replace(held, violations=(_anchor(check, facts, vocabulary),))


def _every(check: Check, facts: Facts, vocabulary: Vocabulary) -> Evaluation:
    assert check.has is not None
    left = select(check.query, facts, vocabulary)
    right = select(check.has, facts, vocabulary)
    groups: dict[tuple[str, ...], list[tuple[Match, Truth]]] = {}
    for match in left:
        assert match.row is not None
        row = match.row
        held = disjunction([conjunction([other.truth, _joined(check, row, other.row)]) for other in right if other.row])
        key = tuple(row.text(column) for column in check.on)
        # A row that perhaps is not even a subject cannot violate for sure.
        violated = conjunction([match.truth, held.negated()])
        groups.setdefault(key, []).append((match, violated))
    violations: list[Match] = []
    opaque: list[Match] = []
    for key, members in groups.items():
        for truth, bucket in ((Truth.YES, violations), (Truth.UNKNOWN, opaque)):
            rows = [m.row for m, violated in members if violated is truth and m.row]
            if rows:
                found = [m for m, violated in members if violated is truth]
                # One row at the rule's own priority makes the whole group count so.
                lowered = [m.priority for m in found if m.priority is not None]
                priority = min(lowered) if len(lowered) == len(found) else None
                bucket.append(replace(found[0], truth=truth, related=tuple(rows[1:]), key=key, priority=priority))
                break
    subjects = _subjects(check, facts, vocabulary, left)
    return Evaluation(
        len(subjects), tuple(sorted(violations, key=_place)), tuple(sorted(opaque, key=_place)), _paths(subjects)
    )


def _joined(check: Check, row: Row, other: Row | None) -> Truth:
    assert other is not None
    answers = []
    for mine, theirs in check.on.items():
        if mine in row.opaque or theirs in other.opaque:
            answers.append(Truth.UNKNOWN)
        else:
            answers.append(Truth.of(row.values.get(mine) == other.values.get(theirs)))
    for column, wanted in ((check.before, -1), (check.after, 1)):
        if column is not None:
            here, there = row.values.get(column), other.values.get(column)
            if column in row.opaque or column in other.opaque:
                answers.append(Truth.UNKNOWN)
            elif isinstance(here, int | float) and isinstance(there, int | float):
                answers.append(Truth.of((there - here) * wanted > 0))
            else:
                answers.append(Truth.UNKNOWN)
    return conjunction(answers)


def _agree(check: Check, facts: Facts, vocabulary: Vocabulary) -> Evaluation:
    """The sets of all rows must share a member. One row alone, or unreadable rows, cannot disagree."""
    assert check.agree_on is not None
    matches = select(check.query, facts, vocabulary)
    column = check.agree_on
    readable = [
        (m, frozenset(value))
        for m in matches
        if m.row and column not in m.row.opaque and isinstance(value := m.row.values.get(column), list)
    ]
    hidden = [m for m in matches if m.row and column in m.row.opaque]
    if len(readable) + len(hidden) < 2:
        return Evaluation(0)
    common = frozenset.intersection(*(value for _, value in readable)) if readable else frozenset[str]()
    if readable and not common:
        first = readable[0][0]
        others = tuple(m.row for m, _ in readable[1:] if m.row)
        return Evaluation(len(matches), (replace(first, related=others),), paths=_paths(matches))
    undecided = tuple(replace(m, truth=Truth.UNKNOWN) for m in hidden[:1])
    return Evaluation(len(matches), opaque=undecided, paths=_paths(matches))


_KINDS: Mapping[str, Callable[[Check, Facts, Vocabulary], Evaluation]] = {
    "forbid": _forbid,
    "require": _require,
    "count": _count,
    "every": _every,
    "agree": _agree,
}


def captures(match: Match) -> dict[str, str]:
    """Return a match's columns as texts, for messages and templates."""
    return {} if match.row is None else {name: match.row.text(name) for name in match.row.values}


def issue_groups(check: Check, matches: Iterable[Match]) -> list[tuple[Match, ...]]:
    """Group violations into issues by the unit that the rule declares."""
    listed = list(matches)
    if check.per == "match":
        return [(match,) for match in listed]
    if check.per == "root":
        return [tuple(listed)] if listed else []
    by_path: dict[str | None, list[Match]] = {}
    for match in listed:
        by_path.setdefault(match.path, []).append(match)
    return [tuple(group) for group in by_path.values()]
