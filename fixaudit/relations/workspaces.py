"""Which directories a workspace top names as its members.

Contract: npm, yarn and bun read `workspaces` of package.json, pnpm its own file, uv `[tool.uv.workspace]`; a later
pattern with `!` (or `exclude`) takes members out again. A directory below a top that does not name it is no member: it
has a lockfile of its own or none.
Sources: npm's page on workspaces, pnpm-workspace.yaml, uv's page on workspaces.
"""

from __future__ import annotations

from typing import Any

from fixaudit.facts import Facts
from fixaudit.formats import json, toml, yaml
from fixaudit.globs import matches
from fixaudit.relations.places import join, read


def is_member(facts: Facts, top: str, directory: str, manager: str) -> bool:
    """Say whether the top directory is a workspace of this package manager that has the directory as a member."""
    relative = directory[len(top) :].strip("/")
    member = False
    for pattern in _patterns(facts, top, manager):
        glob = pattern.removeprefix("!").removeprefix("./").strip("/")
        if matches(relative, f"/{glob}"):
            member = not pattern.startswith("!")
    return member


def _patterns(facts: Facts, top: str, manager: str) -> tuple[str, ...]:
    if manager == "pnpm":
        documents = read(facts, join(top, "pnpm-workspace.yaml") or "", "yaml", yaml.parse)
        node = yaml.get(documents[0], ["packages"]) if documents else None
        items = [yaml.follow(item) for item in node.items] if isinstance(node, yaml.Items) else []
        return tuple(item.text for item in items if isinstance(item, yaml.Scalar))
    if manager == "uv":
        document = read(facts, join(top, "pyproject.toml") or "", "toml", toml.parse)
        table = document.get(("tool", "uv", "workspace")) if document else None
        table = table if isinstance(table, dict) else {}
        return (*_texts(table.get("members")), *(f"!{pattern}" for pattern in _texts(table.get("exclude"))))
    if manager in ("npm", "yarn", "bun"):
        manifest = read(facts, join(top, "package.json") or "", "json", json.parse)
        node_value: Any = manifest.root.value() if manifest else None
        listed = node_value.get("workspaces") if isinstance(node_value, dict) else None
        return _texts(listed.get("packages") if isinstance(listed, dict) else listed)
    return ()


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()
