"""Finish or take back a transaction that stopped half-way, in this process or in one that died.

Contract: decided by digest alone, so that it may be done any number of times. A file that holds neither side of the
transaction is the user's and is left as it is.
This module must not know of rules or of git; the index is a port that somebody else fills.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from fixaudit.errors import ConflictError, FixauditError
from fixaudit.text import byte_key
from fixaudit.transaction.disk import BlockedError, ChangedError, Disk
from fixaudit.transaction.journal import Journal, Step, Transaction, states


class Index(Protocol):
    """The entries of the user's index that a change may take out or put back; an entry is an opaque word."""

    def read(self, paths: Sequence[str]) -> dict[str, str | None]: ...

    def remove(self, paths: Sequence[str]) -> None: ...

    def restore(self, entries: Mapping[str, str]) -> None: ...


def change_index(transaction: Transaction, index: Index | None) -> None:
    """Do the index's part, always after the files; doing it twice changes nothing."""
    if not transaction.untracked or index is None:
        return
    present = index.read(list(transaction.untracked))
    if transaction.kind == "fix":
        index.remove([path for path, entry in present.items() if entry is not None])
    else:
        index.restore({path: entry for path, entry in transaction.untracked.items() if present[path] is None})


def remove_emptied(disk: Disk, transaction: Transaction) -> None:
    """Remove the directories that the undone fix had made, where nothing else has come into them."""
    for directory in reversed(transaction.emptied):
        disk.remove_directory(directory)


def settle(disk: Disk, transaction: Transaction, journal: Journal, index: Index | None) -> list[str]:
    """Bring every file back to its state before the transaction; return those that now hold something else."""
    conflicts: list[str] = []
    for step in reversed(transaction.steps):
        try:
            if not _restore(disk, step, journal):
                conflicts.append(step.path)
        except (BlockedError, ChangedError):
            conflicts.append(step.path)
        disk.discard(step.path, step.temporary)
    for directory in reversed(transaction.directories):
        disk.remove_directory(directory)
    if transaction.kind == "fix" and transaction.untracked and index is not None:
        present = index.read(list(transaction.untracked))
        gone = {path: entry for path, entry in transaction.untracked.items() if present[path] is None}
        if gone:
            index.restore(gone)
    return sorted(conflicts, key=byte_key)


def _restore(disk: Disk, step: Step, journal: Journal) -> bool:
    """Put the content before the transaction back; False where the file is neither side's, so the user's."""
    disk.discard(step.path, step.temporary)
    found = disk.look(step.path)
    if step.is_before(found):
        return True
    if not step.is_after(found):
        return False
    if step.before is None:
        assert found is not None
        disk.remove(step.path, found)
    else:
        for directory in disk.missing_directories(step.path):
            disk.make_directory(directory)
        state = states(journal.store, [step.before])[step.before.oid]
        disk.stage(step.path, step.temporary, state.data, step.before.permissions, step.before.owner)
        disk.replace(step.path, step.temporary, found)
    disk.sync(step.path)
    return True


@dataclass(frozen=True, slots=True)
class Recovered:
    """What `recover` did: change sets finished, change sets taken back, files left because the user edited them."""

    completed: tuple[int, ...] = ()
    rolled_back: tuple[int, ...] = ()
    conflicts: tuple[str, ...] = ()


def recover(root: Path, journal: Journal, index: Index | None) -> Recovered:
    """Finish or take back what an interrupted process left; call it under the run lock before anything else.

    Decided by digest alone: all files complete means finish, anything else means back. A file that holds neither the
    old nor the new content is the user's and stays. Doing it twice changes nothing. Raises FixauditError when the
    disk fails, or when the index is needed and not given; the transaction then stays interrupted.
    """
    completed: list[int] = []
    rolled_back: list[int] = []
    conflicts: list[str] = []
    for transaction in journal.open():
        if transaction.untracked and index is None:
            raise FixauditError(
                "an interrupted fix has to be finished in the repository's index, which cannot be read",
                hint="make git work in this directory, then run fixaudit again",
            )
        try:
            with Disk(root) as disk:
                if _finish(disk, transaction, index):
                    journal.finish(transaction, "kept")
                    completed.append(transaction.id)
                else:
                    conflicts += settle(disk, transaction, journal, index)
                    journal.finish(transaction, "rolled back")
                    rolled_back.append(transaction.id)
        except OSError as error:
            raise FixauditError(f"an interrupted fix could not be taken back: {error.strerror}") from error
    return Recovered(tuple(completed), tuple(rolled_back), tuple(conflicts))


def _finish(disk: Disk, transaction: Transaction, index: Index | None) -> bool:
    """Do what is left of a transaction whose files are all complete; False when it has to be taken back."""
    for step in transaction.steps:
        disk.discard(step.path, step.temporary)
    if not _is_complete(disk, transaction):
        return False
    for step in transaction.steps:
        disk.sync(step.path)
    try:
        change_index(transaction, index)
    except ConflictError:  # the user has staged something there since
        return False
    remove_emptied(disk, transaction)
    return True


def _is_complete(disk: Disk, transaction: Transaction) -> bool:
    try:
        return all(step.is_after(disk.look(step.path)) for step in transaction.steps)
    except BlockedError:
        return False
