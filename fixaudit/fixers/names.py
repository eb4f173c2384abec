"""What the templates of a rule may name, for parameters and for steps alike.

This module must not know how a template is written.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import Any

from fixaudit.facts import Facts
from fixaudit.fixers.base import Target
from fixaudit.rulebook.rule import Rule, Rulebook, Variant


def names(
    rule: Rule, variant: Variant, target: Target, facts: Facts, rulebook: Rulebook, values: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what templates of a rule may name: captures, parameters, `stack.<fact>`, and where the finding is."""
    captured = {name: target.row.text(name) for name in target.row.values} if target.row else {}
    path = target.path or (target.row.path if target.row else "")
    return {
        **captured,
        "path": path,
        "dir": posixpath.dirname(path),
        "root": facts.root.path,
        "language": language_of(variant, target, facts, rulebook),
        "stack": stack_facts(facts, rulebook),
        "rule": rule.id,
        **values,
    }


def language_of(variant: Variant, target: Target, facts: Facts, rulebook: Rulebook) -> str:
    """Return "javascript" (TypeScript and TSX too) or "python": of the finding's file, else variant, else root."""
    path = target.path or (target.row.path if target.row else None)
    file = facts.file(path) if path else None
    if file is not None and file.kind.language:
        return "python" if file.kind.language == "python" else "javascript"
    spoken = {stack.language for name, stack in rulebook.stacks.items() if name in facts.stacks and stack.language}
    for language in (*variant.languages, *(sorted(spoken) if len(spoken) == 1 else ())):
        return "python" if language == "python" else "javascript"
    return ""


def stack_facts(facts: Facts, rulebook: Rulebook) -> dict[str, Any]:
    """Join the facts of a root's stacks, in the order of the stack file: lists are joined, else the later wins."""
    joined: dict[str, Any] = {}
    for name, stack in rulebook.stacks.items():
        for key, value in stack.facts.items() if name in facts.stacks else ():
            known = joined.get(key)
            if isinstance(value, list):
                joined[key] = list(dict.fromkeys([*(known if isinstance(known, list) else []), *value]))
            else:
                joined[key] = value
    return joined
