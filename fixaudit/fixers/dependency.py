"""The step ensure_dependency: a package that inserted code needs is declared where the program declares its packages.

Contract: nothing when it is declared already (a development dependency becomes a real one when the program needs it);
otherwise the newest known release that runs on every runtime the project admits, written as the manifest writes its
versions. A lockfile beside it is brought in step by a lock update, or the fix is refused with the one command that
does it. Nothing is looked up anywhere: versions come from the rulebook's dated data.
This module must not know how a lockfile is updated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fixaudit.fixers.base import Planned, Refusal, Situation, StepKind
from fixaudit.fixers.environment import home
from fixaudit.fixers.manifests import Manifest, node_manifest, python_manifest
from fixaudit.fixers.support import NAME, closed, fill, names
from fixaudit.formats.versions import node_majors, python_minors
from fixaudit.projects import Root
from fixaudit.relations import registry
from fixaudit.runtimes import admitted, order, supported
from fixaudit.snapshot import ChangeSet, FollowUp, LockUpdate

UPDATED = ("npm", "uv")
"""Managers whose lockfile `packages` can bring in step without running anything of the project's."""

_NODE_LOCKS = {
    "package-lock.json": "npm",
    "npm-shrinkwrap.json": "npm",
    "yarn.lock": "yarn",
    "pnpm-lock.yaml": "pnpm",
    "bun.lock": "bun",
    "bun.lockb": "bun",
}
_PYTHON_LOCKS = {
    "uv.lock": "uv",
    "poetry.lock": "poetry",
    "pdm.lock": "pdm",
    "Pipfile.lock": "pipenv",
    "pylock.toml": "pip",
}


@dataclass(frozen=True, slots=True)
class Lock:
    """A lockfile that covers a manifest."""

    path: str
    manager: str


def _ensure_dependency(arguments: Mapping[str, Any], situation: Situation) -> Planned:
    package = str(fill(arguments["package"], situation))
    dev = bool(arguments.get("dev"))
    target = situation.target
    path = target.path or (target.row.path if target.row else None)
    root = home(situation.facts, path) if path else situation.facts.root
    python = names(situation)["language"] == "python"
    manifest = (python_manifest if python else node_manifest)(situation.facts, root)
    if isinstance(manifest, Refusal):
        return manifest
    if manifest.declares(package, dev=dev):
        return ChangeSet()
    locks = _locks(situation, root, _PYTHON_LOCKS if python else _NODE_LOCKS)
    if len(locks) > 1:
        listed = ", ".join(lock.path for lock in locks)
        return Refusal(f"several lockfiles are there ({listed}), so which one counts is unclear", code="lockfile")
    version = manifest.known_spec(package) or _version(situation, root, package, python)
    if isinstance(version, Refusal):
        return version
    change = manifest.with_package(package, version, dev=dev)
    if isinstance(change, Refusal):
        return change
    lock = locks[0] if locks else None
    return _installed(situation, change, manifest, package, version, dev, lock)


def _installed(
    situation: Situation,
    change: ChangeSet,
    manifest: Manifest,
    package: str,
    version: str,
    dev: bool,
    lock: Lock | None,
) -> Planned:
    """Add what brings lockfile and installed packages in step."""
    manager = lock.manager if lock else manifest.manager
    command = _command(manager, package, version, dev, manifest, lock)
    if lock is not None and (situation.no_install or manager not in UPDATED):
        why = "installing is switched off" if situation.no_install else f"{manager} lockfiles are not updated here"
        return Refusal(f"{why}: run `{' '.join(command)}` first", code="lockfile")
    install = _install_command(manager, manifest)
    text = f"install {package}, which is declared in {manifest.path} now"
    follow_up = FollowUp(f"{situation.rule.id}:{manifest.path}:install", text, install)
    updates = (LockUpdate(manager, manifest.path, lock.path, command),) if lock else ()
    return change.merged(ChangeSet(lock_updates=updates, follow_ups=(follow_up,)))


