"""What is shipped: schema and documentation are fresh, jsonschema agrees with our own messages, concepts hold."""

from __future__ import annotations

import re

import pytest

from fixaudit.facts import Project
from fixaudit.relations import registry
from fixaudit.relations.base import COLUMN_TESTS, VALUE_TESTS
from fixaudit.rulebook.exercise import exercise_concept
from fixaudit.rulebook.load import compile_files, pack_files, shipped_directory
from fixaudit.rulebook.positions import Document, read
from fixaudit.rulebook.reference import DOCS_FILE, refreshed
from fixaudit.rulebook.rule import PACKS
from fixaudit.rulebook.schema import SCHEMA_FILE, column_tests, schema_for, shipped_text
from fixaudit.snapshot import MemorySnapshot
from tests.rulebook_kit import vocabulary


def test_the_vocabulary_loads() -> None:
    loaded = compile_files(vocabulary())
    assert loaded.problems == ()
    assert {"node", "python", "express", "fastapi", "flask", "django", "react-vite"} <= set(loaded.rulebook.stacks)
    assert set(loaded.rulebook.data) == {"runtimes", "packages"}


@pytest.mark.parametrize("name", ["db.query", "env.read", "http.route", "secret.literal"])
def test_concepts_hold(name: str) -> None:
    book = compile_files(vocabulary()).rulebook
    assert [str(failure) for failure in exercise_concept(book.concepts[name], book)] == []


def test_the_schema_of_rules_is_fresh() -> None:
    """Run `python -m fixaudit.rulebook.reference` when this fails."""
    assert SCHEMA_FILE.read_text(encoding="utf-8") == shipped_text()


def test_the_documentation_is_fresh() -> None:
    """Run `python -m fixaudit.rulebook.reference` when this fails."""
    text = DOCS_FILE.read_text(encoding="utf-8")
    assert refreshed(text) == text


