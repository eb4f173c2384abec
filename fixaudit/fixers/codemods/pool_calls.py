"""What each database library calls its connections and pools, and how one is written in place of the other.

Contract: tables and pure functions over one call; what cannot be read is a sentence for a refusal.
This module must not know where a pool is put.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from fixaudit.fixers.base import Situation
from fixaudit.fixers.codemods.pool_uses import Made, Use, is_free
from fixaudit.relations import registry
from fixaudit.relations.base import Value
from fixaudit.resolve.scopes import Binding
from fixaudit.source.ir import Member, Name
from fixaudit.text import Edit


@dataclass(frozen=True, slots=True)
class Library:
    """How one library makes pools. `pool` is the export that makes one; `lend` what a pool lends a connection by."""

    driver: str
    pool: str = ""
    lend: str = ""
    queries: tuple[str, ...] = ()
    makes_pool: bool = True
    close: tuple[str, ...] = ("end",)


_PG = ("pg", "Pool", "connect", ("query",))
_MYSQL = ("createPool", "getConnection")
CALLEES: Mapping[str, Library] = {
    "pg#Pool": Library("postgres"),
    "pg#Client": Library("postgres", "Pool", "connect", ("query",), False),
    "mysql#createPool": Library("mysql"),
    "mysql2#createPool": Library("mysql"),
    "mysql2/promise#createPool": Library("mysql"),
    "mysql#createConnection": Library("mysql", *_MYSQL, ("query",), False),
    "mysql2#createConnection": Library("mysql", *_MYSQL, ("query", "execute"), False),
    "mysql2/promise#createConnection": Library("mysql", *_MYSQL, ("query", "execute"), False),
    "sqlalchemy#create_engine": Library("", close=("dispose",)),
    "sqlalchemy.ext.asyncio#create_async_engine": Library("", close=("dispose",)),
    "sqlmodel#create_engine": Library("", close=("dispose",)),
}
"""What can be changed; everything that is not here is refused."""

DRIVERS: Mapping[str, str] = {
    "pg": "postgres", "mysql": "mysql", "mysql2": "mysql", "mysql2/promise": "mysql", "mariadb": "mysql",
    "psycopg": "postgres", "psycopg2": "postgres", "asyncpg": "postgres", "pymysql": "mysql", "MySQLdb": "mysql",
    "mysql.connector": "mysql", "aiomysql": "mysql", "mongodb": "mongodb", "mongoose": "mongodb", "pymongo": "mongodb",
    "motor.motor_asyncio": "mongodb",
}  # fmt: skip
"""Package of a callee → the database it speaks to; packages that speak to several are not here."""

# A statement that means the same on any connection of a pool; sessions, locks and transactions do not.
_PLAIN = re.compile(r"\s*(?:select|insert|update|delete|with|values|explain|show)\b", re.IGNORECASE)
_SESSION = re.compile(
    r"set_config|advisory|last_insert_id|lastval|currval|found_rows|row_count\s*\(|\btemp(?:orary)?\b|get_lock|@\w"
    r"|pg_temp|\binto\s+outfile|for\s+update|for\s+share",
    re.IGNORECASE,
)


def statement_problem(made: Made, use: Use, situation: Situation) -> str | None:
    """Say why a query may need a connection of its own; None for one that means the same on any connection."""
    assert use.call is not None
    rows = situation.facts.rows(registry()["call"])
    row = next((r for r in rows if r.path == made.program.path and r.span == use.call.span), None)
    listed = row.nested.get("argument") if row else None
    text = _sql(listed.items[0]) if listed is not None and listed.items else None
    if text is None:
        return f"the statement that {made.name}.{use.method} sends cannot be read"
    plain = _PLAIN.match(text) and not _SESSION.search(text) and ";" not in text.rstrip().rstrip(";")
    return None if plain else f"{made.name} sends a statement that may need a connection of its own"


def _sql(value: Value) -> str | None:
    if value.kind == "object":
        inner = value.entries.get("text", value.entries.get("sql"))
        return _sql(inner) if inner is not None else None
    if value.kind == "string":
        return value.text
    if value.kind == "template" and value.items and value.items[0].kind == "string":
        return "".join(item.text if item.kind in ("string", "number") else "?" for item in value.items)
    return None


def pool_call(made: Made, library: Library, situation: Situation) -> tuple[str, list[Edit]] | str:
    """Write the call that makes a pool with the options of a client: (code, edits that bring its name into scope)."""
    content, call = made.content, made.call
    if len(call.arguments) != 1 or call.arguments[0].spread:
        return "its options are not one argument"
    options, row = content[slice(*call.arguments_span)], situation.target.row
    if library.pool == "Pool":
        listed = row.nested.get("argument") if row else None
        value = listed.items[0] if listed is not None and listed.items else Value("unknown")
        if value.kind in ("string", "template", "env"):
            options = f"({{ connectionString: {options[1:-1].strip()} }})"  # a client takes a text, a pool does not
        elif value.kind != "object":
            return "its options cannot be read"
    package = row.text("CALLEE").partition("#")[0] if row else ""
    callee, edits = _callee(made, package, library.pool)
    return f"{'new ' if call.new else ''}{callee}{options}", edits


def _callee(made: Made, package: str, export: str) -> tuple[str, list[Edit]]:
    """Return how the pool's export is written beside the client's, and the edits that import it."""
    callee = made.call.callee
    if isinstance(callee, Member):
        return f"{made.content[slice(*callee.object.span)]}.{export}", []
    assert isinstance(callee, Name)
    binding = made.scopes.lookup(callee.name, made.scope)
    known = made.scopes.tables[None].get(export)
    if known is not None and binding is not None and _same_origin(known, binding):
        return export, []
    clause = _clause(made, binding, callee.name)
    others = len(re.findall(rf"(?<![\w$.]){re.escape(callee.name)}(?![\w$])", made.content))
    if clause is not None and is_free(made, export):
        # The clause `Client` of an import or of `const { Client } = pg` gains a neighbour, or is replaced by it.
        text = export if others == 2 else f"{callee.name}, {export}"
        return export, [Edit(*clause, callee.name, text)]
    code = made.program.ensure_import(package, export)
    return code.code, list(code.edits)


def _same_origin(one: Binding, other: Binding) -> bool:
    modules = [{item.module for item in binding.imports} for binding in (one, other)]
    statements = [{id(statement) for _, _, statement, _ in binding.values} for binding in (one, other)]
    spans = [{s.span for _, _, s, _ in binding.values} for binding in (one, other)]
    return bool(modules[0] & modules[1]) or bool(statements[0] & statements[1]) or bool(spans[0] & spans[1])


def _clause(made: Made, binding: Binding | None, name: str) -> tuple[int, int] | None:
    if binding is None or binding.scope is not None:
        return None
    spans = [item.span for item in binding.imports] + [target.span for target, *_ in binding.values]
    exact = [span for span in spans if made.content[slice(*span)] == name]
    return exact[0] if len(spans) == 1 and exact else None
