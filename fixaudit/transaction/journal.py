"""The append-only record of every write to a user's files.

Contract: what is about to happen is on disk before it happens, with enough in it to finish or to take back each
step; contents lie in the private store, the journal holds digests. One line of JSON per event. A line that was cut
off by a crash announces something that never began, so it is dropped; damage anywhere else stops the command.
This module must not know of git or rules; a rule id is a label to it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from fixaudit.errors import FixauditError
from fixaudit.snapshot import FileState
from fixaudit.store import Store
from fixaudit.transaction.disk import Found

Kind = Literal["fix", "undo"]
Status = Literal["open", "kept", "rolled back"]


@dataclass(frozen=True, slots=True)
class Image:
    """One side of a write: what `Found` says, with the content named instead of held. No permissions: the umask's."""

    mode: str
    digest: str
    oid: str
    permissions: int | None = None
    owner: tuple[int, int] | None = None

    def matches(self, found: Found | None) -> bool:
        """Say whether content and git mode on disk are these."""
        return found is not None and found.state.mode == self.mode and found.state.digest == self.digest


@dataclass(frozen=True, slots=True)
class Step:
    """One file of a transaction."""

    path: str
    before: Image | None
    after: Image | None
    temporary: str

    def is_before(self, found: Found | None) -> bool:
        return found is None if self.before is None else self.before.matches(found)

    def is_after(self, found: Found | None) -> bool:
        return found is None if self.after is None else self.after.matches(found)


@dataclass(frozen=True)
class Transaction:
    """One change set as it was written, or was about to be."""

    id: int
    run: str
    rule: str
    kind: Kind
    steps: tuple[Step, ...]
    directories: tuple[str, ...] = ()  # made for it, outermost first
    emptied: tuple[str, ...] = ()  # directories that an undo removes, outermost first
    untracked: Mapping[str, str] = field(default_factory=dict)  # index entries that a fix takes out, an undo puts back
    mixed: tuple[str, ...] = ()  # files that held uncommitted work of the user's
    undoes: tuple[int, ...] = ()
    merged: tuple[str, ...] = ()  # files of an undo that keep later edits
    status: Status = "open"

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(step.path for step in self.steps)


