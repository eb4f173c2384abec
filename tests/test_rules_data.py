"""The rules about databases beyond their own examples: shapes of CON-002's fix, and the sample with two drivers."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from pathlib import Path
from textwrap import dedent

import pytest

from fixaudit.audit import audit
from fixaudit.fixers.base import Refusal
from fixaudit.issues import Tracker
from fixaudit.rulebook.exercise import planned
from fixaudit.rulebook.load import load_rulebook
from fixaudit.rulebook.rule import Rulebook
from fixaudit.snapshot import ChangeSet, MemorySnapshot, Overlay
from tests.cases.runner import environment, fixaudit

SAMPLES = Path(__file__).parent.parent / "samples"


@cache
def book() -> Rulebook:
    return load_rulebook([])


def outcome(code: str, *, path: str = "app.js", driver: str = "pg", **more: str) -> str:
    """Return the program after the fix of its first finding, the reason of a refusal, or "" without a finding."""
    manifest = {"package.json": f'{{"dependencies": {{"express": "^5", "{driver}": "*"}}}}'}
    if path.endswith(".py"):
        manifest = {"requirements.txt": f"fastapi\nsqlalchemy\n{driver}\n"}
    tree = MemorySnapshot.of({**manifest, path: dedent(code).lstrip("\n"), **more})
    now = audit(book(), tree)
    tracker = Tracker("match")
    tracker.start(now)
    issues = [issue for issue in tracker.issues() if issue.rule == "CON-002"]
    if not issues:
        return ""
    rule = book().rule("CON-002")
    assert rule is not None
    answer = planned(issues[0], rule, now)
    if isinstance(answer, Refusal):
        return answer.sentence
    assert isinstance(answer, ChangeSet), answer
    return Overlay(tree).apply(answer).read(path).decode()


def handler(body: str, top: str = "") -> str:
    lines = "".join(f"  {line}\n" for line in dedent(body).strip().split("\n"))
    return (
        'const { Pool, Client } = require("pg");\nconst app = require("express")();\n'
        f'{top}app.get("/", async (req, res, next) => {{\n{lines}}});\n'
    )


QUERY = 'res.json((await client.query("SELECT 1")).rows);'
REFUSED = {
    "a transaction": (
        'const client = new Client({});\nawait client.connect();\nawait client.query("BEGIN");\nawait client.end();',
        "client sends a statement that may need a connection of its own",
    ),
    "the id of the last row": (
        "const client = new Client({});\nawait client.connect();\n"
        'await client.query("SELECT lastval()");\nawait client.end();',
        "client sends a statement that may need a connection of its own",
    ),
    "several statements in one": (
        "const client = new Client({});\nawait client.connect();\n"
        'await client.query("SELECT 1; SET search_path = a");\nawait client.end();',
        "client sends a statement that may need a connection of its own",
    ),
    "a statement that cannot be read": (
        "const client = new Client({});\nawait client.connect();\nawait client.query(req.body.sql);\nawait client.end();",
        "the statement that client.query sends cannot be read",
    ),
    "notifications": (
        'const client = new Client({});\nawait client.connect();\nclient.on("notification", next);\nawait client.end();',
        "client.on may need a connection of its own",
    ),
    "a client that is handed on": (
        "const client = new Client({});\nawait client.connect();\nawait work(client);\nawait client.end();",
        "client is handed on",
    ),
    "a client used in a callback": (
        f"const client = new Client({{}});\nawait client.connect();\nsetTimeout(async () => {{ {QUERY} }});",
        "client is handed on",
    ),
    "options of unknown shape": (
        f"const client = new Client(options);\nawait client.connect();\n{QUERY}\nawait client.end();",
        "its options cannot be read",
    ),
    "options of the request": (
        f"const client = new Client({{ user: req.user }});\nawait client.connect();\n{QUERY}\nawait client.end();",
        "its options come from `req`, which belongs to the function",
    ),
    "under a condition": (
        'if (req.query.a) {\n  const pool = new Pool();\n  res.json(await pool.query("SELECT 1"));\n}',
        "it is made under a condition",
    ),
    "a pool that is returned": ("const pool = new Pool();\nreturn pool;", "pool is handed on"),
    "a pool without a name": (
        'res.json(await new Pool().query("SELECT 1"));', "what it makes is not bound to a name first",
    ),
    "a pool that is closed later": (
        'const pool = new Pool();\nres.json(await pool.query("SELECT 1"));\npool.end().catch(next);',
        "pool is closed in a way that is not followed",
    ),
    "a pool with a listener": (
        'const pool = new Pool();\npool.on("error", next);\nres.json(await pool.query("SELECT 1"));',
        "pool gets a listener for each request",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_surely_right_is_refused(name: str) -> None:
    body, why = REFUSED[name]
    sentence = outcome(handler(body))
    place, _, rest = sentence.partition(": ")
    assert place.startswith("app.js:")
    assert rest == f"{why}, so a person must make the pool shared"


def test_a_taken_name_is_not_caught() -> None:
    body = (
        'const client = new Client({});\nawait client.connect();\nawait client.query("SELECT 1");\nawait client.end();'
    )
    fixed = outcome(handler(body, "const pool = makeThreads();\n"))
    assert "const databasePool = new Pool({});" in fixed
    assert '  await databasePool.query("SELECT 1");\n' in fixed
    refused = outcome(handler('const pool = new Pool();\nawait pool.query("SELECT 1");', "const pool = threads();\n"))
    assert "the name pool is taken at the top of the module" in refused


def test_a_client_that_stays_in_use_keeps_its_import() -> None:
    body = (
        'const client = new Client({});\nawait client.connect();\nawait client.query("SELECT 1");\nawait client.end();'
    )
    code = (
        handler(body).replace("{ Pool, Client }", "{ Client }")
        + "module.exports.isClient = (x) => x instanceof Client;\n"
    )
    assert outcome(code).startswith('const { Client, Pool } = require("pg");\n')


def test_crlf_and_indentation_stay() -> None:
    code = handler("const pool = new Pool({\n\tmax: 5,\n});\nawait pool.query('SELECT 1');\nawait pool.end();")
    fixed = outcome(code.replace("\n", "\r\n"))
    assert "\r\nconst pool = new Pool({\r\n\tmax: 5,\r\n});\r\n\r\napp.get(" in fixed
    assert fixed.replace("\r\n", "").count("\n") == 0 and "pool.end" not in fixed


def test_python_names_the_variable_that_must_be_there_at_the_start() -> None:
    code = """
    import os

    from fastapi import FastAPI
    from sqlalchemy import create_engine

    app = FastAPI()


    @app.get("/")
    def index():
        engine = create_engine(os.environ["DATABASE_URL"])
        try:
            with engine.connect() as connection:
                return connection.exec_driver_sql("SELECT 1").scalar()
        finally:
            engine.dispose()
    """
    # A `finally` that would be left empty is not for a program to take apart.
    assert outcome(code, path="main.py", driver="psycopg").startswith("main.py:11: a block would be left empty")
    plain = dedent(code).replace("    finally:\n        engine.dispose()\n", "    except OSError:\n        return 0\n")
    assert 'app = FastAPI()\n\n\nengine = create_engine(os.environ["DATABASE_URL"])\n\n\n@app.get' in outcome(
        plain, path="main.py", driver="psycopg"
    )


def test_the_sample_with_two_drivers_is_fixed_once_a_person_has_chosen(tmp_path: Path) -> None:
    place = tmp_path / "project"
    shutil.copytree(SAMPLES / "amb_two_drivers", place, ignore=shutil.ignore_patterns("expected.yaml"))
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "start"]):
        subprocess.run(["git", *arguments], cwd=place, env=environment(tmp_path), check=True)
    refused = fixaudit(place, tmp_path, "fix", "--format", "json", "--only", "CON-002").json
    line = (
        "CON-002 (DYNAMIC-PARAMETRIC): 2 database drivers are declared, so the pool to configure is unclear. "
        "Candidates: mysql, postgres"
    )
    assert line in (place / "fixaudit-review.md").read_text(encoding="utf-8").splitlines()
    assert [entry["attempts"] for entry in refused["review"]] == [0] and refused["fixed"] == []
    answer = "answers: [{rule: CON-002, parameter: driver, value: postgres}]\n"
    (place / "fixaudit.yaml").write_text(answer, encoding="utf-8")
    fixed = fixaudit(place, tmp_path, "fix", "--format", "json", "--only", "CON-002").json
    assert [(item["rule"], item["path"]) for item in fixed["fixed"]] == [("CON-002", "src/db.js")]
    text = (place / "src/db.js").read_text(encoding="utf-8")
    assert "const pool = new Pool({ connectionString: process.env.DATABASE_URL });" in text
    assert "const client = await pool.connect();" in text and "client.release();" in text
