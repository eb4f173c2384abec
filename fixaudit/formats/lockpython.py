"""Lockfiles of uv, poetry, pdm and pipenv.

Contract: text in, `lockfiles.Lockfile` out; the digests that poetry and pipenv keep of the manifest are computed again
from its content. Sources: poetry `packages/locker.py` (`_get_content_hash`), pipenv's plette `pipfiles.py`
(`get_hash`), the files that uv and pdm write.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

from fixaudit.formats.dependency import python_name
from fixaudit.formats.lockfiles import Locked, Lockfile, Root
from fixaudit.formats.problem import Problem
from fixaudit.formats.toml import parse

_LOCAL = ("virtual", "editable", "directory")  # uv's words for the project itself and for members of a workspace


def read_toml_lock(manager: str, content: str) -> Lockfile | Problem:
    """Read uv.lock, poetry.lock or pdm.lock."""
    import tomllib

    try:
        data = tomllib.loads(content)
    except tomllib.TOMLDecodeError:
        problem = parse(content)
        return problem if isinstance(problem, Problem) else Problem(1, "the lockfile is not TOML")
    entries = data.get("package", [])
    packages = [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    locked: list[Locked] = []
    roots: list[Root] | None = [] if manager == "uv" else None
    for entry in packages:
        name = str(entry.get("name", ""))
        source = entry.get("source")
        local = next((source[key] for key in _LOCAL if key in source), None) if isinstance(source, dict) else None
        if manager == "uv" and local is not None and roots is not None:
            roots += _uv_roots("" if local == "." else str(local), entry.get("metadata"))
            continue
        dev = {"dev": True, "main": False}.get(entry.get("category", "")) if manager == "poetry" else None
        groups = entry.get("groups")
        if dev is None and isinstance(groups, list) and groups:
            dev = not {"main", "default"} & set(groups)
        locked.append(Locked(name, python_name(name), str(entry.get("version", "")), dev))
    metadata = data.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    version = str(data.get("version") or metadata.get("lock-version") or metadata.get("lock_version") or "")
    digest = metadata.get("content-hash") if manager == "poetry" else None
    known = tuple(roots) if roots is not None and any(_is_local(entry) for entry in packages) else None
    return Lockfile(manager, version, tuple(locked), known, digest=digest if isinstance(digest, str) else None)


def read_pipfile_lock(content: str) -> Lockfile | Problem:
    """Read Pipfile.lock."""
    try:
        data = json.loads(content)
    except json.JSONDecodeError as error:
        return Problem(error.lineno, "the lockfile is not JSON")
    except RecursionError:
        return Problem(1, "the lockfile is nested too deeply")
    if not isinstance(data, dict):
        return Problem(1, "the lockfile is no object")
    locked = []
    for section, dev in (("default", False), ("develop", True)):
        entries = data.get(section)
        for name, entry in (entries if isinstance(entries, dict) else {}).items():
            version = entry.get("version", "") if isinstance(entry, dict) else ""
            locked.append(Locked(name, python_name(name), str(version).removeprefix("=="), dev))
    meta = data.get("_meta")
    meta = meta if isinstance(meta, dict) else {}
    digests = meta.get("hash")
    digest = digests.get("sha256") if isinstance(digests, dict) else None
    return Lockfile(
        "pipenv", str(meta.get("pipfile-spec", "")), tuple(locked), digest=digest if isinstance(digest, str) else None
    )


def digest_matches(lock: Lockfile, manifest: str) -> bool | None:
    """Say whether the manifest still has the digest that the lockfile keeps; None when that cannot be computed."""
    document = parse(manifest)
    if isinstance(document, Problem):
        return None
    try:
        if lock.manager == "pipenv":
            return _pipfile_matches(document.data, lock.digest)
        return _poetry_matches(document.data, lock.digest) if lock.manager == "poetry" else None
    except TypeError:  # a date in the hashed part: the tools themselves cannot write such a lockfile
        return None


def has_dynamic_dependencies(manifest: str) -> bool:
    """Say whether a pyproject.toml leaves its dependencies to a build backend."""
    document = parse(manifest)
    dynamic = None if isinstance(document, Problem) else document.get(("project", "dynamic"))
    return isinstance(dynamic, list) and bool({"dependencies", "optional-dependencies"} & set(map(str, dynamic)))


def _pipfile_matches(data: dict[str, Any], digest: str | None) -> bool | None:
    if "source" not in data:
        return None  # the tool puts its own default in, whose spelling has changed over time
    hashed: dict[str, Any] = {
        "_meta": {"sources": data["source"], "requires": data.get("requires", {})},
        "default": data.get("packages", {}),
        "develop": data.get("dev-packages", {}),
    }
    known = {"source", "packages", "dev-packages", "requires", "scripts", "pipfile", "pipenv", "default", "develop"}
    hashed.update({key: value for key, value in data.items() if key not in known})
    return hashlib.sha256(json.dumps(hashed, sort_keys=True, separators=(",", ":")).encode()).hexdigest() == digest


def _poetry_matches(data: dict[str, Any], digest: str | None) -> bool | None:
    """Try the digests that poetry's versions have written.

    For a pyproject with a `[project]` table a mismatch proves nothing here: which tables count has changed since 2.0.
    """
    tool = data.get("tool")
    poetry = tool.get("poetry", {}) if isinstance(tool, dict) else {}
    if not isinstance(poetry, dict):
        return None
    legacy = {key: poetry.get(key) for key in ("dependencies", "source", "extras", "dev-dependencies")}
    group = {"group": poetry["group"]} if "group" in poetry else {}
    candidates: list[dict[str, Any]] = [{**legacy, **group}, legacy]
    project = data.get("project")
    if isinstance(project, dict):
        keys = ("requires-python", "dependencies", "optional-dependencies")
        part = {key: project[key] for key in keys if key in project}
        present = {key: value for key, value in {**legacy, **group}.items() if value is not None}
        combined: dict[str, Any] = {"project": part, "tool": {"poetry": present}}
        candidates.append(combined)
        if "dependency-groups" in data:
            candidates.append({**combined, "dependency-groups": data["dependency-groups"]})
    digests = {hashlib.sha256(json.dumps(item, sort_keys=True).encode()).hexdigest() for item in candidates}
    if digest in digests:
        return True
    return None if isinstance(project, dict) else False


def _is_local(entry: dict[str, Any]) -> bool:
    source = entry.get("source")
    return isinstance(source, dict) and bool(set(_LOCAL) & set(source))


def _uv_roots(project: str, metadata: Any) -> Iterator[Root]:
    if not isinstance(metadata, dict):
        return
    groups = [(False, metadata.get("requires-dist"))]
    development = metadata.get("requires-dev")
    groups += [(True, items) for items in (development.values() if isinstance(development, dict) else ())]
    for dev, items in groups:
        for item in items if isinstance(items, list) else ():
            if isinstance(item, dict) and isinstance(item.get("name"), str):
                spec = str(item.get("specifier", ""))
                yield Root(project, item["name"], python_name(item["name"]), spec, dev)