def test_jsonschema_alone_accepts_every_shipped_rule() -> None:
    from jsonschema import Draft202012Validator

    for kind in ("rule", "stacks", "concept", "runtimes", "packages"):
        Draft202012Validator.check_schema(schema_for(kind))
    validator = Draft202012Validator(schema_for("rule"))
    files = [file for file in pack_files([]) if file.kind == "rule"]
    for file in files[:: max(1, len(files) // 8)]:  # oneOf without a choice made first is slow
        document = read(file.data.decode(), file.label)
        assert isinstance(document, Document)
        assert validator.is_valid(document.value), file.label


def test_every_object_of_the_schema_is_closed() -> None:
    def objects(schema: object) -> list[dict[str, object]]:
        if isinstance(schema, list):
            return [found for item in schema for found in objects(item)]
        if not isinstance(schema, dict):
            return []
        own = [schema] if schema.get("type") == "object" and "properties" in schema else []
        return own + [found for inner in schema.values() for found in objects(inner)]

    found = objects(schema_for("rule")) + objects(schema_for("stacks")) + objects(schema_for("concept"))
    assert len(found) > 50
    assert all(schema.get("additionalProperties") is False for schema in found)


def test_the_grammar_knows_every_test_of_the_evaluator() -> None:
    known = {test for tests in column_tests().values() for test in tests}
    assert known == set(COLUMN_TESTS)
    assert set(schema_for("rule")["$defs"]["value_test"]["oneOf"][2]["properties"]) == set(VALUE_TESTS)


def test_no_relation_has_a_column_that_is_an_option_too() -> None:
    for name, relation in registry().items():
        assert not {column.lower() for column in relation.columns} & set(relation.options), name


@pytest.mark.parametrize(
    ("files", "stacks"),
    [
        ({"package.json": "{}"}, {"node"}),
        ({"server.js": "const x = 1;\n"}, {"node"}),
        ({"package.json": "{}", "app.mjs": 'import express from "express";\n'}, {"node", "express"}),
        ({"package.json": '{"dependencies": {"express": "^5"}}'}, {"node", "express"}),
        ({"package.json": '{"devDependencies": {"express": "^5"}}'}, {"node"}),
        ({"requirements.txt": "FastAPI[all]>=0.1\n"}, {"python", "fastapi"}),
        ({"pyproject.toml": '[project]\ndependencies = ["Django~=5.0"]\n'}, {"python", "django"}),
        ({"app.ts": 'import type { Request } from "express";\n'}, {"node"}),
        ({"main.py": "from fastapi import FastAPI\n"}, {"python", "fastapi"}),
        ({"requirements.txt": "x\n", "app.py": "import flask.views\n"}, {"python", "flask"}),
        ({"manage.py": "print(1)\n"}, {"python", "django"}),
        ({"package.json": "{}", "vite.config.ts": 'import r from "@vitejs/plugin-react";\n'}, {"node", "react-vite"}),
        ({"package.json": "{}", "main.ts": 'import { NestFactory } from "@nestjs/core";\n'}, {"node", "nestjs"}),
        ({"next.config.mjs": "export default {};\n"}, {"node", "nextjs"}),
        ({"go.mod": "module x\n"}, {"go"}),
        ({"App.csproj": "<Project/>\n"}, {"dotnet"}),
        ({"README.md": "x\n"}, set()),
    ],
)  # fmt: skip
def test_stacks_are_recognised_from_evidence(files: dict[str, str], stacks: set[str]) -> None:
    from fixaudit.audit import audit

    book = compile_files(vocabulary()).rulebook
    (root,) = audit(book, MemorySnapshot.of(files)).roots
    assert set(root.stacks) == stacks


def test_recognised_stacks_without_rules_are_named() -> None:
    from fixaudit.audit import audit

    book = compile_files(vocabulary()).rulebook
    (root,) = audit(book, MemorySnapshot.of({"go.mod": "x\n", "app.js": 'const k = require("koa");\n'})).roots
    assert root.unassessed == ("go", "koa")


def test_import_rows() -> None:
    text = 'import a, { b as c } from "@x/y/z";\nimport "./side";\nconst fs = require("node:fs/promises");\n'
    project = Project(
        MemorySnapshot.of({"a.mjs": text, "b.py": "from . import m\nimport os.path\nimport flask.views as v\n"})
    )
    rows = project.view(project.roots[0]).rows(registry()["import"])
    assert [(r.path, r.values["MODULE"], r.values["PACKAGE"], r.values["EXPORT"], r.values["LOCAL"]) for r in rows] == [
        ("a.mjs", "@x/y/z", "@x/y", "default", "a"),
        ("a.mjs", "@x/y/z", "@x/y", "b", "c"),
        ("a.mjs", "./side", None, "*", None),
        ("a.mjs", "node:fs/promises", "fs", "*", "fs"),
        ("b.py", ".", None, "m", "m"),
        ("b.py", "os.path", "os", "*", "os"),
        ("b.py", "flask.views", "flask", "*", "v"),
    ]


def test_data_files_are_dated_and_name_no_registry() -> None:
    data = compile_files(vocabulary()).rulebook.data
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\d", data[name]["as_of"]) for name in data)
    node = data["runtimes"]["runtimes"]["node"]["releases"]
    python = data["runtimes"]["runtimes"]["python"]["releases"]
    assert node["20"]["eol"] == "2026-04-30" and python["3.10"]["eol"] == "2026-10" and "lts" in node["24"]
    for name in ("runtimes.yaml", "packages.yaml"):
        text = (shipped_directory() / name).read_text(encoding="utf-8")
        assert "registry." not in text and "pypi.org" not in text
    for ecosystem in ("npm", "pypi"):
        for package, entry in data["packages"][ecosystem].items():
            versions = [tuple(int(n) for n in release["version"].split(".")) for release in entry["releases"]]
            assert versions == sorted(versions, reverse=True), package
    assert set(PACKS) == {"SEC", "SCR", "ENV", "BLD", "CON", "API", "STR", "OBS", "GIT"}
