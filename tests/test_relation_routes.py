"""Routes and exports as files declare them."""

from __future__ import annotations

import pytest

from fixaudit.facts import Project
from fixaudit.relations import functions, routes
from fixaudit.relations.base import Relation, Row
from fixaudit.snapshot import MemorySnapshot


def rows_of(relation: Relation, files: dict[str, str]) -> tuple[Row, ...]:
    project = Project(MemorySnapshot.of({"package.json": "{}", **files}))
    return project.view(project.roots[0]).rows(relation)


ROUTES = [
    ("a.js", "router.get('/a', h);", ["GET /a"]),
    ("a.js", "app.all('/a', h);", ["ALL /a"]),
    ("a.js", "router.route('/a').get(h).post(k);", ["GET /a", "POST /a"]),
    ("a.js", "const r = router.route('/a');\nr.put(h);", ["PUT /a"]),
    ("a.js", "router.get(`/a`, h);", ["GET /a"]),
    ("a.js", "router.get(`/a/${x}`, h);", ["GET ?"]),
    ("a.js", "const base = '/v1';\nrouter.get(`${base}/a`, h);", ["GET /v1/a"]),
    ("a.ts", "router.get<Q>('/a', h);", ["GET /a"]),
    ("a.ts", "router?.get('/a', h);", ["GET /a"]),
    ("a.ts", "this.app.delete('/a', this.h.bind(this));", ["DELETE /a"]),
    ("a.js", "usersRouter.patch(['/a', '/b'], h);", ["PATCH /a", "PATCH /b"]),
    ("a.js", "app.get(/^\\/a/, h);", ["GET /^\\/a/"]),
    ("a.js", "const any = require('express').Router();\nany.get('/a', h);", ["GET /a"]),
    ("a.js", "module.exports = (x) => { x.get('/a', h); };", []),
    ("a.js", "const axios = require('axios');\naxios.get('/a', {});", []),
    ("a.js", "const app = require('axios').create();\napp.get('/a', {});", []),
    ("a.js", "app.get('env');", []),
    ("a.py", "@router.get('/a')\ndef f(): ...", ["GET /a"]),
    ("a.py", "@app.route('/a', methods=['POST', 'PUT'])\ndef f(): ...", ["POST /a", "PUT /a"]),
    ("a.py", "@app.route('/a')\ndef f(): ...", ["GET /a"]),
    ("a.py", "@bp.websocket('/a')\nasync def f(): ...", ["WEBSOCKET /a"]),
    ("a.py", "app.add_url_rule('/a', view_func=f)", ["GET /a"]),
    ("a.py", "@thing.get('/a')\ndef f(): ...", []),
]


@pytest.mark.parametrize(("path", "source", "expected"), ROUTES)
def test_routes(path: str, source: str, expected: list[str]) -> None:
    rows = rows_of(routes.RELATIONS[0], {path: source + "\n"})
    assert [f"{r.values['METHOD']} {r.values['PATH'] or '?'}" for r in rows] == expected


EXPORTS = [
    ("a.js", "module.exports = { a, b: 1 };", ["default", "a", "b"]),
    ("a.js", "exports.a = 1;\nmodule.exports.b = 2;", ["a", "b"]),
    ("a.js", "const app = module.exports = make();", ["default"]),
    (
        "a.ts",
        "export const a = 1, b = 2;\nexport default function f() {}\nexport { x as c };",
        ["a", "b", "default", "c"],
    ),
    ("a.ts", "export { default as d } from './b';\nexport * from './c';", ["d", "*"]),
    ("a.py", "a = 1\n_b = 2\ndef f(): ...\nclass C: ...\nif x:\n    d = 3", ["a", "f", "C", "d"]),
    ("a.py", "__all__ = ['x', 'y']\nz = 1", ["x", "y"]),
]


@pytest.mark.parametrize(("path", "source", "expected"), EXPORTS)
def test_exports(path: str, source: str, expected: list[str]) -> None:
    rows = rows_of(functions.RELATIONS[0], {path: source + "\n"})
    assert [r.values["NAME"] for r in rows] == expected
