"""What the product promises, shown through its command on whole projects."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cases.runner import IDENTITY, Result, environment, fixaudit

ROOT = Path(__file__).parent.parent
CREDENTIALS = ("mango-lantern-42-orbit", "pk9x-willow-crane-77ab", "Gr3en-Kettle-Swims!", "tr0ub4dor-and-3")


def project(tmp_path: Path, sample: str | None = None, files: dict[str, str] | None = None) -> Path:
    """Make a git repository of a sample or of some files, all committed."""
    place = tmp_path / "project"
    if sample is not None:
        shutil.copytree(ROOT / "samples" / sample, place, ignore=shutil.ignore_patterns("expected.yaml"))
    for path, content in (files or {}).items():
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_text(content, encoding="utf-8")
    git(place, "init", "-q", "-b", "main")
    git(place, "add", "-A")
    git(place, "commit", "-q", "-m", "base")
    return place


def git(place: Path, *arguments: str) -> str:
    env = {**environment(place.parent), **IDENTITY}
    done = subprocess.run(["git", *arguments], cwd=place, check=True, capture_output=True, env=env)
    return done.stdout.decode()


def everything(place: Path) -> dict[str, object]:
    """Bytes, modes and links of every file, ignored ones and git's own included."""
    state: dict[str, object] = {}
    for path in sorted(place.rglob("*")):
        name = path.relative_to(place).as_posix()
        if path.is_symlink():
            state[name] = path.readlink()
        elif path.is_file():
            state[name] = (path.stat().st_mode, path.read_bytes())
    return state


def test_four_masked_credentials_and_none_in_clear(tmp_path: Path) -> None:
    place = project(tmp_path, "node_express_secrets")
    plain = fixaudit(place, tmp_path, "scan", "--show", "all")
    data = fixaudit(place, tmp_path, "scan", "--format", "json")
    fix = fixaudit(place, tmp_path, "fix")
    review = fixaudit(place, tmp_path, "review")
    found = [f for f in data.json["findings"] if f["rule"] == "SCR-002"]
    assert [(f["path"], f["line"], f["column"]) for f in found] == [
        ("src/config.js", 4, 7), ("src/config.js", 5, 7), ("src/config.js", 12, 5), ("src/config.js", 14, 3),
    ]  # fmt: skip
    assert all(re.search(r"\S{1,4}…\(\d+\)", f["message"]) for f in found), "each is shown masked"
    for finding in found:
        assert f"src/config.js:{finding['line']}:{finding['column']}" in plain.out
    said = "".join(r.out + r.err for r in (plain, data, fix, review))
    written = [p for p in (tmp_path / "state").rglob("*") if p.is_file() and "store.git" not in p.parts]
    written += [p for p in (tmp_path / "cache").rglob("*") if p.is_file()]
    blob = said.encode() + b"".join(p.read_bytes() for p in written)
    for value in CREDENTIALS:
        assert value.encode() not in blob


def test_all_four_move(tmp_path: Path) -> None:
    place = project(tmp_path, "node_express_secrets")
    result = fixaudit(place, tmp_path, "fix", "--format", "json")
    assert [f["line"] for f in result.json["fixed"] if f["rule"] == "SCR-002"] == [4, 5, 12, 14]
    source = (place / "src/config.js").read_text()
    assert not [value for value in CREDENTIALS if value in source]
    secret = (place / ".env").read_text()
    assert [value for value in CREDENTIALS if value in secret] == list(CREDENTIALS)
    assert git(place, "status", "--porcelain", "--", ".env") == "", "git does not see it"


def test_the_strict_unit_moves_three(tmp_path: Path) -> None:
    place = project(tmp_path, "node_express_secrets")
    result = fixaudit(place, tmp_path, "fix", "--issue-unit", "rule")
    assert result.code == 1
    review = (place / "fixaudit-review.md").read_text().splitlines()
    line = "SCR-002 (DYNAMIC-PARAMETRIC): unresolved after 3 attempt(s): the rule still fails after the change"
    assert line in review
    source = (place / "src/config.js").read_text()
    assert [value for value in CREDENTIALS if value in source] == ["tr0ub4dor-and-3"]


REFUSED = (
    "CON-002 (DYNAMIC-PARAMETRIC): 2 database drivers are declared, so the pool to configure is unclear. "
    "Candidates: mysql, postgres"
)


