"""Rows of `entry`: the candidates for the file that a root's program starts with.

Contract: candidates come in tiers (a declared start command; `main` and `bin/www`; conventional names); a lower tier
counts only where none above has any. A built file is led back to its source. Files with conventional names count when
they start something; one that another one imports does not. A start command that cannot be read is an opaque row.
This module must not know how commands, build tools or programs are read.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from fixaudit.facts import Facts
from fixaudit.formats import dockerfile, json, toml
from fixaudit.formats.dockerstages import command_words, script, stages
from fixaudit.projects import LANGUAGES, Root
from fixaudit.relations.base import Column, RootRelation, Row, Scalar
from fixaudit.relations.build_output import built_file, is_typescript, source_file
from fixaudit.relations.linked import resolver_of
from fixaudit.relations.places import read, roots_of
from fixaudit.relations.program_starts import Application, application_of, interface_of, span_of, starters
from fixaudit.relations.start_commands import Start, started_by, starts
from fixaudit.source.ir import Span

_SCRIPTS = ("start:prod", "start:production", "start")
_SERVE_FILES = frozenset(
    {"vite", "react-scripts", "next", "nuxt", "ng", "astro", "gatsby", "remix-serve", "vue-cli-service", "parcel"}
    | {"serve", "http-server", "webpack", "nuxi", "expo", "docusaurus", "storybook", "echo", "nest"}
)
"""Programs that start without an entry file of the project's own."""

