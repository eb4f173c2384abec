"""Parsing, the syntax guard and user matchers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fixaudit.syntax import (
    LANGUAGES,
    Matcher,
    compile_matcher,
    damage_count,
    find,
    parse,
    parses_no_worse,
    span_of,
)


@pytest.mark.parametrize("name", ["toml", "dockerfile", "sql", "", "Python"])
def test_unknown_language_is_refused_before_the_library_sees_it(name: str) -> None:
    with pytest.raises(ValueError, match="no grammar"):
        parse("x", name)
    problems = compile_matcher({"kind": "x"}, name)
    assert not isinstance(problems, Matcher)
    assert "no grammar" in problems[0].message


DAMAGE = [
    ("javascript", "if (a) {}", 0),
    ("javascript", "", 0),
    ("python", "", 0),
    ("javascript", "if (a) {", 1),  # a `}` of no width, no ERROR
    ("javascript", "foo(", 1),
    ("javascript", "const a = 1 const b", 1),
    ("javascript", "x = <a b='c'>d</a>", 0),
    ("typescript", "x = <T>y", 0),
    ("tsx", "x = <a />", 0),
    ("javascript", "const a = 1; const a = 2;", 1),
    ("javascript", "import a from 'a'; const a = 2;", 1),
    ("typescript", "import a from 'a'; export const { b: [a] } = c;", 1),
    ("javascript", "import a from 'a'; function f() { const a = 2; }", 0),
    ("javascript", "function f() {} function f() {}", 0),
    ("javascript", "var a; var a;", 0),
    ("javascript", "let a; var a;", 1),
    ("javascript", "class A {} class A {}", 1),
    ("javascript", "switch (x) { case 1: let a; break; case 2: let a; }", 1),
    ("javascript", "for (let i;;) {} for (let i;;) {}", 0),
    ("typescript", "import type { A } from 'a'; const A = 1;", 0),
    ("typescript", "import { type A } from 'a'; const A = 1;", 0),
    ("typescript", "function f(): void; function f() {} interface f {}", 0),
    ("typescript", "declare const a: string; declare const b: string;", 0),
    ("python", "if x:\n    pass\n", 0),
    ("python", "def f():\n  a\n   b\n", 1),  # no ERROR: only the interpreter's parser refuses it
    ("python", "x = '\\d'\n", 0),  # a warning is no error
]


@pytest.mark.parametrize(("language", "content", "expected"), DAMAGE)
def test_damage_count(language: str, content: str, expected: int) -> None:
    assert damage_count(content, language) == expected


def test_damage_names_the_place() -> None:
    assert parse("if (a) {", "javascript").damage() == ((8, 8),)
    assert parse("é = ;", "typescript").damage() == ((2, 3),)


def test_guard_compares_with_the_text_before() -> None:
    assert parses_no_worse("a(", "b(", "javascript")
    assert not parses_no_worse("a()", "b(", "javascript")
    assert parses_no_worse("if x:\n  pass\n", "if y:\n  pass\n", "python")
    assert not parses_no_worse("if x:\n  pass\n", "if x:\n  pass\n   y\n", "python")
    assert not parses_no_worse("const a = 1;", "const a = 1; import a from 'a';", "javascript")


def test_offsets_are_code_points() -> None:
    tree = parse("é😀; foo(1)", "javascript")
    call = tree.nodes("call_expression")[0]
    assert span_of(call) == (4, 10)
    assert tree.nodes("public_field_definition") == []  # a kind of another grammar


@given(st.text(), st.sampled_from(LANGUAGES))
def test_any_text_parses(content: str, language: str) -> None:
    tree = parse(content, language)
    for start, end in tree.damage():
        assert 0 <= start <= end <= len(content)


BROKEN = [
    ({"pattern": "foo($A"}, "javascript", ("pattern",), "does not parse"),
    ({"pattern": "def $F(:"}, "python", ("pattern",), "does not parse"),
    ({"pattern": ""}, "javascript", ("pattern",), "does not parse"),
    ({"rule": {"any": [{"pattern": "a"}, {"all": [{"pattern": "f(("}]}]}}, "python", None, ""),
    ({"rule": {"all": [{"pattern": "f(("}]}}, "python", ("rule", "all", 0, "pattern"), "does not parse"),
    ({"kind": "nope"}, "javascript", (), "nope"),
    ({"regex": "(?=a)"}, "python", (), "look-around"),
    ({"patern": "a"}, "python", (), "unknown field"),
    ({"matches": "nothing"}, "python", (), "nothing"),
    ({"rule": {"pattern": "a"}, "fix": "b"}, "python", ("fix",), "cannot fix"),
    ({"pattern": "a", "fix": "b"}, "python", ("fix",), "cannot fix"),
    ({"rule": {"pattern": "a"}, "severity": "b"}, "python", ("severity",), "allowed here"),
    ({"pattern": {"context": "class A { $F = ", "selector": "x"}}, "javascript", ("pattern", "context"), "not parse"),
]


@pytest.mark.parametrize(("rule", "language", "path", "message"), BROKEN)
def test_what_cannot_work_does_not_compile(
    rule: dict[str, object], language: str, path: tuple[str, ...] | None, message: str
) -> None:
    compiled = compile_matcher(rule, language)
    if path is None:
        assert isinstance(compiled, Matcher)
        return
    assert not isinstance(compiled, Matcher)
    assert compiled[0].path == path
    assert message in compiled[0].message
    assert "backtrace" not in compiled[0].message


def matched(rule: dict[str, object], language: str, content: str, grammar: str | None = None) -> list[dict[str, str]]:
    matcher = compile_matcher(rule, language)
    assert isinstance(matcher, Matcher)
    tree = parse(content, grammar or language)
    found = find(tree, matcher)
    assert all(content[slice(*match.span)] == match.text for match in found)
    for match in found:
        assert all(content[slice(*c.span)] == c.text for c in match.captures.values())
    return [{"": match.text, **{name: capture.text for name, capture in match.captures.items()}} for match in found]


def test_captures_have_text_and_place() -> None:
    content = "é; foo(1, b, 'c'); foo(x); bar(2)"
    assert matched({"pattern": "foo($A, $$$REST)"}, "javascript", content) == [
        {"": "foo(1, b, 'c')", "A": "1", "REST": "b, 'c'"},
    ]
    assert matched({"pattern": "foo($$$ALL)"}, "javascript", "foo(); foo(x)") == [
        {"": "foo()"},
        {"": "foo(x)", "ALL": "x"},
    ]


def test_a_javascript_matcher_reads_typescript_too() -> None:
    rule: dict[str, object] = {"pattern": "foo($A)"}
    assert [len(matched(rule, "javascript", "foo(1)", grammar)) for grammar in LANGUAGES] == [1, 1, 1, 0]
    fields = {"any": [{"kind": "field_definition"}, {"kind": "public_field_definition"}]}
    for grammar in ("javascript", "typescript", "tsx"):
        assert len(matched(fields, "javascript", "class A { x = 1 }", grammar)) == 1
    typed = compile_matcher({"pattern": "const $A: string = $B"}, "javascript")
    assert isinstance(typed, Matcher)
    assert sorted(typed.configs) == ["tsx", "typescript"]


def test_utils_constraints_and_transform() -> None:
    rule = {
        "rule": {"pattern": "$F($A)", "inside": {"matches": "guard", "stopBy": "end"}},
        "constraints": {"F": {"regex": "^get"}},
        "utils": {"guard": {"kind": "if_statement"}},
        "transform": {"UPPER": {"convert": {"source": "$F", "toCase": "upperCase"}}},
    }
    matcher = compile_matcher(rule, "javascript")
    assert isinstance(matcher, Matcher)
    assert matcher.captures == ("A", "F", "UPPER")
    found = find(parse("getA(1); if (x) { getB(2); setC(3) }", "javascript"), matcher)
    assert [(match.text, match.captures["UPPER"].text) for match in found] == [("getB(2)", "GETB")]