def _locks(situation: Situation, root: Root, names_of_locks: Mapping[str, str]) -> list[Lock]:
    """Return the lockfiles beside the manifest; else those of the nearest directory above that has one."""
    snapshot = situation.facts.snapshot
    parts = root.path.split("/") if root.path else []
    for depth in range(len(parts), -1, -1):
        directory = "/".join(parts[:depth])
        prefix = f"{directory}/" if directory else ""
        found = [Lock(prefix + n, m) for n, m in names_of_locks.items() if snapshot.mode(prefix + n) is not None]
        if found:
            return found
    return []


def _command(
    manager: str, package: str, version: str, dev: bool, manifest: Manifest, lock: Lock | None
) -> tuple[str, ...]:
    """Return what a person would run in the directory of the lockfile."""
    spec = f"{package}@{version}" if manager in ("npm", "yarn", "pnpm", "bun") else f"{package}>={version}"
    here = manifest.path.rpartition("/")[0]
    top = lock.path.rpartition("/")[0] if lock else here
    member = here[len(top) :].strip("/") if here != top else ""
    flag = {"npm": "--save-dev", "yarn": "--dev", "pnpm": "--save-dev", "bun": "--dev", "pipenv": "--dev"}
    extra: Sequence[str] = (flag.get(manager, "--dev"),) if dev else ()
    match manager:
        case "npm":
            return ("npm", "install", *extra, *(("--workspace", member) if member else ()), spec)
        case "yarn" | "bun":
            return (manager, *(("--cwd", member) if member else ()), "add", *extra, spec)
        case "pnpm":
            return ("pnpm", *(("--dir", member) if member else ()), "add", *extra, spec)
        case "pipenv":
            return ("pipenv", "install", *extra, spec)
        case "pip":
            return ("pip", "install", spec)
    return (manager, "add", *extra, *(("--package", member) if member and manager == "uv" else ()), spec)


def _install_command(manager: str, manifest: Manifest) -> str:
    name = manifest.path.rpartition("/")[2]
    if manager == "pip":
        return f"pip install -r {manifest.path}" if name.endswith(".txt") else "pip install -e ."
    return {"uv": "uv sync", "npm": "npm install"}.get(manager, f"{manager} install")


def _version(situation: Situation, root: Root, package: str, python: bool) -> str | Refusal:
    """Return the newest known release that runs on every runtime line that the project admits."""
    data = situation.rulebook.data.get("packages", {})
    entry = data.get("pypi" if python else "npm", {}).get(package)
    if not isinstance(entry, Mapping):
        return Refusal(f"no version of {package} is known here: add it yourself", code="none")
    lines = _runtime_lines(situation, root, python)
    for release in sorted(entry["releases"], key=lambda item: order(str(item["version"])), reverse=True):
        spec = str(release["runtime"])
        if python:
            fits = not lines or python_minors(spec, lines) == frozenset(lines)
        else:
            majors = [int(line) for line in lines]
            fits = not majors or node_majors(spec, majors) == frozenset(majors)
        if fits:
            return str(release["version"])
    return Refusal(f"no known version of {package} runs on {', '.join(sorted(lines, key=order))}", code="none")


def _runtime_lines(situation: Situation, root: Root, python: bool) -> tuple[str, ...]:
    """Return the release lines that every source of the project admits; the supported ones when none says anything."""
    runtime = "python" if python else "node"
    common = admitted(situation.facts.project.view(root).rows(registry()["runtime"]), runtime)
    return tuple(sorted(common, key=order)) if common else supported(situation.rulebook.data, runtime)


STEPS = (
    StepKind(
        "ensure_dependency",
        "Declare a package in the manifest of the finding's root, in a version from the dated data, and bring its "
        "lockfile in step.",
        closed(("package",), package=NAME, dev={"type": "boolean"}),
        _ensure_dependency,
        ("package",),
    ),
)
