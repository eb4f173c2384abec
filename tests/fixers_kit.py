"""Small trees, rules and situations for the tests of fixes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from fixaudit.facts import Facts, Project
from fixaudit.fixers import plan, plan_all
from fixaudit.fixers.base import Planned, Situation, Target
from fixaudit.relations.base import Row
from fixaudit.rulebook.rule import Fix, Rule, Rulebook, Stack, Step, Variant
from fixaudit.snapshot import ChangeSet, MemorySnapshot, Overlay, Snapshot

NODE = Stack("node", "javascript", (), (), {"ignore": ["node_modules/", "dist/"], "manager": "npm"})
PYTHON = Stack("python", "python", (), (), {"ignore": ["__pycache__/", "dist/"], "manager": "pip"})
PACKAGES = {
    "npm": {"helmet": [{"version": "8.1.0", "requires": 18}, {"version": "7.2.0", "requires": 16}]},
    "pypi": {"slowapi": [{"version": "0.1.9", "requires": 3.9}]},
}


def rulebook(data: Mapping[str, Any] | None = None) -> Rulebook:
    stacks = {"node": NODE, "python": PYTHON}
    return Rulebook((), stacks, {}, data if data is not None else {"packages": PACKAGES}, "", "1")


def tree(files: Mapping[str, str | bytes], **options: frozenset[str]) -> MemorySnapshot:
    return MemorySnapshot.of(files, **options)


def facts(snapshot: Snapshot, root: str = "", stacks: tuple[str, ...] = ("node",)) -> Facts:
    project = Project(snapshot)
    view = project.view(next(r for r in project.roots if r.path == root))
    view.stacks = frozenset(stacks)
    return view


def rule(*steps: Mapping[str, Any], follow_ups: tuple[Mapping[str, str], ...] = (), **more: Any) -> Rule:
    made = tuple(Step(kind, arguments) for step in steps for kind, arguments in step.items())
    fix = Fix("Fix it", "safe", made, follow_ups)
    return Rule("TST-001", "Test", "P2", "STATIC", {}, None, fix=fix, **more)


def row(path: str, content: str, at: str, **values: Any) -> Row:
    """Make a row whose span is the text `at`; columns VALUE and WHOLE stand at the same place."""
    start = content.index(at)
    span = (start, start + len(at))
    return Row(path, span, {"PATH": path, **values}, {"WHOLE": span, "VALUE": span})


def situation(
    the_rule: Rule,
    files: Mapping[str, str | bytes] | Snapshot,
    target: Row | None = None,
    values: Mapping[str, Any] | None = None,
    **more: Any,
) -> Situation:
    snapshot = files if isinstance(files, Snapshot) else tree(files)
    root = more.pop("root", "")
    stacks = more.pop("stacks", ("node",))
    view = facts(snapshot, root, stacks)
    book = more.pop("book", None) or rulebook()
    wanted = Target(target, path=target.path if target else None)
    return Situation(the_rule, Variant(""), wanted, view, book, values or {}, **more)


def after(situation: Situation, planned: Planned | None = None) -> dict[str, str]:
    """Plan, apply, and return the changed files; asserts that the answer is a change."""
    planned = planned if planned is not None else plan(situation)
    assert isinstance(planned, ChangeSet), planned
    overlay = Overlay(situation.facts.snapshot).apply(planned)
    return {path: overlay.read(path).decode() for path in planned.paths()}


def again(situation: Situation) -> Planned:
    """Plan on the tree that the fix itself made."""
    planned = plan(situation)
    assert isinstance(planned, ChangeSet)
    overlay = Overlay(situation.facts.snapshot).apply(planned)
    view = facts(overlay, situation.facts.root.path, tuple(situation.facts.stacks))
    return plan(replace(situation, facts=view))


__all__ = ["after", "again", "facts", "plan", "plan_all", "row", "rule", "rulebook", "situation", "tree"]
