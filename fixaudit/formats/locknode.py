"""Lockfiles of npm (versions 1 to 3), yarn (1 and berry) and pnpm (5 to 9).

Contract: text in, `lockfiles.Lockfile` out. Only names, versions and recorded specifications are read; addresses and
integrity hashes are not (U60: they are no facts about a project, and no secrets).
Sources: npm's package-lock.json page, the lockfiles that yarn and pnpm write.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from fixaudit.formats import yaml
from fixaudit.formats.lockfiles import Locked, Lockfile, Root
from fixaudit.formats.problem import Problem

_SECTIONS = {"dependencies": False, "devDependencies": True, "optionalDependencies": False}
_YARN_KEY = re.compile(r'"(?P<quoted>[^"\r\n]+)"|(?P<bare>[^\s",][^",\r\n]*)')
_PNPM_KEY = re.compile(r"/?(?P<name>(?:@[^/@]+/)?[^/@]+)[@/](?P<version>[^(_]+)")


def read_npm(content: str) -> Lockfile | Problem:
    """Read package-lock.json or npm-shrinkwrap.json."""
    try:
        data = json.loads(content)
    except json.JSONDecodeError as error:
        return Problem(error.lineno, "the lockfile is not JSON")
    except RecursionError:
        return Problem(1, "the lockfile is nested too deeply")
    if not isinstance(data, dict):
        return Problem(1, "the lockfile is no object")
    version = str(data.get("lockfileVersion", 1))
    packages = data.get("packages")
    if not isinstance(packages, dict):
        return Lockfile("npm", version, tuple(_npm_tree(data.get("dependencies"), True)))
    locked: list[Locked] = []
    roots: list[Root] = []
    for path, entry in packages.items():
        if not isinstance(entry, dict):
            continue
        outside, _, name = path.rpartition("node_modules/")
        if name and path != outside:
            if isinstance(entry.get("version"), str):
                real = entry.get("name") if isinstance(entry.get("name"), str) else name
                locked.append(Locked(name, name, entry["version"], entry.get("dev") is True, not outside))
                if real != name:
                    locked.append(Locked(str(real), str(real), entry["version"], entry.get("dev") is True, False))
        if "node_modules/" not in path:
            roots += _roots(path, entry)
    return Lockfile("npm", version, tuple(locked), tuple(roots))


def read_yarn(content: str) -> Lockfile | Problem:
    """Read yarn.lock of either generation."""
    if re.search(r"^__metadata:", content, re.MULTILINE):
        return _read_berry(content)
    locked: list[Locked] = []
    patterns: set[str] = set()
    current: list[str] = []
    for number, line in enumerate(content.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        if not line[0].isspace():
            if not line.rstrip().endswith(":"):
                return Problem(number, "the line is no entry of a yarn.lock")
            current = [match["quoted"] or match["bare"] for match in _YARN_KEY.finditer(line.rstrip()[:-1])]
            patterns.update(current)
        elif match := re.match(r'  version:? "?([^"\s]+)"?', line):
            for name in dict.fromkeys(_before_at(pattern) for pattern in current):
                locked.append(Locked(name, name, match[1]))
    return Lockfile("yarn", "1", tuple(locked), patterns=frozenset(patterns))


def read_pnpm(content: str) -> Lockfile | Problem:
    """Read pnpm-lock.yaml; roots are those of `importers`, or of the file itself in one without workspaces."""
    documents = yaml.parse(content)
    if isinstance(documents, Problem):
        return documents
    data: Any = _plain_data(documents[-1]) if documents else {}
    if not isinstance(data, dict):
        return Problem(1, "the lockfile is no mapping")
    importers = data.get("importers")
    importers = importers if isinstance(importers, dict) else {".": data}
    roots: list[Root] = []
    for path, importer in importers.items():
        project = "" if path == "." else path
        specifiers = importer.get("specifiers") if isinstance(importer, dict) else None
        for section, dev in _SECTIONS.items():
            entries = importer.get(section) if isinstance(importer, dict) else None
            for name, entry in (entries if isinstance(entries, dict) else {}).items():
                spec = entry.get("specifier") if isinstance(entry, dict) else None
                if spec is None and isinstance(specifiers, dict):
                    spec = specifiers.get(name)
                if isinstance(spec, str):
                    roots.append(Root(project, name, name, spec, dev))
    locked: list[Locked] = []
    packages = data.get("packages")
    for key, entry in (packages if isinstance(packages, dict) else {}).items():
        match = _PNPM_KEY.match(key)
        if match is None:
            continue
        flag = {"true": True, "false": False}.get(entry.get("dev", "")) if isinstance(entry, dict) else None
        locked.append(Locked(match["name"], match["name"], match["version"], flag))
    overrides = data.get("overrides")
    names = frozenset(_before_at(key) for key in (overrides if isinstance(overrides, dict) else ()))
    return Lockfile("pnpm", str(data.get("lockfileVersion", "")), tuple(locked), tuple(roots), overridden=names)


def _npm_tree(tree: Any, top: bool) -> Iterator[Locked]:
    for name, entry in (tree if isinstance(tree, dict) else {}).items():
        if isinstance(entry, dict) and isinstance(entry.get("version"), str):
            yield Locked(name, name, entry["version"], entry.get("dev") is True, top)
            yield from _npm_tree(entry.get("dependencies"), False)


def _roots(path: str, entry: dict[str, Any]) -> Iterator[Root]:
    for section, dev in _SECTIONS.items():
        specs = entry.get(section)
        for name, spec in (specs if isinstance(specs, dict) else {}).items():
            if isinstance(spec, str):
                yield Root(path, name, name, spec, dev)


def _read_berry(content: str) -> Lockfile | Problem:
    documents = yaml.parse(content)
    if isinstance(documents, Problem):
        return documents
    data: Any = _plain_data(documents[0]) if documents else {}
    if not isinstance(data, dict):
        return Problem(1, "the lockfile is no mapping")
    metadata = data.get("__metadata")
    version = str(metadata.get("version", "")) if isinstance(metadata, dict) else ""
    locked: list[Locked] = []
    roots: list[Root] = []
    for key, entry in data.items():
        if key == "__metadata" or not isinstance(entry, dict):
            continue
        workspace = re.search(r"@workspace:([^,]+)\Z", str(entry.get("resolution", "")))
        if workspace:
            project = "" if workspace[1] == "." else workspace[1]
            specs = entry.get("dependencies")
            for name, spec in (specs if isinstance(specs, dict) else {}).items():
                roots.append(Root(project, name, name, str(spec)))
            continue
        for name in dict.fromkeys(_before_at(part.strip()) for part in key.split(",")):
            locked.append(Locked(name, name, str(entry.get("version", ""))))
    return Lockfile("yarn", f"berry-{version}", tuple(locked), tuple(roots))


def _before_at(pattern: str) -> str:
    """Return the name of `name@range` and `@scope/name@range`."""
    return pattern[: pattern.index("@", 1)] if "@" in pattern[1:] else pattern


def _plain_data(node: yaml.Node) -> Any:
    """Return dictionaries, lists and texts; the first of duplicate keys counts."""
    target = yaml.follow(node)
    if isinstance(target, yaml.Scalar):
        return target.text
    if isinstance(target, yaml.Items):
        return [_plain_data(item) for item in target.items]
    result: dict[str, Any] = {}
    for key, value in target.pairs:
        if isinstance(key, yaml.Scalar):
            result.setdefault(key.text, _plain_data(value))
    return result
