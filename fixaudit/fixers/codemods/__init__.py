"""The step codemod: fixes that the other steps cannot say, by name; a closed registry.

This module must not know of rules.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fixaudit.fixers.base import Planned, Refusal, Situation, StepKind
from fixaudit.fixers.codemods import docker, pool, secret
from fixaudit.fixers.support import NAME, TEXT, closed

CODEMODS: Mapping[str, tuple[Callable[[Mapping[str, Any], Situation], Planned], Mapping[str, Any]]] = {
    "externalize_secret": (secret.externalize_secret, closed((), key=TEXT)),
    "shared_pool": (pool.shared_pool, closed((), driver=TEXT)),
    "dockerfile_user": (
        docker.set_user,
        closed(("user",), user=NAME, setup={"type": "array", "items": NAME, "minItems": 1}),
    ),
    "dockerfile_lines": (
        docker.insert_lines,
        closed(
            ("lines",),
            lines={"type": "array", "items": NAME, "minItems": 1},
            before={"type": "array", "items": NAME, "minItems": 1},
        ),
    ),
    "dockerfile_tag": (docker.set_tag, closed(("tag",), tag=NAME)),
}
"""Name → what plans it, and the closed schema of its `args`."""


def _codemod(arguments: Mapping[str, Any], situation: Situation) -> Planned:
    plan, schema = CODEMODS[arguments["name"]]
    given = arguments.get("args", {})
    wrong = sorted(set(schema["required"]) - set(given)) or sorted(set(given) - set(schema["properties"]))
    if wrong:
        return Refusal(f"the rule gives the codemod {arguments['name']} no right {wrong[0]}", code="refused")
    return plan(given, situation)


def _arguments() -> dict[str, Any]:
    """Return the closed schema of `args`: what any codemod takes; each refuses what it lacks when it is planned."""
    known = {name: schema for _, one in CODEMODS.values() for name, schema in one["properties"].items()}
    return closed((), **known)


STEPS = (
    StepKind(
        "codemod",
        "Run one of the fixes that are written in code: "
        "`externalize_secret` moves a credential (a row of `secret`) to the environment; "
        "`shared_pool` lets the connections of a row of `call` come from one pool; "
        "`dockerfile_user`, `dockerfile_lines` and `dockerfile_tag` change the stage of a row of `dockerfile`.",
        closed(("name",), name={"enum": sorted(CODEMODS)}, args=_arguments()),
        _codemod,
        ("args",),
    ),
)
