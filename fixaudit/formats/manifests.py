"""Declared dependencies of package.json, pyproject.toml, Pipfile, setup.cfg, setup.py and requirements files.

Contract: `dependencies` gives one row for each declaration, in source order; `add_dependency` adds one in the file's
own style and gives no edit when it is declared. Which version is right is the caller's to say.
This module must not know of lockfiles.
"""

from __future__ import annotations

import re
from typing import Any

from fixaudit.formats import json, requirements, setupfiles, toml
from fixaudit.formats.dependency import (
    DEV,
    MAIN,
    OPTIONAL,
    PEER,
    Dependency,
    parse_requirement,
    python_name,
    source_of,
    styled,
)
from fixaudit.formats.jsonedit import set_value as set_json
from fixaudit.formats.problem import Edits, Problem
from fixaudit.formats.tomledit import add_item
from fixaudit.formats.tomledit import set_value as set_toml
from fixaudit.text import Text

KINDS = ("package.json", "pyproject.toml", "Pipfile", "setup.cfg", "setup.py", "requirements.txt")

_NODE_SECTIONS = {
    "dependencies": MAIN,
    "devDependencies": DEV,
    "optionalDependencies": OPTIONAL,
    "peerDependencies": PEER,
}
_REQUIREMENTS = re.compile(r"(?:.*/)?(?:[\w.-]*requirements[\w.-]*\.(?:txt|in|pip)|requirements/[\w.-]+\.(?:txt|in))\Z")
_POETRY = ("tool", "poetry", "dependencies")


def kind_of(path: str) -> str | None:
    """Return which of KINDS a path is by its name, None for any other file."""
    name = path.rpartition("/")[2]
    if name in KINDS:
        return name
    return "requirements.txt" if _REQUIREMENTS.match(path) else None


def dependencies(kind: str, content: str) -> tuple[Dependency, ...] | Problem:
    """Return the declared dependencies of a manifest of one of KINDS."""
    match kind:
        case "package.json":
            return _node(content)
        case "pyproject.toml" | "Pipfile":
            document = toml.parse(content)
            if isinstance(document, Problem):
                return document
            return _pyproject(document, content) if kind == "pyproject.toml" else _pipfile(document)
        case "setup.cfg":
            return setupfiles.read_cfg(content)
        case "setup.py":
            return setupfiles.read_py(content)
        case "requirements.txt":
            return requirements.read(content).dependencies
    return Problem(1, f"{kind} is no manifest that is known here")


def add_dependency(text: Text, kind: str, name: str, spec: str, group: str = MAIN) -> Edits:
    """Declare a dependency in a manifest.

    A bare version ("7.1.0") takes the operator that its neighbours have; anything else is written as given. `group` is
    main or dev. Refuses setup.py (it is a program), computed and generated lists, and a name that is declared in a
    group from which a production install leaves it out.
    """
    match kind:
        case "package.json":
            return _add_node(text, name, spec, group)
        case "pyproject.toml":
            return _add_pyproject(text, name, spec, group)
        case "Pipfile":
            section = "dev-packages" if group == DEV else "packages"
            return _add_table(text, (section,), name, spec, "==", kind)
        case "setup.cfg":
            return setupfiles.add_cfg(text, name, spec)
        case "requirements.txt":
            return requirements.add(text, name, spec)
    return Problem(1, f"a dependency cannot be added to {kind} safely")


def _node(content: str) -> tuple[Dependency, ...] | Problem:
    document = json.parse(content)
    if isinstance(document, Problem):
        return document
    index = Text(content).lines
    rows: list[Dependency] = []
    for section in document.root.members:
        group = _NODE_SECTIONS.get(section.key)
        for member in section.value.members if group else ():
            if not isinstance(member.value.scalar, str):
                continue
            spec = member.value.scalar
            line = index.position(member.key_span[0])[0]
            span = (member.key_span[0], member.value.span[1])
            rows.append(Dependency(member.key, member.key, spec, str(group), section.key, line, span, source_of(spec)))
    return tuple(rows)


def _add_node(text: Text, name: str, spec: str, group: str) -> Edits:
    rows = _node(text.content)
    document = json.parse(text.content)
    if isinstance(rows, Problem) or isinstance(document, Problem):
        return rows if isinstance(rows, Problem) else Problem(1, "the file is not JSON")
    if not document.strict:
        return Problem(1, "the file is not plain JSON, so npm cannot read it")
    section = "devDependencies" if group == DEV else "dependencies"
    present = {row.section: row for row in rows if row.name == name}
    if section in present or (group == DEV and "dependencies" in present):
        return ()
    if "devDependencies" in present:
        return Problem(present["devDependencies"].line, f"{name} is declared in devDependencies")
    written = styled(spec, (row.spec for row in rows if row.group in (MAIN, DEV)), ("^", "~", ""), "^")
    if document.root.get(section) is not None:
        return set_json(text, (section, name), written)
    keys = [member.key for member in document.root.members]
    behind = keys.index("dependencies") + 1 if section == "devDependencies" and "dependencies" in keys else len(keys)
    before = keys[behind : behind + 1] or ["devDependencies", "optionalDependencies", "peerDependencies"]
    return set_json(text, (section,), {name: written}, sorted_like=False, before=before)


