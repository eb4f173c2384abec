"""What a source says about a runtime, and which release lines a version or range means.

This module must not know which sources there are.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from fixaudit.formats.dockerimages import Image
from fixaudit.formats.versions import leading_version, node_majors, python_minors
from fixaudit.source.ir import Span

NODE_LINES = tuple(range(16, 27))
PYTHON_LINES = tuple(f"3.{minor}" for minor in range(8, 15))
"""Release lines of the last five years, the ones that an open range (`>=18`) is spelled out over. Sources: the release
schedules of Node.js and Python as of 2026-11."""

_OTHER_NODE = (*range(16), *range(27, 40))
_OTHER_PYTHON = ("2.7", *(f"3.{minor}" for minor in (*range(8), *range(15, 25))))
"""Asked only when a range admits none of the above, so that two sources that both say Node 14 still agree."""


@dataclass(frozen=True, slots=True)
class Said:
    """What one source says. `specs` are its versions or ranges, None when it names none that can be read."""

    runtime: str
    source: str
    path: str
    span: Span
    text: str
    specs: tuple[str, ...] | None


def lines_of(runtime: str, spec: str) -> list[str] | None:
    """Return the release lines ("22", "3.12") that a range admits, oldest first; None when it cannot be read."""
    if runtime == "node":
        majors = node_majors(spec, NODE_LINES)
        if majors is not None and not majors:
            majors = node_majors(spec, _OTHER_NODE)
        return None if majors is None else [str(major) for major in sorted(majors)]
    spec = re.sub(r"(?<=\d)\.x\b", ".*", spec.strip().removesuffix("-dev"))  # as the workflow action writes them
    minors = python_minors(spec, PYTHON_LINES)
    if minors is not None and not minors:
        minors = python_minors(spec, _OTHER_PYTHON)
    return None if minors is None else sorted(minors, key=lambda minor: int(minor.partition(".")[2]))


def image_runtime(image: Image) -> tuple[str, str | None] | None:
    """Return (runtime, version) that an image brings, the version None for `latest` and `lts`; None for another image.

    A version may stand in the tag (`node:22-slim`, `uv:python3.12-bookworm`) or in the name (distroless `nodejs22`).
    """
    tag = image.tag or ""
    name = image.repository.rpartition("/")[2]
    inside = re.search(r"(?:\A|[-_])(node|python)(?:js)?-?(\d+(?:\.\d+)*)(?=\Z|[-_])", tag)
    if name in ("node", "nodejs", "python"):
        return name.removesuffix("js"), leading_version(tag)
    if inside is not None:
        return inside[1], inside[2]
    named = re.match(r"(node)js(\d+)(?=\Z|-)|(python)(3)(?=\Z|-)", name)
    if named is None:
        return None
    # Distroless `python3` says the major version alone: which minor it is depends on the day.
    return (named[1], named[2]) if named[1] else ("python", None)


def image_said(image: Image, source: str, path: str, span: Span) -> Said | None:
    """Return what an image says about a runtime; None when it brings neither Node nor Python."""
    found = image_runtime(image)
    if found is None:
        return None
    text = f"{image.repository}:{image.tag}" if image.tag else image.repository
    return Said(found[0], source, path, span, text, None if found[1] is None else (found[1],))
