"""The cases about the engine and about git, each with what its own text asks for."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cases.runner import (
    CASES,
    COVERED,
    Result,
    digest,
    environment,
    failed_checks,
    fixaudit,
    found,
    line_of,
    prepare,
)

PACKS = Path(__file__).parent / "packs/cases"
HELMET = COVERED["express.helmet-missing"][0]
PLAIN_FIX = ("fix", "--no-install", "--format", "json")


def only(*rules: str) -> list[str]:
    return [part for rule in rules for part in ("--only", rule)]


def scan(place: Path, home: Path, *arguments: str, **env: str) -> Result:
    result = fixaudit(place, home, "scan", "--format", "json", "--fail-on", "never", *arguments, **env)
    assert result.code == 0, result.err
    return result


def check_scan(name: str, place: Path, result: Result, *, inside: str = "") -> None:
    """Assert what a case says of a scan that was run in the folder `inside` of it."""
    case = CASES[name]
    for tag, path, *needle in case["scan"]:
        if tag in COVERED:
            line = line_of(case, path, needle[0] if needle else None)
            assert found(result, tag, path.removeprefix(inside), line), f"{tag} in {path}:{line}\n{result.out}"
    for tag, path, *needle in case["clean"]:
        line = line_of(case, path, needle[0] if needle else None)
        assert not found(result, tag, path.removeprefix(inside), line), f"{tag} in {path}:{line}"


def assert_checks(name: str, place: Path, outputs: str = "") -> None:
    assert not failed_checks(CASES[name], place, outputs)


def git(place: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=place, capture_output=True, check=True, env=environment(place.parent)
    )
    return done.stdout.decode("utf-8", "surrogateescape").strip()


def install_hook(place: Path, action: str) -> None:
    hook = place / git(place, "rev-parse", "--git-path", "hooks") / "pre-commit"
    hook.parent.mkdir(parents=True, exist_ok=True)
    hook.write_text(f"#!/bin/sh\nexec {sys.executable} -m fixaudit hook {action}\n")
    hook.chmod(0o755)


def commit(place: Path, home: Path) -> Result:
    done = subprocess.run(
        ["git", "commit", "-qm", "x"], cwd=place, capture_output=True, env=environment(home), check=False
    )
    return Result(done.returncode, done.stdout.decode(), done.stderr.decode())


def reasons(result: Result, rule: str) -> list[str]:
    return [entry["reason"] for entry in result.json["review"] if entry["rule"] == rule]


# -- files ------------------------------------------------------------------------------------------------------------


def test_u27_links_are_not_followed(tmp_path: Path) -> None:
    place = prepare(CASES["U27"], tmp_path / "project")
    root = place / "repo"
    check_scan("U27", place, scan(root, tmp_path), inside="repo/")
    fixaudit(root, tmp_path, *PLAIN_FIX, "--only", "SCR-002")
    assert_checks("U27", place)
    assert (root / "loop").is_symlink()


@pytest.fixture(params=["ourselves", "another user"])
def user(request: pytest.FixtureRequest) -> Iterator[tuple[Path, list[str]]]:
    """A directory, and the words that start a program as its owner: root may write everything, so somebody else too."""
    words: list[str] = []
    directory = Path(tempfile.mkdtemp(prefix="fixaudit-case-"))
    if request.param == "another user":
        if os.geteuid() != 0 or shutil.which("setpriv") is None:
            pytest.skip("only root, with setpriv, can be another user")
        words = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        if subprocess.run([*words, sys.executable, "-c", "import fixaudit"], cwd="/", capture_output=True).returncode:
            pytest.skip("another user may not read this installation")
    yield directory, words
    shutil.rmtree(directory)


def test_u28_a_read_only_file_stops_nothing_else(user: tuple[Path, list[str]]) -> None:
    home, words = user
    place = prepare(CASES["U28"], home / "project")
    if words:
        for path in [home, *home.rglob("*")]:
            os.chown(path, 65534, 65534)
    command = [*words, sys.executable, "-m", "fixaudit"]
    env = environment(home)

    def run(*arguments: str) -> Result:
        done = subprocess.run([*command, *arguments], cwd=place, capture_output=True, env=env, check=False)
        return Result(done.returncode, done.stdout.decode(), done.stderr.decode())

    check_scan("U28", place, run("scan", "--format", "json", "--fail-on", "never"))
    result = run(*PLAIN_FIX, "--allow-no-vcs", "--only", HELMET)
    assert result.code == 1, result.err
    assert reasons(result, HELMET) == ["not applied: frozen/app.js is not writable"]
    assert [item["path"] for item in result.json["fixed"]] == ["live/app.js"]
    assert_checks("U28", place)


def test_u31_bundles_are_named_and_left_alone(tmp_path: Path) -> None:
    place = prepare(CASES["U31"], tmp_path / "project")
    result = scan(place, tmp_path)
    check_scan("U31", place, result)
    bundles = ["public/vendor.js", "public/vendor.min.js"]
    assert [item["path"] for item in result.json["skipped"]] == bundles
    assert not [f for f in result.json["findings"] if f["path"] in bundles]
    shown = fixaudit(place, tmp_path, "scan").out
    assert "skipped  2 minified files: public/vendor.js, public/vendor.min.js" in shown
    fixaudit(place, tmp_path, *PLAIN_FIX, "--allow-no-vcs")
    assert_checks("U31", place)


def test_u49_names_are_what_they_are(tmp_path: Path) -> None:
    place = prepare(CASES["U49"], tmp_path / "project")
    for arguments in ((), ("--staged",)):
        check_scan("U49", place, scan(place, tmp_path, *arguments))
        shown = fixaudit(place, tmp_path, "scan", "--show", "all", *arguments).out
        for name in ("src/café route.js", "src/модуль.py", "src/-dash.js"):
            assert name in shown
    assert_checks("U49", place)


def test_u89_other_peoples_code_is_left_out(tmp_path: Path) -> None:
    place = prepare(CASES["U89"], tmp_path / "project")
    check_scan("U89", place, scan(place, tmp_path))
    fixaudit(place, tmp_path, *PLAIN_FIX)
    assert_checks("U89", place)
    assert "helmet" in (place / "src/server.js").read_text()


# -- the loop ---------------------------------------------------------------------------------------------------------


def test_u34_a_fix_that_does_not_parse_is_undone_alone(tmp_path: Path) -> None:
    place = prepare(CASES["U34"], tmp_path / "project")
    rules = (*only("DBG-001", "EVL-001"), "--rules", str(PACKS / "U34"))
    before = scan(place, tmp_path, *rules).json["findings"]
    assert [(f["rule"], f["line"]) for f in before] == [("DBG-001", 3), ("EVL-001", 7)]
    result = fixaudit(place, tmp_path, *PLAIN_FIX, "--allow-no-vcs", *rules)
    assert result.code == 1
    assert [item["rule"] for item in result.json["fixed"]] == ["DBG-001"]
    assert reasons(result, "EVL-001") == ["the change does not parse: app.py:7"]
    assert [entry["stop"] for entry in result.json["review"]] == ["syntax"]
    assert_checks("U34", place)
    assert (place / "app.py").read_text() == CASES["U34"]["files"]["app.py"].replace(
        "DEBUG = True", 'DEBUG = os.environ.get("DEBUG") == "1"'
    )


def test_u35_each_fix_sees_the_text_that_the_last_one_left(tmp_path: Path) -> None:
    place = prepare(CASES["U35"], tmp_path / "project")
    rules = (*only("MRK-001", "TMO-001", "VFY-001"), "--rules", str(PACKS / "U35"))
    assert Counter(f["rule"] for f in scan(place, tmp_path, *rules).json["findings"]) == {
        "MRK-001": 2, "TMO-001": 1, "VFY-001": 1,
    }  # fmt: skip
    result = fixaudit(place, tmp_path, *PLAIN_FIX, "--allow-no-vcs", *rules)
    assert_checks("U35", place)
    assert [item["rule"] for item in result.json["fixed"]] == ["MRK-001", "MRK-001", "TMO-001", "VFY-001"]
    assert scan(place, tmp_path, *rules).json["findings"] == []


def test_u37_two_rules_that_undo_each_other_are_both_named(tmp_path: Path) -> None:
    place = prepare(CASES["U37"], tmp_path / "project")
    rules = (*only("NED-001", "NOF-001"), "--rules", str(PACKS / "U37"))
    result = fixaudit(place, tmp_path, *PLAIN_FIX, "--allow-no-vcs", *rules)
    assert result.code == 1
    assert result.json["cycles"] <= 5
    assert reasons(result, "NED-001") == [
        "fixing NED-001 introduced a violation of NOF-001, so the change was reverted"
    ]
    assert result.json["fixed"] == [] and [item["rule"] for item in result.json["reverted"]] == ["NED-001"]
    assert_checks("U37", place)
    # From the other side: the import is there, and removing it would break the first rule.
    (place / "conf.py").write_text("from __future__ import annotations\nNAME = 'demo'\n")
    result = fixaudit(place, tmp_path, *PLAIN_FIX, "--allow-no-vcs", *rules)
    assert "NED-001" in reasons(result, "NOF-001")[0] and result.json["fixed"] == []


def test_u39_forty_findings_are_fixed_in_one_run(tmp_path: Path) -> None:
    place = prepare(CASES["U39"], tmp_path / "project")
    rules = (*only("KEY-001"), "--rules", str(PACKS / "U39"))
    result = fixaudit(place, tmp_path, *PLAIN_FIX, "--allow-no-vcs", *rules)
    assert [(item["rule"], item["attempts"]) for item in result.json["fixed"]] == [("KEY-001", 1)] * 40
    assert result.json["cycles"] == 1 and result.json["review"] == []
    assert_checks("U39", place)


def test_u40_the_second_run_changes_nothing(tmp_path: Path) -> None:
    place = prepare(CASES["U40"], tmp_path / "project")
    check_scan("U40", place, scan(place, tmp_path))
    first = fixaudit(place, tmp_path, *PLAIN_FIX)
    assert {"SEC-001", HELMET, "SCR-001"} <= {item["rule"] for item in first.json["fixed"]}
    state = digest(place)
    review = (place / "fixaudit-review.md").read_bytes()
    second = fixaudit(place, tmp_path, *PLAIN_FIX)
    assert second.json["fixed"] == [] and second.json["changed"] == []
    assert digest(place) == state and (place / "fixaudit-review.md").read_bytes() == review
    assert second.code == int(bool(second.json["review"]) or not second.json["gate"]["open"]) == first.code
    assert_checks("U40", place)


# -- interruption and concurrency -------------------------------------------------------------------------------------


def changed_files(place: Path, originals: dict[str, tuple[int, bytes]]) -> int:
    return sum(digest(place).get(path) != state for path, state in originals.items())


@pytest.mark.parametrize("after", [0, 3, 12])
def test_u33_interrupted(tmp_path: Path, after: int) -> None:
    """Interrupt when so many files have changed: moments that do not depend on the speed of the machine."""
    place = prepare(CASES["U33"], tmp_path / "project")
    originals = digest(place)
    process = subprocess.Popen(
        [sys.executable, "-m", "fixaudit", *PLAIN_FIX, "--only", HELMET],
        cwd=place, env=environment(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    state = tmp_path / "state"
    while process.poll() is None:
        ready = changed_files(place, originals) >= after if after else list(state.glob("fixaudit/projects/*/lock"))
        if ready:
            process.send_signal(signal.SIGINT)
            break
        time.sleep(0.005)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err.decode()
    assert b"Traceback" not in err
    assert_checks("U33", place)
    now = digest(place)
    assert set(now) == set(originals), "a temporary file was left"
    for path, (mode, data) in now.items():
        if path.startswith("src/") and data != originals[path][1]:
            assert mode == originals[path][0] and data.count(b"helmet") == 3 and data.endswith(b"app.listen(3000);\n")
    json.loads(now["package.json"][1])
    done = changed_files(place, originals)
    assert after <= done < 41
    rest = fixaudit(place, tmp_path, *PLAIN_FIX, "--only", HELMET)
    assert not [entry for entry in rest.json["review"] if entry["rule"] == HELMET], rest.out
    assert all(b"helmet" in data for path, (_, data) in digest(place).items() if path.startswith("src/"))


def test_u50_four_runs_at_once(tmp_path: Path) -> None:
    place = prepare(CASES["U50"], tmp_path / "project")
    command = [sys.executable, "-m", "fixaudit", *PLAIN_FIX, "--only", HELMET]
    runs = [
        subprocess.Popen(command, cwd=place, env=environment(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(4)
    ]
    ended = [(run.communicate(timeout=120)[1].decode(), run.returncode) for run in runs]
    assert any(code in (0, 1) for _, code in ended), ended
    for err, code in ended:
        assert "Traceback" not in err
        if code == 2:
            assert "another fixaudit run" in err and "is working on this project" in err
        else:
            assert code in (0, 1), err
    assert_checks("U50", place)
    assert all(b"helmet" in (place / path).read_bytes() for path in CASES["U50"]["files"] if path.startswith("src/"))


# -- git --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("action", ["scan", "fix"])
def test_u41_a_failing_hook_leaves_a_partly_staged_file(tmp_path: Path, action: str) -> None:
    place = prepare(CASES["U41"], tmp_path / "project")
    index, before = git(place, "ls-files", "-s"), digest(place)
    install_hook(place, action)
    result = commit(place, tmp_path)
    assert result.code == 1 and HELMET in result.out + result.err
    assert_checks("U41", place)
    assert git(place, "ls-files", "-s") == index and digest(place) == before
    assert not (place / "fixaudit-review.md").exists()


def test_u43_what_is_undone_is_the_fix_and_not_the_work(tmp_path: Path) -> None:
    place = prepare(CASES["U43"], tmp_path / "project")
    before = digest(place)
    rules = (*only("EVL-001"), "--rules", str(PACKS / "U34"))
    result = fixaudit(place, tmp_path, *PLAIN_FIX, "--allow-dirty", *rules)
    assert result.code == 1 and reasons(result, "EVL-001") == ["the change does not parse: app.py:5"]
    assert digest(place) == before
    assert_checks("U43", place)


def test_u45_a_linked_worktree(tmp_path: Path) -> None:
    place = prepare(CASES["U45"], tmp_path / "project")
    tree = place / "wt"
    check_scan("U45", place, scan(tree, tmp_path))
    assert [f["path"] for f in scan(place, tmp_path, "--only", HELMET).json["findings"]] == ["server.js"]
    outside = {path: state for path, state in digest(place).items() if not path.startswith("wt/")}
    index = git(place, "ls-files", "-s")
    result = fixaudit(tree, tmp_path, *PLAIN_FIX, "--allow-dirty", "--only", HELMET)
    assert [item["rule"] for item in result.json["fixed"]] == [HELMET]
    assert "helmet" in (tree / "server.js").read_text()
    install_hook(tree, "scan")
    assert (place / ".git/hooks/pre-commit").exists(), "hooks are common to all worktrees"
    (tree / "bad.js").write_text(CASES["U45"]["files"]["server.js"])
    git(tree, "add", "bad.js")
    refused = commit(tree, tmp_path)
    assert refused.code == 1 and "bad.js" in refused.out + refused.err
    git(tree, "rm", "-qf", "bad.js")
    git(tree, "add", "server.js", "package.json")
    assert commit(tree, tmp_path).code == 1, "the port is still written in the code (P1)"
    fixaudit(tree, tmp_path, *PLAIN_FIX, "--allow-dirty")
    git(tree, "add", "-A")
    passed = commit(tree, tmp_path)
    assert passed.code == 0, passed.out + passed.err
    assert {path: state for path, state in digest(place).items() if not path.startswith("wt/")} == outside
    assert git(place, "ls-files", "-s") == index
    assert_checks("U45", place)


def test_u46_a_submodule_is_a_project_of_its_own(tmp_path: Path) -> None:
    place = prepare(CASES["U46"], tmp_path / "project")
    check_scan("U46", place, scan(place, tmp_path))
    before = digest(place)
    fixaudit(place, tmp_path, *PLAIN_FIX, "--only", HELMET)
    after = digest(place)
    assert {path for path in after if after[path] != before.get(path)} == {"server.js", "package.json"}
    assert_checks("U46", place)


def test_u51_the_hook_stages_nothing(tmp_path: Path) -> None:
    place = prepare(CASES["U51"], tmp_path / "project")
    index = git(place, "ls-files", "-s")
    install_hook(place, "fix")
    result = commit(place, tmp_path)
    assert result.code == 1 and "server.js is partly staged" in result.out + result.err
    assert_checks("U51", place)
    assert git(place, "ls-files", "-s") == index
    # Without the half that is not staged, the working tree is fixed and the index is as it was.
    (place / "server.js").write_text(git(place, "show", ":server.js") + "\n")
    result = commit(place, tmp_path)
    assert result.code == 1 and "git add" in result.out + result.err
    assert "helmet" in (place / "server.js").read_text()
    assert git(place, "ls-files", "-s") == index


def test_u52_git_refuses_the_repository(tmp_path: Path) -> None:
    place = prepare(CASES["U52"], tmp_path / "project")
    config = (place / ".git/config").read_bytes()
    switch = {"GIT_TEST_ASSUME_DIFFERENT_OWNER": "1"}
    check_scan("U52", place, scan(place, tmp_path, **switch))
    result = fixaudit(place, tmp_path, *PLAIN_FIX, **switch)
    assert result.code == 2 and result.out == ""
    assert "dubious ownership" in result.err and "safe.directory" in result.err and "Traceback" not in result.err
    assert (place / ".git/config").read_bytes() == config and not (tmp_path / ".gitconfig").exists()
    assert_checks("U52", place)


def test_u53_uncommitted_work_needs_a_word(tmp_path: Path) -> None:
    place = prepare(CASES["U53"], tmp_path / "project")
    check_scan("U53", place, scan(place, tmp_path))
    before = digest(place)
    refused = fixaudit(place, tmp_path, *PLAIN_FIX, "--only", HELMET)
    assert refused.code == 1 and reasons(refused, HELMET) == ["not applied: server.js has uncommitted changes"]
    assert digest(place) == before
    allowed = fixaudit(place, tmp_path, *PLAIN_FIX, "--only", HELMET, "--allow-dirty")
    assert [item["rule"] for item in allowed.json["fixed"]] == [HELMET]
    assert "helmet" in (place / "server.js").read_text()
    assert_checks("U53", place)


def test_u53_outside_git_there_is_no_net(tmp_path: Path) -> None:
    place = prepare({**CASES["U53"], "setup": None}, tmp_path / "project")
    before = digest(place)
    result = fixaudit(place, tmp_path, *PLAIN_FIX)
    assert result.code == 2 and "--allow-no-vcs" in result.err
    assert digest(place) == before


# -- rules and exit codes ---------------------------------------------------------------------------------------------

GOOD_RULE = """\
id: ABC-001
title: No x
priority: P1
fix_type: STATIC
docs: {what: There is no x., why: A test.}
check:
  forbid: {regex: {pattern: x, files: ['*.txt']}}
  message: An x
