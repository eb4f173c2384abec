"""Statements that are sent to databases."""

from __future__ import annotations

import pytest

from fixaudit.facts import Project
from fixaudit.relations.base import Row
from fixaudit.relations.queries import RELATIONS
from fixaudit.snapshot import MemorySnapshot

(QUERY,) = RELATIONS


def rows_of(files: dict[str, str]) -> tuple[Row, ...]:
    project = Project(MemorySnapshot.of({"package.json": "{}", **files}))
    return project.view(project.roots[0]).rows(QUERY)


PG = "const { Pool } = require('pg');\nconst p = new Pool();\n"
CASES = [
    ("a.js", PG + "p.query('SELECT  a\\n FROM t');", ["SELECT a FROM t", "text", "pg"]),
    ("a.js", PG + "p.query(`SELECT a FROM t WHERE id = ${id}`);", ["SELECT a FROM t WHERE id = ?", "template", "pg"]),
    ("a.js", PG + "p.query('SELECT a FROM ' + t);", ["SELECT a FROM ?", "template", "pg"]),
    ("a.js", PG + "const sql = 'SELECT 1';\np.query(sql);", ["SELECT 1", "text", "pg"]),
    ("a.js", PG + "p.query({ text: 'SELECT 1', values: [] });", ["SELECT 1", "text", "pg"]),
    ("a.js", PG + "p.query(make());", [None, "opaque", "pg"]),
    ("a.js", "const db = require('mysql2/promise').createPool(o);\ndb.execute('DELETE FROM t');",
     ["DELETE FROM t", "text", "mysql2"]),
    ("a.js", "const sqlite = require('sqlite3');\nconst x = new sqlite.Database(f);\nx.all('SELECT 1', cb);",
     ["SELECT 1", "text", "sqlite3"]),
    ("a.js", "const D = require('better-sqlite3');\nconst x = new D(f);\nx.prepare('SELECT 1').all();",
     ["SELECT 1", "text", "better-sqlite3"]),
    ("a.ts", "import { PrismaClient } from '@prisma/client';\nconst x = new PrismaClient();\nx.user.findMany({});",
     ["user.findMany", "orm", "prisma"]),
    ("a.ts", "import { PrismaClient } from '@prisma/client';\nconst x = new PrismaClient();\n"
    "x.$queryRaw`SELECT ${a}`;",
     ["SELECT ?", "template", "prisma"]),
    ("a.js", "const m = require('mongoose');\nconst User = m.model('User', s);\nUser.findById(1);",
     ["findById", "orm", "mongoose"]),
    ("a.js", "function f(db) { db.query('SELECT 1'); }", ["SELECT 1", "text", None]),
    ("a.js", "function f(db) { db.query(sql); }", [None, "opaque", None]),
    ("a.ts", "import { Pool } from 'pg';\nfunction f(x: Pool) { x.query(sql); }", [None, "opaque", "pg"]),
    ("a.py", "import psycopg2\nc = psycopg2.connect()\nk = c.cursor()\n"
    "k.execute('SELECT 1')", ["SELECT 1", "text", "psycopg2"]),
    ("a.py", "import psycopg2\ndef f(i):\n    with psycopg2.connect() as c:\n"
    "        c.cursor().execute(f'SELECT {i}')",
     ["SELECT ?", "template", "psycopg2"]),
    ("a.py", "import psycopg2\nc = psycopg2.connect()\n"
    "c.cursor().execute('SELECT %s' % x)", ["SELECT ?", "template", "psycopg2"]),
    ("a.py", "from sqlalchemy import create_engine, text\ne = create_engine(u)\nwith e.connect() as c:\n"
     "    c.execute(text('SELECT 1'))", ["SELECT 1", "text", "sqlalchemy"]),
    ("a.py", "from sqlalchemy.orm import Session\ndef f(s: Session):\n    s.query(User).filter(a).first()",
     ["query.filter.first", "orm", "sqlalchemy"]),
    ("a.py", "def f(session):\n    session.query(User)", ["query", "orm", None]),
    ("a.py", "User.objects.filter(a=1)", ["objects.filter", "orm", "django-orm"]),
]  # fmt: skip


@pytest.mark.parametrize(("path", "source", "expected"), CASES)
def test_statements(path: str, source: str, expected: list[str | None]) -> None:
    rows = rows_of({path: source + "\n"})
    assert [[r.values["SQL"], r.values["FORM"], r.values["DRIVER"]] for r in rows] == [expected]
    assert ("SQL" in rows[0].opaque) == (expected[1] == "opaque")


@pytest.mark.parametrize(
    "source",
    [
        "axios.get('SELECT');",
        "const client = require('axios').create();\nclient.get('/x');",
        "client.get('/x');",
        "document.querySelector('a');",
        "const q = new URLSearchParams(); q.get('select');",
        "db.get('/path');",
        "router.get('/x', (req, res) => res.json(req.query.x));",
        "list.find((x) => x.id);",
    ],
)
def test_what_is_no_statement(source: str) -> None:
    assert rows_of({"a.js": source + "\n// query\n"}) == ()


def test_connection_from_another_file_and_the_place() -> None:
    files = {
        "db.js": PG + "module.exports = p;\n",
        "routes.js": "const db = require('./db');\nconst sql = 'SELECT 2';\n"
        "router.get('/a', async (req, res) => { res.json(await db.query('SELECT 1')); });\ndb.query(sql);\n",
    }
    rows = rows_of(files)
    assert [(r.values["SQL"], r.values["DRIVER"], r.values["IN_ROUTE_FILE"], r.values["HANDLER"]) for r in rows] == [
        ("SELECT 1", "pg", True, True),
        ("SELECT 2", "pg", True, False),
    ]
    assert files["routes.js"][slice(*rows[0].spans["SQL"])] == "'SELECT 1'"
