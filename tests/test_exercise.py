"""Exercising and mutating rules: every promise of an example can be broken, and is then named."""

from __future__ import annotations

import pytest

from fixaudit.relations.secrets import RELATIONS as SECRET_RELATIONS
from fixaudit.rulebook.exercise import exercise, exercise_concept
from fixaudit.rulebook.explain import explain
from fixaudit.rulebook.mutate import mutants, survivors
from fixaudit.rulebook.rule import Concept
from fixaudit.rulebook.samples import SAMPLES, expand, sample, unknown_samples
from fixaudit.rulebook.trees import differences, snapshot_of
from fixaudit.secrets.providers import provider_hits
from fixaudit.snapshot import LINK
from tests.rulebook_kit import MINIMAL, changed, rule_of


def sentences(text: str) -> list[str]:
    rule, book = rule_of(text)
    return [failure.sentence for failure in exercise(rule, book)]


def test_a_right_rule_keeps_its_promises() -> None:
    assert sentences(MINIMAL) == []


@pytest.mark.parametrize(
    ("pair", "words"),
    [
        (('good: {LICENSE: "MIT\\n"}', "good: {a.txt: y}"), "a finding where none is expected: the root"),
        (('bad: {a.txt: "x"}', "bad: {LICENSE: x}"), "nothing is found"),
        (('fixed: {LICENSE: "MIT\\n"}', 'fixed: {LICENSE: "MIT"}'), "LICENSE expected 'MIT', got 'MIT\\n'"),
        (('fixed: {LICENSE: "MIT\\n"}', "fixed: {}"), "LICENSE was created: 'MIT\\n'"),
        (('fixed: {LICENSE: "MIT\\n"}', 'fixed: {LICENSE: "MIT\\n", b: c}'), "b is missing"),
        (('fixed: {LICENSE: "MIT\\n"}', 'fixed: {LICENSE: {content: "MIT\\n", mode: "755"}}'), "has mode 100644"),
        (('fixed: {LICENSE: "MIT\\n"}', 'fixed: {LICENSE: "MIT\\n", a.txt: {absent: true}}'), "a.txt is there but"),
        (('fixed: {LICENSE: "MIT\\n"}', "refused: {code: none}"), "expected a refusal, got a change of LICENSE"),
        (('fixed: {LICENSE: "MIT\\n"}', "deferred: no file"), "expected to be deferred, got a change of LICENSE"),
        (("- name: none", "- name: none\n    stack: express"), "the stack express is not recognised here"),
        (("- name: none", "- name: none\n    finds: [{path: a.txt, at: x}]"), "expected a finding at a.txt: 'x'"),
        (("- name: there", "- name: there\n    undecided: true"), "nothing is undecided here"),
        (("- name: there", "- name: there\n    verdict: NOT_APPLICABLE"), "the verdict is PASS, expected NOT_"),
        (("create_file: {path: LICENSE", "create_file: {path: LICENCE"), "there is There is no LICENSE"),
        (("lines: [MIT]}", "lines: [MIT]}\n    - create_file: {path: a.py, lines: ['def f(']}"), "a.py:1 does not"),
    ],
)  # fmt: skip
def test_broken_promises_are_named(pair: tuple[str, str], words: str) -> None:
    found = sentences(changed(pair))
    assert any(words in sentence for sentence in found), found


REFUSING = """
id: ABC-001
title: The template declares the file's key
priority: P3
fix_type: DYNAMIC-PARAMETRIC
docs: {what: w, why: y}
check:
  forbid: {regex: {pattern: 'KEY=(?<NAME>\\w+)', files: ['*.txt']}}
  message: '{{ NAME }} is written here'
parameters:
  key:
    tiers: [[{capture: NAME, through: [upper_snake]}], [{value: OTHER}]]
    accept: {regex: '[A-Z]+'}
    refuse: {rejected: '{{ key }} is no name'}
fix:
  title: t
  safety: safe
  steps:
    - set_value: {path: a.json, pointer: '/{{ key }}', value: 1, when_absent: defer}
    - replace: {capture: TEXT, with: 'done', whole: true}
examples:
  - name: nothing
    good: {a.txt: "KEY\\n"}
  - name: other files are not read
    good: {a.md: "KEY=abc\\n"}
  - name: rejected
    bad: {a.txt: "KEY=a_b\\n", a.json: "{}"}
    finds: [{path: a.txt, at: KEY=a_b}]
    refused: {parameter: key, code: rejected, candidates: [A_B], reason: A_B is no name}
  - name: waits
    bad: {a.txt: "KEY=ab\\n"}
    deferred: no file at a.json
"""


