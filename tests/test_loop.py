"""The bounded loop: budgets, order, the regression guard, deferral, and what stands in the review."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fixaudit.audit import audit
from fixaudit.ledger import Attempt, Ledger, Reason
from fixaudit.loop import Assignment, Effects, Proposal, RunReport, Settings, run
from fixaudit.parameters import Answer
from fixaudit.rulebook.load import load_rulebook
from fixaudit.rulebook.rule import Check, Fix, Query, Rule, Rulebook, Step
from fixaudit.snapshot import REGULAR, FileState, MemorySnapshot, Overlay

PACKS = Path(__file__).parent / "packs"
SHIPPED = Path(__file__).parent.parent / "rules"


def rulebook(*names: str) -> Rulebook:
    """Load single test rules ("SEC-003") and shipped ones ("GIT/GIT-001")."""
    paths = [SHIPPED / f"{n}.yaml" if "/" in n else PACKS / "engine" / f"{n}.yaml" for n in names]
    return load_rulebook([*paths, SHIPPED / "stacks.yaml"], shipped=False)


def start(
    files: Mapping[str, str],
    *rules: str,
    effects: Effects | None = None,
    chosen: Settings | None = None,
    attempts: int = 3,
) -> RunReport:
    tree = MemorySnapshot.of(files)
    before = audit(rulebook(*rules), tree)
    return run(before, Overlay(tree), chosen or Settings(), effects or Effects(), Ledger(attempts))


def lines(report: RunReport) -> list[str]:
    return [entry.line for entry in report.review]


def text(report: RunReport, path: str) -> str:
    return report.overlay.read(path).decode()


def test_a_fix_that_breaks_another_rule_is_never_kept() -> None:
    kept: list[object] = []
    files = {"app.js": 'use({ origin: "*" }, process.env.A);\n', ".env.example": "A=\n"}
    report = start(files, "SEC-003", "ENV-001", effects=Effects(keep=lambda *a: kept.append(a)))  # type: ignore[arg-type,func-returns-value]
    assert lines(report) == [
        "SEC-003 (STATIC): fixing SEC-003 broke ENV-001, which passed before it, so the change was reverted"
    ]
    assert report.review[0].reason.stop == "regression"
    assert report.review[0].attempts == 1
    assert kept == []
    assert report.changed == ()
    assert report.outcome == "partial"


def test_a_rule_without_subject_counts_as_introduced() -> None:
    report = start({"app.js": 'use({ origin: "*" });\n'}, "SEC-003", "ENV-001")
    assert lines(report) == [
        "SEC-003 (STATIC): fixing SEC-003 introduced a violation of ENV-001, so the change was reverted"
    ]


def test_a_fix_that_never_satisfies_its_rule_spends_three_attempts() -> None:
    report = start({"app.js": "x();\n"}, "API-003")
    assert lines(report) == ["API-003 (STATIC): unresolved after 3 attempt(s): the rule still fails after the change"]
    assert [a.number for a in report.ledger.attempts] == [1, 2, 3]
    assert report.review[0].reason.stop == "budget"
    assert report.overlay.changed == {}


@pytest.mark.parametrize("attempts", [1, 2])
def test_the_budget_may_be_lowered(attempts: int) -> None:
    report = start({"app.js": "x();\n"}, "API-003", attempts=attempts)
    assert lines(report) == [
        f"API-003 (STATIC): unresolved after {attempts} attempt(s): the rule still fails after the change"
    ]


def test_a_missing_precondition_waits_for_the_next_cycle() -> None:
    report = start({"app.js": "x();\n", "package.json": "{}"}, "GIT/GIT-001", "SCR/SCR-001")
    outcomes = [(a.rule, a.cycle, a.outcome) for a in report.ledger.attempts]
    assert outcomes == [("SCR-001", 1, "deferred"), ("GIT-001", 1, "kept"), ("SCR-001", 2, "kept")]
    first = report.ledger.attempts[0].reason
    assert first is not None and first.data["what"] == "no file at .gitignore"
    assert report.review == ()
    assert text(report, ".gitignore").endswith(".DS_Store\n.env\n.env.*\n!.env.example\n")


def test_a_precondition_that_never_comes_is_the_reason() -> None:
    report = start({"app.js": "x();\n"}, "SCR/SCR-001")
    assert lines(report) == ["SCR-001 (STATIC): no file at .gitignore"]
    assert report.review[0].reason.stop == "precondition"
    assert [(a.cycle, a.outcome) for a in report.ledger.attempts] == [(n, "deferred") for n in (1, 2, 3)]


def test_the_ceiling_of_cycles_says_that_attempts_are_left() -> None:
    report = start({"app.js": "x();\n"}, "SCR/SCR-001", chosen=Settings(max_cycles=2))
    assert lines(report) == [
        "SCR-001 (STATIC): stopped at the ceiling of 2 cycle(s) with attempts left: no file at .gitignore"
    ]


def test_the_queue_is_worked_p0_first() -> None:
    files = {"app.js": 'x({ origin: "https://a" });\n', "package.json": "{}", ".gitignore": "a\n"}
    report = start(files, "API-003", "SCR/SCR-001")
    assert [a.rule for a in report.ledger.attempts] == ["SCR-001", "API-003", "API-003", "API-003"]


EVAL = {"app.js": "eval(x);\n", "other.js": "keep();\n"}


def agent(*answers: Mapping[str, str | None] | Reason) -> tuple[Effects, list[Assignment]]:
    """An agent that gives one answer after the other, and repeats the last."""
    seen: list[Assignment] = []

    def act(assignment: Assignment) -> Proposal:
        seen.append(assignment)
        answer = answers[min(len(seen), len(answers)) - 1]
        if isinstance(answer, Reason):
            return Proposal(reason=answer)
        return Proposal({p: None if t is None else FileState(REGULAR, t.encode()) for p, t in answer.items()})

    return Effects(agent=act), seen


def test_a_good_delegated_edit_is_kept() -> None:
    effects, _ = agent({"app.js": "parse(x);\n"})
    report = start(EVAL, "STR-001", effects=effects)
    assert report.review == ()
    assert text(report, "app.js") == "parse(x);\n"


def test_three_different_wrong_edits_spend_the_budget() -> None:
    effects, seen = agent(*({"app.js": f"eval(x); step{n}();\n"} for n in range(3)))
    report = start(EVAL, "STR-001", effects=effects)
    assert lines(report) == [
        "STR-001 (DYNAMIC-DELEGATED): unresolved after 3 attempt(s): the rule still fails after the agent's change"
    ]
    assert [a.feedback for a in seen] == [None, *["the rule still fails after the agent's change"] * 2]
    assert text(report, "app.js") == "eval(x);\n"


def test_an_agent_that_repeats_itself_stops_after_two() -> None:
    effects, seen = agent({"app.js": "eval(x); same();\n"})
    report = start(EVAL, "STR-001", effects=effects)
    assert len(seen) == 2
    assert lines(report) == [
        "STR-001 (DYNAMIC-DELEGATED): stopped after 2 attempt(s) without progress: "
        "the rule still fails after the agent's change"
    ]


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        ({"app.js": "parse(x);\n", "other.js": "changed();\n"}, "boundary.edit: other.js may not be edited"),
        ({"app.js": "parse(x);\n", "new.js": "a();\n"}, "boundary.create: new.js may not be created"),
        ({"app.js": "parse(x);\n", "other.js": None}, "boundary.delete: other.js may not be deleted"),
        (
            {"app.js": "parse(x); // eslint-disable-line\n"},
            "no-suppression: app.js: a suppression was added: eslint-disable",
        ),
        ({"app.js": "parse(x);\n" + "a();\n" * 30}, "boundary.lines: 32 lines changed, at most 20 may"),
        ({"app.js": "parse(x;\n"}, "the change does not parse: app.js:1"),
    ],
)
def test_a_broken_clause_names_itself(edit: Mapping[str, str | None], reason: str) -> None:
    effects, _ = agent(edit, {"app.js": "parse(x);\n"})
    report = start(EVAL, "STR-001", effects=effects)
    first = report.ledger.attempts[0]
    assert first.outcome == "reverted"
    assert first.reason is not None
    from fixaudit.ledger import sentence

    assert sentence(first.reason) == reason
    assert text(report, "app.js") == "parse(x);\n", "the second, right edit is kept"
    assert text(report, "other.js") == "keep();\n"


def test_without_an_agent_no_attempt_is_spent() -> None:
    report = start(EVAL, "STR-001")
    assert lines(report) == ["STR-001 (DYNAMIC-DELEGATED): no agent is configured"]
    assert report.ledger.attempts == []


def test_an_agent_that_cannot_start_is_asked_once() -> None:
    effects, seen = agent(Reason("agent_unstarted", {"why": "nothing there"}))
    files = {"a.js": "eval(x);\n", "b.js": "eval(y);\n"}
    report = start(files, "STR-001", effects=effects)
    assert len(seen) == 1
    assert report.ledger.attempts == []
    assert lines(report) == ["STR-001 (DYNAMIC-DELEGATED): could not start the agent: nothing there"]
    assert [str(location) for location in report.review[0].locations] == ["a.js:1:1", "b.js:1:1"]


def test_a_dirty_file_is_left_alone() -> None:
    effects = Effects(dirty=lambda change, tree: Reason("dirty", {"path": change.paths()[0]}))
    report = start({"package.json": "{}", ".gitignore": "a\n"}, "SCR/SCR-001", effects=effects)
    assert lines(report) == ["SCR-001 (STATIC): not applied: .gitignore has uncommitted changes"]
    assert report.ledger.attempts == []


def test_the_second_run_changes_nothing() -> None:
    files = {"package.json": "{}", "app.js": "start(process.env.PORT);\n"}
    first = start(files, "GIT/GIT-001", "SCR/SCR-001", "ENV/ENV-001")
    assert first.outcome == "partial" and first.standing_after.score is None  # too few rules for a score
    again = {path: text(first, path) for path in first.overlay.paths()}
    second = start(again, "GIT/GIT-001", "SCR/SCR-001", "ENV/ENV-001")
    assert second.fixed == ()
    assert second.ledger.attempts == []


# -- decisions ----------------------------------------------------------------------------------------------------


def attempt(signature: str | None) -> Attempt:
    return Attempt("i", "STR-001", 1, 1, "failed", None, signature)


@pytest.mark.parametrize(
    ("signatures", "delegated", "kind"),
    [
        ([], True, "retry"),
        (["a"], True, "retry"),
        (["a", "a"], True, "no_progress"),
        (["a", "b"], True, "retry"),
        (["a", "b", "b"], True, "no_progress"),  # asked before the ceiling
        (["a", "b", "a"], True, "exhausted"),
        (["a", "b", "c"], True, "exhausted"),
        (["a", "a"], False, "retry"),  # deterministic fixes are never stopped for no progress
        ([None, None], True, "retry"),
        ([None, None, None], False, "exhausted"),
    ],
)
def test_decide(signatures: list[str | None], delegated: bool, kind: str) -> None:
    ledger = Ledger(attempts=[attempt(s) for s in signatures])
    before = list(ledger.attempts)
    decision = ledger.decide("i", delegated=delegated)
    assert (decision.kind, decision.attempts) == (kind, len(signatures))
    assert ledger.attempts == before, "deciding changes nothing"


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(["a", "b", None]), max_size=8), st.booleans())
def test_the_budget_is_never_exceeded(signatures: list[str | None], delegated: bool) -> None:
    ledger = Ledger()
    for signature in signatures:
        if ledger.decide("i", delegated=delegated).kind == "retry":
            ledger.attempts.append(attempt(signature))
    assert ledger.spent("i") <= 3


# -- properties over random agents ---------------------------------------------------------------------------------

EDITS = st.sampled_from(
    ["parse(x);\n", "eval(x);\n", "eval(x); a();\n", "parse(x); // noqa\n", "parse(x;\n", "", "b();\n" * 40]
)


@settings(max_examples=60, deadline=None)
@given(st.lists(EDITS, min_size=1, max_size=4))
def test_never_red_to_green(edits: list[str]) -> None:
    effects, _ = agent(*({"app.js": edit} for edit in edits))
    report = start(EVAL, "STR-001", effects=effects)
    fresh = audit(report.after.rulebook, MemorySnapshot.of({p: text(report, p) for p in report.overlay.paths()}))
    failing = [v.rule for v in fresh.verdicts if v.failing]
    assert [entry.rule for entry in report.review] == failing
    if failing:
        assert report.outcome == "partial"
    assert len(report.ledger.attempts) <= 3


def test_answers_resolve_a_refusal() -> None:
    files = {
        "package.json": "{}", "app.js": "start(process.env.PORT);\n", ".env.sample": "", ".env.example": "",
        ".gitignore": ".env\n",
    }  # fmt: skip
    refused = start(files, "ENV/ENV-001")
    assert lines(refused) == [
        "ENV-001 (DYNAMIC-PARAMETRIC): 2 templates of environment variables are there, so the one to extend is "
        "unclear. Candidates: .env.example, .env.sample"
    ]
    assert refused.ledger.attempts == []
    answer = Answer("ENV-001", "file", ".env.sample")
    answered = start(files, "ENV/ENV-001", chosen=Settings(answers=(answer,)))
    assert answered.review == ()
    assert text(answered, ".env.sample") == "PORT=\n"


# -- termination ----------------------------------------------------------------------------------------------------


def letter_rule(number: int, wrong: str, right: str, subject: str) -> Rule:
    """A rule that forbids one letter and writes others for it; its subject is where `subject` stands."""

    def regex(pattern: str) -> Query:
        return Query("regex", options={"pattern": pattern, "files": ["*.py"]})

    check = Check("forbid", regex(wrong), f"{wrong} stands here", subject=regex(subject))
    step = Step("replace", {"capture": "TEXT", "with": right, "whole": True})
    name = f"T-{number:03d}"
    return Rule(name, name, f"P{number % 6}", "STATIC", {"what": "x", "why": "y"}, check, fix=Fix("t", "safe", (step,)))


RULES = st.lists(
    st.tuples(st.sampled_from("abc"), st.text("abcd", max_size=2), st.sampled_from(["[abcd]", "d", "a", "[bc]"])),
    min_size=1, max_size=4,
)  # fmt: skip
LINES = st.lists(st.sampled_from("abcd"), min_size=1, max_size=6).map(lambda letters: "\n".join(letters) + "\n")
TEXTS = st.dictionaries(st.sampled_from(["x.py", "y.py"]), LINES, min_size=1)


@settings(max_examples=150, deadline=None)
@given(RULES, TEXTS)
def test_every_kept_fix_shrinks_the_measure(shapes: list[tuple[str, str, str]], files: dict[str, str]) -> None:
    """With U the rules that never had a subject, each kept fix lowers (|U|, number of findings)."""
    book = Rulebook(tuple(letter_rule(n, *shape) for n, shape in enumerate(shapes)), {}, {}, {}, "d", "v")
    tree = {path: content.encode() for path, content in files.items()}
    never = {rule.id for rule in book.rules}

    def measure() -> tuple[int, int]:
        judged = audit(book, MemorySnapshot.of(tree))
        never.difference_update(v.rule for v in judged.verdicts if v.verdict != "NOT_APPLICABLE")
        return len(never), len(judged.findings)

    measures = [measure()]

    def keep(rule: Rule, changes: object, *_: object) -> None:
        for change in changes:  # type: ignore[attr-defined]
            tree[change.path] = change.after.data
        measures.append(measure())

    start_tree = MemorySnapshot.of(files)
    report = run(audit(book, start_tree), Overlay(start_tree), Settings(), Effects(keep=keep), Ledger())  # type: ignore[arg-type]
    assert measures == sorted(measures, reverse=True)
    assert len(set(measures)) == len(measures)
    spent = Counter(a.issue for a in report.ledger.attempts)
    assert all(number <= 3 for number in spent.values())
    assert {path: report.overlay.read(path) for path in tree} == tree


def test_the_measure_is_really_tried() -> None:
    """The property above would hold for a loop that keeps nothing."""
    book = Rulebook((letter_rule(0, "a", "b", "a"), letter_rule(1, "b", "", "[ab]")), {}, {}, {}, "d", "v")
    tree = MemorySnapshot.of({"x.py": "a\nb\nc\n"})
    report = run(audit(book, tree), Overlay(tree), Settings(), Effects(), Ledger())
    assert [(f.rule, f.path) for f in report.fixed] == [("T-001", "x.py")]
    assert lines(report) == ["T-000 (STATIC): fixing T-000 introduced a violation of T-001, so the change was reverted"]
    assert text(report, "x.py") == "a\n\nc\n"
