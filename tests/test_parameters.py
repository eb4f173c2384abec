"""Extraction: one value, or a refusal with every candidate and its place."""

from __future__ import annotations

from typing import Any

import pytest

from fixaudit.fixers.base import Candidate, Refusal, Target
from fixaudit.parameters import Answer, Asked, Values, ambiguous_answers, answer_for, extract
from fixaudit.relations.base import Row
from fixaudit.rulebook.rule import Parameter, Query, Rule, Source, Variant
from tests.fixers_kit import facts, rulebook, tree

ROW = Row("src/a.js", (0, 4), {"NAME": "dbPassword", "KIND": "url"}, {"NAME": (2, 4)})
FILES = {
    "package.json": "{}",
    "src/a.js": "x\ny = 1\n",
    ".env.example": "PG_URL=\nPORT=\n",
    "server.js": "",
    "app.js": "",
}


def tried(
    parameters: dict[str, Parameter], answers: tuple[Answer, ...] = (), row: Row | None = ROW, **more: Any
) -> Any:
    view = facts(tree(more.pop("files", FILES)), stacks=more.pop("stacks", ("node",)))
    rule = Rule("CON-002", "Test", "P1", "DYNAMIC-PARAMETRIC", {}, None, parameters=parameters)
    target = Target(row, path=row.path if row else None)
    return extract(rule, more.pop("variant", Variant("")), target, view, rulebook(), answers)


def captured(name: str, *through: str) -> Source:
    return Source("capture", capture=name, through=through)


def keys(*values: tuple[str, str]) -> Source:
    return Source("rows", query=Query("dotenv"), column="KEY", values=dict(values))


def files(*paths: str) -> Source:
    return Source("rows", query=Query("file", {"path": list(paths)}), column="PATH")


def test_values_in_order_may_use_earlier_ones() -> None:
    values = tried(
        {
            "size": Parameter("size", value=10),
            "key": Parameter("key", tiers=((captured("NAME", "upper_snake"),),)),
            "text": Parameter("text", value="{{ key }}={{ size }} of {{ stack.manager }} in {{ path }}"),
        }
    )
    assert values == {"size": 10, "key": "DB_PASSWORD", "text": "DB_PASSWORD=10 of npm in src/a.js"}
    assert values.answered == ()


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ({"url@javascript": "max", "*@javascript": "other"}, "max"),
        ({"url@*": "any", "*@javascript": "other"}, "any"),
        ({"*@javascript": "other", "*": "rest"}, "other"),
        ({"*@python": "pool_size", "*": "rest"}, "rest"),
    ],
)
def test_lookup_takes_the_most_exact_key(table: dict[str, str], expected: str) -> None:
    assert tried({"o": Parameter("o", lookup=table, by="{{ KIND }}@{{ language }}")}) == {"o": expected}


def test_lookup_of_an_unknown_key_is_refused() -> None:
    refusal = tried({"o": Parameter("o", lookup={"*@python": "x"}, by="{{ KIND }}@{{ language }}")})
    assert refusal == Refusal("no o is known for url@javascript", (), "o", "none")


def test_the_first_tier_that_yields_anything_decides() -> None:
    parameter = Parameter("e", tiers=((files("main.js"),), (files("server.js"),), (files("server.js", "app.js"),)))
    assert tried({"e": parameter}) == {"e": "server.js"}


def test_several_values_in_one_tier_are_refused_with_their_places() -> None:
    parameter = Parameter(
        "e", tiers=((keys(("PG_URL", "postgres"), ("PORT", "mysql")),),), refuse={"many": "{{ count }} for {{ NAME }}"}
    )
    assert tried({"e": parameter}) == Refusal(
        "2 for dbPassword", (Candidate("mysql", ".env.example:2"), Candidate("postgres", ".env.example:1")), "e", "many"
    )


def test_one_value_from_several_places_is_one_value() -> None:
    parameter = Parameter("e", tiers=((keys(("PG_URL", "postgres"), ("PORT", "postgres")),),))
    assert tried({"e": parameter}) == {"e": "postgres"}


def test_nothing_found() -> None:
    tiers = ((files("main.js"),),)
    sentence = {"none": "no entry point near {{ path }}"}
    assert tried({"e": Parameter("e", tiers=tiers, optional=True)}) == {"e": None}
    assert tried({"e": Parameter("e", tiers=tiers, refuse=sentence)}) == Refusal(
        "no entry point near src/a.js", (), "e", "none"
    )


