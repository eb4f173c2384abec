"""Steps on rows of the real relations: what rules are written with."""

from __future__ import annotations

from typing import Any

import pytest

from fixaudit.fixers.base import Refusal, Situation
from fixaudit.relations import registry
from fixaudit.relations.base import Row, ask
from fixaudit.relations.base import Truth as T
from tests.fixers_kit import after, facts, plan, rule, situation, tree


def found(files: dict[str, str], relation: str, **filters: Any) -> Row:
    rows = facts(tree(files)).rows(registry()[relation])
    return next(row for row in rows if ask(row, filters) is T.YES)


def made(step: dict[str, Any], files: dict[str, str], row: Row) -> Situation:
    return situation(rule(step), dict(files), row)


HANDLER = "app.use((err, req, res, next) => {\n  res.status(500).json({ error: 'x' });\n});\n"
MOVE = {
    "move": {
        "capture": "STATEMENT",
        "after": {
            "query": {"app_events": {"kind": ["route", "mount", "use"]}},
            "pick": "last",
            "same": ["APP"],
            "same_file": True,
        },
    }
}


def test_an_error_handler_moves_behind_the_last_route() -> None:
    head = "const express = require('express');\nconst app = express();\n"
    tail = "app.get('/a', (req, res) => res.send('x'));\napp.use('/b', require('./b'));\n"
    files = {"package.json": "{}", "app.js": f"{head}{HANDLER}{tail}app.listen(3000);\n"}
    row = found(files, "app_events", kind="error_handler")
    assert after(made(MOVE, files, row)) == {"app.js": f"{head}{tail}{HANDLER}app.listen(3000);\n"}


def test_a_move_that_would_change_what_a_name_means_is_refused() -> None:
    head = "const express = require('express');\nconst app = express();\nlet log = console.error;\n"
    handler = "app.use((err, req, res, next) => {\n  log(err);\n});\n"
    tail = "log = null;\napp.get('/a', (req, res) => res.send('x'));\n"
    files = {"package.json": "{}", "app.js": head + handler + tail}
    row = found(files, "app_events", kind="error_handler")
    planned = plan(made(MOVE, files, row))
    assert isinstance(planned, Refusal)
    assert planned.code == "shape"


def test_middleware_goes_behind_the_app_that_was_found() -> None:
    files = {
        "package.json": '{"type": "module"}',
        "app.js": "import express from 'express'\n\nexport function build() {\n    const api = express()\n"
        "    api.get('/a', (req, res) => res.send('x'))\n    return api\n}\n",
    }
    row = found(files, "app_events", kind="app")
    step = {
        "insert": {
            "anchor": {"query": {"app_events": {"kind": "app"}}, "same": ["APP"]},
            "code": "{{ APP_NAME }}.use({{ helmet }}());",
            "imports": {"helmet": {"package": "helmet"}},
        }
    }
    assert after(made(step, files, row)) == {
        "app.js": "import express from 'express'\nimport helmet from 'helmet'\n\nexport function build() {\n"
        "    const api = express()\n    api.use(helmet())\n    api.get('/a', (req, res) => res.send('x'))\n"
        "    return api\n}\n"
    }


def test_nowhere_to_put_it() -> None:
    files = {"package.json": "{}", "app.js": "const app = require('express')();\n"}
    row = found(files, "app_events", kind="app")
    step = {"insert": {"anchor": {"query": {"app_events": {"kind": "route"}}}, "where": "before", "code": "a();"}}
    assert plan(made(step, files, row)) == Refusal("there is no place in the code to put it at", code="none")


CORS = '{{ env_optional("CORS_ORIGINS") }}.split(",").filter(Boolean)'


@pytest.mark.parametrize(
    ("app", "expected"),
    [
        ("app.use(cors({\n  // ADR-7\n  origin: '*',\n  credentials: true, // keep\n}));\n",
         "app.use(cors({\n  // ADR-7\n  origin: (process.env.CORS_ORIGINS ?? '').split(',').filter(Boolean),\n"
         "  credentials: true, // keep\n}));\n"),
        ("const options = { origin: '*' };\napp.use(cors(options));\n",
         "const options = { origin: (process.env.CORS_ORIGINS ?? '').split(',').filter(Boolean) };\n"
         "app.use(cors(options));\n"),
    ],
)  # fmt: skip
def test_the_value_of_an_option_is_replaced_where_it_stands(app: str, expected: str) -> None:
    head = "const cors = require('cors');\nconst app = require('express')();\n"
    files = {"package.json": "{}", "app.js": head + app}
    row = found(files, "call", callee="cors#default")
    step = {"replace": {"capture": "option.origin", "with": CORS}}
    assert after(made(step, files, row)) == {"app.js": head + expected}


def test_an_option_is_added_to_a_call_without_options() -> None:
    head = "const cors = require('cors');\nconst app = require('express')();\n"
    files = {"package.json": "{}", "app.js": head + "app.use(cors());\n"}
    row = found(files, "call", callee="cors#default")
    step = {"add_argument": {"capture": "ROW", "name": "origin", "value": CORS}}
    assert after(made(step, files, row)) == {
        "app.js": head + "app.use(cors({ origin: (process.env.CORS_ORIGINS ?? '').split(',').filter(Boolean) }));\n"
    }


def test_dockerfile_codemods() -> None:
    files = {"package.json": "{}", "Dockerfile": 'FROM node:22\nCOPY . .\nCMD ["node", "a.js"]\n'}
    row = found(files, "dockerfile", final=True)
    user = {"codemod": {"name": "dockerfile_user", "args": {"user": "node"}}}
    assert after(made(user, files, row)) == {"Dockerfile": 'FROM node:22\nCOPY . .\nUSER node\nCMD ["node", "a.js"]\n'}
    lines = {"codemod": {"name": "dockerfile_lines", "args": {"lines": ["EXPOSE 80"], "before": ["CMD"]}}}
    assert after(made(lines, files, row)) == {"Dockerfile": 'FROM node:22\nCOPY . .\nEXPOSE 80\nCMD ["node", "a.js"]\n'}
    tag = {"codemod": {"name": "dockerfile_tag", "args": {"tag": "24-slim"}}}
    assert after(made(tag, files, row)) == {"Dockerfile": 'FROM node:24-slim\nCOPY . .\nCMD ["node", "a.js"]\n'}
    wrong = {"codemod": {"name": "dockerfile_tag", "args": {}}}
    assert isinstance(plan(made(wrong, files, row)), Refusal)
