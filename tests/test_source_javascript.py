"""The program model of JavaScript and TypeScript."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fixaudit import syntax
from fixaudit.source import ir
from fixaudit.source.javascript import parse_javascript
from fixaudit.source.javascript_leaves import TYPES
from fixaudit.source.javascript_literals import number, unescape


def read(content: str, language: str = "javascript") -> ir.Module:
    return parse_javascript(content, language)


def value_of(code: str, language: str = "javascript") -> ir.Expr:
    module = read(f"x = {code};", language)
    assert module.damage == ()
    value = module.body[0].value
    assert value is not None
    return value


def brief(value: ir.Expr | None) -> object:
    """A readable form of an expression: what the tests below compare."""
    match value:
        case None:
            return None
        case ir.Literal(value=inner):
            return inner if not isinstance(inner, str) else repr(inner)
        case ir.Template(parts=parts):
            return ("template", *map(brief, parts))
        case ir.Sequence(items=items, complete=complete):
            return ["?"] * (not complete) + [brief(item) for item in items]
        case ir.Object(entries=entries, complete=complete):
            return {entry.key: brief(entry.value) for entry in entries} | ({} if complete else {"?": True})
        case ir.Name(name=name):
            return name
        case ir.Member(object=inner, name=name, key=key):
            return f"{brief(inner)}.{name}" if name is not None else f"{brief(inner)}[{brief(key)}]"
        case ir.Call(callee=callee, arguments=arguments):
            inner = ", ".join(("..." if a.spread else "") + str(brief(a.value)) for a in arguments)
            words = "new " * value.new + "await " * value.awaited
            return f"{words}{brief(callee)}{'?.' * value.optional}({inner})"
        case ir.Logical(op=op, left=left, right=right, test=test):
            return (op, *([] if test is None else [brief(test)]), brief(left), brief(right))
        case ir.FunctionRef(index=index):
            return f"function {index}"
        case ir.ClassRef(index=index):
            return f"class {index}"
        case ir.Other(kind=kind, parts=parts):
            return (kind, *map(brief, parts))


VALUES = [
    ("'a\\n\\u{1F600}'", "'a\\n😀'"),
    ("1_000", 1000),
    ("0x1F", 31),
    ("10n", 10),
    ("-1.5", -1.5),
    ("!0", True),
    ("null", None),
    ("undefined", "undefined"),
    ("`a`", "'a'"),
    ("``", "''"),
    ("`a${b}c`", ("template", "'a'", "b", "'c'")),
    ("'a' + b + 'c'", ("template", "'a'", "b", "'c'")),
    ("a + (b + `c${d}`)", ("template", "a", "b", "'c'", "d")),
    ("a + b", ("binary_expression", "a", "b")),
    ("a || b || 'c'", ("or", ("or", "a", "b"), "'c'")),
    ("a ?? 'b'", ("or", "a", "'b'")),
    ("a && b", ("and", "a", "b")),
    ("a ? b : c", ("if", "a", "b", "c")),
    ("[1, ...a]", ["?", 1, ("spread_element", "a")]),
    ("[1, , 2]", [1, 2]),
    ("{ a, 'b': 1, ['c']: 2, 3: 4 }", {"a": "a", "b": 1, "c": 2, "3": 4}),
    ("{ ...a, b: 1 }", {None: ("spread_element", "a"), "b": 1, "?": True}),
    ("{ [a]: 1 }", {None: ("pair", ("computed", "a"), 1), "?": True}),
    ("{ m() {}, get g() { return 1 } }", {"m": "function 0", "g": ("accessor", "function 1")}),
    ("a.b?.['c'][0][d]", "a.b.c[0][d]"),
    ("a?.(1, ...b)", "a?.(1, ...b)"),
    ("new X", "new X()"),
    ("new a.X(1)", "new a.X(1)"),
    ("await a()", "await a()"),
    ("(0, a.b)(1)", "a.b(1)"),
    ("(a, b)", ("sequence_expression", "a", "b")),
    ("tag`a${b}`", ("tagged_template", "tag", ("template", "'a'", "b"))),
    ("import.meta.env.A", "import.meta.env.A"),
    ("/a+/g", ("regex",)),
    ("typeof a", ("unary_expression", "a")),
    ("void 0", ("void", 0)),
    ("f(delete a.b)", "f(('delete', 'a.b'))"),
    ("async () => 1", "function 0"),
    ("class extends A {}", "class 0"),
    (
        "<A.B c='d' e={f} g {...h}>i {j}<k /></A.B>",
        ("jsx_element", "A.B", {"c": "'d'", "e": "f", "g": True, None: ("spread_element", "h"), "?": True},
         "'i '", "j", ("jsx_element", "k")),
    ),
    ("<>{a}</>", ("jsx_element", "a")),
]  # fmt: skip


@pytest.mark.parametrize(("code", "expected"), VALUES)
def test_values(code: str, expected: object) -> None:
    found = brief(value_of(code, "javascript"))
    assert found == expected
    assert type(found) is type(expected)


TYPED = [
    ("a as string", "a"),
    ("a!.b!", "a.b"),
    ("a satisfies T", "a"),
    ("<T>a", "a"),
    ("f<T>(a as const)", "f(a)"),
    ("f<T>", "f"),
    ("(process.env as any).KEY", "process.env.KEY"),
]


@pytest.mark.parametrize(("code", "expected"), TYPED)
def test_type_wrappers_vanish(code: str, expected: object) -> None:
    assert brief(value_of(code, "typescript")) == expected


def imports(content: str, language: str = "typescript") -> list[tuple[object, ...]]:
    found = []
    for imported in read(content, language).imports:
        typed = ("type",) if imported.type_only else ()
        found.append((imported.module, imported.export, imported.local, imported.form, *typed))
    return found


IMPORTS = [
    ("import a from 'x'", [("x", "default", "a", "import")]),
    ("import * as a from 'x'", [("x", "*", "a", "import")]),
    ("import d, { a, b as c, default as e } from 'x'", [
        ("x", "default", "d", "import"), ("x", "a", "a", "import"), ("x", "b", "c", "import"),
        ("x", "default", "e", "import"),
    ]),
    ("import 'x'", [("x", "*", None, "import")]),
    ("import a = require('x')", [("x", "*", "a", "import")]),
    ("import type { A } from 'x'", [("x", "A", "A", "import", "type")]),
    ("import { type A, b } from 'x'", [("x", "A", "A", "import", "type"), ("x", "b", "b", "import")]),
    ("import a from 'x' with { type: 'json' }", [("x", "default", "a", "import")]),
    ("const a = require('x')", [("x", "*", "a", "require")]),
    ("const a = require('x').b", [("x", "b", "a", "require")]),
    ("const a = require('x').default", [("x", "default", "a", "require")]),
    ("const { Router, json: j, default: d } = require('x')", [
        ("x", "Router", "Router", "require"), ("x", "json", "j", "require"), ("x", "default", "d", "require"),
    ]),
    ("const { a: { b = 1 }, ...c } = require('x')", [("x", "a.b", "b", "require"), ("x", "*", "c", "require")]),
    ("const a = __importDefault(require('x'))", [("x", "*", "a", "require")]),
    ("let a; a = require('x')", [("x", "*", "a", "require")]),
    ("require('x').config()", [("x", "*", None, "require")]),
    ("const r = require('x')()", [("x", "*", None, "require")]),
    ("module.exports = require('x')", [("x", "*", None, "require")]),
    ("f(require('x'), require('y'))", [("x", "*", None, "require"), ("y", "*", None, "require")]),
    ("const a = await import('x')", [("x", "*", "a", "dynamic")]),
    ("const { a } = await import('x')", [("x", "a", "a", "dynamic")]),
    ("const a = (await import('x')).default", [("x", "default", "a", "dynamic")]),
    ("const a = import('x')", [("x", "*", None, "dynamic")]),
    ("const a = require(b)", []),
    ("function f(a = require('x')) {}", [("x", "*", None, "require")]),
    ("class A extends require('x').B { c = require('y'); d() { require('z'); } }", [
        ("x", "*", None, "require"), ("y", "*", "c", "require"), ("z", "*", None, "require"),
    ]),
    ("const a = 1, b = require('x')", [("x", "*", "b", "require")]),
]  # fmt: skip


@pytest.mark.parametrize(("content", "expected"), IMPORTS)
def test_imports(content: str, expected: list[tuple[object, ...]]) -> None:
    assert imports(content) == expected


def test_conditional_and_inner_imports_say_so() -> None:
    module = read("if (a) { b = require('x'); }\nfunction f() { const c = require('y'); }\nimport('z');")
    first, second, third = module.imports
    assert [guard[0] for guard in first.guards] == ["if"]
    assert (second.guards, second.scope, module.functions[0].name) == ((), 0, "f")
    assert (third.local, third.scope) == (None, None)
    content = "const { a: b } = require('x');"
    found = read(content).imports[0]
    assert content[slice(*found.span)] == "b"
    assert content[slice(*found.statement)] == content


def exports(content: str, language: str = "typescript") -> list[tuple[object, ...]]:
    found = read(content, language).exports
    return [(e.name, brief(e.value), *([] if e.module is None else [e.module])) for e in found]


EXPORTS = [
    ("export const a = 1, { b: [c] } = d", [("a", "a"), ("c", "c")]),
    ("export function f() {}", [("f", "function 0")]),
    ("export default function () {}", [("default", "function 0")]),
    ("export default async () => {}", [("default", "function 0")]),
    ("export default class A {}", [("default", "class 0")]),
    ("export default class {}", [("default", "class 0")]),
    ("export abstract class A {}", [("A", "class 0")]),
    ("export default a.b", [("default", "a.b")]),
    ("export { a, b as c, d as default }", [("a", "a"), ("c", "b"), ("default", "d")]),
    ("export { a as b } from 'x'", [("b", "a", "x")]),
    ("export * from 'x'", [("*", None, "x")]),
    ("export * as n from 'x'", [("n", "*", "x")]),
    ("export enum E { A = 'a' }", [("E", "E")]),
    ("export type { T }; export { type U, v }; export interface I {}", [("v", "v")]),
    ("export = a", [("default", "a")]),
    ("module.exports = { a, b: c }", [("default", {"a": "a", "b": "c"}), ("a", "a"), ("b", "c")]),
    ("module.exports = { ...require('./a'), ...b }", [
        ("default", {None: ("spread_element", "b"), "?": True}), ("*", None, "./a"),
    ]),
    ("exports.a = b; module.exports.c = d; exports['e'] = f", [("a", "b"), ("c", "d"), ("e", "f")]),
    ("exports = module.exports = f", [("default", "f")]),
    ("exports.a = exports.b = void 0", []),
    ("Object.defineProperty(exports, 'a', { get() { return b.a } })", [("a", None)]),
    ("Object.defineProperty(exports, '__esModule', { value: true })", []),
    ("Object.assign(module.exports, { a: 1 })", [("a", 1)]),
    ("namespace N { export const a = 1 }", []),
    ("const a = exports", []),
]  # fmt: skip


@pytest.mark.parametrize(("content", "expected"), EXPORTS)
def test_exports(content: str, expected: list[tuple[object, ...]]) -> None:
    assert exports(content) == expected


SYSTEMS = [
    ("import a from 'a'", "esm"),
    ("export const a = 1", "esm"),
    ("f(import.meta.url)", "esm"),
    ("const a = require('a')", "commonjs"),
    ("exports.a = 1", "commonjs"),
    ("f()", "none"),
    ("import('a')", "none"),
]


@pytest.mark.parametrize(("content", "expected"), SYSTEMS)
def test_module_system(content: str, expected: str) -> None:
    assert read(content).system == expected


def statements(content: str, language: str = "javascript") -> list[tuple[object, ...]]:
    found = []
    for s in read(content, language).body:
        names = [target.name or brief(target.member) for target in s.targets]
        found.append((s.kind, *([s.keyword] if s.keyword else []), names, brief(s.value), [g[0] for g in s.guards]))
    return found


STATEMENTS = [
    ("const a = 1, b = c;", [("declare", "const", ["a"], 1, []), ("declare", "const", ["b"], "c", [])]),
    ("let a;", [("declare", "let", ["a"], None, [])]),
    ("a = b.c = d;", [("assign", ["a", "b.c"], "d", [])]),
    ("a ??= 'b';", [("augment", "??=", ["a"], "'b'", [])]),
    ("a.b++;", [("augment", "++", ["a.b"], None, [])]),
    ("delete a.b;", [("delete", [], "a.b", [])]),
    ("throw a;", [("raise", [], "a", [])]),
    ("'use strict'; 'b'.c();", [("directive", [], "'use strict'", []), ("expression", [], "'b'.c()", [])]),
    ("if (a) b(); else if (c) { d(); } else e();", [
        ("other", [], "a", []), ("expression", [], "b()", ["if"]), ("other", [], "c", ["else"]),
        ("expression", [], "d()", ["else", "if"]), ("expression", [], "e()", ["else"]),
    ]),
    ("for (const [a] of b) c();", [
        ("other", [], "b", []), ("declare", "const", ["a"], None, ["for"]), ("expression", [], "c()", ["for"]),
    ]),
    ("for (let i = 0; i < n; i++) { a(); }", [
        ("declare", "let", ["i"], 0, []), ("other", [], ("binary_expression", "i", "n"), []),
        ("expression", [], "a()", ["for"]), ("other", [], ("update_expression", "i"), ["for"]),
    ]),
    ("while (a) b(); do c(); while (d);", [
        ("other", [], "a", []), ("expression", [], "b()", ["while"]),
        ("expression", [], "c()", ["while"]), ("other", [], "d", []),
    ]),
    ("try { a() } catch ({ b }) { c() } finally { d() }", [
        ("expression", [], "a()", ["try"]), ("declare", "catch", ["b"], None, ["except"]),
        ("expression", [], "c()", ["except"]), ("expression", [], "d()", ["finally"]),
    ]),
    ("switch (a) { case 'b': c(); default: d() }", [
        ("other", [], "a", []), ("other", [], "'b'", ["switch"]), ("expression", [], "c()", ["switch"]),
        ("expression", [], "d()", ["switch"]),
    ]),
    ("if (require.main === module) a();", [
        ("other", [], ("binary_expression", "require.main", "module"), []), ("expression", [], "a()", ["main"]),
    ]),
    ("l: { a(); }", [("expression", [], "a()", [])]),
]  # fmt: skip


@pytest.mark.parametrize(("content", "expected"), STATEMENTS)
def test_statements_are_flat(content: str, expected: list[tuple[object, ...]]) -> None:
    assert statements(content) == expected


def test_guard_spans() -> None:
    content = "if (a) {\n  b();\n} else c();\n"
    module = read(content)
    places = [[(content[slice(*h)], content[slice(*b)]) for _, h, b in s.guards] for s in module.body]
    assert places == [[], [("if (a)", "{\n  b();\n}")], [("else", "c();")]]


def test_typescript_only_statements() -> None:
    found = statements(
        "enum E { A = 'a', B, C = f() }\ndeclare const g: string;\ninterface I {}\ntype T = 'x';\n"
        "namespace N { h(); }\nimport R = P.Q;\nusing u = v();\nfunction over(a: string): void;",
        "typescript",
    )
    assert found == [
        ("other", "enum", ["E"], {"A": "'a'", "C": "f()", "?": True}, []),
        ("other", "declare", ["g"], None, []),
        ("other", "type", ["I"], None, []),
        ("other", "type", ["T"], None, []),
        ("other", "namespace", ["N"], None, []),
        ("expression", [], "h()", []),
        ("declare", "import", ["R"], ("import_alias", "P", "Q"), []),
        ("declare", "using", ["u"], "v()", []),
        ("other", "type", ["over"], None, []),
    ]


def test_typed_declaration_keeps_the_annotation() -> None:
    content = 'export const a: Record<string, string> = "é";'
    statement = read(content, "typescript").body[0]
    target = statement.targets[0]
    assert (target.annotation, statement.keyword) == ("Record<string, string>", "export const")
    assert target.annotation_span is not None
    assert content[slice(*target.annotation_span)] == target.annotation
    assert content[slice(*statement.span)] == content


def targets(pattern: str, language: str = "typescript") -> list[tuple[object, ...]]:
    function = read(f"function f({pattern}) {{}}", language).functions[0]
    found: list[tuple[object, ...]] = [(t.name, t.path, brief(t.default)) for t in function.parameters]
    return [*found, ("rest",)] if function.has_rest else found


TARGETS = [
    ("a, b = 1", [("a", (), None), ("b", (), 1)]),
    ("{ a, b: c = 2, ...d }, e", [
        (None, (), None), ("a", ("a",), None), ("c", ("b",), 2), ("d", ("...",), None), ("e", (), None),
    ]),
    ("[a, , b] = []", [(None, (), []), ("a", ("[0]",), None), ("b", ("[2]",), None)]),
    ("{ a: { b } = {} }", [(None, (), None), (None, ("a",), {}), ("b", ("a", "b"), None)]),
    ("{ [k]: a }", [(None, (), None), (None, ("[?]",), ("computed", "k")), ("a", ("[?]",), None)]),
    ("...a", [("a", ("...",), None), ("rest",)]),
    ("this: T, a?: string", [("a", (), None)]),
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "expected"), TARGETS)
def test_parameters(pattern: str, expected: list[tuple[object, ...]]) -> None:
    assert targets(pattern) == expected


def test_functions_and_classes() -> None:
    content = (
        "@D('d') export class A extends m(B) implements I {\n"
        "  @P() static readonly x: string = 's';\n"
        "  #p = () => { f(); };\n"
        "  static { g(); }\n"
        "  constructor(@Inj(Q) private z: T = h(), { w }: O) { super(); }\n"
        "  async *gen(): Promise<void> {}\n"
        "  get y() { return 1; }\n"
        "  @R() [k]() {}\n"
        "}\n"
    )
    module = read(content, "typescript")
    (found,) = module.classes
    assert (found.name, brief(found.bases[0]), len(found.bases)) == ("A", "m(B)", 1)
    assert [brief(d) for d in found.decorators] == ["D('d')"]
    assert [(s.kind, content[s.span[0] : s.span[0] + 2]) for s in module.body] == [("class", "@D")]
    assert [(s.kind, [t.name for t in s.targets], brief(s.value), s.keyword) for s in found.fields] == [
        ("other", [], ("decorator", "P()"), ""),
        ("declare", ["x"], "'s'", "static readonly"),
        ("declare", ["#p"], "function 0", ""),
        ("expression", [], "g()", ""),
        ("other", [], ("computed", "k"), ""),
    ]
    methods = [module.functions[index] for index in found.methods]
    assert [(m.name, m.is_async, m.is_generator, m.owner) for m in methods] == [
        ("constructor", False, False, 0),
        ("gen", True, True, 0),
        ("y", False, False, 0),
        (None, False, False, 0),
    ]
    assert [brief(d) for d in methods[0].decorators] == ["Inj(Q)"]
    assert [brief(d) for d in methods[3].decorators] == ["R()"]
    assert methods[1].returns == "Promise<void>"
    assert methods[0].parameters[0].annotation == "T"


def test_nested_functions_know_their_parent() -> None:
    module = read("function a() { const b = () => c(function d() {}); }")
    assert [(f.name, f.parent) for f in module.functions] == [("a", None), (None, 0), ("d", 1)]
    arrow = module.functions[1]
    assert arrow.body[0].kind == "return"
    assert arrow.body[0].span == arrow.body_span


def test_comments() -> None:
    content = "// a\nf(); /* b */\n  // c\nx = <p>{/* d */}</p>;"
    found = [(c.text, c.own_line) for c in read(content).comments]
    assert found == [("// a", True), ("/* b */", False), ("// c", True), ("/* d */", False)]


def test_strictness_and_damage() -> None:
    assert [read(c).strict for c in ("f()", "'use strict'; f()", "import 'a'")] == [False, True, True]
    assert read("f()", "tsx").strict
    assert read("if (a) { b(").damage != ()
    assert read("if (a) {").damage == ((8, 8),)
    with pytest.raises(ValueError, match="not a JavaScript"):
        parse_javascript("x", "python")


def test_spans_are_code_points() -> None:
    content = "const ü = '😀'; f(ü);\r\n"
    call = read(content).body[1].value
    assert isinstance(call, ir.Call)
    assert content[slice(*call.span)] == "f(ü)"
    assert content[slice(*call.arguments_span)] == "(ü)"


ESCAPES = [
    (r"\n\t\0\\\'", "\n\t\0\\'"),
    (r"\x41\u0042\u{43}", "ABC"),
    (r"\ud83d\ude00", "😀"),
    (r"\ud83d", r"\ud83d"),
    (r"\xZZ\u{110000}", r"\xZZ\u{110000}"),
    ("a\\\nb\\\r\nc", "abc"),
    (r"\101\q", "Aq"),
]


@pytest.mark.parametrize(("text", "expected"), ESCAPES)
def test_escapes(text: str, expected: str) -> None:
    assert unescape(text) == expected


def test_numbers() -> None:
    cases = {"0b11": 3, "017": 15, "089": 89, ".5": 0.5, "1e3": 1000.0, "1e999": None, "0xzz": None, "9" * 400: None}
    assert {text: number(text) for text in cases} == cases
    assert number("99999999999999999999") == 1e20


# Nothing is lost -----------------------------------------------------------------------------------------------------

_NAMED = frozenset((
    "function_declaration", "generator_function_declaration", "function_expression", "generator_function", "class",
    "class_declaration", "abstract_class_declaration", "enum_declaration", "internal_module", "enum_assignment",
    "method_definition", "field_definition", "public_field_definition", "pair", "pair_pattern", "jsx_attribute",
    "subscript_expression", "export_statement",
))  # fmt: skip
_NAMES = ("name", "property", "key", "index", "source")
_UNREAD = {*TYPES, "ambient_declaration", "function_signature", "import_statement", "export_clause", "namespace_export"}


def in_tree(content: str, language: str) -> set[tuple[str, ir.Span]]:
    """Calls, strings and names by the syntax tree alone; what only names a property, binding or module is left out."""
    found = set()
    stack = [syntax.parse(content, language).root]
    while stack:
        node = stack.pop()
        kind, span = node.kind(), syntax.span_of(node)
        if kind in _UNREAD or kind == "jsx_closing_element":
            continue
        if kind == "new_expression" or (kind == "call_expression" and node.field("arguments").kind() == "arguments"):
            found.add(("call", span))
        elif kind in ("string", "identifier", "shorthand_property_identifier"):
            found.add(("string" if kind == "string" else "name", span))
            continue
        spelled = set()
        for field in _NAMES if kind in _NAMED else ():
            part = node.field(field)
            if part is not None and part.kind() in ("string", "identifier", "property_identifier", "number"):
                spelled.add(syntax.span_of(part))
        stack += [child for child in node.children() if syntax.span_of(child) not in spelled]
    return found


def expressions(module: ir.Module) -> Iterator[ir.Expr]:
    def of(statement: ir.Statement) -> Iterator[ir.Expr | None]:
        yield statement.value
        for target in statement.targets:
            yield from (target.default, target.member)

    roots: list[ir.Expr | None] = [value for s in module.body for value in of(s)]
    for function in module.functions:
        roots += [target.default for target in function.parameters]
        roots += function.decorators
        roots += [value for s in function.body for value in of(s)]
    for definition in module.classes:
        roots += [*definition.bases, *definition.decorators, *(v for s in definition.fields for v in of(s))]
    for root in roots:
        yield from ir.walk(root)


def in_model(module: ir.Module) -> tuple[Counter[tuple[str, ir.Span]], set[ir.Span]]:
    found: Counter[tuple[str, ir.Span]] = Counter()
    for node in expressions(module):
        if isinstance(node, ir.Call):
            found["call", node.span] += 1
        elif isinstance(node, ir.Literal) and isinstance(node.value, str) and node.text[:1] in ("'", '"'):
            found["string", node.span] += 1
        elif isinstance(node, ir.Name):
            found["name", node.span] += 1
    statements = [*module.body, *(s for f in module.functions for s in f.body)]
    bound = {target.span for s in statements for target in s.targets if target.name}
    bound |= {target.span for f in module.functions for target in f.parameters}
    return found, bound


PROGRAM = """
import d, { a as b } from "m";
import e = require("n");
const { p: { q = f("1") } = {}, [k("2")]: r, ...rest } = require("o"), s = await import("p");
@Dec("3") class A extends mix(B, "4") {
  @Field("5") x: "type" = g("6", ...h);
  static { boot("7"); }
  [comp("8")] = 1;
  constructor(@Inj("9") private y = z("10"), { w = v("11") }: T<"no"> = t("12")) { super(y); }
  @Met() async *[key2()]() { yield* u("13"); }
}
export default async function main(req, ...others: any[]): Promise<"no"> {
  label: for (const i of list("14")) { if (i === "15") continue label; else if (cond("16")) break; else other(); }
  for (let j = start("17"); j < end("18"); j += step("19")) { switch (j) { case c1("20"): go(); default: stop("21"); }
  }
  try { risky?.["prop"]?.("22"); } catch ({ message = dflt("23") }) { throw new Err(`t${tpl("24")}u` + "25"); }
  finally { fin(); }
  return a1 ? b1("26") : c1 || (d1, "27") && e1[f1("28")]!.g1(...h1 as any[]);
}
obj = { sh, "k": v1("29"), [ck("30")]: v2, ...sp("31"), m(a = "32") { return "33"; },
  get g() { return n1("34"); }, n: class { s = "35" } };
