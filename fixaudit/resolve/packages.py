"""How one export of a package is named, whatever the spelling of its import.

Contract: text in, text out; the tables below are the only knowledge of packages that resolution has.
This module must not know of files or scopes.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

# Modules whose names are re-exported under a framework that people import them from as often; the right side counts.
# FastAPI documents these as "the same as starlette's" (https://fastapi.tiangolo.com/reference/middleware/).
MODULE_ALIASES: Mapping[str, str] = MappingProxyType(
    {
        "starlette.middleware.cors": "fastapi.middleware.cors",
        "starlette.middleware.gzip": "fastapi.middleware.gzip",
        "starlette.middleware.httpsredirect": "fastapi.middleware.httpsredirect",
        "starlette.middleware.trustedhost": "fastapi.middleware.trustedhost",
        "starlette.middleware": "fastapi.middleware",
        "starlette.responses": "fastapi.responses",
        "starlette.staticfiles": "fastapi.staticfiles",
        "starlette.requests": "fastapi.requests",
        "starlette.templating": "fastapi.templating",
        "starlette.testclient": "fastapi.testclient",
        "pydantic.v1": "pydantic",
        "flask_cors.extension": "flask_cors",
        "flask.app": "flask",
        "flask.blueprints": "flask",
        "fastapi.applications": "fastapi",
        "fastapi.routing": "fastapi",
        "fastapi.exceptions": "fastapi",
        "sqlalchemy.engine": "sqlalchemy",
        "sqlalchemy.sql": "sqlalchemy",
        "sqlalchemy.sql.expression": "sqlalchemy",
    }
)

# Named exports that are the same value as the default export.
EXPORT_ALIASES: Mapping[str, str] = MappingProxyType(
    {
        "express-rate-limit#rateLimit": "express-rate-limit#default",
        "express#express": "express#default",
        "express#application": "express#default",
        "pino#pino": "pino#default",
        "helmet#helmet": "helmet#default",
        "ioredis#Redis": "ioredis#default",
        "knex#knex": "knex#default",
        "starlette#Depends": "fastapi#Depends",
        "fastapi.params#Depends": "fastapi#Depends",
        "postgres#postgres": "postgres#default",
        "fastapi.responses#Request": "fastapi#Request",
        "fastapi.requests#Request": "fastapi#Request",
        "fastapi#RequestValidationError": "fastapi.exceptions#RequestValidationError",
    }
)

# `import os; os.path.join` and `from os import path` mean a module, though its name looks like any attribute's.
SUBMODULES = frozenset(
    {
        "os.path", "urllib.parse", "urllib.request", "urllib.error", "concurrent.futures", "logging.config",
        "logging.handlers", "xml.etree", "importlib.metadata", "email.mime", "http.client", "http.server",
    }
)  # fmt: skip


def module_name(specifier: str, python: bool) -> str:
    """Normalise a package specifier: `node:fs` is `fs`; a trailing `/index.js` or slash says nothing."""
    if python:
        return MODULE_ALIASES.get(specifier, specifier)
    name = specifier.removeprefix("node:").rstrip("/")
    for ending in ("/index.js", "/index.mjs", "/index.cjs"):
        name = name.removesuffix(ending)
    return name


def canonical(name: str, export: str, members: tuple[str, ...], python: bool) -> str:
    """Return "package#export.member"; for a global or builtin (no package) the dotted name alone.

    In JavaScript the namespace, the default import and the result of `require` are one thing, "pkg#default", and a
    member of it is a named export. In Python a lower-case attribute that holds a capitalised one is a module
    (`orm.Session` of sqlalchemy is "sqlalchemy.orm#Session").
    """
    path = [export, *members]
    if not name:
        return ".".join(part for part in path if part)
    while path and path[0] in ("*", "default"):
        path.pop(0)
    if python:
        while len(path) > 1 and (
            f"{name}.{path[0]}" in SUBMODULES or (path[0].islower() and path[1][:1].isupper() and "()" not in path[0])
        ):
            if name in ("os", "datetime", "typing") and f"{name}.{path[0]}" not in SUBMODULES:
                break
            name = f"{name}.{path.pop(0)}"
        name = MODULE_ALIASES.get(name, name)
    first = path[0] if path else ("*" if python else "default")
    head = f"{name}#{first}"
    return ".".join([EXPORT_ALIASES.get(head, head), *path[1:]])
