"""Ranges admit release lines, or cannot be read."""

from __future__ import annotations

import pytest

from fixaudit.formats.problem import Problem
from fixaudit.formats.versions import leading_version, node_majors, python_minors, read_version_file

MAJORS = (14, 16, 18, 20, 22, 24)
MINORS = ("3.8", "3.9", "3.10", "3.11", "3.12", "3.13")


@pytest.mark.parametrize(
    ("spec", "majors"),
    [
        ("20", {20}),
        ("v20.11.1", {20}),
        ("=20.11", {20}),
        ("20.x", {20}),
        (">=18", {18, 20, 22, 24}),
        (">= 18.17.0 < 22", {18, 20}),
        (">=18 <=20", {18, 20}),
        (">=18 <=20.5.1", {18, 20}),
        (">20", {22, 24}),
        (">20.1.0", {20, 22, 24}),
        ("<18", {14, 16}),
        ("<18.0.1", {14, 16, 18}),
        ("^18.17 || >=20.5", {18, 20, 22, 24}),
        ("^18||^20", {18, 20}),
        ("~20.1", {20}),
        ("16 - 20", {16, 18, 20}),
        ("16.1.0 - 20.0.0", {16, 18, 20}),
        ("*", set(MAJORS)),
        ("", set(MAJORS)),
        ("x", set(MAJORS)),
        (">=18,<22", None),
        ("lts/iron", {20}),
        ("lts/Hydrogen", {18}),
        (">=22 <20", set()),
        ("20.0.0-rc.1", {20}),
        ("lts/*", None),
        ("latest", None),
        ("workspace:*", None),
        ("node", None),
        ("^next", None),
        ("18 || latest", None),
        ("npm:node@20", None),
    ],
)
def test_node_ranges(spec: str, majors: set[int] | None) -> None:
    assert node_majors(spec, MAJORS) == majors


@pytest.mark.parametrize(
    ("spec", "minors"),
    [
        (">=3.11", {"3.11", "3.12", "3.13"}),
        (">=3.9,<3.12", {"3.9", "3.10", "3.11"}),
        (">=3.9, !=3.10.*, <3.12", {"3.9", "3.11"}),
        (">=3.9,!=3.10.1,<3.12", {"3.9", "3.10", "3.11"}),
        ("~=3.11", {"3.11", "3.12", "3.13"}),
        ("~=3.11.2", {"3.11"}),
        ("==3.11.*", {"3.11"}),
        ("==3.11.4", {"3.11"}),
        ("===3.11.4", {"3.11"}),
        ("3.11", {"3.11"}),
        ("3.11.4", {"3.11"}),
        ("3.12.0rc1", {"3.12"}),
        ("^3.11", {"3.11", "3.12", "3.13"}),
        ("~3.11", {"3.11"}),
        ("3.11.*", {"3.11"}),
        (">3.11", {"3.11", "3.12", "3.13"}),
        ("<=3.9", {"3.8", "3.9"}),
        ("<4", set(MINORS)),
        ("<4.0,>=3.12", {"3.12", "3.13"}),
        ("^3.8 || ^4.0", set(MINORS)),
        (">=3.9 <3.11", {"3.9", "3.10"}),
        ("*", set(MINORS)),
        ("", None),
        ("~=3", None),
        ("pypy3.9", None),
        ("latest", None),
        (">=3.x", None),
    ],
)
def test_python_ranges(spec: str, minors: set[str] | None) -> None:
    assert python_minors(spec, MINORS) == minors


@pytest.mark.parametrize(
    ("tag", "version"),
    [("3.12.2-slim", "3.12.2"), ("22", "22"), ("v18.1-x", "18.1"), ("lts-slim", None), ("latest", None), ("3x", None)],
)
def test_versions_of_tags(tag: str, version: str | None) -> None:
    assert leading_version(tag) == version


@pytest.mark.parametrize(
    ("name", "content", "declared"),
    [
        (".nvmrc", "v18.17.0\n", [("node", "v18.17.0", 1)]),
        (".nvmrc", "# ours\r\nlts/*\r\n", [("node", "lts/*", 2)]),
        (".node-version", "20", [("node", "20", 1)]),
        (".python-version", "3.12.1\n3.11 # also\npypy3.9-7.3.9\n", [("python", "3.12.1", 1), ("python", "3.11", 2)]),
        ("runtime.txt", "python-3.11.4\n", [("python", "3.11.4", 1)]),
        (
            ".tool-versions",
            "ruby 3.2\nnodejs 20.1.0\npython 3.11.4\n",
            [("node", "20.1.0", 2), ("python", "3.11.4", 3)],
        ),
    ],
)
def test_version_files(name: str, content: str, declared: list[tuple[str, str, int]]) -> None:
    rows = read_version_file(name, content)
    assert not isinstance(rows, Problem)
    assert [(row.runtime, row.spec, row.line) for row in rows] == declared
    assert all(content[slice(*row.span)] == row.spec for row in rows)


def test_a_file_without_a_version_is_a_problem() -> None:
    assert isinstance(read_version_file(".nvmrc", "\n"), Problem)
    assert isinstance(read_version_file("runtime.txt", "ruby-3.2\n"), Problem)
