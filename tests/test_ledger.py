"""The sentences of the review, word for word, and how entries are joined."""

from __future__ import annotations

import pytest

from fixaudit.fixers.base import Candidate
from fixaudit.ledger import STOPS, Entry, Location, Reason, merge_entries, scrub, sentence

SENTENCES = {
    "refused": (
        Reason(
            "refused",
            {"sentence": "2 database drivers are declared, so the pool to configure is unclear"},
            (Candidate("mysql", "package.json:4"), Candidate("postgres", "package.json:5")),
        ),
        "2 database drivers are declared, so the pool to configure is unclear. Candidates: mysql, postgres",
    ),
    "agent_missing": (Reason("agent_missing"), "no agent is configured"),
    "agent_unstarted": (
        Reason("agent_unstarted", {"why": "x: No such file"}),
        "could not start the agent: x: No such file",
    ),
    "precondition": (Reason("precondition", {"what": "no file at .gitignore"}), "no file at .gitignore"),
    "broke": (
        Reason("broke", {"rule": "SEC-003", "other": "ENV-001"}),
        "fixing SEC-003 broke ENV-001, which passed before it, so the change was reverted",
    ),
    "introduced": (
        Reason("introduced", {"rule": "A-001", "other": "B-001"}),
        "fixing A-001 introduced a violation of B-001, so the change was reverted",
    ),
    "lane": (
        Reason("lane", {"rule": "A-001", "lane": "test"}),
        "fixing A-001 turned the lane test red, so the change was reverted",
    ),
    "program": (
        Reason("program", {"rule": "SEC-002", "why": "exited 1 on start"}),
        "fixing SEC-002 broke the program: exited 1 on start",
    ),
    "syntax": (Reason("syntax", {"where": "a.js:3"}), "the change does not parse: a.js:3"),
    "clause": (Reason("clause", {"what": "routes-unchanged: x"}), "routes-unchanged: x"),
    "agent_slow": (Reason("agent_slow", {"seconds": "600"}), "the agent ran longer than 600 s"),
    "agent_idle": (Reason("agent_idle"), "the agent changed nothing"),
    "declined": (Reason("declined"), "declined"),
    "no_progress": (
        Reason("no_progress", {"attempts": 2, "why": "x"}),
        "stopped after 2 attempt(s) without progress: x",
    ),
    "budget": (
        Reason("budget", {"attempts": 3}),
        "unresolved after 3 attempt(s): the rule still fails after the change",
    ),
    "budget_agent": (
        Reason("budget_agent", {"attempts": 3}),
        "unresolved after 3 attempt(s): the rule still fails after the agent's change",
    ),
    "ceiling": (
        Reason("ceiling", {"cycles": 5, "why": "x"}),
        "stopped at the ceiling of 5 cycle(s) with attempts left: x",
    ),
    "lockfile": (Reason("lockfile", {"why": "x"}), "the package manager could not update the lockfile: x"),
    "unsafe": (Reason("unsafe"), "not applied: needs --unsafe-fixes"),
    "dirty": (Reason("dirty", {"path": "a.js"}), "not applied: a.js has uncommitted changes"),
    "unwritable": (
        Reason("unwritable", {"path": "a.js", "why": "is not writable"}),
        "not applied: a.js is not writable",
    ),
    "error": (Reason("error", {"why": "x"}), "the rule could not be evaluated: x"),
}


@pytest.mark.parametrize("kind", sorted(STOPS))
def test_every_reason_has_its_sentence(kind: str) -> None:
    reason, words = SENTENCES[kind]
    assert reason.kind == kind
    assert sentence(reason) == words


def test_without_candidates_that_part_is_left_out() -> None:
    assert sentence(Reason("refused", {"sentence": "nothing is known"})) == "nothing is known"


def entry(path: str, reason: Reason, rule: str = "STR-001", priority: str = "P3") -> Entry:
    return Entry(rule, "", "DYNAMIC-DELEGATED", priority, "t", reason, (Location(path, 1),), 1)


def test_the_line_is_exact() -> None:
    assert entry("a", SENTENCES["budget_agent"][0]).line == (
        "STR-001 (DYNAMIC-DELEGATED): unresolved after 3 attempt(s): the rule still fails after the agent's change"
    )


def test_entries_that_say_the_same_are_joined() -> None:
    idle = Reason("agent_idle")
    joined = merge_entries(
        [entry("b", idle), entry("a", idle), entry("c", Reason("declined")), entry("d", idle, "A-001", "P0")]
    )
    assert [(e.rule, [str(p) for p in e.locations]) for e in joined] == [
        ("A-001", ["d:1"]), ("STR-001", ["c:1"]), ("STR-001", ["b:1", "a:1"]),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("2 failed in 0.31s", "2 failed in 1.07s"),
        ("at 0x7f00aa", "at 0x7f00bb"),
        ("no /tmp/pytest-1/a", "no /tmp/pytest-2/a"),
    ],
)
def test_what_changes_from_run_to_run_is_dropped(one: str, two: str) -> None:
    assert scrub(one) == scrub(two)


def test_what_tells_failures_apart_stays() -> None:
    assert scrub("2 failed") != scrub("3 failed")
