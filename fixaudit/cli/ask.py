"""Asking a person before a fix: `--interactive`, or rules configured with `fix: ask`."""

from __future__ import annotations

import sys
from collections.abc import Callable

from fixaudit.issues import Issue
from fixaudit.masking import Masker
from fixaudit.reports import console, diff
from fixaudit.rulebook.rule import Rule
from fixaudit.session import Session
from fixaudit.snapshot import ChangeSet, Overlay

ANSWERS = {"y": "yes", "n": "no", "r": "rule", "q": "stop"}


def asker(session: Session, masker: Masker, *, everything: bool) -> Callable[[Rule, Issue, ChangeSet, Overlay], str]:
    """Return the question: yes, no, rule (skip the whole rule) or stop. Without a terminal the answer is no."""

    def ask(rule: Rule, issue: Issue, change: ChangeSet, overlay: Overlay) -> str:
        if not everything and not session.configuration.asks(rule.id):
            return "yes"
        if not sys.stdin.isatty():
            return "no"
        out = console.screen(sys.stderr, masker)
        console.say(out, (f"{rule.id} {rule.title}", "bold"))
        text = masker(diff.unified(overlay, overlay.apply(change.without_lock_updates()), change.paths()))
        for line in text.splitlines():
            color = "green" if line.startswith("+") else "red" if line.startswith("-") else ""
            console.say(out, (line, color), indent=2)
        while True:
            print("Apply? [y]es, [n]o, skip this [r]ule, [q]uit: ", end="", file=sys.stderr, flush=True)
            given = sys.stdin.readline()
            if not given:
                return "stop"
            answer = ANSWERS.get(given.strip().lower()[:1])
            if answer:
                return answer

    return ask
