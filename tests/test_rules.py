"""Every shipped rule keeps the promises of its examples, and what one creates violates no other."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from fixaudit.audit import audit
from fixaudit.facts import Memo
from fixaudit.rulebook.exercise import exercise
from fixaudit.rulebook.explain import explain
from fixaudit.rulebook.load import compile_files, load_rulebook, pack_files
from fixaudit.rulebook.mutate import survivors
from fixaudit.rulebook.rule import Example, Rule, Rulebook
from fixaudit.rulebook.trees import snapshot_of

MEMO: Memo[Any] = Memo()


@cache
def book() -> Rulebook:
    return load_rulebook()


def rules() -> list[Rule]:
    return list(compile_files(pack_files([])).rulebook.rules)


def test_every_shipped_rule_loads() -> None:
    assert compile_files(pack_files([])).problems == ()


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule.id)
def test_the_examples_of_a_rule(rule: Rule) -> None:
    assert [str(failure) for failure in exercise(rule, book(), MEMO)] == []


@pytest.mark.slow
@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule.id)
def test_each_part_of_a_rule_is_held_by_an_example(rule: Rule) -> None:
    assert survivors(rule, book(), MEMO) == ()


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule.id)
def test_every_rule_explains_itself(rule: Rule) -> None:
    page = explain(rule, book())
    assert page.startswith(f"# {rule.id}: {rule.title}\n") and rule.docs["why"] in page


def _creating() -> list[tuple[Rule, Example]]:
    return [
        (rule, example)
        for rule in rules()
        for example in rule.examples
        if example.kind == "fixed"
        and any(step.kind == "create_file" for steps in _all_steps(rule) for step in steps)
    ]  # fmt: skip


def _all_steps(rule: Rule) -> list[Any]:
    return [rule.fix.steps if rule.fix else (), *(variant.steps for variant in rule.variants)]


@pytest.mark.parametrize(
    ("rule", "example"), _creating(), ids=lambda value: value.id if isinstance(value, Rule) else value.name
)
def test_created_files_bring_no_finding_of_any_rule(rule: Rule, example: Example) -> None:
    before = audit(book(), snapshot_of(example.files), memo=MEMO)
    after = audit(book(), snapshot_of({**example.files, **example.fixed}), memo=MEMO)
    created = set(example.fixed) - set(example.files)
    had = {(f.rule, f.key) for f in before.findings}
    brought = [(f.rule, f.path, f.message) for f in after.findings if (f.rule, f.key) not in had]
    assert [finding for finding in brought if finding[1] in created] == []
    assert not {f.rule for f in after.findings if f.priority == "P0"} - {f.rule for f in before.findings}