def test_two_drivers_are_refused_and_an_answer_resolves_it(tmp_path: Path) -> None:
    place = project(tmp_path, "amb_two_drivers")
    first = fixaudit(place, tmp_path, "fix", "--format", "json")
    assert REFUSED in (place / "fixaudit-review.md").read_text().splitlines()
    entry = next(e for e in first.json["review"] if e["rule"] == "CON-002")
    assert (entry["stop"], entry["attempts"]) == ("refused", 0)
    assert [c["value"] for c in entry["candidates"]] == ["mysql", "postgres"]
    (place / "fixaudit.yaml").write_text("answers: [{rule: CON-002, parameter: driver, value: postgres}]\n")
    second = fixaudit(place, tmp_path, "fix", "--format", "json")
    assert [f["rule"] for f in second.json["fixed"] if f["rule"] == "CON-002"] == ["CON-002"], second.out
    assert REFUSED not in (place / "fixaudit-review.md").read_text()


def test_a_fixer_that_breaks_another_rule_never_reaches_the_tree(tmp_path: Path) -> None:
    files = {
        "package.json": '{"name": "a"}\n',
        "app.js": 'use({ origin: "*" }, process.env.A);\n',
        ".env.example": "A=\n",
        ".gitignore": ".env\n.env.*\n!.env.example\nignored.txt\n",
    }
    place = project(tmp_path, files=files)
    (place / "ignored.txt").write_text("mine")
    (place / "untracked.txt").write_text("mine, too")
    (place / "run.sh").write_text("#!/bin/sh\n")
    (place / "run.sh").chmod(0o755)
    (place / "link").symlink_to("app.js")
    before = everything(place)
    pack = str(ROOT / "tests/packs/acceptance")
    result = fixaudit(place, tmp_path, "fix", "--rules", pack)
    assert result.code == 1
    review = place / "fixaudit-review.md"
    assert (
        "ACME-003 (STATIC): fixing ACME-003 broke ENV-001, which passed before it, so the change was reverted"
        in review.read_text().splitlines()
    )
    review.unlink()
    assert everything(place) == before


def test_a_rule_that_waits_for_another_passes_in_the_second_cycle(tmp_path: Path) -> None:
    place = project(tmp_path, files={"package.json": '{"name": "a"}\n', "index.js": "main();\n"})
    result = fixaudit(place, tmp_path, "fix", "--format", "json")
    assert result.json["cycles"] == 2
    assert [(f["rule"], f["attempts"]) for f in result.json["fixed"]] == [("GIT-001", 1), ("SCR-001", 2)]
    assert result.json["review"] == []
    assert "SCR-001" not in fixaudit(place, tmp_path, "review").out


def test_a_precondition_that_never_comes_is_said(tmp_path: Path) -> None:
    place = project(tmp_path, files={"package.json": '{"name": "a"}\n', "index.js": "main();\n"})
    fixaudit(place, tmp_path, "fix", "--skip", "GIT-001")
    lines = (place / "fixaudit-review.md").read_text().splitlines()
    assert "SCR-001 (STATIC): no file at .gitignore" in lines


def test_nothing_that_passes_stands_in_the_review(tmp_path: Path) -> None:
    place = project(tmp_path, "monorepo")
    fix = fixaudit(place, tmp_path, "fix", "--format", "json")
    scan = fixaudit(place, tmp_path, "scan", "--format", "json", "--fail-on", "never")
    failing = {(r["id"], r["root"]) for r in scan.json["rules"] if r["verdict"] in ("FAIL", "ERROR")}
    assert {(e["rule"], e["root"]) for e in fix.json["review"]} <= failing


def test_undo_gives_every_byte_back(tmp_path: Path) -> None:
    place = project(tmp_path, "node_express_secrets_no_gitignore")
    before = everything(place)
    assert fixaudit(place, tmp_path, "fix").code in (0, 1)
    assert everything(place) != before
    undone = fixaudit(place, tmp_path, "undo")
    assert undone.code == 0, undone.err
    (place / "fixaudit-review.md").unlink(missing_ok=True)
    after = everything(place)
    assert {k: v for k, v in after.items() if not k.startswith(".git/")} == {
        k: v for k, v in before.items() if not k.startswith(".git/")
    }


@pytest.mark.parametrize("command", [["scan"], ["fix"], ["undo"], ["review"], ["rules"], ["explain", "SEC-003"]])
def test_an_empty_directory_is_no_error(command: list[str], tmp_path: Path) -> None:
    place = tmp_path / "empty"
    place.mkdir()
    extra = ["--allow-no-vcs"] if command == ["fix"] else []
    result: Result = fixaudit(place, tmp_path, *command, *extra)
    assert result.code == 0, result.err
    assert list(place.iterdir()) == []
