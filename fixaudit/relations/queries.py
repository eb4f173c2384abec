"""Relation `query`: statements that are sent to a database.

Contract: one row for each call (or tagged template) that sends one, with its driver found through imports. A receiver
that cannot be resolved counts only when it is called like a connection and is given something that looks like SQL, or
text that cannot be read. SQL is the text with white space normalised; holes are `?`; for an ORM it is the member chain
(`user.findMany`). This module must not know of rules.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from fixaudit.facts import Facts, SourceFile
from fixaudit.relations.base import Column, RootRelation, Row, Value
from fixaudit.relations.linked import LANGUAGES, marked, per_file
from fixaudit.relations.routing import handler_functions, registrations
from fixaudit.resolve.names import Resolver, positional
from fixaudit.resolve.sites import sites
from fixaudit.resolve.things import Frame
from fixaudit.resolve.values import value_of
from fixaudit.source.ir import Call, Expr, Member, Name, Other, Span, dotted, walk

COLUMNS = {
    "SQL": Column("text", "The statement, white space normalised, holes as ?; for an ORM its member chain."),
    "FORM": Column("text", "text (all of it is certain), template (it has holes), orm, opaque.",
                   ("text", "template", "orm", "opaque")),
    "RECEIVER": Column("text", "What the statement is sent through, as written: pool, db, prisma."),
    "DRIVER": Column("text", "pg, mysql2, prisma, sqlalchemy, django-orm …; null when only a name says it."),
    "METHOD": Column("text", "The method that sends it: query, execute, findMany."),
    "IN_ROUTE_FILE": Column("flag", "The file registers HTTP routes."),
    "HANDLER": Column("flag", "It stands inside of a function that the file registers for requests."),
    "LANGUAGE": Column("text", "Language of the file.", LANGUAGES),
}  # fmt: skip

# Package (before "#") → driver.
DRIVERS: Mapping[str, str] = {
    "pg": "pg", "pg-promise": "pg", "pg-native": "pg", "postgres": "postgres", "mysql": "mysql", "mysql2": "mysql2",
    "mysql2/promise": "mysql2", "mariadb": "mariadb", "sqlite3": "sqlite3", "better-sqlite3": "better-sqlite3",
    "sqlite": "sqlite3", "bun:sqlite": "sqlite3", "sqlite#open": "sqlite3", "knex": "knex", "@prisma/client": "prisma",
    "sequelize": "sequelize", "sequelize-typescript": "sequelize", "typeorm": "typeorm", "mongoose": "mongoose",
    "mongodb": "mongodb", "mssql": "mssql", "oracledb": "oracledb", "@vercel/postgres": "pg",
    "@neondatabase/serverless": "pg", "slonik": "slonik", "kysely": "kysely",
    "psycopg2": "psycopg2", "psycopg2.pool": "psycopg2", "psycopg": "psycopg", "psycopg_pool": "psycopg",
    "sqlalchemy": "sqlalchemy", "sqlalchemy.orm": "sqlalchemy", "sqlalchemy.ext.asyncio": "sqlalchemy",
    "flask_sqlalchemy": "sqlalchemy", "sqlmodel": "sqlalchemy", "pymysql": "pymysql", "MySQLdb": "mysqlclient",
    "mysql.connector": "mysql-connector", "asyncpg": "asyncpg", "aiosqlite": "aiosqlite", "databases": "databases",
    "django.db": "django", "django.db.models": "django-orm", "pymongo": "pymongo", "motor.motor_asyncio": "motor",
    "peewee": "peewee", "aiomysql": "aiomysql", "aiopg": "aiopg",
}  # fmt: skip

STATEMENTS = frozenset(
    {
        "query", "execute", "executemany", "executescript", "exec", "run", "all", "get", "each", "prepare",
        "raw", "fetch", "fetchrow", "fetchval", "fetch_all", "fetch_one", "fetch_val", "iterate", "any", "one",
        "none", "many", "oneOrNone", "manyOrNone", "result", "unsafe", "$queryRawUnsafe", "$executeRawUnsafe",
        "$queryRaw", "$executeRaw", "scalar", "scalars", "copy_expert", "exec_driver_sql", "stream",
    }
)  # fmt: skip
ORM = frozenset(
    {
        "findMany", "findUnique", "findFirst", "findUniqueOrThrow", "findFirstOrThrow", "create", "createMany",
        "update",
        "updateMany", "delete", "deleteMany", "upsert", "count", "aggregate", "groupBy", "find", "findOne", "findById",
        "findByPk", "findAll", "findAndCountAll", "findOrCreate", "findOneAndUpdate", "findOneAndDelete", "findOneBy",
        "findBy", "findByIdAndUpdate", "findByIdAndDelete", "insertOne", "insertMany", "updateOne", "deleteOne",
        "replaceOne", "bulkCreate", "bulkWrite", "destroy", "save", "remove", "distinct", "countDocuments", "insert",
        "find_one", "insert_one", "insert_many", "update_one", "update_many", "delete_one", "delete_many", "filter",
        "filter_by", "first", "add", "add_all", "merge", "select",
    }
)  # fmt: skip
# Receivers whose name alone says what they are, when nothing else does.
NAMES = frozenset(
    {"db", "pool", "client", "conn", "connection", "knex", "prisma", "sequelize", "session", "cursor", "cur"}
)
# `db: Session = Depends(get_db)`: the default says nothing of what the parameter will be.
INJECTED = ("fastapi#Depends.", "fastapi#Security.", "fastapi.params#Depends.")
TAGS = frozenset({"sql", "$queryRaw", "$executeRaw"})
SQL_START = re.compile(
    r"\s*(?:--[^\n]*\n\s*)*\(?\s*(select|insert|update|delete|replace|create|alter|drop|truncate|with|begin|commit|rollback|"
    r"merge|call|pragma|show|explain|set|grant|vacuum|copy|lock|listen|notify|values)\b",
    re.I,
)
SQL_CALLS = frozenset({"sqlalchemy#text", "sqlmodel#text", "psycopg.sql#SQL", "psycopg2.sql#SQL", "sqlalchemy.text"})

WORDS = (
    b"query", b"execute", b"prisma", b"knex", b"sequelize", b"mongoose", b"mongodb", b"sqlite", b"objects", b"session",
    b"Session", b"cursor", b"$queryRaw", b"sql`", b"typeorm", b"pymongo", b"asyncpg", b".raw(", b"SELECT ", b"select ",
    b"INSERT ", b"UPDATE ", b"DELETE ",
)  # fmt: skip


def _compute(resolver: Resolver, file: SourceFile, frame: Frame) -> Sequence[Row]:
    rows: dict[Span, Row] = {}
    handlers: set[int] | None = None
    for site in sites(frame.scopes.module):
        at = resolver.frame(file.path, site.scope) or frame
        for expr in walk(site.expr):
            statement = _statement(resolver, expr, at)
            if statement is None:
                continue
            if handlers is None:
                handlers, registers = _registered(resolver, frame)
            values, spans, opaque = statement
            values["IN_ROUTE_FILE"] = registers
            values["HANDLER"] = _inside(frame, site.scope, handlers)
            values["LANGUAGE"] = frame.scopes.module.language
            rows.setdefault(expr.span, Row(file.path, expr.span, values, spans, opaque))
    found = _outermost(sorted(rows.values(), key=lambda row: row.span))
    return [marked(row, frame.scopes.module) for row in found]


def _outermost(rows: list[Row]) -> list[Row]:
    """Of an ORM's chain (`db.query(User).filter(…).first()`) only the outermost call is a statement.

    `db.prepare("SELECT 1").all()` is the statement that it prepares.
    """
    kept: list[Row] = []
    for row in rows:
        if row.values["FORM"] == "orm" and any(
            other.values["FORM"] != "orm" and other.span[0] == row.span[0] and other.span[1] < row.span[1]
            for other in rows
        ):
            continue
        inside = any(
            other is not row and other.values["FORM"] == "orm" and row.values["FORM"] == "orm"
            and other.span[0] == row.span[0] and other.span[1] > row.span[1]
            for other in rows
        )  # fmt: skip
        if not inside:
            kept.append(row)
    return kept


def _registered(resolver: Resolver, frame: Frame) -> tuple[set[int], bool]:
    found = list(registrations(resolver, frame))
    things = [thing for item in found for thing in handler_functions(resolver, item)]
    return {thing.index for thing in things if thing.path == frame.path}, bool(found)


def _inside(frame: Frame, scope: int | None, handlers: set[int]) -> bool:
    while scope is not None:
        if scope in handlers:
            return True
        scope = frame.scopes.module.functions[scope].parent
    return False


Found = tuple[dict[str, Any], dict[str, Span], tuple[str, ...]]


def _statement(resolver: Resolver, expr: Expr, frame: Frame) -> Found | None:
    if isinstance(expr, Other) and expr.kind == "tagged_template" and len(expr.parts) == 2:
        return _tagged(resolver, expr, frame)
    if not isinstance(expr, Call) or not isinstance(expr.callee, Member) or expr.callee.name is None:
        return None
    method = expr.callee.name
    if method not in STATEMENTS and method not in ORM:
        return None
    text, certain, _ = resolver.callee(expr, frame)
    certain = certain and not text.startswith(INJECTED)
    driver = _driver(text) if certain else None
    receiver = expr.callee.object
    if driver is None and not certain:
        driver = _annotated(resolver, receiver, frame)
    if driver is None and "#" not in text and frame.python and ".objects." in f".{dotted(expr.callee) or ''}":
        driver = "django-orm"
    if driver is None and certain and ("#" in text or text.startswith(("local:", "console."))):
        if not text.startswith("local:") or "#" not in text:
            return None
    arguments = positional(expr.arguments)
    statement = _sql(resolver, arguments[0].value, frame) if arguments else None
    if driver == "sqlalchemy" and statement is not None and statement[1] == "opaque":
        return _found(resolver, expr.callee, driver, (_chain(expr.callee), "orm"), frame, None)
    if method in STATEMENTS and statement is not None and (statement[1] != "opaque" or driver is not None):
        if driver is not None or _is_named(receiver):
            return _found(resolver, expr.callee, driver, statement, frame, arguments[0].span)
    if driver is None:
        if isinstance(receiver, Member) and _is_named(receiver.object) and _named(receiver.object) == "prisma":
            return (
                _found(resolver, expr.callee, None, (_chain(expr.callee), "orm"), frame, None)
                if method in ORM
                else None
            )
        if not _is_named(receiver) or statement is None or statement[1] != "opaque":
            return None
        if frame.python and method in ("query", "scalars", "add", "add_all", "merge", "scalar"):
            return _found(resolver, expr.callee, None, (_chain(expr.callee), "orm"), frame, None)
        if method in ("query", "execute", "executemany") or (frame.python and method == "exec"):
            return _found(resolver, expr.callee, None, statement, frame, arguments[0].span)
        return None
    if method in ORM or (method in ("query", "execute", "scalars", "scalar", "get", "all")):
        return _found(resolver, expr.callee, driver, (_chain(expr.callee), "orm"), frame, None)
    return None


# What sqlalchemy builds statements from; a session or engine sends them.
BUILDERS = re.compile(
    r"^(sqlalchemy|sqlmodel)[\w.]*#(?!create_engine|sessionmaker|scoped_session|create_async|async_)[a-z]"
)


def _driver(text: str) -> str | None:
    if "#" not in text or BUILDERS.match(text):
        return None
    return DRIVERS.get(text.split("#")[0])


def _is_named(receiver: Expr) -> bool:
    """`db`, `this.pool`, `req.app.locals.db`, `self.session`, `getDb()`'s result does not count."""
    return _named(receiver) in NAMES


