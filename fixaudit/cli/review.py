"""`fixaudit review` and `fixaudit undo`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from fixaudit.errors import UsageError
from fixaudit.reports import markdown
from fixaudit.session import open_session
from fixaudit.workbench import Workbench


def run_review(done: Sequence[str]) -> int:
    """Print what the last run left for a person; with `done`, tick follow-ups off first."""
    bench = Workbench(open_session([]))
    if done:
        with bench.locked():
            unknown = bench.leftovers.tick(done)
        if unknown:
            raise UsageError(f"no open follow-up {', '.join(unknown)}", hint="`fixaudit review` lists them")
    text = bench.leftovers.review()
    if text is None:
        print("No run of `fixaudit fix` has left a review for this project.")
        return 0
    body = text.removeprefix(markdown.HEADER).lstrip("\n")
    sys.stdout.write(body if body.endswith("\n") else body + "\n")
    return 0


def run_undo(rule: str | None) -> int:
    """Take back the last run or one rule's fixes; 1 when something had to stay."""
    from fixaudit import transaction
    from fixaudit.repository import merge_texts

    session = open_session([Path()], tolerate_git=True)
    bench = Workbench(session)
    with bench.locked():
        if rule is None:
            undone = transaction.undo_run(session.root, bench.journal, merge_texts, session.index_entries)
        else:
            undone = transaction.undo_rule(session.root, rule, bench.journal, merge_texts, session.index_entries)
    if undone.is_empty:
        print("There is nothing to take back." if rule is None else f"There is no fix of {rule} to take back.")
        return 0
    for path in undone.restored:
        print(f"restored  {path}")
    for path, why in sorted(undone.refused.items()):
        print(f"kept      {path}: {why}")
    return 1 if undone.refused else 0
