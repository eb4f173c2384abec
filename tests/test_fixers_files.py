"""Steps on whole files: create_file, ensure_lines, set_key, set_value, untrack."""

from __future__ import annotations

from typing import Any

import pytest

from fixaudit.fixers import registry
from fixaudit.fixers.base import Candidate, Deferred, Refusal
from fixaudit.snapshot import EXECUTABLE, ChangeSet, FollowUp
from tests.fixers_kit import after, again, plan, row, rule, situation, tree

PACKAGE = {"package.json": "{}\n"}


def fixed(step: dict[str, Any], files: dict[str, str | bytes], **more: Any) -> dict[str, str]:
    """Apply one step, check that applying it again changes nothing, and return the changed files."""
    made = situation(rule(step), {**PACKAGE, **files}, **more)
    assert again(made) == ChangeSet()
    return after(made)


def refused(step: dict[str, Any], files: dict[str, str | bytes], **more: Any) -> Any:
    return plan(situation(rule(step), {**PACKAGE, **files}, **more))


def test_every_step_has_a_closed_schema_and_a_description() -> None:
    for kind in registry().values():
        branches = kind.schema.get("oneOf", [kind.schema])
        assert kind.doc and all(branch["additionalProperties"] is False for branch in branches)


def test_create_file_expands_lists_and_fills_templates() -> None:
    step = {
        "create_file": {"path": ".gitignore", "lines": ["{{ stack.ignore }}", "# {{ stack.manager }}", ".DS_Store"]}
    }
    assert fixed(step, {}) == {".gitignore": "node_modules/\ndist/\n# npm\n.DS_Store\n"}
    both = fixed(step, {}, stacks=("node", "python"))
    assert both == {".gitignore": "node_modules/\ndist/\n__pycache__/\n# pip\n.DS_Store\n"}


@pytest.mark.parametrize(
    ("path", "line", "expected"),
    [
        ("a.js", 'f({{ env("KEY") }}, {{ env_optional("P", "3") }});', 'f(process.env.KEY, (process.env.P ?? "3"));\n'),
        ("a.ts", 'f({{ env("KEY") }});', "f((process.env.KEY as string));\n"),
        ("a.py", 'f({{ env("KEY") }}, {{ env_optional("P") }})', 'f(os.environ["KEY"], os.environ.get("P", ""))\n'),
    ],
)
def test_code_in_a_created_file_reads_the_environment(path: str, line: str, expected: str) -> None:
    assert fixed({"create_file": {"path": path, "lines": [line]}}, {}) == {path: expected}


def test_create_file_of_a_member_root_and_with_a_mode() -> None:
    files = {"package.json": "{}", "api/package.json": "{}"}
    made = situation(
        rule({"create_file": {"path": "run.sh", "content": "#!/bin/sh\n", "mode": "755"}}), files, root="api"
    )
    planned = plan(made)
    assert isinstance(planned, ChangeSet)
    assert planned.created["api/run.sh"].mode == EXECUTABLE


THERE = Refusal("a is there already", (Candidate("a", "a"),), code="taken")


@pytest.mark.parametrize(
    ("arguments", "files", "expected"),
    [
        (
            {"path": "a", "lines": ["x"]},
            {"a": "y\n"},
            Refusal("a is there already", (Candidate("a", "a"),), code="taken"),
        ),
        ({"path": "a", "lines": ["x"]}, {"a": "x\n"}, ChangeSet()),
        ({"path": "a", "lines": ["x"], "when_exists": "keep"}, {"a": "y\n"}, ChangeSet()),
        ({"path": "a/b", "lines": ["x"]}, {"a": "y"}, Refusal("a is a file, so a/b cannot be created", code="shape")),
        ({"path": "../a", "lines": ["x"]}, {}, Refusal("../a is outside of the project", code="shape")),
        ({"path": ".git/hooks/x", "lines": ["x"]}, {}, Refusal(".git/hooks/x is outside of the project", code="shape")),
    ],
)
def test_create_file_never_overwrites(arguments: dict[str, Any], files: dict[str, str | bytes], expected: Any) -> None:
    assert refused({"create_file": arguments}, files) == expected


ENV_LINES = {"ensure_lines": {"path": ".gitignore", "lines": [".env", ".env.*", "!.env.example"]}}


def test_ensure_lines_waits_for_its_file() -> None:
    assert refused(ENV_LINES, {}) == Deferred("no file at .gitignore")
    create = {"ensure_lines": {**ENV_LINES["ensure_lines"], "when_absent": "create"}}
    assert fixed(create, {}) == {".gitignore": ".env\n.env.*\n!.env.example\n"}