def _named(receiver: Expr) -> str:
    name = receiver.name if isinstance(receiver, Name | Member) else None
    return (name or "").lstrip("_#")


def _annotated(resolver: Resolver, receiver: Expr, frame: Frame) -> str | None:
    """`db: Session` and `pool: Pool` say by their type what they are."""
    while isinstance(receiver, Member | Call):
        receiver = receiver.object if isinstance(receiver, Member) else receiver.callee
    if not isinstance(receiver, Name):
        return None
    binding = frame.scopes.lookup(receiver.name, frame.function)
    annotation = binding.parameter.annotation if binding is not None and binding.parameter is not None else None
    if annotation is None:
        return None
    if frame.python and re.search(r"\b(Async)?Session\b", annotation):
        return "sqlalchemy"
    if re.fullmatch(r"[\w.$]+", annotation):
        head, *rest = annotation.split(".")
        expr: Expr = Name((0, 0), head)
        for part in rest:
            expr = Member((0, 0), expr, part, (0, 0))
        text, certain, _ = resolver.named(expr, frame)
        return _driver(text) if certain else None
    return None


def _chain(callee: Member) -> str:
    """Return the names of an ORM's chain without its first: `user.findMany` of prisma.user.findMany(…)."""
    names: list[str] = []
    current: Expr = callee
    while True:
        if isinstance(current, Member):
            names.append(current.name or "[]")
            current = current.object
        elif isinstance(current, Call):
            current = current.callee
        else:
            break
    return ".".join(reversed(names))


