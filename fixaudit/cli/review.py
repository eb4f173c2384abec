"""`fixaudit review` and `fixaudit undo`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from fixaudit.errors import UsageError
from fixaudit.followups import REVIEW_NAME, write_atomically
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
            text = _text(bench)
            target = bench.session.root / REVIEW_NAME
            if text is not None and target.is_file():
                write_review_file(target, text, needed=False)
    text = _text(bench)
    if text is None:
        print("No run of `fixaudit fix` has left a review for this project.")
        return 0
    sys.stdout.write(text.removeprefix(markdown.HEADER).lstrip("\n"))
    return 0


def _text(bench: Workbench) -> str | None:
    points = bench.leftovers.points()
    return None if points is None else markdown.review(points, bench.leftovers.follow_ups())


def write_review_file(target: Path, text: str, *, needed: bool) -> str | None:
    """Write the review where it is ours to write; return its name, or None when there is none of ours.

    A file without our header stays, and so does the lack of one while there is nothing to say (`needed`).
    """
    data = text.encode("utf-8", "backslashreplace")  # names that are no text stay readable
    if target.is_symlink() or target.is_dir():
        print(f"note: {target.name} is not a regular file, so the review was not written there", file=sys.stderr)
        return None
    if target.exists():
        known = target.read_bytes()
        if not known.startswith(markdown.HEADER.encode()):
            print(
                f"note: {target.name} was not written by fixaudit and stays; `fixaudit review` shows the review",
                file=sys.stderr,
            )
            return None
        if known == data:
            return target.name
    elif not needed:
        return None
    write_atomically(target, data)
    return target.name


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
    if rule is None and undone.refused:
        print("`fixaudit undo RULE` takes a fix out of a file that was edited since, where the edits allow it.")
    return 1 if undone.refused else 0
