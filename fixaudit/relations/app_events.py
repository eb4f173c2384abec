"""Relation `app_events`: what web applications do when they start, in run order.

Contract: one row for each event and application; what a mounted router does is placed under the application that
mounts it, with its full path. An event that cannot be seen through is a row with opaque columns, so that "no helmet"
is never said of a program that may well have it. Test files make no applications.
This module must not know how programs are followed (`fixaudit.apps`).
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence
from typing import Any

from fixaudit.apps.express import HIDDEN, Express
from fixaudit.apps.flatten import Placed, flatten
from fixaudit.apps.model import Event, Owner
from fixaudit.apps.order import imports_of
from fixaudit.apps.python import PythonWeb
from fixaudit.apps.run import Machine
from fixaudit.facts import Facts, SourceFile
from fixaudit.relations.base import Column, FileRelation, RootRelation, Row, Scalar, Value
from fixaudit.relations.linked import LANGUAGES, holds, mentioning, resolver_of, stamp
from fixaudit.text import byte_key

KINDS = ("app", "use", "route", "mount", "listen", "error_handler", "static", "other")

COLUMNS = {
    "KIND": Column("text", "What happens: app (it is made), use (middleware), route, mount (a router or another "
                   "application), static (files), error_handler, listen, other (given to something unknown).", KINDS),
    "APP": Column("text", "The application, as path#name. Opaque for a router that no visible application mounts."),
    "ROUTER": Column("text", "The router that the event stands on, as path#name; null on the application itself."),
    "SEQ": Column("number", "Place in the run order of APP. Express: as the program runs, what a mounted router does "
                  "right after its mount. FastAPI, Starlette, Flask: middleware and error handlers before all routes, "
                  "because they wrap every route wherever they are added."),
    "METHOD": Column("text", "HTTP method of a route in capitals; ALL for `all`, WEBSOCKET for sockets."),
    "PATH": Column("text", "Full path with the prefixes of all mounts; for `use` the path it is limited to."),
    "CALLEE": Column("text", "What is used: package#export or local:path#name; of a route its handler."),
    "HANDLER": Column("text", "The handler or router as written; empty for an inline function."),
    "MIDDLEWARE": Column("set", "What a route applies before its handler: functions, dependencies, other decorators."),
    "ARITY": Column("number", "How many parameters the handler takes, as Express counts them."),
    "LEAKS": Column("text", "What an error handler tells the client of the error; some: messages that a condition "
                    "chooses. Nested, where a stack trace stands in one place: `option.answer` (it is the whole "
                    "answer) or `option.stack`.", ("stack", "message", "some", "none")),
    "CATCHES": Column("text", "What a Python error handler is registered for, as written; Exception for a middleware "
                      "that catches all."),
    "TAKES_ERROR": Column("flag", "A middleware of three parameters whose first is named like an error: to Express it "
                          "is no error handler. Nested: `option.parameter`, its last parameter."),
    "MISPLACED": Column("flag", "An error handler that comes before the last route of its application, where none "
                        "comes after it (Express)."),
    "HEADERS": Column("set", "Security headers that a middleware sets, in lower case; opaque where its name promises "
                      "some and it cannot be read."),
    "ANSWERS": Column("flag", "It answers HTTP requests of an application: a route, static files, a foreign "
                      "application; opaque for what cannot be read and is used under a path."),
    "PAGES": Column("flag", "The application serves static files, or the project renders or sends pages somewhere."),
    "PORT": Column("text", "The literal port that a server listens on; null where it comes from elsewhere. Nested: "
                   "`option.port`, where it is written."),
    "APP_NAME": Column("text", "How the application is written at the event: app, this.app, server."),
    "CONDITIONAL": Column("flag", "Whether it only happens under a condition."),
    "REPEATED": Column("flag", "Whether it happens in a loop, or for each item of a list."),
    "ASYNC": Column("flag", "Whether the handler is async."),
    "FRAMEWORK": Column("text", "Whose application it is.", ("express", "fastapi", "starlette", "flask")),
    "LANGUAGE": Column("text", "Language of the file.", LANGUAGES),
}  # fmt: skip

WORDS = (b"express", b"fastapi", b"starlette", b"flask")
PAGE_WORDS = (
    b".render(",
    b".sendFile(",
    b"view engine",
    b"text/html",
    b"<html",
    b"<!DOCTYPE",
    b"<!doctype",
    b"swagger-ui",
)
_CREATES = re.compile(rb"express|FastAPI|APIRouter|Starlette|Flask|Blueprint|current_app|\bRouter\b|\bMount\b")
_SCRIPT_IMPORT = re.compile(rb"""(?:\bfrom|\brequire\s*\(|\bimport\s*\(?)\s*['"]([^'"\n]+)['"]""")
_PYTHON_IMPORT = re.compile(
    rb"^[ \t]*(?:from[ \t]+([.\w]+)[ \t]+import[ \t(]+([^\n)]*)|import[ \t]+([.\w]+))", re.MULTILINE
)

MAX_IMPORTERS = 3
"""Rounds of "who imports these": a server that imports an application from a file that makes it, and one more."""


def _imports(file: SourceFile) -> Sequence[Row]:
    """One row with the last words of every specifier in the file, found without parsing it."""
    found: set[str] = set()
    if file.kind.language == "python":
        for module, names, whole in _PYTHON_IMPORT.findall(file.data):
            dotted = (module or whole).decode("utf-8", "replace")
            found.add(dotted.rsplit(".", 1)[-1] or ".")
            found.update(name.strip().split(" ")[0] for name in names.decode("utf-8", "replace").split(","))
    else:
        for specifier in _SCRIPT_IMPORT.findall(file.data):
            text = specifier.decode("utf-8", "replace")
            if text.startswith((".", "@", "~", "#", "/")) or "/" in text:
                found.add(_stem(text))
    return (Row(file.path, (0, 0), {"STEMS": sorted(found)}),) if found else ()


def _stem(path: str) -> str:
    name = posixpath.basename(path.rstrip("/")) or "."
    stem, extension = posixpath.splitext(name)
    name = stem if extension in (".js", ".ts", ".mjs", ".cjs", ".tsx", ".jsx", ".mts", ".cts", ".py") else name
    if name in ("index", "__init__", ".", ".."):
        return posixpath.basename(posixpath.dirname(path)) or name
    return name


IMPORTS = FileRelation("imports_by_stem", "Last words of import specifiers.", {}, _imports, LANGUAGES)


def relevant(facts: Facts) -> tuple[str, ...]:
    """Return the files that may do something to an application: those that make one, and who imports those."""
    seeds = []
    for path in mentioning(facts, WORDS):
        file = facts.file(path)
        if file is not None and _CREATES.search(file.data):
            seeds.append(path)
    found = set(seeds)
    if not found:
        return ()
    stems = [(row.path, row.values["STEMS"]) for row in facts.rows(IMPORTS)]
    fresh = set(seeds)
    for _ in range(MAX_IMPORTERS):
        wanted = {_stem(path) for path in fresh} | {posixpath.basename(posixpath.dirname(p)) for p in fresh}
        wanted |= {".", ".."}
        fresh = {
            path
            for path, words in stems
            if path not in found and isinstance(words, list) and not wanted.isdisjoint(words)
            and _really(facts, path, found)
        }  # fmt: skip
        if not fresh:
            break
        found |= fresh
    return tuple(sorted(found, key=byte_key))


def _really(facts: Facts, path: str, found: set[str]) -> bool:
    """Whether a file imports one of the found files, by its parsed imports."""
    return any(target in found for target in imports_of(resolver_of(facts), path))


def placed(facts: Facts) -> list[Placed]:
    """Return every event of a root's applications, placed."""
    resolver = resolver_of(facts)
    machine = Machine(resolver, (Express(), PythonWeb()), relevant=relevant(facts))
    machine.run()
    for owner in machine.owners.values():
        _add_damage(facts, owner)
        if machine.exhausted and owner.events:
            last = owner.events[-1]
            hidden = Event("other", last.path, last.span, last.statement)
            hidden.opaque = HIDDEN | {"SEQ", "HEADERS"}
            owner.events.append(hidden)
    return flatten(machine.owners.values())


def _add_damage(facts: Facts, owner: Owner) -> None:
    """What stands in a damaged range of a file that works on an application may be anything, at any place."""
    for path in sorted({event.path for event in owner.events}):
        module = facts.module(path)
        for span in module.damage[:1] if module is not None else ():
            event = Event("other", path, span, span)
            event.opaque = HIDDEN | {"SEQ"}
            owner.events.append(event)


def _rows(facts: Facts, options: Mapping[str, Any]) -> Sequence[Row]:
    paths = relevant(facts)
    if not paths:
        return ()
    memo = facts.project.memo
    pages = bool(mentioning(facts, PAGE_WORDS))
    known = memo.get("app_events", f"{facts.root.path}\0{pages}\0{stamp(facts, paths)}", list)
    for marks, rows in known:
        if holds(facts, marks):
            return rows  # type: ignore[no-any-return]
    resolver = resolver_of(facts)
    resolver.begin()
    events = placed(facts)
    files = {id(item.app) for item in events if item.event.kind == "static"}
    found = sorted((row_of(item, pages or id(item.app) in files) for item in events), key=_place)
    rows = _with_misplaced(_distinct(found))
    known.append((stamp(facts, resolver.touched), rows))
    return rows


def _place(row: Row) -> tuple[bytes, tuple[int, int], str]:
    return byte_key(row.path), row.span, str(row.values["APP"])


def _distinct(rows: list[Row]) -> list[Row]:
    """Drop what a router without an application says twice, because two calls of its factory could not be joined."""
    kept: list[Row] = []
    for row in rows:
        last = kept[-1] if kept else None
        if last is not None and row.values["APP"] is None and (last.path, last.span) == (row.path, row.span):
            if all(last.values[name] == row.values[name] for name in row.values if name != "SEQ"):
                continue
        kept.append(row)
    return kept


def answers(item: Placed) -> bool:
    """Say whether an event surely answers HTTP requests by itself."""
    event = item.event
    # An answer to OPTIONS holds nothing that headers or an error handler would protect: `app.options("*", cors())`.
    if item.app is None or "KIND" in event.opaque or event.method in ("WEBSOCKET", "WS", "OPTIONS"):
        return False
    return event.kind in ("route", "static") or (event.kind == "mount" and event.mounted is None)


def row_of(item: Placed, pages: bool) -> Row:
    """Describe a placed event as a row."""
    event = item.event
    opaque = set(event.opaque)
    if event.route is not None and item.route is None:
        opaque.add("PATH")
    if item.app is None:
        opaque.add("APP")
    values: dict[str, Scalar] = {
        "KIND": event.kind,
        "APP": item.app.label if item.app is not None else None,
        "ROUTER": item.owner.label if item.owner.kind == "router" else None,
        "SEQ": item.order,
        "METHOD": event.method,
        "PATH": item.route if item.route != "" or event.kind == "route" else None,
        "CALLEE": event.callee,
        "HANDLER": event.handler,
        "MIDDLEWARE": list(event.middleware),
        "ARITY": event.arity,
        "LEAKS": event.leaks,
        "TAKES_ERROR": event.takes_error,
        "MISPLACED": False,
        "HEADERS": list(event.headers),
        "ANSWERS": answers(item),
        "PAGES": pages,
        "PORT": event.port,
        "CATCHES": event.catches,
        "APP_NAME": event.app_name,
        "CONDITIONAL": item.conditional,
        "REPEATED": event.repeated,
        "ASYNC": event.is_async,
        "FRAMEWORK": item.owner.framework,
        "LANGUAGE": item.owner.language,
    }
    spans = {"STATEMENT": event.statement, "CALL": event.span, **event.spans}
    if "KIND" in opaque and event.kind == "use" and "PATH" in event.spans:
        opaque.add("ANSWERS")
    nested = {"option": Value("object", "", (0, 0), event.path)}
    if event.kind == "listen":
        port = event.port_value
        nested["option"] = Value("object", "", (0, 0), event.path, (), {"port": port} if port is not None else {})
    if event.kind == "error_handler" or event.takes_error:
        written = {event.told.text: event.told} if event.told is not None else {}
        if event.told is None and event.leaks in ("stack", None):
            # In several places, or nobody can tell: there is no place of its own.
            written["stack"] = Value("string" if event.leaks else "unknown")
        written |= {"parameter": event.last_parameter} if event.last_parameter is not None else {}
        nested["option"] = Value("object", "", (0, 0), event.path, (), written)
    return Row(event.path, event.span, values, spans, tuple(sorted(opaque)), nested)


def _handles(row: Row) -> bool:
    return row.values["KIND"] == "error_handler" or row.values["TAKES_ERROR"] is True


def _with_misplaced(rows: Sequence[Row]) -> list[Row]:
    """Mark the error handlers of applications that answer behind all of them."""
    last: dict[str, dict[str, float]] = {}
    for row in rows:
        app, place = row.values["APP"], row.values["SEQ"]
        if isinstance(app, str) and isinstance(place, int | float):
            marks = last.setdefault(app, {"answer": -1, "handler": -1, "hidden": -1})
            kind = "answer" if row.values["ANSWERS"] else "handler" if _handles(row) else ""
            kind = "hidden" if "KIND" in row.opaque else kind
            if kind:
                marks[kind] = max(marks[kind], place)
    found = []
    for row in rows:
        marks = last.get(str(row.values["APP"]), {})
        if _handles(row) and row.values["FRAMEWORK"] == "express" and marks:
            if marks["handler"] < marks["answer"]:
                hidden = ("MISPLACED",) if marks["hidden"] > marks["handler"] else ()
                values = {**row.values, "MISPLACED": True}
                row = Row(row.path, row.span, values, row.spans, (*row.opaque, *hidden), row.nested)
        found.append(row)
    return found


RELATIONS = (
    RootRelation(
        "app_events",
        "Events of web applications (Express, FastAPI, Starlette, Flask) in run order, flattened over files, "
        "functions, factories and mounted routers.",
        COLUMNS,
        _rows,
        nested=("option",),
    ),
)
