"""Calls: canonical callees, evaluated options, and where a call runs."""

from __future__ import annotations

import pytest

from fixaudit.facts import Project
from fixaudit.relations.base import Row, Truth, Value, ask
from fixaudit.relations.calls import RELATIONS
from fixaudit.snapshot import MemorySnapshot

(CALL,) = RELATIONS


def rows_of(files: dict[str, str]) -> tuple[Row, ...]:
    project = Project(MemorySnapshot.of({"package.json": "{}", **files}))
    return project.view(project.roots[0]).rows(CALL)


def last(source: str, path: str = "a.js") -> Row:
    return max(rows_of({path: source}), key=lambda row: (row.span[0], row.span[1]))


CALLEES = [
    ("const cors = require('cors'); cors()", "cors#default"),
    ("const c = require('cors'); c.default()", "cors#default"),
    ("import x from 'cors'; x()", "cors#default"),
    ("import * as x from 'cors'; x()", "cors#default"),
    ("import { default as x } from 'cors'; x()", "cors#default"),
    ("import x = require('cors'); x()", "cors#default"),
    ("require('cors')()", "cors#default"),
    ("const express = require('express'); express.Router()", "express#Router"),
    ("import { Router as R } from 'express'; R()", "express#Router"),
    ("const { Router } = require('express'); new Router()", "express#Router"),
    ("import fs from 'node:fs'; fs.readFileSync(x)", "fs#readFileSync"),
    ("import { readFileSync } from 'fs'; readFileSync(x)", "fs#readFileSync"),
    ("const { Pool } = require('pg'); const p = new Pool(); p.query(x)", "pg#Pool.query"),
    ("import pg from 'pg'; class D { pool = new pg.Pool(); f() { this.pool.query(x) } }", "pg#Pool.query"),
    ("import { PrismaClient } from '@prisma/client'; const p = new PrismaClient(); p.user.findMany()",
     "@prisma/client#PrismaClient.user.findMany"),
    ("eval(x)", "eval"),
    ("console.log(x)", "console.log"),
    ("function f() {} f()", "local:a.ts#f"),
    ("const f = () => 1; f()", "local:a.ts#f"),
    ("function g(res) { res.cookie('a') }", "res.cookie"),
    ("const jwt = require('jsonwebtoken'); const { sign } = jwt; sign(x)", "jsonwebtoken#sign"),
    ("(await import('cors')).default()", "cors#default"),
]  # fmt: skip


@pytest.mark.parametrize(("source", "callee"), CALLEES)
def test_callees(source: str, callee: str) -> None:
    rows = [r for r in rows_of({"a.ts": source}) if r.values["CALLEE"] == callee]
    assert rows, [r.values["CALLEE"] for r in rows_of({"a.ts": source})]
    assert "CALLEE" not in rows[0].opaque


PYTHON_CALLEES = [
    ("from fastapi import FastAPI\nFastAPI()", "fastapi#FastAPI"),
    ("import fastapi\nfastapi.FastAPI()", "fastapi#FastAPI"),
    ("import sqlalchemy\nsqlalchemy.create_engine(u)", "sqlalchemy#create_engine"),
    ("import sqlalchemy as sa\nsa.create_engine(u)", "sqlalchemy#create_engine"),
    ("from sqlalchemy import orm\norm.Session(e)", "sqlalchemy.orm#Session"),
    ("import sqlalchemy.orm\nsqlalchemy.orm.sessionmaker(e)", "sqlalchemy.orm#sessionmaker"),
    ("import os.path\nos.path.join(a)", "os.path#join"),
    ("import os\nos.path.join(a)", "os.path#join"),
    ("from starlette.middleware.cors import CORSMiddleware\nCORSMiddleware(a)",
     "fastapi.middleware.cors#CORSMiddleware"),
    ("import yaml\nyaml.load(x)", "yaml#load"),
    ("try:\n    import ujson as json\nexcept ImportError:\n    import json\njson.loads(x)", "ujson#loads"),
    ("import logging\nlog = logging.getLogger()\nlog.info(x)", "logging#getLogger.info"),
    ("print(x)", "print"),
    ("from datetime import datetime\ndatetime.now()", "datetime#datetime.now"),
]  # fmt: skip


@pytest.mark.parametrize(("source", "callee"), PYTHON_CALLEES)
def test_python_callees(source: str, callee: str) -> None:
    assert callee in [r.values["CALLEE"] for r in rows_of({"a.py": source + "\n"})]


