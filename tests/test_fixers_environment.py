"""What loads `.env`, where an expression may stand, and in which quotes."""

from __future__ import annotations

import pytest

from fixaudit.fixers.environment import loader, start_advice
from fixaudit.fixers.expressions import fitted, is_tight, is_value, quoted_like
from tests.fixers_kit import facts, tree


@pytest.mark.parametrize(
    ("files", "what", "early"),
    [
        ({}, None, None),
        ({"package.json": '{"scripts": {"start": "node --env-file=.env a.js"}}'}, "--env-file", True),
        ({"package.json": '{"scripts": {"start": "node --import dotenv/config a.js"}}'}, "--env-file", True),
        ({"package.json": '{"scripts": {"test": "node --env-file=.env --test"}}'}, None, None),
        ({"package.json": '{"dependencies": {"next": "15"}}'}, "next", True),
        ({"a.mjs": 'import "dotenv/config";\nimport { b } from "./b.mjs";\n'}, "dotenv/config", True),
        ({"a.mjs": 'import { b } from "./b.mjs";\nimport "dotenv/config";\n'}, "dotenv/config", False),
        ({"a.mjs": 'import dotenv from "dotenv";\nimport { b } from "./b.mjs";\ndotenv.config();\n'}, "dotenv", False),
        ({"a.js": "require('dotenv').config();\nconst b = require('./b');\n"}, "dotenv", True),
        ({"a.js": "const { config } = require('dotenv');\nconst b = require('./b');\nconfig();\n"}, "dotenv", False),
        ({"a.js": "process.loadEnvFile();\n"}, "dotenv", True),
        ({"a.js": "// dotenv.config()\nconfig();\n"}, None, None),
        ({"compose.yaml": "services:\n  a:\n    env_file: .env\n"}, "env_file", True),
    ],
)
def test_loaders_of_node(files: dict[str, str], what: str | None, early: bool | None) -> None:
    view = facts(tree({"package.json": "{}", **files}))
    found = loader(view, view.root, "javascript")
    assert (found.what, found.early) == (what, early) if found else what is None


@pytest.mark.parametrize(
    ("files", "what", "early"),
    [
        ({"a.py": "from dotenv import load_dotenv\nload_dotenv()\n"}, "load_dotenv", True),
        ({"a.py": "import dotenv\nfrom b import c\ndotenv.load_dotenv()\n", "b.py": ""}, "load_dotenv", False),
        ({"a.py": "import environ\nenviron.Env.read_env()\n"}, "read_env", True),
        ({"requirements.txt": "flask\npython-dotenv\n"}, "flask run", True),
        ({"requirements.txt": "fastapi\npython-dotenv\n"}, None, None),
    ],
)
def test_loaders_of_python(files: dict[str, str], what: str | None, early: bool | None) -> None:
    view = facts(tree({"requirements.txt": "x\n", **files}), stacks=("python",))
    found = loader(view, view.root, "python")
    assert (found.what, found.early) == (what, early) if found else what is None


def test_advice_names_the_start_command() -> None:
    view = facts(tree({"package.json": '{"scripts": {"start": "node src/a.js"}}'}))
    assert start_advice(view, view.root, "javascript", "K")[1] == "node --env-file=.env src/a.js"
    other = facts(tree({"package.json": '{"scripts": {"start": "tsx src/a.ts"}}'}))
    assert start_advice(other, other.root, "javascript", "K")[1] == "node --env-file=.env <entry>"


def at(content: str, text: str) -> tuple[int, int]:
    start = content.index(text)
    return start, start + len(text)


@pytest.mark.parametrize(
    ("language", "content", "value", "code"),
    [
        ("javascript", "const a = 's';", True, "a ?? b"),
        ("javascript", "const a = 's'.trim();", True, "(a ?? b)"),
        ("javascript", "c ? d : 's'", True, "a ?? b"),
        ("javascript", "'s' ? c : d", True, "(a ?? b)"),
        ("javascript", "c || 's'", True, "(a ?? b)"),
        ("javascript", "f(...'s')", True, "(a ?? b)"),
        ("javascript", "const f = () => 's'", True, "a ?? b"),
        ("javascript", "class A { k = 's' }", True, "a ?? b"),
        ("tsx", "<A b='s'/>", True, "{a ?? b}"),
        ("typescript", "type T = 's'", False, None),
        ("typescript", "enum E { A = 's' }", False, None),
        ("typescript", "interface I { 's': string }", False, None),
        ("javascript", "({ 's': 1 })", False, None),
        ("javascript", "({ ['s']: 1 })", True, "(a ?? b)"),
        ("javascript", "import 's'", False, None),
        ("javascript", "export * from 's'", False, None),
    ],
)
def test_where_an_expression_may_stand(language: str, content: str, value: bool, code: str | None) -> None:
    span = at(content, "'s'")
    assert is_value(content, language, span) is value
    if code is not None:
        assert fitted("a ?? b", content, language, span) == code


def test_an_object_as_the_body_of_an_arrow_function() -> None:
    content = "f(() => 's')"
    assert fitted("{ a: 1 }", content, "javascript", at(content, "'s'")) == "({ a: 1 })"


@pytest.mark.parametrize(
    ("language", "code", "tight"),
    [
        ("javascript", "process.env.A", True),
        ("javascript", "f(a)[0]", True),
        ("typescript", "a as string", False),
        ("javascript", "a ?? b", False),
        ("javascript", "() => a", False),
        ("python", 'os.environ["A"]', True),
        ("python", "a or b", False),
        ("python", "lambda: a", False),
    ],
)
def test_what_binds_tightly(language: str, code: str, tight: bool) -> None:
    assert is_tight(code, language) is tight


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ('f("a", `b"c"`, "it\'s", "\\n")', 'f(\'a\', `b"c"`, "it\'s", "\\n")'),
        ("'a' + \"b\"", "'a' + 'b'"),
        ('"""doc"""\nx = "a"', '"""doc"""\nx = \'a\''),
        ('// don\'t\nf("a")', "// don't\nf('a')"),
        ('"open', '"open'),
    ],
)
def test_quotes_of_the_file(code: str, expected: str) -> None:
    assert quoted_like(code, "'") == expected