def _tagged(resolver: Resolver, expr: Other, frame: Frame) -> Found | None:
    tag = expr.parts[0]
    name = tag.name if isinstance(tag, Name | Member) else None
    text, certain, _ = resolver.named(tag, frame)
    driver = _driver(text) if certain else None
    if driver is None and name not in TAGS:
        return None
    statement = _sql(resolver, expr.parts[1], frame)
    if statement is None or (driver is None and not SQL_START.match(statement[0] or "")):
        return None
    values = {
        "SQL": statement[0],
        "FORM": statement[1],
        "RECEIVER": dotted(tag) or "",
        "DRIVER": driver,
        "METHOD": name,
    }
    return values, {"SQL": expr.parts[1].span, "CALL": expr.span}, ()


def _found(
    resolver: Resolver,
    callee: Member,
    driver: str | None,
    statement: tuple[str | None, str],
    frame: Frame,
    span: Span | None,
) -> Found:
    values = {
        "SQL": statement[0],
        "FORM": statement[1],
        "RECEIVER": dotted(callee.object) or resolver.source(frame, callee.object.span)[:80],
        "DRIVER": driver,
        "METHOD": callee.name,
    }
    spans = {"METHOD": callee.name_span, "RECEIVER": callee.object.span}
    if span is not None:
        spans["SQL"] = span
    return values, spans, ("SQL",) if statement[1] == "opaque" else ()


