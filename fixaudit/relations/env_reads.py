"""Relation `env_read`: every read of an environment variable, however it is spelled.

Contract: one row for each place that reads a key. A write (`process.env.X = …`, `delete`, `os.environ[k] = …`) is no
read; `??=` and `setdefault` read and have a default. A key that is computed is an opaque row, unless it is the
parameter of a helper (`env("PORT")`) all of whose calls can be read: then the calls are the rows.
This module must not know of rules.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fixaudit.facts import Facts, SourceFile
from fixaudit.relations.base import Column, RootRelation, Row, Value
from fixaudit.relations.env_sites import Reads, calls_in, reads_of_file, text_of
from fixaudit.relations.linked import LANGUAGES, per_file
from fixaudit.resolve.names import Resolver, positional
from fixaudit.resolve.sites import sites
from fixaudit.resolve.things import Definition, Frame
from fixaudit.resolve.values import value_of
from fixaudit.source.ir import Call, Expr, Member
from fixaudit.text import byte_key

FORMS = ("member", "destructure", "call", "field", "meta")

COLUMNS = {
    "KEY": Column("text", "The variable's name."),
    "DEFAULT": Column("text", "What is used when it is not set: a literal's value, or the source; null for none."),
    "FORM": Column("text", "member (process.env.K, os.environ[K]), destructure, call (os.getenv, env(K)), field (of a "
                   "settings class or validated schema), meta (import.meta.env.K).", FORMS),
    "REQUIRED": Column("flag", "No default is given and the value is used, not only tested: without it the "
                       "read fails or yields nothing."),
    "LISTEN": Column("flag", "The value is the port or host that a server listens on."),
    "LANGUAGE": Column("text", "Language of the file.", LANGUAGES),
}  # fmt: skip

WORDS = (
    b"process.env", b"process?.",
    b"= process", b"process'", b'process"', b"import.meta.env", b"environ", b"getenv", b"Settings",
    b"decouple", b"starlette.config", b"env-var", b"Bun.env", b"Deno.env",
)  # fmt: skip


def _rows(facts: Facts, options: Mapping[str, Any]) -> Sequence[Row]:
    rows = per_file(facts, "env_read:1", WORDS, reads_of_file)
    rows = _helpers(facts, rows)
    keys = _listened(facts)
    return [_listening(row) if row.values["KEY"] in keys else row for row in rows]


def _listening(row: Row) -> Row:
    return Row(row.path, row.span, {**row.values, "LISTEN": True}, row.spans, row.opaque, row.nested)


def _helpers(facts: Facts, rows: list[Row]) -> list[Row]:
    """Replace the computed read of a helper by the calls of that helper."""
    helpers = {}
    for row in rows:
        if "helper" in row.nested:
            name, _, position = row.nested["helper"].text.rpartition(":")
            helpers[row.path, name] = (int(position), row)
    if not helpers:
        return rows
    words = tuple(sorted({name.encode() for _, name in helpers}))
    targets = {f"local:{path}#{name}": position for (path, name), (position, _) in helpers.items()}

    def compute(resolver: Resolver, file: SourceFile, frame: Frame) -> Sequence[Row]:
        reads = Reads(file, frame)
        for site in sites(frame.scopes.module):
            at = resolver.frame(file.path, site.scope) or frame
            for call in calls_in(site.expr):
                text = resolver.callee(call, at)[0]
                arguments = positional(call.arguments)
                if text not in targets or len(arguments) <= targets[text]:
                    continue
                position = targets[text]
                value = value_of(resolver, arguments[position].value, at)
                key = value.text if value.kind == "string" else None
                rest = arguments[position + 1].value if len(arguments) > position + 1 else None
                shown = text_of(resolver, rest, at)
                reads.add(key, "call", call.span, shown, shown is None, arguments[position].value.span)
                reads.rows[-1] = Row(
                    file.path,
                    call.span,
                    {**reads.rows[-1].values, "VIA": text},
                    reads.rows[-1].spans,
                    reads.rows[-1].opaque,
                )
        return reads.rows

    calls = per_file(facts, "env_helper:1:" + ",".join(sorted(targets)), words, compute)
    called = {str(row.values["VIA"]) for row in calls}
    kept = [
        row
        for row in rows
        if "helper" not in row.nested
        or f"local:{row.path}#{row.nested['helper'].text.rpartition(':')[0]}" not in called
    ]
    plain = [Row(r.path, r.span, {k: v for k, v in r.values.items() if k != "VIA"}, r.spans, r.opaque) for r in calls]
    return sorted([*map(_without_mark, kept), *plain], key=lambda row: (byte_key(row.path), row.span))


def _without_mark(row: Row) -> Row:
    return Row(row.path, row.span, row.values, row.spans, row.opaque) if row.nested else row


LISTEN_WORDS = (b".listen(", b"uvicorn", b".run(", b"createServer", b"serve(")
SERVERS = frozenset({"uvicorn#run", "uvicorn#Config", "waitress#serve", "hypercorn#run"})


def _listened(facts: Facts) -> frozenset[str]:
    """Return the keys whose values reach a server's port or host, in any file."""
    found = per_file(facts, "env_listen:1", LISTEN_WORDS, _listen_keys)
    return frozenset(found)


def _listen_keys(resolver: Resolver, file: SourceFile, frame: Frame) -> Sequence[str]:
    keys: set[str] = set()
    for site in sites(frame.scopes.module):
        at = resolver.frame(file.path, site.scope) or frame
        for call in calls_in(site.expr):
            method = call.callee.name if isinstance(call.callee, Member) else None
            given: list[Expr] = []
            if method == "listen" and not frame.python:
                given = [argument.value for argument in call.arguments[:2]]
            elif frame.python and (method == "run" or resolver.callee(call, at)[0] in SERVERS):
                given = [a.value for a in call.arguments if a.keyword in ("port", "host", "bind")]
            for expr in given:
                keys.update(_keys_in(value_of(resolver, expr, at)))
                keys.update(_keys_behind(resolver, expr, at))
    return sorted(keys)


def _keys_in(value: Value) -> Iterator[str]:
    if value.kind == "env":
        yield value.text
    for item in (*value.items, *value.entries.values()):
        yield from _keys_in(item)


def _keys_behind(resolver: Resolver, expr: Expr, frame: Frame) -> Iterator[str]:
    """`const port = normalizePort(process.env.PORT || "3000")` through a function that cannot be evaluated."""
    thing = resolver.resolve(expr, frame)
    for option in resolver.options(thing):
        if isinstance(option, Definition) and isinstance(option.expr, Call):
            for argument in option.expr.arguments:
                yield from _keys_in(value_of(resolver, argument.value, option.frame))


RELATIONS = (
    RootRelation(
        "env_read",
        "Reads of environment variables: members, destructuring, aliases, helpers, schemas and settings classes.",
        COLUMNS,
        _rows,
    ),
)
