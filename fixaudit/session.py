"""Open a project for one command: its root, repository, configuration, rules and files.

Contract: everything that a command reads from the machine is gathered here, so that the commands stay thin. Nothing
of the project is ever changed. The hook starts here for every commit, so nothing heavy is imported before it is used.
This module must not know of fixes, of the loop, or of how anything is shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from fixaudit.audit import Audit, Finding, audit
from fixaudit.configuration import Configuration, load_configuration
from fixaudit.errors import RepositoryError, UsageError
from fixaudit.facts import Memo
from fixaudit.followups import REVIEW_NAME
from fixaudit.gate import Standing, standing
from fixaudit.globs import matches
from fixaudit.masking import Masker
from fixaudit.projects import find_roots
from fixaudit.repository import Repository, find_repository, index_snapshot, working_tree
from fixaudit.repository.write import IndexEntries
from fixaudit.rulebook.rule import Rulebook
from fixaudit.snapshot import Snapshot, WorkingTree


@dataclass
class Session:
    """One project, opened. `narrowed` are the PATH arguments relative to the root; empty means everything."""

    root: Path
    repository: Repository | None
    configuration: Configuration
    rulebook: Rulebook
    narrowed: tuple[str, ...] = ()
    git_problem: str | None = None
    memo: Memo[object] = field(default_factory=Memo)
    _listed: WorkingTree | None = field(default=None, repr=False)

    @property
    def tree(self) -> WorkingTree:
        """The files on disk, listed at the first question: a look at the index alone never walks the directory."""
        if self._listed is None:
            self._listed = _tree(self.root, self.repository)
        return self._listed

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
        self.reread()
        return self.audit()

    def reread(self) -> None:
        """List the files again at the next question."""
        self._listed = None

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
        tree = index_snapshot(self.repository, self.root)
        return replace(tree, listing=tuple(path for path in tree.listing if path != REVIEW_NAME))

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
    anchor = _place(given[0])
    anchor = anchor if anchor.is_dir() and not anchor.is_symlink() else anchor.parent
    repository, problem = _repository(anchor, tolerate_git)
    root = repository.top if repository else anchor
    if repository is not None and len(given) == 1 and given[0].is_dir() and anchor != root:
        tree = _tree(root, repository)
        if _stands_alone(anchor.relative_to(root).as_posix(), tree.paths()):
            root = anchor
    narrowed = []
    for path in given:
        place = _place(path)
        if not place.is_relative_to(root):
            raise UsageError(f"{path} is not part of the project at {root}; audit one project at a time")
        if place != root:
            narrowed.append(place.relative_to(root).as_posix())
    from fixaudit.rulebook.load import load_rulebook
    from fixaudit.store import private_cache

    cache = private_cache("rules", root)
    configuration = load_configuration(root, cache)
    packs = [root / pack for pack in configuration.packs]
    given_rules = [*packs, *(start / path for path in rules)]
    rulebook = configuration.choose(load_rulebook(given_rules, cache=cache))
    whole = () if len(narrowed) < len(given) else tuple(narrowed)
    return Session(root, repository, configuration, rulebook, whole, problem)


def _place(path: Path) -> Path:
    """Return where a path itself is, not where a link points to."""
    return path.parent.resolve() / path.name if path.is_symlink() else path.resolve()


def _tree(root: Path, repository: Repository | None) -> WorkingTree:
    tree = working_tree(root, repository)
    listing = tuple(path for path in tree.listing if path != REVIEW_NAME)
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


def names_rule(wanted: str, rule: str) -> bool:
    """A rule id, or a pack ("SEC") for all of its rules."""
    return wanted == rule or (rule.startswith(f"{wanted}-") and "-" not in wanted)


def unknown_rules(session: Session, *given: Sequence[str]) -> list[str]:
    """Return rule ids and packs given by a person that no loaded rule has."""
    known = {rule.id for rule in session.rulebook.rules} | {rule.pack for rule in session.rulebook.rules}
    return sorted({name for names in given for name in names} - known)
