"""`.env` files: one reader, and a writer whose values read back unchanged."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fixaudit.formats import dotenv
from fixaudit.formats.problem import Problem
from fixaudit.text import Text

SYNTAX = (
    "PORT=3000\nexport NODE_ENV=production\nHASHY=abc#def\nCOMMENTED=value # this is a comment\n"
    'QUOTED="a # b"\nJSON=\'{"k": "v#w"}\'\nEMPTY=\nEMPTY_C= # nothing\nMULTI="line one\nline two"\n'
    'ALT="dev" # or "prod" or "test"\nSPACED = yes\n'
)


def values(content: str) -> dict[str, str]:
    return {entry.key: entry.value for entry in dotenv.read(content).entries}


def test_values_are_read_as_loaders_read_them() -> None:
    assert values(SYNTAX) == {
        "PORT": "3000",
        "NODE_ENV": "production",
        "HASHY": "abc#def",
        "COMMENTED": "value",
        "QUOTED": "a # b",
        "JSON": '{"k": "v#w"}',
        "EMPTY": "",
        "EMPTY_C": "",
        "MULTI": "line one\nline two",
        "ALT": "dev",
        "SPACED": "yes",
    }
    multi = dotenv.read(SYNTAX).get("MULTI")
    assert multi is not None
    assert SYNTAX[slice(*multi.value_span)] == '"line one\nline two"'
    assert SYNTAX[slice(*multi.span)] == 'MULTI="line one\nline two"'
    assert (multi.line, multi.quote) == (9, '"')


def test_the_template_holds_every_key_and_no_value() -> None:
    assert dotenv.template(Text(SYNTAX)) == (
        "PORT=\nexport NODE_ENV=\nHASHY=\nCOMMENTED= # this is a comment\nQUOTED=\nJSON=\nEMPTY=\n"
        'EMPTY_C= # nothing\nMULTI=\nALT= # or "prod" or "test"\nSPACED =\n'
    )


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (
            "# head\r\n\r\nA=1\r\n# OLD_KEY=hidden\r\nB='x\r\ny'\r\nsome text hidden\r\n",
            "# head\r\n\r\nA=\r\n# OLD_KEY=\r\nB=\r\n",
        ),
        ("A=1\nB=2\nA=3", "A=\nB=\n"),
        ("", ""),
    ],
)
def test_the_template_leaks_nothing(content: str, expected: str) -> None:
    assert dotenv.template(Text(content)) == expected


@pytest.mark.parametrize(
    ("content", "key", "value", "after"),
    [
        ("", "A", "1", "A=1\n"),
        ("B=2", "A", "1", "B=2\nA=1\n"),
        ("B=2\r\nC=3", "A", "1", "B=2\r\nC=3\r\nA=1\r\n"),
        ("B=2\n", "A", "a b#c", "B=2\nA='a b#c'\n"),
        ("", "A", "it's", 'A="it\'s"\n'),
        ("", "A", "pa$$w", "A='pa$$w'\n"),
        ("", "A", "C:\\x", "A='C:\\x'\n"),
        ("", "U", "postgres://u:p@h:5432/db?ssl=1", "U=postgres://u:p@h:5432/db?ssl=1\n"),
    ],
)
def test_a_key_is_appended(content: str, key: str, value: str, after: str) -> None:
    text = Text(content)
    edits = dotenv.set_key(text, key, value)
    assert not isinstance(edits, Problem)
    result = text.apply(edits)
    assert result.content == after
    assert dotenv.set_key(result, key, "other") == ()


@pytest.mark.parametrize("value", ["${A}", "a\rb", "it's $5", "'\"", "a\0", "it's\\"])
def test_a_value_that_loaders_read_differently_is_refused(value: str) -> None:
    assert isinstance(dotenv.set_key(Text(""), "A", value), Problem)


def test_an_unclosed_quote_above_is_seen() -> None:
    assert isinstance(dotenv.set_key(Text("B='open\nC=1\n"), "A", " # x"), Problem)


def test_replace_changes_the_entry_that_counts() -> None:
    text = Text("A=1 # first\nA=2 # second\n")
    edits = dotenv.set_key(text, "A", "3", replace=True)
    assert not isinstance(edits, Problem)
    assert text.apply(edits).content == "A=1 # first\nA=3 # second\n"


def test_what_is_no_entry_is_listed() -> None:
    assert dotenv.read("A=1\nnonsense\n").problems == (Problem(2, "the line is not of the form KEY=value"),)


LINES = st.lists(
    st.sampled_from(["A=1", "# note", "", "export B='x y'", 'C="a\nb" # c', "D=a#b", "junk", "E="]), max_size=6
)


@settings(max_examples=300, deadline=None)
@given(LINES, st.text(max_size=12) | st.text("ab #'\"$\\\n{}`=", max_size=8), st.booleans(), st.booleans())
def test_a_written_value_reads_back(lines: list[str], value: str, final: bool, replace: bool) -> None:
    text = Text("\n".join(lines) + ("\n" if final and lines else ""))
    edits = dotenv.set_key(text, "NEW" if not replace else "A", value, replace=replace)
    if isinstance(edits, Problem):
        assert dotenv.quoted(value) is None
        return
    after = text.apply(edits)
    read = dotenv.read(after.content)
    entry = read.get("NEW" if not replace else "A")
    assert entry is not None
    assert entry.value == value
    others = [(item.key, item.value) for item in read.entries if item.key not in ("NEW", "A")]
    assert others == [(item.key, item.value) for item in dotenv.read(text.content).entries if item.key != "A"]


@settings(max_examples=200, deadline=None)
@given(st.text("AB=x #'\"\n\r\\e", max_size=30))
def test_spans_slice_back(content: str) -> None:
    for entry in dotenv.read(content).entries:
        assert content[slice(*entry.key_span)] == entry.key
        start, end = entry.value_span
        assert entry.span[0] <= entry.key_span[0] < start <= end <= entry.span[1]
        assert not entry.quote or content[start] == content[end - 1] == entry.quote
        assert content[: entry.span[0]].replace("\r\n", "\n").replace("\r", "\n").count("\n") == entry.line - 1
