"""What a fix step is, and the values that planning one can give.

A fix is a pure function (finding, parameters, facts) → ChangeSet | Refusal | Deferred. Steps are idempotent: planned
on a tree that already has what they ask for, they give an empty change. Every edit carries the text it replaces.
This module must not know of the loop, of git or of the user's tree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from fixaudit.facts import Facts
from fixaudit.relations.base import Row
from fixaudit.rulebook.rule import Rule, Rulebook, Variant
from fixaudit.snapshot import ChangeSet


@dataclass(frozen=True, slots=True, order=True)
class Candidate:
    """One value that a parameter could have, and where it was read ("package.json:4")."""

    value: str
    location: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """The fix will not guess: a sentence for the review, with every candidate and its location, sorted."""

    sentence: str
    candidates: tuple[Candidate, ...] = ()
    parameter: str | None = None
    code: str = "refused"  # none, many, taken, rejected, shape (the code cannot be edited safely), lockfile


@dataclass(frozen=True, slots=True)
class Deferred:
    """A precondition is missing now and may be there in the next cycle: `no file at .gitignore`."""

    reason: str


Planned: TypeAlias = ChangeSet | Refusal | Deferred


@dataclass(frozen=True)
class Target:
    """One finding that a fix is planned for: the violating row (None when something is missing) and its relatives."""

    row: Row | None
    related: tuple[Row, ...] = ()
    path: str | None = None  # the file of the finding, relative to the audit root


@dataclass(frozen=True)
class Situation:
    """Everything that planning may look at. `values` are the extracted parameters by name."""

    rule: Rule
    variant: Variant
    target: Target
    facts: Facts
    rulebook: Rulebook
    values: Mapping[str, Any] = field(default_factory=dict)
    no_install: bool = False
    origin: Facts | None = None  # the facts before the first step of this fix; None while no step was planned


@dataclass(frozen=True)
class StepKind:
    """One kind of step. `schema` is the closed JSON Schema of its arguments; `templates` names those with `{{ }}`."""

    name: str
    doc: str
    schema: Mapping[str, Any]
    plan: Callable[[Mapping[str, Any], Situation], Planned]
    templates: tuple[str, ...] = ()
    offers: tuple[str, ...] = ()  # names that its templates may use besides those of the rule
