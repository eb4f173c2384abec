"""JSON: places of values, and edits that leave every other byte alone."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fixaudit.formats import json as format_json
from fixaudit.formats.json import Document
from fixaudit.formats.jsonedit import add_item, set_value
from fixaudit.formats.problem import Problem
from fixaudit.text import Text

TABBED = (
    '{\n\t"name": "demo",\n\t"scripts": { "start": "node server.js", "test": "node --test" },\n'
    '\t"dependencies": {\n\t\t"express": "4.19.2",\n\t\t"zod": "3.23.8"\n\t},\n\t"files": ["lib", "bin"]\n}'
)


def parsed(content: str) -> Document:
    document = format_json.parse(content)
    assert isinstance(document, Document), document
    return document


def changed(content: str, path: tuple[str, ...], value: Any, **options: Any) -> str:
    text = Text(content)
    edits = set_value(text, path, value, **options)
    assert not isinstance(edits, Problem), edits
    after = text.apply(edits)
    assert set_value(after, path, value, **options) == ()
    return after.content


@pytest.mark.parametrize(
    ("before", "path", "value", "after"),
    [
        (
            TABBED,
            ("dependencies", "helmet"),
            "7.1.0",
            TABBED.replace('"4.19.2",\n', '"4.19.2",\n\t\t"helmet": "7.1.0",\n'),
        ),
        (TABBED, ("dependencies", "zzz"), "1", TABBED.replace('"3.23.8"\n', '"3.23.8",\n\t\t"zzz": "1"\n')),
        (TABBED, ("dependencies", "abc"), "1", TABBED.replace('\t\t"express', '\t\t"abc": "1",\n\t\t"express')),
        (TABBED, ("scripts", "lint"), "x", TABBED.replace('{ "start"', '{ "lint": "x", "start"')),
        (TABBED, ("scripts", "z"), "x", TABBED.replace('--test" }', '--test", "z": "x" }')),
        (TABBED, ("dependencies", "zod"), "4.0.0", TABBED.replace("3.23.8", "4.0.0")),
        (
            TABBED,
            ("engines", "node"),
            ">=22",
            TABBED.replace('"bin"]\n', '"bin"],\n\t"engines": {\n\t\t"node": ">=22"\n\t}\n'),
        ),
        ("{}", ("a",), 1, '{\n  "a": 1\n}'),
        ('{"b":{}}', ("b", "c"), "é", '{"b":{"c":"é"}}'),
        ('{"b":1,"c":2}', ("bb",), 1, '{"b":1,"bb":1,"c":2}'),
        ('{ "b": {} }', ("b", "c"), 1, '{ "b": { "c": 1 } }'),
        ('{\n    "b": {}\n}\n', ("b", "c"), 1, '{\n    "b": {\n        "c": 1\n    }\n}\n'),
        ('{\r\n  "b": 1\r\n}\r\n', ("c",), 2, '{\r\n  "b": 1,\r\n  "c": 2\r\n}\r\n'),
        ('{\n  "b": 1 // why\n}\n', ("c",), 2, '{\n  "b": 1, // why\n  "c": 2\n}\n'),
        ('{\n  "b": 1, // why\n  "d": 3\n}\n', ("c",), 2, '{\n  "b": 1, // why\n  "c": 2,\n  "d": 3\n}\n'),
        ('{\n  "b": 1, /* a\n  b */\n  "d": 3\n}\n', ("c",), 2, '{\n  "b": 1, /* a\n  b */\n  "c": 2,\n  "d": 3\n}\n'),
        ('{\n  // top\n  "b": 1,\n}\n', ("c",), 2, '{\n  // top\n  "b": 1,\n  "c": 2,\n}\n'),
        (
            '{\n  "x": { "strict": true, "a": true, },\n}\n',
            ("x", "b"),
            1,
            '{\n  "x": { "strict": true, "a": true, "b": 1, },\n}\n',
        ),
        ("{\n  // only this\n}\n", ("a",), 1, '{\n  // only this\n  "a": 1\n}\n'),
        ('{ "a": 1,\n  "b": 2 }', ("c",), 3, '{ "a": 1,\n  "b": 2,\n  "c": 3 }'),
        ('{"a": true}', ("a",), 1, '{"a": 1}'),
    ],
)
def test_set_value_changes_one_place(before: str, path: tuple[str, ...], value: Any, after: str) -> None:
    assert changed(before, path, value) == after


def test_a_new_object_goes_in_front_of_the_named_key() -> None:
    content = '{\n  "name": "x",\n  "devDependencies": {}\n}\n'
    after = changed(content, ("dependencies", "a"), "1", sorted_like=False)
    assert list(json.loads(after)) == ["name", "devDependencies", "dependencies"]
    edits = set_value(Text(content), ("dependencies",), {"a": "1"}, sorted_like=False, before=("devDependencies",))
    assert not isinstance(edits, Problem)
    assert list(json.loads(Text(content).apply(edits).content)) == ["name", "dependencies", "devDependencies"]


def test_what_holds_something_is_not_overwritten() -> None:
    assert set_value(Text('{"a": {"b": 1}}'), ("a",), 1) == Problem(1, "a already holds something else")
    assert set_value(Text('{\n"a": 1}'), ("a", "b"), 1) == Problem(2, "a is no object")


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("", 1),
        ('{"a": 1,\n"b" 2}', 2),
        ('{\n"a": 01}', 2),
        ("[1 2]", 1),
        ('{"a": "x\n"}', 1),
        ("{} x", 1),
        ("{'a': 1}", 1),
    ],
)
def test_a_syntax_fault_names_its_line(content: str, line: int) -> None:
    problem = format_json.parse(content)
    assert isinstance(problem, Problem)
    assert problem.line == line


def test_deep_nesting_is_a_problem_not_a_crash() -> None:
    assert isinstance(format_json.parse("[" * 100_000), Problem)


def test_duplicates_comments_and_trailing_commas_are_noted() -> None:
    document = parsed('{"a": 1, "b": {"c": 1, "c": 2}, /* x */ "a": 3,}')
    assert [path for path, _ in document.duplicates()] == [("b", "c"), ("a",)]
    assert not document.strict
    node = document.get(("a",))
    assert node is not None
    assert node.scalar == 3


def test_items_are_added_in_the_style_of_the_array() -> None:
    text = Text('{"files": ["bin", "lib"], "x": [\n  1\n]}')
    edits = add_item(text, ("files",), "dist")
    assert not isinstance(edits, Problem)
    assert text.apply(edits).content.startswith('{"files": ["bin", "dist", "lib"]')
    edits = add_item(text, ("x",), 2)
    assert not isinstance(edits, Problem)
    assert '"x": [\n  1,\n  2\n]' in text.apply(edits).content
    assert add_item(text, ("files",), "lib") == ()


KEYS = st.text(st.characters(codec="utf-8", exclude_categories=("Cs",)), max_size=6)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9999, 9999) | KEYS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=12,
)


@settings(max_examples=250, deadline=None)
@given(
    st.dictionaries(KEYS, VALUES, max_size=5),
    st.lists(KEYS, min_size=1, max_size=3),
    VALUES,
    st.sampled_from([None, 1, 2, 4, "\t"]),
    st.booleans(),
    st.booleans(),
)
def test_set_value_is_exactly_one_change(
    document: dict[str, Any], path: list[str], value: Any, indent: Any, crlf: bool, ascii_only: bool
) -> None:
    content = json.dumps(document, indent=indent, ensure_ascii=ascii_only)
    text = Text(content.replace("\n", "\r\n") if crlf else content)
    expected = json.loads(content)
    place = expected
    for key in path[:-1]:
        place = place.setdefault(key, {}) if isinstance(place, dict) else None
    edits = set_value(text, path, value)
    if isinstance(edits, Problem):
        assert not isinstance(place, dict) or place.get(path[-1]), "refused without a reason"
        return
    assert isinstance(place, dict)
    place[path[-1]] = value
    after = text.apply(edits)
    assert json.loads(after.content) == expected
    assert set_value(after, path, value) == ()
    assert parsed(after.content).root.value() == expected
    if crlf and "\r\n" in text.content:
        assert after.content.count("\n") == after.content.count("\r\n")
    # All that was there is still there, in order: the edits only insert, or replace one scalar.
    assert sum(len(edit.expected) for edit in edits) == 0 or len(edits) == 1


GAPS = st.sampled_from(["", "", " ", "\n", "\n  ", " // c\n", "/* b */", "\n\t/* a\n b */\n\t"])


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(GAPS, GAPS, GAPS), max_size=4), GAPS, st.booleans(), st.sampled_from("Acxz"))
def test_comments_and_trailing_commas_survive(
    gaps: list[tuple[str, str, str]], last: str, comma: bool, key: str
) -> None:
    members = [
        f'{before}"{"bdfh"[number]}"{inside}: {number}{behind}' for number, (before, inside, behind) in enumerate(gaps)
    ]
    content = "{" + ",".join(members) + ("," if comma and members else "") + last + "}"
    text = Text(content)
    edits = set_value(text, (key,), 9)
    assert not isinstance(edits, Problem)
    after = text.apply(edits).content
    expected = parsed(content).root.value()
    assert isinstance(expected, dict)
    assert parsed(after).root.value() == {**expected, key: 9}
    kept = iter(after)
    assert all(char in kept for char in content if not char.isspace())
    assert len(parsed(after).comments) == len(parsed(content).comments)
    items = Text(
        "[" + ",".join(f"{before}{number}{behind}" for number, (before, _, behind) in enumerate(gaps)) + last + "]"
    )
    edits = add_item(items, (), 9)
    assert not isinstance(edits, Problem)
    assert parsed(items.apply(edits).content).root.value() == [*range(len(gaps)), 9]
