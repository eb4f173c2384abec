"""SEC-002, SEC-003, API-003 and ENV-002 on whole programs: fixed with every shipped rule looking on, then started."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from fixaudit.audit import Audit, Finding, audit, audit_after
from fixaudit.issues import Tracker
from fixaudit.relations.app_events import RELATIONS
from fixaudit.rulebook.exercise import planned
from fixaudit.rulebook.load import load_rulebook
from fixaudit.rulebook.rule import Rulebook
from fixaudit.snapshot import ChangeSet, MemorySnapshot, Overlay
from fixaudit.verify import verify

WEB = ("SEC-002", "SEC-003", "API-003", "ENV-002")
NODE = shutil.which("node")


@cache
def book(*ids: str) -> Rulebook:
    whole = load_rulebook([])
    return replace(whole, rules=tuple(rule for rule in whole.rules if not ids or rule.id in ids))


def judged(files: Mapping[str, str], *ids: str) -> Audit:
    return audit(book(*(ids or WEB)), MemorySnapshot.of(dict(files)))


def fixed(files: Mapping[str, str]) -> tuple[dict[str, str], Audit, list[str]]:
    """Fix the web rules one issue at a time, each change verified against every shipped rule."""
    everything = book()
    overlay = Overlay(MemorySnapshot.of(dict(files)))
    now = audit(everything, overlay)
    refused: list[str] = []
    touched = set(files)
    for _ in range(30):
        tracker = Tracker("match")
        tracker.start(now)
        issue = next((i for i in tracker.issues() if i.rule in WEB and i.first.message not in refused), None)
        if issue is None:
            break
        rule = everything.rule(issue.rule)
        assert rule is not None
        change = planned(issue, rule, now)
        if not isinstance(change, ChangeSet):
            refused.append(issue.first.message)
            continue
        assert not change.is_empty(), issue.first.message
        overlay = overlay.apply(change)
        after = audit_after(now, overlay, change.paths())
        verdict = verify(now, after, rule, issue.findings, change, lambda place: True)
        assert verdict.kept, (issue.first.message, verdict)
        touched |= set(change.paths())
        now = after
    return {path: (overlay.read(path) or b"").decode() for path in sorted(touched)}, now, refused


def left(now: Audit) -> list[tuple[str, str]]:
    found: list[Finding] = [*now.findings, *now.undecided]
    return [(finding.rule, finding.message) for finding in found if finding.rule in WEB]


PACKAGE = '{\n  "name": "shop",\n  "dependencies": {\n    "cors": "^2.8.5",\n    "express": "^5.1.0"\n  }\n}\n'
GIT = {".gitignore": "node_modules/\n.env\n"}

COMMONJS = {
    **GIT,
    "package.json": PACKAGE,
    "server.js": """\
#!/usr/bin/env node
'use strict';

const express = require('express');
const cors = require('cors');
const routes = require('./routes');

const app = express();

app.use(cors({ credentials: true, origin: true /* the shop */ }));
app.use(express.json());
app.use((err, req, res) => {
  res.status(500).json({ error: err.message, stack: err.stack });
});
app.use('/items', routes);
app.get('/boom', () => {
  throw new Error('secret place');
});

module.exports = app;
if (require.main === module) {
  app.listen(3000, '127.0.0.1', () => console.log('up'));
}
""",
    "routes/index.js": "const { Router } = require('express');\n\nconst router = Router();\n"
    "router.get('/', (req, res) => res.json([]));\nmodule.exports = router;\n",
}

COMMONJS_FIXED = """\
#!/usr/bin/env node
'use strict';

const express = require('express');
const cors = require('cors');
const routes = require('./routes');
const helmet = require('helmet');

const app = express();
app.use(helmet());

app.use(cors({ credentials: true, origin: (process.env.CORS_ORIGINS ?? '').split(',').filter(Boolean) }));
app.use(express.json());
app.use('/items', routes);
app.get('/boom', () => {
  throw new Error('secret place');
});
app.use((err, req, res, next) => {
  res.status(500).json({ error: err.message, stack: process.env.NODE_ENV === 'development' ? err.stack : undefined });
});

