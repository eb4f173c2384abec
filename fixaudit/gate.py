"""Score, bands and the gate: pure functions of an audit. The gate fails closed.

This module must not know of fixes or of the loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fixaudit.audit import ERROR, FAIL, NOT_APPLICABLE, PASS, Audit, RootFacts, Verdict
from fixaudit.rulebook.rule import WEIGHTS

BANDS = ((90, "Production Ready"), (70, "Nearly Ready"), (40, "Needs Work"), (0, "Not Ready"))
NOT_ASSESSED = "Not assessed"
FEWEST_RULES = 5
"""A score over fewer rules with a subject would be an accident of what happens to be there."""


@dataclass(frozen=True)
class Gate:
    """Whether the project may go to production, and every reason why not, most important first."""

    open: bool
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True)
class RootScore:
    """`score` is None when the root is not assessed; `why` says so in words."""

    root: RootFacts
    score: int | None
    band: str
    gate: Gate
    undecided: int
    why: str | None = None


@dataclass(frozen=True)
class Standing:
    """The whole tree: the lowest root that is assessed, and the gate over all of them."""

    roots: tuple[RootScore, ...]
    score: int | None
    band: str
    gate: Gate
    empty: bool = False  # there is nothing to judge: no file at all


def score_of(verdicts: Sequence[Verdict]) -> int | None:
    """Return 0..100, rounded down; None for fewer than FEWEST_RULES rules with a decided subject.

    A failing rule weighs by the highest priority among its findings, a passing one by its own. A rule that passes
    only because its places could not be decided is left out.
    """
    counted = [v for v in verdicts if v.verdict in (FAIL, ERROR) or (v.verdict == PASS and not v.undecided)]
    if len(counted) < FEWEST_RULES:
        return None
    total = sum(WEIGHTS[v.priority] for v in counted)
    passed = sum(WEIGHTS[v.priority] for v in counted if v.verdict == PASS)
    return 100 * passed // total


def band_of(score: int | None) -> str:
    if score is None:
        return NOT_ASSESSED
    return next(name for low, name in BANDS if score >= low)


def standing(audit: Audit, *, minimum: int = 90, blocked_files: Sequence[str] = ()) -> Standing:
    """Judge every root and the tree. `blocked_files` are unreadable files that a P0 rule would have to read."""
    shared = [v for v in audit.verdicts if v.root == "" and _is_repository(audit, v)]
    scores = []
    for root in audit.roots:
        own = [v for v in audit.verdicts if v.root == root.path and not _is_repository(audit, v)]
        scores.append(_root_score(root, own + shared, minimum))
    assessed = [s for s in scores if s.score is not None]
    lowest = min(assessed, key=lambda s: (s.score or 0, s.root.path), default=None)
    several = len(scores) > 1
    reasons = [f"{path} could not be read, and a P0 rule needs it" for path in blocked_files]
    reasons += _failures(audit.verdicts, several)
    if lowest is None:
        reasons += _unassessed(scores)
    elif lowest.score is not None and lowest.score < minimum:
        where = f" in {lowest.root.path or '.'}" if several else ""
        reasons.append(f"score {lowest.score}{where} is below {minimum}")
    score = lowest.score if lowest else None
    empty = not audit.project.paths
    return Standing(tuple(scores), score, band_of(score), Gate(not reasons, tuple(reasons)), empty)


def _unassessed(scores: Sequence[RootScore]) -> list[str]:
    """Say why no root is assessed, each reason once: a monorepo has dozens of roots with the same one."""
    if len(scores) == 1:
        return [scores[0].why] if scores[0].why else []
    places: dict[str, list[str]] = {}
    for item in scores:
        if item.why:
            places.setdefault(item.why, []).append(item.root.path or ".")
    return [
        f"{', '.join(roots[:3])}{f' and {len(roots) - 3} more' if len(roots) > 3 else ''}: {why}"
        for why, roots in places.items()
    ]


def _failures(verdicts: Sequence[Verdict], several: bool) -> list[str]:
    """Say which critical rules fail and which rules could not be evaluated, each once."""

    def names(chosen: Sequence[Verdict]) -> str:
        return ", ".join(f"{v.rule} ({v.root})" if several and v.root else v.rule for v in chosen)

    critical = sorted((v for v in verdicts if v.verdict == FAIL and v.priority == "P0"), key=lambda v: (v.rule, v.root))
    broken = sorted((v for v in verdicts if v.verdict == ERROR), key=lambda v: (v.rule, v.root))
    reasons = []
    if len(critical) == 1:
        reasons.append(f"1 critical rule still fails: {names(critical)}")
    elif critical:
        reasons.append(f"{len(critical)} critical rules still fail: {names(critical)}")
    if broken:
        reasons.append(f"could not be evaluated: {names(broken)}")
    return reasons


def _is_repository(audit: Audit, verdict: Verdict) -> bool:
    rule = audit.rulebook.rule(verdict.rule)
    return rule is not None and rule.scope == "repository"


def _root_score(root: RootFacts, verdicts: Sequence[Verdict], minimum: int) -> RootScore:
    score = score_of(verdicts)
    why = None
    if root.unassessed:
        score, why = None, f"recognised, but there are no rules for {', '.join(root.unassessed)}"
    elif score is None:
        why = f"fewer than {FEWEST_RULES} rules found something to judge"
    reasons = _failures(verdicts, several=False)
    if why:
        reasons.append(why)
    elif score is not None and score < minimum:
        reasons.append(f"score {score} is below {minimum}")
    undecided = sum(bool(v.undecided) and v.verdict == PASS for v in verdicts if v.verdict != NOT_APPLICABLE)
    return RootScore(root, score, band_of(score), Gate(not reasons, tuple(reasons)), undecided, why)
