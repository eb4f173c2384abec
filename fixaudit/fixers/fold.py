"""Join the changes of successive steps into one change against the tree that they all began with.

Contract: a step sees what earlier steps did; the joined change describes the whole in terms of the first tree, every
edit with the text that it replaces there. What a finding points at (spans of its row and of its nested values) is
carried along, so that a later step may still ask for "the value that the rule captured".
This module must not know of rules or of any step.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import msgspec

from fixaudit.fixers.base import Target
from fixaudit.relations.base import Row, Value
from fixaudit.snapshot import (
    EXECUTABLE,
    REGULAR,
    ChangeSet,
    FileState,
    FollowUp,
    LockUpdate,
    Overlay,
    Snapshot,
    state_at,
)
from fixaudit.source.ir import Span
from fixaudit.text import Edit, Text, byte_key

Piece: TypeAlias = Span | str
"""A part of an edited text: a range of the first text that was kept, or text that was put in."""


@dataclass(frozen=True)
class Draft:
    """The tree `base` with the changes of some steps. `pieces` are kept for files that were changed by edits alone."""

    base: Snapshot
    overlay: Overlay
    pieces: Mapping[str, tuple[Piece, ...]] = field(default_factory=dict)
    touched: frozenset[str] = frozenset()
    untracked: tuple[str, ...] = ()
    lock_updates: tuple[LockUpdate, ...] = ()
    follow_ups: tuple[FollowUp, ...] = ()

    @classmethod
    def of(cls, base: Snapshot) -> Draft:
        return cls(base, Overlay(base))

    def after(self, change: ChangeSet) -> Draft:
        """Return the draft with one more change, which was planned on `overlay`. Raises StaleEditError."""
        pieces = dict(self.pieces)
        for path in (*change.created, *change.deleted, *change.replaced):
            pieces.pop(path, None)
        for path, edits in change.edits.items():
            known = pieces.get(path)
            if known is None and path not in self.touched and path not in change.created:
                known = ((0, len(_content(self.base, path) or "")),)
            if known is not None:
                pieces[path] = _edited(known, edits)
        return replace(
            self,
            overlay=self.overlay.apply(change),
            pieces=pieces,
            touched=self.touched.union(change.paths()),
            untracked=tuple(dict.fromkeys((*self.untracked, *change.untracked))),
            lock_updates=tuple(dict.fromkeys((*self.lock_updates, *change.lock_updates))),
            follow_ups=tuple(dict.fromkeys((*self.follow_ups, *change.follow_ups))),
        )

    def total(self) -> ChangeSet:
        """Return everything as one change against `base`; steps that took each other back leave nothing."""
        edits: dict[str, tuple[Edit, ...]] = {}
        created: dict[str, FileState] = {}
        deleted: dict[str, str] = {}
        replaced: dict[str, tuple[str, bytes]] = {}
        for path in sorted(self.touched, key=byte_key):
            before, after = state_at(self.base, path), state_at(self.overlay, path)
            if before == after:
                continue
            if after is None:
                deleted[path] = self.base.digest(path)
            elif before is None:
                created[path] = after
            elif path in self.pieces:
                edits[path] = _edits(self.pieces[path], _content(self.base, path) or "")
            else:
                replaced[path] = (self.base.digest(path), after.data)
        return ChangeSet(edits, created, deleted, replaced, self.untracked, self.lock_updates, self.follow_ups)


def _content(snapshot: Snapshot, path: str) -> str | None:
    if snapshot.mode(path) not in (REGULAR, EXECUTABLE):
        return None
    text = Text.decode(snapshot.read(path))
    return text.content if text else None


def _length(piece: Piece) -> int:
    return len(piece) if isinstance(piece, str) else piece[1] - piece[0]


def _cut(pieces: Sequence[Piece], start: int, end: int) -> Iterable[Piece]:
    position = 0
    for piece in pieces:
        first, last = max(start - position, 0), min(end - position, _length(piece))
        if first < last:
            yield piece[first:last] if isinstance(piece, str) else (piece[0] + first, piece[0] + last)
        position += _length(piece)


def _edited(pieces: Sequence[Piece], edits: Iterable[Edit]) -> tuple[Piece, ...]:
    result: list[Piece] = []
    position = 0
    for edit in sorted(dict.fromkeys(edits), key=lambda edit: (edit.start, edit.end)):
        result += _cut(pieces, position, edit.start)
        if edit.replacement:
            result.append(edit.replacement)
        position = edit.end
    result += _cut(pieces, position, sum(_length(piece) for piece in pieces))
    return tuple(result)


def _edits(pieces: Sequence[Piece], original: str) -> tuple[Edit, ...]:
    edits: list[Edit] = []
    position, added = 0, ""
    for piece in (*pieces, (len(original), len(original))):
        if isinstance(piece, str):
            added += piece
            continue
        if added or piece[0] > position:
            edits.append(_smallest(position, original[position : piece[0]], added))
        position, added = piece[1], ""
    return tuple(edit for edit in edits if edit.expected != edit.replacement)


def _smallest(start: int, expected: str, replacement: str) -> Edit:
    """Leave out what both texts begin with, so that an edit of an edit stays as small as it can be."""
    same = 0
    while same < min(len(expected), len(replacement)) and expected[same] == replacement[same]:
        same += 1
    return Edit(start + same, start + len(expected), expected[same:], replacement[same:])


def moved_span(span: Span, edits: Iterable[Edit]) -> Span:
    """Return where a span is after edits of its text. Text inserted at either end stays outside of it."""
    start, end = span
    first, last = start, end
    for edit in edits:
        growth = len(edit.replacement) - (edit.end - edit.start)
        if edit.end <= start:
            first += growth
        elif edit.start < start:
            first += edit.start - start
        if edit.end <= end and not (edit.start == edit.end == end):
            last += growth
        elif edit.start < end < edit.end:
            last += edit.start + len(edit.replacement) - end
    return first, max(first, last)


def moved(target: Target, change: ChangeSet) -> Target:
    """Return the target with its spans where they are after `change`."""
    if not change.edits:
        return target
    return replace(
        target,
        row=_moved_row(target.row, change) if target.row else None,
        related=tuple(_moved_row(row, change) for row in target.related),
    )


def _moved_row(row: Row, change: ChangeSet) -> Row:
    edits = change.edits.get(row.path, ())
    return msgspec.structs.replace(
        row,
        span=moved_span(row.span, edits),
        spans={name: moved_span(span, edits) for name, span in row.spans.items()},
        nested={name: _moved_value(value, row.path, change) for name, value in row.nested.items()},
    )


def _moved_value(value: Value, path: str, change: ChangeSet) -> Value:
    where = value.path or path
    return msgspec.structs.replace(
        value,
        span=moved_span(value.span, change.edits.get(where, ())),
        items=tuple(_moved_value(item, where, change) for item in value.items),
        entries={name: _moved_value(entry, where, change) for name, entry in value.entries.items()},
    )
