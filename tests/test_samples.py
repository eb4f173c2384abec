"""Every sample: its verdicts before, and what `fix` makes of it, as `expected.yaml` says.

`python -m tests.test_samples NAME…` writes what happens now, for a person to read and judge before it is committed.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.cases.runner import digest, fixaudit
from tests.test_acceptance import git

SAMPLES = Path(__file__).parent.parent / "samples"
NAMES = sorted(path.name for path in SAMPLES.iterdir() if path.is_dir())


def copy(name: str, place: Path) -> Path:
    shutil.copytree(SAMPLES / name, place, ignore=shutil.ignore_patterns("expected.yaml", "node_modules"))
    git(place, "init", "-q", "-b", "main")
    git(place, "add", "-A")
    git(place, "commit", "-q", "-m", "base")
    return place


def observe(name: str, home: Path) -> tuple[dict[str, Any], Path]:
    """Scan and fix a copy; return what came of it in the form of expected.yaml."""
    place = copy(name, home / "project")
    before = digest(place)
    scan = fixaudit(place, home, "scan", "--format", "json", "--fail-on", "never").json
    # Lockfiles are left alone here: what a package manager resolves changes from day to day.
    fix = fixaudit(place, home, "fix", "--no-install", "--format", "json").json
    after = digest(place)
    verdicts: dict[str, dict[str, str]] = {}
    for rule in scan["rules"]:
        if rule["verdict"] != "NOT_APPLICABLE":
            verdicts.setdefault(rule["root"], {})[rule["id"]] = rule["verdict"]
    review = place / "fixaudit-review.md"
    lines = review.read_text(encoding="utf-8").splitlines() if review.exists() else []
    reasons = [f"{e['rule']} ({e['fix_type']}): " for e in fix["review"]]
    seen = {
        "before": {
            "score": scan["score"],
            "verdicts": verdicts,
            "findings": [_place(f) for f in scan["findings"]],
        },
        "after": {
            "outcome": fix["outcome"],
            "score": fix["score_after"],
            "fixed": [_place(f) for f in fix["fixed"]],
            "review": [line for line in lines if any(line.startswith(reason) for reason in reasons)],
            "changed": sorted(p for p in {*before, *after} if before.get(p) != after.get(p)),
        },
    }
    return seen, place


def _place(item: dict[str, Any]) -> str:
    where = f"{item['path']}:{item['line']}" if item["line"] else item["path"] or "."
    return f"{item['rule']} {where}"


@pytest.mark.parametrize("name", NAMES)
def test_sample(name: str, tmp_path: Path) -> None:
    expected = YAML(typ="safe").load((SAMPLES / name / "expected.yaml").read_text(encoding="utf-8"))
    seen, place = observe(name, tmp_path)
    assert seen == expected
    left = digest(place)
    again = fixaudit(place, tmp_path, "fix", "--no-install", "--format", "json").json
    assert again["fixed"] == []
    assert digest(place) == left, "the second run changed something"


def test_another_path_locale_and_hash_seed_give_the_same_bytes(tmp_path: Path) -> None:
    name = "monorepo"
    results = []
    for number, env in enumerate([{"PYTHONHASHSEED": "1"}, {"PYTHONHASHSEED": "7", "LC_ALL": "C", "COLUMNS": "40"}]):
        home = tmp_path / f"home {number}"
        home.mkdir()
        place = copy(name, home / f"a path {number}")
        runs = [
            fixaudit(place, home, *arguments, **env)
            for arguments in (["scan"], ["scan", "--format", "json"], ["fix", "--no-install"], ["review"])
        ]
        review = (place / "fixaudit-review.md").read_bytes()
        results.append(([(r.code, r.out, r.err) for r in runs], digest(place), review))
    assert results[0] == results[1]


def test_a_clean_project_scores_100_and_stays_untouched(tmp_path: Path) -> None:
    seen, place = observe("clean_express", tmp_path)
    assert seen["before"]["score"] == 100
    assert seen["after"] == {"outcome": "success", "score": 100, "fixed": [], "review": [], "changed": []}
    assert git(place, "status", "--porcelain", "--ignored") == ""


def _write(names: list[str]) -> None:
    import tempfile

    yaml = YAML()
    yaml.width = 200
    yaml.indent(mapping=2, sequence=4, offset=2)
    for name in names or NAMES:
        with tempfile.TemporaryDirectory() as home:
            seen, _ = observe(name, Path(home))
        with (SAMPLES / name / "expected.yaml").open("w", encoding="utf-8") as file:
            file.write(
                "# What `fixaudit scan` and `fixaudit fix --no-install` make of this sample; tests compare it exactly.\n"
            )
            yaml.dump(seen, file)


if __name__ == "__main__":
    _write(sys.argv[1:])
