"""Make a case's tree, run the product on it, and check what it says and what it leaves.

A tag of a case names a requirement; `COVERED` says which rule covers it (and at which priority, where a rule has a
milder form). A case whose tags are not all covered yet is listed in docs/known-limits.md with the reason.
"""

from __future__ import annotations

import ast
import difflib
import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cases import casekit, open_a, open_b, open_c  # noqa: F401  (importing registers the cases)

CASES: dict[str, dict[str, Any]] = {case["id"]: case for case in casekit.CASES}

COVERED: dict[str, tuple[str, str]] = {
    # tag → (rule, the lowest priority that counts)
    "express.helmet-missing": ("SEC-002", "P5"),
    "secret.hardcoded": ("SCR-002", "P5"),
    "express.cors-wildcard": ("SEC-003", "P5"),
    "py.cors-wildcard-credentials": ("SEC-003", "P0"),
    "gitignore.env-missing": ("SCR-001", "P5"),
    "docker.user-root": ("SEC-001", "P5"),
    "docker.secret-env": ("SCR-002", "P5"),
    "express.error-handler-missing": ("API-003", "P5"),
    "express.error-handler-arity": ("API-003", "P5"),
    "py.db-engine-per-request": ("CON-002", "P5"),
}

IDENTITY = {
    "GIT_AUTHOR_NAME": "t", "GIT_AUTHOR_EMAIL": "t@example.invalid", "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_COMMITTER_NAME": "t", "GIT_COMMITTER_EMAIL": "t@example.invalid",
}  # fmt: skip


@dataclass
class Result:
    """One run of the command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def environment(home: Path, **more: str) -> dict[str, str]:
    """A clean environment with a state directory of its own."""
    base = {k: v for k, v in os.environ.items() if not k.startswith(("GIT_", "FIXAUDIT_", "PYTEST"))}
    return {
        **base, **IDENTITY, "HOME": str(home), "XDG_STATE_HOME": str(home / "state"),
        "XDG_CACHE_HOME": str(home / "cache"), "NO_COLOR": "1", **more,
    }  # fmt: skip


def prepare(case: dict[str, Any], place: Path) -> Path:
    """Write the input and run its set-up; return the directory to run in."""
    place.mkdir(parents=True, exist_ok=True)
    casekit.write_tree(place, case["files"])
    if case["setup"]:
        script = "set -eu\n" + case["setup"].strip() + "\n"
        env = {**environment(place.parent), **IDENTITY}
        subprocess.run(["sh", "-c", script], cwd=place, check=True, stdout=subprocess.DEVNULL, env=env)
    return place


def fixaudit(place: Path, home: Path, *arguments: str, **env: str) -> Result:
    """Run the command in a directory."""
    done = subprocess.run(
        [sys.executable, "-m", "fixaudit", *arguments],
        cwd=place, capture_output=True, env=environment(home, **env), timeout=120, check=False,
    )  # fmt: skip
    return Result(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))


def found(result: Result, tag: str, path: str, line: int | None) -> bool:
    """Say whether a scan names a tag's rule at a place."""
    rule, lowest = COVERED[tag]
    for finding in result.json["findings"]:
        if finding["rule"] != rule or finding["priority"] > lowest:
            continue
        where = finding["path"]
        if where == path and (line is None or finding["line"] <= line <= (finding["end_line"] or line)):
            return True
    return False


def digest(place: Path) -> dict[str, tuple[int, bytes]]:
    """Every file below a directory, but git's own and the review."""
    state = {}
    for file in sorted(place.rglob("*")):
        if ".git" in file.relative_to(place).parts or file.name == "fixaudit-review.md":
            continue
        if file.is_symlink():
            state[file.relative_to(place).as_posix()] = (0, os.readlink(file).encode())
        elif file.is_file():
            state[file.relative_to(place).as_posix()] = (file.stat().st_mode & 0o7777, file.read_bytes())
    return state


def _lost(before: list[bytes], after: list[bytes]) -> int:
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    return len(before) - sum(block.size for block in matcher.get_matching_blocks())


