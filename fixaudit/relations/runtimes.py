"""Rows of `runtime`: what each source of a project says about the version of Node or Python it runs on.

Contract: one row for each source and place, with the release lines that it admits; they are ranges, so two sources
agree when their sets meet, not when their texts are equal. Version files count for every directory below them, as
their tools look upwards. What names no version (`lts/*`, `latest`, an expression) is opaque.
This module must not know which releases are still supported.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from fixaudit.facts import Facts
from fixaudit.formats import dockerfile, json, toml
from fixaudit.formats.dockerstages import stages
from fixaudit.formats.versions import read_version_file
from fixaudit.projects import Root
from fixaudit.relations.base import Column, RootRelation, Row, Scalar
from fixaudit.relations.docker import is_dockerfile
from fixaudit.relations.places import directories_above, join, ordered, read, roots_of
from fixaudit.relations.release_lines import Said, image_said, lines_of
from fixaudit.relations.workflow_runtimes import workflow_runtimes
from fixaudit.source.ir import Span

_VERSION_FILES = {
    ".nvmrc": "nvmrc",
    ".node-version": "node-version",
    ".python-version": "python-version",
    "runtime.txt": "runtime.txt",
    ".tool-versions": "tool-versions",
}
_ENGINES = (
    ("engines", ("engines", "node")),
    ("volta", ("volta", "node")),
)
_PYTHON_TABLES = (
    ("pyproject.toml", "requires-python", ("project", "requires-python")),
    ("pyproject.toml", "pyproject-poetry", ("tool", "poetry", "dependencies", "python")),
    ("Pipfile", "pipfile", ("requires", "python_full_version")),
    ("Pipfile", "pipfile", ("requires", "python_version")),
)
_PYTHON_REQUIRES = re.compile(
    r"^(?:\s+python_requires\s*=\s*[rbu]?([\"'])(?P<literal>[^\"'\n]+)\1|python_requires\s*[=:]\s*(?P<plain>[^\s#;].*?)\s*$)",
    re.MULTILINE,
)


def _version_files(facts: Facts, root: Root) -> Iterator[Said]:
    for name, source in _VERSION_FILES.items():
        for directory in directories_above(root.path):
            path = join(directory, name) or ""
            text = facts.text(path) if facts.project.has(path) else None
            if text is None:
                continue
            declared = read_version_file(name, text.content)
            for found in declared if isinstance(declared, tuple) else ():
                yield Said(found.runtime, source, path, found.span, found.spec, (found.spec,))
            break


def _node_manifest(facts: Facts, root: Root) -> Iterator[Said]:
    path = root.join("package.json")
    document = read(facts, path, "json", json.parse)
    for source, place in _ENGINES:
        node = document.get(place) if document else None
        if node is not None and isinstance(node.scalar, str):
            yield Said("node", source, path, node.span, node.scalar, (node.scalar,))
    engines = document.get(("devEngines", "runtime")) if document else None
    for node in engines.items if engines is not None and engines.kind == "array" else (engines,):
        name, version = (node.get("name"), node.get("version")) if node else (None, None)
        if name is not None and name.scalar == "node" and version is not None and isinstance(version.scalar, str):
            yield Said("node", "devEngines", path, version.span, version.scalar, (version.scalar,))


def _python_manifests(facts: Facts, root: Root) -> Iterator[Said]:
    for name, source, place in _PYTHON_TABLES:
        path = root.join(name)
        document = read(facts, path, "toml", toml.parse)
        entry = document.entry(place) if document else None
        value = document.get(place) if document else None
        if entry is not None and isinstance(value, str):
            yield Said("python", source, path, entry.value.span, value, (value,))
            if name == "Pipfile":
                break
    for name in ("setup.cfg", "setup.py"):
        path = root.join(name)
        text = facts.text(path)
        match = _PYTHON_REQUIRES.search(text.content) if text else None
        group = "plain" if name == "setup.cfg" else "literal"
        if match is not None and match[group]:
            yield Said("python", "requires-python", path, match.span(group), match[group], (match[group],))


def _dockerfiles(facts: Facts) -> Iterator[Said]:
    for path in facts.paths:
        file = facts.file(path) if is_dockerfile(path) else None
        if file is None or file.text is None or file.kind.vendored or file.kind.test or file.kind.example:
            continue
        for stage in stages(dockerfile.parse(file.text.content)):
            said = image_said(stage.base, "dockerfile", path, stage.base_span) if stage.base else None
            if said is not None:
                yield said


def _row(said: Said) -> Row:
    lines: list[str] | None = None
    if said.specs is not None:
        found = [lines_of(said.runtime, spec) for spec in said.specs]
        if all(part is not None for part in found):
            lines = list(dict.fromkeys(line for part in found for line in part or ()))
    values: dict[str, Scalar] = {
        "RUNTIME": said.runtime,
        "SOURCE": said.source,
        "SPEC": said.text,
        "MAJORS": lines,
        "EXACT": lines[0] if lines is not None and len(lines) == 1 else None,
        "FILE": said.path,
    }
    opaque = ("MAJORS", "EXACT") if lines is None else ()
    return Row(said.path, said.span, values, {"SPEC": said.span}, opaque)


def _rows(facts: Facts, options: Mapping[str, Any]) -> Sequence[Row]:
    rows: dict[tuple[str, Span, str], Row] = {}
    for root in roots_of(facts):
        sources = (_node_manifest, _python_manifests, _version_files, workflow_runtimes)
        for said in chain.from_iterable(source(facts, root) for source in sources):
            rows.setdefault((said.path, said.span, said.source), _row(said))
    for said in _dockerfiles(facts):
        rows.setdefault((said.path, said.span, said.source), _row(said))
    return ordered(rows.values())


RELATIONS = (
    RootRelation(
        "runtime",
        "What each source says about the version of the language runtime.",
        {
            "RUNTIME": Column("text", "The runtime.", ("node", "python")),
            "SOURCE": Column(
                "text",
                "What says it.",
                (
                    *("engines", "devEngines", "volta", *_VERSION_FILES.values(), "requires-python"),
                    *("pyproject-poetry", "pipfile", "dockerfile", "workflow"),
                ),
            ),
            "SPEC": Column("text", "The version or range as written; of an image its name and tag."),
            "MAJORS": Column("set", "Release lines that it admits: Node's majors, Python's minors; opaque if unclear."),
            "EXACT": Column("text", "The line, when it is a single one."),
            "FILE": Column("text", "The file, relative to the audit root."),
        },
        _rows,
    ),
)
