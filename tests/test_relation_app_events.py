"""Application events: every spelling is one small program, and what must be seen of it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fixaudit.facts import Project
from fixaudit.relations.app_events import RELATIONS
from fixaudit.relations.base import Row
from fixaudit.snapshot import MemorySnapshot

(EVENTS,) = RELATIONS
PACKAGE = {"package.json": "{}"}


def rows_of(files: dict[str, str]) -> tuple[Row, ...]:
    project = Project(MemorySnapshot.of(files))
    return project.view(project.roots[0]).rows(EVENTS)


def told(rows: tuple[Row, ...]) -> list[str]:
    """Write rows in run order as `KIND METHOD PATH CALLEE`, with `?` for what is opaque."""
    found = []
    for row in sorted(rows, key=lambda r: (str(r.values["APP"]), r.values["SEQ"])):
        words = [str(row.values["KIND"]) + ("?" if "KIND" in row.opaque else "")]
        for column in ("METHOD", "PATH", "CALLEE"):
            if column == "CALLEE" and row.values["KIND"] in ("route", "error_handler"):
                continue
            if column in row.opaque and row.values[column] is None:
                words.append("?")
            elif row.values[column] is not None:
                words.append(str(row.values[column]))
        if row.values["CONDITIONAL"]:
            words.append("conditional")
        found.append(" ".join(words))
    return found


EXPRESS = "const express = require('express');\n"
PLAIN = ["app", "use helmet#default", "route GET /a", "listen"]

# name → (files, events)
SPELLINGS: dict[str, tuple[dict[str, str], list[str]]] = {
    "plain": (
        {"a.js": EXPRESS + "const helmet = require('helmet');\nconst app = express();\napp.use(helmet());\n"
                 "app.get('/a', (q, s) => s.end());\napp.listen(3000);\n"},
        PLAIN,
    ),
    "any name, modules": (
        {"a.mjs": "import web from 'express';\nimport h from 'helmet';\nexport const service = web();\n"
                  "service.use(h());\nservice.get('/a', x);\nservice.listen(1, () => console.log('up'));\n"},
        PLAIN,
    ),
    "namespace import and .default": (
        {"a.ts": "import * as express from 'express';\nconst helmet = require('helmet');\nconst app = express();\n"
                 "app.use(helmet.default());\napp.get('/a', x);\napp.listen(1);\n"},
        PLAIN,
    ),
    "inline require": (
        {"a.js": "const app = require('express')();\napp.use(require('helmet')());\napp.get('/a', x);\n"
                 "app.listen(1);\n"},
        PLAIN,
    ),
    "exported in a chain, served elsewhere": (
        {"app.js": EXPRESS + "const app = module.exports = express();\napp.use(require('helmet')());\n"
        "app.get('/a', x);\n",
         "server.js": "const app = require('./app');\nconst port = 3;\napp.listen(port);\n"},
        PLAIN,
    ),
    "named export, destructured": (
        {"app.js": EXPRESS + "const app = express();\napp.use(require('helmet')());\napp.get('/a', x);\n"
                   "module.exports = { app };\n",
         "server.js": "const { app } = require('./app');\napp.listen(1);\n"},
        PLAIN,
    ),
    "express-generator": (
        {"app.js": EXPRESS + "var app = express();\napp.set('view engine', 'pug');\napp.use(require('helmet')());\n"
                   "app.get('/a', x);\nmodule.exports = app;\n",
         "bin/www.js": "var app = require('../app');\nvar http = require('http');\napp.set('port', 3);\n"
                       "var server = http.createServer(app);\nserver.listen(3);\nserver.on('error', onError);\n"},
        PLAIN,
    ),
    "https": (
        {"a.js": EXPRESS + "const app = express();\napp.use(require('helmet')());\napp.get('/a', x);\n"
                 "require('https').createServer({ key }, app).listen(443);\n"},
        PLAIN,
    ),
    "class with methods": (
        {"a.ts": "import express from 'express';\nimport helmet from 'helmet';\nclass Server {\n  app = express();\n"
                 "  constructor() { this.security(); this.routes(); }\n"
                 "  private security(): void { this.app.use(helmet()); }\n"
                 "  routes() { this.app.get('/a', x); }\n  start() { this.app.listen(1); }\n}\n"
                 "new Server().start();\n"},
        PLAIN,
    ),
    "class in another file": (
        {"app.ts": "import express, { Application } from 'express';\nimport helmet from 'helmet';\n"
                   "export default class App {\n"
                   "  public app: Application;\n"
                   "  constructor(private port: number) { this.app = express(); this.init(); }\n"
                   "  private init() { this.app.use(helmet()); this.app.get('/a', x); }\n"
                   "  public listen() { this.app.listen(this.port); }\n}\n",
         "index.ts": "import App from './app';\nconst app = new App(3);\napp.listen();\n"},
        PLAIN,
    ),
    "class with arrow fields and a server": (
        {"a.ts": "import express from 'express';\nimport http from 'http';\nimport helmet from 'helmet';\nclass S {\n"
                 "  private app; private server;\n  constructor() { this.app = express(); this.init();\n"
                 "    this.server = http.createServer(this.app); }\n"
                 "  init = () => { this.app.use(helmet()); this.app.get('/a', x); };\n"
                 "  start = async () => { this.server.listen(1); };\n}\nconst s = new S();\ns.start();\n"},
        PLAIN,
    ),
    "loaders, three files deep": (
        {"app.ts": "import express from 'express';\nasync function start() {\n  const app = express();\n"
                   "  await require('./loaders').default({ server: app });\n  app.listen(1);\n}\nstart();\n",
         "loaders/index.ts": "import web from './web';\n"
                             "export default async ({ server }) => { await web({ app: server }); };\n",
         "loaders/web.ts": "import helmet from 'helmet';\nexport default ({ app }: { app: any }) => {\n"
                           "  app.use(helmet());\n  app.get('/a', x);\n};\n"},
        PLAIN,
    ),
    "made in two branches": (
        {"a.js": EXPRESS + "let app;\nif (tls) { app = express(); } else { app = express(); }\napp.get('/a', x);\n"},
        ["app conditional", "app conditional", "route GET /a"],
    ),
    "factory": (
        {"app.js": EXPRESS + "const helmet = require('helmet');\nfunction createApp(options) {\n"
        "  const app = express();\n"
                   "  app.use(helmet());\n  app.get('/a', x);\n  return app;\n}\nmodule.exports = createApp;\n",
         "index.js": "const createApp = require('./app');\nconst app = createApp({ a: 1 });\napp.listen(1);\n"},
        PLAIN,
    ),
    "async factory": (
        {"app.ts": "import express from 'express';\nimport helmet from 'helmet';\n"
                   "export const build = async () => {\n"
                   "  const app = express();\n  app.use(helmet());\n  app.get('/a', x);\n  return app;\n};\n",
         "index.ts": "import { build } from './app.js';\n(async () => {\n  const app = await build();\n"
                     "  app.listen(1);\n})();\n"},
        PLAIN,
    ),
    "factory that nobody calls": (
        {"app.js": EXPRESS + "const helmet = require('helmet');\nexports.createApp = () => {\n"
        "  const app = express();\n"
                   "  app.use(helmet());\n  app.get('/a', x);\n  app.listen(1);\n  return app;\n};\n"},
        PLAIN,
    ),
    "functions that take the application": (
        {"a.js": EXPRESS + "const { secure } = require('./secure');\nconst app = express();\nsecure(app);\n"
                 "require('./routes')(app);\napp.listen(1);\n",
         "secure.js": "const h = require('helmet');\nexports.secure = (server) => { server.use(h()); };\n",
         "routes.js": "module.exports = function (application) {\n  application.get('/a', x);\n};\n"},
        PLAIN,
    ),
    "application in an object": (
        {"a.ts": "import express from 'express';\nimport setup from './setup';\nconst app = express();\n"
                 "setup({ app, port: 1 });\napp.listen(1);\n",
         "setup.ts": "import helmet from 'helmet';\nexport default function ({ app }) {\n  app.use(helmet());\n"
                     "  app.get('/a', x);\n}\n"},
        PLAIN,
    ),
    "function over the module's application": (
        {"a.js": EXPRESS + "const app = express();\nfunction middleware() { app.use(require('helmet')()); }\n"
                 "const routes = () => { app.get('/a', x); };\nmiddleware();\nroutes();\napp.listen(1);\n"},
        PLAIN,
    ),
    "routes import the application": (
        {"app.js": "import express from 'express';\nimport helmet from 'helmet';\n"
                   "export const app = express();\napp.use(helmet());\n",
         "routes.js": "import { app } from './app.js';\napp.get('/a', x);\n",
         "server.js": "import { app } from './app.js';\nimport './routes.js';\napp.listen(1);\n"},
        PLAIN,
    ),
    "callback": (
        {"a.js": EXPRESS + "const app = express();\napp.use(require('helmet')());\napp.get('/a', x);\n"
                 "mongoose.connect(url).then(() => { app.listen(1); }).catch(e => process.exit(1));\n"},
        PLAIN,
    ),
    "chained": (
        {"a.js": EXPRESS + "const app = express();\napp.use(require('helmet')()).get('/a', x).listen(1);\n"},
        PLAIN,
    ),
    "array of middleware from a module": (
        {"a.js": EXPRESS + "const app = express();\napp.use(require('./security'));\napp.get('/a', x);\n"
        "app.listen(1);\n",
         "security.js": "const helmet = require('helmet');\nmodule.exports = [helmet(), require('cors')()];\n"},
        ["app", "use helmet#default", "use cors#default", "route GET /a", "listen"],
    ),
    "middleware in a variable of another module": (
        {"a.ts": "import express from 'express';\nimport { secure } from './mw';\nconst app = express();\n"
                 "app.use(secure);\n"
                 "app.get('/a', x);\napp.listen(1);\n",
         "mw/index.ts": "export { secure } from './secure';\n",
         "mw/secure.ts": "import helmet from 'helmet';\nexport const secure = helmet({ hsts: false });\n"},
        PLAIN,
    ),
    "middleware from a local function": (
        {"a.js": EXPRESS + "const app = express();\nconst secure = () => require('helmet')();\napp.use(secure());\n"
                 "app.get('/a', x);\napp.listen(1);\n"},
        PLAIN,
    ),
    "middleware that hands on": (
        {"a.js": EXPRESS + "const helmet = require('helmet');\nconst h = helmet();\nconst app = express();\n"
                 "app.use((req, res, next) => h(req, res, next));\napp.get('/a', x);\napp.listen(1);\n"},
        PLAIN,
    ),
    "conditional": (
        {"a.js": EXPRESS + "const app = express();\nif (prod) { app.use(require('helmet')()); }\n"
                 "dev && app.use(require('morgan')('dev'));\napp.get('/a', x);\n"},
        ["app", "use helmet#default conditional", "use morgan#default conditional", "route GET /a"],
    ),
    "routers": (
        {"a.js": EXPRESS + "const app = express();\nconst users = require('./routes/users');\n"
                 "app.use('/api', require('cors')(), auth, users);\napp.use(express.static('public'));\n",
         "routes/users.js": "const { Router } = require('express');\nconst router = Router();\n"
                            "const deep = new Router();\n"
                            "deep.delete('/d', x);\nrouter.get('/', x);\nrouter.use('/n', deep);\n"
                            "module.exports = router;\n"},
        ["app", "use /api cors#default", "use /api auth", "mount /api", "route GET /api", "mount /api/n",
         "route DELETE /api/n/d", "static express#static"],
    ),
    "router from a factory, twice": (
        {"a.js": EXPRESS + "const app = express();\nfunction crud(model) {\n  const r = express.Router();\n"
                 "  r.get('/', model.list);\n  return r;\n}\napp.use('/u', crud(User));\n"
                 "app.use('/p', crud(Post));\n"},
        ["app", "mount /u", "route GET /u", "mount /p", "route GET /p"],
    ),
    "route objects": (
        {"a.js": EXPRESS + "const app = express();\napp.route('/x').get(a).post(b);\n"
        "const r = app.route('/y');\nr.put(c);\n"
                 "app.all(['/m', '/n'], d);\n"},
        ["app", "route GET /x", "route POST /x", "route PUT /y", "route ALL /m", "route ALL /n"],
    ),
    "a setting is no route": (
        {"a.js": EXPRESS + "const app = express();\napp.get('env');\napp.set('x', 1);\napp.get('/a', x);\n"},
        ["app", "route GET /a"],
    ),
    "loop over routes": (
        {"a.js": EXPRESS + "const app = express();\nconst a = require('./r');\n"
        "const routes = [{ path: '/a', router: a }];\n"
                 "for (const { path, router } of routes) app.use(path, router);\n"
                 "routes.forEach((r) => app.use('/2' + r.path, r.router));\n",
         "r.js": EXPRESS + "const r = express.Router();\nr.get('/', x);\nmodule.exports = r;\n"},
        ["app", "mount /a", "route GET /a", "mount /2/a", "route GET /2/a"],
    ),
    "what cannot be seen": (
        {"a.js": EXPRESS + "const setup = require('@acme/setup');\nconst app = express();\nsetup(app);\n"
                 "for (const r of list) app.use(r.path, r.router);\napp.use(require('./' + name));\n"
                 "app[verb]('/x', h);\n"
                 "app.get(prefix, h);\n"},
        ["app", "other? ? ? ?", "use? ? ?", "use? ?", "route ? ?", "route GET ?"],
    ),
    "packages that serve an application": (
        {"a.js": EXPRESS + "const serverless = require('serverless-http');\nconst app = express();\n"
        "app.get('/a', x);\n"
                 "module.exports.handler = serverless(app);\nconst io = require('socket.io')(app);\n"
                 "console.log(app);\n"},
        ["app", "route GET /a"],
    ),
    "fastapi": (
        {"main.py": "from fastapi import FastAPI\nfrom fastapi.middleware.cors import CORSMiddleware\n"
                    "from routes import users\n"
                    "import uvicorn\n\napp = FastAPI()\napp.include_router(users.router, prefix='/api')\n\n"
                    "@app.get('/a')\nasync def a(): ...\n\n"
                    "app.add_middleware(CORSMiddleware, allow_origins=['*'])\n\n"
                    "if __name__ == '__main__':\n    uvicorn.run('main:app', port=1)\n",
         "routes/__init__.py": "",
         "routes/users.py": "from fastapi import APIRouter\nrouter = APIRouter(prefix='/users')\n\n"
                            "@router.post('/')\ndef make(): ...\n"},
        ["app", "use fastapi.middleware.cors#CORSMiddleware", "mount /api",
         "route POST /api/users/", "route GET /a", "listen"],
    ),
    "fastapi factory": (
        {"app/__init__.py": "", "app/main.py": "from .factory import create_app\napp = create_app()\n",
         "app/factory.py": "from fastapi import FastAPI\nfrom starlette.middleware import Middleware\n"
                           "from starlette.middleware.cors import CORSMiddleware as C\nfrom app.routes import add\n\n"
                           "def create_app() -> FastAPI:\n"
                           "    app = FastAPI(middleware=[Middleware(C, allow_origins=[])])\n"
                           "    add(app)\n    return app\n",
         "app/routes.py": "def add(application):\n"
                          "    application.add_api_route('/a', handler, methods=['GET', 'PUT'])\n"},
        ["app", "use fastapi.middleware.cors#CORSMiddleware", "route GET /a", "route PUT /a"],
    ),
    "flask": (
        {"src/shop/__init__.py": "from flask import Flask\nfrom flask_cors import CORS\nfrom .views import bp\n\n"
                                 "def create_app():\n    app = Flask(__name__)\n    CORS(app)\n"
                                 "    app.register_blueprint(bp, url_prefix='/v')\n"
                                 "    @app.route('/', methods=['GET', 'POST'])\n"
                                 "    def index(): return ''\n    return app\n",
         "src/shop/views.py": "from flask import Blueprint\nbp = Blueprint('b', __name__, url_prefix='/old')\n\n"
                              "@bp.route('/u')\ndef u(): return ''\n",
         "wsgi.py": "from shop import create_app\napp = create_app()\napp.run()\n"},
        ["app", "use flask_cors#CORS", "mount /v", "route GET /v/u", "route GET /", "route POST /", "listen"],
    ),
    "flask, current_app": (
        {"app/__init__.py": "from flask import Flask\n\ndef create_app():\n    app = Flask(__name__)\n"
                            "    with app.app_context():\n        from . import views\n    return app\n",
         "app/views.py": "from flask import current_app as app\n\n@app.get('/a')\ndef a(): return ''\n",
         "run.py": "from app import create_app\napp = create_app()\napp.run()\n"},
        ["app", "route GET /a", "listen"],
    ),
    "starlette": (
        {"a.py": "from starlette.applications import Starlette\nfrom starlette.routing import Mount, Route\n"
                 "from starlette.staticfiles import StaticFiles\n\napp = Starlette(routes=[Route('/a', a), "
                 "Mount('/m', routes=[Route('/b', b)]), Mount('/s', app=StaticFiles(directory='s'))])\n"},
        ["app", "route GET /a", "mount /m", "route GET /m/b", "static /s fastapi.staticfiles#StaticFiles"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SPELLINGS)
def test_events_in_run_order(name: str) -> None:
    files, expected = SPELLINGS[name]
    assert told(rows_of({**PACKAGE, **files})) == expected


def test_test_files_make_no_applications() -> None:
    files = {"a.test.js": EXPRESS + "const app = express();\napp.get('/a', x);\n", **PACKAGE}
    assert rows_of(files) == ()


def test_row_of_a_route_in_a_mounted_router() -> None:
    files, _ = SPELLINGS["routers"]
    row = next(r for r in rows_of({**PACKAGE, **files}) if r.values["METHOD"] == "DELETE")
    text = files["routes/users.js"]
    assert row.path == "routes/users.js"
    assert row.values["APP"] == "a.js#app"
    assert row.values["ROUTER"] == "routes/users.js#deep"
    assert row.values["APP_NAME"] == "deep"
    assert {name: text[slice(*span)] for name, span in row.spans.items()} == {
        "STATEMENT": "deep.delete('/d', x);",
        "CALL": "deep.delete('/d', x)",
        "METHOD": "delete",
        "PATH": "'/d'",
        "HANDLER": "x",
    }


def test_router_without_application_has_an_opaque_application() -> None:
    rows = rows_of({"r.js": EXPRESS + "const r = express.Router();\nr.get('/a', x);\nmodule.exports = r;\n", **PACKAGE})
    assert [(r.values["APP"], r.opaque) for r in rows] == [(None, ("APP", "ARITY", "ASYNC"))]


def test_application_name_at_the_event() -> None:
    files, _ = SPELLINGS["class with methods"]
    rows = rows_of({**PACKAGE, **files})
    assert {r.values["APP_NAME"] for r in rows if r.values["KIND"] == "use"} == {"this.app"}
    assert {r.values["APP"] for r in rows} == {"a.ts#app"}


@pytest.mark.parametrize(
    ("handler", "arity", "leaks"),
    [
        ("(err, req, res, next) => res.status(500).json({ error: err.stack })", 4, "stack"),
        ("(err, req, res, next) => { res.status(500).send(err.message); }", 4, "message"),
        ("(err, req, res, next) => { const { message } = err; res.json({ message }); }", 4, "message"),
        ("(err, req, res, next) => { console.error(err.stack); res.status(500).json({ error: 'x' }); }", 4, "none"),
        ("(err, req, res, next) => { res.json({ s: process.env.NODE_ENV === 'production' ? undefined : err.stack }); }",
         4, "none"),
        ("(err, req, res, next) => { if (isDev) { res.send(err.stack); } else { res.send('x'); } }", 4, "none"),
        ("(err, req, res, next) => { res.status(err.status || 500).end(); }", 4, "none"),
        ("(err, req, res, next) => { const body = { s: err.stack }; res.json(body); }", 4, "stack"),
        ("(err, req, res, next) => { res.send(`oops ${err}`); }", 4, "message"),
        ("(err, req, res, next) => { if (res.headersSent) return next(err); send(err, res); }", 4, None),
        ("(err, req, res, next) => { if (err instanceof Bad) return res.json(err.message); res.end(); }", 4, "none"),
    ],
)  # fmt: skip
def test_what_an_error_handler_leaks(handler: str, arity: int, leaks: str | None) -> None:
    rows = rows_of({"a.js": EXPRESS + f"const app = express();\napp.use({handler});\n", **PACKAGE})
    row = rows[1]
    assert (row.values["KIND"], row.values["ARITY"], row.values["LEAKS"]) == ("error_handler", arity, leaks)
    assert ("LEAKS" in row.opaque) == (leaks is None)


def test_three_parameters_are_no_error_handler() -> None:
    rows = rows_of({"a.js": EXPRESS + "const app = express();\napp.use((err, req, res) => res.end());\n", **PACKAGE})
    assert (rows[1].values["KIND"], rows[1].values["ARITY"]) == ("use", 3)


@pytest.mark.parametrize(
    ("body", "leaks"),
    [
        ("return JSONResponse({'detail': str(exc)}, status_code=500)", "message"),
        ("return JSONResponse({'detail': traceback.format_exc()})", "stack"),
        ("logger.exception(exc)\n    return JSONResponse({'detail': 'error'})", "none"),
        ("return JSONResponse(content={'detail': f'{exc}'})", "message"),
    ],
)
def test_what_a_python_error_handler_leaks(body: str, leaks: str) -> None:
    source = (
        "import traceback\nfrom fastapi import FastAPI\nfrom fastapi.responses import JSONResponse\napp = FastAPI()\n"
        f"@app.exception_handler(Exception)\nasync def handle(request, exc):\n    {body}\n"
    )
    row = next(r for r in rows_of({"a.py": source}) if r.values["KIND"] == "error_handler")
    assert (row.values["LEAKS"], row.values["CATCHES"]) == (leaks, "Exception")


def test_what_a_route_applies_first() -> None:
    files = {
        "limits.js": "const rateLimit = require('express-rate-limit');\nmodule.exports = rateLimit({ max: 1 });\n",
        "a.js": EXPRESS + "const limit = require('./limits');\nconst app = express();\nfunction own(q, s, n) {}\n"
        "app.post('/login', limit, own, (q, s) => s.end());\n",
    }
    row = next(r for r in rows_of({**PACKAGE, **files}) if r.values["KIND"] == "route")
    assert row.values["MIDDLEWARE"] == ["express-rate-limit#default", "local:a.js#own"]


def test_after_a_change_only_the_changed_file_counts_again() -> None:
    files, _ = SPELLINGS["functions that take the application"]
    before = MemorySnapshot.of({**PACKAGE, **files})
    project = Project(before)
    facts = project.view(project.roots[0])
    assert "use helmet#default" in told(facts.rows(EVENTS))
    changed = MemorySnapshot.of({**PACKAGE, **files, "secure.js": "exports.secure = (server) => {};\n"})
    after = project.after(changed, ["secure.js"])
    assert "use helmet#default" not in told(after.view(after.roots[0]).rows(EVENTS))
    unchanged = project.after(MemorySnapshot.of({**PACKAGE, **files, "other.js": "f();\n"}), ["other.js"])
    assert told(unchanged.view(unchanged.roots[0]).rows(EVENTS)) == told(facts.rows(EVENTS))


def identity(rows: tuple[Row, ...]) -> list[tuple[Any, ...]]:
    """What must survive every rewriting that keeps the meaning."""
    columns = ("KIND", "METHOD", "PATH", "CALLEE")
    found = [tuple("local" if str(r.values[c]).startswith("local:") else r.values[c] for c in columns) for r in rows]
    return sorted(found, key=str)


EVENTS_OF_BODY = [
    "{a}.use({h}());",
    "{a}.use(express.json());",
    "{a}.get('/x', (req, res) => res.end());",
    "{a}.use('/api', {r});",
    "{a}.use((err, req, res, next) => res.end());",
    "{a}.post('/y', {h}(), (req, res) => res.end());",
]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from(EVENTS_OF_BODY), max_size=6, unique=True),
    st.sampled_from(["app", "server", "$web", "прил"]),
    st.sampled_from(["h", "helmet", "_sec"]),
    st.sampled_from(["\n", "\n\n// a comment\n", "\r\n/* é */\r\n"]),
    st.booleans(),
)
def test_renaming_moving_and_spacing_change_nothing(
    body: list[str], app: str, helmet: str, gap: str, moved: bool
) -> None:
    head = "const express = require('express');\nconst r = express.Router();\nr.get('/in', (q, s) => s.end());\n"
    lines = [line.format(a="app", h="helmet", r="r") for line in body]
    plain = (
        head + "const helmet = require('helmet');\nconst app = express();\n" + "\n".join(lines) + "\napp.listen(1);\n"
    )
    named = [line.format(a=app, h=helmet, r="r") for line in body]
    start = head + f"const {helmet} = require('helmet');\nconst {app} = express();{gap}"
    if moved:
        files = {
            "a.js": start + f"require('./b')({app}, r);{gap}{app}.listen(1);\n",
            "b.js": f"const express = require('express');\nconst {helmet} = require('helmet');\n"
            f"module.exports = ({app}, r) => {{{gap}{gap.join(named)}{gap}}};\n",
        }
    else:
        files = {"a.js": start + gap.join(named) + f"{gap}{app}.listen(1);\n"}
    assert identity(rows_of({**PACKAGE, **files})) == identity(rows_of({**PACKAGE, "a.js": plain}))


FRAGMENTS = [
    "express()", "require('express')", "const app = ", "app", ".use(", ".get('/x', ", ")", "(", "{", "}", "=>",
    "async ",
    "function f(", "class A {", "this.app", "= ", "...", "[", "]", "`${", "`", "\n"
    "", ";", "return ", "await ", "f(f", "new ",
    "import x from 'express'", "export default ", "module.exports = ", "@app.get('/')", "def f():\n    ", "FastAPI()",
    "from fastapi import FastAPI\n", "app = app", "for (const r of ", "?.", "||", "é", "\u2028",
]  # fmt: skip


@settings(max_examples=120, deadline=None)
@given(st.lists(st.sampled_from(FRAGMENTS), max_size=25), st.sampled_from(["a.js", "a.ts", "a.tsx", "a.py"]))
def test_garbage_never_raises(pieces: list[str], path: str) -> None:
    rows_of({**PACKAGE, path: "".join(["// express fastapi\n" if path != "a.py" else "# fastapi\n", *pieces])})


def test_damage_may_hide_anything() -> None:
    rows = rows_of({"a.js": EXPRESS + "const app = express();\napp.get('/a', x);\napp.use(helmet(;\n", **PACKAGE})
    hidden = [r for r in rows if r.values["KIND"] == "other"]
    assert [set(r.opaque) >= {"KIND", "CALLEE", "SEQ"} for r in hidden] == [True]


def test_recursion_ends() -> None:
    source = EXPRESS + (
        "const app = express();\nfunction a(x) { b(x); x.use(m()); }\nfunction b(x) { a(x); }\na(app);\n"
        "const x = y; const y = x; app.use(x);\nfunction make() { return make(); }\napp.use(make());\n"
    )
    assert told(rows_of({"a.js": source, **PACKAGE}))[0] == "app"