def test_refusals_and_deferrals() -> None:
    assert sentences(REFUSING) == []
    assert sentences(changed(("code: rejected, candidates: [A_B]", "code: none, candidates: [B]"), text=REFUSING)) == [
        "refused with the code rejected (A_B is no name), expected none",
        "the candidates are ['A_B'], expected ['B']",
    ]
    assert sentences(changed(("deferred: no file at a.json", "deferred: later"), text=REFUSING)) == [
        "deferred because 'no file at a.json', expected 'later'"
    ]


def test_every_sentence_must_be_reached() -> None:
    text = changed(("refuse: {rejected:", "refuse: {many: too many, rejected:"), text=REFUSING)
    assert sentences(text) == ["no example reaches the refusal key.many"]


DELEGATED = """
id: ABC-001
title: Handlers do not print
priority: P3
fix_type: DYNAMIC-DELEGATED
docs: {what: w, why: y}
check:
  forbid: {ast: {language: python, rule: {pattern: print($TEXT_)}}}
  per: file
  message: It prints {{ TEXT_ }}
delegate:
  goal: Use a logger in {{ path }}.
  requirement:
    - {id: same-functions, preserve: {ast: {language: python, rule: {pattern: 'def $NAME(): $$$B'}}}, columns: [NAME]}
  boundary: {edit: ['{{ path }}'], create: [], delete: [], files_at_most: 1, lines_at_most: 10}
  forbidden:
    - {id: no-noise, forbid_added: [suppression]}
examples:
  - name: one
    bad: {a.py: "def f():\\n    print(1)\\n"}
    accepts: [{a.py: "def f():\\n    log(1)\\n"}]
    rejects:
      - {clause: same-functions, edit: {a.py: "def g():\\n    log(1)\\n"}}
      - {clause: no-noise, edit: {a.py: "def f():\\n    log(1)  # noqa\\n"}}
      - {clause: boundary.create, edit: {b.py: "x = 1\\n"}}
  - name: none
    good: {a.py: "log(1)\\n"}
"""


def test_contracts_are_judged() -> None:
    assert sentences(DELEGATED) == []
    assert sentences(changed(('log(1)\\n"}]', 'print(2)\\n"}]'), text=DELEGATED)) == [
        "accepts[0]: after the fix of a.py: It prints 1 ('print(1)') there is It prints 2"
    ]
    wrong = changed(("  # noqa", ""), text=DELEGATED)
    assert "rejects[1] breaks no clause, expected no-noise" in sentences(wrong)
    line = next(line for line in DELEGATED.splitlines(keepends=True) if "clause: no-noise" in line)
    unreached = changed((line, ""), text=DELEGATED)
    assert sentences(unreached) == ["no example breaks the clause no-noise"]


def test_mutants_have_stable_ids_and_survivors_are_named() -> None:
    rule, book = rule_of(REFUSING)
    names = [name for name, _ in mutants(rule)]
    assert names == [
        "parameters.key.accept.regex",
        "parameters.key.tiers[0]",
        "parameters.key.tiers[0][0].through[0]",
        "parameters.key.tiers[1]",
        "fix.steps[0].set_value",
        "fix.steps[1].replace",
    ]
    assert survivors(rule, book) == ("parameters.key.tiers[1]", "fix.steps[1].replace")
    reasons = ("parameters.key.tiers[1]", "fix.steps[1].replace", "parameters.key.tiers[0]", "nothing")
    written = "".join(f"  {name}: never used\n" for name in reasons)
    explained = changed(("examples:", f"equivalent_mutants:\n{written}examples:"), text=REFUSING)
    rule, book = rule_of(explained)
    assert survivors(rule, book) == (
        "parameters.key.tiers[0] (explained as equivalent, but an example kills it)",
        "nothing (explained as equivalent, but there is no such mutant)",
    )


def test_mutants_of_queries() -> None:
    text = changed(
        ("  require: {file: {path: LICENSE}}",
         "  forbid:\n    any:\n"
         "      - {call: {callee: [a#b, a#c], option: {origin: {could_be: '*'}, deep: true}}, priority: P4}\n"
         "      - {tracked: {paths: [x, y]}}\n  subject: {file: {}}"),
        ("There is no LICENSE.", "x"),
    )  # fmt: skip
    rule, _ = rule_of(text)
    assert [name for name, _ in mutants(rule)] == [
        "check.forbid.any[0]",
        "check.forbid.any[0].priority",
        "check.forbid.any[0].call.callee",
        "check.forbid.any[0].call.callee[0]",
        "check.forbid.any[0].call.callee[1]",
        "check.forbid.any[0].call.option",
        "check.forbid.any[0].call.option.origin",
        "check.forbid.any[0].call.option.deep",
        "check.forbid.any[1]",
        "check.forbid.any[1].tracked.paths[0]",
        "check.forbid.any[1].tracked.paths[1]",
        "check.subject",
        "fix.steps[0].create_file",
    ]


