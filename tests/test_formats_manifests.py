"""Manifests: what is declared, and one more declaration in the file's own style."""

from __future__ import annotations

import json

import pytest

from fixaudit.formats import requirements
from fixaudit.formats.dependency import parse_requirement
from fixaudit.formats.manifests import add_dependency, dependencies, kind_of
from fixaudit.formats.problem import Problem
from fixaudit.text import Text

PACKAGE = (
    '{\n\t"name": "demo",\n\t"dependencies": {\n\t\t"express": "4.19.2",\n'
    '\t\t"zod": "3.23.8"\n\t},\n\t"files": ["lib", "bin"]\n}'
)
PYPROJECT = (
    '[project]\nname = "x"\ndependencies = [\n  "Flask[async]>=3,<4 ; python_version>\'3.8\'",\n  "zope.interface",\n'
    '  "a @ git+https://example.invalid/a.git",\n]\n[project.optional-dependencies]\ntest = ["pytest~=8.0"]\n'
    '[dependency-groups]\ndev = ["ruff==0.5.0", {include-group = "x"}]\n'
    '[tool.poetry.dependencies]\npython = "^3.11"\nDjango = "^5"\nold = { version = "*", optional = true }\n'
    '[tool.poetry.group.dev.dependencies]\nlib = { path = "../lib" }\n'
)
REQUIREMENTS = (
    "# web\nFlask[async]==3.0.2 \\\n    ; python_version > '3.8'  # note\n"
    "-r base.txt\n-c constraints.txt\n-i https://example.invalid/simple\n"
    "-e ./lib\n-e git+https://example.invalid/x.git#egg=My_Lib\n"
    "zope.interface >= 6 ,<7\nurl @ https://example.invalid/u.whl\n"
    "./wheels/a.whl\n== broken\n"
)


def rows(kind: str, content: str) -> list[tuple[str, str, str, int]]:
    found = dependencies(kind, content)
    assert not isinstance(found, Problem), found
    return [(row.normalized, row.spec, row.group, row.line) for row in found]


def added(kind: str, content: str, name: str, spec: str, group: str = "main") -> str:
    text = Text(content)
    edits = add_dependency(text, kind, name, spec, group)
    assert not isinstance(edits, Problem), edits
    after = text.apply(edits)
    assert add_dependency(after, kind, name, spec, group) == ()
    return after.content


def test_package_json() -> None:
    content = (
        '{"dependencies": {"a": "^1"}, "devDependencies": {"@x/b": "workspace:*"}, "peerDependencies": {"c": "1"}}'
    )
    assert rows("package.json", content) == [
        ("a", "^1", "main", 1),
        ("@x/b", "workspace:*", "dev", 1),
        ("c", "1", "peer", 1),
    ]


def test_pyproject() -> None:
    assert rows("pyproject.toml", PYPROJECT) == [
        ("flask", ">=3,<4", "main", 4),
        ("zope-interface", "", "main", 5),
        ("a", "git+https://example.invalid/a.git", "main", 6),
        ("pytest", "~=8.0", "optional", 9),
        ("ruff", "==0.5.0", "dev", 11),
        ("django", "^5", "main", 14),
        ("old", "", "optional", 15),
        ("lib", "../lib", "dev", 17),
    ]


def test_requirements() -> None:
    file = requirements.read(REQUIREMENTS)
    assert [(row.normalized, row.spec, row.line, row.source) for row in file.dependencies] == [
        ("flask", "==3.0.2", 2, "registry"),
        ("", "./lib", 7, "path"),
        ("my-lib", "git+https://example.invalid/x.git#egg=My_Lib", 8, "git"),
        ("zope-interface", ">= 6 ,<7", 9, "registry"),
        ("url", "https://example.invalid/u.whl", 10, "url"),
        ("", "./wheels/a.whl", 11, "path"),
    ]
    assert [(item.kind, item.path, item.line) for item in file.includes] == [
        ("requirement", "base.txt", 4),
        ("constraint", "constraints.txt", 5),
    ]
    assert file.problems == (Problem(12, "the line is no requirement"),)
    assert REQUIREMENTS[slice(*file.dependencies[0].span)].startswith("Flask[async]==3.0.2 \\")
    assert file.dependencies[0].marker == "python_version > '3.8'"
    assert REQUIREMENTS[slice(*file.dependencies[3].span)] == "zope.interface >= 6 ,<7"


