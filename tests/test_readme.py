"""What the README shows is true."""

from __future__ import annotations

import re
from pathlib import Path

from fixaudit.rulebook.exercise import exercise
from fixaudit.rulebook.load import load_rulebook
from fixaudit.rulebook.mutate import survivors

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")


def test_the_rule_in_the_readme_works(tmp_path: Path) -> None:
    shown = re.search(r"```yaml\n(id: ACME-001\n.*?)```", README, re.DOTALL)
    assert shown is not None
    pack = tmp_path / "ACME"
    pack.mkdir()
    (pack / "ACME-001.yaml").write_text(shown[1], encoding="utf-8")
    book = load_rulebook([tmp_path])
    rule = book.rule("ACME-001")
    assert rule is not None
    assert exercise(rule, book) == ()
    assert survivors(rule, book) == ()


def test_every_rule_is_in_the_table() -> None:
    for rule in load_rulebook().rules:
        assert rule.id in README, rule.id


def test_the_documents_that_it_links_exist() -> None:
    root = Path(__file__).parent.parent
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", README):
        assert (root / target).exists(), target
