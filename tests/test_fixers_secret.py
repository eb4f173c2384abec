"""externalize_secret: a credential in a program moves to the environment, and the program still starts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fixaudit.fixers.base import Candidate, Deferred, Planned, Refusal, Situation, Target
from fixaudit.relations import registry
from fixaudit.rulebook.rule import Variant
from fixaudit.snapshot import ChangeSet, Overlay
from tests.fixers_kit import PACKAGES, facts, plan, rule, rulebook, tree

PASSWORD = "Vq7" + "!mZ2" + "rT9wLk4e"
TOKEN = "gh" + "p_" + "9a8B7c6D5e4F3g2H1i0J9k8L7m6N5o4P3q2R"
STRIPE = "sk" + "_live_" + "4eC39HqLyjWDarjtT1zdp7dc"
URI = "postgres" + "://svc:" + PASSWORD + "@db.internal:5432/shop"
IGNORE = {".gitignore": ".env\n", "package.json": "{}\n"}
FIX = rule({"codemod": {"name": "externalize_secret", "args": {"key": "{{ KEY }}"}}})


def planned(
    files: dict[str, str | bytes], path: str, stacks: tuple[str, ...] = ("node",), nth: int = 0
) -> tuple[Situation, Planned]:
    hidden = frozenset(p for p in files if p.rpartition("/")[2] == ".env")
    snapshot = tree({**IGNORE, **files}, ignored=hidden, tracked=frozenset(set(files) - hidden))
    view = facts(snapshot, stacks=stacks)
    found = [r for r in view.rows(registry()["secret"]) if r.path == path]
    assert len(found) > nth, "the relation finds no such credential"
    made = Situation(FIX, Variant(""), Target(found[nth], path=path), view, rulebook({"packages": PACKAGES}))
    return made, plan(made)


def moved(files: dict[str, str | bytes], path: str, **more: object) -> dict[str, str]:
    made, change = planned(files, path, **more)  # type: ignore[arg-type]
    assert isinstance(change, ChangeSet), change
    overlay = Overlay(made.facts.snapshot).apply(change)
    return {name: overlay.read(name).decode() for name in change.paths()}


def refused(files: dict[str, str | bytes], path: str, **more: object) -> Refusal:
    change = planned(files, path, **more)[1]  # type: ignore[arg-type]
    assert isinstance(change, Refusal), change
    return change


@pytest.mark.parametrize(
    ("path", "before", "after", "key"),
    [
        ("a.js", f'const dbPassword = "{PASSWORD}";\n', "const dbPassword = process.env.DB_PASSWORD;\n", "DB_PASSWORD"),
        ("a.ts", f'export const apiToken: string = "{TOKEN}";\n',
         "export const apiToken: string = process.env.API_TOKEN as string;\n", "API_TOKEN"),
        ("a.ts", f"export const token = '{TOKEN}' as const\n",
         "export const token = process.env.TOKEN as string\n", "TOKEN"),
        ("a.js", f"class A {{\n  apiKey = '{TOKEN}';\n}}\n",
         "class A {\n  apiKey = process.env.API_KEY;\n}\n", "API_KEY"),
        ("a.js", f"function f(apiKey = '{TOKEN}') {{}}\n", "function f(apiKey = process.env.API_KEY) {}\n", "API_KEY"),
        ("a.js", f"connect({{ user, dbPassword: '{PASSWORD}' }});\r\n",
         "connect({ user, dbPassword: process.env.DB_PASSWORD });\r\n", "DB_PASSWORD"),
        ("a.mjs", f'export const db = {{ password: "{PASSWORD}" }};\n',
         "export const db = { password: process.env.DB_PASSWORD };\n", "DB_PASSWORD"),
        ("a.js", f'module.exports = {{ mail: {{ auth: {{ pass: "{PASSWORD}" }} }} }};\n',
         "module.exports = { mail: { auth: { pass: process.env.MAIL_PASS } } };\n", "MAIL_PASS"),
        ("a.js", f'const password = "{PASSWORD}";\n', "const password = process.env.PASSWORD;\n", "PASSWORD"),
        ("a.js", f"const key = process.env.API_KEY || '{TOKEN}';\n", "const key = process.env.API_KEY;\n", "API_KEY"),
        ("a.ts", f"const key = process.env.API_KEY ?? '{TOKEN}';\n",
         "const key = process.env.API_KEY as string;\n", "API_KEY"),
        ("a.ts", f"const key = (process.env.API_KEY || '{TOKEN}').trim();\n",
         "const key = (process.env.API_KEY as string).trim();\n", "API_KEY"),
        ("a.js", f"const key = process.env.API_KEY /* dev */ || '{TOKEN}';\n",
         "const key = process.env.API_KEY /* dev */ || undefined;\n", "API_KEY"),
        ("a.js", f"const {{ PORT, API_KEY = '{TOKEN}' }} = process.env;\n",
         "const { PORT, API_KEY } = process.env;\n", "API_KEY"),
        ("a.ts", f"const {{ API_KEY = '{TOKEN}' }} = process.env;\n",
         "const { API_KEY = '' } = process.env;\n", "API_KEY"),
    ],
)  # fmt: skip
def test_javascript(path: str, before: str, after: str, key: str) -> None:
    files = moved({path: before}, path)
    secret = PASSWORD if PASSWORD in before else TOKEN
    assert files == {path: after, ".env.example": f"{key}=\n", ".env": f"{key}={secret}\n"}


def test_a_comparison_keeps_its_meaning() -> None:
    named = rule({"codemod": {"name": "externalize_secret", "args": {"key": "API_TOKEN"}}})
    made, _ = planned({"a.ts": f"if (given === '{TOKEN}') {{\n}}\n"}, "a.ts")
    change = plan(replace(made, rule=named))
    assert isinstance(change, ChangeSet)
    code = Overlay(made.facts.snapshot).apply(change).read("a.ts").decode()
    assert code == "if (given === (process.env.API_TOKEN as string)) {\n}\n"


def test_no_name_is_no_key() -> None:
    refusal = refused({"a.js": f"send('{TOKEN}');\n"}, "a.js")
    assert (refusal.code, refusal.parameter) == ("none", "env_key")


def test_a_uri_moves_whole() -> None:
    files = moved({"a.js": f"const databaseUrl = '{URI}';\n"}, "a.js")
    assert files["a.js"] == "const databaseUrl = process.env.DATABASE_URL;\n"
    assert URI in files[".env"]


def test_env_must_be_ignored_and_untracked() -> None:
    line = f'const token = "{TOKEN}";\n'
    assert planned({".gitignore": "node_modules/\n", "a.js": line}, "a.js")[1] == Deferred(".env is not ignored by git")


def test_a_known_value_is_shared_and_nothing_is_written_twice() -> None:
    env = f"A=1\nTOKEN={TOKEN}\n"
    files = {
        "a.js": f'const token = "{TOKEN}";\n',
        "b.js": "f(process.env.TOKEN);\n",
        ".env": env,
        ".env.example": "TOKEN=\n",
    }
    assert moved({**files}, "a.js") == {"a.js": "const token = process.env.TOKEN;\n"}


def test_a_declared_key_that_nothing_reads_is_shared() -> None:
    files = {"a.js": f'const token = "{TOKEN}";\n', ".env.example": "A=\nTOKEN=\n"}
    assert moved({**files}, "a.js") == {"a.js": "const token = process.env.TOKEN;\n", ".env": f"TOKEN={TOKEN}\n"}


def test_the_projects_own_template_is_extended() -> None:
    files = {"a.js": f'const token = "{TOKEN}";\n', ".env.sample": "A=\r\n"}
    assert moved({**files}, "a.js")[".env.sample"] == "A=\r\nTOKEN=\r\n"


@pytest.mark.parametrize(
    ("more", "candidate"),
    [
        ({".env": "A=1\nTOKEN=other\n"}, ".env:2"),
        ({".env.example": "TOKEN=\n", "b.js": "f(1,\nprocess.env.TOKEN);\n"}, ".env.example:1"),
        ({"b.js": "f(1,\nprocess.env.TOKEN);\n"}, "b.js:2"),
    ],
)
def test_a_key_that_may_mean_something_else_is_refused(more: dict[str, str], candidate: str) -> None:
    refusal = refused({"a.js": f'const token = "{TOKEN}";\n', **more}, "a.js")
    assert (refusal.code, refusal.parameter) == ("taken", "env_key")
    assert Candidate("TOKEN", candidate) in refusal.candidates
    assert refusal.sentence.endswith("so its meaning is unclear")


@pytest.mark.parametrize(
    ("path", "content", "words"),
    [
        ("a.js", f"const u = `https://svc:{PASSWORD}@example.org/${{x}}`;\n", "a part of a longer text"),
        ("a.js", f"const header = 'Authorization: token {TOKEN}';\n", "a part of a longer text"),
        ("a.js", f"// {TOKEN}\nf();\n", "stands in a comment"),
        ("config.yaml", f"password: {PASSWORD}\n", "is configuration"),
        ("config.json", f'{{"token": "{TOKEN}"}}\n', "is configuration"),
        ("Dockerfile", f"FROM node:22\nENV GH_TOKEN={TOKEN}\n", "ends up in the image"),
        ("README.md", f"use {TOKEN}\n", "is documentation"),
        ("test/a.test.js", f'const token = "{TOKEN}";\n', "is a test"),
        ("src/App.jsx", f'import {{ createRoot }} from "react-dom/client";\nconst token = "{TOKEN}";\n', "browsers"),
        ("src/x.ts", f'enum E {{\n  token = "{TOKEN}",\n}}\n', "a part of a longer text"),
    ],
)
def test_what_a_person_must_do(path: str, content: str, words: str) -> None:
    refusal = refused({path: content}, path)
    assert words in refusal.sentence, refusal.sentence
    assert PASSWORD not in refusal.sentence and TOKEN not in refusal.sentence


def follow_ups(files: dict[str, str | bytes], path: str, **more: object) -> list[tuple[str, str | None]]:
    change = planned(files, path, **more)[1]  # type: ignore[arg-type]
    assert isinstance(change, ChangeSet), change
    return [(item.text, item.command) for item in change.follow_ups]


def test_follow_ups_say_how_to_start() -> None:
    line = f'const token = "{TOKEN}";\n'
    start = '{"scripts": {"start": "node --trace-warnings server.js"}}'
    texts = follow_ups({"a.js": line, "package.json": start}, "a.js")
    assert texts[0][1] == "node --env-file=.env --trace-warnings server.js"
    assert "rotate this credential" in texts[-1][0]
    loaded = follow_ups({"a.js": line, "package.json": '{"scripts": {"start": "node --env-file=.env a.js"}}'}, "a.js")
    assert [text.split(" ")[0] for text, _ in loaded] == ["set", "rotate"]


def test_typescript_needs_the_types_of_node() -> None:
    line = f'export const token: string = "{TOKEN}";\n'
    assert follow_ups({"a.ts": line}, "a.ts")[0][1] == "npm install --save-dev @types/node"
    typed = '{"devDependencies": {"@types/node": "^22.0.0"}}'
    assert not any("@types/node" in text for text, _ in follow_ups({"a.ts": line, "package.json": typed}, "a.ts"))


def test_a_loader_that_runs_too_late_is_named() -> None:
    main = 'import dotenv from "dotenv";\nimport { token } from "./a.js";\ndotenv.config();\n'
    texts = follow_ups({"a.js": f'export const token = "{TOKEN}";\n', "main.js": main}, "a.js")
    assert texts[0][0] == (
        'main.js must load .env before a.js is imported, so begin with `import "dotenv/config"`: it reads TOKEN at once'
    )
    early = follow_ups({"a.js": f'export const token = "{TOKEN}";\n', "main.js": 'import "dotenv/config";\n'}, "a.js")
    assert not any("before" in text for text, _ in early)
    common = "require('dotenv').config();\nconst { token } = require('./a');\n"
    texts = follow_ups({"a.js": f'exports.token = "{TOKEN}";\n', "main.js": common}, "a.js")
    assert not any("before" in text for text, _ in texts)
    late = "const { token } = require('./a');\nrequire('dotenv').config();\n"
    texts = follow_ups({"a.js": f'exports.token = "{TOKEN}";\n', "main.js": late}, "a.js")
    assert "main.js must load .env before" in texts[0][0]


def test_the_values_go_to_the_root_of_the_file() -> None:
    files = {"package.json": "{}", "api/package.json": "{}", "api/a.js": f'const token = "{TOKEN}";\n'}
    snapshot = tree({**files, ".gitignore": ".env\n"})
    view = facts(snapshot, root="api")
    found = view.rows(registry()["secret"])[0]
    change = plan(Situation(FIX, Variant(""), Target(found, path=found.path), view, rulebook()))
    assert isinstance(change, ChangeSet)
    assert change.paths() == ("api/.env", "api/.env.example", "api/a.js")
