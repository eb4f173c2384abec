"""One declared dependency, whatever file declares it.

This module must not know of any file format but the requirement strings of PEP 508.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

Span: TypeAlias = tuple[int, int]

MAIN, DEV, OPTIONAL, PEER = "main", "dev", "optional", "peer"

_REQUIREMENT = re.compile(
    r"\s*(?P<name>[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*(?:\[(?P<extras>[^\]]*)\])?\s*"
    r"(?:@\s*(?P<url>[^;]+?)|(?P<spec>\(?[^;@#]*?\)?))\s*(?:;\s*(?P<marker>.*))?\Z",
    re.DOTALL,
)
_SPEC = re.compile(r"(?:(?:===|==|~=|!=|>=|<=|>|<)\s*[^\s,]+\s*,?\s*)*\Z")
_VERSION = re.compile(r"\d+(?:\.\d+)*(?:[-.]?[A-Za-z][0-9A-Za-z.-]*)?\Z")


@dataclass(frozen=True, slots=True)
class Dependency:
    """A dependency as declared.

    `name` is as written, `normalized` as the ecosystem compares names. `spec` is the range as written ("" for any), or
    the URL. `group` is main, dev, optional or peer; `section` the table or key it stands in ("" where the file has
    none). `span` covers the entry; `source` is registry, url, git, path or workspace.
    """

    name: str
    normalized: str
    spec: str
    group: str
    section: str
    line: int
    span: Span
    source: str = "registry"
    extras: tuple[str, ...] = ()
    marker: str = ""


@dataclass(frozen=True, slots=True)
class Requirement:
    """The parts of a PEP 508 requirement."""

    name: str
    extras: tuple[str, ...]
    spec: str
    marker: str
    source: str


def python_name(name: str) -> str:
    """Return a distribution's name as indexes compare it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def parse_requirement(text: str) -> Requirement | None:
    """Take a PEP 508 requirement apart; None when it is none."""
    match = _REQUIREMENT.match(text)
    if match is None:
        return None
    spec = (match["spec"] or "").strip()
    spec = spec[1:-1].strip() if spec.startswith("(") and spec.endswith(")") else spec
    if match["url"] is None and not _SPEC.match(spec):
        return None
    extras = tuple(sorted(part.strip() for part in (match["extras"] or "").split(",") if part.strip()))
    url = (match["url"] or "").strip()
    return Requirement(match["name"], extras, url or spec, (match["marker"] or "").strip(), source_of(url))


def source_of(spec: str) -> str:
    """Say where a specifier points: git, path, url, workspace or registry."""
    if spec.startswith(("git+", "git:", "github:", "gitlab:", "bitbucket:", "git@")) or re.match(
        r"\S+\.git(?:#|@|\Z)", spec
    ):
        return "git"
    if spec.startswith(("file:", "link:", "portal:", "./", "../", "/")):
        return "path"
    if spec.startswith("workspace:"):
        return "workspace"
    return "url" if re.match(r"[a-z][a-z0-9+.-]*://", spec) else "registry"


def styled(spec: str, neighbours: Iterable[str], operators: Sequence[str], default: str) -> str:
    """Return `spec` as the neighbours write theirs.

    A bare version takes the operator most of them have, out of `operators` ("" for a bare version; longest first);
    `default` where there are none. A spec that has an operator of its own stays.
    """
    if not _VERSION.match(spec):
        return spec
    counts: dict[str, int] = {}
    for neighbour in neighbours:
        operator = next((operator for operator in operators if neighbour.startswith(operator)), None)
        if operator is not None and _VERSION.match(neighbour[len(operator) :].strip()):
            counts[operator] = counts.get(operator, 0) + 1
    best = max(counts, key=lambda operator: (counts[operator], operator == default), default=default)
    return best + spec
