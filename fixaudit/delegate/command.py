"""Hand a delegated issue to an agent that is run as a command, and read back what it made.

Contract: argv list, prompt on standard input which is then closed, contract as JSON at `$FIXAUDIT_CONTRACT`, limits on
time and output, an environment of named variables. The agent works in a private checkout; its exit code and what it
prints are for the record only. Nothing it does reaches the user's tree from here: the loop verifies what is returned.
Where bubblewrap works, the user's project is mounted read-only for the agent; elsewhere writing to it is detected and
said, not prevented.
This module must not know how a result is judged.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from fixaudit.delegate import watch
from fixaudit.delegate.prompt import contract_json, prompt
from fixaudit.execute import run, scrubbed_environment
from fixaudit.ledger import ATTEMPTS, Reason
from fixaudit.loop import Assignment, Proposal
from fixaudit.materialise import Checkout, materialise
from fixaudit.session import masker_for

TAIL = 2000
"""Characters of the agent's output that are kept for the record."""


@dataclass
class CommandAgent:
    """An agent by command. `root` is the user's project, which must be untouched afterwards; seconds for `timeout`."""

    root: Path
    argv: tuple[str, ...]
    timeout: float = 600.0
    environment: tuple[str, ...] = ()

    def __call__(self, assignment: Assignment) -> Proposal:
        """Run the agent once on a fresh checkout."""
        snapshot = assignment.audit.project.snapshot
        with tempfile.TemporaryDirectory(prefix="fixaudit-agent-") as directory:
            place = Path(directory).resolve() / "checkout"
            place.mkdir()
            checkout = materialise(snapshot, place)
            return self._run(assignment, checkout, Path(directory).resolve() / "contract.json")

    def _run(self, assignment: Assignment, checkout: Checkout, contract_file: Path) -> Proposal:
        rule, issue = assignment.rule, assignment.issue
        assert rule.contract is not None
        masker = masker_for(assignment.audit)
        contract = contract_json(rule.contract, rule, issue)
        contract_file.write_text(masker(json.dumps(contract, indent=2, ensure_ascii=False)), encoding="utf-8")
        text = masker(prompt(rule, issue, assignment.audit, assignment.attempt, ATTEMPTS, assignment.feedback))
        sandbox = self._sandbox(checkout.path)
        if sandbox and (missing := _missing(self.argv[0], checkout.path)) is not None:
            # The sandbox itself would start, so that a missing program would look like one that failed.
            return Proposal(reason=Reason("agent_unstarted", {"why": missing}))
        before = None if sandbox else watch.look(self.root)
        done = run(
            (*sandbox, *self.argv),
            cwd=checkout.path,
            env=scrubbed_environment({"FIXAUDIT_CONTRACT": str(contract_file)}, keep=self.environment),
            timeout=self.timeout,
            stdin=text.encode("utf-8", "surrogateescape"),
        )
        tail = masker((done.stdout + done.stderr)[-TAIL:])
        if done.could_not_start is not None:
            return Proposal(reason=Reason("agent_unstarted", {"why": done.could_not_start}), tail=tail)
        outside = watch.difference(before, checkout.written) if before is not None else None
        if outside is not None:
            return _broken("boundary.outside", f"{outside} was changed outside the agent's checkout", tail)
        if done.timed_out:
            return Proposal(reason=Reason("agent_slow", {"seconds": f"{self.timeout:g}"}), tail=tail)
        if (said := checkout.git_changes()) is not None:
            return _broken("boundary.git", f"the agent {said}", tail)
        states = checkout.changes()
        if not states:
            return Proposal(reason=Reason("agent_idle"), tail=tail)
        return Proposal(states, None, tail)

    @cached_property
    def _bubblewrap(self) -> str | None:
        found = shutil.which("bwrap")
        if found is None:
            return None
        probe = run((found, "--bind", "/", "/", "true"), cwd=Path("/"), env=scrubbed_environment(), timeout=10)
        return found if probe.succeeded else None

    def _sandbox(self, checkout: Path) -> Sequence[str]:
        if self._bubblewrap is None:
            return ()
        root = str(self.root)
        return (
            self._bubblewrap, "--bind", "/", "/", "--dev-bind", "/dev", "/dev", "--ro-bind", root, root,
            "--die-with-parent", "--chdir", str(checkout), "--",
        )  # fmt: skip


def _missing(program: str, cwd: Path) -> str | None:
    found = (cwd / program).is_file() if "/" in program else shutil.which(program) is not None
    return None if found else f"{program}: No such file or directory"


def _broken(clause: str, what: str, tail: str) -> Proposal:
    return Proposal(reason=Reason("clause", {"what": f"{clause}: {what}", "clause": clause}), tail=tail)
