"""Where a root declares its packages, and how one more is written there in the file's own way.

Contract: the manifest that counts is the one that the root's tools read; where several could, the more specific one
does (pyproject.toml with a dependency table before requirements.txt). Versions are written as the neighbours are.
This module must not know of lockfiles or of where versions come from.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from fixaudit.facts import Facts
from fixaudit.fixers.base import Refusal
from fixaudit.fixers.support import edited
from fixaudit.formats.problem import Edits, Problem, append_lines
from fixaudit.projects import Root
from fixaudit.snapshot import ChangeSet
from fixaudit.text import Text

_REQUIREMENT = re.compile(
    r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[[^\]]*\])?\s*(===|==|~=|>=|<=|!=|>|<|@)?\s*([^\s;#,]*)"
)


@dataclass(frozen=True)
class Manifest:
    """One manifest. `declared` and `dev` map normalised names to versions as written."""

    path: str
    manager: str
    declared: Mapping[str, str]
    dev: Mapping[str, str]
    add: Callable[[str, str, bool], Edits]
    normalise: Callable[[str], str] = str

    def declares(self, package: str, *, dev: bool) -> bool:
        """Say whether the package is there already, for development or for the program."""
        name = self.normalise(package)
        return name in self.declared or (dev and name in self.dev)

    def known_version(self, package: str) -> str | None:
        """Return the version that a development dependency has, without its operator."""
        spec = self.dev.get(self.normalise(package))
        found = re.search(r"\d[\w.+-]*", spec or "")
        return found[0] if found else None

    def with_package(self, package: str, version: str, *, dev: bool) -> ChangeSet | Refusal:
        return edited(self.path, self.add(package, version, dev))


def node_manifest(facts: Facts, root: Root) -> Manifest | Refusal:
    """Return a root's package.json."""
    from fixaudit.formats import json as json_format
    from fixaudit.formats import packagejson

    path = root.join("package.json")
    text = facts.text(path)
    if text is None:
        return Refusal(f"there is no {path} to declare a package in", code="none")
    document = json_format.parse(text.content)
    if isinstance(document, Problem):
        return Refusal(f"{path}:{document.line}: {document.message}", code="shape")
    value = document.root.value()
    package: Mapping[str, Any] = value if isinstance(value, dict) else {}
    groups = {name: table for name, table in package.items() if isinstance(table, dict)}
    program = {
        name: str(spec)
        for group in ("peerDependencies", "optionalDependencies", "dependencies")
        for name, spec in groups.get(group, {}).items()
    }
    dev = {name: str(spec) for name, spec in groups.get("devDependencies", {}).items()}
    npmrc = facts.text(root.join(".npmrc"))
    exact = npmrc is not None and re.search(r"^\s*save-exact\s*=\s*true", npmrc.content, re.MULTILINE) is not None
    sign = "" if exact else _npm_sign([*program.values(), *dev.values()])

    def add(name: str, version: str, for_development: bool) -> Edits:
        return packagejson.add_dependency(text, name, f"{sign}{version}", dev=for_development)

    return Manifest(path, "npm", program, dev, add)


def _npm_sign(specs: Iterable[str]) -> str:
    """Return `^`, `~` or nothing, as most versions of the manifest are written; `^` is npm's own default."""
    signs = Counter(found[1] for spec in specs if (found := re.match(r"([\^~]?)\d+\.\d", spec)))
    return max(signs, key=lambda sign: (signs[sign], sign == "^"), default="^")


def python_manifest(facts: Facts, root: Root) -> Manifest | Refusal:
    """Return the file in which a Python root declares its packages."""
    from fixaudit.formats import toml

    path = root.join("pyproject.toml")
    text = facts.text(path)
    if text is not None:
        document = toml.parse(text.content)
        if isinstance(document, Problem):
            return Refusal(f"{path}:{document.line}: {document.message}", code="shape")
        found = _pyproject(path, text, document.data)
        if found is not None:
            return found
    for name in ("requirements.in", "requirements.txt", "requirements/base.txt"):
        path = root.join(name)
        text = facts.text(path)
        if text is None:
            continue
        if "--hash=" in text.content or name.endswith(".in"):
            command = "pip-compile requirements.in"
            return Refusal(f"{path} is locked: add the package and run `{command}` first", code="lockfile")
        return _requirements(path, text)
    if facts.text(root.join("Pipfile")) is not None:
        return Refusal(f"{root.join('Pipfile')} is not edited here: run `pipenv install` for it first", code="lockfile")
    return Refusal(f"there is no file in {root.path or 'the project'} to declare a package in", code="none")


def _pyproject(path: str, text: Text, data: Mapping[str, Any]) -> Manifest | None:
    from fixaudit.formats import tomledit

    project = data.get("project")
    if isinstance(project, dict) and "dependencies" not in (project.get("dynamic") or ()):
        listed = [str(item) for item in project.get("dependencies", ()) if isinstance(item, str)]
        groups = data.get("dependency-groups") or {}
        development = [str(item) for item in groups.get("dev", ()) if isinstance(item, str)]
        sign = _python_sign(listed, ">=")

        def add(name: str, version: str, for_development: bool) -> Edits:
            where = ("dependency-groups", "dev") if for_development else ("project", "dependencies")
            same = _same_as(name)
            return tomledit.add_item(text, where, f"{name}{sign}{version}", same=same)

        return Manifest(path, "pip", _named(listed), _named(development), add, normal_name)
    poetry = (data.get("tool") or {}).get("poetry")
    if isinstance(poetry, dict):
        table = {normal_name(k): str(v) for k, v in (poetry.get("dependencies") or {}).items()}
        group = (
            ((poetry.get("group") or {}).get("dev") or {}).get("dependencies") or poetry.get("dev-dependencies") or {}
        )
        dev = {normal_name(k): str(v) for k, v in group.items()}

        def add_poetry(name: str, version: str, for_development: bool) -> Edits:
            where = ("tool", "poetry", "group", "dev", "dependencies") if for_development else ()
            return tomledit.set_value(text, (*(where or ("tool", "poetry", "dependencies")), name), f"^{version}")

        return Manifest(path, "poetry", table, dev, add_poetry, normal_name)
    return None


def _requirements(path: str, text: Text) -> Manifest:
    lines = [line for line in text.content.splitlines() if line.strip() and not line.strip().startswith(("#", "-"))]
    sign = _python_sign(lines, "==" if any("==" in line for line in lines) else ">=")

    def add(name: str, version: str, for_development: bool) -> Edits:
        del for_development
        return append_lines(text, [f"{name}{sign}{version}"])

    return Manifest(path, "pip", _named(lines), {}, add, normal_name)


def normal_name(name: str) -> str:
    """Normalise a Python package's name (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _named(requirements: Iterable[str]) -> dict[str, str]:
    found = {}
    for line in requirements:
        match = _REQUIREMENT.match(line)
        if match:
            found[normal_name(match[1])] = match[3]
    return found


def _same_as(package: str) -> Callable[[str], bool]:
    def same(item: str) -> bool:
        match = _REQUIREMENT.match(item)
        return match is not None and normal_name(match[1]) == normal_name(package)

    return same


def _python_sign(requirements: Iterable[str], default: str) -> str:
    signs: Counter[str] = Counter()
    for line in requirements:
        match = _REQUIREMENT.match(line)
        if match and match[2] in ("==", "~=", ">="):
            signs[match[2]] += 1
    return max(signs, key=lambda sign: (signs[sign], sign == default), default=default)
