"""Load rules from texts in tests, with the shipped vocabulary."""

from __future__ import annotations

from functools import cache
from textwrap import dedent

from fixaudit.rulebook.load import Loaded, PackFile, compile_files, pack_files
from fixaudit.rulebook.rule import Rule, Rulebook


@cache
def vocabulary() -> tuple[PackFile, ...]:
    return tuple(file for file in pack_files([]) if file.kind != "rule")


def pack_file(text: str, name: str = "ABC-001", kind: str = "rule") -> PackFile:
    return PackFile(f"{name}.yaml", kind, dedent(text).lstrip("\n").encode(), False, name, "pack")


def loaded(*files: PackFile | str) -> Loaded:
    given = [pack_file(file) if isinstance(file, str) else file for file in files]
    return compile_files((*vocabulary(), *given))


def problems(text: str, name: str = "ABC-001", kind: str = "rule") -> list[str]:
    return list(loaded(pack_file(text, name, kind)).problems)


def rule_of(text: str) -> tuple[Rule, Rulebook]:
    result = loaded(text)
    assert not result.problems, result.problems
    return result.rulebook.rules[0], result.rulebook


MINIMAL = """
id: ABC-001
title: There is a LICENSE
priority: P5
fix_type: STATIC
docs:
  what: There is a LICENSE file.
  why: Nobody may use the code without one.
check:
  require: {file: {path: LICENSE}}
  message: There is no LICENSE.
fix:
  title: Create LICENSE
  safety: safe
  steps:
    - create_file: {path: LICENSE, lines: [MIT]}
examples:
  - name: none
    bad: {a.txt: "x"}
    fixed: {LICENSE: "MIT\\n"}
  - name: there
    good: {LICENSE: "MIT\\n"}
"""


def changed(*pairs: tuple[str, str], text: str = MINIMAL) -> str:
    """Return a rule's text with some parts replaced; each must be there."""
    for old, new in pairs:
        assert old in text, old
        text = text.replace(old, new, 1)
    return text
