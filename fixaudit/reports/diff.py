"""A unified diff between two snapshots, as git prints it; for reading, and (unmasked) for `git apply`."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from fixaudit.snapshot import FileState, Snapshot, state_at
from fixaudit.text import Text


def unified(before: Snapshot, after: Snapshot, paths: Sequence[str]) -> str:
    """Return the diff of `paths`, in the order given."""
    return "".join(_one(path, state_at(before, path), state_at(after, path)) for path in paths)


def _one(path: str, old: FileState | None, new: FileState | None) -> str:
    if old == new:
        return ""
    head = [f"diff --git a/{path} b/{path}\n"]
    if old is None and new is not None:
        head.append(f"new file mode {new.mode}\n")
    elif new is None and old is not None:
        head.append(f"deleted file mode {old.mode}\n")
    left, right = _lines(old), _lines(new)
    if left is None or right is None:
        return "".join(head) + f"Binary files a/{path} and b/{path} differ\n"
    names = ("/dev/null" if old is None else f"a/{path}", "/dev/null" if new is None else f"b/{path}")
    body = []
    for line in difflib.unified_diff(left, right, *names, n=3):
        body.append(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n")
    return "".join(head + body)


def _lines(state: FileState | None) -> list[str] | None:
    if state is None:
        return []
    text = Text.decode(state.data)
    if text is None:
        return None
    # Only a line feed ends a line in a diff; a carriage return stays part of it, as git has it.
    parts = text.content.split("\n")
    lines = [f"{part}\n" for part in parts[:-1]]
    return [*lines, parts[-1]] if parts[-1] else lines
