"""ensure_dependency: the manifest's own style, the project's runtime, and what a lockfile asks for."""

from __future__ import annotations

from typing import Any

import pytest

from fixaudit.fixers.base import Refusal, Situation
from fixaudit.relations.base import Row
from fixaudit.snapshot import ChangeSet, FollowUp, LockUpdate
from tests.fixers_kit import after, again, plan, rule, rulebook, situation

STEP = {"ensure_dependency": {"package": "{{ wanted }}"}}
DATA = {
    "packages": {
        "as_of": "2026-11-01",
        "npm": {
            "helmet": {"releases": [{"version": "7.2.0", "runtime": ">=16"}, {"version": "8.1.0", "runtime": ">=18"}]},
            "modern": {"releases": [{"version": "2.0.0", "runtime": ">=24"}]},
        },
        "pypi": {"slowapi": {"releases": [{"version": "0.1.9", "runtime": ">=3.9"}]}},
    },
    "runtimes": {
        "as_of": "2026-11-01",
        "runtimes": {
            "node": {"name": "Node", "releases": {"18": {"eol": "2025-04-30"}, "22": {"eol": "2027-04-30"}}},
            "python": {"name": "Python", "releases": {"3.12": {"eol": "2028-10-31"}}},
        },
    },
}


def made(files: dict[str, str], path: str, wanted: str = "helmet", **more: Any) -> Situation:
    stacks = ("python",) if path.endswith(".py") else ("node",)
    step = {"ensure_dependency": {"package": "{{ wanted }}", "dev": True}} if more.pop("dev", False) else STEP
    return situation(
        rule(step), {path: "x\n", **files}, Row(path, (0, 1), {}), {"wanted": wanted}, book=rulebook(DATA),
        stacks=stacks, **more,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ('{\n\t"name": "a",\n\t"dependencies": {\n\t\t"express": "4.19.2",\n\t\t"zod": "3.23.8"\n\t}\n}',
         '{\n\t"name": "a",\n\t"dependencies": {\n\t\t"express": "4.19.2",\n\t\t"helmet": "8.1.0",\n'
         '\t\t"zod": "3.23.8"\n\t}\n}'),
        ('{"dependencies": {"express": "^4.0.0"}}\n', '{"dependencies": {"express": "^4.0.0", "helmet": "^8.1.0"}}\n'),
        ('{\n  "devDependencies": {\n    "helmet": "~7.0.0",\n    "vitest": "^3.0.0"\n  }\n}\n',
         '{\n  "dependencies": {\n    "helmet": "~7.0.0"\n  },\n'
         '  "devDependencies": {\n    "vitest": "^3.0.0"\n  }\n}\n'),
        ('{\r\n  "dependencies": { "b": "^1.0.0" },\r\n'
         '  "devDependencies": { "a": "^1.0.0", "helmet": "7.0.0" }\r\n}\r\n',
         '{\r\n  "dependencies": { "b": "^1.0.0", "helmet": "7.0.0" },\r\n'
         '  "devDependencies": { "a": "^1.0.0" }\r\n}\r\n'),
    ],
)  # fmt: skip
def test_package_json(before: str, expected: str) -> None:
    situated = made({"package.json": before}, "a.js")
    assert after(situated) == {"package.json": expected}
    assert again(situated) == ChangeSet()


@pytest.mark.parametrize(
    "before",
    [
        '{"dependencies": {"helmet": "*"}}',
        '{"peerDependencies": {"helmet": "8"}}',
        '{"optionalDependencies": {"helmet": "8"}}',
    ],
)
def test_nothing_where_it_is_declared(before: str) -> None:
    assert plan(made({"package.json": before}, "a.js")) == ChangeSet()


def test_the_version_runs_on_the_projects_runtime() -> None:
    planned = plan(made({"package.json": "{}"}, "a.js", "modern"))
    assert planned == Refusal("no known version of modern runs on 22", code="none")
    unknown = plan(made({"package.json": "{}"}, "a.js", "left-pad"))
    assert unknown == Refusal("no version of left-pad is known here: add it yourself", code="none")


