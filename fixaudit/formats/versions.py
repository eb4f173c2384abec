"""Version ranges as sets of release lines: Node's majors, Python's minors.

Contract: a range is turned into intervals and asked which of the given release lines it lets in, wholly or in part.
What cannot be read (`lts/*`, `workspace:*`, a tag, a URL) is None, never a guess. Pre-releases count as their release.
Sources: the node-semver README (ranges, x-ranges, `^` and `~` of zero versions), the version specifiers of PEP 440,
Poetry's dependency specification (caret, tilde, `||`). Which releases exist is the caller's to say.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from fixaudit.formats.problem import Problem

Version: TypeAlias = tuple[int, int, int]
Interval: TypeAlias = tuple[Version, Version]  # half-open

_END: Version = (1 << 30, 0, 0)
_ALL: tuple[Interval, ...] = (((0, 0, 0), _END),)
_PART = r"(?:0|[1-9]\d*|[xX*])"
_NODE_PARTIAL = re.compile(
    rf"[v=\s]*({_PART})(?:\.({_PART}))?(?:\.({_PART}))?(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?\Z"
)
_NODE_COMPARATOR = re.compile(r"(\^|~>?|>=|<=|>|<|=|)\s*([v=]?[\dxX*][^\s<>=^~|]*)")
_HYPHEN = re.compile(r"\A\s*(\S+)\s+-\s+(\S+)\s*\Z")
_PYTHON_CLAUSE = re.compile(
    r"(===|==|!=|~=|>=|<=|>|<|\^|~|=|)\s*v?(\d+(?:\.\d+)*)((?:\.\*)?)(?:(?:a|b|rc|\.?dev|\.?post)\d*)?\Z"
)
# Names of Node's long-term lines; they never change. Source: github.com/nodejs/Release.
LTS_NAMES = {
    "argon": 4,
    "boron": 6,
    "carbon": 8,
    "dubnium": 10,
    "erbium": 12,
    "fermium": 14,
    "gallium": 16,
    "hydrogen": 18,
    "iron": 20,
    "jod": 22,
    "krypton": 24,
}


@dataclass(frozen=True, slots=True)
class Declared:
    """A version that a version file names: `runtime` is node or python, `spec` as written, `span` its place."""

    runtime: str
    spec: str
    line: int
    span: tuple[int, int]


def node_majors(spec: str, majors: Iterable[int]) -> frozenset[int] | None:
    """Return which of `majors` a Node range admits; None when the range cannot be read."""
    name = spec.strip().lower().removeprefix("lts/")
    if spec.strip().lower().startswith("lts/") and name in LTS_NAMES:
        return frozenset(major for major in majors if major == LTS_NAMES[name])
    intervals: list[Interval] = []
    for alternative in spec.split("||"):
        part = _node_alternative(alternative)
        if part is None:
            return None
        intervals += part
    return frozenset(major for major in majors if _meets(intervals, (major, 0, 0), (major + 1, 0, 0)))


def node_admits(spec: str, version: str) -> bool | None:
    """Say whether a Node range admits an exact version; None when either cannot be read or is a pre-release."""
    match = re.match(r"v?(\d+)\.(\d+)\.(\d+)\Z", version)
    intervals: list[Interval] = []
    for alternative in spec.split("||"):
        part = _node_alternative(alternative)
        if part is None or match is None:
            return None
        intervals += part
    assert match is not None
    exact = (int(match[1]), int(match[2]), int(match[3]))
    return any(low <= exact < high for low, high in intervals)


def python_minors(spec: str, minors: Iterable[str]) -> frozenset[str] | None:
    """Return which of `minors` ("3.11") a PEP 440 or Poetry range admits; None when it cannot be read.

    A bare version means its whole line, as version files have it: "3.11" and "3.11.4" both admit "3.11".
    """
    intervals: list[Interval] = []
    for alternative in re.split(r"\|\|?", spec):
        part = _python_alternative(alternative)
        if part is None:
            return None
        intervals += part
    admitted = []
    for minor in minors:
        first, second = (int(piece) for piece in minor.split("."))
        if _meets(intervals, (first, second, 0), (first, second + 1, 0)):
            admitted.append(minor)
    return frozenset(admitted)


def leading_version(tag: str) -> str | None:
    """Return the version at the start of an image tag: "3.12.2" of `3.12.2-slim`; None for `latest`, `lts-slim`."""
    match = re.match(r"v?(\d+(?:\.\d+){0,2})(?=\Z|[-_])", tag)
    return match[1] if match else None


def read_version_file(name: str, content: str) -> tuple[Declared, ...] | Problem:
    """Read `.nvmrc`, `.node-version`, `.python-version`, `runtime.txt` or `.tool-versions`; comments are skipped.

    A `.python-version` may name several versions; `runtime.txt` counts when it names Python. Names that are no
    version (`pypy3.9-7.3`, a virtual environment) are left out.
    """
    runtime = {".nvmrc": "node", ".node-version": "node", ".python-version": "python", "runtime.txt": "python"}.get(
        name
    )
    declared: list[Declared] = []
    offset = 0
    for number, line in enumerate(content.split("\n"), 1):
        text = line.split("#", 1)[0].strip()
        words = text.split()
        if name == ".tool-versions" and len(words) >= 2:
            runtime = {"nodejs": "node", "node": "node", "python": "python"}.get(words[0])
            words = words[1:2]
        for word in words if runtime else ():
            spec = re.sub(r"\A(?:python-|cpython-|cpython@)", "", word) if runtime == "python" else word
            start = offset + line.index(word) + len(word) - len(spec)
            if runtime == "node" or re.match(r"[\d<>=~^!]", spec):
                declared.append(Declared(str(runtime), spec, number, (start, start + len(spec))))
        offset += len(line) + 1
    if not declared:
        return Problem(1, f"{name} names no version")
    return tuple(declared)


def _node_alternative(text: str) -> list[Interval] | None:
    hyphen = _HYPHEN.match(text)
    if hyphen:
        low, high = _node_bounds(">=", hyphen[1]), _node_bounds("<=", hyphen[2])
        return None if low is None or high is None else _intersect([low], [high])
    result = list(_ALL)
    rest = text.strip()
    while rest:
        match = _NODE_COMPARATOR.match(rest)
        bounds = _node_bounds(match[1], match[2]) if match else None
        if match is None or bounds is None:
            return None
        result = _intersect(result, [bounds])
        rest = rest[match.end() :].lstrip()
    return result


def _node_bounds(operator: str, text: str) -> Interval | None:
    match = _NODE_PARTIAL.match(text)
    if match is None:
        return None
    numbers: list[int] = []
    for piece in match.groups():
        if piece is None or piece in "xX*":
            break
        numbers.append(int(piece))
    if not numbers:
        return _ALL[0]
    return _bounds(operator, numbers, exact_length=3)


def _bounds(operator: str, numbers: Sequence[int], *, exact_length: int) -> Interval:
    """Return the interval of a comparator; a version shorter than `exact_length` stands for all that begin with it."""
    low = _pad(numbers)
    after = _next(numbers if len(numbers) < exact_length else numbers[:3])
    if operator == "^":
        lead = next((place for place, number in enumerate(numbers) if number), len(numbers) - 1)
        return low, _next(numbers[: lead + 1])
    if operator in ("~", "~>"):
        return low, _next(numbers[:2])
    if operator == ">=":
        return low, _END
    if operator == ">":
        return after, _END
    if operator == "<":
        return (0, 0, 0), low
    return ((0, 0, 0), after) if operator == "<=" else (low, after)


def _python_alternative(text: str) -> list[Interval] | None:
    result = list(_ALL)
    text = re.sub(r"(===|==|!=|~=|>=|<=|>|<|\^|~)\s+", r"\1", text.strip())
    if text in ("*", ""):
        return result if text else None
    for clause in re.split(r"\s*,\s*|\s+", text):
        if clause in ("", "*"):
            continue
        match = _PYTHON_CLAUSE.match(clause)
        if match is None:
            return None
        operator, star = match[1], bool(match[2]) and bool(match[3])
        numbers = [int(piece) for piece in match[2].split(".")][:3]
        if operator == "~=":
            if len(numbers) < 2:
                return None
            bounds = [(_pad(numbers), _next(numbers[:-1]))]
        elif operator == "!=":
            low, high = _pad(numbers), _next(numbers if star else _pad(numbers))
            bounds = [((0, 0, 0), low), (high, _END)]
        elif operator in ("==", "===", "=", ">", "<="):
            whole = star or operator == "="
            bounds = [_bounds(operator, numbers if whole else _pad(numbers), exact_length=3)]
        else:
            bounds = [_bounds(operator, numbers, exact_length=3)]
        result = _intersect(result, bounds)
    return result


def _pad(numbers: Sequence[int]) -> Version:
    first, second, third = (*numbers, 0, 0)[:3]
    return first, second, third


def _next(numbers: Sequence[int]) -> Version:
    """Return the first version behind all that begin with `numbers`."""
    return _pad([*numbers[:-1], numbers[-1] + 1])


def _intersect(left: Sequence[Interval], right: Sequence[Interval]) -> list[Interval]:
    pairs = [(max(a[0], b[0]), min(a[1], b[1])) for a in left for b in right]
    return [pair for pair in pairs if pair[0] < pair[1]]


def _meets(intervals: Iterable[Interval], low: Version, high: Version) -> bool:
    return bool(_intersect(list(intervals), [(low, high)]))
