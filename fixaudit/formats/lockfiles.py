"""Lockfiles: which packages at which version, what the root asked for, and whether that is what the manifest asks.

Contract: `read` gives packages and, where the format records them, the root's own specifications. `agrees` answers
without a solver: False only for a certain disagreement, None where the file does not hold what would decide it.
This module must not know how a lockfile is updated. Readers are in `locknode` and `lockpython`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from fixaudit.formats.dependency import OPTIONAL, PEER, Dependency
from fixaudit.formats.problem import Problem
from fixaudit.formats.versions import node_admits


@dataclass(frozen=True, slots=True)
class Kind:
    """What a lockfile's name says: the package manager that writes it, its ecosystem, its manifest's name."""

    manager: str
    ecosystem: str
    manifest: str


LOCKFILE_NAMES = {
    "package-lock.json": Kind("npm", "node", "package.json"),
    "npm-shrinkwrap.json": Kind("npm", "node", "package.json"),
    "yarn.lock": Kind("yarn", "node", "package.json"),
    "pnpm-lock.yaml": Kind("pnpm", "node", "package.json"),
    "bun.lock": Kind("bun", "node", "package.json"),
    "bun.lockb": Kind("bun", "node", "package.json"),
    "uv.lock": Kind("uv", "python", "pyproject.toml"),
    "poetry.lock": Kind("poetry", "python", "pyproject.toml"),
    "pdm.lock": Kind("pdm", "python", "pyproject.toml"),
    "Pipfile.lock": Kind("pipenv", "python", "Pipfile"),
}


@dataclass(frozen=True, slots=True)
class Locked:
    """A locked package. `dev` is None where the format does not say; `top` is False for a nested copy of npm's."""

    name: str
    normalized: str
    version: str
    dev: bool | None = None
    top: bool = True


@dataclass(frozen=True, slots=True)
class Root:
    """What a project of the lockfile asked for, as recorded. `project` is its folder, "" for the lockfile's own.

    `dev` is None where main and development are not told apart.
    """

    project: str
    name: str
    normalized: str
    spec: str
    dev: bool | None = None


@dataclass(frozen=True, slots=True)
class Lockfile:
    """A read lockfile. `roots` is None where the format records no root specifications.

    `patterns` are the `name@range` keys of yarn.lock (version 1), which stand in for roots. `digest` is the hash of
    the manifest that was locked. `overridden` are names whose specification pnpm replaces. `version` is the format's
    own version as written.
    """

    manager: str
    version: str
    packages: tuple[Locked, ...]
    roots: tuple[Root, ...] | None = None
    patterns: frozenset[str] = frozenset()
    digest: str | None = None
    overridden: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Agreement:
    """`holds`: True, False, or None when it cannot be decided here; `reasons` are clauses, sorted."""

    holds: bool | None
    reasons: tuple[str, ...] = ()


def read(name: str, content: str) -> Lockfile | Problem:
    """Read a lockfile by its file name (a key of LOCKFILE_NAMES); a binary or unknown one is a Problem."""
    from fixaudit.formats import locknode, lockpython

    kind = LOCKFILE_NAMES.get(name)
    match kind.manager if kind else "":
        case "npm":
            return locknode.read_npm(content)
        case "yarn":
            return locknode.read_yarn(content)
        case "pnpm":
            return locknode.read_pnpm(content)
        case "uv" | "poetry" | "pdm":
            return lockpython.read_toml_lock(str(kind.manager if kind else ""), content)
        case "pipenv":
            return lockpython.read_pipfile_lock(content)
    return Problem(1, f"{name} is no lockfile that can be read here")