def test_pipfile_and_setup_files() -> None:
    assert rows(
        "Pipfile", '[packages]\nflask = "*"\nx = {version = "==1", extras = ["a"]}\n[dev-packages]\npytest = ">=8"\n'
    ) == [
        ("flask", "", "main", 2),
        ("x", "==1", "main", 3),
        ("pytest", ">=8", "dev", 5),
    ]
    cfg = (
        "[metadata]\nname = x\n[options]\ninstall_requires =\n    flask>=3\n"
        "    # note\n    requests\n[options.extras_require]\ndev = pytest\n"
    )
    assert rows("setup.cfg", cfg) == [
        ("flask", ">=3", "main", 5),
        ("requests", "", "main", 7),
        ("pytest", "", "optional", 9),
    ]
    code = (
        "# é\nfrom setuptools import setup\nREQ = ['flask>=3']\n"
        "setup(name='é', install_requires=REQ, extras_require={'dev': ['x']})\n"
    )
    assert rows("setup.py", code) == [("flask", ">=3", "main", 3), ("x", "", "optional", 4)]
    found = dependencies("setup.py", code)
    assert not isinstance(found, Problem)
    assert [code[slice(*row.span)] for row in found] == ["'flask>=3'", "'x'"]


@pytest.mark.parametrize(
    "code",
    ["setup(install_requires=read('r.txt'))", "setup(**kw)", "setup(install_requires=[x])", "setup(", "x = (\n"],
)
def test_a_computed_setup_is_a_problem(code: str) -> None:
    assert isinstance(dependencies("setup.py", code), Problem)


@pytest.mark.parametrize(
    ("kind", "content", "after"),
    [
        ("package.json", PACKAGE, PACKAGE.replace('"4.19.2",\n', '"4.19.2",\n\t\t"helmet": "7.1.0",\n')),
        (
            "package.json",
            '{\n  "name": "a",\n  "devDependencies": {\n    "x": "^1.0.0"\n  }\n}\n',
            '{\n  "name": "a",\n  "dependencies": {\n    "helmet": "^7.1.0"\n  },\n'
            '  "devDependencies": {\n    "x": "^1.0.0"\n  }\n}\n',
        ),
        ("package.json", '{\n  "dependencies": {}\n}\n', '{\n  "dependencies": {\n    "helmet": "^7.1.0"\n  }\n}\n'),
        ("requirements.txt", "flask==3.0.2\nzope==1.0", "flask==3.0.2\nhelmet==7.1.0\nzope==1.0"),
        ("requirements.txt", "zope>=1.0\r\nflask>=3.0\r\n", "zope>=1.0\r\nflask>=3.0\r\nhelmet>=7.1.0\r\n"),
        ("requirements.txt", "flask", "flask\nhelmet==7.1.0\n"),
        ("requirements.txt", "# top\njinja2~=3.1\nzope~=1.0\n", "# top\nhelmet~=7.1.0\njinja2~=3.1\nzope~=1.0\n"),
        (
            "pyproject.toml",
            '[project]\nname = "x"\ndependencies = ["a>=1", "z>=2"]\n',
            '[project]\nname = "x"\ndependencies = ["a>=1", "helmet>=7.1.0", "z>=2"]\n',
        ),
        (
            "pyproject.toml",
            '[tool.poetry]\nname = "x"\n\n[tool.poetry.dependencies]\npython = "^3.11"\na = "^1"\n\n[build-system]\n',
            '[tool.poetry]\nname = "x"\n\n[tool.poetry.dependencies]\n'
            'python = "^3.11"\na = "^1"\nhelmet = "^7.1.0"\n\n[build-system]\n',
        ),
        ("Pipfile", '[packages]\na = "==1.0"\n', '[packages]\na = "==1.0"\nhelmet = "==7.1.0"\n'),
        (
            "setup.cfg",
            "[options]\ninstall_requires =\n  a>=1\n  z>=1\n",
            "[options]\ninstall_requires =\n  a>=1\n  helmet>=7.1.0\n  z>=1\n",
        ),
        ("setup.cfg", "[options]\nx = 1\n", "[options]\ninstall_requires =\n    helmet>=7.1.0\nx = 1\n"),
    ],
)
def test_a_dependency_is_added_in_the_files_style(kind: str, content: str, after: str) -> None:
    assert added(kind, content, "helmet", "7.1.0") == after