def test_ensure_lines_keeps_line_endings() -> None:
    assert fixed(ENV_LINES, {".gitignore": "dist/\r\nout"}) == {
        ".gitignore": "dist/\r\nout\r\n.env\r\n.env.*\r\n!.env.example\r\n"
    }


KEY = {"set_key": {"path": ".env.example", "key": "PORT", "value": "3000"}}


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, "PORT=3000\n"),
        ({".env.example": "A=1"}, "A=1\nPORT=3000\n"),
        ({".env.example": "PORT=3000\n", "a.js": "f(process.env.PORT);\n"}, None),  # the same value
        ({".env.example": "PORT=80\n"}, None),  # nothing reads it: shared
    ],
)
def test_set_key(files: dict[str, str | bytes], expected: str | None) -> None:
    assert fixed(KEY, files) == ({} if expected is None else {".env.example": expected})


def test_set_key_refuses_a_key_that_means_something_else() -> None:
    files: dict[str, str | bytes] = {".env.example": "A=1\nPORT=80\n", "a.js": "f(process.env.PORT);\n"}
    assert refused(KEY, files) == Refusal(
        "PORT is already declared in .env.example, so its meaning is unclear",
        (Candidate("PORT", ".env.example:2"),),
        code="taken",
    )
    assert fixed({"set_key": {**KEY["set_key"], "when_declared": "share"}}, files) == {}


def test_a_read_that_the_same_fix_adds_is_no_reader() -> None:
    content = "const port = 80;\nserve(port);\n"
    steps = ({"replace": {"capture": "VALUE", "with": '{{ env("PORT") }}'}}, KEY)
    made = situation(
        rule(*steps), {**PACKAGE, ".env.example": "PORT=80\n", "a.js": content}, row("a.js", content, "80")
    )
    assert after(made) == {"a.js": "const port = process.env.PORT;\nserve(port);\n"}


@pytest.mark.parametrize(
    ("path", "before", "arguments", "expected"),
    [
        ("p.json", '{\n  "a": 1\n}\n', {"pointer": "/engines/node", "value": ">=22"},
         '{\n  "a": 1,\n  "engines": {\n    "node": ">=22"\n  }\n}\n'),
        ("p.json", '{"a": 1}\n', {"pointer": "/a", "value": 2}, '{"a": 2}\n'),
        ("w.yml", "name: x  # y\non: push\njobs: {}\n",
         {"pointer": "/permissions", "value": {"contents": "read"}, "after": ["on"]},
         "name: x  # y\non: push\npermissions:\n  contents: read\njobs: {}\n"),
        ("w.yml", "node: 18 # old\n", {"pointer": "/node", "value": 22}, "node: 22 # old\n"),
        ("w.yml", "a:\n    b: x\n", {"pointer": "/a/c", "value": "yes"}, 'a:\n    b: x\n    c: "yes"\n'),
        ("p.toml", "[a]\nb = 1\n", {"pointer": "/a/b", "value": 2}, "[a]\nb = 2\n"),
    ],
)  # fmt: skip
def test_set_value(path: str, before: str, arguments: dict[str, Any], expected: str) -> None:
    assert fixed({"set_value": {"path": path, **arguments}}, {path: before}) == {path: expected}


def test_set_value_never_creates_a_file() -> None:
    step = {"path": "x.json", "pointer": "/a", "value": 1}
    assert refused({"set_value": step}, {}) == Refusal("there is no x.json to change", code="none")
    assert refused({"set_value": {**step, "when_absent": "defer"}}, {}) == Deferred("no file at x.json")


def test_untrack_takes_tracked_files_only() -> None:
    snapshot = tree({**PACKAGE, ".env": "A=1\n", ".env.local": "A=1\n"}, tracked=frozenset({".env", "package.json"}))
    planned = plan(situation(rule({"untrack": {"paths": [".env", ".env.local"]}}), snapshot))
    assert planned == ChangeSet(untracked=(".env",))


def test_all_steps_or_none() -> None:
    steps = ({"create_file": {"path": "a", "lines": ["x"]}}, {"create_file": {"path": "package.json", "lines": ["x"]}})
    assert isinstance(plan(situation(rule(*steps), PACKAGE)), Refusal)


def test_follow_ups_are_filled_in_and_need_no_change() -> None:
    more = ({"text": "set {{ key }}", "command": "export {{ key }}="},)
    made = situation(
        rule({"create_file": {"path": "a", "lines": ["x"]}}, follow_ups=more), PACKAGE, values={"key": "K"}
    )
    planned = plan(made)
    assert isinstance(planned, ChangeSet)
    assert planned.follow_ups == (FollowUp("TST-001:set K", "set K", "export K="),)
