"""Open a project for one command: its root, repository, configuration, rules and files, and the run's effects on it.

Contract: everything that a command needs from the machine is gathered here, so that the commands stay thin and the
loop stays pure. Reading never changes anything; the effects write through transactions only.
This module must not know how anything is shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from fixaudit.audit import Audit, Finding, audit
from fixaudit.configuration import Configuration, load_configuration
from fixaudit.errors import FixauditError, RepositoryError, UsageError
from fixaudit.facts import Memo
from fixaudit.followups import Leftovers, write_atomically
from fixaudit.gate import Standing, standing
from fixaudit.globs import matches
from fixaudit.ledger import Reason
from fixaudit.loop import Effects, Settings
from fixaudit.masking import Masker
from fixaudit.projects import find_roots
from fixaudit.reports.markdown import FILE_NAME
from fixaudit.repository import (
    Repository,
    dirty_paths,
    find_repository,
    index_snapshot,
    require_writable,
    working_tree,
)
from fixaudit.repository.write import IndexEntries
from fixaudit.rulebook.rule import Rule, Rulebook
from fixaudit.snapshot import ChangeSet, FileChange, FileState, Snapshot, WorkingTree, state_at

if TYPE_CHECKING:
    from fixaudit.store import ProjectState
    from fixaudit.transaction import Journal


@dataclass
class Session:
    """One project, opened. `narrowed` are the PATH arguments relative to the root; empty means everything."""

    root: Path
    repository: Repository | None
    configuration: Configuration
    rulebook: Rulebook
    tree: WorkingTree
    narrowed: tuple[str, ...] = ()
    git_problem: str | None = None
    memo: Memo[object] = field(default_factory=Memo)

    def excluded(self, rule: str, path: str) -> bool:
        """Say whether the configuration leaves a finding out."""
        return self.configuration.excludes(rule, path)

    def audit(self, snapshot: Snapshot | None = None) -> Audit:
        return audit(self.rulebook, snapshot or self.tree, memo=self.memo, excluded=self.excluded)

    def shows(self, finding: Finding) -> bool:
        """Say whether PATH arguments keep a finding; one without a file belongs to its root."""
        if not self.narrowed:
            return True
        place = finding.path or finding.root
        return any(place == path or place.startswith(f"{path}/") for path in self.narrowed)

    def fresh_audit(self) -> Audit:
        """Look at the disk again, from the list of files on; contents that did not change are known by digest."""
        self.tree = _tree(self.root, self.repository)
        return self.audit()

    def standing(self, judged: Audit) -> Standing:
        return standing(judged, minimum=self.configuration.minimum_score, blocked_files=self.blocked_files(judged))

    def blocked_files(self, judged: Audit) -> Sequence[str]:
        """Return files that could not be read although a P0 rule may need them; `unreadable.accept` lifts that."""
        blocked = (d.path for d in judged.diagnostics if judged.project.file(d.path) is None)
        return sorted(p for p in blocked if not matches(p, *self.configuration.unreadable_accept))

    def index(self) -> Snapshot:
        """Return what is about to be committed. Raises RepositoryError outside a repository."""
        if self.repository is None:
            raise RepositoryError("there is no git repository here, so nothing is staged")
        return index_snapshot(self.repository, self.root)

    @cached_property
    def index_entries(self) -> IndexEntries | None:
        return IndexEntries(self.repository, self.root) if self.repository else None


def open_session(
    paths: Sequence[Path], *, rules: Sequence[Path] = (), start: Path | None = None, tolerate_git: bool = True
) -> Session:
    """Open the project that `paths` are in (default: the current directory).

    The audit root is the enclosing repository's top; a single directory that is no part of a repository, or that is a
    project of its own which the repository does not count as one (a sample, a fixture), is judged by itself.
    Raises UsageError for paths that do not exist or lie in different projects.
    """
    start = start or Path.cwd()
    given = [(start / path) for path in paths] or [start]
    for path in given:
        if not path.exists():
            raise UsageError(f"{path} does not exist")
    anchor = given[0].resolve()
    anchor = anchor if anchor.is_dir() else anchor.parent
    repository, problem = _repository(anchor, tolerate_git)
    root = repository.top if repository else anchor
    tree = None
    if repository is not None and len(given) == 1 and given[0].is_dir() and anchor != root:
        tree = _tree(root, repository)
        if _stands_alone(anchor.relative_to(root).as_posix(), tree.paths()):
            root, tree = anchor, None
    narrowed = []
    for path in given:
        # The path's own place counts, not where a link points to.
        place = path.parent.resolve() / path.name if path.is_symlink() else path.resolve()
        if not place.is_relative_to(root):
            raise UsageError(f"{path} is not part of the project at {root}; audit one project at a time")
        if place != root:
            narrowed.append(place.relative_to(root).as_posix())
    configuration = load_configuration(root)
    from fixaudit.rulebook.load import load_rulebook

    packs = [root / pack for pack in configuration.packs]
    rulebook = configuration.choose(load_rulebook([*packs, *(start / path for path in rules)]))
    whole = () if len(narrowed) < len(given) else tuple(narrowed)
    return Session(root, repository, configuration, rulebook, tree or working_tree(root, repository), whole, problem)


def _tree(root: Path, repository: Repository | None) -> WorkingTree:
    """Return the files to audit. Our own review file is no part of the project."""
    tree = working_tree(root, repository)
    listing = tuple(path for path in tree.listing if path != FILE_NAME)
    return WorkingTree(root, listing, tree.tracked)


def _repository(anchor: Path, tolerate: bool) -> tuple[Repository | None, str | None]:
    try:
        return find_repository(anchor), None
    except RepositoryError as error:
        if not tolerate:
            raise
        return None, error.message


def _stands_alone(directory: str, paths: Sequence[str]) -> bool:
    """Say whether a directory has a manifest, or its own ignore file, but is not among the repository's roots."""
    roots = find_roots(paths)
    if any(root.path == directory or root.path.startswith(f"{directory}/") for root in roots if root.path):
        return False
    own = [path[len(directory) + 1 :] for path in paths if path.startswith(f"{directory}/")]
    return any(root.manifests for root in find_roots(own))


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

        return project_state(self.session.root)

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
                self.session.tree = _tree(self.session.root, self.session.repository)
            yield

    def write_own(self, target: Path, data: bytes) -> None:
        """Write a file that is fixaudit's own (the review)."""
        write_atomically(target, data)

    def dirty(self, change: ChangeSet, overlay: Snapshot) -> Reason | None:
        """Say why a change may not touch a file: it holds work of the user's that is saved nowhere else."""
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


