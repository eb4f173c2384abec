"""Globs as everywhere: one segment, many segments, choices."""

from __future__ import annotations

import pytest

from fixaudit.globs import matches


@pytest.mark.parametrize(
    ("pattern", "path", "held"),
    [
        ("*.js", "a.js", True),
        ("*.js", "src/a.js", True),
        ("/*.js", "src/a.js", False),
        ("/*.js", "a.js", True),
        ("src/*.js", "src/a.js", True),
        ("src/*.js", "src/b/a.js", False),
        ("src/**", "src/b/a.js", True),
        ("src/**/*.js", "src/a.js", True),
        ("**/services/**", "services/a.js", True),
        ("**/services/**", "app/services/b/a.js", True),
        ("docs/", "docs/a/b.md", True),
        ("docs/", "more/docs/a.md", True),
        ("*.{js,ts}", "a.ts", True),
        ("*.{js,ts}", "a.tsx", False),
        ("a?c", "abc", True),
        ("a?c", "a/c", False),
        ("[ab].js", "b.js", True),
        ("[!ab].js", "b.js", False),
        ("*.js", "a.js\n", False),
        (".env", "web/.env", True),
        ("a+b.js", "a+b.js", True),
    ],
)
def test_glob(pattern: str, path: str, held: bool) -> None:
    assert matches(path, pattern) is held


def test_any_pattern_is_enough() -> None:
    assert matches("a.ts", "*.js", "*.ts")
    assert not matches("a.ts")