module.exports = app;
if (require.main === module) {
  app.listen(Number(process.env.PORT) || 3000, '127.0.0.1', () => console.log('up'));
}
"""

TYPESCRIPT = {
    **GIT,
    "package.json": PACKAGE,
    "src/app.ts": """\
import cors from "cors";
import express, { type Application } from "express";
import { config } from "./config";
import { books } from "./books";

export class Shop {
  public readonly app: Application = express();

  constructor() {
    this.middleware();
    this.routes();
  }

  private middleware(): void {
    this.app.use(cors({ origin: config.origin, credentials: true }));
    this.app.use(express.json());
  }

  private routes(): void {
    this.app.use("/books", books);
  }

  public start(): void {
    this.app.listen(config.port);
  }
}
""",
    "src/config.ts": 'export const config = {\n  port: 4000,\n  origin: process.env.FRONTEND ?? "*",\n} as const;\n',
    "src/books.ts": 'import { Router } from "express";\n\nexport const books = Router();\n'
    'books.get("/", (_request, response) => {\n  response.json([]);\n});\n',
    "src/index.ts": 'import { Shop } from "./app";\n\nnew Shop().start();\n',
}

FASTAPI = {
    ".gitignore": "__pycache__/\n.venv/\n.env\n",
    "requirements.txt": "fastapi\nuvicorn\n",
    "shop/__init__.py": "",
    "shop/main.py": '''\
"""The shop."""

from __future__ import annotations

import uvicorn
from fastapi import FastAPI
from fastapi.middleware.cors import CORSMiddleware

from shop import items


def create_app() -> FastAPI:
    api = FastAPI(debug=True)
    api.add_middleware(
        CORSMiddleware,
        allow_origins=["*"],
        allow_credentials=True,  # the session
    )
    api.include_router(items.router, prefix="/items")
    return api


app = create_app()

if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=9000)
''',
    "shop/items.py": "from fastapi import APIRouter\n\nrouter = APIRouter()\n\n\n@router.get(\"/\")\n"
    "def index() -> list[str]:\n    return []\n\n\n@router.get(\"/boom\")\n"
    "def boom() -> list[str]:\n    raise ValueError(\"secret place\")\n",
}  # fmt: skip

FASTAPI_FIXED = '''\
"""The shop."""

from __future__ import annotations

import logging
import os

import uvicorn
from fastapi import FastAPI, Request, Response
from fastapi.middleware.cors import CORSMiddleware
from fastapi.responses import JSONResponse
from starlette.middleware.base import RequestResponseEndpoint

from shop import items


def create_app() -> FastAPI:
    api = FastAPI(debug=False)

    @api.exception_handler(Exception)
    async def answer_error(request: Request, error: Exception) -> JSONResponse:
        log = logging.getLogger(__name__)
        log.error("%s %s failed", request.method, request.url.path, exc_info=error)
        return JSONResponse({"detail": "Internal Server Error"}, status_code=500)

    @api.middleware("http")
    async def set_security_headers(
        request: Request, call_next: RequestResponseEndpoint
    ) -> Response:
        response = await call_next(request)
        response.headers.setdefault("X-Content-Type-Options", "nosniff")
        response.headers.setdefault("X-Frame-Options", "DENY")
        response.headers.setdefault("Referrer-Policy", "no-referrer")
        return response

    api.add_middleware(
        CORSMiddleware,
        allow_origins=[o for o in os.environ.get("CORS_ORIGINS", "").split(",") if o],
        allow_credentials=True,  # the session
    )
    api.include_router(items.router, prefix="/items")
    return api


app = create_app()

if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(os.environ.get("PORT", "9000")))
'''


def test_a_commonjs_program_is_fixed_in_its_own_style() -> None:
    files = {**COMMONJS, "server.js": COMMONJS["server.js"].replace(" /* the shop */", "")}
    done, now, refused = fixed(files)
    assert (left(now), refused) == ([], [])
    assert done["server.js"] == COMMONJS_FIXED
    assert done["routes/index.js"] == files["routes/index.js"]
    assert done[".env.example"] == "CORS_ORIGINS=http://localhost:3000\nPORT=3000\n"
    assert '"express": "^5.1.0",\n    "helmet": "^' in done["package.json"]


def test_a_comment_beside_the_value_stays() -> None:
    done, now, _ = fixed(COMMONJS)
    assert left(now) == []
    assert "filter(Boolean) /* the shop */ }" in done["server.js"]


def test_a_typescript_class_is_fixed_where_its_parts_are() -> None:
    done, now, refused = fixed(TYPESCRIPT)
    assert done["src/config.ts"].count('process.env.FRONTEND ?? ""') == 1
    assert "port: Number(process.env.PORT) || 4000" in done["src/config.ts"]
    assert "    this.app.use(answerError);\n  }\n\n  public start()" in done["src/app.ts"]
    # Nothing can stand behind a field: the headers are set in front of what the application uses first.
    assert "    this.app.use(helmet());\n    this.app.use(cors(" in done["src/app.ts"]
    assert (left(now), refused) == ([], [])
    assert done["src/index.ts"] == TYPESCRIPT["src/index.ts"]


def test_a_fastapi_service_is_fixed_in_its_own_style() -> None:
    done, now, refused = fixed(FASTAPI)
    assert (left(now), refused) == ([], [])
    assert done["shop/main.py"] == FASTAPI_FIXED
    assert done[".env.example"] == "CORS_ORIGINS=http://localhost:3000\nPORT=9000\n"


@pytest.mark.parametrize("files", [COMMONJS, TYPESCRIPT, FASTAPI], ids=["commonjs", "typescript", "fastapi"])
def test_a_fixed_program_is_not_touched_again(files: dict[str, str]) -> None:
    once, _, refused = fixed(files)
    again, _, still = fixed(once)
    assert (again, still) == (once, refused)


@pytest.mark.parametrize("newline", ["\r\n", "\n"])
@pytest.mark.parametrize("mark", ["\ufeff", ""])
def test_line_endings_and_marks_stay(newline: str, mark: str) -> None:
    files = {path: text.replace("\n", newline) for path, text in COMMONJS.items()}
    files["server.js"] = mark + files["server.js"]
    done, now, _ = fixed(files)
    assert left(now) == []
    for path in files:
        assert done[path].count("\n") == done[path].count(newline), path
    assert done["server.js"].count("\ufeff") == len(mark)


# Urgency -------------------------------------------------------------------------------------------------------------


EXPRESS = "const express = require('express');\nconst cors = require('cors');\nconst app = express();\n"
STARLETTE = (
    "from fastapi import FastAPI\nfrom fastapi.middleware.cors import CORSMiddleware\napp = FastAPI()\n"
    "app.add_middleware(CORSMiddleware, "
)
POLICIES = [
    ("a.js", EXPRESS + "app.use(cors());\n", "P3", "unsafe"),
    ("a.js", EXPRESS + "app.use(cors({ origin: '*' }));\n", "P3", "unsafe"),
    ("a.js", EXPRESS + "app.use(cors({ origin: true, credentials: true }));\n", "P0", "safe"),
    ("a.js", EXPRESS + "app.use(cors({ credentials: true }));\n", "P0", "safe"),
    ("a.js", EXPRESS + "app.use(cors({ origin: process.env.O || '*', credentials: true }));\n", "P0", "safe"),
    ("a.py", STARLETTE + 'allow_origins=["*"])\n', "P3", "unsafe"),
    ("a.py", STARLETTE + 'allow_origins=["*"], allow_credentials=True)\n', "P0", "safe"),
    ("a.py", STARLETTE + 'allow_origin_regex=".*", allow_credentials=True)\n', "P0", "safe"),
]


@pytest.mark.parametrize(("path", "source", "priority", "safety"), POLICIES)
def test_how_bad_an_open_policy_is(path: str, source: str, priority: str, safety: str) -> None:
    (finding,) = judged({"package.json": "{}", path: source}, "SEC-003").findings
    rule = book("SEC-003").rules[0]
    variant = next(v for v in rule.variants if v.name == finding.variant)
    assert rule.fix is not None
    assert (finding.priority, variant.safety or rule.fix.safety) == (priority, safety)


def test_a_wildcard_is_not_hidden_by_credentials_that_cannot_be_read() -> None:
    found = judged({"package.json": "{}", "a.js": EXPRESS + "app.use(cors({ origin: '*', credentials: x() }));\n"})
    assert "SEC-003" in {finding.rule for finding in (*found.findings, *found.undecided)}


# What the rules stand on ---------------------------------------------------------------------------------------------


HEADERS = [
    ("require('helmet')()", True),
    ("require('helmet').hidePoweredBy()", False),
    ("require('helmet').hsts({ maxAge: 1 })", True),
    ("limiter({ max: 1 })", False),
    ("unless(require('helmet')(), '/x')", True),
    ("(q, s, n) => { s.setHeader('X-Frame-Options', 'DENY'); n(); }", True),
    ("(q, s, n) => { s.removeHeader('X-Frame-Options'); n(); }", False),
    ("(q, s, n) => { /* X-Frame-Options */ n(); }", False),
    ("(q, s, n) => { s.set(MINE); n(); }", True),
    ("(q, s, n) => { require('helmet')()(q, s, n); }", True),
    ("made({ deny: true })", True),
    ("securityHeaders", None),
    ("require('@acme/protect')", None),
    ("require('./gone').middlewares", None),
    ("require('./gone').log", False),
]


@pytest.mark.parametrize(("middleware", "sets"), HEADERS)
def test_which_middleware_sets_headers(middleware: str, sets: bool | None) -> None:
    source = (
        EXPRESS + "const MINE = { 'X-Content-Type-Options': 'nosniff' };\n"
        "const made = (o) => (q, s, n) => { s.header('x-frame-options', o.deny ? 'DENY' : 'SAMEORIGIN'); n(); };\n"
        f"app.use({middleware});\n"
    )
    project = judged({"package.json": "{}", "a.js": source}).project
    rows = project.view(project.roots[0]).rows(RELATIONS[0])
    row = next(row for row in rows if row.values["KIND"] == "use")
    assert (None if "HEADERS" in row.opaque else bool(row.values["HEADERS"])) is sets


def test_a_mounted_application_stands_behind_the_headers_of_its_parent() -> None:
    source = (
        EXPRESS + "const api = express();\napi.get('/', h);\napp.use(require('helmet')());\napp.use('/api', api);\n"
    )
    assert left(judged({"package.json": "{}", "a.js": source}, "SEC-002")) == []
    late = source.replace("app.use(require('helmet')());\napp.use('/api', api);", "app.use('/api', api);")
    assert [rule for rule, _ in left(judged({"package.json": "{}", "a.js": late}, "SEC-002"))] == ["SEC-002"]


ROUTER = "const { Router } = require('express');\nconst r = Router();\nr.get('/', h);\nmodule.exports = r;\n"


def test_a_router_that_no_application_mounts_is_nobodys_fault() -> None:
    assert left(judged({"package.json": "{}", "r.js": ROUTER})) == []
    helped = EXPRESS + "app.use(require('helmet')());\napp.get('/', h);\napp.use((err, q, s, n) => s.end());\n"
    assert left(judged({"package.json": "{}", "r.js": ROUTER, "a.js": helped})) == []
    python = "from fastapi import APIRouter\nr = APIRouter()\n@r.get('/')\ndef a():\n    pass\n"
    assert left(judged({"requirements.txt": "fastapi\n", "r.py": python})) == []


def test_routers_that_are_found_at_run_time() -> None:
    mounts = "for (const name of names) app.use('/' + name, require('./routes/' + name));\n"
    late = "app.use((err, q, s, n) => s.end());\napp.listen(process.env.PORT);\n"
    helped = {
        "package.json": "{}",
        "routes/r.js": ROUTER,
        "a.js": EXPRESS + "app.use(require('helmet')());\n" + mounts + late,
    }
    assert left(judged(helped)) == []
    bare = judged({**helped, "a.js": EXPRESS + mounts + late})
    assert (bare.findings, [finding.rule for finding in bare.undecided]) == ((), ["SEC-002"])


# Started -------------------------------------------------------------------------------------------------------------


def _write(files: Mapping[str, str], place: Path) -> None:
    for path, text in files.items():
        target = place / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8", newline="")


@pytest.mark.skipif(NODE is None, reason="node is not here")
def test_fixed_javascript_is_javascript(tmp_path: Path) -> None:
    done, _, _ = fixed(COMMONJS)
    _write(done, tmp_path)
    assert NODE is not None
    checked = subprocess.run([NODE, "--check", "server.js"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr


def _answers(command: list[str], place: Path, port: int, origin: str) -> dict[str, tuple[int, dict[str, str], str]]:
    """Start a program, ask it two things, and stop it."""
    import os

    environment = {**os.environ, "PORT": str(port)}
    environment.pop("CORS_ORIGINS", None)
    environment.pop("NODE_ENV", None)
    running = subprocess.Popen(command, cwd=place, env=environment, stderr=subprocess.DEVNULL)
    found: dict[str, tuple[int, dict[str, str], str]] = {}
    try:
        for path in ("/items/", "/boom", "/items/boom"):
            request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers={"Origin": origin})
            for _ in range(100):
                try:
                    with urllib.request.urlopen(request, timeout=5) as answer:
                        found[path] = (answer.status, _lower(answer.headers.items()), answer.read().decode())
                    break
                except urllib.error.HTTPError as error:
                    found[path] = (error.code, _lower(error.headers.items()), error.read().decode())
                    break
                except OSError:
                    time.sleep(0.1)
    finally:
        running.kill()
        running.wait()
    return found


def _lower(pairs: object) -> dict[str, str]:
    return {name.lower(): value for name, value in pairs}  # type: ignore[attr-defined]


@pytest.mark.slow
def test_the_fixed_express_program_starts(tmp_path: Path) -> None:
    needed = "for (const p of ['express', 'cors', 'helmet']) require.resolve(p)"
    if NODE is None or subprocess.run([NODE, "-e", needed], capture_output=True, check=False).returncode:
        pytest.skip("express, cors and helmet are not on NODE_PATH")
    done, _, _ = fixed(COMMONJS)
    _write(done, tmp_path)
    answers = _answers([NODE, "server.js"], tmp_path, 39411, "https://evil.example.invalid")
    status, headers, _ = answers["/items/"]
    assert (status, headers["x-content-type-options"]) == (200, "nosniff")
    assert "access-control-allow-origin" not in headers
    status, _, body = answers["/boom"]
    assert status == 500
    assert "server.js" not in body


@pytest.mark.slow
def test_the_fixed_fastapi_service_starts(tmp_path: Path) -> None:
    pytest.importorskip("fastapi")
    pytest.importorskip("uvicorn")
    done, _, _ = fixed(FASTAPI)
    _write(done, tmp_path)
    answers = _answers([sys.executable, "-m", "shop.main"], tmp_path, 39412, "https://evil.example.invalid")
    status, headers, _ = answers["/items/"]
    assert (status, headers["x-content-type-options"], headers["x-frame-options"]) == (200, "nosniff", "DENY")
    assert "access-control-allow-origin" not in headers
    assert answers["/items/boom"][::2] == (500, '{"detail":"Internal Server Error"}')
