"""Which manifest declares a root's packages, and how one more package gets into it.

Contract: the manifest that counts is the one that the root's tools read; where several could, the more specific one
does (a pyproject.toml with a dependency table before requirements.txt).
This module must not know of lockfiles or of where versions come from.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from fixaudit.facts import Facts
from fixaudit.fixers.base import Refusal
from fixaudit.fixers.fold import Draft
from fixaudit.fixers.support import edited
from fixaudit.formats import jsonedit, manifests
from fixaudit.formats.dependency import DEV, MAIN, OPTIONAL, PEER, Dependency, python_name
from fixaudit.formats.problem import Problem
from fixaudit.projects import Root
from fixaudit.snapshot import ChangeSet, MemorySnapshot
from fixaudit.text import Edit, Text


@dataclass(frozen=True)
class Manifest:
    """One manifest with what it declares. `manager` is the tool that installs from it where no lockfile says more."""

    path: str
    kind: str
    text: Text
    rows: tuple[Dependency, ...]

    @property
    def manager(self) -> str:
        if self.kind == "package.json":
            named = re.search(r'"packageManager"\s*:\s*"(\w+)@', self.text.content)
            return named[1] if named else "npm"
        if self.kind == "Pipfile":
            return "pipenv"
        return "poetry" if any(row.section.startswith("tool.poetry") for row in self.rows) else "pip"

    def _of(self, package: str) -> tuple[Dependency, ...]:
        name = package if self.kind == "package.json" else python_name(package)
        return tuple(row for row in self.rows if row.normalized == name)

    def declares(self, package: str, *, dev: bool) -> bool:
        """Say whether the package is there already: for the program, or (with `dev`) for development."""
        groups = {MAIN, PEER, OPTIONAL, DEV} if dev else {MAIN, PEER}
        found = self._of(package)
        optional_npm = self.kind == "package.json" and any(row.group == OPTIONAL for row in found)
        return optional_npm or any(row.group in groups for row in found)

    def known_spec(self, package: str) -> str | None:
        """Return how the package is declared for development alone, as written."""
        return next((row.spec for row in self._of(package) if row.group == DEV and row.source == "registry"), None)

    def with_package(self, package: str, spec: str, *, dev: bool) -> ChangeSet | Refusal:
        """Declare a package; a development dependency that the program needs becomes a real one."""
        here = next((row for row in self._of(package) if row.group == DEV), None)
        if here is not None and not dev and self.kind == "package.json":
            return self._promoted(package, here)
        edits = manifests.add_dependency(self.text, self.kind, package, spec, DEV if dev else MAIN)
        return edited(self.path, edits)

    def _promoted(self, package: str, row: Dependency) -> ChangeSet | Refusal:
        """Move a package from devDependencies to dependencies, its version as it is written."""
        removal = _removal(self.text.content, row)
        text = self.text.apply((removal,))
        if any(other.section == "dependencies" for other in self.rows):
            edits = jsonedit.set_value(text, ("dependencies", package), row.spec)
        else:
            before = ("devDependencies",)
            edits = jsonedit.set_value(text, ("dependencies",), {package: row.spec}, sorted_like=False, before=before)
        if isinstance(edits, Problem):
            return edited(self.path, edits)
        draft = Draft.of(MemorySnapshot.of({self.path: self.text.encode()}))
        draft = draft.after(ChangeSet(edits={self.path: (removal,)}))
        return draft.after(ChangeSet(edits={self.path: edits})).total()


def _removal(content: str, row: Dependency) -> Edit:
    """Take one member out of a JSON object, with the comma and the line that it leaves behind."""
    start, end = row.span
    behind = re.compile(r"\s*,").match(content, end)
    if behind is not None:
        end = behind.end()
        rest = re.compile(r"[ \t]*").match(content, end)
        end = rest.end() if rest else end
        before = len(content[:start].rstrip(" \t"))
        if content[before - 1 : before] == "\n" and content[end : end + 1] in ("\r", "\n"):
            start, end = before, end + (2 if content.startswith("\r\n", end) else 1)
    else:
        start = len(content[:start].rstrip())
        if content[start - 1] == ",":
            start -= 1
    return Edit(start, end, content[start:end], "")


def node_manifest(facts: Facts, root: Root) -> Manifest | Refusal:
    """Return a root's package.json."""
    path = root.join("package.json")
    text = facts.text(path)
    if text is None:
        return Refusal(f"there is no {path} to declare a package in", code="none")
    return _read(path, "package.json", text)


def _read(path: str, kind: str, text: Text) -> Manifest | Refusal:
    rows = manifests.dependencies(kind, text.content)
    if isinstance(rows, Problem):
        return Refusal(f"{path}:{rows.line}: {rows.message}", code="shape")
    return Manifest(path, kind, text, rows)


def python_manifest(facts: Facts, root: Root) -> Manifest | Refusal:
    """Return the file in which a Python root declares its packages."""
    for name in (
        "pyproject.toml",
        "Pipfile",
        "requirements.in",
        "requirements.txt",
        "requirements/base.txt",
        "setup.cfg",
    ):
        path = root.join(name)
        text = facts.text(path)
        kind = manifests.kind_of(path)
        if text is None or kind is None:
            continue
        if name.endswith(".in") or "--hash=" in text.content:
            sentence = f"{path} is compiled: add the package to its source and run `pip-compile` first"
            return Refusal(sentence, code="lockfile")
        # A pyproject.toml of tools alone (ruff, pytest) declares nothing.
        if name == "pyproject.toml" and not re.search(r"^\[(?:project|tool\.poetry)\]", text.content, re.MULTILINE):
            continue
        if name == "pyproject.toml" and re.search(r"^dynamic\s*=\s*\[[^\]]*dependencies", text.content, re.MULTILINE):
            continue
        return _read(path, kind, text)
    return Refusal(f"there is no file in {root.path or 'the project'} to declare a package in", code="none")
