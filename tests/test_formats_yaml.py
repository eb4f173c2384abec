"""YAML: scalars as text with their places, and lines added without touching any other."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fixaudit.formats import yaml
from fixaudit.formats.problem import Edits, Problem
from fixaudit.formats.yamledit import insert_entry, replace_scalar
from fixaudit.text import Text

PERMISSIONS = ("permissions:", "  contents: read")
FOUR = (
    "# owner: platform team\nname:   'CI'   # keep the quotes\n\non: [push]\n\njobs:\n"
    "    build:            # four spaces, on purpose\n        runs-on: ubuntu-22.04\n        steps:\n"
    '        -   uses: actions/checkout@v3   # v3.5.0\n        -   run: "npm test"\n\n# end of file\n'
)
LONG = (
    "name: long\non: push\njobs:\n  a:\n    steps:\n      - run: " + "python tools/report.py " * 8 + "--flag\n"
    "      - run: >-\n          echo one\n          two\n      - run: |+\n          echo keep the newline\n\n"
)
ON = (
    "name: t\n\non:\n  pull_request:\n  push:\n    branches: [main]\n\njobs:\n  t:\n    env:\n      DEBUG: on\n"
    "      COUNTRY: NO\n      VERSION: 3.10\n      MODE: 0755\n      DAY: 2024-01-01\n      NOTHING:\n"
)


def rows(content: str) -> dict[tuple[str | int, ...], str]:
    result = yaml.scalars(content)
    assert not isinstance(result, Problem), result
    return {row.path: row.text for row in result}


def applied(content: str, edits: Edits) -> str:
    assert not isinstance(edits, Problem), edits
    return Text(content).apply(edits).content


def test_scalars_stay_as_typed() -> None:
    assert rows(ON) == {
        ("name",): "t",
        ("on", "pull_request"): "",
        ("on", "push", "branches", 0): "main",
        ("jobs", "t", "env", "DEBUG"): "on",
        ("jobs", "t", "env", "COUNTRY"): "NO",
        ("jobs", "t", "env", "VERSION"): "3.10",
        ("jobs", "t", "env", "MODE"): "0755",
        ("jobs", "t", "env", "DAY"): "2024-01-01",
        ("jobs", "t", "env", "NOTHING"): "",
    }


def test_spans_lines_and_styles() -> None:
    content = "é: '👋 x'\nb: &n !str 3.10 # c\nc: |\n  two\n  lines\n---\nd: \"q\"\n"
    result = yaml.scalars(content)
    assert not isinstance(result, Problem)
    assert [(row.path, content[slice(*row.span)], row.line, row.style, row.document) for row in result] == [
        (("é",), "'👋 x'", 1, "'", 0),
        (("b",), "3.10", 2, "", 0),
        (("c",), "|\n  two\n  lines\n", 3, "|", 0),
        (("d",), '"q"', 7, '"', 1),
    ]


def test_aliases_and_merge_keys() -> None:
    content = "base: &b\n  a: 1\n  b: 2\nuse:\n  <<: *b\n  b: 3\nlist: [*b, x]\nboth:\n  <<: [{z: 1, a: 9}, *b]\n"
    assert rows(content) == {
        ("base", "a"): "1",
        ("base", "b"): "2",
        ("use", "b"): "3",
        ("use", "a"): "1",
        ("list", 0, "a"): "1",
        ("list", 0, "b"): "2",
        ("list", 1): "x",
        ("both", "z"): "1",
        ("both", "a"): "9",
        ("both", "b"): "2",
    }
    roots = yaml.parse(content)
    assert not isinstance(roots, Problem)
    node = yaml.get(roots[0], ("use", "a"))
    assert isinstance(node, yaml.Scalar)
    assert node.text == "1"


def test_a_small_file_that_means_millions_is_a_problem() -> None:
    names = "abcdefgh"
    content = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"{name}: &{name} [{', '.join(['*' + previous] * 10)}]\n" for previous, name in itertools.pairwise(names)
    )
    assert isinstance(yaml.scalars(content), Problem)


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("a: [1\nb: 2", 2),
        ("a: 1\n\tb: 2", 2),
        ("x: 1\na: b: c", 2),
        ("a: *nope", 1),
        ("a: 1\nb: \x07", 2),
        ("[" * 300, 1),
    ],
)
def test_a_fault_names_its_line(content: str, line: int) -> None:
    problem = yaml.parse(content)
    assert isinstance(problem, Problem)
    assert problem.line == line


@pytest.mark.parametrize(
    ("content", "old", "new"),
    [
        (FOUR, "on: [push]\n", "on: [push]\n\npermissions:\n    contents: read\n"),
        (LONG, "on: push\n", "on: push\npermissions:\n  contents: read\n"),
        (ON, "    branches: [main]\n", "    branches: [main]\n\npermissions:\n  contents: read\n"),
        (ON.replace("\n", "\r\n"), "[main]\r\n", "[main]\r\n\r\npermissions:\r\n  contents: read\r\n"),
        ("on:\n  push:\n    # - dev\njobs: {}\n", "dev\n", "dev\npermissions:\n  contents: read\n"),
        ("on:\n- push\n# next\njobs: {}\n", "- push\n", "- push\npermissions:\n  contents: read\n"),
        ("jobs: {}\non: push", "on: push", "on: push\npermissions:\n  contents: read"),
        ("---\n'on': push # t\n...\n", "# t\n", "# t\npermissions:\n  contents: read\n"),
        ("on: >-\n  push\n\n\njobs: {}\n", "  push\n", "  push\n\npermissions:\n  contents: read\n"),
        ("on: |+\n  push\n\n\njobs: {}\n", "\n\n\n", "\n\n\npermissions:\n  contents: read\n"),
    ],
)
def test_a_block_is_added_behind_a_key(content: str, old: str, new: str) -> None:
    result = applied(content, insert_entry(Text(content), (), PERMISSIONS, after=("on",)))
    assert result == content.replace(old, new, 1)
    assert insert_entry(Text(result), (), PERMISSIONS, after=("on",)) == ()


def test_places_before_and_inside() -> None:
    assert applied("# head\na: 1\nb: 2\n", insert_entry(Text("# head\na: 1\nb: 2\n"), (), ["c: 3"], before=("b",))) == (
        "# head\na: 1\nc: 3\nb: 2\n"
    )
    assert applied("# head\na: 1\n", insert_entry(Text("# head\na: 1\n"), (), ["c: 3"], before=("a",))) == (
        "# head\nc: 3\na: 1\n"
    )
    nested = "jobs:\n    b:\n        steps:\n        -   run: x\n        -   run: y\n"
    assert applied(nested, insert_entry(Text(nested), ("jobs", "b"), ["timeout-minutes: 5"])) == (
        nested + "        timeout-minutes: 5\n"
    )
    step = ("jobs", "b", "steps", 0)
    assert applied(nested, insert_entry(Text(nested), step, ["with:", "  a: 1"])) == nested.replace(
        "run: x\n", "run: x\n            with:\n                a: 1\n"
    )
    assert applied(nested, insert_entry(Text(nested), step, ["name: n"], before=("run",))) == nested.replace(
        "-   run: x\n", "-   name: n\n            run: x\n"
    )


@pytest.mark.parametrize("content", ["{name: x, on: push}\n", "", "- a\n", "just text\n"])
def test_what_has_no_lines_to_add_to_is_refused(content: str) -> None:
    assert isinstance(insert_entry(Text(content), (), PERMISSIONS, after=("on",)), Problem)


def test_one_scalar_is_replaced() -> None:
    text = Text("a: 18 # old\nb: [18]\n")
    assert applied(text.content, replace_scalar(text, (3, 5), "'22'")) == "a: '22' # old\nb: [18]\n"
    assert replace_scalar(text, (3, 5), "18") == ()
    assert isinstance(replace_scalar(text, (3, 5), "x: y"), Problem)
    assert isinstance(replace_scalar(text, (3, 5), "1\nc: 2"), Problem)


BLOCKS = st.lists(
    st.sampled_from(
        [
            "a: 1",
            "b:\n  - x\n  - y",
            "c: |+\n  t\n",
            "d: >\n  u\n  v",
            "# note",
            "",
            "e:",
            "f: {g: h} # i",
            "j:\n    k: é",
        ]
    ),
    min_size=1,
    max_size=6,
    unique=True,
)


@settings(max_examples=200, deadline=None)
@given(
    BLOCKS, st.sampled_from(["a", "b", "c", "d", "e", "f", "j", "none"]), st.booleans(), st.booleans(), st.booleans()
)
def test_an_added_entry_changes_nothing_else(blocks: list[str], key: str, crlf: bool, final: bool, front: bool) -> None:
    content = "\n".join(blocks) + ("\n" if final else "")
    content = content.replace("\n", "\r\n") if crlf else content
    text = Text(content)
    place = {"before": (key,)} if front else {"after": (key,)}
    edits = insert_entry(text, (), PERMISSIONS, **place)
    if isinstance(edits, Problem):
        assert not any(":" in block for block in blocks)
        return
    result = applied(content, edits)
    after = rows(result)
    assert after.pop(("permissions", "contents")) == "read"
    assert {path: value.rstrip("\n") for path, value in after.items()} == {
        path: value.rstrip("\n") for path, value in rows(content).items()
    }
    lines = iter(result.splitlines())
    assert all(line in lines for line in content.splitlines())
    assert "\r\n" not in content or result.count("\n") == result.count("\r\n")
