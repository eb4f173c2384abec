"""Whether a command that a repository's own configuration names may be started.

Contract: a clone must not run anything by being fixed. A command runs only after its digest was recorded for this user
(`fixaudit trust`), or for one run with `--trust`; a changed command, or a changed script of the project that it names,
asks again. The records are in the user's state directory.
This module must not know what the command is for.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from fixaudit.followups import write_atomically


def command_digest(root: Path, argv: Sequence[str], environment: Sequence[str] = ()) -> str:
    """Name a command: its argv, the variables that it is given, and the project's own files among its words."""
    parts: list[object] = [list(argv), sorted(environment)]
    for word in argv:
        try:
            file = (root / word).resolve()
            if file.is_relative_to(root.resolve()) and file.is_file():
                parts.append([word, hashlib.blake2b(file.read_bytes(), digest_size=16).hexdigest()])
        except (OSError, ValueError):
            continue
    return hashlib.blake2b(json.dumps(parts).encode(), digest_size=16).hexdigest()


class Trust:
    """The commands that this user has allowed in one project."""

    def __init__(self, directory: Path) -> None:
        self._file = directory / "trusted.json"

    def digests(self) -> frozenset[str]:
        """Return what is recorded; an unreadable file counts as nothing."""
        try:
            return frozenset(map(str, json.loads(self._file.read_text(encoding="utf-8"))["commands"]))
        except (OSError, ValueError, KeyError, TypeError):
            return frozenset()

    def record(self, digest: str) -> None:
        data = {"version": 1, "commands": sorted({*self.digests(), digest})}
        write_atomically(self._file, (json.dumps(data, indent=2) + "\n").encode(), 0o600)
