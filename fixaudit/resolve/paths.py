"""Which file an import names: extension probing, index files, TypeScript's path aliases, Python packages.

Contract: (importing file, specifier) in, `Local(path)`, `External(name)` or `Hidden(reason)` out, judged by the list
of audited paths alone plus the manifests that name aliases. Every path that decided an answer is reported to `touch`,
so that an answer can be kept until one of them changes.
This module must not know of scopes, values or relations.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

from fixaudit.resolve.packages import module_name

if TYPE_CHECKING:
    from fixaudit.facts import Facts


@dataclass(frozen=True, slots=True)
class Local:
    """A program file of the audited tree, or a Python namespace package (a directory without `__init__.py`)."""

    path: str
    directory: bool = False


@dataclass(frozen=True, slots=True)
class External:
    """A package or a module of the standard library, normalised."""

    name: str


@dataclass(frozen=True, slots=True)
class Hidden:
    """An import that is the project's own but cannot be followed."""

    reason: str


Place: TypeAlias = Local | External | Hidden

EXTENSIONS = (".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs")
# TypeScript writes the extension that the compiled file will have.
COMPILED = {".js": (".ts", ".tsx"), ".jsx": (".tsx",), ".mjs": (".mts",), ".cjs": (".cts",)}


@dataclass
class Locator:
    """Answers `place` for one root's files; `touch` is called with every path that was asked for."""

    facts: Facts
    touch: Callable[[str], None]
    _places: dict[tuple[str, str], tuple[Place, tuple[str, ...]]] = field(default_factory=dict)

    def place(self, path: str, specifier: str, python: bool) -> Place:
        """Say what a specifier means in a file."""
        key = (posixpath.dirname(path), specifier)
        if key not in self._places:
            asked: list[str] = []
            found = self._python(path, specifier, asked) if python else self._script(path, specifier, asked)
            self._places[key] = (found, tuple(asked))
        found, paths = self._places[key]
        for asked_path in paths:
            self.touch(asked_path)
        return found

    def submodule(self, package: Local, name: str) -> Local | None:
        """Return the module `name` inside a Python package."""
        base = package.path if package.directory else posixpath.dirname(package.path)
        if not package.directory and posixpath.basename(package.path) != "__init__.py":
            return None
        asked: list[str] = []
        found = self._python_file(posixpath.join(base, name), asked)
        for path in asked:
            self.touch(path)
        return found

    def _has(self, path: str, asked: list[str]) -> bool:
        asked.append(path)
        return self.facts.project.has(path)

    # JavaScript and TypeScript

    def _script(self, path: str, specifier: str, asked: list[str]) -> Place:
        specifier = specifier.split("?")[0]
        if specifier.startswith((".", "/")):
            if specifier.startswith("/"):
                return Hidden(f"an absolute import {specifier}")
            base = posixpath.normpath(posixpath.join(posixpath.dirname(path), specifier))
            if specifier.endswith("/") or specifier in (".", ".."):
                base += "/index"
            found = self._script_file(base.removeprefix("./"), asked)
            return found or Hidden(f"no file at {specifier}")
        if specifier.startswith("#"):
            return self._package_import(path, specifier, asked) or Hidden(f"a package import {specifier}")
        aliased = self._alias(path, specifier, asked)
        if aliased is not None:
            return aliased
        if specifier.startswith(("@/", "~", "$")):
            return Hidden(f"a path alias {specifier}")
        name = module_name(specifier, python=False)
        package = "/".join(name.split("/")[: 2 if name.startswith("@") else 1])
        if package in self._workspace:
            return Hidden(f"a package of this repository {package}")
        return External(name)

    def _script_file(self, base: str, asked: list[str]) -> Place | None:
        stem, extension = posixpath.splitext(base)
        candidates = [base] if extension in EXTENSIONS else []
        candidates += [stem + other for other in COMPILED.get(extension, ())]
        candidates += [base + other for other in EXTENSIONS]
        candidates += [f"{base}/index{other}" for other in EXTENSIONS]
        for candidate in candidates:
            if self._has(candidate, asked):
                return Local(candidate)
        if self._has(base, asked):
            return Hidden(f"not a program: {posixpath.basename(base)}")
        return None

    def _alias(self, path: str, specifier: str, asked: list[str]) -> Place | None:
        for directory in _ancestors(posixpath.dirname(path)):
            for name in ("tsconfig.json", "jsconfig.json"):
                config = posixpath.join(directory, name)
                if not self._has(config, asked):
                    continue
                options = self._json(config).get("compilerOptions")
                if not isinstance(options, dict):
                    return None
                return self._through(directory, options, specifier, asked)
        return None

    def _through(self, directory: str, options: dict[str, Any], specifier: str, asked: list[str]) -> Place | None:
        base_url = options.get("baseUrl")
        base = posixpath.join(directory, base_url) if isinstance(base_url, str) else directory
        mappings = options.get("paths")
        for pattern, targets in mappings.items() if isinstance(mappings, dict) else ():
            head, star, tail = pattern.partition("*")
            fits = specifier == pattern if not star else specifier.startswith(head) and specifier.endswith(tail)
            if not fits or not isinstance(targets, list):
                continue
            middle = specifier[len(head) : len(specifier) - len(tail)] if star else ""
            for target in targets:
                if isinstance(target, str):
                    joined = posixpath.normpath(posixpath.join(base, target.replace("*", middle)))
                    found = self._script_file(joined, asked)
                    if found is not None:
                        return found
            if head.rstrip("/") and not head.startswith("*"):
                return Hidden(f"a path alias {specifier}")
        if isinstance(base_url, str) and not specifier.startswith("@"):
            return self._script_file(posixpath.normpath(posixpath.join(base, specifier)), asked)
        return None

    def _package_import(self, path: str, specifier: str, asked: list[str]) -> Place | None:
        """`#routes/*` of the nearest package.json's "imports" (https://nodejs.org/api/packages.html#imports)."""
        for directory in _ancestors(posixpath.dirname(path)):
            manifest = posixpath.join(directory, "package.json")
            if not self._has(manifest, asked):
                continue
            imports = self._json(manifest).get("imports")
            for pattern, target in imports.items() if isinstance(imports, dict) else ():
                head, star, tail = pattern.partition("*")
                fits = specifier == pattern if not star else specifier.startswith(head) and specifier.endswith(tail)
                if isinstance(target, dict):
                    target = next(
                        (target[key] for key in ("import", "node", "require", "default") if key in target), None
                    )
                for one in (target if isinstance(target, list) else [target]) if fits else ():
                    if isinstance(one, str) and one.startswith("./"):
                        middle = specifier[len(head) : len(specifier) - len(tail)] if star else ""
                        joined = posixpath.normpath(posixpath.join(directory, one.replace("*", middle)))
                        found = self._script_file(joined, asked)
                        if found is not None:
                            return found
            return None
        return None

    def _json(self, path: str) -> dict[str, Any]:
        file = self.facts.file(path)
        if file is None or file.text is None:
            return {}
        content = file.text.content
        parsed = file.memo.get("loose-json", file.digest, lambda: loose_json(content))
        return parsed if isinstance(parsed, dict) else {}

    @cached_property
    def _workspace(self) -> frozenset[str]:
        """Names of the repository's own packages."""
        names = set()
        for path in self.facts.project.paths:
            if posixpath.basename(path) == "package.json":
                self.touch(path)
                name = self._json(path).get("name")
                if isinstance(name, str):
                    names.add(name)
        return frozenset(names)

    # Python

    def _python(self, path: str, specifier: str, asked: list[str]) -> Place:
        here = posixpath.dirname(path)
        dots = len(specifier) - len(specifier.lstrip("."))
        parts = [part for part in specifier[dots:].split(".") if part]
        if dots:
            base = here
            for _ in range(dots - 1):
                base = posixpath.dirname(base)
            found = self._python_file(posixpath.join(base, *parts), asked)
            return found or Hidden(f"no module at {specifier}")
        root = self.facts.root.path
        bases = [*_ancestors(here, root), posixpath.join(root, "src"), posixpath.join(root, "lib")]
        if root:
            bases += ["", "src"]
        for base in dict.fromkeys(bases):
            found = self._python_file(posixpath.join(base, *parts), asked)
            if found is not None and not (found.directory and len(parts) == 1):
                return found
            top = self._python_file(posixpath.join(base, parts[0]), asked) if parts else None
            if top is not None and not top.directory:
                return Hidden(f"no module {specifier} in {parts[0]}")
        return External(module_name(specifier, python=True))

    def _python_file(self, base: str, asked: list[str]) -> Local | None:
        if base and self._has(f"{base}.py", asked):
            return Local(f"{base}.py")
        initial = posixpath.join(base, "__init__.py")
        if self._has(initial, asked):
            return Local(initial)
        if base in self._directories:
            return Local(base, directory=True)
        return None

    @cached_property
    def _directories(self) -> frozenset[str]:
        """Directories that hold Python files, for namespace packages."""
        found: set[str] = set()
        for path in self.facts.project.paths:
            if path.endswith(".py"):
                found.update(_ancestors(posixpath.dirname(path)))
        found.discard("")
        return frozenset(found)


def _ancestors(directory: str, last: str = "") -> Iterator[str]:
    """Yield a directory and those above it, down to `last` (or to the top)."""
    while True:
        yield directory
        if directory in (last, ""):
            return
        directory = posixpath.dirname(directory)


_LOOSE = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/|,(?=\s*[}\]])', re.DOTALL)


def loose_json(content: str) -> Any:
    """Read JSON with comments and trailing commas, as tsconfig.json has them; None when it is not that."""
    try:
        return json.loads(_LOOSE.sub(lambda found: found[0] if found[0].startswith('"') else "", content))
    except (ValueError, RecursionError):
        return None
