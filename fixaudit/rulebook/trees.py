"""The small trees of examples: from the forms that rules write files in to snapshots, and what differs between two.

A file is text, or `{content | base64 | link, mode, tracked, ignored}`; in an expected tree also `{absent: true}` and
`{untracked: true}` (as it was, but no longer in git's index). Samples of credentials are filled in here.
This module must not know of rules or checks.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from typing import Any

from fixaudit.rulebook.samples import expand
from fixaudit.snapshot import EXECUTABLE, LINK, REGULAR, FileState, MemorySnapshot, Snapshot, state_at
from fixaudit.text import byte_key


def state_of(form: Any) -> FileState | None:
    """Return what a form puts at its path; None for an absent file."""
    form = expand(form)
    if isinstance(form, str):
        return FileState(REGULAR, form.encode("utf-8"))
    if form.get("absent"):
        return None
    if "link" in form:
        return FileState(LINK, form["link"].encode("utf-8"))
    data = base64.b64decode(form["base64"]) if "base64" in form else form["content"].encode("utf-8")
    return FileState(EXECUTABLE if form.get("mode") == "755" else REGULAR, data)


def snapshot_of(files: Mapping[str, Any]) -> MemorySnapshot:
    """Build the tree of an example: every file is tracked unless it says otherwise; ignored files are not listed."""
    states = {path: state for path, form in files.items() if (state := state_of(form)) is not None}
    hidden = frozenset(p for p, form in files.items() if isinstance(form, Mapping) and form.get("ignored"))
    loose = frozenset(p for p, form in files.items() if isinstance(form, Mapping) and form.get("tracked") is False)
    tracked = frozenset(states) - hidden - loose
    # A file may be ignored and tracked at once: git ignores only what it does not track yet.
    tracked |= frozenset(p for p, form in files.items() if isinstance(form, Mapping) and form.get("tracked") is True)
    return MemorySnapshot(states, tracked=tracked, ignored=hidden - tracked)


def differences(before: Snapshot, after: Snapshot, expected: Mapping[str, Any], touched: Iterable[str]) -> list[str]:
    """Say where a tree is not as expected: files that `expected` does not name must be as they were."""
    found = []
    for path in sorted({*expected, *touched}, key=byte_key):
        old, new = state_at(before, path), state_at(after, path)
        form = expected.get(path)
        if path not in expected or (isinstance(form, Mapping) and form.get("untracked")):
            wanted = old
        else:
            wanted = state_of(form)
        if isinstance(form, Mapping) and form.get("untracked") and after.is_tracked(path):
            found.append(f"{path} is still in git's index")
        if new != wanted:
            found.append(_difference(path, wanted, new, named=path in expected))
    return found


def _difference(path: str, wanted: FileState | None, got: FileState | None, *, named: bool) -> str:
    if wanted is None:
        shown = _shown(got.data) if got else ""
        return f"{path} is there but should not be: {shown}" if named else f"{path} was created: {shown}"
    if got is None:
        return f"{path} is missing"
    if wanted.mode != got.mode:
        return f"{path} has mode {got.mode}, expected {wanted.mode}"
    what = "" if named else " was changed:"
    return f"{path}{what} expected {_shown(wanted.data)}, got {_shown(got.data)}"


def _shown(data: bytes) -> str:
    text = repr(data.decode("utf-8", "backslashreplace"))
    return text if len(text) <= 1200 else text[:1199] + "…"
