"""Score, bands and the gate: pure arithmetic that fails closed."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fixaudit.audit import ERROR, FAIL, NOT_APPLICABLE, PASS, Audit, RootFacts, Verdict
from fixaudit.facts import Project
from fixaudit.gate import band_of, score_of, standing
from fixaudit.rulebook.rule import PRIORITIES, Check, Query, Rule, Rulebook
from fixaudit.snapshot import MemorySnapshot

CHECK = Check("forbid", Query("file"), "m")


def verdict(number: int, priority: str, result: str, root: str = "", undecided: int = 0) -> Verdict:
    unclear = (None,) * undecided
    return Verdict(f"T-{number:03d}", root, priority, "STATIC", result, undecided=unclear)  # type: ignore[arg-type]


def judged(*verdicts: Verdict, roots: tuple[RootFacts, ...] = (RootFacts("", ("node",), (), 1),)) -> Audit:
    rules = tuple(
        Rule(v.rule, v.rule, v.priority, "STATIC", {}, CHECK, scope="root")
        for v in {v.rule: v for v in verdicts}.values()
    )
    project = Project(MemorySnapshot.of({"a": "b"}))
    return Audit(Rulebook(rules, {}, {}, {}, "d", "v"), project, roots, verdicts, ())


def five(*first: Verdict) -> list[Verdict]:
    return [*first, *(verdict(90 + n, "P5", PASS) for n in range(5 - len(first)))]


@pytest.mark.parametrize(
    ("verdicts", "score"),
    [
        (five(), 100),
        (five(verdict(1, "P0", FAIL)), 11),  # 4 of 36
        (five(verdict(1, "P5", FAIL)), 80),
        (five(verdict(1, "P5", ERROR)), 80),  # an error counts like a failure
        ([*five(), verdict(1, "P0", NOT_APPLICABLE)], 100),
        ([*five(), verdict(1, "P0", PASS, undecided=1)], 100),  # undecided: left out
        (five()[:4], None),
        ([*five()[:4], verdict(1, "P0", PASS, undecided=1)], None),
    ],
)
def test_score(verdicts: list[Verdict], score: int | None) -> None:
    assert score_of(verdicts) == score


def test_a_score_is_never_rounded_up() -> None:
    verdicts = [*(verdict(n, "P0", PASS) for n in range(20)), verdict(99, "P5", FAIL)]
    assert score_of(verdicts) == 99  # 640 of 641


@pytest.mark.parametrize(
    ("score", "band"),
    [(0, "Not Ready"), (39, "Not Ready"), (40, "Needs Work"), (69, "Needs Work"), (70, "Nearly Ready"),
     (89, "Nearly Ready"), (90, "Production Ready"), (100, "Production Ready"), (None, "Not assessed")],
)  # fmt: skip
def test_bands(score: int | None, band: str) -> None:
    assert band_of(score) == band


def test_a_failing_p0_shuts_the_gate_whatever_the_score() -> None:
    passes = [verdict(n, "P0", PASS) for n in range(30)]
    result = standing(judged(*passes, verdict(99, "P0", FAIL)))
    assert result.score == 96
    assert not result.gate.open
    assert result.gate.reasons == ("1 critical rule still fails: T-099",)


def test_an_error_of_any_priority_shuts_the_gate() -> None:
    passes = [verdict(n, "P0", PASS) for n in range(30)]
    result = standing(judged(*passes, verdict(99, "P5", ERROR)))
    assert not result.gate.open
    assert result.gate.reasons == ("could not be evaluated: T-099",)


def test_a_stack_without_rules_is_never_ready() -> None:
    roots = (RootFacts("", ("fastify", "node"), ("fastify",), 1),)
    result = standing(judged(*five(), roots=roots))
    assert (result.score, result.band, result.gate.open) == (None, "Not assessed", False)
    assert result.gate.reasons == ("recognised, but there are no rules for fastify",)


def test_a_root_that_is_not_assessed_is_left_out_where_another_is() -> None:
    roots = (RootFacts("api", ("express",), (), 1), RootFacts("tool", ("go",), ("go",), 1))
    result = standing(judged(*(replace(v, root="api") for v in five()), roots=roots))
    assert (result.score, result.gate.open) == (100, True)


def test_the_lowest_root_decides() -> None:
    roots = (RootFacts("a", ("express",), (), 1), RootFacts("b", ("express",), (), 1))
    good = [replace(v, root="a") for v in five()]
    bad = [replace(v, root="b") for v in five(verdict(1, "P1", FAIL))]
    result = standing(judged(*good, *bad, roots=roots))
    assert result.score == 20
    assert result.gate.reasons == ("score 20 in b is below 90",)


def test_a_file_that_a_critical_rule_needs_shuts_the_gate() -> None:
    result = standing(judged(*five()), blocked_files=["src/app.js"])
    assert not result.gate.open


@given(st.lists(st.tuples(st.sampled_from(PRIORITIES), st.sampled_from([PASS, FAIL, NOT_APPLICABLE])), max_size=12))
def test_the_gate_is_open_only_without_p0_and_with_the_score(shapes: list[tuple[str, str]]) -> None:
    result = standing(judged(*(verdict(n, *shape) for n, shape in enumerate(shapes))))
    critical = any(shape == ("P0", FAIL) for shape in shapes)
    assert result.gate.open == (not critical and result.score is not None and result.score >= 90)
    assert bool(result.gate.reasons) != result.gate.open
