"""The syntax guard: a file must parse no worse than it did, and a broken one is named at its line."""

from __future__ import annotations

import pytest

from fixaudit.syntax_guard import damage_line, first_problem


@pytest.mark.parametrize(
    ("language", "content", "line"),
    [
        ("javascript", "a();\nb(;\n", 2),
        ("javascript", "if (a) {\n", 1),
        ("javascript", "const a = 1;\nconst a = 2;\n", 2),
        ("javascript", "const A = () => <b>{x}</b>;\n", None),
        ("typescript", "const a: string = x as string;\n", None),
        ("python", "def f(:\n", 1),
        ("python", "if x:\npass\n", 2),
        ("python", "  x = 1\n", 1),
        ("python", "def f[T](x: T) -> T:\n    return x\n", None),  # 3.12
        ("python", "x = f'{d['k']}'\n", None),  # 3.12
        ("python", "type A = int\n", None),  # 3.12
        ("python", "x = 1\n", None),
    ],
)
def test_damage(language: str, content: str, line: int | None) -> None:
    assert damage_line(content, language) == line


@pytest.mark.parametrize(
    ("path", "old", "new", "language", "line"),
    [
        ("a.js", "a(;\n", "a(;\nb();\n", "javascript", None),  # no worse
        ("a.js", "a();\n", "a(;\n", "javascript", 1),
        ("a.js", None, "a(;\n", "javascript", 1),
        ("a.py", "x = 1\n", "x = json.loads((open(p)\n", "python", 1),
        ("package.json", '{"a": 1}', '{"a": 1,}', None, 1),
        ("package.json", '{"a": 1,}', '{"a": 2,}', None, None),
        ("ci.yml", "a: 1\n", "a: 1\n  b: 2\n", None, 2),
        ("pyproject.toml", "a = 1\n", "a = \n", None, 1),
        ("notes.txt", "a", "((", None, None),
    ],
)
def test_guard(path: str, old: str | None, new: str, language: str | None, line: int | None) -> None:
    assert first_problem(path, old, new, language) == line
