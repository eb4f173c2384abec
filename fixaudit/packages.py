"""Bring a lockfile in step with its manifest, without running anything of the project's.

Contract: the package manager from PATH works in a private copy that holds manifests and the lockfile only, with
scripts disabled and a scrubbed environment; nothing is installed. The new bytes of the lockfile, or a sentence that
says why there are none, are returned; nothing of the user's is written.
Project files that make a package manager run code are refused: `.npmrc` can name a `git` program, `.pnpmfile.cjs` and
`yarnPath` are code (all three were seen to run with scripts disabled), building a source distribution runs its setup.
This module must not know of rules or of the loop.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from fixaudit.execute import Completed, run, scrubbed_environment
from fixaudit.snapshot import LINK, LockUpdate, Snapshot

TIMEOUT_SECONDS = 180.0
"""A cold resolve of a large npm project takes about a minute; three times that is a hang."""

NETWORK = (
    *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE"),
    *("npm_config_registry", "NPM_CONFIG_REGISTRY", "NPM_CONFIG_USERCONFIG", "npm_config_cache", "NPM_CONFIG_CACHE"),
    *("UV_DEFAULT_INDEX", "UV_INDEX_URL", "UV_INDEX", "UV_CACHE_DIR", "UV_NATIVE_TLS", "UV_SYSTEM_CERTS"),
)
"""How this user's machine reaches its package index; the user's own settings, not the project's."""


@dataclass(frozen=True)
class Manager:
    """How one package manager updates its lockfile. `manifests` are the file names it has to see."""

    argv: tuple[str, ...]
    manifests: tuple[str, ...]
    refuse: Callable[[Mapping[str, bytes]], str | None]


def update_lock(update: LockUpdate, snapshot: Snapshot, *, timeout: float = TIMEOUT_SECONDS) -> bytes | str:
    """Return the lockfile's new bytes for the manifests in `snapshot`, or why it could not be made."""
    manager = MANAGERS.get(update.manager)
    command = " ".join(update.command)
    if manager is None:
        return f"{update.manager} lockfiles are not updated by fixaudit; run `{command}`"
    top = update.lockfile.rpartition("/")[0]
    files = _inputs(snapshot, top, manager, update.lockfile)
    reason = manager.refuse(files) or _configured(snapshot, top)
    if reason is not None:
        return f"{reason}; run `{command}` yourself"
    with tempfile.TemporaryDirectory(prefix="fixaudit-lock-") as directory:
        place = Path(directory)
        for path, data in files.items():
            target = place / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
        lock = place / update.lockfile.rpartition("/")[2]
        environment = scrubbed_environment({"CI": "1", "NO_COLOR": "1"}, keep=NETWORK)
        done = run(manager.argv, cwd=place, env=environment, timeout=timeout)
        if (failed := _failure(done, timeout)) is not None:
            return f"{failed}; run `{command}` yourself"
        changed = [p for p in files if p != lock.name and (place / p).read_bytes() != files[p]]
        if changed:
            return f"{manager.argv[0]} changed {changed[0]}, too; run `{command}` yourself"
        return lock.read_bytes()


def _inputs(snapshot: Snapshot, top: str, manager: Manager, lockfile: str) -> dict[str, bytes]:
    """Return the lockfile and every manifest below it (workspaces), by path relative to the lockfile's directory."""
    prefix = f"{top}/" if top else ""
    files = {}
    for path in snapshot.paths():
        if path.startswith(prefix) and path.rsplit("/", 1)[-1] in manager.manifests and snapshot.mode(path) != LINK:
            files[path[len(prefix) :]] = snapshot.read(path)
    files[lockfile[len(prefix) :]] = snapshot.read(lockfile)
    return files


_CONFIGURATION = (".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", "uv.toml")


def _configured(snapshot: Snapshot, top: str) -> str | None:
    for name in _CONFIGURATION:
        path = f"{top}/{name}" if top else name
        if snapshot.mode(path) is not None:
            return f"{path} changes what the package manager does, and may run programs"
    return None


def _failure(done: Completed, timeout: float) -> str | None:
    if done.could_not_start is not None:
        return f"it could not be started ({done.could_not_start})"
    if done.timed_out:
        return f"it ran longer than {timeout:g} s"
    if not done.succeeded:
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        told = next((line for line in lines if "error" in line.lower()), lines[-1] if lines else "no message")
        return f"it failed with exit code {done.exit_code} ({told[:200]})"
    return None


def _npm_refuses(files: Mapping[str, bytes]) -> str | None:
    for path, data in files.items():
        if not path.endswith("package.json"):
            continue
        try:
            manifest = json.loads(data.decode("utf-8-sig"))
        except ValueError:
            return f"{path} is not valid JSON"
        for group in ("dependencies", "devDependencies", "optionalDependencies", "peerDependencies", "overrides"):
            entries = manifest.get(group)
            for name, spec in entries.items() if isinstance(entries, dict) else ():
                if isinstance(spec, str) and (spec.startswith(("git", "file:", "link:", "github:")) or "://" in spec):
                    return f"{name} comes from {spec.split(':')[0]}, which may run programs"
    return None


def _uv_refuses(files: Mapping[str, bytes]) -> str | None:
    import tomllib

    for path, data in files.items():
        if not path.endswith("pyproject.toml"):
            continue
        try:
            manifest = tomllib.loads(data.decode("utf-8-sig"))
        except ValueError:
            return f"{path} is not valid TOML"
        if "dynamic" in manifest.get("project", {}):
            return f"{path} has dynamic metadata, which only its build system can tell"
        sources = manifest.get("tool", {}).get("uv", {}).get("sources", {})
        if any("git" in source or "path" in source for source in sources.values() if isinstance(source, dict)):
            return f"{path} takes a package from git or a path, which may run programs"
    return None


MANAGERS: Mapping[str, Manager] = {
    "npm": Manager(
        ("npm", "install", "--package-lock-only", "--ignore-scripts", "--no-audit", "--no-fund"),
        ("package.json",),
        _npm_refuses,
    ),
    # --no-build: a package without a wheel would have to run its own setup to tell its dependencies.
    "uv": Manager(("uv", "lock", "--no-build", "--no-python-downloads"), ("pyproject.toml",), _uv_refuses),
}
