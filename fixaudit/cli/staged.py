"""Judge what is about to be committed: the whole index is the tree, and what the commit itself touches decides.

Contract: the working tree is not read. A finding counts when it is located in a file that the commit changes, or when
it is about the whole project (no place in a file) and no parent of the commit has it. Everything else was there before
and is not the business of whoever commits now.
This module must not know how anything is shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from fixaudit.audit import Audit, Finding, audit_after
from fixaudit.errors import RepositoryError
from fixaudit.repository import Repository, committed_paths, ref_snapshot, staged_paths
from fixaudit.session import Session


@dataclass(frozen=True)
class Staged:
    """The audit of the index, the files that the commit changes, and the findings that it answers for."""

    audit: Audit
    paths: frozenset[str]
    findings: tuple[Finding, ...]
    undecided: tuple[Finding, ...]


def judge_staged(session: Session) -> Staged:
    """Audit the index. Raises RepositoryError outside a repository."""
    if session.repository is None:
        raise RepositoryError(session.git_problem or "there is no git repository here, so nothing is staged")
    paths = committed_paths(session.repository, session.root)
    judged = session.audit(session.index())
    located = [f for f in judged.findings if f.path in paths]
    elsewhere = [f for f in judged.findings if f.span is None and f.path not in paths]
    counted = sorted([*located, *_new(session, session.repository, judged, elsewhere)], key=lambda f: f.order)
    return Staged(judged, paths, tuple(counted), tuple(f for f in judged.undecided if f.path in paths))


def _new(session: Session, repository: Repository, judged: Audit, findings: Sequence[Finding]) -> Sequence[Finding]:
    """Return the findings that no parent of the commit has, by identity and number.

    The parents are audited only when there is something to look up, and then only what the commit changes is read
    again: the cost follows the commit, not the repository.
    """
    for parent in (repository.head.commit, *repository.merged_commits):
        if parent is None or not findings:
            return findings
        before = audit_after(
            judged,
            ref_snapshot(repository, parent, session.root),
            staged_paths(repository, session.root, against=parent),
        )
        known = Counter((f.place, f.key) for f in before.findings)
        known.subtract((f.place, f.key) for f in findings)
        # Where a parent has some of them, which ones cannot be told: all are shown when there are more than before.
        findings = [f for f in findings if known[f.place, f.key] < 0]
    return findings
