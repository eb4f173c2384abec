"""The command as people run it: words, exit codes, and what is written where."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from fixaudit import configuration
from tests.cases.runner import environment, fixaudit
from tests.project_kit import BASE, SECRET, TOKEN, Repo, everything, make

SCHEMAS = Path(configuration.__file__).parent / "schemas"
PACKS = Path(__file__).parent / "packs/cases"
SECRETS = ("--only", "SCR-002", "--no-install")


def closed(schema: Any) -> Any:
    """Return a schema that allows nothing but what it names: what is written must be documented."""
    if isinstance(schema, dict):
        inner = {key: closed(value) for key, value in schema.items()}
        return {**inner, "additionalProperties": False} if "properties" in schema else inner
    return [closed(item) for item in schema] if isinstance(schema, list) else schema


def validate(name: str, value: Any) -> None:
    schema = json.loads((SCHEMAS / f"{name}.schema.json").read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    errors = list(Draft202012Validator(closed(schema)).iter_errors(value))
    assert not errors, errors[0]


def assert_refused(repo: Repo, *arguments: str, words: tuple[str, ...]) -> None:
    before = everything(repo.place)
    result = repo.run(*arguments)
    assert result.code == 2, (arguments, result.out, result.err)
    for word in words:
        assert word in result.err, (arguments, word, result.err)
    assert result.out == "" and "Traceback" not in result.err
    assert everything(repo.place) == before


# -- options ----------------------------------------------------------------------------------------------------------


def test_options_that_cannot_be_used(tmp_path: Path) -> None:
    repo = make(tmp_path, {"b.js": SECRET})
    table: list[tuple[tuple[str, ...], tuple[str, ...]]] = [
        (("fix", "--max-cycles", "0"), ("--max-cycles must be between 1 and 5",)),
        (("fix", "--max-cycles", "6"), ("--max-cycles must be between 1 and 5",)),
        (("fix", "--max-attempts", "0"), ("--max-attempts must be between 1 and 3",)),
        (("fix", "--max-attempts", "4"), ("--max-attempts must be between 1 and 3",)),
        (("fix", "--max-attempts", "many"), ("many",)),
        (("fix", "--only", "SCR-0022"), ("no rule or pack `SCR-0022`", "did you mean", "SCR-002")),
        (("scan", "--skip", "SCRR"), ("no rule or pack `SCRR`", 'did you mean "SCR"')),
        (("fix", "--diff", "--commit"), ("--diff writes nothing",)),
        (("fix", "--interactive"), ("needs a terminal",)),
        (("fix", "--issue-unit", "file"), ("file",)),
        (("scan", "--format", "xml"), ("xml",)),
        (("scan", "--fail-on", "P7"), ("P7",)),
        (("scan", "--show", "none"), ("--show takes `all`",)),
        (("scan", "absent.js"), ("absent.js does not exist",)),
        (("scan", "a.js", str(tmp_path)), ("not part of the project",)),
        (("explain", "SCR-0022"), ("no rule `SCR-0022`", "SCR-002")),
        (("review", "--done", "SCR-002:no"), ("no open follow-up SCR-002:no",)),
        (("scan", "--rules", "absent"), ("no rules at",)),
    ]  # fmt: skip
    for arguments, words in table:
        assert_refused(repo, *arguments, words=words)


def test_bounds_that_are_allowed(tmp_path: Path) -> None:
    repo = make(tmp_path, {"b.js": SECRET})
    for arguments in (("--max-cycles", "1"), ("--max-cycles", "5"), ("--max-attempts", "1"), ("--max-attempts", "3")):
        assert repo.run("fix", "--diff", *SECRETS, *arguments).code in (0, 1)


def test_help_and_version(tmp_path: Path) -> None:
    from fixaudit import __version__

    repo = Repo(tmp_path, tmp_path)
    assert [fixaudit(tmp_path, tmp_path, option).out for option in ("--version", "-V")] == [
        f"fixaudit {__version__}\n"
    ] * 2
    shown = repo.run("--help").out
    for command in ("scan", "fix", "undo", "review", "explain", "rules", "test", "init", "hook", "demo"):
        assert re.search(rf"\b{command}\b", shown), command


def test_paths_narrow_what_is_shown_and_fixed(tmp_path: Path) -> None:
    repo = make(tmp_path, {"b.js": SECRET, "lib/c.js": SECRET})
    assert {f["path"] for f in repo.run("scan", "--format", "json", "lib").json["findings"]} == {"lib/c.js"}
    assert {f["path"] for f in repo.run("scan", "--format", "json").json["findings"]} >= {"b.js", "lib/c.js"}
    repo.run("fix", *SECRETS, "lib")
    assert repo.text("b.js") == SECRET and TOKEN not in repo.text("lib/c.js")


# -- configuration ----------------------------------------------------------------------------------------------------

BROKEN_YAML: list[tuple[str, str, tuple[str, ...]]] = [
    # text, file:line:column, words
    ("exclud: [a]\n", "1:1", ('unknown key "exclud"', "did you mean", "exclude")),
    ("gate: {score: 90}\nexclude: legacy\n", "2:10", ("exclude", "a list is expected")),
    ("gate:\n  score: 101\n", "2:10", ("gate.score", "101")),
    ("gate:\n  scor: 1\n", "2:3", ('unknown key "scor"',)),
    ("gate: {score: high}\n", "1:15", ("a whole number is expected",)),
    ("version: 2\n", "1:10", ("version", "expected 1")),
    ("rules:\n  SCR-002: never\n", "2:12", ('"never" is unknown',)),
    ("rules:\n  SCR-002: {fix: nevr}\n", "2:18", ('"nevr" is unknown', "did you mean", "never")),
    ("rules:\n  scr-002: off\n", "2:3", ("scr-002", "a rule id or the name of a pack")),
    ("rules:\n  SCR-0022: off\n", "2:3", ("no rule `SCR-0022`", "did you mean", "SCR-002")),
    ("answers:\n  - {parameter: key, value: x}\n", "2:5", ('the key "rule" is missing',)),
    ("answers:\n  - {rule: scr, parameter: key, value: x}\n", "2:12", ('"scr" is wrong', "a rule id")),
    ("answers:\n  - {rule: SCR-909, parameter: key, value: x}\n", "2:12", ("no rule `SCR-909`",)),
    ("answers:\n  - {rule: SCR-002, parameter: key, value: 3.10}\n", "2:44", ("write it in quotes",)),
    ("agent: {command: []}\n", "1:18", ("agent.command", "may not be empty")),
    ("agent: {command: [x], timeout: 0}\n", "1:32", ("agent.timeout",)),
    ("exclude: [a\n", "2:1", ("not YAML",)),
    ("exclude: [a]\nexclude: [b]\n", "2:1", ("written twice",)),
    ("gate:\n\tscore: 1\n", "2:1", ("tab",)),
    ("- a\n", "1:1", ("a mapping is expected",)),
]


@pytest.mark.parametrize(("text", "place", "words"), BROKEN_YAML)
def test_every_mistake_in_a_configuration_has_its_place(
    tmp_path: Path, text: str, place: str, words: tuple[str, ...]
) -> None:
    from fixaudit.errors import ConfigurationError
    from fixaudit.rulebook.load import load_rulebook

    (tmp_path / "fixaudit.yaml").write_text(text)
    with pytest.raises(ConfigurationError) as caught:
        configuration.load_configuration(tmp_path).choose(load_rulebook(cache=tmp_path))
    assert len(caught.value.problems) == 1, caught.value.problems
    problem = caught.value.problems[0]
    assert problem.startswith(f"fixaudit.yaml:{place}: "), problem
    for word in words:
        assert word in problem, problem


BROKEN_TOML: list[tuple[str, str, str]] = [
    ("[tool.fixaudit]\nexclud = ['a']\n", "2:1", 'unknown key "exclud"'),
    ("[tool.fixaudit.gate]\nscore = 'high'\n", "2:9", "a whole number is expected"),
    ("[tool.fixaudit]\ngate = {score = 101}\n", "2:17", "101"),
    ("[tool.fixaudit]\nexclude = ['a', 3]\n", "2:17", "text is expected"),
    ("[tool.fixaudit.rules]\nSCR-0022 = 'off'\n", "2:1", "no rule `SCR-0022`"),
    ("[[tool.fixaudit.answers]]\nrule = 'SCR-002'\nvalue = 'x'\n", "1:1", 'the key "parameter" is missing'),
]


@pytest.mark.parametrize(("text", "place", "words"), BROKEN_TOML)
def test_mistakes_in_a_manifest_have_their_place_too(tmp_path: Path, text: str, place: str, words: str) -> None:
    from fixaudit.errors import ConfigurationError
    from fixaudit.rulebook.load import load_rulebook

    (tmp_path / "pyproject.toml").write_text(text)
    with pytest.raises(ConfigurationError) as caught:
        configuration.load_configuration(tmp_path).choose(load_rulebook(cache=tmp_path))
    [problem] = caught.value.problems
    assert problem.startswith(f"pyproject.toml:{place}: ") and words in problem, problem


def test_all_mistakes_are_said_at_once_and_nothing_runs(tmp_path: Path) -> None:
    repo = make(tmp_path, {"b.js": SECRET, "fixaudit.yaml": "exclud: [a]\ngate: {score: high}\nrules: {x: off}\n"})
    for command in ("scan", "fix"):
        assert_refused(repo, command, words=("fixaudit.yaml:1:1:", "fixaudit.yaml:2:15:", "fixaudit.yaml:3:9:"))
    repo.write({"fixaudit.yaml": b"exclude: [\xff]\n"})
    assert_refused(repo, "scan", words=("fixaudit.yaml:1:11: the file is not UTF-8 text",))


def test_two_configurations_are_one_too_many(tmp_path: Path) -> None:
    repo = make(tmp_path, {"fixaudit.yaml": "gate: {score: 80}\n", "pyproject.toml": "[tool.fixaudit]\n"})
    assert_refused(repo, "scan", words=("two configurations: fixaudit.yaml and [tool.fixaudit] in pyproject.toml",))
    repo.write({"pyproject.toml": "", "fixaudit.yml": ""})
    assert_refused(repo, "scan", words=("two configurations: fixaudit.yaml and fixaudit.yml",))


def test_what_is_configured_is_the_same_from_the_cache(tmp_path: Path) -> None:
    text = (
        "rules: {SCR: {fix: ask, exclude: [docs/**]}, ENV-001: off}\nexclude: [a]\ngate: {score: 70}\n"
        "answers: [{rule: SCR-002, parameter: key, value: 1}]\nagent: {command: [x, y], timeout: 3}\n"
    )
    (tmp_path / "fixaudit.yaml").write_text(text)
    cold = configuration.load_configuration(tmp_path, tmp_path)
    assert list(tmp_path.glob("configuration-*.json"))
    assert configuration.load_configuration(tmp_path, tmp_path) == cold == configuration.load_configuration(tmp_path)
    assert cold.minimum_score == 70 and cold.asks("SCR-002") and not cold.choice("ENV-001").enabled
    (tmp_path / "fixaudit.yaml").write_text("gate: {score: 71}\n")
    assert configuration.load_configuration(tmp_path, tmp_path).minimum_score == 71


def test_init(tmp_path: Path) -> None:
    repo = make(tmp_path)
    before = repo.run("scan", "--format", "json")
    assert repo.run("init").code == 0
    assert repo.text("fixaudit.yaml") == configuration.TEMPLATE
    assert repo.run("scan", "--format", "json") == before
    assert_refused(repo, "init", words=("fixaudit.yaml exists already",))
    used = "".join(line.removeprefix("# ") for line in configuration.TEMPLATE.splitlines(True) if ": " in line[:40])
    assert "gate: {score: 90}" in used


def test_the_schema_of_the_configuration_is_fresh() -> None:
    assert configuration.SCHEMA_FILE.read_text(encoding="utf-8") == configuration.shipped_text()
    Draft202012Validator.check_schema(configuration.SCHEMA)


# -- fix, review, undo ------------------------------------------------------------------------------------------------


def test_fix_review_done_undo(tmp_path: Path) -> None:
    repo = make(tmp_path, {"b.js": SECRET})
    before = everything(repo.place)
    result = repo.run("fix", *SECRETS, "--format", "json")
    assert [item["rule"] for item in result.json["fixed"]] == ["SCR-002"]
    validate("fix", result.json)
    ids = [item["id"] for item in result.json["follow_ups"]]
    assert ids
    shown = repo.run("review").out
    assert all(item["text"].split("`")[0][:20] in shown for item in result.json["follow_ups"])
    assert repo.run("review", "--done", ids[0]).code == 0
    assert f"--done {ids[0]}" not in repo.run("review").out
    assert f"--done {ids[0]}" not in repo.text("fixaudit-review.md")
    for name in ids[1:]:
        repo.run("review", "--done", name)
    assert "Before you start it again" not in repo.run("review").out

    undone = repo.run("undo")
    assert undone.code == 0 and "restored  b.js" in undone.out
    (repo.place / "fixaudit-review.md").unlink()
    assert everything(repo.place) == before
    assert repo.run("undo").out == "There is nothing to take back.\n"


def test_undo_of_one_rule(tmp_path: Path) -> None:
    docker = 'FROM node:20\nCMD ["node", "a.js"]\n'
    repo = make(tmp_path, {"b.js": SECRET, "Dockerfile": docker})
    repo.run("fix", "--no-install", "--only", "SCR-002", "--only", "SEC-001")
    assert "USER" in repo.text("Dockerfile") and TOKEN not in repo.text("b.js")
    result = repo.run("undo", "SEC-001")
    assert result.code == 0 and result.out == "restored  Dockerfile\n"
    assert repo.text("Dockerfile") == docker and TOKEN not in repo.text("b.js")
    assert "no fix of API-999" in repo.run("undo", "API-999").out


def test_undo_keeps_what_was_edited_since(tmp_path: Path) -> None:
    repo = make(tmp_path, {"b.js": SECRET + "\n\n// far away\n"})
    repo.run("fix", *SECRETS)
    repo.write({"b.js": repo.text("b.js").replace("// far away", "// mine")})
    left = everything(repo.place)
    result = repo.run("undo")
    assert result.code == 1 and "kept      b.js: has changed since" in result.out and "fixaudit undo RULE" in result.out
    assert everything(repo.place) == left
    assert repo.run("undo", "SCR-002").code == 0
    assert repo.text("b.js") == SECRET + "\n\n// mine\n"


def test_a_review_of_somebody_elses_is_kept(tmp_path: Path) -> None:
    repo = make(tmp_path, {"b.js": SECRET, "fixaudit-review.md": "mine\n"})
    result = repo.run("fix", *SECRETS)
    assert "was not written by fixaudit and stays" in result.err
    assert repo.text("fixaudit-review.md") == "mine\n"


def test_diff_writes_nothing_anywhere(tmp_path: Path) -> None:
    repo = make(tmp_path, {"b.js": SECRET, "dir/run.sh": "#!/bin/sh\n"})
    (repo.place / "dir/run.sh").chmod(0o755)
    repo.write({"untracked.txt": "x\n", ".env": "A=1\n", "staged.txt": "x\n"})
    repo.git("add", "staged.txt")
    before = everything(repo.place)
    result = repo.run("fix", "--diff", "--no-install")
    assert "+++ b/b.js" in result.out and "process.env." in result.out
    assert TOKEN not in result.out + result.err
    assert everything(repo.place) == before
    assert not (tmp_path / "state").exists(), "a dry run has made state"
    as_json = repo.run("fix", "--diff", "--no-install", "--format", "json").json
    validate("fix", as_json)
    assert as_json["diff"] == result.out
    assert everything(repo.place) == before and not (tmp_path / "state").exists()


def test_commit_makes_one_commit_for_each_fix(tmp_path: Path) -> None:
    repo = make(tmp_path, {"b.js": SECRET, "c.js": SECRET.replace("token", "apiKey")})
    mark = tmp_path / "hook-ran"
    for name in ("pre-commit", "commit-msg", "post-commit", "prepare-commit-msg"):
        hook = repo.place / ".git/hooks" / name
        hook.write_text(f"#!/bin/sh\ntouch {mark}\n")
        hook.chmod(0o755)
    repo.write({"mine.txt": "staged\n"})
    repo.git("add", "mine.txt")
    result = repo.run("fix", *SECRETS, "--commit", "--format", "json")
    own = [item for item in result.json["fixed"] if item["by"] is None]
    log = repo.git("log", "--format=%s%x00%(trailers:only,unfold)%x00%x01", "HEAD~2..HEAD")
    messages = [entry.strip().split("\0") for entry in log.split("\1") if entry.strip()]
    assert len(messages) == len(own) == 2
    for subject, trailers, _ in messages:
        assert subject.startswith("SCR-002: ")
        assert "Fixaudit-Rule: SCR-002" in trailers and "Fixaudit-Fix: " in trailers
    assert not mark.exists(), "a hook was started"
    assert repo.git("diff", "--cached", "--name-only") == "mine.txt"
    assert repo.git("show", "--name-only", "--format=", "HEAD").split() != []
    assert repo.git("status", "--porcelain", "--untracked-files=no") == "A  mine.txt"
    assert TOKEN not in repo.git("show", "HEAD:b.js") + repo.git("show", "HEAD:c.js")


def test_uncommitted_work(tmp_path: Path) -> None:
    repo = make(tmp_path, {"b.js": SECRET, "c.js": SECRET})
    repo.write({"b.js": SECRET + "// mine\n", "README.md": "unrelated\n"})
    result = repo.run("fix", *SECRETS, "--format", "json")
    assert result.code == 1
    assert [e["reason"] for e in result.json["review"]] == ["not applied: b.js has uncommitted changes"]
    assert repo.text("b.js") == SECRET + "// mine\n" and TOKEN not in repo.text("c.js")
    assert repo.run("fix", *SECRETS, "--allow-dirty", "--format", "json").json["changed"] == ["b.js"]
    assert TOKEN not in repo.text("b.js") and repo.text("b.js").endswith("// mine\n")


def test_what_an_earlier_run_left_is_clean(tmp_path: Path) -> None:
    repo = make(tmp_path, {"b.js": SECRET + SECRET.replace("token", "apiKey")})
    first = repo.run("fix", *SECRETS, "--issue-unit", "rule", "--max-attempts", "1", "--format", "json")
    assert len(first.json["fixed"]) == 1
    second = repo.run("fix", *SECRETS, "--format", "json")
    assert len(second.json["fixed"]) == 1 and second.json["review"] == []


def test_without_a_repository_there_is_no_net(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "plain", tmp_path)
    repo.place.mkdir()
    repo.write({**BASE, "b.js": SECRET})
    assert_refused(repo, "fix", words=("is not in a git repository", "--allow-no-vcs"))
    assert repo.run("fix", *SECRETS, "--allow-no-vcs").code in (0, 1)
    assert TOKEN not in repo.text("b.js")
    assert repo.run("undo").code == 0
    assert repo.text("b.js") == SECRET


def test_refuses_in_the_middle_of_a_merge(tmp_path: Path) -> None:
    repo = make(tmp_path, {"b.js": SECRET})
    repo.git("checkout", "-qb", "side")
    repo.git("commit", "-qm", "side", "--allow-empty")
    repo.git("checkout", "-q", "main")
    repo.git("merge", "-q", "--no-ff", "--no-commit", "side")
    assert_refused(repo, "fix", words=("a merge is in progress",))
    assert repo.run("scan", "--fail-on", "never").code == 0


def test_a_second_run_is_told_so(tmp_path: Path) -> None:
    from fixaudit.store import project_state

    repo = make(tmp_path, {"b.js": SECRET})
    os.environ["FIXAUDIT_STATE_DIR"] = str(tmp_path / "state/fixaudit")
    try:
        state = project_state(repo.place)
    finally:
        del os.environ["FIXAUDIT_STATE_DIR"]
    with state.lock():
        for command in (("fix",), ("undo",), ("review", "--done", "x")):
            words = (f"another fixaudit run (process {os.getpid()}) is working on this project", "wait until it has")
            assert_refused(repo, *command, words=words)
        assert repo.run("scan", "--fail-on", "never").code == 0
        assert repo.run("review").code == 0
        assert repo.run("fix", "--diff").code in (0, 1)


def test_killed_in_the_middle(tmp_path: Path) -> None:
    """`kill -9` at a moment when some files are written; the next run recovers and finishes."""
    names = [f"f{number:02}.js" for number in range(20)]
    repo = make(tmp_path, dict.fromkeys(names, SECRET))
    command = [sys.executable, "-m", "fixaudit", "fix", *SECRETS]
    process = subprocess.Popen(
        command, cwd=repo.place, env=environment(tmp_path), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    while process.poll() is None and not any(repo.text(name) != SECRET for name in names[1:]):
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    for name in names:
        assert repo.text(name) == SECRET or repo.text(name).count("process.env.") == 1
    assert repo.run("fix", *SECRETS).code in (0, 1)
    assert all(TOKEN not in repo.text(name) for name in names)
    assert not list(repo.place.glob(".fixaudit-*"))


def test_an_interrupted_transaction_is_taken_back_first(tmp_path: Path) -> None:
    """As if the power had failed between two files of one change."""
    repo = make(tmp_path, {"b.js": SECRET})
    program = (
        "import os\n"
        "from fixaudit.transaction import disk\n"
        "replace = disk.Disk.replace\n"
        "def die(self, path, temporary, seen):\n"
        "    replace(self, path, temporary, seen)\n"
        "    os._exit(9)\n"
        "disk.Disk.replace = die\n"
        "from fixaudit.cli.main import main\n"
        f"main(['fix', *{SECRETS!r}])\n"
    )
    died = subprocess.run([sys.executable, "-c", program], cwd=repo.place, env=environment(tmp_path), check=False)
    assert died.returncode == 9
    assert (repo.place / ".env").exists() and not (repo.place / ".env.example").exists()
    assert repo.text("b.js") == SECRET
    result = repo.run("fix", *SECRETS, "--format", "json")
    assert [item["rule"] for item in result.json["fixed"]] == ["SCR-002"], result.err
    assert not list(repo.place.glob(".fixaudit-*"))
    repo.run("undo")
    assert repo.text("b.js") == SECRET


# -- output -----------------------------------------------------------------------------------------------------------


def test_json_has_the_published_shape(tmp_path: Path) -> None:
    repo = make(
        tmp_path,
        {
            "b.js": SECRET,
            "broken.js": "const a = ;\nprocess.env.A;\n",
            "dynamic.js": "module.exports = (name) => process.env[name];\n",
            "requirements.txt": "fastapi\n",
            "Dockerfile": 'FROM node:20\nCMD ["node", "a.js"]\n',
            "public/x.min.js": "!function(){" + "var a=1;" * 3000 + "}();",
            ".env.example": "A=\n",
            ".env.sample": "A=\n",
            "reads.js": "use(process.env.NOT_DECLARED);\n",
        },
    )
    scan = repo.run("scan", "--format", "json").json
    validate("scan", scan)
    assert scan["version"] == 1 and scan["diagnostics"] and scan["skipped"] and scan["undecided"] and scan["findings"]
    repo.write({"c.js": SECRET})
    fix = repo.run("fix", "--no-install", "--format", "json").json
    validate("fix", fix)
    assert fix["fixed"] and fix["review"] and fix["follow_ups"]


def test_a_reader_that_has_gone_is_no_error(tmp_path: Path) -> None:
    repo = make(tmp_path, {f"f{number}.js": SECRET for number in range(40)})
    for arguments in (("scan", "--show", "all"), ("scan", "--format", "json"), ("rules",)):
        process = subprocess.Popen(
            [sys.executable, "-m", "fixaudit", *arguments],
            cwd=repo.place, env=environment(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        err = process.stderr.read().decode()
        process.wait()
        assert "Traceback" not in err and "Broken pipe" not in err and "BrokenPipe" not in err, err


def test_names_that_are_no_text(tmp_path: Path) -> None:
    repo = make(tmp_path)
    name = b"caf\xe9 \x1b[31m.js"
    path = os.fsencode(repo.place) + b"/" + name
    Path(os.fsdecode(path)).write_text(SECRET)
    shown = repo.run("scan")
    assert shown.code == 1 and "caf" in shown.out and "\x1b" not in shown.out
    findings = repo.run("scan", "--format", "json").json["findings"]
    assert [f["path"] for f in findings if f["rule"] == "SCR-002"] == ["caf\udce9 \x1b[31m.js"] or any(
        "caf" in f["path"] for f in findings
    )
    repo.git("add", "-A")
    repo.git("commit", "-qm", "odd")
    assert repo.run("fix", *SECRETS).code in (0, 1)
    assert TOKEN.encode() not in Path(os.fsdecode(path)).read_bytes()
    assert "\x1b" not in repo.text("fixaudit-review.md")
    assert repo.run("undo").code == 0
    assert Path(os.fsdecode(path)).read_text() == SECRET


def test_output_is_plain_and_quiet_where_it_should_be(tmp_path: Path) -> None:
    repo = make(tmp_path, {"b.js": SECRET})
    for env in ({}, {"NO_COLOR": "1"}, {"NO_COLOR": "", "TERM": "xterm-256color", "COLUMNS": "20"}):
        result = repo.run("scan", **env)
        assert "\x1b" not in result.out + result.err
    loud, quiet = repo.run("scan").out, repo.run("scan", "--quiet").out
    assert "SCR-002" in quiet and "Next:" in loud and "Next:" not in quiet and len(quiet) < len(loud)
    fixed = repo.run("fix", *SECRETS, "--quiet")
    assert "SCR-002" in fixed.out and fixed.err == ""


def test_a_terminal_gets_colours_unless_it_says_no(tmp_path: Path) -> None:
    repo = make(tmp_path, {"b.js": SECRET})
    import pty

    for no_color, wanted in (("", True), ("1", False)):
        master, slave = pty.openpty()
        env = {**environment(tmp_path, NO_COLOR=no_color, TERM="xterm-256color")}
        if not no_color:
            del env["NO_COLOR"]
        process = subprocess.Popen(
            [sys.executable, "-m", "fixaudit", "scan"], cwd=repo.place, env=env, stdout=slave, stderr=slave
        )
        os.close(slave)
        seen = b""
        while True:
            try:
                chunk = os.read(master, 65536)
            except OSError:
                break
            if not chunk:
                break
            seen += chunk
        process.wait()
        os.close(master)
        assert b"SCR-002" in seen and (b"\x1b[" in re.sub(rb"\x1b\[[012]m", b"", seen)) == wanted, seen


def test_the_same_bytes_everywhere(tmp_path: Path) -> None:
    """Path, locale, width and hash seed decide nothing."""
    files = {"b.js": SECRET, "src/café.js": SECRET.replace("token", "apiKey"), "reads.js": "use(process.env.A_KEY);\n",
             "Dockerfile": "FROM node:20\nCMD [\"node\", \"a.js\"]\n"}  # fmt: skip
    seen = []
    for place, env in (
        ("one", {"LANG": "C", "LC_ALL": "C", "PYTHONHASHSEED": "1", "COLUMNS": "40", "TZ": "Asia/Tokyo"}),
        ("two/with a space", {"LANG": "de_DE.UTF-8", "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "77", "COLUMNS": "200"}),
    ):
        home = tmp_path / place
        home.mkdir(parents=True)
        repo = make(home, files)
        outputs = [
            fixaudit(repo.place, home, *arguments, **env)
            for arguments in (
                ("scan", "--format", "json"),
                ("scan", "--show", "all"),
                ("fix", "--diff", "--no-install"),
                ("fix", "--no-install", "--format", "json"),
                ("review",),
                ("scan", "--format", "json"),
            )
        ]
        left = {path: state for path, state in everything(repo.place).items() if not path.startswith(".git/")}
        assert "fixaudit-review.md" in left
        seen.append((outputs, left))
    assert seen[0] == seen[1]


def test_secrets_are_masked_in_everything(tmp_path: Path) -> None:
    repo = make(tmp_path, {"b.js": SECRET, "lib/c.js": SECRET})
    outputs = ""
    fix = ("fix", "--no-install")
    as_json = ("--format", "json")
    for arguments in (
        ("scan", "--show", "all"), ("scan", *as_json), (*fix, "--diff"), fix, ("review",), ("undo",), (*fix, *as_json),
    ):  # fmt: skip
        result = repo.run(*arguments)
        outputs += result.out + result.err
    assert TOKEN not in outputs
    assert TOKEN not in repo.text("fixaudit-review.md")
    for file in (tmp_path / "state").rglob("*"):
        if file.is_file() and "store.git" not in file.parts:
            assert TOKEN.encode() not in file.read_bytes(), file
    for file in (tmp_path / "cache").rglob("*"):
        assert not file.is_file() or TOKEN.encode() not in file.read_bytes(), file


def test_state_is_nobody_elses_business(tmp_path: Path) -> None:
    repo = make(tmp_path, {"b.js": SECRET})
    repo.run("fix", *SECRETS)
    for base in (tmp_path / "state/fixaudit", tmp_path / "cache/fixaudit"):
        for directory in (base, *(path for path in base.glob("*") if path.is_dir())):
            assert directory.stat().st_mode & 0o077 == 0, directory


def test_a_home_that_cannot_be_written_does_not_stop_a_scan(tmp_path: Path) -> None:
    repo = make(tmp_path, {"b.js": SECRET})
    (tmp_path / "not-a-directory").write_text("")
    result = repo.run("scan", "--format", "json", XDG_CACHE_HOME=str(tmp_path / "not-a-directory"))
    assert result.code == 1 and result.json["findings"]
    inside = repo.run("scan", XDG_CACHE_HOME=str(repo.place / "cache"))
    assert inside.code == 1 and not (repo.place / "cache").exists()


def test_demo(tmp_path: Path) -> None:
    result = fixaudit(tmp_path, tmp_path, "demo", TMPDIR=str(tmp_path))
    assert result.code == 0, result.err
    assert "$ fixaudit scan" in result.out and "$ git diff" in result.out
    assert_refused(Repo(tmp_path, tmp_path), "demo", "none", words=("no sample `none`",))
    shutil.rmtree(next(tmp_path.glob("fixaudit-demo-*")))


def test_no_program_of_the_project_is_started(tmp_path: Path) -> None:
    """`npm run` puts node_modules/.bin in front of PATH, and a relative entry means the project itself."""
    repo = make(tmp_path, {"b.js": SECRET})
    mark = tmp_path / "started"
    for folder in ("node_modules/.bin", "tools"):
        for name in ("git", "env", "python", "npm", "node", "sh"):
            repo.write({f"{folder}/{name}": f"#!/bin/sh\necho $0 >> {mark}\n"})
            (repo.place / folder / name).chmod(0o755)
    path = f"{repo.place}/node_modules/.bin:tools:.:{os.environ['PATH']}"
    for arguments in (("scan",), ("hook", "scan"), ("fix", *SECRETS), ("undo",), ("review",)):
        fixaudit(repo.place, tmp_path, *arguments, PATH=path)
    assert not mark.exists(), mark.read_text()


@pytest.mark.parametrize(
    ("typed", "fixed", "reasons"),
    [
        ("y\nn\n", ["b.js"], ["declined"]),
        ("what\ny\nyes\n", ["b.js", "c.js"], []),
        ("r\n", [], ["declined"]),
        ("y\nq\n", ["b.js"], ["declined"]),
        ("", [], ["declined"]),
    ],
)
def test_interactive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed: str, fixed: list[str], reasons: list[str]
) -> None:
    repo = make(tmp_path, {"b.js": SECRET, "c.js": SECRET})

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdin", Terminal(typed))
    result = repo.run("fix", *SECRETS, "--interactive", "--format", "json")
    assert [item["path"] for item in result.json["fixed"]] == fixed
    assert [entry["reason"] for entry in result.json["review"]] == reasons
    assert TOKEN not in result.err and "Apply?" in result.err
    assert ("stopped" in result.json) == (typed.endswith("q\n") or not typed)
    validate("fix", result.json)
    assert [name for name in ("b.js", "c.js") if TOKEN not in repo.text(name)] == fixed
