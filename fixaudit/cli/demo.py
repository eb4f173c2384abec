"""`fixaudit demo`: the whole job on a copy of a sample, in a temporary repository."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from fixaudit.errors import UsageError


def samples_directory() -> Path:
    """Return where the samples are: in the package when installed, beside it in a checkout."""
    package = Path(__file__).resolve().parent.parent
    for place in (package / "_samples", package.parent / "samples"):
        if place.is_dir():
            return place
    raise UsageError("this installation has no samples")


def run_demo(sample: str) -> int:
    """Copy, scan, fix, show the diff; the copy stays for a look around."""
    from fixaudit.cli.fix import Options, run_fix
    from fixaudit.cli.scan import run_scan
    from fixaudit.repository import git
    from fixaudit.session import masker_for, open_session

    place = samples_directory()
    names = sorted(path.name for path in place.iterdir() if path.is_dir())
    if sample not in names:
        raise UsageError(f"no sample `{sample}`; there are {', '.join(names)}")
    directory = Path(tempfile.mkdtemp(prefix="fixaudit-demo-"))
    target = directory / sample
    shutil.copytree(place / sample, target, ignore=shutil.ignore_patterns("expected.yaml"))
    identity = {f"GIT_{role}_{part}": value for role in ("AUTHOR", "COMMITTER")
                for part, value in (("NAME", "demo"), ("EMAIL", "demo@example.invalid"))}  # fmt: skip
    git.run(["init", "-q", "-b", "main"], target)
    git.run(["add", "-A"], target)
    git.run(["commit", "-q", "-m", "The sample as it is"], target, env=identity)
    os.chdir(target)
    masker = masker_for(open_session([]).audit())
    print(f"$ fixaudit scan        # in {target}\n")
    run_scan([], "console", None, False, [], [], [], "", False, False)
    print("\n$ fixaudit fix\n")
    run_fix([], Options())
    print("\n$ git diff        # credentials masked here\n")
    print(masker(git.run(["diff", "--no-color", "--no-ext-diff"], target).out.decode("utf-8", "replace")))
    created = git.run(["ls-files", "-o", "--exclude-standard"], target).out.decode("utf-8", "replace").split()
    for name in created:
        print(f"new file: {name}")
    print(f"\nThe copy stays at {target} for you to look at.")
    return 0
