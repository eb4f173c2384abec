"""The only package that talks to git: reading trees and ignore rules, and the two writes that a user may ask for.

Nothing of the user's is ever run or changed by reading; see `git` for how that is made sure.
"""

from fixaudit.repository.dirty import Dirt, dirty_paths
from fixaudit.repository.discover import Head, Repository, find_repository, require_writable
from fixaudit.repository.ignore import ignore_query
from fixaudit.repository.merge import merge_texts
from fixaudit.repository.trees import (
    Entry,
    GitTree,
    committed_paths,
    index_entries,
    index_snapshot,
    ref_snapshot,
    staged_paths,
    working_tree,
)
from fixaudit.repository.write import IndexEntries, commit, untrack

__all__ = [
    "Dirt",
    "Entry",
    "GitTree",
    "Head",
    "IndexEntries",
    "Repository",
    "commit",
    "committed_paths",
    "dirty_paths",
    "find_repository",
    "ignore_query",
    "index_entries",
    "index_snapshot",
    "merge_texts",
    "ref_snapshot",
    "require_writable",
    "staged_paths",
    "untrack",
    "working_tree",
]
