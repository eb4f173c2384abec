"""TOML: places, and edits proved against tomllib."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fixaudit.formats import toml
from fixaudit.formats.problem import Edits, Problem
from fixaudit.formats.tomledit import add_item, render, set_value
from fixaudit.text import Text

PROJECT = (
    '[project]\nname = "é"  # 名前\ndependencies = [\n    "flask>=3",  # web\n    "requests",\n]\n\n'
    "[project.optional-dependencies]\ndev = ['pytest']\n\n[tool.poetry.dependencies]\npython = \"^3.11\"\n"
    'flask = "^3"\nzope = { version = "1", extras = ["a"] }\n\n[[tool.x]]\na.b = 1\n'
    "[[tool.x]]\na = 2026-01-01 10:00:00\n"
)


def applied(content: str, edits: Edits) -> str:
    assert not isinstance(edits, Problem), edits
    return Text(content).apply(edits).content


def test_places() -> None:
    document = toml.parse(PROJECT)
    assert isinstance(document, toml.Document)
    found = {
        ".".join(entry.path): (PROJECT[slice(*entry.value.span)], entry.line) for entry in toml.walk(document.entries)
    }
    assert found["project.name"] == ('"é"', 2)
    assert found["tool.poetry.dependencies.zope.extras"] == ('["a"]', 14)
    assert found["tool.x.0.a.b"] == ("1", 17)
    assert found["tool.x.1.a"] == ("2026-01-01 10:00:00", 19)
    dependencies = document.entry(("project", "dependencies"))
    assert dependencies is not None
    assert [PROJECT[slice(*item.span)] for item in dependencies.value.items] == ['"flask>=3"', '"requests"']
    assert document.get(("tool", "x", "0", "a", "b")) == 1


@pytest.mark.parametrize(
    ("content", "line"), [("a = 1\nb = ", 2), ("a = 1\na = 2\n", 2), ("[x\n", 1), ("a = [1,\n", 2)]
)
def test_a_fault_names_its_line(content: str, line: int) -> None:
    problem = toml.parse(content)
    assert isinstance(problem, Problem)
    assert problem.line == line


@pytest.mark.parametrize(
    ("content", "path", "item", "after"),
    [
        (PROJECT, "project.dependencies", "gunicorn>=22", PROJECT.replace("# web\n", '# web\n    "gunicorn>=22",\n')),
        (PROJECT, "project.dependencies", "uvicorn", PROJECT.replace('"requests",\n', '"requests",\n    "uvicorn",\n')),
        (PROJECT, "project.dependencies", "aa", PROJECT.replace('    "flask>=3"', '    "aa",\n    "flask>=3"')),
        (PROJECT, "project.optional-dependencies.dev", "ruff", PROJECT.replace("['pytest']", "['pytest', 'ruff']")),
        ('a = ["z", "b"]\n', "a", "c", 'a = ["z", "b", "c"]\n'),
        ('a = ["b",]\n', "a", "c", 'a = ["b", "c",]\n'),
        ("a = []\n", "a", "c", 'a = ["c"]\n'),
        ("a = [\n]\n", "a", "c", 'a = [\n    "c",\n]\n'),
        ("a = [\n  # none yet\n]\n", "a", "c", 'a = [\n  # none yet\n    "c",\n]\n'),
        ('a = [\n  "b" # why, [\n]\n', "a", "c", 'a = [\n  "b", # why, [\n  "c"\n]\n'),
        ('a = [\r\n  "b"\r\n]\r\n', "a", "c", 'a = [\r\n  "b",\r\n  "c"\r\n]\r\n'),
        ('[project]\nname = "x"\n', "project.dependencies", "c", '[project]\nname = "x"\ndependencies = ["c"]\n'),
        ("", "project.dependencies", "c", '[project]\ndependencies = ["c"]\n'),
    ],
)
def test_items(content: str, path: str, item: str, after: str) -> None:
    result = applied(content, add_item(Text(content), path.split("."), item))
    assert result == after
    assert add_item(Text(result), path.split("."), item) == ()


@pytest.mark.parametrize(
    ("content", "path", "value", "after"),
    [
        (
            PROJECT,
            ("tool", "poetry", "dependencies", "gunicorn"),
            "^22",
            PROJECT.replace('"^3"\n', '"^3"\ngunicorn = "^22"\n'),
        ),
        (PROJECT, ("tool", "poetry", "dependencies", "aa"), "1", PROJECT.replace('"^3.11"\n', '"^3.11"\naa = "1"\n')),
        (PROJECT, ("tool", "poetry", "dependencies", "flask"), "^4", PROJECT.replace('flask = "^3"', 'flask = "^4"')),
        (
            PROJECT,
            ("tool", "poetry", "dependencies", "zope", "x"),
            True,
            PROJECT.replace('["a"] }', '["a"], x = true }'),
        ),
        ("[a]\nb = 1", ("a", "c"), 2, "[a]\nb = 1\nc = 2"),
        ("[a]\n\n[b]\n", ("a", "c"), 2, "[a]\nc = 2\n\n[b]\n"),
        ("[a]\nx = 1\n\n[b]\n", ("a", "t", "k"), 2, "[a]\nx = 1\n\n[a.t]\nk = 2\n\n[b]\n"),
        ("[a]\nx.y = 1\n", ("a", "x", "z"), 2, "[a]\nx.y = 1\nx.z = 2\n"),
        ("# top\n[a]\n", ("k",), 1, "# top\nk = 1\n\n[a]\n"),
        ("k = {}\n", ("k", "a b"), "q\"'", 'k = { "a b" = "q\\"\'" }\n'),
        ("[a]\nx = '''\n[b]\n'''\n", ("a", "y"), 1, "[a]\nx = '''\n[b]\n'''\ny = 1\n"),
    ],
)
def test_values(content: str, path: tuple[str, ...], value: Any, after: str) -> None:
    result = applied(content, set_value(Text(content), path, value))
    assert result == after
    assert set_value(Text(result), path, value) == ()


def test_what_holds_something_is_not_overwritten() -> None:
    assert isinstance(set_value(Text("a = [1]\n"), ("a",), "x"), Problem)
    assert isinstance(set_value(Text("[a]\nb = 1\n"), ("a",), "x"), Problem)
    assert isinstance(set_value(Text("a = 1\n"), ("a", "b"), "x"), Problem)
    assert isinstance(add_item(Text('a = "x"\n'), ("a",), "y"), Problem)


NAMES = st.sampled_from(["a", "b", "c d", "é", "x-1"])
SCALARS = (
    st.booleans() | st.integers(-9, 9) | st.text(max_size=5) | st.lists(st.text("ab'\"\\,]", max_size=3), max_size=3)
)
TABLES = st.dictionaries(NAMES, SCALARS | st.dictionaries(NAMES, SCALARS, max_size=2), max_size=4)


@settings(max_examples=150, deadline=None)
@given(
    TABLES, st.dictionaries(NAMES, TABLES, max_size=2), st.lists(NAMES, min_size=1, max_size=3), SCALARS, st.booleans()
)
def test_set_value_is_exactly_one_change(
    top: dict[str, Any], tables: dict[str, Any], path: list[str], value: Any, crlf: bool
) -> None:
    lines = [f"{_name(key)} = {render(item)}" for key, item in top.items()]
    for key, table in tables.items():
        if key not in top:
            lines += [
                "",
                f"[{_name(key)}] # note",
                *(f"{_name(name)} = {render(item)}" for name, item in table.items()),
            ]
    content = "".join(line + ("\r\n" if crlf else "\n") for line in lines)
    text = Text(content)
    edits = set_value(text, path, value)
    if isinstance(edits, Problem):
        node: Any = tomllib.loads(content)
        for key in path:
            node = node.get(key) if isinstance(node, dict) else node
        assert node is not None, edits
        return
    after = text.apply(edits)
    node = tomllib.loads(after.content)
    for key in path:
        node = node[key]
    assert node == value
    assert set_value(after, path, value) == ()
    assert not crlf or after.content.count("\n") == after.content.count("\r\n") or "\r\n" not in content


def _name(key: str) -> str:
    return f'"{key}"'


GAPS = st.sampled_from(["", " ", "\n  ", "\n", " # c ], \n", "\n# d\n"])


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(GAPS, GAPS), max_size=4), GAPS, st.booleans(), st.sampled_from(["Aa", "c", "z"]))
def test_items_are_added_between_any_comments(gaps: list[tuple[str, str]], last: str, comma: bool, item: str) -> None:
    items = ["bdfh"[number] for number in range(len(gaps))]
    body = ",".join(f'{before}"{name}"{behind}' for name, (before, behind) in zip(items, gaps))
    text = Text(f"a = [{body}{',' if comma and items else ''}{last}]\nb = 1\n")
    edits = add_item(text, ("a",), item)
    assert not isinstance(edits, Problem), edits
    after = text.apply(edits).content
    assert tomllib.loads(after) == {"a": sorted([*items, item]), "b": 1}
    kept = iter(after)
    assert all(char in kept for char in text.content if not char.isspace())