class Journal:
    """The journal of one project. Every event is on disk when the method that adds it returns."""

    def __init__(self, path: Path, store: Store) -> None:
        self.path, self.store = path, store
        self._transactions: dict[int, Transaction] = {}
        self._runs: list[str] = []
        self._length = 0
        self._read()

    @property
    def transactions(self) -> tuple[Transaction, ...]:
        """All transactions in order of beginning."""
        return tuple(self._transactions.values())

    @property
    def undone(self) -> frozenset[int]:
        """The ids of transactions that an undo has taken back."""
        return frozenset(i for t in self.transactions if t.kind == "undo" and t.status == "kept" for i in t.undoes)

    def open(self) -> tuple[Transaction, ...]:
        """Return transactions that were interrupted."""
        return tuple(t for t in self.transactions if t.status == "open")

    def kept(self, *, run: str | None = None, rule: str | None = None) -> tuple[Transaction, ...]:
        """Return the fixes that stand: written and not undone, oldest first."""
        undone = self.undone
        return tuple(
            t
            for t in self.transactions
            if t.kind == "fix"
            and t.status == "kept"
            and t.id not in undone
            and run in (None, t.run)
            and rule in (None, t.rule)
        )

    def new_run(self) -> str:
        """Announce a run and return its name: six digits, counting up."""
        run = f"{max((int(name) for name in self._runs), default=0) + 1:06d}"
        self._append({"event": "run", "run": run})
        self._runs.append(run)
        return run

    def begin(self, transaction: Transaction) -> None:
        """Announce a transaction. Nothing of it may have happened yet."""
        self._append({"event": "begin", **asdict(transaction)})
        self._transactions[transaction.id] = transaction

    def finish(self, transaction: Transaction, status: Status) -> None:
        """Record how a transaction ended."""
        self._append({"event": "finish", "id": transaction.id, "status": status})
        self._transactions[transaction.id] = _with_status(transaction, status)

    def next_id(self) -> int:
        return max(self._transactions, default=0) + 1

    def written_digests(self) -> dict[str, str]:
        """Return the `FileState.digest` of each file that holds what fixaudit left there and nothing of the user's."""
        undone = self.undone
        left: dict[str, str] = {}
        for transaction in self.transactions:
            if transaction.status != "kept" or transaction.id in undone:
                continue
            for step in transaction.steps:
                if transaction.kind == "undo" and step.path not in transaction.merged:
                    continue  # what it restored was left by an earlier fix, which is in `left`, or by the user
                if step.after is None or step.path in transaction.mixed:
                    left.pop(step.path, None)
                else:
                    left[step.path] = step.after.digest
        return left

    def last_written(self, path: str) -> str | None:
        """Return the digest of what was last written to `path`, unless that held work of the user's too."""
        for transaction in reversed(self.transactions):
            if transaction.status == "kept":
                for step in transaction.steps:
                    if step.path == path:
                        return step.after.digest if step.after and path not in transaction.mixed else None
        return None

    def prune(self, keep_runs: int) -> None:
        """Forget all but the last runs, with their contents; interrupted transactions stay."""
        runs = set(self._runs[-keep_runs:]) | {t.run for t in self.open()}
        if runs >= set(self._runs):
            return
        self._runs = [run for run in self._runs if run in runs]
        self._transactions = {i: t for i, t in self._transactions.items() if t.run in runs}
        events: list[dict[str, Any]] = [{"event": "run", "run": run} for run in self._runs]
        events += [{"event": "begin", **asdict(t)} for t in self.transactions]
        data = b"".join(_line(event) for event in events)
        fresh = self.path.with_suffix(".new")
        with suppress(FileNotFoundError):
            fresh.unlink()
        _write(fresh, data, os.O_CREAT | os.O_EXCL)
        fresh.rename(self.path)
        _sync(self.path.parent)
        self._length = len(data)
        self.store.prune(self._runs)

    def _read(self) -> None:
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            return
        with os.fdopen(descriptor, "rb") as file:
            data = file.read()
        self._length = data.rfind(b"\n") + 1
        for number, line in enumerate(data[: self._length].splitlines(), 1):
            try:
                self._take(json.loads(line))
            except (ValueError, KeyError, TypeError) as error:
                raise FixauditError(
                    f"the journal of this project is damaged in line {number}",
                    hint=f"move {self.path} away; earlier fixes can then not be undone",
                ) from error

    def _take(self, event: dict[str, Any]) -> None:
        kind = event.pop("event")
        if kind == "run":
            self._runs.append(event["run"])
        elif kind == "begin":
            transaction = _transaction(event)
            self._transactions[transaction.id] = transaction
        else:
            self._transactions[event["id"]] = _with_status(self._transactions[event["id"]], event["status"])

    def _append(self, event: Mapping[str, Any]) -> None:
        line = _line(event)
        try:
            new = not self.path.exists()
            if not new and self.path.stat().st_size != self._length:
                os.truncate(self.path, self._length)  # the line that a crash cut off
            _write(self.path, line, os.O_CREAT | os.O_APPEND)
            if new:
                _sync(self.path.parent)
        except OSError as error:
            raise FixauditError(f"the journal {self.path} cannot be written: {error.strerror}") from error
        self._length += len(line)


def _line(event: Mapping[str, Any]) -> bytes:
    # ASCII escapes keep undecodable bytes of file names as lone surrogates, and line breaks out of the line.
    return json.dumps(event, separators=(",", ":")).encode("ascii") + b"\n"


def _write(path: Path, data: bytes, flags: int) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC | flags, 0o600)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _with_status(transaction: Transaction, status: Status) -> Transaction:
    return Transaction(**{**transaction.__dict__, "status": status})


def _transaction(event: dict[str, Any]) -> Transaction:
    lists = {name: tuple(event[name]) for name in ("directories", "emptied", "mixed", "undoes", "merged")}
    steps = tuple(
        Step(step["path"], _image(step["before"]), _image(step["after"]), step["temporary"]) for step in event["steps"]
    )
    return Transaction(**{**event, **lists, "steps": steps})


def _image(value: dict[str, Any] | None) -> Image | None:
    return Image(**{**value, "owner": tuple(value["owner"]) if value["owner"] else None}) if value else None


def states(store: Store, images: Sequence[Image]) -> dict[str, FileState]:
    """Return the content of images by object id, from the private store."""
    contents = store.read([image.oid for image in images])
    return {image.oid: FileState(image.mode, contents[image.oid]) for image in images}
