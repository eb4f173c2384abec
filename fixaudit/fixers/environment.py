"""How a program reads its environment: who reads a key already, what loads `.env`, how a read is written.

Contract: answers are about the tree before the first step of a fix, so that a read which the fix itself adds is not
taken for a user of the key. "Nothing loads it" only decides how a read is written and what a person is told.
This module must not know of rules or of secrets.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterator
from dataclasses import dataclass
from typing import Any

from fixaudit.facts import Facts
from fixaudit.fixers.base import Situation
from fixaudit.projects import Root, owner
from fixaudit.relations import registry
from fixaudit.relations.base import Row
from fixaudit.source.ir import Call, Expr, Member, Module, Name, Statement, dotted, walk


@dataclass(frozen=True, slots=True)
class Loader:
    """What puts the lines of `.env` into the environment of this program.

    `early`: it runs before any other module of the program is evaluated (a flag of the runtime, or a call or import
    for its effect that stands before all imports of the program's own modules).
    """

    what: str
    path: str
    early: bool
    position: int = 0  # of the call in `path`


FRAMEWORKS = ("next", "nuxt", "vite", "react-scripts", "astro", "@remix-run/dev", "@nestjs/config", "gatsby")
"""Packages whose own command reads `.env` before it starts the program (their documentation, 2026)."""

_ENV_FILE_FLAG = re.compile(r"--env-file(?:-if-exists)?[= ]|\bdotenvx? |(?:-r|--require|--import)[= ]dotenv/config")
_COMPOSE = re.compile(r"^\s*env_file\s*:", re.MULTILINE)


def declared_readers(situation: Situation, key: str) -> tuple[Row, ...]:
    """Return the rows that read `key` in the tree before this fix."""
    facts = situation.origin or situation.facts
    relation = registry().get("env_read")
    return tuple(row for row in facts.rows(relation) if row.values.get("KEY") == key) if relation else ()


def home(facts: Facts, path: str) -> Root:
    """Return the root that a file belongs to, also when the facts are those of the whole repository."""
    return owner(facts.project.roots, path)


def loader(facts: Facts, root: Root, language: str) -> Loader | None:
    """Return what loads `.env` for the programs of a root, the earliest one; None when nothing was found."""
    view = facts.project.view(root)
    found = list(_python_loaders(view) if language == "python" else _node_loaders(view))
    found += _compose_loaders(view)
    return min(found, key=lambda item: (not item.early, item.path, item.position), default=None)


def _node_loaders(view: Facts) -> Iterator[Loader]:
    manifest = view.text(view.root.join("package.json"))
    package = _json(manifest.content) if manifest else {}
    scripts = package.get("scripts")
    for name, command in sorted(scripts.items()) if isinstance(scripts, dict) else ():
        if name in ("start", "dev", "serve") and isinstance(command, str) and _ENV_FILE_FLAG.search(command):
            yield Loader("--env-file", view.root.join("package.json"), True)
    declared = {**_table(package, "devDependencies"), **_table(package, "dependencies")}
    for name in FRAMEWORKS:
        if name in declared:
            yield Loader(name, view.root.join("package.json"), True)
    for file in view.programs(b"dotenv", b"loadEnvFile"):
        module = file.module
        if module is None or file.kind.language == "python":
            continue
        for item in module.imports:
            if item.module == "dotenv/config":
                yield Loader("dotenv/config", file.path, _comes_first(module, item.span[0], ()), item.span[0])
        for call in _calls(module):
            if _is_node_load(call, module):
                # The imports of an ES module are evaluated before its first statement, wherever they stand.
                place = len(file.data) if module.system == "esm" else call.span[0]
                yield Loader("dotenv", file.path, _comes_first(module, place, ()), call.span[0])


def _comes_first(module: Module, position: int, own: Container[str]) -> bool:
    """Say whether no module of the program is imported before a place of this one. `own`: its top-level names."""
    return not any(
        item.module.startswith(".") or item.module.partition(".")[0] in own
        for item in module.imports
        if item.span[0] < position and not item.type_only
    )


def _is_node_load(call: Call, module: Module) -> bool:
    name = dotted(call.callee)
    if name == "process.loadEnvFile":
        return True
    locals_ = {item.local: item.export for item in module.imports if item.module in ("dotenv", "dotenv-expand")}
    if isinstance(call.callee, Member) and call.callee.name in ("config", "configDotenv"):
        inner = call.callee.object
        if isinstance(inner, Name):
            return inner.name in locals_
        if isinstance(inner, Call) and dotted(inner.callee) == "require":
            return any(getattr(a.value, "value", None) == "dotenv" for a in inner.arguments)
    return name is not None and locals_.get(name) in ("config", "configDotenv")


def _python_loaders(view: Facts) -> Iterator[Loader]:
    # python-decouple and pydantic's env_file hand values out themselves and leave os.environ alone.
    own = {
        view.root.relative(path).partition("/")[0].removesuffix(".py") for path in view.paths if path.endswith(".py")
    }
    for file in view.programs(b"load_dotenv", b"read_env"):
        module = file.module
        if module is None or file.kind.language != "python":
            continue
        for call in _calls(module):
            name = dotted(call.callee) or ""
            if name.rpartition(".")[2] in ("load_dotenv", "read_env"):
                early = _comes_first(module, call.span[0], own)
                yield Loader(name.rpartition(".")[2], file.path, early, call.span[0])
    for name in ("requirements.txt", "pyproject.toml", "Pipfile"):
        text = view.text(view.root.join(name))
        content = text.content.lower() if text else ""
        # `flask run` reads .env by itself when python-dotenv is installed (Flask's documentation of the CLI).
        if "python-dotenv" in content and re.search(r"^[\"' ]*flask\b", content, re.MULTILINE):
            yield Loader("flask run", view.root.join(name), True)


def _compose_loaders(view: Facts) -> Iterator[Loader]:
    for name in ("compose.yaml", "compose.yml", "docker-compose.yaml", "docker-compose.yml"):
        text = view.text(view.root.join(name))
        if text and _COMPOSE.search(text.content):
            yield Loader("env_file", view.root.join(name), True)


def start_advice(facts: Facts, root: Root, language: str, key: str) -> tuple[str, str | None]:
    """Say how to start the program with `.env` when nothing loads it: a sentence and one command."""
    if language == "python":
        return (
            f"nothing loads .env here: export {key} before the program starts",
            "set -a; . ./.env; set +a",
        )
    manifest = facts.text(root.join("package.json"))
    scripts = _json(manifest.content).get("scripts") if manifest else None
    start = scripts.get("start") if isinstance(scripts, dict) else None
    if isinstance(start, str) and re.match(r"node\s", start):
        command = re.sub(r"^node\s", "node --env-file=.env ", start)
    else:
        command = "node --env-file=.env <entry>"
    return f"nothing loads .env here: start with --env-file (Node 20.6 or newer) or export {key}", command


def knows_process(facts: Facts, path: str) -> bool:
    """Say whether a TypeScript file's project brings the types of Node (or of Bun, which includes them)."""
    parts = path.split("/")[:-1]
    for depth in range(len(parts), -1, -1):
        text = facts.text("/".join([*parts[:depth], "package.json"]))
        package = _json(text.content) if text else {}
        declared = {**_table(package, "dependencies"), **_table(package, "devDependencies")}
        if not declared.keys().isdisjoint(("@types/node", "@types/bun", "bun-types", "next")):
            return True
    return False


def _calls(module: Module) -> Iterator[Call]:
    bodies = (module.body, *(function.body for function in module.functions))
    for body in bodies:
        for statement in body:
            for expression in _expressions(statement):
                yield from (node for node in walk(expression) if isinstance(node, Call))


def _expressions(statement: Statement) -> Iterator[Expr]:
    if statement.value is not None:
        yield statement.value
    for target in statement.targets:
        if target.default is not None:
            yield target.default


def _json(content: str) -> dict[str, Any]:
    try:
        value = json.loads(content)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _table(package: dict[str, Any], name: str) -> dict[str, Any]:
    value = package.get(name)
    return value if isinstance(value, dict) else {}
