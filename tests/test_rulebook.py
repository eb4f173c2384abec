"""Loading rules: every mistake is one line with its place, what was expected, and the nearest valid word."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fixaudit.errors import ConfigurationError, UsageError
from fixaudit.rulebook.load import load_rulebook, pack_files
from fixaudit.rulebook.positions import Document, Problem, key_path, read
from fixaudit.rulebook.rule import Rulebook
from tests.rulebook_kit import MINIMAL, changed, loaded, pack_file, problems, rule_of


def test_a_right_rule_loads() -> None:
    rule, book = rule_of(MINIMAL)
    assert (rule.id, rule.pack, rule.priority, rule.path) == ("ABC-001", "ABC", "P5", "ABC-001.yaml")
    assert rule.check is not None and rule.check.query.options == {} and rule.check.query.filters == {"path": "LICENSE"}
    assert [example.line for example in rule.examples] == [17, 20]
    assert book.stacks["express"].implies == ("node",)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # the four mistakes of people's reports: a misspelt key, a dash without its space, a scalar for a list, no id
        (changed(("priority: P5", "pirority: P5")), [
            'ABC-001.yaml:1:1: the key "priority" is missing',
            'ABC-001.yaml:3:1: pirority: unknown key "pirority"',
        ]),
        (changed(("    - create_file: {path: LICENSE, lines: [MIT]}",
                  "    - create_file: {path: LICENSE, lines: [MIT]}\n    -not: y")),
         ["ABC-001.yaml:16:5: did not find expected '-' indicator: a list item needs a space after its dash"]),
        (changed(("priority: P5", "priority: P5\napplies: {stacks: express}")),
         ['ABC-001.yaml:4:19: applies.stacks: the text "express" where a list is expected: write [express]']),
        (changed(("id: ABC-001\n", "")), ['ABC-001.yaml:1:1: the key "id" is missing']),
        # YAML itself
        (changed(("  what:", "\twhat:")), ["ABC-001.yaml:6:1: a tab cannot indent YAML"]),
        (changed(("title: There is a LICENSE\n", "title: a\ntitle: b\n")),
         ["ABC-001.yaml:3:1: title: this key is written twice"]),
        (changed(("why: Nobody", "why: &a Nobody"), ("message: There is no LICENSE.", "message: *a")),
         ["ABC-001.yaml:7:8: check.message: anchors and aliases"]),
        (changed(("title: There", "title: !!python/none There")), ["ABC-001.yaml:2:8: title: the tag"]),
        (changed(("title: There is", 'title: "There is')), ["ABC-001.yaml:"]),
        ("", ["ABC-001.yaml:1:1: the file is empty"]),
        ("- a\n", ["ABC-001.yaml:1:1: a list where a mapping is expected"]),
        # alternatives are chosen by what is written
        (changed(("require:", "requires:")),
         ['ABC-001.yaml:9:3: check.requires: unknown key "requires" (expected one of agree, count, every, forbid, '
          'require; did you mean "require"?)']),
        (changed(("  require:", "  forbid: {file: {}}\n  require:")),
         ["ABC-001.yaml:10:3: check.require: forbid, require exclude each other: keep one"]),
        (changed(("{file: {path", "{fil: {path")), ['ABC-001.yaml:9:13: check.require.fil: unknown key "fil"']),
        (changed(("{path: LICENSE}}", "{pat: LICENSE}}")), [
            'ABC-001.yaml:9:20: check.require.file.pat: unknown key "pat"']),
        (changed(("create_file: {path: LICENSE, lines", "create_file: {path: LICENSE, line")), [
            'ABC-001.yaml:15:36: fix.steps[0].create_file.line: unknown key "line"']),
        (changed(("- create_file", "- creat_file")), [
            'ABC-001.yaml:15:7: fix.steps[0].creat_file: unknown key "creat_file"']),
        (changed(("    good:", "    god:")), ['ABC-001.yaml:21:5: examples[1].god: unknown key "god"']),
        (changed(("    fixed: {LICENSE: \"MIT\\n\"}", "")),
         ["ABC-001.yaml:17:5: examples[0]: a key is missing (expected one of accepts, deferred, fixed, good"]),
        (changed(("priority: P5", "priority: P9")),
         ['ABC-001.yaml:3:11: priority: "P9" is unknown (expected one of P0, P1, P2, P3, P4, P5']),
        (changed(("title: There is a LICENSE\n", "title: 3.10\n")),
         ["ABC-001.yaml:2:8: title: 3.1 where text is expected: write it in quotes"]),
        (changed(("safety: safe", "safety: sure")), ['ABC-001.yaml:13:11: fix.safety: "sure" is unknown']),
        # what the rule quotes
        (changed(("There is no LICENSE.", "'{{ PATH }} is missing'")),
         ['ABC-001.yaml:10:12: check.message: unknown name "PATH" in a template']),
        (changed(("lines: [MIT]", "lines: ['{{ licence | uper_snake }}']")),
         ['ABC-001.yaml:15:44: fix.steps[0].create_file.lines[0]: unknown filter \'uper_snake\'; did you mean']),
        (changed(("lines: [MIT]", "lines: ['{{ licence }}']")),
         ['ABC-001.yaml:15:44: fix.steps[0].create_file.lines[0]: unknown name "licence" in a template']),
        (changed(("lines: [MIT]", "lines: ['{{ environment(\"A\") }}']")),
         ['unknown function "environment" in a template']),
        (changed(("priority: P5", "priority: P5\napplies: {stacks: [expres]}")),
         ['ABC-001.yaml:4:20: applies.stacks[0]: unknown stack "expres"']),
        (changed(("{file: {path: LICENSE}}", "{concept: env.reed}")),
         ['ABC-001.yaml:9:22: check.require.concept: unknown concept "env.reed"']),
        (changed(("{file: {path: LICENSE}}", "{regex: {pattern: '(?=a)b', files: ['*']}}")),
         ["ABC-001.yaml:9:30: check.require.regex.pattern: look-around is not part of the dialect"]),
        (changed(("{file: {path: LICENSE}}", "{ast: {language: javascript, rule: {pattern: 'foo($A'}}}")),
         ["ABC-001.yaml:9:57: check.require.ast.rule.pattern: this matcher can match nothing"]),
        (changed(("{file: {path: LICENSE}}", "{file: {path: {regex: '(a'}}}")),
         ["check.require.file.path.regex: the regular expression is broken"]),
        (changed(("{file: {path: LICENSE}}", "{call: {callee: 'a#b', option: {x: ':strng'}}}")),
         ['":strng" is no kind of value']),
        # what must be there
        (changed(("    good: {LICENSE: \"MIT\\n\"}", "    bad: {b.txt: y}\n    fixed: {LICENSE: \"MIT\\n\"}")),
         ["ABC-001.yaml:17:3: examples: a good example is missing"]),
        (changed(("  - name: there", "  - name: none")), ['examples[1].name: the example "none" is there twice']),
        (changed(("fix_type: STATIC", "fix_type: DYNAMIC-DELEGATED")),
         ['fix_type: a DYNAMIC-DELEGATED rule needs the key "delegate"', 'fix: a DYNAMIC-DELEGATED rule has no "fix"']),
        (changed(("fix_type: STATIC", "fix_type: DYNAMIC-PARAMETRIC")), ['a DYNAMIC-PARAMETRIC rule needs the key']),
        (changed(("fix_type: STATIC", "fix_type: STATIC\nparameters: {a: {tiers: [[{value: x}]]}}")),
         ["parameters with tiers make a rule DYNAMIC-PARAMETRIC"]),
        (changed(("safety: safe", "safety: unsafe")), ["fix.safety: an unsafe fix needs docs.safety"]),
        (changed(("id: ABC-001", "id: ABC-002")), ["ABC-001.yaml:1:5: id: the rule ABC-002 stands in a file called"]),
        (changed(("id: ABC-001", "id: abc-1")), ['id: "abc-1" is wrong (expected a name like SEC-003)']),
        (changed(("fix:\n", "clauses: [{id: x}]\nfix:\n")), ["clauses[0]: a key is missing (expected one of count"]),
        (changed(("fix:\n", "clauses: [{id: x, text: be nice}]\nfix:\n")), ['clauses[0].text: unknown key "text"']),
        (changed(("bad: {a.txt: \"x\"}", "bad: {a.txt: '{{ sample.githb }}'}")), ['unknown sample "sample.githb"']),
    ],
)  # fmt: skip
def test_mistakes(text: str, expected: list[str]) -> None:
    found = problems(text)
    assert found
    for words in expected:
        assert any(words in line for line in found), found


def test_no_message_dumps_alternatives() -> None:
    for line in problems(changed(("require:", "requires:"), ("safety: safe", "safety: 3"))):
        assert "oneOf" not in line and "anyOf" not in line and len(line) < 500


def test_all_problems_of_all_files_at_once(tmp_path: Path) -> None:
    (tmp_path / "ABC-001.yaml").write_text(changed(("priority: P5", "priority: P7"), ("safety: safe", "safety: x")))
    (tmp_path / "ABC-002.yaml").write_text(changed(("id: ABC-001", "id: ABC-002"), ("  what:", "  wat:")))
    (tmp_path / "ABC-003.yaml").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigurationError) as caught:
        load_rulebook([tmp_path], shipped=False)
    assert caught.value.exit_code == 2
    lines = caught.value.problems
    assert len(lines) == 5
    assert [line.split("ABC-00")[1][0] for line in lines] == ["1", "1", "2", "2", "3"]
    assert load_rulebook([tmp_path], shipped=False, strict=False).rules == ()


def test_every_variant_needs_both_examples() -> None:
    text = changed(("examples:", "variants: {js: {stacks: [node]}, py: {stacks: [python]}}\nexamples:"),
                   ("- name: none", "- name: none\n    stack: express"),
                   ("- name: there", "- name: there\n    stack: node"))  # fmt: skip
    found = problems(text)
    assert [line.partition(": ")[2] for line in found] == [
        "variants.py: a bad example is missing for the variant \"py\"",
        "variants.py: a good example is missing for the variant \"py\"",
    ]  # fmt: skip


JOIN = changed(
    ("  require: {file: {path: LICENSE}}", "  every: {env_read: {}}\n  has: {dotenv: {templates: true}}\n"
     "  on: {KEY: KEY}"),
    ("There is no LICENSE.", "'{{ KEY }} is missing'"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("pair", "words"),
    [
        (("on: {KEY: KEY}", "on: {KEI: KEY}"), 'check.on.KEI: unknown column "KEI"'),
        (("on: {KEY: KEY}", "on: {KEY: NAME}"), 'check.on.KEY: unknown column "NAME"'),
        (("on: {KEY: KEY}", "on: {KEY: KEY}\n  before: KEY"), "check.before: KEY is no number column"),
        (("on: {KEY: KEY}", "on: {}"), "check.on: this may not be empty"),
    ],
)
def test_joins_name_columns(pair: tuple[str, str], words: str) -> None:
    assert not problems(JOIN)
    found = problems(changed(pair, text=JOIN))
    assert any(words in line for line in found), found


def test_duplicate_ids() -> None:
    found = loaded(pack_file(MINIMAL), replace(pack_file(MINIMAL), label="b/ABC-001.yaml")).problems
    assert any("the rule ABC-001 is written in ABC-001.yaml already" in line for line in found)


def test_rules_of_users_may_not_be_misfiled_and_paths_must_exist(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no rules at"):
        load_rulebook([tmp_path / "none"])
    with pytest.raises(UsageError, match=r"no \.yaml file"):
        load_rulebook([tmp_path])
    single = tmp_path / "ABC-001.yaml"
    single.write_text(MINIMAL)
    assert load_rulebook([single], shipped=False).rule("ABC-001") is not None
    nested = tmp_path / "packs" / "ABC"
    nested.mkdir(parents=True)
    (nested / "ABC-002.yml").write_text(changed(("ABC-001", "ABC-002")))
    assert [rule.id for rule in load_rulebook([tmp_path / "packs"], shipped=False).rules] == ["ABC-002"]


def test_a_users_concept_can_be_quoted(tmp_path: Path) -> None:
    (tmp_path / "concepts").mkdir()
    (tmp_path / "concepts" / "log.print.yaml").write_text(
        "concept: log.print\nmeans: It prints.\nbinds: [TEXT_]\nlanguages:\n"
        "  python: {match: {pattern: print($TEXT_)}}\n"
        "examples: [{language: python, recognised: print(1)}, {language: python, ignored: log(1)}]\n"
    )
    (tmp_path / "ABC-001.yaml").write_text(changed(("{file: {path: LICENSE}}", "{concept: log.print}")))
    book = load_rulebook([tmp_path], shipped=False)
    assert book.rules[0].check is not None
    assert book.rules[0].check.query.options == {"name": "log.print"}


def test_the_cache_gives_the_same_rulebook(tmp_path: Path) -> None:
    pack, cache = tmp_path / "pack", tmp_path / "cache"
    pack.mkdir()
    (pack / "ABC-001.yaml").write_text(MINIMAL)
    first = load_rulebook([pack], cache=cache, shipped=False)
    (kept,) = cache.iterdir()
    assert load_rulebook([pack], cache=cache, shipped=False) == first
    assert msgspec.json.decode(kept.read_bytes(), type=Rulebook) == first
    kept.write_bytes(b'{"rules": [')
    assert load_rulebook([pack], cache=cache, shipped=False) == first
    (pack / "ABC-001.yaml").write_text(changed(("title: There is a LICENSE", "title: Another")))
    second = load_rulebook([pack], cache=cache, shipped=False)
    assert second.rule("ABC-001") != first.rule("ABC-001") and second.digest != first.digest
    (pack / "ABC-001.yaml").write_text("nothing: right\n")
    with pytest.raises(ConfigurationError):
        load_rulebook([pack], cache=cache, shipped=False)


def test_shipped_packs_have_known_prefixes() -> None:
    for file in pack_files([]):
        assert file.kind != "rule" or file.folder == file.stem.split("-")[0]


def test_positions_of_keys_values_and_missing_things() -> None:
    document = read("a: {b: [x, {c: 1}]}\n'd e':\n  é: ü\n", "f.yaml")
    assert isinstance(document, Document)
    assert document.value == {"a": {"b": ["x", {"c": 1}]}, "d e": {"é": "ü"}}
    assert document.position(("a", "b", 1, "c")) == (1, 16)
    assert document.position(("a", "b", 1, "c"), at_key=True) == (1, 13)
    assert document.position(("d e", "é")) == (3, 6)
    assert document.position(("a", "b", 1, "missing")) == (1, 12)
    assert key_path(("a", "b", 1, "c", "x y")) == 'a.b[1].c["x y"]'


@pytest.mark.parametrize(
    ("written", "value"),
    [("0755", "0755"), ("755", 755), ("2026-11-30", "2026-11-30"), ("1.5", 1.5), ("true", True), ("on", "on"),
     ("yes", "yes"), ("~", None), ("1e3", "1e3"), ("0x10", "0x10"), (".5", ".5"), ("1_000", "1_000"), ("-3", -3)],
)  # fmt: skip
def test_scalars_are_never_changed_quietly(written: str, value: object) -> None:
    document = read(f"a: {written}\n", "f")
    assert isinstance(document, Document)
    assert document.value == {"a": value} and type(document.value["a"]) is type(value)


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet="ab:-{}[]\n \t'\"&*!|>#,é\0", max_size=40))
def test_any_text_is_a_document_or_a_problem(text: str) -> None:
    result = read(text, "f")
    assert isinstance(result, Document | Problem)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, len(MINIMAL) - 1), st.sampled_from(["", ":", "x", "-", "\n", " ", "}", "'"]))
def test_no_small_damage_makes_loading_crash(position: int, char: str) -> None:
    loaded(MINIMAL[:position] + char + MINIMAL[position + 1 :])