def _sql(resolver: Resolver, expr: Expr, frame: Frame) -> tuple[str | None, str] | None:
    """Return (text, form) of a statement; None when the expression is surely no SQL."""
    inner = _unwrapped(resolver, expr, frame)
    value = value_of(resolver, inner, frame)
    if value.kind == "object":
        text = value.entries.get("text", value.entries.get("sql"))
        if text is None:
            return None
        value = text
    if value.kind == "string":
        return (_normal(value.text), "text") if SQL_START.match(value.text) else None
    if value.kind == "template":
        parts = _pieces(value)
        return (_normal(parts), "template") if SQL_START.match(parts) or parts.startswith("?") else None
    if value.kind in ("number", "boolean", "function", "null", "env"):
        return None
    return None, "opaque"


def _unwrapped(resolver: Resolver, expr: Expr, frame: Frame) -> Expr:
    """`text("SELECT …")` is its argument; a formatted string in a name is followed by `value_of`."""
    if isinstance(expr, Call) and expr.arguments:
        text = resolver.callee(expr, frame)[0]
        if text in SQL_CALLS or text in ("text", "SQL"):
            return expr.arguments[0].value
    return expr


def _pieces(value: Value) -> str:
    return "".join(item.text if item.kind in ("string", "number") else "?" for item in value.items)


def _normal(text: str) -> str:
    return " ".join(text.split())


def _rows(facts: Facts, options: Mapping[str, Any]) -> Sequence[Row]:
    return per_file(facts, "query:2", WORDS, _compute)


RELATIONS = (RootRelation("query", "Statements sent to databases.", COLUMNS, _rows),)
