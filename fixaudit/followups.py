"""What a run leaves open: its follow-ups until a person ticks them off, and the text of its review.

Contract: kept in the user's own state directory, written by rename, and nothing in it is ever executed: a command of
a follow-up is only shown. Texts are masked before they come here.
This module must not know how follow-ups arise.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from fixaudit.snapshot import FollowUp

REVIEW_NAME = "fixaudit-review.md"
"""The review in a project's root. It is ours, and no part of what is audited."""


class Leftovers:
    """The open follow-ups and the last review of one project, in its state directory."""

    def __init__(self, directory: Path) -> None:
        self._open = directory / "follow-ups.json"
        self._points = directory / "points.md"

    def follow_ups(self) -> tuple[FollowUp, ...]:
        """Return what is open, oldest first; an unreadable file counts as empty."""
        try:
            data = json.loads(self._open.read_text(encoding="utf-8"))
            return tuple(FollowUp(str(i["id"]), str(i["text"]), i.get("command")) for i in data["open"])
        except (OSError, ValueError, KeyError, TypeError):
            return ()

    def add(self, more: Sequence[FollowUp]) -> tuple[FollowUp, ...]:
        """Add follow-ups (a known id is replaced in its place) and return all that are open."""
        known = {item.id: item for item in self.follow_ups()}
        known |= {item.id: item for item in more}
        items = tuple(known.values())
        if items != self.follow_ups():
            self._save(items)
        return items

    def tick(self, ids: Sequence[str]) -> list[str]:
        """Mark follow-ups as done; return the ids that are not open."""
        items = self.follow_ups()
        unknown = sorted(set(ids) - {item.id for item in items})
        if not unknown:
            self._save([item for item in items if item.id not in ids])
        return unknown

    def _save(self, items: Sequence[FollowUp]) -> None:
        text = json.dumps({"version": 1, "open": [asdict(item) for item in items]}, indent=2) + "\n"
        write_atomically(self._open, text.encode(), 0o600)

    def points(self) -> str | None:
        """Return the points of the last run's review, or None when there was no run."""
        try:
            return self._points.read_text(encoding="utf-8")
        except (OSError, ValueError):
            return None

    def keep_points(self, text: str) -> None:
        write_atomically(self._points, text.encode("utf-8", "backslashreplace"), 0o600)


def write_atomically(target: Path, data: bytes, mode: int = 0o644) -> None:
    """Write a file of our own by a temporary file and rename; a reader sees the old or the new content."""
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, mode)  # noqa: PTH101  (mkstemp makes 600)
        os.replace(name, target)  # noqa: PTH105
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