_NODE_EXTENSIONS = ("", ".js", ".cjs", ".mjs", ".ts", ".tsx", ".mts", ".cts", "/index.js", "/index.ts")
_NODE_NAME = re.compile(r"(?:(?:src|lib|app)/)?(?:server|app|index|main)\.(?:[cm]?[jt]s|tsx)")
_PYTHON_NAME = re.compile(
    r"(?:(?:src/)?[^/]+/|src/)?(?:main|app|wsgi|asgi)\.py|manage\.py|(?:src/)?[^/]+/(?:__main__|__init__)\.py"
)
_PACKAGE_FILE = re.compile(r"__(?:init|main)__\.py\Z")
_FASTAPI_DEFAULTS = ("main.py", "app.py", "api.py", "app/main.py", "app/app.py", "app/api.py")
_PROCFILE_WEB = re.compile(r"^web[ \t]*:[ \t]*(.+?)[ \t]*\r?$", re.MULTILINE)
_NAMED_SCRIPT = re.compile(r"\b(?:npm|pnpm|yarn|bun)(?: run)?(?: -\S+)* ([\w:.-]+)")
_OUTPUT = re.compile(r"(?:dist|build|out|output|lib)/")


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a candidate is named."""

    source: str
    tier: int
    path: str
    span: Span = (0, 0)


@dataclass(frozen=True)
class _Entries:
    """The candidates of one root. Paths are relative to the root unless they are said to be the repository's."""

    facts: Facts
    root: Root

    def rows(self) -> Iterator[Row]:
        """Yield the rows of every tier, one for each file and application in a tier."""
        seen: set[tuple[Scalar, ...]] = set()
        for row in (*self._declared(), *self._main(), *self._conventional()):
            key = (row.values["TIER"], row.values["PATH"], row.values["TARGET"])
            if key not in seen:
                seen.add(key)
                yield row

    # Manifest

    @cached_property
    def manifest(self) -> json.Document | None:
        return read(self.facts, self.root.join("package.json"), "json", json.parse)

    @cached_property
    def scripts(self) -> Mapping[str, json.Node]:
        node = self.manifest.get(("scripts",)) if self.manifest else None
        return {member.key: member.value for member in (node.members if node else ())}

    def command(self, name: str) -> str | None:
        """Return the text of a script."""
        node = self.scripts.get(name)
        return node.scalar if node is not None and isinstance(node.scalar, str) else None

    @cached_property
    def build(self) -> str:
        """The build script, and the scripts it names; empty when there is none."""
        text = self.command("build") or self.command("compile") or ""
        return " ; ".join([text, *filter(None, (self.command(name) for name in _NAMED_SCRIPT.findall(text)))])

    def has(self, path: str) -> bool:
        return self.facts.project.has(self.root.join(path))

    # Tier 1

    def _declared(self) -> Iterator[Row]:
        manifest = self.root.join("package.json")
        name = next((name for name in _SCRIPTS if self.command(name)), None)
        if name is not None:
            place = _Place(f"scripts.{name}", 1, manifest, self.scripts[name].span)
            yield from self._started(starts(self.command(name) or ""), place, name)
        procfile = self.root.join("Procfile")
        text = self.facts.text(procfile) if self.facts.project.has(procfile) else None
        web = _PROCFILE_WEB.search(text.content) if text else None
        if web is not None:
            yield from self._started(starts(web[1]), _Place("Procfile", 1, procfile, web.span(1)))
        for file in ("Dockerfile", "Containerfile"):
            yield from self._dockerfile(self.root.join(file))

    def _dockerfile(self, path: str) -> Iterator[Row]:
        text = self.facts.text(path) if self.facts.project.has(path) else None
        final = (
            next((stage for stage in reversed(stages(dockerfile.parse(text.content))) if stage.final), None)
            if text
            else None
        )
        if final is None or not (final.command or final.entrypoint):
            return
        parts = [final.entrypoint, final.command]
        if final.entrypoint is not None and script(final) is not None:
            parts = [final.command]  # a script that ends with `exec "$@"`
        shell = next((part for part in parts if part is not None and part.argv is None), None)
        words = [word for part in parts if part is not None for word in command_words(part)]
        workdir = [one.value.strip() for one in final.instructions if one.keyword == "WORKDIR"][-1:]
        found = starts(shell.value) if shell is not None else started_by(words)
        named = next(part for part in (final.command, final.entrypoint) if part is not None)
        yield from self._started(found, _Place("Dockerfile", 1, path, named.span), workdir="".join(workdir))

    def _started(
        self, found: Sequence[Start], place: _Place, script_name: str = "", workdir: str = "", depth: int = 5
    ) -> Iterator[Row]:
        if not found:
            yield self._unreadable(place)
        for start in found:
            if start.kind == "script":
                command = self.command(start.text)
                if command is None or start.text == script_name or not depth:
                    yield self._unreadable(place)
                else:
                    yield from self._started(starts(command), place, start.text, workdir, depth - 1)
            else:
                row = self._row_of(start, place, workdir)
                if row is not None:
                    yield row

    def _row_of(self, start: Start, place: _Place, workdir: str) -> Row | None:
        match start.kind:
            case "file":
                path = self._inside(start.text, workdir)
                return self._unreadable(place) if path is None else self._file(path, place)
            case "directory":
                node = self.manifest.get(("main",)) if self.manifest else None
                main = node.scalar if node is not None and isinstance(node.scalar, str) else "index.js"
                return self._file(posixpath.normpath(main), place)
            case "application":
                return self._application(start, place)
            case "module":
                path = self._module_file(start.text, main=True)
                return self._python(path or f"{start.text.replace('.', '/')}.py", place)
        target = self._console_script(start.text)
        if target is not None:
            path = self._module_file(target.partition(":")[0])
            return self._unreadable(place) if path is None else self._python(path, place)
        return None if start.text in _SERVE_FILES else self._unreadable(place)

    def _inside(self, text: str, workdir: str) -> str | None:
        """Return a path of a command relative to the root; None for one that leaves it or holds a variable."""
        if text.startswith("/"):
            if not workdir or not text.startswith(workdir.rstrip("/") + "/"):
                return None
            text = text[len(workdir.rstrip("/")) + 1 :]
        path = posixpath.normpath(text)
        if "$" in path or path.startswith("../"):
            return None
        # A workspace's image is built at the top of the repository, whose paths its command has.
        above = self.root.join("")
        return path[len(above) :] if above and path.startswith(above) and not self.has(path) else path

    def _application(self, start: Start, place: _Place) -> Row | None:
        if not start.text:
            default = next((path for path in _FASTAPI_DEFAULTS if self.has(path)), None)
            return self._unreadable(place) if default is None else self._python(default, place)
        module, _, name = start.text.partition(":")
        path = self._module_file(module, start.directory)
        if path is None:
            guess = posixpath.normpath(posixpath.join(start.directory, module.replace(".", "/") + ".py"))
            return self._row(guess, place, "python", guess, target=start.text, factory=start.factory)
        interface = interface_of(resolver_of(self.facts), self.root.join(path), name.partition(".")[0])
        return self._row(path, place, "python", path, target=start.text, interface=interface, factory=start.factory)

    def _module_file(self, module: str, directory: str = "", *, main: bool = False) -> str | None:
        base = module.replace(".", "/")
        for folder in dict.fromkeys((directory, "", "src")):
            stem = posixpath.normpath(posixpath.join(folder, base))
            for path in ([f"{stem}/__main__.py"] if main else []) + [f"{stem}.py", f"{stem}/__init__.py"]:
                if self.has(path):
                    return path
        return None

    def _console_script(self, name: str) -> str | None:
        document = read(self.facts, self.root.join("pyproject.toml"), "toml", toml.parse)
        for table in (("project", "scripts"), ("tool", "poetry", "scripts")):
            target = document.get((*table, name)) if document else None
            if isinstance(target, str):
                return target
        return None

    # Tier 2

    def _main(self) -> Iterator[Row]:
        node = self.manifest.get(("main",)) if self.manifest else None
        www = next((path for path in ("bin/www", "bin/www.js", "bin/www.ts", "src/bin/www.ts") if self.has(path)), None)
        if node is not None and isinstance(node.scalar, str) and node.scalar:
            row = self._file(
                posixpath.normpath(node.scalar), _Place("main", 2, self.root.join("package.json"), node.span)
            )
            path = self.root.join(row.text("PATH"))
            # The application of the express generator: `main` may name it, `bin/www` starts it.
            exported = www is not None and path not in starters(resolver_of(self.facts), [path, self.root.join(www)])
            if row.values["EXISTS"] and not exported:
                yield row
        if www is not None:
            yield self._file(www, _Place("bin/www", 2, self.root.join(www)))

    # Tier 3

    def _conventional(self) -> Iterator[Row]:
        paths = []
        for path in self.facts.paths:
            relative = self.root.relative(path) if path.startswith(self.root.join("")) else ""
            if _NODE_NAME.fullmatch(relative) or _PYTHON_NAME.fullmatch(relative):
                file = self.facts.file(path)
                if file is not None and file.kind.is_program and not file.kind.example:
                    paths.append(path)
        resolver = resolver_of(self.facts)
        python = [path for path in paths if path.endswith(".py")]
        found = starters(resolver, [path for path in paths if not path.endswith(".py")])
        started = starters(resolver, [path for path in python if not _PACKAGE_FILE.search(path)])
        served = self._served(started or starters(resolver, python))
        for path in (*found, *served):
            yield self._file(self.root.relative(path), _Place("convention", 3, path))

    def _served(self, paths: Sequence[str]) -> Sequence[str]:
        """Leave Django's other doors out: of wsgi.py and asgi.py the one whose server is installed; not manage.py."""
        from fixaudit.relations.dependencies import declared

        doors = {posixpath.basename(path) for path in paths}
        if not {"wsgi.py", "asgi.py"} & doors:
            return paths
        left = {"manage.py"}
        if {"wsgi.py", "asgi.py"} <= doors:
            names = {dependency.normalized for _, dependency in declared(self.facts, self.root)}
            asgi = bool(names & {"uvicorn", "daphne", "hypercorn", "granian", "channels"})
            wsgi = bool(names & {"gunicorn", "waitress", "uwsgi", "mod-wsgi"})
            left |= {"asgi.py"} if not asgi else set() if wsgi else {"wsgi.py"}
        return [path for path in paths if posixpath.basename(path) not in left]

    # Rows

    def _file(self, written: str, place: _Place) -> Row:
        """Make the row of a file that is named in a command or by convention; a built one is led to its source."""
        path = next((written + end for end in _NODE_EXTENSIONS if self.has(written + end)), None)
        if (path or written).endswith(".py"):
            return self._python(path or written, place)
        if path is None or _OUTPUT.match(path):
            for built in (written,) if posixpath.splitext(written)[1] else (f"{written}.js", f"{written}/index.js"):
                source = source_file(self.facts, self.root, built, self.build)
                if source is not None:
                    return self._row(source, place, self._language(source), built, build=True)
        path = path or written
        if not is_typescript(path):
            return self._row(path, place, self._language(path), path)
        run = built_file(self.facts, self.root, path, self.build) if self.build or place.tier != 1 else path
        return self._row(path, place, "typescript", run, build=run != path)

    def _python(self, path: str, place: _Place) -> Row:
        application: Application | None = None
        if self.has(path):
            application = application_of(resolver_of(self.facts), self.root.join(path))
        if application is None:
            return self._row(path, place, "python", path)
        target = f"{_module_name(path)}:{application.name}"
        return self._row(
            path, place, "python", path,
            target=target, interface=application.interface, factory=application.factory,
        )  # fmt: skip

    def _language(self, path: str) -> str:
        language = LANGUAGES.get(posixpath.splitext(path)[1], "javascript")
        return "typescript" if language == "tsx" else language

    def _row(
        self,
        path: str,
        place: _Place,
        language: str,
        run: str | None,
        *,
        build: bool = False,
        target: str | None = None,
        interface: str | None = None,
        factory: bool = False,
    ) -> Row:
        values: dict[str, Scalar] = {
            "PATH": path,
            "RUN": run,
            "TARGET": target,
            "INTERFACE": interface,
            "FACTORY": factory,
            "SOURCE": place.source,
            "TIER": place.tier,
            "EXISTS": self.has(path),
            "LANGUAGE": language,
            "BUILD": build,
        }
        text = self.facts.text(place.path)
        spans = {"PATH": span_of(text.content, run or path, place.span)} if text and place.tier < 3 else {}
        return Row(place.path, place.span, values, spans, ("RUN", "BUILD") if run is None else ())

    def _unreadable(self, place: _Place) -> Row:
        names = ("PATH", "RUN", "TARGET", "INTERFACE", "FACTORY", "EXISTS", "LANGUAGE", "BUILD")
        values: dict[str, Scalar] = dict.fromkeys(names)
        return Row(place.path, place.span, {**values, "SOURCE": place.source, "TIER": place.tier}, {}, names)