def masker_for(judged: Audit) -> Masker:
    """Return what masks every credential that the audit found, wherever its text turns up."""
    from fixaudit.relations import registry

    secret = registry().get("secret")
    sources = []
    if secret is not None:
        for path, rows in judged.project.rows_by_path(secret).items():  # type: ignore[arg-type]
            file = judged.project.file(path)
            text = file.shown if file else None
            if text is not None:
                sources.append((text.content, [row.spans["VALUE"] for row in rows if "VALUE" in row.spans]))
    return Masker.of(sources)


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
            and (not only or any(_names(rule, finding.rule) for rule in only))
            and not any(_names(rule, finding.rule) for rule in skip)
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


def _names(wanted: str, rule: str) -> bool:
    """A rule id, or a pack ("SEC") for all of its rules."""
    return wanted == rule or (rule.startswith(f"{wanted}-") and "-" not in wanted)


def unknown_rules(session: Session, *given: Sequence[str]) -> list[str]:
    """Return rule ids and packs given by a person that no loaded rule has."""
    known = {rule.id for rule in session.rulebook.rules} | {rule.pack for rule in session.rulebook.rules}
    return sorted({name for names in given for name in names} - known)


__all__ = [
    "FixauditError", "Session", "Workbench", "masker_for", "open_session", "settings_for", "state_at", "unknown_rules",
]  # fmt: skip
