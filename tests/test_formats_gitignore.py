"""Lines of pattern files are appended once, in order."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fixaudit.formats.gitignore import ensure_lines
from fixaudit.text import Text


@pytest.mark.parametrize(
    ("content", "lines", "after"),
    [
        ("node_modules/\ndist/", [".env"], "node_modules/\ndist/\n.env\n"),
        ("node_modules/\r\ndist/", [".env"], "node_modules/\r\ndist/\r\n.env\r\n"),
        ("", [".env"], ".env\n"),
        (".env\n", [".env"], ".env\n"),
        (".env", [".env"], ".env"),
        ("!.env.example\n", [".env*", "!.env.example"], "!.env.example\n.env*\n!.env.example\n"),
        (".env\n!.env\n", [".env"], ".env\n!.env\n.env\n"),
        ("a\n", ["", "# secrets", ".env"], "a\n\n# secrets\n.env\n"),
        (".env\n", ["", "# secrets", ".env"], ".env\n"),
        ("", ["", "# secrets", ".env", "", "b"], "# secrets\n.env\n\nb\n"),
        ("# x\n", ["# y"], "# x\n# y\n"),
    ],
)
def test_lines_are_ensured(content: str, lines: list[str], after: str) -> None:
    text = Text(content)
    result = text.apply(ensure_lines(text, lines))
    assert result.content == after
    assert ensure_lines(result, lines) == ()


@given(st.text("ab!#\n\r", max_size=20), st.lists(st.sampled_from(["a", "!a", "b", "#c", ""]), max_size=4, unique=True))
def test_asking_again_gives_nothing(content: str, lines: list[str]) -> None:
    text = Text(content)
    result = text.apply(ensure_lines(text, lines))
    assert result.content.startswith(content)
    if "a" in lines and "!a" in lines:
        return
    assert ensure_lines(result, lines) == ()
