"""Reads of environment variables: every spelling, and what is no read."""

from __future__ import annotations

import pytest

from fixaudit.facts import Project
from fixaudit.relations.base import Row
from fixaudit.relations.env_reads import RELATIONS
from fixaudit.snapshot import MemorySnapshot

(ENV,) = RELATIONS


def rows_of(files: dict[str, str]) -> tuple[Row, ...]:
    project = Project(MemorySnapshot.of({"package.json": "{}", **files}))
    return project.view(project.roots[0]).rows(ENV)


def told(rows: tuple[Row, ...]) -> list[str]:
    return [f"{r.values['KEY'] or '?'} {r.values['FORM']} {r.values['DEFAULT']}" for r in rows]


SCRIPTS = [
    ("process.env.A;", ["A member None"]),
    ("process.env['A-B'] ?? 'x';", ["A-B member x"]),
    ("Number(process.env.PORT) || 3000;", ["PORT member 3000"]),
    ("(process.env as any).A;", ["A member None"]),
    ("process.env!.A!;", ["A member None"]),
    ("process?.env?.A;", ["A member None"]),
    ("import.meta.env.VITE_A;", ["VITE_A meta None"]),
    ("const { A, B: b = 'x', ...rest } = process.env;", ["A destructure None", "B destructure x"]),
    ("const env = process.env; env.A; env['B'];", ["A member None", "B member None"]),
    ("const { env } = process; env.A;", ["A member None"]),
    ("import { env } from 'node:process'; env.A;", ["A member None"]),
    ("import process from 'process'; process.env.A;", ["A member None"]),
    ("process.env.A ??= 'x';", ["A member x"]),
    ("process.env[name];", ["? member None"]),
    ("const KEY = 'A'; process.env[KEY];", ["A member None"]),
    ("process.env[`A_${x}`];", ["? member None"]),
    ("f({ a: process.env.A, b: [process.env.B] });", ["A member None", "B member None"]),
    ("const f = (x = process.env.A) => x;", ["A member None"]),
    ("class C { x = process.env.A; }", ["A member None"]),
    ("export default { a: process.env.A };", ["A member None"]),
    ("`${process.env.A}`;", ["A member None"]),
    # no reads
    ("process.env.A = 'x';", []),
    ("delete process.env.A;", []),
    ("'A' in process.env;", []),
    ("Object.keys(process.env);", []),
    ("const s = 'process.env.A'; // process.env.B", []),
    ("function f(process) { return process.env.A; }", []),
    # schemas
    (
        "import { cleanEnv, str } from 'envalid'; cleanEnv(process.env, { A: str(), B: str({ default: 'x' }) });",
        ["A field None", "B field x"],
    ),
    (
        "import { z } from 'zod'; z.object({ A: z.string(), B: z.string().default('x') }).parse(process.env);",
        ["A field None", "B field x"],
    ),
    ("import { z } from 'zod'; z.object({ A: z.string() }).strict().safeParse({ ...process.env });", ["A field None"]),
    ("import * as env from 'env-var'; env.get('A').required(); env.get('B').default('x').asString();",
     ["A call None", "B call x"]),
    ("const env = require('env-var'); env.get('A').asString();", ["A call None"]),
    ("const get = (name: string) => process.env[name]; get('A'); get('B');", ["A call None", "B call None"]),
    ("function need(k, d) { return process.env[k] || d; } need('A', 'x');", ["A call x"]),
]  # fmt: skip


@pytest.mark.parametrize(("source", "expected"), SCRIPTS)
def test_scripts(source: str, expected: list[str]) -> None:
    assert told(rows_of({"a.ts": source})) == expected


