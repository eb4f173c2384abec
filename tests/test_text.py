"""Edits in code points that keep every other byte."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fixaudit.text import Edit, LineIndex, StaleEditError, Text, apply_edits, byte_key

CONTENT = st.text(st.characters(exclude_categories=("Cs",)), max_size=60)


@given(CONTENT, st.booleans())
def test_bytes_come_back(content: str, bom: bool) -> None:
    data = (b"\xef\xbb\xbf" if bom else b"") + content.encode()
    text = Text.decode(data)
    if b"\0" in data[:8000]:
        assert text is None
    else:
        assert text is not None and text.encode() == data


@pytest.mark.parametrize("data", [b"\x89PNG\0", b"caf\xe9", b"\xff\xfea\0"])
def test_what_is_no_text(data: bytes) -> None:
    assert Text.decode(data) is None


@pytest.mark.parametrize(
    ("content", "newline"),
    [("", "\n"), ("a", "\n"), ("a\n", "\n"), ("a\r\nb\r\n", "\r\n"), ("a\r\nb\n", "\n"), ("a\r\nb\r\nc\n", "\r\n")],
)
def test_the_majority_decides_the_line_ending(content: str, newline: str) -> None:
    assert Text(content).newline == newline


def test_edits_apply_in_order_of_position() -> None:
    edits = [Edit(4, 5, "e", "E"), Edit(0, 0, "", "<"), Edit(1, 3, "bc", ""), Edit(0, 0, "", "+")]
    assert apply_edits("abcde", edits) == "<+adE"


def test_identical_edits_count_once() -> None:
    assert apply_edits("ab", [Edit(0, 0, "", "x"), Edit(0, 0, "", "x")]) == "xab"


@pytest.mark.parametrize(
    "edits",
    [
        [Edit(0, 1, "b", "")],
        [Edit(0, 2, "ab", ""), Edit(1, 3, "bc", "")],
        [Edit(2, 9, "c", "")],
        [Edit(2, 1, "", "")],
    ],
)
def test_a_stale_or_overlapping_edit_is_refused(edits: list[Edit]) -> None:
    with pytest.raises(StaleEditError):
        apply_edits("abc", edits)


@given(CONTENT, st.data())
def test_an_edit_touches_nothing_else(content: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(content)))
    end = data.draw(st.integers(start, len(content)))
    new = data.draw(CONTENT)
    assert apply_edits(content, [Edit(start, end, content[start:end], new)]) == content[:start] + new + content[end:]


@given(st.text(st.sampled_from("ab\n\r\x0b\x0c\x85\u2028"), max_size=40), st.data())
def test_positions_are_those_of_editors(content: str, data: st.DataObject) -> None:
    offset = data.draw(st.integers(0, len(content)))
    before = content[:offset]
    # A carriage return whose line feed lies behind the offset has not ended its line yet.
    ends = before.replace("\r\n", "\n").count("\n") + before.replace("\r\n", "").count("\r")
    if before.endswith("\r") and content[offset : offset + 1] == "\n":
        ends -= 1
    index = LineIndex(content)
    line, column = index.position(offset)
    assert line == ends + 1
    assert index.start_of(line) + column - 1 == offset
    assert index.line_start(offset) == index.start_of(line)
    assert "\n" not in content[index.line_start(offset) : index.line_end(offset)]


def test_paths_sort_by_bytes() -> None:
    assert sorted(["é", "z", "a/b", "a-b", "Z"], key=byte_key) == ["Z", "a-b", "a/b", "z", "é"]