@pytest.mark.parametrize(
    ("accept", "value", "fine"),
    [
        ({"regex": "[A-Z_]+"}, "DB_URL", True),
        ({"regex": "[A-Z_]+"}, "DB_URL2", False),  # the whole of it
        ({"exists": "file"}, "./src/a.js", True),
        ({"exists": "file"}, "src/b.js", False),
        ({"regex": ".*[.]js", "exists": "file"}, "server.js", True),
    ],
)
def test_what_is_accepted(accept: dict[str, str], value: str, fine: bool) -> None:
    parameter = Parameter("k", tiers=((Source("value", value=value),),), accept=accept)
    result = tried({"k": parameter})
    assert result == (
        {"k": value} if fine else Refusal(f"{value} cannot be used as k", (Candidate(value, ""),), "k", "rejected")
    )


def test_an_unreadable_declaration_is_not_passed_over() -> None:
    hidden = Row("src/a.js", (2, 3), {"NAME": None}, {}, ("NAME",))
    parameter = Parameter("k", tiers=((captured("NAME"),), (Source("value", value="x"),)))
    assert tried({"k": parameter}, row=hidden) == {"k": "x"}  # a capture that has no value is no declaration


MANY = Parameter("driver", tiers=((keys(("PG_URL", "postgres"), ("PORT", "mysql")),),))


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (Answer("CON-002", "driver", "mysql"), "mysql"),
        (Answer("CON-002", "driver", "mysql", root="."), "mysql"),
        (Answer("CON-002", "driver", "mysql", path="src/a.js"), "mysql"),
        (Answer("CON-002", "driver", "mysql", root="services/api"), None),
        (Answer("CON-001", "driver", "mysql"), None),
        (Answer("CON-002", "driver", "oracle"), None),
    ],
)
def test_an_answer_resolves_a_refusal(answer: Answer, expected: str | None) -> None:
    result = tried({"driver": MANY}, (answer,))
    if expected is None:
        assert isinstance(result, Refusal)
        assert [c.value for c in result.candidates] == ["mysql", "postgres"]
    else:
        assert isinstance(result, Values)
        assert (result, result.answered) == ({"driver": expected}, ("driver",))


def test_an_answer_that_is_no_candidate_needs_accept() -> None:
    open_question = Parameter("e", tiers=((files("main.js"),),), accept={"exists": "file"})
    assert tried({"e": open_question}, (Answer("CON-002", "e", "app.js"),)) == {"e": "app.js"}
    refused = tried({"e": open_question}, (Answer("CON-002", "e", "gone.js"),))
    assert refused == Refusal(
        "the answer 'gone.js' for e cannot be used: no value was found for e", (), "e", "rejected"
    )


def test_an_answer_is_not_asked_for_where_the_project_says_it() -> None:
    parameter = Parameter("k", tiers=((captured("NAME"),),))
    assert tried({"k": parameter}, (Answer("CON-002", "k", "other"),)) == {"k": "dbPassword"}


def test_an_answer_for_one_path_overrules_what_was_found() -> None:
    parameter = Parameter("k", tiers=((captured("NAME"),),), accept={"regex": "[A-Za-z_]+"})
    result = tried({"k": parameter}, (Answer("CON-002", "k", "PAY_KEY", path="src/a.js"),))
    assert (result, result.answered) == ({"k": "PAY_KEY"}, ("k",))
    refused = tried({"k": parameter}, (Answer("CON-002", "k", "PAY-KEY", path="src/a.js"),))
    assert refused == Refusal("the answer 'PAY-KEY' for k cannot be used: dbPassword was found", (), "k", "rejected")


def test_the_narrowest_answer_counts() -> None:
    wide, narrow = Answer("R", "p", "a"), Answer("R", "p", "b", path="x.js")
    assert answer_for("R", "p", "", "x.js", (wide, narrow)) is narrow
    assert answer_for("R", "p", "", "y.js", (wide, narrow)) is wide


def test_one_answer_for_different_questions_is_an_error() -> None:
    def asked(root: str, *values: str) -> Asked:
        return Asked("R", root, None, Refusal("?", tuple(Candidate(v, f"{root}/x") for v in values), "p", "many"))

    issues = [asked("api", "a", "b"), asked("web", "a", "c")]
    assert ambiguous_answers(issues, (Answer("R", "p", "a"),)) == (
        "the answer 'a' for R.p fits api, web, which have different candidates: add `root` or `path`",
    )
    assert ambiguous_answers(issues, (Answer("R", "p", "a", root="api"),)) == ()
    assert ambiguous_answers([asked("api", "a", "b"), asked("web", "a", "b")], (Answer("R", "p", "a"),)) == ()


def test_facts_of_two_stacks_are_joined() -> None:
    values = tried({"i": Parameter("i", value="{{ stack.ignore }}")}, stacks=("node", "python"))
    assert values == {"i": "node_modules/, dist/, __pycache__/"}
