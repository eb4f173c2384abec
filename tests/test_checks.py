"""The evaluator: three values, subjects, joins and order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fixaudit import checks
from fixaudit.checks import Evaluation, Vocabulary, evaluate
from fixaudit.facts import Facts, Project
from fixaudit.projects import Root
from fixaudit.relations import base
from fixaudit.relations.base import Row, Truth, Value, ask, ask_value, conjunction, disjunction
from fixaudit.rulebook.rule import Check, Query
from fixaudit.snapshot import MemorySnapshot

YES, NO, UNKNOWN = Truth.YES, Truth.NO, Truth.UNKNOWN


def row(place: int = 0, opaque: Sequence[str] = (), **values: Any) -> Row:
    return Row("a.js", (place, place + 1), {k.upper(): v for k, v in values.items()}, {}, tuple(opaque))


@pytest.fixture
def rows(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[Row]]:
    """Relations "left" and "right" with the rows that a test puts in."""
    tables: dict[str, list[Row]] = {"left": [], "right": [], "third": []}
    relations = {
        name: base.RootRelation(name, "", {}, lambda facts, options, name=name: tables[name]) for name in tables
    }
    monkeypatch.setattr(checks, "registry", lambda: relations)
    return tables


def answer(check: Check) -> Evaluation:
    facts = Facts(Project(MemorySnapshot.of({"a.js": "x" * 50})), Root(""))
    return evaluate(check, facts, Vocabulary())


def shape(result: Evaluation) -> tuple[int, int, int]:
    return result.subjects, len(result.violations), len(result.opaque)


def q(name: str, **filters: Any) -> Query:
    return Query(name, filters)


@pytest.mark.parametrize(
    ("left", "expected"),
    [
        ([], (0, 0, 0)),
        ([row(kind="a")], (0, 0, 0)),
        ([row(kind="b")], (1, 1, 0)),
        ([row(kind="b"), row(1, opaque=["KIND"])], (2, 1, 1)),
        ([row(opaque=["*"], kind="b")], (1, 0, 1)),
    ],
)
def test_forbid(rows: dict[str, list[Row]], left: list[Row], expected: tuple[int, int, int]) -> None:
    rows["left"] = left
    assert shape(answer(Check("forbid", q("left", kind="b"), "m"))) == expected


def test_forbid_without_its_subject_does_not_apply(rows: dict[str, list[Row]]) -> None:
    rows["left"] = [row(kind="b")]
    check = Check("forbid", q("left"), "m", subject=q("right"))
    assert shape(answer(check)) == (0, 0, 0)
    rows["right"] = [row()]
    assert shape(answer(check)) == (1, 1, 0)


@pytest.mark.parametrize(
    ("left", "expected"),
    [([], (1, 1, 0)), ([row(kind="b")], (1, 0, 0)), ([row(opaque=["KIND"])], (1, 0, 1)), ([row(kind="a")], (1, 1, 0))],
)
def test_require(rows: dict[str, list[Row]], left: list[Row], expected: tuple[int, int, int]) -> None:
    rows["left"] = left
    assert shape(answer(Check("require", q("left", kind="b"), "m"))) == expected


EVERY = Check("every", q("left"), "m", has=q("right"), on={"APP": "APP"}, before="SEQ")


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ([], [], (0, 0, 0)),
        ([row(app="x", seq=2)], [], (1, 1, 0)),
        ([row(app="x", seq=2)], [row(app="x", seq=1)], (1, 0, 0)),
        ([row(app="x", seq=2)], [row(app="x", seq=2)], (1, 1, 0)),
        ([row(app="x", seq=2)], [row(app="x", seq=3)], (1, 1, 0)),
        ([row(app="x", seq=2)], [row(app="y", seq=1)], (1, 1, 0)),
        ([row(app="x", seq=2)], [row(app="x", seq=1, opaque=["SEQ"])], (1, 0, 1)),
        ([row(app="x", seq=2)], [row(app="x", seq=1, opaque=["APP"])], (1, 0, 1)),
        ([row(app="x", seq=2, opaque=["*"])], [], (1, 0, 1)),
        # One finding for each application, at its first row.
        ([row(0, app="x", seq=1), row(1, app="x", seq=2), row(2, app="y", seq=3)], [], (3, 2, 0)),
        # One row that surely violates outweighs another that cannot be told.
        ([row(0, app="x", seq=1, opaque=["*"]), row(1, app="x", seq=2)], [], (2, 1, 0)),
    ],
)
def test_every(rows: dict[str, list[Row]], left: list[Row], right: list[Row], expected: tuple[int, int, int]) -> None:
    rows["left"], rows["right"] = left, right
    assert shape(answer(EVERY)) == expected


def test_every_takes_the_worst_priority_of_a_group(rows: dict[str, list[Row]]) -> None:
    both = Query(any=(Query("left", {"need": True}), Query("left", {"need": False}, priority="P2")))
    check = Check("every", both, "m", has=q("right"), on={"KEY": "KEY"})
    rows["left"] = [row(0, key="A", need=False), row(1, key="A", need=True), row(2, key="B", need=False)]
    assert [m.priority for m in answer(check).violations] == [None, "P2"]


@pytest.mark.parametrize(
    ("count", "unclear", "low", "high", "expected"),
    [
        (1, 0, 1, 1, (0, 0)),
        (0, 0, 1, None, (1, 0)),
        (2, 0, None, 1, (1, 0)),
        (0, 1, 1, None, (0, 1)),
        (1, 1, None, 1, (0, 1)),
    ],
)
def test_count(
    rows: dict[str, list[Row]], count: int, unclear: int, low: int | None, high: int | None, expected: tuple[int, int]
) -> None:
    rows["left"] = [row(n, kind="b") for n in range(count)] + [row(9, opaque=["KIND"])] * unclear
    result = answer(Check("count", q("left", kind="b"), "m", at_least=low, at_most=high))
    assert (len(result.violations), len(result.opaque)) == expected


@pytest.mark.parametrize(
    ("sets", "hidden", "expected"),
    [
        ([["22", "24"], ["24"]], 0, (0, 0)),
        ([["22"], ["24"]], 0, (1, 0)),
        ([["22"]], 0, (0, 0)),
        ([["22"]], 1, (0, 1)),
        ([["22"], ["24"]], 1, (1, 0)),
    ],
)
def test_agree(rows: dict[str, list[Row]], sets: list[list[str]], hidden: int, expected: tuple[int, int]) -> None:
    rows["left"] = [row(n, majors=value) for n, value in enumerate(sets)] + [
        row(9, opaque=["MAJORS"], majors=[])
    ] * hidden
    result = answer(Check("agree", q("left"), "m", agree_on="MAJORS"))
    assert (len(result.violations), len(result.opaque)) == expected


@pytest.mark.parametrize(
    ("wanted", "truth"),
    [
        ("a", YES), ("b", NO), (["b", "a"], YES), ({"regex": "^A|a$"}, YES), ({"not": "a"}, NO), ({"not": ["b"]}, YES),
        ({"present": True}, YES), ({"present": False}, NO), ({"starts": "a", "ends": "b"}, NO),
        ({"contains": "a"}, YES), (None, NO),
    ],
)  # fmt: skip
def test_a_column_is_asked(wanted: Any, truth: Truth) -> None:
    assert ask(row(kind="a"), {"kind": wanted}) is truth
    assert ask(row(kind="a", opaque=["KIND"]), {"kind": wanted}) is UNKNOWN


@pytest.mark.parametrize(("wanted", "truth"), [(True, NO), (1, YES), ({"less": 2}, YES), ({"more": 1}, NO)])
def test_numbers_and_flags_are_different_things(wanted: Any, truth: Truth) -> None:
    assert ask(row(n=1), {"n": wanted}) is truth


STAR, TRUE, ENV = Value("string", "*"), Value("boolean", "true"), Value("env", "X")
EITHER = Value("either", items=(ENV, STAR))
LIST = Value("list", items=(Value("string", "https://a"), STAR))


@pytest.mark.parametrize(
    ("value", "wanted", "truth"),
    [
        (STAR, "*", YES), (STAR, True, NO), (TRUE, True, YES), (TRUE, "true", NO), (None, "*", NO),
        (STAR, {"could_be": ["*", True]}, YES), (LIST, {"could_be": "*"}, YES), (EITHER, {"could_be": "*"}, YES),
        (ENV, {"could_be": "*"}, NO), (Value("unknown"), {"could_be": "*"}, UNKNOWN),
        (Value("list", items=(), complete=False), {"could_be": "*"}, UNKNOWN),
        (Value("template"), {"could_be": "*"}, UNKNOWN), (EITHER, {"is": "*"}, NO), (EITHER, {"env": True}, YES),
        (None, {"present": False}, YES), (STAR, {"present": True}, YES), (Value("unknown"), {"present": True}, UNKNOWN),
        (Value("number", "5"), {"less": 10}, YES), (ENV, {"less": 10}, UNKNOWN), (STAR, ":string", YES),
        (Value("null"), None, YES), (Value("unknown"), {"not": {"could_be": "*"}}, UNKNOWN),
    ],
)  # fmt: skip
def test_a_value_is_asked(value: Value | None, wanted: Any, truth: Truth) -> None:
    assert ask_value(value, wanted) is truth


@pytest.mark.parametrize(
    ("option", "filters", "truth"),
    [
        (Value("object", entries={"a": STAR}), {"a": "*"}, YES),
        (Value("object", entries={}), {"a": {"present": False}}, YES),
        (Value("object", entries={}, complete=False), {"a": {"present": False}}, UNKNOWN),
        (Value("unknown"), {"a": "*"}, UNKNOWN),
        (Value("object", entries={"a": STAR, "b": TRUE}), {"a": "*", "b": False}, NO),
    ],
)
def test_options_of_a_call(option: Value, filters: Mapping[str, Any], truth: Truth) -> None:
    call = Row("a.js", (0, 1), {}, nested={"option": option})
    assert ask(call, {"option": filters}) is truth


TRUTHS = st.sampled_from(list(Truth))


@given(st.lists(TRUTHS, max_size=4), st.lists(TRUTHS, max_size=4))
def test_kleene_logic(left: list[Truth], right: list[Truth]) -> None:
    assert conjunction(left).negated() is disjunction([t.negated() for t in left])
    assert conjunction([conjunction(left), conjunction(right)]) is conjunction([*left, *right])
    assert disjunction([disjunction(left), disjunction(right)]) is disjunction([*left, *right])
    # Learning more never turns a decided answer round.
    known = [t for t in left if t is not UNKNOWN]
    if conjunction(left) is NO:
        assert NO in known