def _module_name(path: str) -> str:
    stem = posixpath.splitext(path)[0].removeprefix("src/").removesuffix("/__init__")
    return stem.replace("/", ".")


def _rows(facts: Facts, options: Mapping[str, Any]) -> Sequence[Row]:
    found: list[Row] = []
    for root in roots_of(facts):
        found += _Entries(facts, root).rows()
    return tuple(found)


RELATIONS = (
    RootRelation(
        "entry",
        "Candidates for the file that the program starts with.",
        {
            "PATH": Column("text", "The source file, relative to the root; opaque for a command that cannot be read."),
            "RUN": Column("text", "The file that runs in production, relative to the root; the built one."),
            "TARGET": Column("text", "What a Python server is given (`app.main:app`), if an application is found."),
            "INTERFACE": Column("text", "The interface of that application.", ("asgi", "wsgi")),
            "FACTORY": Column("flag", "Whether it is a function that makes the application."),
            "SOURCE": Column(
                "text",
                "What names it.",
                (*(f"scripts.{name}" for name in _SCRIPTS), "Procfile", "Dockerfile", "main", "bin/www", "convention"),
            ),
            "TIER": Column("number", "1: a declared start command, 2: `main` or bin/www, 3: a conventional name."),
            "EXISTS": Column("flag", "Whether the source file is there."),
            "LANGUAGE": Column("text", "Its language.", ("javascript", "typescript", "python")),
            "BUILD": Column("flag", "Whether it has to be built before it runs."),
        },
        _rows,
    ),
)