[x1.y1, z1 = "36", { z2: w1["37"] }] = tag`a${"38"}b`;
delete del("39").x, void vd("40"), typeof ty("41"), !ng("42"), cnt++;
enum E { M = en("43"), N = "44" }
namespace NS { inner("45"); export const ex = "46"; }
export const cb = <T,>(cbp: T) => (inner2) => ({ deep: deeper("47") });
export { obj as o2 };
export * from "q";
do { dd("48"); } while (ee("49"));
with1: { blk(function named() { return new Thing; }); }
if (lz = assign("50")) consume(lz);
"""
JSX = """
const v = <Comp.Sub a="1" b={f("2")} {...sp("3")} c={<In d={"4"} />}>text {g("5")}
 {cond && <B>{h("6")}</B>} <></></Comp.Sub>;
"""


@pytest.mark.parametrize(
    ("content", "language"),
    [(PROGRAM, "typescript"), (PROGRAM.replace("<T,>", "<T,>"), "tsx"), (JSX, "tsx"), (JSX, "javascript")],
)
def test_every_call_string_and_name_is_reached_once(content: str, language: str) -> None:
    module = read(content, language)
    assert module.damage == ()
    wanted = in_tree(content, language)
    found, bound = in_model(module)
    missing = {
        (kind, content[slice(*span)]) for kind, span in wanted if (kind, span) not in found and span not in bound
    }
    twice = {(kind, content[slice(*span)]) for (kind, span), count in found.items() if count > 1}
    assert (missing, twice) == (set(), set())


SNIPPETS = [
    "f('a')", "x.y", "const a = b", "if (a) {", "}", "(", ")", "=>", "class A {", "m() {", "`t${", "return", ";", "\n",
    "function g(", "<A b={", "/>", "// c\n", "/*", "'", "import a from 'x'", "export", "await", "...", ",", ":", "é😀",
    "switch (a) { case", "try {", "catch", "[", "]", "=", "async", "enum", "@d", "static", "?.", "??", "!", "as", "<T>",
]  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.sampled_from(SNIPPETS), max_size=25).map(" ".join), st.sampled_from(["javascript", "typescript", "tsx"])
)
def test_any_input_is_read_and_survives_the_cache(content: str, language: str) -> None:
    module = read(content, language)
    decoded = msgspec.msgpack.decode(msgspec.msgpack.encode(module), type=ir.Module)
    assert decoded == module
    counts, _ = in_model(module)
    assert all(count == 1 for (kind, span), count in counts.items() if span[0] < span[1] and kind == "call")


@given(st.text())
def test_any_text_is_read(content: str) -> None:
    read(content, "tsx")


DEEP = [
    "x = " + " + ".join(["'a'"] * 5000),
    "x = " + " - b + ".join(["a"] * 3000),
    "f(" * 3000 + ")" * 3000,
    "a" + ".b(1)" * 3000,
    "(" * 3000 + "1" + ")" * 3000,
    "[" * 3000 + "]" * 3000,
    "function f() {" * 1000 + "x()" + "}" * 1000,
    "() => " * 1500 + "x",
    "if (a) {} " + "else if (b) {} " * 2000,
    "if (a) {" * 1000 + "}" * 1000,
    "x = " + "a ? b : " * 2000 + "c",
    "x = " + " || ".join(["a"] * 3000),
    "a, " * 3000 + "b",
    "x = " + "<a>" * 300 + "</a>" * 300,
    "x = " + "class { y = " * 200 + "1" + "}" * 200,
    "const " + "{ a: " * 500 + "b" + "}" * 500 + " = x",
    "a = " * 3000 + "b",
]


@pytest.mark.parametrize("content", DEEP, ids=[text[:12] for text in DEEP])
def test_depth_has_no_end(content: str) -> None:
    before = sys.getrecursionlimit()
    module = read(content)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(module), type=ir.Module) == module
    assert sys.getrecursionlimit() == before


def test_what_is_too_deep_is_damage_and_keeps_its_strings() -> None:
    module = read("f(" * 400 + "'secret', name" + ")" * 400)
    assert len(module.damage) == 1
    found = [brief(node) for node in expressions(module) if not isinstance(node, ir.Call)]
    assert "'secret'" in found
    assert "name" in found
    # Only nesting counts: a long concatenation and a long chain are ordinary.
    assert read("x = " + " + ".join(["'a'"] * 5000)).damage == ()
    assert read("a" + ".b({ c: 1 })" * 120).damage == ()
    assert len(read("function f() {" * 1000 + "x()" + "}" * 1000).functions) == 1000