PYTHON = [
    ("os.environ['A']", ["A member None"]),
    ("os.environ.get('A')", ["A call None"]),
    ("os.getenv('A', 'x')", ["A call x"]),
    ("os.getenv('A') or 'x'", ["A call x"]),
    ("os.environ.get(key='A', default=None)", ["A call "]),
    ("import os as _o\n_o.environ['A']", ["A member None"]),
    ("from os import environ, getenv as g\nenviron['A']\ng('B')", ["A member None", "B call None"]),
    ("env = os.environ\nenv['A']", ["A member None"]),
    ("os.environ.setdefault('A', 'x')", ["A call x"]),
    ("os.environ[name]", ["? member None"]),
    ("NAME = 'A'\nos.environ[NAME]", ["A member None"]),
    ("x = f\"{os.environ['A']}\"", ["A member None"]),
    ("def f(x=os.getenv('A')): ...", ["A call None"]),
    ("os.environ['A'] = 'x'", []),
    ("del os.environ['A']", []),
    ("'A' in os.environ", []),
    ("dict(os.environ)", []),
    ("from decouple import config\nconfig('A', default=False, cast=bool)", ["A call False"]),
    ("from environs import Env\nenv = Env()\nenv.read_env()\nenv.str('A')\nenv('B', 'x')", ["A call None", "B call x"]),
    ("import environ\nenv = environ.Env(DEBUG=(bool, False))\nenv('A')", ["A call None"]),
    ("from starlette.config import Config\nconfig = Config('.env')\nconfig('A', default='x')", ["A call x"]),
    ("def need(name):\n    return os.environ[name]\nneed('A')", ["A call None"]),
    (
        "from pydantic_settings import BaseSettings\nclass S(BaseSettings):\n    port: int = 8\n    url: str\n"
        "    x = 1\n",
        ["PORT field 8", "URL field None"],
    ),
    (
        "from pydantic_settings import BaseSettings, SettingsConfigDict\nclass S(BaseSettings):\n"
        "    model_config = SettingsConfigDict(env_prefix='app_')\n    url: str\n",
        ["APP_URL field None"],
    ),
    (
        "from pydantic import BaseSettings, Field\nclass S(BaseSettings):\n    url: str = Field(..., env='DB_URL')\n"
        "    b: str = Field('x', alias='bee')\n    class Config:\n        env_prefix = 'P_'\n",
        ["DB_URL field None", "BEE field x"],
    ),
    (
        "from pydantic import BaseModel\nfrom pydantic_settings import BaseSettings\nclass Db(BaseModel):\n"
        "    host: str = 'h'\n"
        "class S(BaseSettings):\n    db: Db\n    model_config = {'env_nested_delimiter': '__'}\n",
        ["DB field None", "DB__HOST field h"],
    ),
]


@pytest.mark.parametrize(("source", "expected"), PYTHON)
def test_python(source: str, expected: list[str]) -> None:
    assert told(rows_of({"a.py": "import os\n" + source + "\n"})) == expected


def test_settings_class_in_another_file() -> None:
    files = {
        "app/__init__.py": "",
        "app/base.py": "from pydantic_settings import BaseSettings\nclass Base(BaseSettings):\n    a: str\n",
        "app/config.py": "from app.base import Base\nclass Settings(Base):\n    b: str\n",
    }
    assert [(r.path, r.values["KEY"]) for r in rows_of(files)] == [("app/base.py", "A"), ("app/config.py", "B")]


def test_helper_in_another_file() -> None:
    files = {
        "env.js": "exports.env = function env(name, fallback) { return process.env[name] ?? fallback; };\n",
        "a.js": "const { env } = require('./env');\nconst a = env('A', '1');\nconst b = env(name);\n",
    }
    assert [(r.path, r.values["KEY"], r.values["DEFAULT"], r.opaque) for r in rows_of(files)] == [
        ("a.js", "A", "1", ()),
        ("a.js", None, None, ("KEY",)),
    ]


def test_what_a_server_listens_on() -> None:
    files = {
        "config.js": "exports.port = process.env.PORT || 3000;\nexports.name = process.env.NAME;\n",
        "server.js": "const { port } = require('./config');\napp.listen(port);\n",
        "main.py": "import os, uvicorn\nuvicorn.run('main:app', port=int(os.environ['PY_PORT']))\n",
    }
    assert {r.values["KEY"]: r.values["LISTEN"] for r in rows_of(files)} == {
        "PORT": True,
        "NAME": False,
        "PY_PORT": True,
    }


def test_required_and_spans() -> None:
    source = "a(process.env.A, process.env.B || 'x');"
    rows = rows_of({"a.js": source})
    assert [(source[slice(*r.span)], r.values["REQUIRED"], source[slice(*r.spans["KEY"])]) for r in rows] == [
        ("process.env.A", True, "A"),
        ("process.env.B", False, "B"),
    ]


@pytest.mark.parametrize(
    ("path", "source", "required"),
    [
        ("a.js", "f(process.env.A);", True),
        ("a.js", "if (process.env.A) f();", False),
        ("a.js", "if (!process.env.A) throw new Error('A');", False),
        ("a.js", "const dev = process.env.A === 'dev';", False),
        ("a.js", "const x = process.env.A ? 1 : 2;", False),
        ("a.js", "const x = process.env.A && f();", False),
        ("a.js", "const x = c && process.env.A;", True),
        ("a.js", "if (f(process.env.A)) g();", True),
        ("a.py", "x = os.environ['A'] == 'x'", True),
        ("a.py", "x = os.getenv('A') == 'x'", False),
        ("a.py", "x = os.getenv('A')", True),
    ],
)
def test_a_key_that_is_only_tested_is_not_required(path: str, source: str, required: bool) -> None:
    rows = rows_of({path: "import os\n" + source + "\n" if path == "a.py" else source})
    assert [r.values["REQUIRED"] for r in rows] == [required]
