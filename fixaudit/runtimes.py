"""Which release of a language runtime a project admits, and which one to run: the project's word, then dated data.

Contract: pure, over the relation `runtime` and the dated file of releases. A project's own declaration wins where it
is supported; where it is not, nothing is chosen for it. "Supported" is decided by the data's own date, so that the
same input gives the same answer on every day.
This module must not know of parameters or steps.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from fixaudit.facts import Facts
from fixaudit.relations import registry
from fixaudit.relations.base import Row

_FOLLOWERS = ("dockerfile", "workflow")


def order(version: str) -> tuple[int, ...]:
    """Sort key of a release line or version: its numbers."""
    return tuple(int(part) for part in version.split(".") if part.isdecimal())


def declared(facts: Facts, runtime: str) -> tuple[Row, ...]:
    """Return what the project itself says of a runtime; images and workflows follow that and are left out."""
    rows = facts.rows(registry()["runtime"])
    return tuple(r for r in rows if r.values["RUNTIME"] == runtime and r.values["SOURCE"] not in _FOLLOWERS)


def admitted(rows: Iterable[Row], runtime: str) -> frozenset[str] | None:
    """Return the release lines that every readable row admits; None when no row says anything."""
    common: frozenset[str] | None = None
    for row in rows:
        lines = row.values.get("MAJORS")
        if row.values["RUNTIME"] == runtime and isinstance(lines, list) and "MAJORS" not in row.opaque:
            common = frozenset(lines) if common is None else common & frozenset(lines)
    return common


def releases(data: Mapping[str, Any], runtime: str) -> Mapping[str, Mapping[str, Any]]:
    """Return the release lines of a runtime in the dated data."""
    found: Mapping[str, Mapping[str, Any]] = (
        data.get("runtimes", {}).get("runtimes", {}).get(runtime, {}).get("releases", {})
    )
    return found


def supported(data: Mapping[str, Any], runtime: str) -> tuple[str, ...]:
    """Return the lines that still get fixes on the data's own date, oldest first."""
    today = str(data.get("runtimes", {}).get("as_of", ""))
    lines = releases(data, runtime)
    return tuple(sorted((line for line, r in lines.items() if str(r.get("eol", "9999")) > today), key=order))


def choice(lines: frozenset[str] | None, data: Mapping[str, Any], runtime: str) -> str | None:
    """Return the line to run: the newest supported one that is admitted, one with long-term support before others.

    Python has no such distinction; its newest line is left to those who ask for it, and the one before is taken, for
    which every package has had a year to follow.
    """
    today = str(data.get("runtimes", {}).get("as_of", ""))
    fitting = [line for line in supported(data, runtime) if lines is None or line in lines]
    known = releases(data, runtime)
    lasting = [line for line in fitting if str(known[line].get("lts", "9999")) <= today]
    settled = lasting[:-1] if runtime == "node" and len(lasting) > 1 and _young(known[lasting[-1]], today) else lasting
    if runtime == "python":
        settled = fitting[:-1] if len(fitting) > 1 else fitting
    candidates = settled or lasting or fitting
    return candidates[-1] if candidates else None


def _young(release: Mapping[str, Any], today: str) -> bool:
    """Say whether a line got its long-term support within the last half year: images and packages still follow."""
    began = str(release.get("lts", "9999"))
    year, month = int(today[:4]), int(today[5:7])
    half_year_ago = f"{year - (month <= 6)}-{(month - 7) % 12 + 1:02d}"
    return began[:7] > half_year_ago
