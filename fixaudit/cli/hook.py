"""`fixaudit hook`: the two pre-commit hooks, and how to set them up.

Contract: `scan` reads the index and writes nothing. `fix` writes the working tree for findings in files of the commit
and never the index: what is committed is chosen by a person. A file that is partly staged is not touched. Neither
starts a package manager or an agent, and neither leaves a review file: the next commit would bring another one.
The hook starts for every commit, so what only a failing commit needs is imported when it fails.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from fixaudit.cli.scan import exit_code
from fixaudit.cli.staged import Staged, judge_staged
from fixaudit.errors import BlockedError
from fixaudit.execute import is_nested
from fixaudit.session import Session, masker_for, open_session


def run_hook(action: str, fail_on: str, rules: Sequence[Path]) -> int:
    """Scan or fix what is about to be committed, or show how to set the hooks up; return the exit code."""
    if action == "show":
        return _show()
    session = open_session([], rules=rules, tolerate_git=False)
    session.narrowed = ()
    if action == "fix" and (changed := _fix(session, rules)):
        for path in changed:
            print(f"fixed  {path}")
        print("fixaudit changed files. Look at them, `git add` what is right, and commit again.")
        return 1
    return _scan(session, fail_on)


def _scan(session: Session, fail_on: str) -> int:
    look = judge_staged(session)
    standing = session.standing(look.audit)
    code = exit_code(fail_on, look.audit, standing, look.findings)
    if code:
        _explain(session, look)
    return code


def _explain(session: Session, look: Staged) -> None:
    from fixaudit.cli.scan import render

    standing = session.standing(look.audit)
    render(session, look.audit, standing, look.findings, look.undecided, "console", True, False)


def _fix(session: Session, rules: Sequence[Path]) -> tuple[str, ...]:
    """Fix the working tree for findings in files of the commit; return the paths that changed."""
    repository = session.repository
    if repository is None:
        return ()
    if is_nested():
        raise BlockedError("fixaudit is running already and started this commit")
    look = judge_staged(session)
    if not look.findings:
        return ()
    if repository.in_progress is not None:
        print(f"a {repository.in_progress} is in progress, so nothing is fixed before it is finished")
        return ()
    from fixaudit.cli.fix import Options, masked, run_loop
    from fixaudit.reports import markdown
    from fixaudit.workbench import Workbench

    places = {(f.rule, f.root, f.path) for f in look.findings}
    bench = Workbench(session, in_hook=True)
    with bench.locked():
        options = Options(no_install=True, agent="none", quiet=True, rules=tuple(rules))
        before = session.audit()
        report = run_loop(session, bench, before, options, lambda f: (f.rule, f.root, f.path) in places)
        masker = masker_for(before)
        bench.leftovers.add([masked(f, masker) for item in report.fixed for f in item.follow_ups])
    for entry in report.review:
        print(masker(markdown.one_line(entry)))
    return report.changed


def _show() -> int:
    from fixaudit import __version__

    sys.stdout.write(f"""\
Put this into .pre-commit-config.yaml, then run `pre-commit install`:

repos:
  - repo: ADDRESS            # of the repository that fixaudit comes from
    rev: v{__version__}
    hooks:
      - id: fixaudit-scan        # fails the commit for P0 and P1 in it; args: [--fail-on, P2] for more
      # - id: fixaudit-fix       # fixes the working tree first, leaves the index to you

Without pre-commit: an executable .git/hooks/pre-commit with the line `exec fixaudit hook scan`.
""")
    return 0