fix:
  title: Make it a y
  safety: safe
  steps:
    - replace: {capture: TEXT, with: y, whole: true}
examples:
  - {name: bad, bad: {a.txt: "x"}, fixed: {a.txt: "y"}}
  - {name: good, good: {a.txt: "y"}}
"""
MISTAKES = {
    # name: (what to write instead of what, what must be said)
    "ABC-001": ("priority: P1", "prioritty: P1", ["ABC-001.yaml:3:1", "prioritty", "did you mean", "priority"]),
    "ABC-002": (
        "    - replace: {capture: TEXT",
        "    -replace: {capture: TEXT",
        ["ABC-002.yaml:13:5"],
    ),
    "ABC-003": ("files: ['*.txt']", "files: '*.txt'", ["ABC-003.yaml:7:39", "files", "list is expected"]),
    "ABC-004": ("title: No x\n", "", ["ABC-004.yaml:1:1", "title", "missing"]),
}


def test_u93_every_mistake_in_a_rule_is_named_at_its_place(tmp_path: Path) -> None:
    place = tmp_path / "project"
    (place / "rules").mkdir(parents=True)
    for name, (old, new, _) in MISTAKES.items():
        text = GOOD_RULE.replace("ABC-001", name)
        assert old in text
        (place / "rules" / f"{name}.yaml").write_text(text.replace(old, new, 1))
    for command in (("scan",), ("fix", "--allow-no-vcs"), ("rules",)):
        result = fixaudit(place, tmp_path, *command, "--rules", "rules")
        assert result.code == 2 and result.out == "", result.out
        assert "Traceback" not in result.err and "anyOf" not in result.err
        lines = result.err.splitlines()
        for name, (_, _, words) in MISTAKES.items():
            own = [line for line in lines if f"{name}.yaml" in line]
            assert own, f"{name} is not named\n{result.err}"
            assert all(any(word in line for line in own) for word in words), (words, own)
    assert fixaudit(place, tmp_path, "rules", "--rules", "rules/ABC-001.yaml").code == 2
    (place / "rules/ABC-001.yaml").write_text(GOOD_RULE)
    assert fixaudit(place, tmp_path, "rules", "--rules", "rules/ABC-001.yaml").code == 0


def test_u95_exit_codes(tmp_path: Path) -> None:
    place = prepare(CASES["U95"], tmp_path / "project")
    # No rule of ours asks for a pinned base; what cannot be fixed here is a file in the way.
    (place / "package.json").chmod(0o444)
    empty = tmp_path / "empty"
    empty.mkdir()
    (tmp_path / "broken.yaml").write_text("id: [\n")
    table: list[tuple[Path, tuple[str, ...], int]] = [
        (place, ("scan",), 1),
        (place, ("scan", "--format", "json"), 1),
        (place, ("fix", "--allow-no-vcs", "--no-install"), 1),
        (place, ("fix", "--allow-no-vcs", "--no-install", "--format", "json"), 1),
        (place, ("scan", "--fail-on", "never"), 0),
        (empty, ("scan",), 0),
        (empty, ("fix", "--allow-no-vcs"), 0),
        (place, ("scan", "--no-such-option"), 2),
        (place, ("no-such-command",), 2),
        (place, ("scan", "--rules", str(tmp_path / "broken.yaml")), 2),
        (place, ("scan", "--rules", str(tmp_path / "absent.yaml")), 2),
    ]
    for directory, arguments, code in table:
        result = fixaudit(directory, tmp_path, *arguments)
        assert result.code == code, (arguments, result.out, result.err)
        assert "Traceback" not in result.err
        if (directory is place and code != 2) or "never" in arguments:
            assert "broken.py:1" in result.err, arguments
    assert_checks("U95", place)
    assert "helmet" not in (place / "package.json").read_text()


# -- cost -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def monorepo(tmp_path: Path) -> Path:
    place = prepare(CASES["U97"], tmp_path / "project")
    assert_checks("U97", place)
    return place


def work(monkeypatch: pytest.MonkeyPatch, place: Path) -> tuple[Counter[str], Counter[str]]:
    """Audit a place; return how often each file was read and how often each content was parsed."""
    from fixaudit import session
    from fixaudit.snapshot import WorkingTree
    from fixaudit.source import javascript

    reads: Counter[str] = Counter()
    parses: Counter[str] = Counter()
    read, parse = WorkingTree.read, javascript.parse_javascript

    def counted_read(self: WorkingTree, path: str) -> bytes:
        reads[path] += 1
        return read(self, path)

    def counted_parse(content: str, *rest: Any) -> Any:
        parses[content] += 1
        return parse(content, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(WorkingTree, "read", counted_read)
        patch.setattr(javascript, "parse_javascript", counted_parse)
        session.open_session([], start=place).audit()
    return reads, parses


def test_u97_the_whole_costs_no_more_than_its_parts(monkeypatch: pytest.MonkeyPatch, monorepo: Path) -> None:
    for package in ("pkg1", "pkg2"):
        (monorepo / package / "src/app.js").write_text(CASES["U95"]["files"]["server.js"])
    reads, parses = work(monkeypatch, monorepo)
    assert max(reads.values()) == 1
    assert set(parses.values()) <= {1}


def test_u97_a_hook_reads_the_index_once(monkeypatch: pytest.MonkeyPatch, monorepo: Path) -> None:
    from fixaudit.cli.staged import judge_staged
    from fixaudit.repository import git as plumbing
    from fixaudit.session import open_session
    from fixaudit.snapshot import WorkingTree

    (monorepo / "pkg1/src/f1.js").write_text("module.exports = 0;\n")
    git(monorepo, "add", "-A")
    asked: Counter[str] = Counter()
    commands: list[str] = []
    read, run = plumbing.Objects.read, plumbing.run
    monkeypatch.setattr(WorkingTree, "read", lambda *_: pytest.fail("the working tree was read"))

    def counted(self: plumbing.Objects, oid: str) -> bytes | None:
        asked[oid] += 1
        return read(self, oid)

    def noted(arguments: Any, *rest: Any, **more: Any) -> plumbing.Output:
        commands.append(arguments[0])
        return run(arguments, *rest, **more)

    monkeypatch.setattr(plumbing.Objects, "read", counted)
    monkeypatch.setattr(plumbing, "run", noted)
    look = judge_staged(open_session([], start=monorepo))
    assert look.paths == {"pkg1/src/f1.js"} and look.findings == ()
    files = 40 * 51 + 1
    assert sum(asked.values()) <= files + 3, "a parent is read only where the commit differs from it"
    assert len(commands) <= 10 and "clone" not in commands and "status" not in commands
