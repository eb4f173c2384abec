"""What a loaded rule is. The YAML grammar that these values come from is described key by key in docs/rules.md.

Everything here is plain, frozen data: `load` builds it, `checks`, `parameters` and `fixers` read it.
This module must not know of YAML, files or facts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

PRIORITIES = ("P0", "P1", "P2", "P3", "P4", "P5")
WEIGHTS = {"P0": 32, "P1": 16, "P2": 8, "P3": 4, "P4": 2, "P5": 1}
FIX_TYPES = ("STATIC", "DYNAMIC-PARAMETRIC", "DYNAMIC-DELEGATED")
PACKS = {
    "SEC": "security",
    "SCR": "secrets",
    "ENV": "environment",
    "BLD": "build",
    "CON": "connectivity",
    "API": "API",
    "STR": "structure",
    "OBS": "observability",
    "GIT": "hygiene",
}


@dataclass(frozen=True)
class Query:
    """Rows of one relation: `{call: {callee: cors#default, option: {origin: "*"}}}`.

    `any` joins several queries (the first that a row satisfies counts); `priority` lowers the finding of this branch;
    `in_files` keeps rows of files in which another query has rows; `relation` may be "ast", "regex" or "concept".
    """

    relation: str = ""
    filters: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    any: tuple[Query, ...] = ()
    priority: str | None = None
    in_files: Query | None = None


@dataclass(frozen=True)
class Check:
    """One question. Exactly one of forbid, require, every+has+on, count, agree."""

    kind: str  # forbid, require, every, count, agree
    query: Query
    message: str
    has: Query | None = None
    on: Mapping[str, str] = field(default_factory=dict)  # every: column of `query` → column of `has`
    before: str | None = None  # every: the `has` row must stand before, by this number column
    after: str | None = None
    at_least: int | None = None
    at_most: int | None = None
    agree_on: str | None = None  # agree: a "set" column whose sets must have a common member
    subject: Query | None = None
    per: str = "match"  # match, file, root: what one issue is
    at: str | None = None  # require, count: the path that a finding without a row is shown at


@dataclass(frozen=True)
class Source:
    """Where candidates of a parameter come from."""

    kind: str  # capture, rows, value, release (of the runtime that `value` names)
    capture: str | None = None
    query: Query | None = None
    column: str | None = None
    values: Mapping[str, str] = field(default_factory=dict)  # rows: column value → candidate
    value: Any = None
    through: tuple[str, ...] = ()


@dataclass(frozen=True)
class Parameter:
    """A value that a fix needs. Exactly one of value, lookup+by, tiers."""

    name: str
    value: Any = None
    lookup: Mapping[str, Any] | None = None
    by: str | None = None
    tiers: tuple[tuple[Source, ...], ...] = ()
    accept: Mapping[str, Any] = field(default_factory=dict)  # regex, exists
    optional: bool = False
    refuse: Mapping[str, str] = field(default_factory=dict)  # none, many, rejected → sentence


@dataclass(frozen=True)
class Step:
    """One step of a fix: its kind (a key of `fixers.STEPS`) and arguments as written."""

    kind: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True)
class Variant:
    """What differs for some stacks or languages. Empty `stacks`/`languages` match everything."""

    name: str
    stacks: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    check: Check | None = None
    steps: tuple[Step, ...] = ()
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    follow_ups: tuple[Mapping[str, str], ...] | None = None
    safety: str | None = None


@dataclass(frozen=True)
class Fix:
    """A STATIC or DYNAMIC-PARAMETRIC fix."""

    title: str
    safety: str  # safe, unsafe
    steps: tuple[Step, ...]
    follow_ups: tuple[Mapping[str, str], ...] = ()  # {text, command?}: templates


@dataclass(frozen=True)
class Clause:
    """One machine-checked clause of a contract. `kind`: forbid, require, every, preserve, unchanged, forbid_added."""

    id: str
    kind: str
    check: Check | None = None
    query: Query | None = None  # preserve
    columns: tuple[str, ...] = ()  # preserve
    globs: tuple[str, ...] = ()  # unchanged
    added: tuple[str, ...] = ()  # forbid_added: suppression, skipped_test, omission_comment
    in_path: str | None = None  # template: only rows of this path count


@dataclass(frozen=True)
class Boundary:
    """What a delegated edit may touch; globs are templates, relative to the root."""

    edit: tuple[str, ...]
    create: tuple[str, ...]
    delete: tuple[str, ...]
    files_at_most: int
    lines_at_most: int


@dataclass(frozen=True)
class Contract:
    """A DYNAMIC-DELEGATED fix."""

    goal: str
    requirement: tuple[Clause, ...]
    boundary: Boundary
    forbidden: tuple[Clause, ...]


@dataclass(frozen=True)
class Example:
    """A small tree with what must come of it. `files` maps paths to text, bytes or an example form."""

    name: str
    kind: str  # good, fixed, refused, deferred, delegated
    files: Mapping[str, Any]
    stack: str | None = None
    finds: tuple[Mapping[str, str], ...] | None = None
    fixed: Mapping[str, Any] = field(default_factory=dict)
    refused: Mapping[str, Any] = field(default_factory=dict)
    deferred: str | None = None
    accepts: tuple[Mapping[str, Any], ...] = ()
    rejects: tuple[Mapping[str, Any], ...] = ()
    undecided: bool = False  # good: the rule must say that it could not decide
    verdict: str | None = None  # good: PASS or NOT_APPLICABLE, where the difference matters
    line: int = 0


@dataclass(frozen=True)
class Rule:
    """One requirement, for every stack it applies to."""

    id: str
    title: str
    priority: str
    fix_type: str
    docs: Mapping[str, Any]
    check: Check | None
    scope: str = "root"  # root, repository
    stacks: tuple[str, ...] = ()  # empty: every root
    when: Query | None = None
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    fix: Fix | None = None
    contract: Contract | None = None
    clauses: tuple[Clause, ...] = ()
    variants: tuple[Variant, ...] = ()
    examples: tuple[Example, ...] = ()
    equivalent_mutants: Mapping[str, str] = field(default_factory=dict)  # mutant → why no example can kill it
    path: str = ""  # where it was loaded from, for messages
    digest: str = ""

    @property
    def pack(self) -> str:
        return self.id.split("-")[0]

    def variants_for(self, stacks: frozenset[str]) -> tuple[Variant, ...]:
        """Return the variants that apply to a root; one nameless variant when the rule has none."""
        if not self.variants:
            return (Variant(""),)
        return tuple(v for v in self.variants if not v.stacks or stacks.intersection(v.stacks))


@dataclass(frozen=True)
class Stack:
    """A fact about a root, decided from evidence. `facts` is what rules may quote as `{{ stack.<fact> }}`."""

    name: str
    language: str | None
    implies: tuple[str, ...]
    detect: tuple[Query, ...]  # any of them has a row
    facts: Mapping[str, Any]
    assessed: bool = True  # False: recognised, but no rules are written for it
    unless: tuple[str, ...] = ()  # not recognised beside one of these: FastAPI brings Starlette along


@dataclass(frozen=True)
class Concept:
    """How each language spells one idea, for user packs: an ast-grep matcher, and how to write it."""

    name: str
    means: str
    binds: tuple[str, ...]
    languages: Mapping[str, Mapping[str, Any]]
    examples: tuple[Mapping[str, Any], ...] = ()
    unquote: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()


@dataclass(frozen=True)
class Rulebook:
    """Every rule that a run uses, with the vocabulary that they quote."""

    rules: tuple[Rule, ...]
    stacks: Mapping[str, Stack]
    concepts: Mapping[str, Concept]
    data: Mapping[str, Any]  # dated data files: runtimes, packages
    digest: str
    version: str

    def rule(self, rule_id: str) -> Rule | None:
        return next((rule for rule in self.rules if rule.id == rule_id), None)
