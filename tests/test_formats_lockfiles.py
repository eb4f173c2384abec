"""Lockfiles of every manager, and whether they belong to their manifest."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from fixaudit.formats.lockfiles import Agreement, Lockfile, agrees, read
from fixaudit.formats.manifests import dependencies
from fixaudit.formats.problem import Problem

PACKAGE = {"dependencies": {"a": "^1.0.0", "@s/b": "~2.1.0"}, "devDependencies": {"c": "3.0.0"}}
NPM3 = {
    "lockfileVersion": 3,
    "packages": {
        "": PACKAGE,
        "packages/x": {"dependencies": {"a": "1"}},
        "node_modules/x": {"resolved": "packages/x", "link": True},
        "node_modules/a": {"version": "1.2.0", "integrity": "sha512-x"},
        "node_modules/@s/b": {"version": "2.1.3"},
        "node_modules/@s/b/node_modules/a": {"version": "0.9.0"},
        "node_modules/c": {"version": "3.0.0", "dev": True},
    },
}
NPM1 = {
    "dependencies": {
        "a": {"version": "1.2.0", "dependencies": {"z": {"version": "9.0.0"}}},
        "@s/b": {"version": "2.1.3"},
        "c": {"version": "3.0.0", "dev": True},
    }
}
YARN1 = (
    '# yarn lockfile v1\n\n\n"@s/b@~2.1.0":\n  version "2.1.3"\n  dependencies:\n    a "^1.0.0"\n\n'
    'a@^1.0.0, a@^1.1.0:\n  version "1.2.0"\n\nc@3.0.0:\n  version "3.0.0"\n'
)
BERRY = (
    '__metadata:\n  version: 8\n\n"@s/b@npm:~2.1.0":\n  version: 2.1.3\n\n'
    '"a@npm:^1.0.0, a@npm:^1.1.0":\n  version: 1.2.0\n\n'
    '"c@npm:3.0.0":\n  version: 3.0.0\n\n"root@workspace:.":\n'
    '  version: 0.0.0-use.local\n  resolution: "root@workspace:."\n'
    '  dependencies:\n    "@s/b": "npm:~2.1.0"\n    a: "npm:^1.0.0"\n    c: "npm:3.0.0"\n'
)
PNPM9 = (
    "lockfileVersion: '9.0'\nimporters:\n  .:\n    dependencies:\n"
    "      '@s/b':\n        specifier: ~2.1.0\n        version: 2.1.3\n"
    "      a:\n        specifier: ^1.0.0\n        version: 1.2.0\n"
    "    devDependencies:\n      c:\n        specifier: 3.0.0\n"
    "        version: 3.0.0\n  packages/x:\n    dependencies:\n      a:\n"
    "        specifier: '1'\n        version: 1.2.0\n"
    "packages:\n  '@s/b@2.1.3':\n    resolution: {integrity: sha512-x}\n"
    "  a@1.2.0:\n    resolution: {integrity: sha512-x}\n"
    "  c@3.0.0(a@1.2.0):\n    resolution: {integrity: sha512-x}\n"
)
PNPM6 = (
    "lockfileVersion: '6.0'\ndependencies:\n  '@s/b':\n    specifier: ~2.1.0\n"
    "    version: 2.1.3\n  a:\n    specifier: ^1.0.0\n"
    "    version: 1.2.0\ndevDependencies:\n  c:\n    specifier: 3.0.0\n"
    "    version: 3.0.0\npackages:\n  /@s/b@2.1.3:\n    dev: false\n"
    "  /a@1.2.0:\n    dev: false\n  /c@3.0.0:\n    dev: true\n"
)
PNPM5 = (
    "lockfileVersion: 5.4\nspecifiers:\n  '@s/b': ~2.1.0\n  a: ^1.0.0\n"
    "  c: 3.0.0\ndependencies:\n  '@s/b': 2.1.3\n  a: 1.2.0\n"
    "devDependencies:\n  c: 3.0.0\npackages:\n  /@s/b/2.1.3:\n    dev: false\n"
    "  /a/1.2.0:\n    dev: false\n  /c/3.0.0_a@1.2.0:\n    dev: true\n"
)
NODE = {
    "npm 3": ("package-lock.json", json.dumps(NPM3)),
    "npm 1": ("npm-shrinkwrap.json", json.dumps(NPM1)),
    "yarn 1": ("yarn.lock", YARN1),
    "berry": ("yarn.lock", BERRY),
    "pnpm 9": ("pnpm-lock.yaml", PNPM9),
    "pnpm 6": ("pnpm-lock.yaml", PNPM6),
    "pnpm 5": ("pnpm-lock.yaml", PNPM5),
}


def lockfile(name: str, content: str) -> Lockfile:
    found = read(name, content)
    assert not isinstance(found, Problem), found
    return found


def agreement(name: str, lock: str, kind: str, manifest: str, **options: Any) -> Agreement:
    declared = dependencies(kind, manifest)
    assert not isinstance(declared, Problem)
    return agrees(lockfile(name, lock), declared, manifest, **options)


@pytest.mark.parametrize("flavour", NODE)
def test_packages_of_node(flavour: str) -> None:
    top = {package.name: package.version for package in lockfile(*NODE[flavour]).packages if package.top}
    assert top == {"a": "1.2.0", "@s/b": "2.1.3", "c": "3.0.0"}


@pytest.mark.parametrize("flavour", NODE)
def test_node_agrees_with_its_manifest(flavour: str) -> None:
    name, content = NODE[flavour]
    assert agreement(name, content, "package.json", json.dumps(PACKAGE)) == Agreement(True)
    more = {**PACKAGE, "dependencies": {**PACKAGE["dependencies"], "helmet": "^7.1.0"}}
    result = agreement(name, content, "package.json", json.dumps(more))
    assert result.holds is False
    assert len(result.reasons) == 1
    assert "helmet" in result.reasons[0]
    other = {**PACKAGE, "devDependencies": {"c": "^4.0.0"}}
    assert agreement(name, content, "package.json", json.dumps(other)).holds is False
    fewer = {"dependencies": PACKAGE["dependencies"]}
    expected = flavour in ("npm 1", "yarn 1")
    assert agreement(name, content, "package.json", json.dumps(fewer)).holds is expected
    peer = {**PACKAGE, "peerDependencies": {"react": "18"}}
    assert agreement(name, content, "package.json", json.dumps(peer)).holds is True


def test_workspaces_of_node() -> None:
    manifest = json.dumps({"dependencies": {"a": "1"}})
    for flavour, project in (("npm 3", "packages/x"), ("pnpm 9", "packages/x")):
        assert agreement(*NODE[flavour], "package.json", manifest, project=project).holds is True
        assert agreement(*NODE[flavour], "package.json", manifest, project="elsewhere").holds is None
    own = json.dumps({**PACKAGE, "dependencies": {**PACKAGE["dependencies"], "mine": "1.0.0"}})
    assert agreement(*NODE["yarn 1"], "package.json", own, local=["mine"]).holds is True


def test_what_may_be_recorded_otherwise_is_unknown() -> None:
    resolved = json.dumps({**PACKAGE, "resolutions": {"a": "2"}, "devDependencies": {"c": "4"}})
    assert agreement(*NODE["yarn 1"], "package.json", resolved).holds is None
    catalog = json.dumps({**PACKAGE, "devDependencies": {"c": "catalog:"}})
    assert agreement(*NODE["pnpm 9"], "package.json", catalog).holds is None
    overridden = json.dumps({**PACKAGE, "devDependencies": {"c": "4"}})
    assert agreement("pnpm-lock.yaml", PNPM9 + "overrides:\n  c: 3.0.0\n", "package.json", overridden).holds is None


PYPROJECT = (
    '[project]\nname = "x"\n'
    'dependencies = ["Flask>=3, <4", "zope.interface"]\n[dependency-groups]\ndev = ["pytest>=8"]\n'
)
UV = (
    'version = 1\n[[package]]\nname = "flask"\nversion = "3.0.2"\n'
    '[[package]]\nname = "zope-interface"\nversion = "6.0"\n'
    '[[package]]\nname = "x"\nversion = "0.1.0"\nsource = { virtual = "." }\n[package.metadata]\n'
    'requires-dist = [{ name = "flask", specifier = ">=3,<4" }, { name = "zope-interface" }]\n'
    '[package.metadata.requires-dev]\ndev = [{ name = "pytest", specifier = ">=8" }]\n'
)


def test_uv() -> None:
    lock = lockfile("uv.lock", UV)
    assert [(package.name, package.version) for package in lock.packages] == [
        ("flask", "3.0.2"),
        ("zope-interface", "6.0"),
    ]
    assert agreement("uv.lock", UV, "pyproject.toml", PYPROJECT) == Agreement(True)
    changed = PYPROJECT.replace("<4", "<5")
    assert agreement("uv.lock", UV, "pyproject.toml", changed) == Agreement(
        False, ("Flask is declared as >=3, <5 and locked for <4,>=3",)
    )
    dynamic = '[project]\nname = "x"\ndynamic = ["dependencies"]\n'
    assert agreement("uv.lock", UV, "pyproject.toml", dynamic).holds is None


POETRY = '[tool.poetry]\nname = "x"\n[tool.poetry.dependencies]\npython = "^3.11"\nflask = "^3"\n'


def poetry_lock(digest: str) -> str:
    return (
        '[[package]]\nname = "flask"\nversion = "3.0.2"\ngroups = ["main"]\n'
        '[[package]]\nname = "pytest"\nversion = "8.0"\n'
        f'groups = ["dev"]\n[metadata]\nlock-version = "2.1"\ncontent-hash = "{digest}"\n'
    )


def test_poetry_by_its_digest() -> None:
    hashed = {
        "dependencies": {"python": "^3.11", "flask": "^3"},
        "source": None,
        "extras": None,
        "dev-dependencies": None,
    }
    digest = hashlib.sha256(json.dumps(hashed, sort_keys=True).encode()).hexdigest()
    lock = poetry_lock(digest)
    assert [(item.name, item.dev) for item in lockfile("poetry.lock", lock).packages] == [
        ("flask", False),
        ("pytest", True),
    ]
    assert agreement("poetry.lock", lock, "pyproject.toml", POETRY) == Agreement(True)
    assert agreement("poetry.lock", lock, "pyproject.toml", POETRY + 'redis = "^5"\n').holds is False
    # With a [project] table the digest's recipe depends on the version of poetry: names still decide.
    project = '[project]\nname = "x"\ndependencies = ["flask"]\n'
    assert agreement("poetry.lock", lock, "pyproject.toml", project).holds is None
    missing = '[project]\nname = "x"\ndependencies = ["flask", "redis"]\n'
    assert agreement("poetry.lock", lock, "pyproject.toml", missing) == Agreement(
        False, ("redis is not in the lockfile",)
    )


def test_pipfile_by_its_digest() -> None:
    pipfile = (
        '[[source]]\nname = "x"\nurl = "https://example.invalid/simple"\nverify_ssl = true\n[packages]\nflask = "*"\n'
    )
    hashed = {
        "_meta": {
            "sources": [{"name": "x", "url": "https://example.invalid/simple", "verify_ssl": True}],
            "requires": {},
        },
        "default": {"flask": "*"},
        "develop": {},
    }
    digest = hashlib.sha256(json.dumps(hashed, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
    lock = json.dumps({"_meta": {"hash": {"sha256": digest}}, "default": {"flask": {"version": "==3.0.2"}}})
    assert lockfile("Pipfile.lock", lock).packages[0].version == "3.0.2"
    assert agreement("Pipfile.lock", lock, "Pipfile", pipfile) == Agreement(True)
    assert agreement("Pipfile.lock", lock, "Pipfile", pipfile + 'redis = "*"\n').holds is False
    assert agreement("Pipfile.lock", lock, "Pipfile", '[packages]\nflask = "*"\n').holds is None


def test_pdm_by_its_names() -> None:
    lock = '[metadata]\nlock_version = "4.5"\n[[package]]\nname = "flask"\nversion = "3"\ngroups = ["default"]\n'
    assert agreement("pdm.lock", lock, "pyproject.toml", '[project]\ndependencies = ["flask"]\n').holds is None
    assert agreement("pdm.lock", lock, "pyproject.toml", '[project]\ndependencies = ["redis"]\n').holds is False


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        ("package-lock.json", '{\n"a": ', 2),
        ("package-lock.json", "[]", 1),
        ("yarn.lock", "a@1:\n  version x\nnonsense\n", 3),
        ("pnpm-lock.yaml", "a: 1\nb: [", 2),
        ("uv.lock", "a = 1\nb = ", 2),
        ("Pipfile.lock", "{", 1),
        ("bun.lockb", "", 1),
        ("other.lock", "", 1),
    ],
)
def test_an_unreadable_lockfile_is_a_problem(name: str, content: str, line: int) -> None:
    problem = read(name, content)
    assert isinstance(problem, Problem)
    assert problem.line == line