def test_follow_up_without_a_lockfile() -> None:
    planned = plan(made({"package.json": "{}"}, "a.js"))
    assert isinstance(planned, ChangeSet)
    text = "install helmet, which is declared in package.json now"
    assert planned.follow_ups == (FollowUp("TST-001:package.json:install", text, "npm install"),)
    assert planned.lock_updates == ()


def test_an_npm_lockfile_is_brought_in_step() -> None:
    planned = plan(made({"package.json": "{}", "package-lock.json": "{}"}, "a.js"))
    assert isinstance(planned, ChangeSet)
    command = ("npm", "install", "helmet@8.1.0")
    assert planned.lock_updates == (LockUpdate("npm", "package.json", "package-lock.json", command),)


def test_a_workspace_member_has_the_lockfile_of_the_top() -> None:
    files = {"package.json": '{"workspaces": ["api"]}', "package-lock.json": "{}", "api/package.json": "{}"}
    planned = plan(made(files, "api/a.js", root="api"))
    assert isinstance(planned, ChangeSet)
    command = ("npm", "install", "--workspace", "api", "helmet@8.1.0")
    assert planned.lock_updates == (LockUpdate("npm", "api/package.json", "package-lock.json", command),)
    assert planned.paths() == ("api/package.json",)


@pytest.mark.parametrize(
    ("lock", "more", "sentence"),
    [
        ("yarn.lock", {}, "yarn lockfiles are not updated here: run `yarn add helmet@8.1.0` first"),
        ("pnpm-lock.yaml", {}, "pnpm lockfiles are not updated here: run `pnpm add helmet@8.1.0` first"),
        ("package-lock.json", {"no_install": True}, "installing is switched off: run `npm install helmet@8.1.0` first"),
    ],
)
def test_a_lockfile_that_cannot_be_updated_refuses_the_fix(lock: str, more: dict[str, Any], sentence: str) -> None:
    assert plan(made({"package.json": "{}", lock: ""}, "a.js", **more)) == Refusal(sentence, code="lockfile")


def test_two_lockfiles_are_refused() -> None:
    planned = plan(made({"package.json": "{}", "yarn.lock": "", "package-lock.json": "{}"}, "a.js"))
    assert isinstance(planned, Refusal)
    assert "package-lock.json, yarn.lock" in planned.sentence


POETRY = '[tool.poetry]\nname = "a"\n[tool.poetry.dependencies]\npython = "^3.12"\nfastapi = "^0.110"\n'


@pytest.mark.parametrize(
    ("path", "before", "expected", "command"),
    [
        ("requirements.txt", "flask==3.0.0\nzope==6.0\n", "flask==3.0.0\nslowapi==0.1.9\nzope==6.0\n",
         "pip install -r requirements.txt"),
        ("pyproject.toml", '[project]\nname = "a"\ndependencies = ["fastapi>=0.110"]\n',
         '[project]\nname = "a"\ndependencies = ["fastapi>=0.110", "slowapi>=0.1.9"]\n', "pip install -e ."),
        ("pyproject.toml", POETRY, POETRY + 'slowapi = "^0.1.9"\n', "poetry install"),
    ],
)  # fmt: skip
def test_python(path: str, before: str, expected: str, command: str) -> None:
    situated = made({path: before}, "a.py", "slowapi")
    assert after(situated) == {path: expected}
    planned = plan(situated)
    assert isinstance(planned, ChangeSet)
    assert [item.command for item in planned.follow_ups] == [command]
    assert again(situated) == ChangeSet()


def test_python_lockfiles() -> None:
    project = '[project]\nname = "a"\ndependencies = []\n'
    planned = plan(made({"pyproject.toml": project, "uv.lock": ""}, "a.py", "slowapi"))
    assert isinstance(planned, ChangeSet)
    assert planned.lock_updates[0].command == ("uv", "add", "slowapi>=0.1.9")
    assert [item.command for item in planned.follow_ups] == ["uv sync"]
    poetry = plan(made({"pyproject.toml": project, "poetry.lock": ""}, "a.py", "slowapi"))
    assert isinstance(poetry, Refusal)
    assert "poetry add" in poetry.sentence
    hashed = plan(made({"requirements.txt": "a==1 --hash=sha256:0\n"}, "a.py", "slowapi"))
    assert isinstance(hashed, Refusal)
    assert hashed.code == "lockfile"
