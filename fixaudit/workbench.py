"""What a run of `fix` may do to the project: transactions, lockfiles, commits, and the files that are fixaudit's own.

Contract: every write to the user's files is one transaction of one verified change. A dry run has no effect at all.
This module must not know how anything is shown, or why a change is made.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from fixaudit.audit import Finding
from fixaudit.errors import RepositoryError, UsageError
from fixaudit.followups import Leftovers
from fixaudit.ledger import Reason
from fixaudit.loop import Effects, Settings
from fixaudit.repository import dirty_paths, require_writable
from fixaudit.rulebook.rule import Rule
from fixaudit.session import Session, names_rule
from fixaudit.snapshot import ChangeSet, FileChange, FileState, Snapshot

if TYPE_CHECKING:
    from fixaudit.store import ProjectState
    from fixaudit.transaction import Journal


@dataclass
class Workbench:
    """What a run of `fix` may do to the project: transactions, lockfiles, commits; nothing in a dry run."""

    session: Session
    allow_dirty: bool = False
    commit: bool = False
    dry: bool = False
    in_hook: bool = False
    run: str = ""
    _mixed: set[str] = field(default_factory=set)
    _kept: set[str] = field(default_factory=set)

    def effects(self, **more: object) -> Effects:
        """Return the effects for the loop; `more` overrides single ones."""
        base: dict[str, object] = {"dirty": self.dirty, "update_lock": self.update_lock}
        if not self.dry:
            base["keep"] = self.keep
        return Effects(**{**base, **more})  # type: ignore[arg-type]

    @cached_property
    def state(self) -> ProjectState:
        from fixaudit.store import project_state

        return project_state(self.session.root, create=not self.dry)

    @cached_property
    def journal(self) -> Journal:
        from fixaudit.transaction import Journal

        return Journal(self.state.journal_path, self.state.store)

    @cached_property
    def leftovers(self) -> Leftovers:
        return Leftovers(self.state.state)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the project, and bring what an interrupted run left to one side before anything is read."""
        from fixaudit import transaction

        with self.state.lock():
            self.__dict__.pop("journal", None)
            if self.journal.open():
                transaction.recover(self.session.root, self.journal, self.session.index_entries)
                self.session.reread()
            yield

    def dirty(self, change: ChangeSet, overlay: Snapshot) -> Reason | None:
        """Say why a change may not touch a file: it holds work of the user's that is saved nowhere else."""
        if self.in_hook and change.untracked:
            why = "would have to be taken out of the index, which is left to you while you commit"
            return Reason("unwritable", {"path": change.untracked[0], "why": why})
        paths = [p for p in (*change.edits, *change.replaced, *change.deleted) if p not in self._kept]
        session = self.session
        if not paths or session.repository is None:
            return None
        found = dirty_paths(
            session.repository,
            session.tree,
            paths,
            left_behind=self.journal.written_digests(),
            against_head=not self.in_hook,
        )
        for path, kind in sorted(found.items()):
            if kind == "ignored" and _only_adds(change, path):
                continue
            if self.in_hook and kind == "modified":
                return Reason("unwritable", {"path": path, "why": "is partly staged"})
            if not self.allow_dirty:
                return Reason("dirty", {"path": path, "kind": kind})
            self._mixed.add(path)
        return None

    def update_lock(self, update: object, overlay: Snapshot) -> bytes | str:
        from fixaudit.packages import update_lock
        from fixaudit.snapshot import LockUpdate

        assert isinstance(update, LockUpdate)
        return update_lock(update, overlay)

    def keep(self, rule: Rule, changes: Sequence[FileChange], change: ChangeSet, title: str) -> Reason | None:
        """Write one verified change as one transaction, and commit it when asked to."""
        from fixaudit import transaction

        if not self.run:
            self.run = self.journal.new_run()
        written = transaction.apply(
            self.session.root,
            changes,
            self.journal,
            run=self.run,
            rule=rule.id,
            untrack=change.untracked,
            index=self.session.index_entries,
            mixed=self._mixed,
        )
        if isinstance(written, transaction.NotWritten):
            return Reason("unwritable", {"path": written.path, "why": written.reason})
        self._kept.update(c.path for c in changes)
        if self.commit and self.session.repository is not None:
            self._commit(rule, changes, change, title)
        return None

    def _commit(self, rule: Rule, changes: Sequence[FileChange], change: ChangeSet, title: str) -> None:
        from fixaudit.repository import commit, ignore_query

        assert self.session.repository is not None
        tree = self.session.tree
        rules = {p: tree.read(p) for p in tree.paths() if p.rsplit("/", 1)[-1] == ".gitignore"}
        rules |= {c.path: c.after.data for c in changes if c.after and c.path.rsplit("/", 1)[-1] == ".gitignore"}
        ignored = ignore_query(rules, [c.path for c in changes])
        files: dict[str, FileState | None] = {
            c.path: c.after for c in changes if tree.is_tracked(c.path) or not ignored[c.path]
        }
        if files or change.untracked:
            trailers = [("Fixaudit-Rule", rule.id), ("Fixaudit-Fix", rule.fix_type)]
            commit(
                self.session.repository, self.session.root, files, f"{rule.id}: {title}", trailers,
                untracked=change.untracked,
            )  # fmt: skip

    def require_safe_place(self, allow_no_vcs: bool) -> None:
        """Refuse to write where there is no net. Raises RepositoryError or UsageError."""
        session = self.session
        if session.repository is None:
            if session.git_problem is not None:
                raise RepositoryError(session.git_problem)
            if not allow_no_vcs:
                raise UsageError(
                    f"{session.root} is not in a git repository, so there is no `git diff` to read the changes with",
                    hint="run `git init` and commit first, or use --allow-no-vcs (`fixaudit undo` works either way)",
                )
        else:
            require_writable(session.repository)


def _only_adds(change: ChangeSet, path: str) -> bool:
    """A git-ignored file may gain lines and never lose one: no commit could bring it back."""
    return path in change.edits and all(edit.expected == "" for edit in change.edits[path])


def settings_for(
    session: Session,
    *,
    max_cycles: int,
    unit: str,
    unsafe: bool,
    no_install: bool,
    only: Sequence[str],
    skip: Sequence[str],
) -> Settings:
    """Turn options and configuration into the loop's settings."""

    def wanted(finding: Finding) -> bool:
        return (
            session.shows(finding)
            and (not only or any(names_rule(rule, finding.rule) for rule in only))
            and not any(names_rule(rule, finding.rule) for rule in skip)
            and session.configuration.may_fix(finding.rule)
        )

    return Settings(
        max_cycles,
        unit,
        unsafe,
        no_install,
        session.configuration.answers,
        wanted,
        session.configuration.minimum_score,
        session.blocked_files,
    )
