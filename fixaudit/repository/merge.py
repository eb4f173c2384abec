"""Merge texts as git does, on bytes alone: no repository, no attributes, no merge driver takes part."""

from __future__ import annotations

import tempfile
from pathlib import Path

from fixaudit.repository import git


def merge_texts(current: bytes, base: bytes, other: bytes) -> bytes | None:
    """Return `current` with the change from `base` to `other` made in it; None where both changed the same lines.

    Binary content gives None, and so do changes on neighbouring lines.
    """
    with tempfile.TemporaryDirectory(prefix="fixaudit-") as scratch:
        directory = Path(scratch)
        for name, data in (("current", current), ("base", base), ("other", other)):
            (directory / name).write_bytes(data)
        answer = git.run(["merge-file", "-p", "--quiet", "current", "base", "other"], directory, check=False)
    return answer.out if answer.code == 0 else None