def test_development_groups() -> None:
    content = '{\n  "dependencies": {\n    "a": "~1.0.0"\n  },\n  "files": []\n}\n'
    after = added("package.json", content, "vitest", "2.0.0", "dev")
    assert list(json.loads(after)) == ["dependencies", "devDependencies", "files"]
    assert json.loads(after)["devDependencies"] == {"vitest": "~2.0.0"}
    assert added("pyproject.toml", '[project]\nname = "x"\n', "ruff", "0.5", "dev") == (
        '[project]\nname = "x"\n\n[dependency-groups]\ndev = ["ruff>=0.5"]\n'
    )
    poetry = '[tool.poetry]\nname = "x"\n[tool.poetry.dependencies]\n'
    assert added("pyproject.toml", poetry, "ruff", "0.5", "dev").endswith(
        '[tool.poetry.group.dev.dependencies]\nruff = "^0.5"\n'
    )


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("package.json", '{"devDependencies": {"helmet": "1"}}'),
        ("package.json", '{"dependencies": {},}'),
        ("package.json", "{"),
        ("requirements.txt", "flask==1 --hash=sha256:00\n"),
        ("requirements.txt", "#\n# This file is autogenerated by pip-compile with Python 3.11\nflask==1\n"),
        ("pyproject.toml", '[project]\nname = "x"\ndynamic = ["dependencies"]\n'),
        ("pyproject.toml", "[build-system]\nrequires = []\n"),
        ("setup.cfg", "[metadata]\n"),
        ("setup.cfg", "[options]\ninstall_requires = a\n"),
        ("setup.py", "setup()"),
    ],
)
def test_what_cannot_be_added_safely_is_refused(kind: str, content: str) -> None:
    assert isinstance(add_dependency(Text(content), kind, "helmet", "7.1.0"), Problem)


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("requirements.txt", "Zope_Interface\n"),
        ("pyproject.toml", '[project]\ndependencies = ["zope-interface[x]>=1"]\n'),
        ("Pipfile", '[packages]\n"zope.interface" = "*"\n'),
        ("setup.cfg", "[options]\ninstall_requires =\n  zope.interface\n"),
    ],
)
def test_names_are_compared_normalized(kind: str, content: str) -> None:
    assert add_dependency(Text(content), kind, "zope.interface", "6.0") == ()


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("a/package.json", "package.json"),
        ("requirements.txt", "requirements.txt"),
        ("a/requirements-dev.txt", "requirements.txt"),
        ("requirements/prod.txt", "requirements.txt"),
        ("a/dev-requirements.in", "requirements.txt"),
        ("robots.txt", None),
        ("package-lock.json", None),
    ],
)
def test_kinds(path: str, kind: str | None) -> None:
    assert kind_of(path) == kind


@pytest.mark.parametrize("text", ["a b", "==1", "", "a>", "a==1;", "-x"])
def test_what_is_no_requirement(text: str) -> None:
    found = parse_requirement(text)
    assert found is None or (text == "a==1;" and found.marker == "")
