"""Plan fixes: the closed registry of steps, and the fold of a rule's steps into one change.

Contract: `plan` is pure. All steps of a fix succeed or none of them counts; a later step sees what earlier ones did;
the result is one change against the tree that the situation shows. Planning again on the fixed tree gives nothing.
This module must not know of the loop or of any single rule.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib import import_module

from fixaudit.facts import Facts
from fixaudit.fixers.base import Deferred, Planned, Refusal, Situation, StepKind
from fixaudit.fixers.fold import Draft, moved
from fixaudit.fixers.support import fill
from fixaudit.rulebook.rule import Step
from fixaudit.snapshot import ChangeSet, FollowUp
from fixaudit.text import StaleEditError, byte_key

MODULES = ("files", "values", "code", "insertion", "dependency", "codemods")


@cache
def registry() -> dict[str, StepKind]:
    """Return every kind of step by name, in alphabetical order."""
    kinds = [kind for module in MODULES for kind in import_module(f"fixaudit.fixers.{module}").STEPS]
    return {kind.name: kind for kind in sorted(kinds, key=lambda kind: kind.name)}


def plan(situation: Situation) -> Planned:
    """Plan the fix of one finding; its parameters must be extracted already."""
    return plan_all((situation,))


def plan_all(situations: Sequence[Situation]) -> Planned:
    """Plan the findings of one issue, which share rule and tree, as one change: all of them or none.

    They are planned from the bottom of each file upwards. The first refusal or missing precondition is the answer.
    """
    draft: Draft | None = None
    waiting = sorted(situations, key=_place, reverse=True)
    while waiting:
        current, *rest = waiting
        draft = draft or Draft.of(current.facts.snapshot)
        current = replace(current, origin=current.origin or current.facts)
        steps = _steps(current)
        for number, step in enumerate(steps, 1):
            result = registry()[step.kind].plan(step.arguments, current)
            if isinstance(result, Refusal | Deferred):
                return result
            try:
                draft = draft.after(result)
            except StaleEditError as error:
                return Refusal(f"two edits of this fix collide: {error}", code="shape")
            if number == len(steps) and not rest:
                break  # nobody looks at the tree any more
            facts = _facts_after(current.facts, draft, result)
            current = replace(current, facts=facts, target=moved(current.target, result))
            rest = [replace(s, facts=facts, target=moved(s.target, result), origin=current.origin) for s in rest]
        draft = draft.after(ChangeSet(follow_ups=follow_ups(current)))
        waiting = rest
    return draft.total() if draft else ChangeSet()


def _place(situation: Situation) -> tuple[bytes, int]:
    row = situation.target.row
    return byte_key(situation.target.path or ""), row.span[0] if row else 0


def _steps(situation: Situation) -> tuple[Step, ...]:
    if situation.variant.steps:
        return situation.variant.steps
    return situation.rule.fix.steps if situation.rule.fix else ()


def follow_ups(situation: Situation) -> tuple[FollowUp, ...]:
    """Return what the variant (or the rule) asks a person to do, with its templates filled in."""
    rule, variant = situation.rule, situation.variant
    written: Sequence[Mapping[str, str]] = rule.fix.follow_ups if rule.fix else ()
    if variant.follow_ups is not None:
        written = variant.follow_ups
    done = []
    for entry in written:
        text = str(fill(entry["text"], situation))
        command = str(fill(entry["command"], situation)) if entry.get("command") else None
        done.append(FollowUp(f"{rule.id}:{text}", text, command))
    return tuple(done)


def _facts_after(facts: Facts, draft: Draft, change: ChangeSet) -> Facts:
    """Return the facts of the same root on the changed tree; only what the change touched is read again."""
    touched = (*change.paths(), *change.untracked)
    if not touched:
        return facts
    project = facts.project.after(draft.overlay, touched)
    if facts.repository:
        view = project.view(facts.root, repository=True)
    else:
        view = project.view(next((root for root in project.roots if root.path == facts.root.path), facts.root))
    view.stacks = facts.stacks
    for root in project.roots:
        project.view(root).stacks = facts.project.view(root).stacks
    return view
