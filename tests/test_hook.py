"""The pre-commit hooks, through real commits."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from tests.cases.runner import environment
from tests.project_kit import CLEAN, SECRET, TOKEN, Repo, everything, make


def staged(repo: Repo, path: str) -> str:
    return repo.git("show", f":{path}")


# -- scan -------------------------------------------------------------------------------------------------------------


def test_what_was_there_before_does_not_fail_a_commit(tmp_path: Path) -> None:
    repo = make(tmp_path, {"old.js": SECRET})
    repo.install("scan")
    repo.write({"a.js": CLEAN + "// more\n"})
    assert repo.commit("-a").code == 0


def test_a_staged_finding_fails_the_commit_and_changes_nothing(tmp_path: Path) -> None:
    repo = make(tmp_path)
    repo.install("scan")
    repo.write({"b.js": SECRET})
    repo.git("add", "b.js")
    result = repo.commit()
    assert result.code == 1
    shown = result.out + result.err
    assert "SCR-002" in shown and "b.js:1" in shown
    assert TOKEN not in shown
    assert repo.git("ls-files", "-s", "b.js").split()[1] == repo.git("hash-object", "b.js")
    before = everything(repo.place)
    assert repo.run("hook", "scan").code == 1
    assert everything(repo.place) == before


def test_the_index_is_judged_and_not_the_working_tree(tmp_path: Path) -> None:
    repo = make(tmp_path)
    repo.install("scan")
    repo.write({"b.js": CLEAN})
    repo.git("add", "b.js")
    repo.write({"b.js": SECRET})
    assert repo.commit().code == 0

    repo.git("add", "b.js")
    repo.write({"b.js": CLEAN})
    result = repo.commit()
    assert result.code == 1 and "b.js" in result.out + result.err


def test_commit_all_and_commit_of_paths(tmp_path: Path) -> None:
    repo = make(tmp_path, {"b.js": CLEAN, "c.js": CLEAN})
    repo.install("scan")
    repo.write({"b.js": SECRET})
    index = repo.git("ls-files", "-s")
    assert repo.commit("-a").code == 1
    assert repo.git("ls-files", "-s") == index, "a failed commit has staged something"
    assert repo.commit("--", "b.js").code == 1
    repo.git("add", "b.js")
    repo.write({"c.js": CLEAN + "// more\n"})
    assert repo.commit("--", "c.js").code == 0, "only c.js is in this commit"
    assert repo.git("log", "-1", "--name-only", "--format=") == "c.js"
    assert repo.commit().code == 1, "b.js is still staged"


def test_a_linked_worktree_is_judged_by_its_own_index(tmp_path: Path) -> None:
    repo = make(tmp_path)
    repo.install("scan")
    repo.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "tree"))
    side = Repo(tmp_path / "tree", tmp_path)
    repo.write({"main.js": SECRET})
    repo.git("add", "main.js")
    side.write({"b.js": CLEAN})
    side.git("add", "b.js")
    assert side.commit().code == 0
    side.write({"b.js": SECRET})
    assert side.commit("-a").code == 1
    assert side.commit("--", "b.js").code == 1
    assert repo.commit().code == 1


def test_before_the_first_commit_everything_staged_counts(tmp_path: Path) -> None:
    repo = make(tmp_path, {"b.js": SECRET}, born=False)
    repo.install("scan")
    repo.git("add", "a.js", "package.json", ".gitignore")
    assert repo.commit().code == 0
    other = make_in(tmp_path / "other", {"b.js": SECRET})
    other.install("scan")
    other.git("add", "-A")
    assert other.commit().code == 1


def make_in(place: Path, files: dict[str, str]) -> Repo:
    place.mkdir()
    return make(place, files, born=False)


def test_a_merge_answers_only_for_what_it_brings_itself(tmp_path: Path) -> None:
    repo = make(tmp_path, {"shared.js": "let a = 1;\n"})
    repo.git("checkout", "-qb", "side")
    repo.write({"theirs.js": SECRET, "shared.js": "let a = 2;\n"})
    repo.git("add", "-A")
    repo.git("commit", "-qm", "side", "--no-verify")
    repo.git("checkout", "-q", "main")
    repo.write({"shared.js": "let a = 3;\n"})
    repo.git("commit", "-qam", "main", "--no-verify")
    repo.install("scan")
    repo.git("merge", "-q", "side", check=False)
    repo.write({"shared.js": SECRET})
    repo.git("add", "shared.js")
    result = repo.commit()
    assert result.code == 1
    assert "shared.js:1" in result.out + result.err and "theirs.js" not in result.out + result.err
    repo.write({"shared.js": "let a = 4;\n"})
    repo.git("add", "shared.js")
    assert repo.commit().code == 0
    assert len(repo.git("log", "-1", "--format=%P").split()) == 2


def test_a_finding_about_the_project_counts_when_it_is_new(tmp_path: Path) -> None:
    repo = make(tmp_path)
    repo.install("scan", "--fail-on", "any")
    repo.git("rm", "-q", ".gitignore")
    result = repo.commit()
    assert result.code == 1 and "GIT-001" in result.out + result.err

    repo.git("commit", "-qm", "without", "--no-verify")
    repo.write({"a.js": CLEAN + "// more\n"})
    assert repo.commit("-a").code == 0, "the last commit has it already"


def test_the_priority_that_fails_can_be_chosen(tmp_path: Path) -> None:
    repo = make(tmp_path)
    repo.git("rm", "-q", ".gitignore")
    repo.write({".git/info/exclude": ".env*\n!.env.example\n"})
    for choice, code in (("P0", 1), ("P5", 1), ("any", 1), ("never", 0)):
        assert repo.run("hook", "scan", "--fail-on", choice).code == code, choice
    assert repo.run("hook", "scan", "--fail-on", "P9").code == 2


def test_staged_scan_says_the_same(tmp_path: Path) -> None:
    repo = make(tmp_path, {"old.js": SECRET})
    repo.write({"b.js": SECRET})
    repo.git("add", "b.js")
    result = repo.run("scan", "--staged", "--format", "json")
    assert result.code == 1
    assert [f["path"] for f in result.json["findings"]] == ["b.js"]
    assert repo.run("scan", "--staged", "b.js").code == 2
    repo.write({"deep/down/x.txt": "x\n"})
    below = Repo(repo.place / "deep/down", repo.home)
    assert [f["path"] for f in below.run("scan", "--staged", "--format", "json").json["findings"]] == ["b.js"]


def test_the_committed_review_is_no_finding(tmp_path: Path) -> None:
    repo = make(tmp_path)
    repo.write({"fixaudit-review.md": f"token: {TOKEN}\n"})
    repo.git("add", "-A")
    assert repo.run("hook", "scan").code == 0


def test_without_a_repository(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    repo = Repo(tmp_path / "plain", tmp_path)
    for action in ("scan", "fix"):
        result = repo.run("hook", action)
        assert result.code == 2 and "no git repository" in result.err


# -- fix --------------------------------------------------------------------------------------------------------------


def test_fixes_the_working_tree_and_leaves_the_index(tmp_path: Path) -> None:
    repo = make(tmp_path, {"old.js": SECRET})
    repo.install("fix")
    repo.write({"b.js": SECRET})
    repo.git("add", "b.js")
    index, head = repo.git("ls-files", "-s"), repo.git("rev-parse", "HEAD")
    result = repo.commit()
    assert result.code == 1 and "git add" in result.out + result.err
    assert TOKEN not in result.out + result.err
    assert TOKEN not in repo.text("b.js") and "process.env." in repo.text("b.js")
    assert repo.text("old.js") == SECRET, "not in this commit"
    assert (repo.git("ls-files", "-s"), repo.git("rev-parse", "HEAD")) == (index, head)
    assert not (repo.place / "fixaudit-review.md").exists()

    again = repo.commit()
    assert again.code == 1, "the credential is still what would be committed"
    repo.git("add", "b.js", ".env.example")
    assert repo.commit().code == 0
    assert TOKEN not in repo.git("show", "HEAD:b.js")


def test_fix_of_commit_all(tmp_path: Path) -> None:
    repo = make(tmp_path, {"b.js": CLEAN})
    repo.install("fix")
    repo.write({"b.js": SECRET})
    index = repo.git("ls-files", "-s")
    assert repo.commit("-a").code == 1
    assert TOKEN not in repo.text("b.js")
    assert repo.git("ls-files", "-s") == index
    repo.git("add", ".env.example")
    assert repo.commit("-a").code == 0


def test_a_partly_staged_file_is_refused(tmp_path: Path) -> None:
    repo = make(tmp_path)
    repo.install("fix")
    repo.write({"b.js": SECRET})
    repo.git("add", "b.js")
    repo.write({"b.js": SECRET + "// half done\n"})
    result = repo.commit()
    assert result.code == 1 and "b.js is partly staged" in result.out + result.err
    before = everything(repo.place)
    assert repo.run("hook", "fix").code == 1
    assert everything(repo.place) == before


def test_nothing_is_fixed_in_the_middle_of_a_merge(tmp_path: Path) -> None:
    repo = make(tmp_path)
    repo.git("checkout", "-qb", "side")
    repo.git("commit", "-qm", "side", "--allow-empty")
    repo.git("checkout", "-q", "main")
    repo.git("merge", "-q", "--no-ff", "--no-commit", "side")
    repo.install("fix")
    repo.write({"b.js": SECRET})
    repo.git("add", "b.js")
    result = repo.commit()
    assert result.code == 1 and "merge is in progress" in result.out + result.err
    assert repo.text("b.js") == SECRET
    repo.write({"b.js": CLEAN})
    repo.git("add", "b.js")
    assert repo.commit().code == 0


def test_neither_agent_nor_package_manager_is_started(tmp_path: Path) -> None:
    mark = tmp_path / "started"
    repo = make(
        tmp_path,
        {"fixaudit.yaml": f"agent: {{command: [touch, {mark}]}}\n", "package-lock.json": "{}\n", "b.js": CLEAN},
    )
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("npm", "pnpm", "yarn"):
        (programs / name).write_text(f"#!/bin/sh\ntouch {mark}\n")
        (programs / name).chmod(0o755)
    repo.write({"b.js": SECRET})
    repo.git("add", "-A")
    repo.run("hook", "fix", PATH=f"{programs}:{os.environ['PATH']}")
    assert not mark.exists()


# -- what is imported -------------------------------------------------------------------------------------------------

HEAVY = {"typer", "click", "rich", "libcst", "jsonschema", "ruamel", "tomlkit", "referencing"}
NOT_FOR_A_SCAN = {"fixaudit.loop", "fixaudit.fixers", "fixaudit.rulebook.schema", "fixaudit.workbench"}


def test_a_passing_commit_imports_nothing_heavy(tmp_path: Path) -> None:
    repo = make(tmp_path, {"fixaudit.yaml": "exclude: [legacy/**]\n"})
    repo.write({"a.js": CLEAN + "// more\n"})
    repo.git("add", "-A")
    assert repo.run("hook", "scan").code == 0  # compiles the rules into the cache
    program = (
        "import sys, json, atexit\n"
        "from fixaudit.cli.main import main\n"
        "atexit.register(lambda: print(json.dumps(sorted(sys.modules))))\n"
        "main(['hook', 'scan'])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=repo.place, env=environment(repo.home), capture_output=True, check=True
    )
    modules = set(json.loads(done.stdout))
    assert not HEAVY & {name.partition(".")[0] for name in modules}
    assert not NOT_FOR_A_SCAN & modules


# -- how it is set up -------------------------------------------------------------------------------------------------


def test_the_published_hooks() -> None:
    hooks = YAML(typ="safe").load((Path(__file__).parent.parent / ".pre-commit-hooks.yaml").read_text())
    assert {hook["id"]: hook["entry"] for hook in hooks} == {
        "fixaudit-scan": "fixaudit hook scan",
        "fixaudit-fix": "fixaudit hook fix",
    }
    for hook in hooks:
        assert (hook["language"], hook["pass_filenames"], hook["require_serial"]) == ("python", False, True)


def test_show_prints_a_configuration(tmp_path: Path) -> None:
    from fixaudit import __version__

    result = Repo(tmp_path, tmp_path).run("hook")
    assert result.code == 0
    start = result.out.index("repos:")
    config = YAML(typ="safe").load(result.out[start : result.out.index("Without pre-commit")])
    assert config["repos"][0]["rev"] == f"v{__version__}"
    assert [hook["id"] for hook in config["repos"][0]["hooks"]] == ["fixaudit-scan"]


@pytest.mark.slow
def test_with_the_real_pre_commit(tmp_path: Path) -> None:
    repo = make(tmp_path, {"b.js": CLEAN})
    entry = f"{sys.executable} -m fixaudit hook"
    shared = "language: system, pass_filenames: false, require_serial: true, always_run: true"
    repo.write(
        {
            ".pre-commit-config.yaml": "repos:\n- repo: local\n  hooks:\n"
            f"  - {{id: fix, name: fix, entry: {entry} fix, {shared}, stages: [manual]}}\n"
            f"  - {{id: scan, name: scan, entry: {entry} scan, {shared}}}\n"
        }
    )
    repo.git("add", "-A")
    repo.git("commit", "-qm", "config")
    pre_commit = [sys.executable, "-m", "pre_commit"]
    subprocess.run([*pre_commit, "install"], cwd=repo.place, env=environment(tmp_path), check=True, capture_output=True)

    repo.write({"c.js": CLEAN})
    repo.git("add", "c.js")
    assert repo.commit().code == 0
    # Partly staged: the index is clean, the working tree is not, and both are as before afterwards.
    repo.write({"c.js": CLEAN + "// staged\n", "untracked.js": SECRET})
    repo.git("add", "c.js")
    repo.write({"c.js": SECRET})
    assert repo.commit().code == 0
    assert repo.text("c.js") == SECRET and repo.text("untracked.js") == SECRET
    # The other way round.
    repo.git("add", "c.js")
    repo.write({"c.js": CLEAN})
    result = repo.commit()
    assert result.code == 1 and "c.js:1" in result.out + result.err
    assert repo.text("c.js") == CLEAN and TOKEN in staged(repo, "c.js")
    repo.git("reset", "-q")

    repo.write({"c.js": CLEAN + "// more\n", "b.js": SECRET})
    assert repo.commit("-a").code == 1
    assert repo.commit("--", "b.js").code == 1
    assert repo.commit("--", "c.js").code == 0
    assert repo.text("b.js") == SECRET
    repo.git("checkout", "-q", "b.js")

    repo.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "tree"))
    side = Repo(tmp_path / "tree", tmp_path)
    side.write({"d.js": SECRET})
    side.git("add", "d.js")
    assert side.commit().code == 1
    side.write({"d.js": CLEAN})
    assert side.commit("-a").code == 0

    repo.write({"e.js": SECRET})
    repo.git("add", "e.js")
    fixed = subprocess.run(
        [*pre_commit, "run", "--hook-stage", "manual", "fix"], cwd=repo.place, env=environment(tmp_path),
        capture_output=True, check=False,
    )  # fmt: skip
    assert fixed.returncode == 1
    assert TOKEN not in repo.text("e.js") and TOKEN in staged(repo, "e.js")
