"""The cases made after real bug reports: findings both ways, the outcome, and the files that are left."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cases.runner import (
    CASES,
    COVERED,
    digest,
    failed_checks,
    fixaudit,
    found,
    line_of,
    prepare,
    secrets_in,
    tags,
)

OWN = {
    # Cases about the engine or about git have a test of their own below or in the file named here.
    "U33", "U34", "U35", "U37", "U39", "U40", "U41", "U43", "U45", "U46", "U49", "U50", "U51", "U52", "U53",
    "U27", "U28", "U31", "U89", "U90", "U92", "U93", "U95", "U97",
}  # fmt: skip
LATER = {
    "U15": "workflow rules", "U17": "workflow rules", "U18": "workflow rules", "U21": "workflow rules",
    "U54": "baselines", "U56": "baselines", "U57": "baselines", "U58": "inline ignores",
    "U72": "a template made from .env", "U77": "base image rule",
    "U85": "rate limits",
}  # fmt: skip
PLAIN = sorted(set(CASES) - OWN - set(LATER))


def test_every_case_is_run_or_listed() -> None:
    limits = (Path(__file__).parent.parent / "docs/known-limits.md").read_text(encoding="utf-8")
    for case in LATER:
        assert case in limits, f"{case} is neither run nor listed"
    for case in PLAIN:
        assert tags(CASES[case]) <= set(COVERED), case


@pytest.mark.parametrize("name", PLAIN)
def test_case(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    place, home = prepare(case, tmp_path / "project"), tmp_path
    scan = fixaudit(place, home, "scan", "--format", "json", "--fail-on", "never")
    assert scan.code == 0, scan.err
    for tag, path, *needle in case["scan"]:
        line = line_of(case, path, needle[0] if needle else None)
        assert found(scan, tag, path, line), f"{tag} is not reported in {path}:{line}\n{scan.out}"
    for tag, path, *needle in case["clean"]:
        line = line_of(case, path, needle[0] if needle else None)
        assert not found(scan, tag, path, line), f"{tag} is reported in {path}:{line}"
    before = digest(place)
    only = sorted({COVERED[tag][0] for tag in tags(case)})
    arguments = [part for rule in only for part in ("--only", rule)]
    fix = fixaudit(place, home, "fix", "--allow-no-vcs", "--no-install", "--format", "json", *arguments)
    assert fix.code in (0, 1), fix.err
    after = digest(place)
    wanted = set(only)
    report = fix.json
    if case["fix"] == "fixed":
        assert after != before, "nothing was fixed"
        assert not [e for e in report["review"] if e["rule"] in wanted], report["review"]
    if case["fix"] == "manual":
        assert after == before
        assert [e for e in report["review"] if e["rule"] in wanted], report
    if case["fix"] == "none":
        assert after == before
    outputs = scan.out + scan.err + fix.out + fix.err
    review = place / "fixaudit-review.md"
    outputs += review.read_text(encoding="utf-8") if review.exists() else ""
    assert not failed_checks(case, place, outputs)
    for value in secrets_in(case):
        assert value not in outputs, "a credential stands in an output"
    again = fixaudit(place, home, "fix", "--allow-no-vcs", "--no-install", "--format", "json", *arguments)
    assert again.json["fixed"] == [], "the second run fixed something"
    assert digest(place) == after, "the second run changed something"
