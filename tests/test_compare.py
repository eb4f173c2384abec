"""What a change broke, and which issue of before is which finding of after."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fixaudit.audit import Audit, audit, audit_after
from fixaudit.compare import SpanMap, carry, regression, targets_gone
from fixaudit.issues import Tracker
from fixaudit.rulebook.rule import Check, Query, Rule, Rulebook
from fixaudit.snapshot import REGULAR, ChangeSet, FileState, MemorySnapshot, Overlay
from fixaudit.text import Edit, apply_edits


def regex(pattern: str) -> Query:
    return Query("regex", options={"pattern": pattern, "files": ["*.py"]})


def forbid(name: str, pattern: str, priority: str = "P3", per: str = "match", subject: str | None = None) -> Rule:
    check = Check(
        "forbid", regex(pattern), f"{pattern} stands here", per=per, subject=regex(subject) if subject else None
    )
    return Rule(name, name, priority, "STATIC", {"what": "x", "why": "y"}, check)


BOOK = Rulebook(
    (forbid("BAD-001", "bad", subject="."), forbid("WORSE-001", "worse", "P0", subject="worse|fine")),
    {}, {}, {}, "d", "v",
)  # fmt: skip


def judged(files: Mapping[str, str]) -> Audit:
    return audit(BOOK, MemorySnapshot.of(files))


def both(before: Mapping[str, str], change: ChangeSet) -> tuple[Audit, Audit]:
    tree = MemorySnapshot.of(before)
    old = audit(BOOK, tree)
    return old, audit_after(old, Overlay(tree).apply(change), change.paths())


def edit(path: str, content: str, old: str, new: str) -> ChangeSet:
    at = content.index(old)
    return ChangeSet(edits={path: (Edit(at, at + len(old), old, new),)})


def test_a_target_that_is_gone_is_gone() -> None:
    before, after = both({"a.py": "bad\nbad\n"}, edit("a.py", "bad\nbad\n", "bad", "ok"))
    assert targets_gone(before, after, before.findings[:1])
    assert not targets_gone(before, after, before.findings), "two were meant, one is left"


def test_a_target_that_moved_is_not_gone() -> None:
    change = edit("a.py", "bad\n", "bad", "ok").merged(ChangeSet(created={"b.py": FileState(REGULAR, b"bad\n")}))
    before, after = both({"a.py": "bad\n"}, change)
    assert not targets_gone(before, after, before.findings)


@pytest.mark.parametrize(
    ("before", "path", "old", "new", "expected"),
    [
        ({"a.py": "fine\n"}, "a.py", "fine", "worse", ("broke", "WORSE-001")),
        ({"a.py": "bad\n"}, "a.py", "bad", "bad bad", ("introduced", "BAD-001")),
        ({"a.py": "x\n"}, "a.py", "x", "bad", ("broke", "BAD-001")),
        ({"a.py": "bad\n"}, "a.py", "bad", "ok", None),
        # A rule that passed may lose its subject with the text that was edited …
        ({"a.py": "fine\n"}, "a.py", "fine", "ok", None),
    ],
)
def test_regression(before: Mapping[str, str], path: str, old: str, new: str, expected: tuple[str, str] | None) -> None:
    change = edit(path, before[path], old, new)
    was, now = both(before, change)
    found = regression(was, now, change, lambda place: False)
    assert (found and (found.kind, found.rule)) == expected


def test_a_rule_that_had_no_subject_may_begin_only_in_new_files_and_below_p0() -> None:
    new = ChangeSet(created={"b.py": FileState(REGULAR, b"worse\n")})
    was, now = both({"a.py": "x\n"}, new)
    found = regression(was, now, new, lambda place: False)
    assert found is not None and (found.kind, found.rule) == ("introduced", "WORSE-001")
    book = Rulebook((forbid("NEW-001", "worse", "P3", subject="worse"),), {}, {}, {}, "d", "v")
    tree = MemorySnapshot.of({"a.py": "x\n"})
    before = audit(book, tree)
    after = audit_after(before, Overlay(tree).apply(new), new.paths())
    assert regression(before, after, new, lambda place: False) is None, "it joins the next cycle's queue"
    again = regression(before, after, new, lambda place: True)
    assert again is not None and again.kind == "introduced", "it had a subject earlier in this run"
    outside = edit("a.py", "x\n", "x", "worse")
    after = audit_after(before, Overlay(tree).apply(outside), outside.paths())
    found = regression(before, after, outside, lambda place: False)
    assert found is not None and found.kind == "introduced"


@settings(max_examples=300)
@given(st.text("ab\n", max_size=20), st.data())
def test_mapped_positions_point_at_the_same_text(content: str, data: st.DataObject) -> None:
    points = sorted(data.draw(st.lists(st.integers(0, len(content)), max_size=4)))
    pairs = list(zip(points[::2], points[1::2], strict=False))
    edits = [Edit(a, b, content[a:b], data.draw(st.text("XY\n", max_size=3))) for a, b in pairs]
    if any(left.end == right.start == right.end or left.start == right.start for left, right in pairwise(edits)):
        return
    new = apply_edits(content, edits)
    mapped = SpanMap(edits, content, new)
    for offset in range(len(content)):
        inside = any(e.start <= offset < e.end for e in edits)
        place = mapped(offset)
        assert (place is None) == inside
        if place is not None:
            assert new[place] == content[offset]


def test_equal_lines_do_not_inherit_each_others_state() -> None:
    content = "bad\nbad\nbad\n"
    tree = MemorySnapshot.of({"a.py": content})
    before = audit(BOOK, tree)
    tracker = Tracker("match")
    tracker.start(before)
    names = [issue.id for issue in tracker.issues()]
    change = ChangeSet(edits={"a.py": (Edit(4, 7, "bad", "ok"),)})
    after = audit_after(before, Overlay(tree).apply(change), ["a.py"])
    resolved = tracker.follow(before, after, change)
    assert [issue.id for issue in resolved] == [names[1]]
    assert [(issue.id, issue.first.line) for issue in tracker.issues()] == [(names[0], 1), (names[2], 3)]


def test_an_edit_above_moves_the_issue_and_keeps_its_id() -> None:
    tree = MemorySnapshot.of({"a.py": "x\nbad\n"})
    before = audit(BOOK, tree)
    tracker = Tracker("match")
    tracker.start(before)
    change = ChangeSet(edits={"a.py": (Edit(0, 0, "", "new\nnew\n"),)})
    after = audit_after(before, Overlay(tree).apply(change), ["a.py"])
    assert tracker.follow(before, after, change) == []
    assert [(i.id, i.first.line) for i in tracker.issues()] == [("BAD-001#1", 4)]


def test_a_rewritten_file_is_followed_by_its_lines() -> None:
    tree = MemorySnapshot.of({"a.py": "one\nbad\ntwo\n"})
    before = audit(BOOK, tree)
    change = ChangeSet(replaced={"a.py": (tree.digest("a.py"), b"zero\none\nbad\ntwo\n")})
    after = audit_after(before, Overlay(tree).apply(change), ["a.py"])
    followed = carry({"i": before.findings[0]}, before, after, change)
    assert followed["i"].line == 3


def test_a_finding_that_comes_back_keeps_its_closed_issue() -> None:
    tree = MemorySnapshot.of({"a.py": "bad\n"})
    first = audit(BOOK, tree)
    tracker = Tracker("match")
    tracker.start(first)
    gone = edit("a.py", "bad\n", "bad", "ok")
    overlay = Overlay(tree).apply(gone)
    second = audit_after(first, overlay, ["a.py"])
    assert [issue.id for issue in tracker.follow(first, second, gone)] == ["BAD-001#1"]
    back = edit("a.py", "ok\n", "ok", "bad")
    third = audit_after(second, overlay.apply(back), ["a.py"])
    tracker.follow(second, third, back)
    assert [issue.id for issue in tracker.issues()] == ["BAD-001#1"]


@pytest.mark.parametrize(
    ("unit", "per", "ids"),
    [
        ("match", "match", ["R-001#1", "R-001#2", "R-001#3"]),
        ("match", "file", ["R-001@:a.py", "R-001@:b.py"]),
        ("match", "root", ["R-001@"]),
        ("rule", "match", ["R-001@"]),
    ],
)
def test_the_unit_of_an_issue(unit: str, per: str, ids: list[str]) -> None:
    book = Rulebook((forbid("R-001", "bad", per=per),), {}, {}, {}, "d", "v")
    tracker = Tracker(unit)
    tracker.start(audit(book, MemorySnapshot.of({"a.py": "bad\nbad\n", "b.py": "bad\n"})))
    assert [issue.id for issue in tracker.issues()] == ids