def _subsequence(part: list[bytes], whole: list[bytes]) -> bool:
    rest = iter(whole)
    return all(line in rest for line in part)


def _parses(file: Path, language: str) -> bool:
    if language == "py":
        ast.parse(file.read_bytes())
        return True
    if language == "json":
        json.loads(file.read_bytes().decode("utf-8-sig"))
        return True
    if language == "yaml":
        from ruamel.yaml import YAML

        list(YAML(typ="safe", pure=True).compose_all(file.read_text(encoding="utf-8")))
        return True
    from fixaudit.syntax import damage_count

    return damage_count(file.read_text(encoding="utf-8-sig"), "javascript") == 0


def failed_checks(case: dict[str, Any], place: Path, outputs: str) -> list[str]:
    """Return the checks of a case that do not hold, in words."""
    bad = []
    for check in case["checks"]:
        path = check.get("path")
        file = place / path if path else place
        original = casekit.as_bytes(case["files"][path]) if path in case["files"] else b""
        if isinstance(case["files"].get(path), casekit.Link):
            original = b""
        if check.get("when") == "changed" and file.exists() and file.read_bytes() == original:
            continue
        try:
            held = _holds(check, file, original, place, outputs)
        except (OSError, SyntaxError, ValueError) as error:
            held, check = False, {**check, "error": repr(error)[:200]}
        if not held:
            bad.append(json.dumps(check, ensure_ascii=False))
    return bad


def _holds(check: dict[str, Any], file: Path, original: bytes, place: Path, outputs: str) -> bool:
    kind, text = check["k"], check.get("text", "")
    if kind == "cmd":
        done = subprocess.run(["sh", "-c", check["sh"]], cwd=place, capture_output=True, text=True, check=False)
        return done.stdout.strip() == check["out"]
    if kind == "nowhere":
        return text not in outputs
    if kind == "missing":
        return not os.path.lexists(file)
    if kind == "exists":
        return file.exists()
    if kind == "symlink":
        return file.is_symlink() and os.readlink(file) == check["to"]
    if kind == "mode":
        return f"{file.stat().st_mode & 0o777:o}" == check["mode"]
    data = file.read_bytes()
    shown = data.decode("utf-8", "surrogateescape")
    match kind:
        case "same":
            return data == original
        case "contains":
            return text in shown
        case "absent":
            return text not in shown
        case "count":
            return shown.count(text) == check["n"]
        case "order":
            # Each text is looked for behind the one before: U73 has `USER node` in an earlier stage as well.
            place = 0
            for part in check["texts"]:
                place = shown.find(part, place)
                if place < 0:
                    return False
            return True
        case "eol":
            return (
                (data.count(b"\n") == data.count(b"\r\n") and b"\r\n" in data)
                if check["eol"] == "crlf"
                else b"\r" not in data
            )
        case "bom":
            return data.count(b"\xef\xbb\xbf") == check["n"] and (check["n"] == 0 or data.startswith(b"\xef\xbb\xbf"))
        case "parses":
            return _parses(file, check["lang"])
        case "lines_kept":
            return _subsequence(original.splitlines(), data.splitlines())
        case "max_changed":
            return _lost(original.splitlines(), data.splitlines()) <= check["n"]
    raise ValueError(kind)


def line_of(case: dict[str, Any], path: str, needle: str | None) -> int | None:
    return casekit.line_of(case["files"][path], needle) if needle else None


def secrets_in(case: dict[str, Any]) -> list[str]:
    """Return the credential values that a case's files hold and no output may."""
    values = [casekit.PW, casekit.GH_PAT, casekit.AWS_SECRET, casekit.STRIPE]
    blob = b"\n".join(casekit.as_bytes(v) for v in case["files"].values())
    return [value for value in values if value.encode() in blob]


def tags(case: dict[str, Any]) -> set[str]:
    return {entry[0] for entry in (*case["scan"], *case["clean"]) if not re.match(r"custom\.", entry[0])}
