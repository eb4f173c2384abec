"""Take fixes back: the last run, or one rule's, and never anything that the user has done since.

Contract: an undo is a transaction like a fix, journalled and all or nothing per change set. A file that is not what
fixaudit left is touched only where the inverse change fits between the later edits (a textual three-way merge
without conflict); otherwise its change set stays and the file is named.
This module must not know of rules; a rule id is a label to it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fixaudit.snapshot import LINK, FileChange, FileState
from fixaudit.transaction.disk import BlockedError, Disk, Found
from fixaudit.transaction.journal import Journal, Step, Transaction, states
from fixaudit.transaction.recover import Index
from fixaudit.transaction.write import NotWritten, Plan, write

Merge = Callable[[bytes, bytes, bytes], bytes | None]
"""(current, base, other) → the text with both changes, or None where they meet (`repository.merge_texts`)."""


@dataclass
class Undone:
    """What an undo did: files restored, in order, and for each file that stayed why."""

    restored: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        return not (self.restored or self.refused)


def undo_run(root: Path, journal: Journal, merge: Merge, index: Index | None = None) -> Undone:
    """Take back every fix of the last run that has one standing, newest first.

    Only files whose bytes are what fixaudit last wrote are touched. Raises ConflictError when a file changes while
    this works.
    """
    standing = journal.kept()
    run = standing[-1].run if standing else None
    return _undo(root, [t for t in standing if t.run == run], journal, merge, index, later_edits=False)


def undo_rule(root: Path, rule: str, journal: Journal, merge: Merge, index: Index | None = None) -> Undone:
    """Take back what `rule` changed in the last run in which it changed something, where later edits allow it."""
    standing = journal.kept(rule=rule)
    run = standing[-1].run if standing else None
    return _undo(root, [t for t in standing if t.run == run], journal, merge, index, later_edits=True)


def _undo(
    root: Path,
    transactions: Sequence[Transaction],
    journal: Journal,
    merge: Merge,
    index: Index | None,
    *,
    later_edits: bool,
) -> Undone:
    result = Undone()
    for transaction in reversed(transactions):
        draft = _Draft(transaction)
        with Disk(root) as disk:
            for step in transaction.steps:
                draft.add(step, disk, journal, merge, later_edits)
        if not draft.refused:
            draft.check_index(index)
        if not draft.refused:
            outcome = write(root, draft.plan(), journal, index)
            if isinstance(outcome, NotWritten):
                draft.refused[outcome.path] = outcome.reason
            else:
                result.restored += [path for path in draft.restored if path not in result.restored]
        for path, reason in draft.all_refused().items():
            result.refused.setdefault(path, reason)
    return result


@dataclass
class _Draft:
    """The inverse of one transaction, file by file."""

    transaction: Transaction
    changes: list[FileChange] = field(default_factory=list)
    permissions: dict[str, int] = field(default_factory=dict)
    merged: list[str] = field(default_factory=list)
    mixed: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)

    def add(self, step: Step, disk: Disk, journal: Journal, merge: Merge, later_edits: bool) -> None:
        try:
            found = disk.look(step.path)
        except BlockedError as error:
            self.refused[step.path] = error.reason
            return
        before = states(journal.store, [step.before])[step.before.oid] if step.before else None
        if step.is_after(found):
            self.changes.append(FileChange(step.path, found.state if found else None, before))
            if step.before is not None and step.before.permissions is not None:
                # Bits that the user has changed since are the user's.
                same = found is None or step.after is None or step.after.permissions in (None, found.permissions)
                bits = step.before.permissions if found is None or same else found.permissions
                self.permissions[step.path] = bits
            return
        if step.is_before(found):
            return  # somebody has taken it back already
        own = found is not None and journal.last_written(step.path) == found.state.digest
        if found is None or before is None or step.after is None or not (own or later_edits):
            self.refused[step.path] = "has changed since"
            return
        after = states(journal.store, [step.after])[step.after.oid]
        self._merge(step.path, found, after, before, merge, own)

    def _merge(self, path: str, found: Found, after: FileState, before: FileState, merge: Merge, own: bool) -> None:
        text = None if found.state.mode == LINK else merge(found.state.data, after.data, before.data)
        if text is None:
            self.refused[path] = "has later changes in the same place"
            return
        self.changes.append(FileChange(path, found.state, FileState(found.state.mode, text)))
        self.permissions[path] = found.permissions
        self.merged.append(path)
        if not own:
            self.mixed.append(path)

    def check_index(self, index: Index | None) -> None:
        """Refuse where an entry would be put back over another one."""
        entries = self.transaction.untracked
        if not entries:
            return
        if index is None:
            self.refused |= dict.fromkeys(entries, "was untracked, and the repository cannot be read")
            return
        for path, present in index.read(list(entries)).items():
            if present not in (None, entries[path]):
                self.refused[path] = "is in the index again"

    def all_refused(self) -> dict[str, str]:
        """Name the files that stay only because another file of the same fix does."""
        if not self.refused:
            return {}
        others = [path for path in self.transaction.paths if path not in self.refused]
        because = ", ".join(self.refused)
        return self.refused | dict.fromkeys(others, f"belongs to the same fix as {because}")

    @property
    def restored(self) -> list[str]:
        return [*(change.path for change in self.changes), *self.transaction.untracked]

    def plan(self) -> Plan:
        t = self.transaction
        return Plan(
            t.run,
            t.rule,
            tuple(self.changes),
            kind="undo",
            permissions=self.permissions,
            untracked=t.untracked,
            mixed=tuple(path for path in self.merged if path in self.mixed or path in t.mixed),
            emptied=t.directories,
            undoes=(t.id,),
            merged=tuple(self.merged),
        )
