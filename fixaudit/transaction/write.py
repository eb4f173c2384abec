"""Write one change set to the user's files, or none of it.

Contract: compare-and-swap. A file is replaced only while it holds exactly what the change was planned on; whatever
an editor saved meanwhile stays, and what this change set had already written is taken back. The journal knows each
step before it happens, so a process killed at any moment leaves every file either old or complete, and `recover`
brings all of them to the same side.
This module must not know of rules or of git; the index is a port that somebody else fills.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fixaudit.errors import ConflictError, FixauditError
from fixaudit.snapshot import EXECUTABLE, LINK, FileChange, FileState
from fixaudit.text import byte_key
from fixaudit.transaction.disk import BlockedError, ChangedError, Disk, Found, with_mode
from fixaudit.transaction.journal import Image, Journal, Kind, Step, Transaction
from fixaudit.transaction.recover import Index, change_index, remove_emptied, settle


@dataclass(frozen=True, slots=True)
class Written:
    """The change set is on disk and in the journal under `id`."""

    id: int
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NotWritten:
    """Nothing was written: `path` cannot take the change, for `reason` ("is not writable", "is a link")."""

    path: str
    reason: str


@dataclass(frozen=True)
class Plan:
    """What is to be written, with exact permission bits where an undo knows them (else None)."""

    run: str
    rule: str
    changes: tuple[FileChange, ...]
    kind: Kind = "fix"
    permissions: Mapping[str, int] | None = None
    untracked: Mapping[str, str] | None = None  # an undo's entries to put back
    mixed: tuple[str, ...] = ()
    emptied: tuple[str, ...] = ()
    undoes: tuple[int, ...] = ()
    merged: tuple[str, ...] = ()


def apply(
    root: Path,
    changes: Iterable[FileChange],
    journal: Journal,
    *,
    run: str,
    rule: str,
    untrack: Sequence[str] = (),
    index: Index | None = None,
    mixed: Iterable[str] = (),
) -> Written | NotWritten:
    """Write all files of one change set and take `untrack` out of the index, or do nothing.

    `mixed` names files that held uncommitted work of the user's before (`--allow-dirty`): they do not count as clean
    afterwards. Raises ConflictError when a file is not what the change was planned on, or when the user has
    something staged at an untracked path; FixauditError when the disk fails. In both cases nothing has changed.
    """
    ordered = tuple(sorted(changes, key=lambda change: byte_key(change.path)))
    entries: dict[str, str] = {}
    if untrack:
        if index is None:
            raise ValueError("untrack needs an index")
        entries = {path: entry for path, entry in index.read(untrack).items() if entry is not None}
    plan = Plan(run, rule, ordered, untracked=entries, mixed=tuple(sorted(mixed, key=byte_key)))
    return write(root, plan, journal, index)


def write(root: Path, plan: Plan, journal: Journal, index: Index | None) -> Written | NotWritten:
    """Carry out a plan; see `apply`."""
    if len({change.path for change in plan.changes}) != len(plan.changes):
        raise ValueError("two changes of one path")
    with Disk(root) as disk:
        try:
            seen = _survey(disk, plan.changes)
            directories = [d for c in plan.changes if c.after for d in disk.missing_directories(c.path)]
        except BlockedError as error:
            return NotWritten(error.path, error.reason)
        except ChangedError as error:
            raise _conflict(error.path) from error
        except OSError as error:
            raise FixauditError(f"the files could not be read: {error.strerror}; nothing was changed") from error
        transaction = _announce(plan, seen, tuple(dict.fromkeys(directories)), journal)
        try:
            _carry_out(disk, transaction, plan, seen)
            change_index(transaction, index)
            remove_emptied(disk, transaction)
        except BaseException as error:
            _take_back(disk, transaction, journal, index, error)
            raise
        journal.finish(transaction, "kept")
    return Written(transaction.id, transaction.paths)


def _survey(disk: Disk, changes: Sequence[FileChange]) -> dict[str, Found | None]:
    """Look at every file before the first is touched. Raises BlockedError or ChangedError."""
    seen: dict[str, Found | None] = {}
    for change in changes:
        found = disk.look(change.path)
        if LINK in (change.before and change.before.mode, change.after and change.after.mode):
            raise BlockedError(change.path, "is a link")
        if (found.state if found else None) != change.before:
            raise ChangedError(change.path)
        disk.require_writable(change.path, found)
        seen[change.path] = found
    return seen


def _announce(
    plan: Plan, seen: Mapping[str, Found | None], directories: tuple[str, ...], journal: Journal
) -> Transaction:
    """Put all contents into the store, then the intention into the journal."""
    files: dict[str, bytes] = {}
    for change in plan.changes:
        for side, state in (("before", change.before), ("after", change.after)):
            if state is not None:
                files[f"{side}/{change.path}"] = state.data
    oids = journal.store.record(plan.run, f"{plan.kind} {plan.rule}", files) if files else {}
    token = secrets.token_hex(8)  # a name that nobody can have put there before
    steps = []
    for number, change in enumerate(plan.changes):
        found = seen[change.path]
        before = after = None
        if found is not None:
            oid = oids[f"before/{change.path}"]
            before = Image(found.state.mode, found.state.digest, oid, found.permissions, found.owner)
        if change.after is not None:
            permissions = (plan.permissions or {}).get(change.path)
            if permissions is None and found is not None:
                permissions = with_mode(found.permissions, change.after.mode)
            owner = found.owner if found else None
            oid = oids[f"after/{change.path}"]
            after = Image(change.after.mode, change.after.digest, oid, permissions, owner)
        steps.append(Step(change.path, before, after, f".fixaudit-{token}-{number}.tmp"))
    transaction = Transaction(
        journal.next_id(),
        plan.run,
        plan.rule,
        plan.kind,
        tuple(steps),
        directories=directories,
        emptied=plan.emptied,
        untracked=dict(plan.untracked or {}),
        mixed=plan.mixed,
        undoes=plan.undoes,
        merged=plan.merged,
    )
    journal.begin(transaction)
    return transaction


def _carry_out(disk: Disk, transaction: Transaction, plan: Plan, seen: Mapping[str, Found | None]) -> None:
    """Stage every file, then put one after the other in place: the time in which they disagree is kept short."""
    for directory in transaction.directories:
        disk.make_directory(directory)
    for step, change in zip(transaction.steps, plan.changes, strict=True):
        if step.after is not None and change.after is not None:
            _stage(disk, step, step.after, change.after)
    for step in transaction.steps:
        found = seen[step.path]
        if step.after is not None:
            disk.replace(step.path, step.temporary, found)
        elif found is not None:
            disk.remove(step.path, found)
    for step in transaction.steps:
        disk.sync(step.path)


def _stage(disk: Disk, step: Step, image: Image, state: FileState) -> None:
    disk.stage(step.path, step.temporary, state.data, image.permissions, image.owner)
    if image.permissions is None and image.mode == EXECUTABLE:
        disk.add_execute_bits(step.path, step.temporary)


def _take_back(
    disk: Disk, transaction: Transaction, journal: Journal, index: Index | None, error: BaseException
) -> None:
    """Undo a transaction that failed half-way, and raise what the command should stop with, if it is not `error`."""
    try:
        conflicts = settle(disk, transaction, journal, index)
    except (OSError, FixauditError) as second:
        # The transaction stays open in the journal, so the next start tries again.
        raise FixauditError(
            f"writing failed, and so did taking it back: {second}", hint="run fixaudit again to recover"
        ) from error
    journal.finish(transaction, "rolled back")
    if isinstance(error, ChangedError):
        raise _conflict(error.path) from error
    if conflicts:
        raise _conflict(*conflicts) from error
    if isinstance(error, BlockedError):
        raise ConflictError(f"{error}; nothing was written") from error
    if isinstance(error, OSError):
        raise FixauditError(f"the files could not be written: {error.strerror}; nothing was changed") from error


def _conflict(*paths: str) -> ConflictError:
    return ConflictError(
        f"changed on disk while fixaudit was working: {', '.join(paths)}; it was left as it is",
        hint="run fixaudit again on the present content",
    )