def test_trees_of_examples() -> None:
    tree = snapshot_of({
        "a": "x", "b": {"base64": "AAEC"}, "c": {"link": "a"}, "d": {"content": "y", "mode": "755", "tracked": False},
        "e": {"content": "z", "ignored": True}, "f": {"absent": True},
    })  # fmt: skip
    assert tree.paths() == ("a", "b", "c", "d")
    assert (tree.read("b"), tree.mode("c"), tree.mode("d"), tree.mode("f")) == (b"\0\1\2", LINK, "100755", None)
    assert [tree.is_tracked(path) for path in "abcde"] == [True, True, True, False, False]
    assert tree.read("e") == b"z"
    assert differences(tree, tree, {"a": {"untracked": True}}, ()) == ["a is still in git's index"]


@pytest.mark.parametrize("name", SAMPLES)
def test_samples_are_stable_and_different(name: str) -> None:
    assert sample(name) == sample(name) != sample(name, 2)
    assert expand(f"{{{{ sample.{name} }}}}") == sample(name)


@pytest.mark.parametrize(
    "name",
    ["aws_access_key", "github_pat", "gitlab_pat", "slack_bot", "stripe_live", "google_api", "sendgrid", "twilio",
     "npm_token", "openai", "anthropic", "telegram_bot"],
)  # fmt: skip
def test_samples_have_their_providers_shape(name: str) -> None:
    text = f'const token = "{sample(name)}";\n'
    hits = list(provider_hits(text.encode(), text))
    assert [text[hit.start : hit.end] for hit in hits] == [sample(name)]
    assert SECRET_RELATIONS


def test_samples_touch_nothing_else() -> None:
    text = "<p style={{ color: 'red' }}>{{ user.name }} ${{ secrets.X }} {{ sample.password.2 }}"
    assert expand(text) == text.replace("{{ sample.password.2 }}", sample("password", 2))
    assert list(unknown_samples("{{ sample.nothing }} {{ sample.password }}")) == ["nothing"]


def test_concepts_must_recognise_what_they_write() -> None:
    _, book = rule_of(MINIMAL)
    spelling = {"match": {"pattern": "env.get($KEY)"}, "render": "env.read({{ KEY }})"}
    example = {"language": "python", "recognised": "env.get(a)", "rows": [{"KEY": "a"}]}
    concept = Concept("x.y", "m", ("KEY",), {"python": spelling}, (example,))
    rulebook = type(book)(book.rules, book.stacks, {"x.y": concept}, {}, "", "")
    assert [failure.sentence for failure in exercise_concept(concept, rulebook)] == [
        "does not recognise what it writes itself: 'env.read(a)'"
    ]


def test_the_page_of_a_rule() -> None:
    rule, book = rule_of(REFUSING)
    page = explain(rule, book)
    assert page.startswith("# ABC-001: The template declares the file's key\n\nP3, DYNAMIC-PARAMETRIC; every stack")
    assert "- refused (rejected): {{ key }} is no name" in page
    assert "There may be no match of `KEY=" in page
    rule, book = rule_of(DELEGATED)
    assert "- Never: no-noise: no suppression is added" in explain(rule, book)
    rule, book = rule_of(MINIMAL)
    assert "```diff\n--- /dev/null\n+++ LICENSE\n@@ -0,0 +1 @@\n+MIT\n```" in explain(rule, book)


LANGUAGES = """
id: ABC-001
title: Nobody says eval
priority: P3
fix_type: STATIC
docs: {what: w, why: y}
check:
  forbid:
    any:
      - {ast: {language: javascript, rule: {pattern: eval($A)}}}
      - {ast: {language: python, rule: {pattern: eval($A)}}}
  message: It says {{ TEXT }}
fix: {title: t, safety: safe}
variants:
  script:
    languages: [javascript, typescript]
    steps: [{replace: {capture: TEXT, with: 'JSON.parse({{ A }})', whole: true}}]
  python:
    languages: [python]
    steps: [{replace: {capture: TEXT, with: 'load({{ A }})', whole: true}}]
examples:
  - name: two languages
    bad: {a.js: "eval(x);\\n", b.ts: "eval(y);\\n", c.py: "eval(z)\\n"}
    fixed: {a.js: "JSON.parse(x);\\n", b.ts: "JSON.parse(y);\\n", c.py: "load(z)\\n"}
  - name: none
    good: {a.js: "x();\\n", b.py: "x()\\n"}
"""


def test_variants_share_a_check_by_language() -> None:
    assert sentences(LANGUAGES) == []
    rule, book = rule_of(LANGUAGES)
    assert survivors(rule, book) == ("variants.python.languages",)