WILDCARD = {"callee": "cors#default", "option": {"origin": "*"}}
ORIGINS = [
    ("cors({ origin: '*' })", Truth.YES),
    ("cors({ /* all */ 'origin': \"*\", credentials: true })", Truth.YES),
    ("cors({ origin: `*` })", Truth.YES),
    ("cors({ origin: 'https://a.example' })", Truth.NO),
    ("cors({ origin: process.env.ORIGIN })", Truth.NO),
    ("cors({ origin: process.env.ORIGIN || '*' })", Truth.NO),
    ("cors({ origin: (process.env.ORIGINS ?? '').split(',').filter(Boolean) })", Truth.NO),
    ("cors()", Truth.NO),
    ("cors(options)", Truth.UNKNOWN),
    ("cors(await load())", Truth.UNKNOWN),
    ("cors({ ...base, origin: '*' })", Truth.YES),
    ("cors({ origin: '*', ...base })", Truth.UNKNOWN),
    ("cors({ ...base })", Truth.UNKNOWN),
    ("cors(prod ? { origin: 'x' } : {})", Truth.UNKNOWN),
    ("cors(mine)", Truth.YES),
    ("cors({ ...mine })", Truth.YES),
    ("cors({ origin: config.cors.origin })", Truth.YES),
    ("cors(Object.freeze({ origin: '*' }))", Truth.YES),
    ("cors(Object.assign({}, mine, { credentials: true }))", Truth.YES),
    ("cors({ origin: far })", Truth.YES),
    ("cors({ origin: (o, cb) => cb(null, true) })", Truth.NO),
]


@pytest.mark.parametrize(("call", "expected"), ORIGINS)
def test_options_are_evaluated(call: str, expected: Truth) -> None:
    head = (
        "const cors = require('cors');\nconst mine = { origin: '*' };\nconst config = { cors: { origin: '*' } };\n"
        "const { far } = require('./far');\n"
    )
    rows = rows_of({"a.js": head + call + ";\n", "far.js": "exports.far = '*';\n"})
    row = next(r for r in rows if r.values["CALLEE"] == "cors#default")
    assert ask(row, WILDCARD) is expected


def test_could_be_reads_alternatives_and_lists() -> None:
    row = last("require('cors')({ origin: process.env.O || '*' })")
    rows = [last("require('cors')({ origin: ['https://a.example', '*'] })")]
    assert ask(row, {"option": {"origin": {"could_be": "*"}}}) is Truth.YES
    assert ask(rows[0], {"callee": "cors#default", "option": {"origin": {"could_be": "*"}}}) is Truth.YES


@pytest.mark.parametrize(
    ("far", "expected"),
    [
        ({"b.js": "exports.origin = '*';\n"}, "string"),
        ({"b.js": "module.exports = { origin: '*' };\n"}, "string"),
        ({"b.js": "export { origin } from './c.js';\n", "c.js": "export const origin = '*';\n"}, "string"),
        ({"b.js": "export * from './c.js';\n", "c.js": "export const origin = '*';\n"}, "string"),
        ({"b.js": "const { origin } = require('./c');\nexports.origin = { origin }.origin;\n",
          "c.js": "exports.origin = '*';\n"}, "unknown"),
        ({"b.js": "export let origin = '*';\norigin = 'x';\n"}, "unknown"),
        ({}, "unknown"),
    ],
)  # fmt: skip
def test_values_come_from_one_import_away(far: dict[str, str], expected: str) -> None:
    rows = rows_of({"a.js": "import { origin } from './b.js';\nf({ origin });\n", **far})
    assert rows[0].nested["option"].entries["origin"].kind == expected


def test_value_spans_stand_where_the_value_is_written() -> None:
    files = {"a.js": "const { o } = require('./b');\nf({ o });\n", "b.js": "exports.o = '*';\n"}
    row = next(r for r in rows_of(files) if r.values["CALLEE"] == "f")
    assert row.nested["option"].entries["o"] == Value("string", "*", (12, 15), "b.js")


def test_registered_middleware_has_a_row_of_its_own() -> None:
    source = (
        "from fastapi import FastAPI\nfrom fastapi.middleware.cors import CORSMiddleware\nfrom conf import settings\n"
        "app = FastAPI()\napp.add_middleware(CORSMiddleware, allow_origins=['*'], allow_credentials=settings.x)\n"
    )
    row = next(r for r in rows_of({"a.py": source}) if r.values["CALLEE"] == "fastapi.middleware.cors#CORSMiddleware")
    assert row.values["NAME"] == "CORSMiddleware"
    assert ask(row, {"option": {"allow_origins": {"could_be": "*"}}}) is Truth.YES
    assert ask(row, {"option": {"allow_credentials": True}}) is Truth.UNKNOWN
    assert ask(row, {"option": {"allow_methods": {"present": False}}}) is Truth.YES


