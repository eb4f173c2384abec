"""Steps on program code, with exact results in JavaScript, TypeScript and Python."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from fixaudit.fixers.base import Refusal
from fixaudit.relations.base import Row, Value
from fixaudit.snapshot import ChangeSet
from tests.fixers_kit import after, again, plan, plan_all, row, rule, situation

MANIFEST = {"package.json": "{}"}


def changed(step: dict[str, Any], path: str, content: str, at: str, **more: Any) -> str:
    """Apply one step at the text `at` of one file and return the file."""
    made = situation(rule(step), {**MANIFEST, path: content}, row(path, content, at), **more)
    return after(made).get(path, content)


def refusal(step: dict[str, Any], path: str, content: str, at: str) -> Refusal:
    planned = plan(situation(rule(step), {**MANIFEST, path: content}, row(path, content, at)))
    assert isinstance(planned, Refusal), planned
    return planned


@pytest.mark.parametrize(
    ("path", "before", "at", "code", "expected"),
    [
        ("a.js", 'const a = "x";\n', '"x"', '{{ env("K") }}', "const a = process.env.K;\n"),
        ("a.js", "const a = 'x'.trim()\n", "'x'", '{{ env_optional("K", "d") }}',
         "const a = (process.env.K ?? 'd').trim()\n"),
        ("a.ts", "f('x', 1)\n", "'x'", '{{ env("K") }}', "f(process.env.K as string, 1)\n"),
        ("a.ts", "if (a === 'x') {}\n", "'x'", '{{ env("K") }}', "if (a === (process.env.K as string)) {}\n"),
        ("a.js", "a || 'x'\n", "'x'", '{{ env_optional("K") }}', "a || (process.env.K ?? '')\n"),
        ("a.ts", "a || 'x'\n", "'x'", '{{ env_optional("K") }}', "a || (process.env.K ?? '')\n"),
        ("a.tsx", 'a = <A c="x" />;\n', '"x"', '{{ env("K") }}', "a = <A c={process.env.K as string} />;\n"),
        ("a.js", 'x("*");\r\ny();\r\n', '"*"', '["a",\n "b"]', 'x(["a",\r\n "b"]);\r\ny();\r\n'),
        ("a.js", "cors({ origin: '*' })\n", "'*'", '{{ env_optional("O") }}.split(",").filter(Boolean)',
         "cors({ origin: (process.env.O ?? '').split(',').filter(Boolean) })\n"),
        ("a.js", 'f("x");\n', '"x"', "wrap({{ original }})", 'f(wrap("x"));\n'),
        ("a.js", 'f("x");\n', '"x"', '"x"', 'f("x");\n'),
    ],
)  # fmt: skip
def test_replace(path: str, before: str, at: str, code: str, expected: str) -> None:
    assert changed({"replace": {"capture": "VALUE", "with": code}}, path, before, at) == expected


@pytest.mark.parametrize(
    ("path", "content", "at", "sentence"),
    [
        ("a.ts", 'type T = "x";\n', '"x"', "a.ts:1: the language wants a constant there"),
        ("a.ts", 'enum E {\n  A = "x" }\n', '"x"', "a.ts:2: the language wants a constant there"),
        ("a.js", 'f({ "x": 1 });\n', '"x"', "a.js:1: the language wants a constant there"),
        ("a.js", "f({ a: 1, /* why */ b: 2 });\n", "{ a: 1, /* why */ b: 2 }", "a.js:1: a comment would be lost"),
        ("a.js", 'f("x";\n', '"x"', "a.js:1 does not parse, so it is not edited"),
        ("a.txt", '"x"\n', '"x"', "a.txt is no program that can be edited here"),
    ],
)
def test_replace_refuses(path: str, content: str, at: str, sentence: str) -> None:
    assert refusal({"replace": {"capture": "VALUE", "with": '{{ env("K") }}'}}, path, content, at).sentence == sentence


def test_a_capture_may_be_an_option_in_another_file() -> None:
    options = "export const options = { origin: '*' }\n"
    app = "app.use(cors(options));\n"
    start = options.index("'*'")
    value = Value("object", path="o.js", span=(23, 38), entries={"origin": Value("string", "*", (start, start + 3))})
    found = msgspec.structs.replace(row("a.js", app, "cors(options)"), nested={"option": value})
    step = {"replace": {"capture": "option.origin", "with": "[]"}}
    made = situation(rule(step), {**MANIFEST, "a.js": app, "o.js": options}, found)
    assert after(made) == {"o.js": "export const options = { origin: [] }\n"}
    missing = plan(situation(rule({"replace": {"capture": "option.max", "with": "1"}}), {"a.js": app}, found))
    assert missing == Refusal("option.max is not written in the code that was found", code="shape")


IMPORT = {"helmet": {"package": "helmet"}}


@pytest.mark.parametrize(
    ("path", "manifest", "before", "expected"),
    [
        ("a.js", "{}", "const express = require('express')\n\nconst app = express()\n",
         "const express = require('express')\nconst helmet = require('helmet')\n\nconst app = express()\n"
         "app.use(helmet())\n"),
        ("a.js", '{"type": "module"}', 'import express from "express";\nconst app = express();\n',
         'import express from "express";\nimport helmet from "helmet";\nconst app = express();\napp.use(helmet());\n'),
        ("a.js", "{}", "const express = require('express');\r\nfunction make() {\r\n\tconst app = express();\r\n}\r\n",
         "const express = require('express');\r\nconst helmet = require('helmet');\r\nfunction make() {\r\n"
         "\tconst app = express();\r\n\tapp.use(helmet());\r\n}\r\n"),
        ("a.js", "{}", "const express = require('express'), hat = require('helmet');\nconst app = express();\n",
         "const express = require('express'), hat = require('helmet');\nconst app = express();\napp.use(hat());\n"),
        ("a.ts", "{}", "import express from 'express';\nconst app = express();\nfunction helmet() {}\n",
         "import express from 'express';\nimport helmetMiddleware from 'helmet';\nconst app = express();\n"
         "app.use(helmetMiddleware());\nfunction helmet() {}\n"),
        ("a.cjs", '{"type": "module"}', "const app = require('express')();\n",
         "const app = require('express')();\nconst helmet = require('helmet');\napp.use(helmet());\n"),
    ],
)  # fmt: skip
def test_insert_behind_what_was_found(path: str, manifest: str, before: str, expected: str) -> None:
    step = {"insert": {"anchor": {"capture": "ROW"}, "code": "app.use({{ helmet }}());", "imports": IMPORT}}
    at = next(line.strip() for line in before.splitlines() if "const app" in line)
    made = situation(rule(step), {"package.json": manifest, path: before}, row(path, before, at))
    assert after(made)[path] == expected
    assert again(made) == ChangeSet()


def test_insert_keeps_comments_with_their_statement() -> None:
    before = "// the app\nconst app = express(); // made here\nrun(app);\n"
    step = {"insert": {"anchor": {"capture": "ROW"}, "where": "before", "code": ["a();", "b();"]}}
    assert changed(step, "a.js", before, "const app = express();") == (
        "a();\nb();\n// the app\nconst app = express(); // made here\nrun(app);\n"
    )


def test_insert_takes_the_indent_of_the_file() -> None:
    before = "function f() {\n\tconst app = express()\n\treturn app\n}\n"
    step = {"insert": {"anchor": {"capture": "ROW"}, "code": "app.use((req, res) => {\n  next();\n});"}}
    assert changed(step, "a.js", before, "const app = express()") == (
        "function f() {\n\tconst app = express()\n\tapp.use((req, res) => {\n\t\tnext()\n\t})\n\treturn app\n}\n"
    )


def test_no_statement_where_none_can_stand() -> None:
    step = {"insert": {"anchor": {"capture": "ROW"}, "code": "a();"}}
    assert refusal(step, "a.js", "if (x) f();\n", "f();").code == "shape"


@pytest.mark.parametrize(
    ("path", "before", "at", "arguments", "expected"),
    [
        ("a.js", "f({ a: 1 })\n", "{ a: 1 }", {"name": "max", "value": 10}, "f({ a: 1, max: 10 })\n"),
        ("a.js", "f()\n", "f()", {"name": "max", "value": 10}, "f({ max: 10 })\n"),
        ("a.js", "f({ max: 10 })\n", "{ max: 10 }", {"name": "max", "value": 10}, "f({ max: 10 })\n"),
        ("a.js", "f('a')\n", "f('a')", {"name": "b", "value": '"c"', "position": 1}, "f('a', { b: 'c' })\n"),
    ],
)
def test_add_argument(path: str, before: str, at: str, arguments: dict[str, Any], expected: str) -> None:
    assert changed({"add_argument": {"capture": "ROW", **arguments}}, path, before, at) == expected


@pytest.mark.parametrize(("content", "at"), [("f({ ...o })\n", "{ ...o }"), ("f({ max })\n", "{ max }")])
def test_add_argument_never_overrides(content: str, at: str) -> None:
    assert refusal({"add_argument": {"capture": "ROW", "name": "max", "value": 1}}, "a.js", content, at).code == "shape"


def test_add_argument_replaces_where_it_is_told_to() -> None:
    content = "f({ max: 0 })\n"
    value = Value("object", path="a.js", span=(2, 12), entries={"max": Value("number", "0", (9, 10))})
    found = msgspec.structs.replace(row("a.js", content, "{ max: 0 }"), nested={"option": value})
    step = {"add_argument": {"capture": "ROW", "name": "max", "value": 10, "replace": True}}
    assert after(situation(rule(step), {**MANIFEST, "a.js": content}, found)) == {"a.js": "f({ max: 10 })\n"}


def test_remove() -> None:
    step = {"remove": {"capture": "ROW"}}
    assert changed(step, "a.js", "a();\nb();\nc();\n", "b();") == "a();\nc();\n"
    assert refusal(step, "a.js", "a();\nb(/* why */);\n", "b(/* why */);").code == "shape"


def test_ensure_import_alone() -> None:
    step = {"ensure_import": {"package": "node:fs", "export": "readFile"}}
    before = "'use strict';\nrun();\n"
    assert (
        changed(step, "a.js", before, "run();") == "'use strict';\nconst { readFile } = require('node:fs');\n\nrun();\n"
    )


def test_several_findings_of_a_file_are_one_change() -> None:
    content = "import { a } from 'a';\nf('*');\ng('*');\n"
    step = {"replace": {"capture": "VALUE", "with": "{{ allow }}", "imports": {"allow": {"package": "./allow.js"}}}}
    rows = []
    for name in ("f", "g"):
        start = content.index(f"{name}('*')") + 2
        rows.append(Row("a.js", (start, start + 3), {}, {"VALUE": (start, start + 3)}))
    files = {**MANIFEST, "a.js": content}
    first = situation(rule(step), files, rows[0])
    second = situation(rule(step), files, rows[1])
    planned = plan_all((first, replace(second, facts=first.facts)))
    assert after(first, planned) == {
        "a.js": "import { a } from 'a';\nimport allow from './allow.js';\nf(allow);\ng(allow);\n"
    }


def test_a_byte_order_mark_and_line_endings_stay() -> None:
    content = "'use strict';\r\n\r\nconst express = require('express');\r\n\r\nconst app = express();\r\n"
    step = {"insert": {"anchor": {"capture": "ROW"}, "code": "app.use({{ helmet }}());", "imports": IMPORT}}
    files = {**MANIFEST, "a.js": b"\xef\xbb\xbf" + content.encode()}
    made = situation(rule(step), files, row("a.js", content, "const app = express();"))
    assert after(made)["a.js"] == (
        "\ufeff'use strict';\r\n\r\nconst express = require('express');\r\nconst helmet = require('helmet');\r\n\r\n"
        "const app = express();\r\napp.use(helmet());\r\n"
    )