def _pyproject(document: toml.Document, content: str) -> tuple[Dependency, ...]:
    rows: list[Dependency] = []
    for entry in toml.walk(document.entries):
        path = entry.path
        if (path == ("project", "dependencies")) or path[:2] == ("project", "optional-dependencies"):
            group = MAIN if path[1] == "dependencies" else OPTIONAL
        elif path[:1] == ("dependency-groups",) or path[:3] in (
            ("tool", "uv", "dev-dependencies"),
            ("tool", "pdm", "dev-dependencies"),
        ):
            group = DEV
        elif row := _poetry(document, entry):
            rows.append(row)
            continue
        else:
            continue
        values = document.get(path)
        index = Text(content).lines
        for number, item in enumerate(entry.value.items):
            found = parse_requirement(values[number]) if isinstance(values[number], str) else None
            if found is None:  # `{include-group = "x"}`, or no requirement
                continue
            line = index.position(item.span[0])[0]
            normalized, section = python_name(found.name), ".".join(path)
            rows.append(
                Dependency(
                    name=found.name,
                    normalized=normalized,
                    spec=found.spec,
                    group=group,
                    section=section,
                    line=line,
                    span=item.span,
                    source=found.source,
                    extras=found.extras,
                    marker=found.marker,
                )
            )
    return tuple(rows)


def _poetry(document: toml.Document, entry: toml.Entry) -> Dependency | None:
    """Read an entry of a table of Poetry's; `python` there is no dependency."""
    path = entry.path
    if path[:3] == _POETRY and len(path) == 4:
        group = MAIN
    elif (path[:3] == ("tool", "poetry", "dev-dependencies") and len(path) == 4) or (
        path[:3] == ("tool", "poetry", "group") and path[4:5] == ("dependencies",) and len(path) == 6
    ):
        group = DEV
    else:
        return None
    name = path[-1]
    return None if name == "python" else _table_row(document, entry, name, group)


def _pipfile(document: toml.Document) -> tuple[Dependency, ...]:
    groups = {"packages": MAIN, "dev-packages": DEV}
    return tuple(
        _table_row(document, entry, entry.path[1], groups[entry.path[0]])
        for entry in document.entries
        if len(entry.path) == 2 and entry.path[0] in groups
    )


def _table_row(document: toml.Document, entry: toml.Entry, name: str, group: str) -> Dependency:
    """Read `name = "spec"` or `name = {version = "spec", …}`; several constraints are joined by `||`."""
    value: Any = document.get(entry.path)
    parts = value if isinstance(value, list) else [value]
    tables = [part if isinstance(part, dict) else {"version": part} for part in parts]
    spec = " || ".join(str(table["version"]) for table in tables if isinstance(table.get("version"), str))
    sources = [kind for kind in ("git", "path", "url", "file") if any(kind in table for table in tables)]
    source = {"file": "path"}.get(sources[0], sources[0]) if sources else "registry"
    if sources and not spec:
        spec = str(next(table[sources[0]] for table in tables if sources[0] in table))
    extras = tuple(sorted({str(extra) for table in tables for extra in table.get("extras", ())}))
    return Dependency(
        name=name,
        normalized=python_name(name),
        spec="" if spec == "*" else spec,
        group=OPTIONAL if any(table.get("optional") is True for table in tables) and group == MAIN else group,
        section=".".join(entry.path[:-1]),
        line=entry.line,
        span=(entry.key_span[0], entry.value.span[1]),
        source=source,
        extras=extras,
        marker=str(tables[0].get("markers", "")) if tables else "",
    )


def _add_pyproject(text: Text, name: str, spec: str, group: str) -> Edits:
    document = toml.parse(text.content)
    if isinstance(document, Problem):
        return document
    project = document.get(("project",))
    poetry = document.get(("tool", "poetry"))
    dynamic = project.get("dynamic", []) if isinstance(project, dict) else []
    if isinstance(poetry, dict) and (
        not isinstance(project, dict) or "dependencies" in dynamic or _stands_in_poetry(document)
    ):
        if group != DEV:
            return _add_table(text, _POETRY, name, spec, "^", "pyproject.toml")
        old = ("tool", "poetry", "dev-dependencies")
        section = old if document.get(old) is not None else ("tool", "poetry", "group", "dev", "dependencies")
        return _add_table(text, section, name, spec, "^", "pyproject.toml")
    if not isinstance(project, dict):
        return Problem(1, "there is neither a [project] nor a [tool.poetry] table")
    if "dependencies" in dynamic and group != DEV:
        return Problem(1, "the project's dependencies are dynamic, so they stand elsewhere")
    path: tuple[str, ...] = ("project", "dependencies")
    if group == DEV:
        choices = (
            ("dependency-groups", "dev"),
            ("tool", "uv", "dev-dependencies"),
            ("project", "optional-dependencies", "dev"),
        )
        path = next((choice for choice in choices if document.get(choice) is not None), choices[0])
    rows = _pyproject(document, text.content)
    neighbours = [row.spec for row in rows if row.section == ".".join(path)] or [row.spec for row in rows]
    written = f"{name}{styled(spec, neighbours, ('==', '~=', '>=', ''), '>=')}"
    wanted = python_name(name)

    def same(item: str) -> bool:
        found = parse_requirement(item)
        return found is not None and python_name(found.name) == wanted

    return add_item(text, path, written, same=same)


def _stands_in_poetry(document: toml.Document) -> bool:
    """Whether the dependencies stand in Poetry's table although there is a `[project]`."""
    return document.get(_POETRY) is not None and document.get(("project", "dependencies")) is None


def _add_table(text: Text, path: tuple[str, ...], name: str, spec: str, default: str, kind: str) -> Edits:
    rows = dependencies(kind, text.content)
    if isinstance(rows, Problem):
        return rows
    section = ".".join(path)
    if any(row.normalized == python_name(name) and row.section == section for row in rows):
        return ()
    neighbours = [row.spec for row in rows if row.section == section]
    written = styled(spec or "*", neighbours, ("==", "~=", ">=", "^", "~", ""), default)
    return set_toml(text, (*path, name), written)