def test_settings_fields_are_from_the_environment() -> None:
    files = {
        "conf.py": "from pydantic_settings import BaseSettings\nclass S(BaseSettings):\n    origins: list[str] = []\n"
        "settings = S()\n",
        "a.py": "from conf import settings\nf(allow_origins=settings.origins)\n",
    }
    row = next(r for r in rows_of(files) if r.values["CALLEE"] == "f")
    assert row.nested["option"].entries["allow_origins"].text == "ORIGINS"
    assert row.nested["option"].entries["allow_origins"].kind == "env"


def test_where_a_call_runs() -> None:
    source = (
        "from functools import lru_cache\nfrom fastapi import Depends, FastAPI\n"
        "from sqlalchemy import create_engine\n"
        "app = FastAPI()\nTOP = create_engine('a')\n\ndef make():\n    return create_engine('b')\n\n"
        "def get_db():\n    engine = create_engine('c')\n    make()\n    yield engine\n\n"
        "@lru_cache(maxsize=1)\ndef cached():\n    return create_engine('d')\n\n"
        "_engine = None\n\ndef lazy():\n    global _engine\n    if _engine is None:\n"
        "        _engine = create_engine('e')\n"
        "    return _engine\n\n@app.get('/')\ndef index(db=Depends(get_db)):\n    return {}\n"
    )
    rows = [r for r in rows_of({"a.py": source}) if r.values["CALLEE"] == "sqlalchemy#create_engine"]
    found = {
        r.nested["argument"].items[0].text: (r.values["TOP_LEVEL"], r.values["IN_HANDLER"], r.values["CACHED"])
        for r in rows
    }
    assert found == {
        "a": (True, False, False),
        "b": (False, True, False),
        "c": (False, True, False),
        "d": (False, False, True),
        "e": (False, False, True),
    }


def test_handlers_of_other_files_and_caches_of_javascript() -> None:
    files = {
        "routes.js": "const c = require('./controller');\nrouter.get('/a', c.list);\n",
        "controller.js": "const { Pool } = require('pg');\nlet pool;\n"
        "function get() { if (!pool) pool = new Pool(); return pool; }\n"
        "exports.list = async (req, res) => { const p = new Pool(); get(); };\n",
    }
    rows = [r for r in rows_of(files) if r.values["CALLEE"] == "pg#Pool"]
    assert [(r.values["ASSIGNED"], r.values["IN_HANDLER"], r.values["CACHED"]) for r in rows] == [
        ("pool", True, True),
        ("p", True, False),
    ]


def test_annotated_dependencies() -> None:
    source = (
        "from typing import Annotated\nfrom fastapi import Depends, APIRouter\nr = APIRouter()\n"
        "def get_db():\n    connect()\n\n@r.get('/')\ndef f(db: Annotated[Session, Depends(get_db)]): ...\n"
    )
    row = next(r for r in rows_of({"a.py": source}) if r.values["CALLEE"] == "connect")
    assert row.values["IN_HANDLER"] is True


def test_callee_that_cannot_be_followed_is_opaque() -> None:
    rows = rows_of({"a.js": "import { x } from './missing';\nx();\nfunction f(y) { y(); }\n"})
    assert [(r.values["CALLEE"], r.opaque) for r in rows] == [("x", ("CALLEE",)), ("y", ())]


def test_spans() -> None:
    source = "const pool = new Pool({ max: 3 }); // é"
    row = rows_of({"a.js": source})[0]
    assert {name: source[slice(*span)] for name, span in row.spans.items()} == {
        "CALL": "new Pool({ max: 3 })",
        "CALLEE": "Pool",
        "ARGUMENTS": "({ max: 3 })",
        "OPTIONS": "{ max: 3 }",
    }
    assert source[slice(*row.nested["option"].entries["max"].span)] == "3"


def test_after_a_change_of_an_imported_file() -> None:
    before = MemorySnapshot.of({"package.json": "{}", "a.js": "f(require('./b').x);\n", "b.js": "exports.x = 1;\n"})
    project = Project(before)
    assert project.view(project.roots[0]).rows(CALL)[0].nested["argument"].items[0].text == "1"
    changed = MemorySnapshot.of({"package.json": "{}", "a.js": "f(require('./b').x);\n", "b.js": "exports.x = 2;\n"})
    after = project.after(changed, ["b.js"])
    assert after.view(after.roots[0]).rows(CALL)[0].nested["argument"].items[0].text == "2"
