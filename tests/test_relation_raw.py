"""Raw queries for user packs, and the dialect of their regular expressions."""

from __future__ import annotations

from typing import Any

import pytest

from fixaudit import dialect
from fixaudit.facts import Project
from fixaudit.relations.base import Row
from fixaudit.relations.raw import rows
from fixaudit.rulebook.rule import Concept, Query
from fixaudit.snapshot import MemorySnapshot


def ask(files: dict[str, str], query: Query, concepts: dict[str, Concept] | None = None) -> list[Row]:
    project = Project(MemorySnapshot.of(files))
    return list(rows(query, project.view(project.roots[0]), concepts or {}))


def shown(found: list[Row], *columns: str) -> list[tuple[Any, ...]]:
    return [(row.path, *(row.values[column] for column in columns)) for row in found]


def test_ast_rows_have_their_metavariables() -> None:
    files = {
        "a.js": "eval(x, y);\n",
        "b.ts": "const z: string = eval(q);\n",
        "c.py": "eval(p)\n",
        "t.test.js": "eval(1)\n",
    }
    rule = {"any": [{"pattern": "eval($FIRST)"}, {"pattern": "eval($FIRST, $$$REST)"}]}
    query = Query("ast", options={"language": "javascript", "rule": rule})
    found = ask(files, query)
    assert shown(found, "TEXT", "FIRST", "REST") == [("a.js", "eval(x, y)", "x", "y"), ("b.ts", "eval(q)", "q", None)]
    assert found[1].spans["FIRST"] == (23, 24)
    both = Query("ast", options={"language": ["javascript", "python"], "rule": {"pattern": "eval($A)"}})
    assert shown(ask(files, both), "A") == [("b.ts", "q"), ("c.py", "p")]


def test_rows_in_damaged_ranges_are_opaque() -> None:
    query = Query("ast", options={"language": "javascript", "rule": {"kind": "call_expression"}})
    found = ask({"a.js": "f(1);\nconst = ] g(2);\n"}, query)
    assert found[0].opaque == ()
    assert all(row.opaque == ("*",) for row in found if row.span[0] > 6)


def test_regex_rows_have_their_groups() -> None:
    query = Query("regex", options={"pattern": r"(?m)^(?<KEY>\w+)=(?:(?<VALUE>\d+)|\w*)$", "files": ["*.env"]})
    found = ask({"a.env": "é=1\nB=x\n", "b.txt": "A=1\n", "sub/c.env": "C=3\r\n"}, query)
    assert shown(found, "KEY", "VALUE") == [("a.env", "é", "1"), ("a.env", "B", None)]
    assert (found[0].spans["VALUE"], "VALUE" in found[1].spans) == ((2, 3), False)


def test_concepts_bind_and_unquote() -> None:
    concept = Concept("a.b", "m", ("KEY",), {"python": {"match": {"pattern": "env[$KEY]"}}}, unquote=("KEY",))
    (row,) = ask({"a.py": 'x = env["NAME"]\n'}, Query("concept", options={"name": "a.b"}), {"a.b": concept})
    assert (row.values["KEY"], row.spans["KEY"]) == ("NAME", (9, 13))


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("a(?=b)", "look-around"),
        ("(?<!x)a", "look-around"),
        (r"(a)\1", "back-reference"),
        ("(?P<A>a)(?P=A)", "back-reference"),
        ("(?>a)", "atomic"),
        ("a++", "possessive"),
        ("a{2}+", "possessive"),
        ("(a)?(?(1)b|c)", "conditional"),
        ("(a", "broken"),
        ("[a", "broken"),
        ("a**", "broken"),
    ],
)
def test_what_the_dialect_refuses(pattern: str, words: str) -> None:
    problem = dialect.problem(pattern)
    assert problem is not None and words in problem


@pytest.mark.parametrize(
    "pattern", ["(?i)^a.*$", r"[(?=]+", r"\(?=", "(?<NAME>x)+", "(?P<NAME>x)", "a+?", r"[\]]\\1", r"\A\d\z", "[]a]+"]
)  # fmt: skip
def test_what_the_dialect_takes(pattern: str) -> None:
    assert dialect.problem(pattern) is None


def test_both_spellings_of_groups() -> None:
    assert dialect.group_names("(?<A>x)(?P<B>y)") == ("A", "B")
    assert dialect.compiled(r"x\z").search("x\n") is None
