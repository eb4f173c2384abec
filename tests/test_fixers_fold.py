"""Joining steps: the joined change gives the same tree, and spans follow what they pointed at."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fixaudit.fixers.base import Target
from fixaudit.fixers.fold import Draft, moved, moved_span
from fixaudit.relations.base import Row, Value
from fixaudit.snapshot import REGULAR, ChangeSet, FileState, FollowUp, MemorySnapshot, Overlay
from fixaudit.text import Edit, Text


def edit(content: str, expected: str, replacement: str) -> Edit:
    start = content.index(expected)
    return Edit(start, start + len(expected), expected, replacement)


def test_two_steps_on_one_file_become_edits_of_the_first_text() -> None:
    base = MemorySnapshot.of({"a.js": "one two three\n"})
    draft = Draft.of(base).after(
        ChangeSet(edits={"a.js": (Edit(0, 0, "", "zero "), edit("one two three", "two", "2"))})
    )
    draft = draft.after(ChangeSet(edits={"a.js": (edit("zero one 2 three\n", "three", "3"),)}))
    assert draft.total().edits == {
        "a.js": (Edit(0, 0, "", "zero "), Edit(4, 7, "two", "2"), Edit(8, 13, "three", "3")),
    }
    assert Overlay(base).apply(draft.total()).read("a.js") == b"zero one 2 3\n"


def test_a_created_file_that_is_edited_later_is_created_once() -> None:
    draft = Draft.of(MemorySnapshot.of({}))
    draft = draft.after(ChangeSet(created={".env.example": FileState(REGULAR, b"A=\n")}))
    draft = draft.after(ChangeSet(edits={".env.example": (Edit(3, 3, "", "B=\n"),)}))
    assert draft.total() == ChangeSet(created={".env.example": FileState(REGULAR, b"A=\nB=\n")})


def test_steps_that_take_each_other_back_leave_nothing() -> None:
    draft = Draft.of(MemorySnapshot.of({"a": "x\n"}))
    draft = draft.after(ChangeSet(edits={"a": (Edit(0, 1, "x", "y"),)}))
    draft = draft.after(ChangeSet(edits={"a": (Edit(0, 1, "y", "x"),)}))
    assert draft.total().is_empty()


def test_whole_file_replacement_behind_an_edit_stays_a_replacement() -> None:
    base = MemorySnapshot.of({"a": "x\n"})
    draft = Draft.of(base).after(ChangeSet(edits={"a": (Edit(0, 1, "x", "y"),)}))
    draft = draft.after(ChangeSet(replaced={"a": (draft.overlay.digest("a"), b"z\n")}))
    assert draft.total() == ChangeSet(replaced={"a": (base.digest("a"), b"z\n")})


def test_follow_ups_and_untracked_paths_count_once() -> None:
    change = ChangeSet(untracked=(".env",), follow_ups=(FollowUp("X:a", "do"),))
    total = Draft.of(MemorySnapshot.of({".env": "A=1\n"})).after(change).after(change).total()
    assert (total.untracked, total.follow_ups) == ((".env",), (FollowUp("X:a", "do"),))


@pytest.mark.parametrize(
    ("edits", "expected"),
    [
        ((Edit(0, 0, "", "abc"),), (8, 13)),  # before
        ((Edit(5, 5, "", "abc"),), (8, 13)),  # at its start: outside
        ((Edit(10, 10, "", "abc"),), (5, 10)),  # at its end: outside
        ((Edit(5, 10, "value", "v"),), (5, 6)),  # itself
        ((Edit(6, 8, "al", ""),), (5, 8)),  # inside
        ((Edit(3, 7, "1234", "x"),), (3, 7)),  # over its start
        ((Edit(8, 12, "1234", "x"),), (5, 9)),  # over its end
        ((Edit(2, 12, "0123456789", "xyz"),), (2, 5)),  # all of it
    ],
)
def test_where_a_span_goes(edits: tuple[Edit, ...], expected: tuple[int, int]) -> None:
    assert moved_span((5, 10), edits) == expected


def test_rows_and_values_of_other_files_follow_their_own_edits() -> None:
    value = Value("object", path="b.js", span=(4, 9), entries={"origin": Value("string", "*", (6, 8))})
    row = Row("a.js", (3, 6), {"X": "x"}, {"X": (4, 5)}, nested={"option": value})
    change = ChangeSet(edits={"a.js": (Edit(0, 0, "", "--"),), "b.js": (Edit(0, 1, "x", ""),)})
    after = moved(Target(row), change).row
    assert after is not None
    assert (after.span, after.spans["X"]) == ((5, 8), (6, 7))
    assert (after.nested["option"].span, after.nested["option"].entries["origin"].span) == ((3, 8), (5, 7))


@st.composite
def edited_twice(draw: st.DrawFn) -> tuple[str, tuple[Edit, ...], tuple[Edit, ...]]:
    def edits(content: str) -> tuple[Edit, ...]:
        cuts = sorted(draw(st.lists(st.integers(0, len(content)), max_size=6)))
        pairs = list(zip(cuts[::2], cuts[1::2], strict=False))
        return tuple(Edit(a, b, content[a:b], draw(st.text("xyz", max_size=3))) for a, b in pairs)

    content = draw(st.text("ab\n", max_size=20))
    first = edits(content)
    return content, first, edits(Text(content).apply(first).content)


@given(edited_twice())
def test_joined_edits_give_what_the_steps_gave(case: tuple[str, tuple[Edit, ...], tuple[Edit, ...]]) -> None:
    content, first, second = case
    base = MemorySnapshot.of({"a": content})
    draft = Draft.of(base).after(ChangeSet(edits={"a": first})).after(ChangeSet(edits={"a": second}))
    assert Overlay(base).apply(draft.total()).read("a") == draft.overlay.read("a")