def agrees(
    lock: Lockfile,
    declared: Sequence[Dependency],
    manifest: str = "",
    *,
    project: str = "",
    local: Collection[str] = (),
) -> Agreement:
    """Say whether a lockfile was made for these dependencies.

    `manifest` is the manifest's content: some lockfiles hold its digest (poetry, pipenv), and some of its tables make
    the answer unknown (dynamic dependencies, resolutions). `project` is the manifest's folder as the lockfile names it,
    "" for the one beside it; `local` are names of the repository's own packages, which yarn 1 does not lock.
    """
    from fixaudit.formats import lockpython

    if lock.digest is not None and manifest:
        fresh = lockpython.digest_matches(lock, manifest)
        if fresh is not None:
            return Agreement(fresh, () if fresh else ("the manifest has changed since the lockfile was written",))
    if lock.manager == "uv" and manifest and lockpython.has_dynamic_dependencies(manifest):
        return Agreement(None, ("the project's dependencies are dynamic",))
    if lock.roots is not None:
        return _compare_roots(lock, declared, project)
    wanted = [row for row in declared if row.group != PEER and row.normalized and row.name not in local]
    if lock.manager == "yarn":
        return _compare_patterns(lock, wanted, certain='"resolutions"' not in manifest)
    return _compare_names(lock, wanted)


def _compare_roots(lock: Lockfile, declared: Sequence[Dependency], project: str) -> Agreement:
    recorded: dict[str, set[str]] = {}
    for root in lock.roots or ():
        if root.project == project:
            recorded.setdefault(root.normalized, set()).add(_plain(root.spec))
    if project and not recorded:
        return Agreement(None, (f"the lockfile records nothing for {project}",))
    reasons: set[str] = set()
    unknown: set[str] = set()
    for row in declared:
        if row.group == PEER or not row.normalized:
            continue
        specs = recorded.get(row.normalized)
        if specs is None:
            reasons.add(f"{row.name} is not in the lockfile")
        elif _plain(row.spec) not in specs:
            asked = " or ".join(sorted(spec or "any" for spec in specs))
            # What is no plain range may be recorded in a resolved form.
            plain = row.source == "registry" and not row.spec.startswith(("catalog:", "npm:", "patch:"))
            certain = plain and row.normalized not in lock.overridden
            (reasons if certain else unknown).add(
                f"{row.name} is declared as {row.spec or 'any'} and locked for {asked}"
            )
    names = {row.normalized for row in declared}  # peers count: pnpm installs and records them
    reasons |= {f"{name} is in the lockfile but no longer declared" for name in recorded if name not in names}
    return _verdict(reasons, unknown)


def _compare_patterns(lock: Lockfile, wanted: Sequence[Dependency], *, certain: bool) -> Agreement:
    """Packages that nothing asks for any more may remain in this format; the package manager accepts that."""
    missing = {
        f"{row.name}@{row.spec} is not in the lockfile"
        for row in wanted
        if f"{row.name}@{row.spec}" not in lock.patterns and row.source == "registry"
    }
    return _verdict(missing, set()) if certain else _verdict(set(), missing)


def _compare_names(lock: Lockfile, wanted: Sequence[Dependency]) -> Agreement:
    """Without recorded roots: every name must be locked, at a version that the range admits where that can be read."""
    versions: dict[str, set[str]] = {}
    for package in lock.packages:
        if package.top:
            versions.setdefault(package.normalized, set()).add(package.version)
    reasons: set[str] = set()
    unknown: set[str] = set()
    for row in wanted:
        locked = sorted(versions.get(row.normalized, ()))
        if not locked:
            certain = not row.marker and row.group != OPTIONAL
            (reasons if certain else unknown).add(f"{row.name} is not in the lockfile")
            continue
        if lock.manager != "npm" or row.source != "registry":
            unknown.add(f"the lockfile does not record what was asked for {row.name}")
            continue
        verdicts = {node_admits(row.spec, version) for version in locked}
        if verdicts == {False}:
            reasons.add(f"{row.name} is declared as {row.spec} and locked at {', '.join(locked)}")
        elif True not in verdicts:
            unknown.add(f"the range of {row.name} cannot be read")
    return _verdict(reasons, unknown)


def _verdict(reasons: set[str], unknown: set[str]) -> Agreement:
    if reasons:
        return Agreement(False, tuple(sorted(reasons)))
    return Agreement(None if unknown else True, tuple(sorted(unknown)))


def _plain(spec: str) -> str:
    """Bring two spellings of one specification together: white space, order of clauses, yarn's `npm:`."""
    spec = spec.strip().removeprefix("npm:")
    if spec in ("", "*"):
        return ""
    if "," in spec or spec.startswith(("==", "~=", "!=")):
        return ",".join(sorted("".join(part.split()) for part in spec.split(",") if part.strip()))
    return " ".join(spec.split())
