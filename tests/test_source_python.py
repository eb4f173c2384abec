"""The Python front end: what each form becomes, and that nothing in a real file is lost."""

from __future__ import annotations

import ast
import os
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fixaudit.source import ir
from fixaudit.source.python import parse_python


def value_of(source: str) -> ir.Expr:
    statement = parse_python(source).body[-1]
    assert statement.value is not None
    return statement.value


def show(node: ir.Expr | None) -> str:
    """Write an expression in one line, for tables."""
    match node:
        case None:
            return "-"
        case ir.Literal(value=value):
            return repr(value)
        case ir.Name(name=name):
            return name
        case ir.Member(object=base, name=name, computed=computed, key=key):
            inner = show(key) if name is None else repr(name) if computed else name
            return f"{show(base)}[{inner}]" if computed else f"{show(base)}.{inner}"
        case ir.Template(parts=parts):
            return "T(" + " ".join(map(show, parts)) + ")"
        case ir.Sequence(items=items, complete=complete):
            return "[" + " ".join(map(show, items)) + ("" if complete else " …") + "]"
        case ir.Object(entries=entries, complete=complete):
            return "{" + " ".join(f"{e.key}:{show(e.value)}" for e in entries) + ("" if complete else " …") + "}"
        case ir.Call(callee=callee, arguments=arguments, awaited=awaited):
            inner = " ".join(
                ("*" if a.spread else f"{a.keyword}=" if a.keyword else "") + show(a.value) for a in arguments
            )
            return f"{'await ' if awaited else ''}{show(callee)}({inner})"
        case ir.Logical(op=op, left=left, right=right, test=test):
            return f"({show(left)} {op} {show(right)}" + (f" when {show(test)})" if test else ")")
        case ir.FunctionRef(index=index):
            return f"F{index}"
        case ir.Other(kind=kind, parts=parts):
            return f"<{kind}" + "".join(" " + show(p) for p in parts) + ">"
    raise AssertionError(node)


EXPRESSIONS = [
    ("'a' \"b\"", "'ab'"),
    ("('a'\n 'b')", "'ab'"),
    (r"r'\d' '\x41\n\101'", r"'\\dA\nA'"),
    (r"u'\u00e9\N{BULLET}'", "'é•'"),
    (r"b'\xff\u0041'", r"'ÿ\\u0041'"),
    ("'a\\\nb'", "'ab'"),
    ("'''a\r\nb'''", r"'a\nb'"),
    (r"'\q'", r"'\\q'"),
    (r"'\ud800'", "<string>"),
    ("f'a'", "'a'"),
    ("f'a{{{b}}}c'", "T('a{' b '}c')"),
    ("f'{a!r}-{b:>{w}.{p}}'", "T(a '-' <interpolation b w p>)"),
    ("f'{d[\"k\"]}{f'{x}'}'", "T(d['k'] T(x))"),
    ("'a' f'{b}' 'c'", "T('a' b 'c')"),
    ("'a' + b + 'c'", "T('a' b 'c')"),
    ("a + b", "<binary_operator a b>"),
    ("'-' * 40", "<binary_operator '-' 40>"),
    ("'%s: %d%%' % (a, b)", "T(a ': ' b '%')"),
    ("'%s' % a", "T(a)"),
    ("'%(x)s-%(y)s' % {'y': b, 'x': a}", "T(a '-' b)"),
    ("'%*d' % (w, n)", "T(<hole w n>)"),
    ("'%s' '%s' % (a, b)", "T(a b)"),
    ("'{}-{x}-{0.y}{{}}'.format(a, x=b)", "T(a '-' b '-' <hole> '{' '}')"),
    ("'{}'.format(*a)", "T(<hole> a)"),
    ("f'{a}'.format(b)", "T(a).format(b)"),
    ("1_000 + 0x1F", "<binary_operator 1000 31>"),
    ("-1.5", "-1.5"),
    ("-2", "-2"),
    ("10j", "<integer>"),
    ("[True, None, *a]", "[True None <list_splat a> …]"),
    ("{1, 2}", "[1 2]"),
    ("a, b", "[a b]"),
    ("{'a': 1, **b}", "{a:1 None:<dictionary_splat b> …}"),
    ("{f(): 1}", "{None:<pair f() 1> …}"),
    ("dict(a=1, **b)", "{a:1 None:b …}"),
    ("dict(x, a=1)", "dict(x a=1)"),
    ("os.environ['K']", "os.environ['K']"),
    ("a[0][b]", "a[0][b]"),
    ("a[1:n]", "a[<slice 1 n>]"),
    ("f(a, *b, c=1, **d)", "f(a *b c=1 *d)"),
    ("f(x for x in y)", "f(<generator_expression x <for_in_clause y>>)"),
    ("[x async for x in y() if z]", "<list_comprehension x <for_in_clause y()> <if_clause z>>"),
    ("await a.b(c)", "await a.b(c)"),
    ("a or b and c", "(a or (b and c))"),
    ("a if c else b", "(a if b when c)"),
    ("not a < b <= c", "<not_operator <comparison_operator a b c>>"),
    ("lambda x, *y: x", "F0"),
    ("(y := f())", "<named_expression f()>"),
    ("(a)", "a"),
    ("...", "<ellipsis>"),
    ("t'hi {x}'", "T('hi ' x)"),
]


@pytest.mark.parametrize(("source", "expected"), EXPRESSIONS)
def test_expressions(source: str, expected: str) -> None:
    assert show(value_of(f"q = {source}\n")) == expected


def test_pieces_keep_their_places_behind_wide_characters() -> None:
    source = "é = '👋%s\\n{x}' % пароль + f'{a}語'\n"
    template = value_of(source)
    assert isinstance(template, ir.Template)
    assert [source[slice(*part.span)] for part in template.parts] == ["👋", "пароль", "\\n{x}", "a", "語"]


IMPORTS = [
    ("import a.b", ("a", "*", "a", "import", "a.b")),
    ("import a.b as c", ("a.b", "*", "c", "import", None)),
    ("from . import x", (".", "x", "x", "from", None)),
    ("from .m import (\n  a as b,  # c\n)", (".m", "a", "b", "from", None)),
    ("from ..m.n import *", ("..m.n", "*", None, "from", None)),
    ("from __future__ import annotations", ("__future__", "annotations", "annotations", "from", None)),
]


@pytest.mark.parametrize(("source", "expected"), IMPORTS)
def test_imports(source: str, expected: tuple[str | None, ...]) -> None:
    (found,) = parse_python(source + "\n").imports
    assert (found.module, found.export, found.local, found.form, found.dotted) == expected
    assert source[slice(*found.statement)] == source


def test_imports_know_their_guards_and_scope() -> None:
    module = parse_python(
        "import typing as t\ntry:\n    import os as _os\nexcept ImportError:\n    _os = None\n"
        "if t.TYPE_CHECKING:\n    from m import T\ndef f():\n    import json\n"
    )
    rows = [(i.local, [g[0] for g in i.guards], i.type_only, i.scope) for i in module.imports]
    expected = [("t", [], False, None), ("_os", ["try"], False, None), ("T", ["typing"], True, None)]
    assert rows == [*expected, ("json", [], False, 0)]


def rows(statements: tuple[ir.Statement, ...]) -> list[tuple[str, str, str, str]]:
    return [
        (
            s.kind + (f" {s.keyword}" if s.keyword else ""),
            " ".join((t.name or show(t.member)) + "".join(f"/{p}" for p in t.path) for t in s.targets),
            show(s.value),
            " ".join(g[0] for g in s.guards),
        )
        for s in statements
    ]


def test_statements_are_flattened_with_their_guards() -> None:
    source = '''"""Doc."""
a, (b, *c), self.d, e["f"] = g()
h: int = 1
i: str
j = k = 2
l += 3
del a, b
for m, n in o: p()
else: q()
while r: pass
with s() as t, u: v()
try: w()
except (X, Y) as z: raise Z from z
else: aa()
finally: bb()
match cc:
    case Point(x=0, y=dd) if ee: ff()
    case _: pass
if __name__ == "__main__": gg()
elif hh: pass
else: ii()
if (jj := kk()): global_()
return_ = (ll)
assert mm, nn
'''
    module = parse_python(source)
    assert module.damage == ()
    assert rows(module.body) == [
        ("directive", "", "'Doc.'", ""),
        ("assign", "a/[0] b/[1]/[0] c/[1]/... self.d/[2] e['f']/[3]", "g()", ""),
        ("declare", "h", "1", ""),
        ("declare", "i", "-", ""),
        ("assign", "j k", "2", ""),
        ("augment", "l", "3", ""),
        ("delete", "", "[a b]", ""),
        ("other for", "m/[0] n/[1]", "o", ""),
        ("expression", "", "p()", "for"),
        ("expression", "", "q()", "else"),
        ("other while", "", "r", ""),
        ("other pass", "", "-", "while"),
        ("assign with", "t", "s()", ""),
        ("other with", "", "u", ""),
        ("expression", "", "v()", "with"),
        ("expression", "", "w()", "try"),
        ("other except", "z", "[X Y]", "except"),
        ("raise", "", "<raise_statement Z z>", "except"),
        ("expression", "", "aa()", "else"),
        ("expression", "", "bb()", "finally"),
        ("other match", "", "cc", ""),
        ("other case", "dd/?", "<case_clause Point 0 ee>", "switch"),
        ("expression", "", "ff()", "switch"),
        ("other pass", "", "-", "switch"),
        ("other if", "", "<comparison_operator __name__ '__main__'>", ""),
        ("expression", "", "gg()", "main"),
        ("other elif", "", "hh", "if"),
        ("other pass", "", "-", "if"),
        ("expression", "", "ii()", "else"),
        ("other :=", "jj", "-", ""),
        ("other if", "", "<named_expression kk()>", ""),
        ("expression", "", "global_()", "if"),
        ("assign", "return_", "ll", ""),
        ("other assert", "", "<assert_statement mm nn>", ""),
    ]
    kind, header, block = module.body[8].guards[0]
    assert (kind, source[slice(*header)], source[slice(*block)]) == ("for", "for m, n in o:", "p()")


def test_functions() -> None:
    source = (
        "@app.get('/x')\n@audited\nasync def f(a, /, b: int = 1, *args: str, c='x', **kw) -> int:\n"
        "    '''Doc.'''\n    def g():\n        yield 1\n    return lambda q=d(): q\n"
    )
    module = parse_python(source)
    f, g, inner = module.functions
    assert [(p.name, p.path, show(p.default), p.annotation) for p in f.parameters] == [
        ("a", (), "-", None),
        ("b", (), "1", "int"),
        ("args", ("...",), "-", "str"),
        ("c", (), "'x'", None),
        ("kw", ("...",), "-", None),
    ]
    assert (f.name, f.is_async, f.has_rest, f.returns, f.is_generator) == ("f", True, True, "int", False)
    assert [show(d) for d in f.decorators] == ["app.get('/x')", "audited"]
    assert module.body[0].span == (0, len(source) - 1)
    assert source[f.span[0] :].startswith("async def f")
    assert source[slice(*f.body_span)].startswith("'''Doc.'''")
    assert rows(f.body)[0] == ("directive", "", "'Doc.'", "")
    assert (g.parent, g.is_generator, inner.parent, inner.name) == (0, True, 0, None)
    assert rows(inner.body) == [("return", "", "q", "")]
    assert [show(p.default) for p in inner.parameters] == ["d()"]


def test_classes() -> None:
    source = (
        "class S(Base, table=True):\n    '''Doc.'''\n    name: str = Field(default='x', alias='NAME')\n"
        "    debug = True\n"
        "    @property\n    def p(self): return self.name\n    class Config:\n        env_file = '.env'\n"
    )
    module = parse_python(source)
    outer, config = module.classes
    assert [show(b) for b in outer.bases] == ["Base", "<keyword_argument True>"]
    assert rows(outer.fields) == [
        ("directive", "", "'Doc.'", ""),
        ("declare", "name", "Field(default='x' alias='NAME')", ""),
        ("assign", "debug", "True", ""),
        ("class", "", "-", ""),
    ]
    assert (outer.methods, module.functions[0].owner, module.functions[0].parent) == ((0,), 0, None)
    assert rows(config.fields) == [("assign", "env_file", "'.env'", "")]


def test_calls_in_annotations_are_seen() -> None:
    module = parse_python("def f(db: Annotated[Session, Depends(get_db)], n: int): ...\nx: Final[C(1)] = 2\n")
    assert [show(s.value) for s in module.body if s.keyword == "annotation"] == [
        "<generic_type Annotated <type_parameter Session Depends(get_db)>>",
        "<generic_type Final <type_parameter C(1)>>",
    ]


def test_comments_are_no_statements() -> None:
    module = parse_python('# one\n"""Doc."""\nif x:\n    # two\n    y()\n    # three\n# four\n')
    assert [s.kind for s in module.body] == ["directive", "other", "expression"]
    assert len(module.comments) == 4


def test_comments_and_damage() -> None:
    module = parse_python("# one\nx = f(  # two\n    1,\n)\nif y:\n    z(\n")
    assert [(c.text, c.own_line) for c in module.comments] == [("# one", True), ("# two", False)]
    assert module.damage and not ir.in_damage(module, module.body[0].span)
    assert ir.in_damage(parse_python("if x:\npass\n"), (0, 6))


def every_expression(module: ir.Module) -> Iterator[ir.Expr]:
    roots: list[ir.Expr | None] = []
    bodies = [module.body]
    for function in module.functions:
        roots += [*function.decorators, *(p.default for p in function.parameters)]
        bodies.append(function.body)
    for klass in module.classes:
        roots += [*klass.decorators, *klass.bases]
        bodies.append(klass.fields)
    for statement in (s for body in bodies for s in body):
        roots.append(statement.value)
        for target in statement.targets:
            roots += [target.member, target.default]
    for root in roots:
        yield from ir.walk(root)


def found_in_model(module: ir.Module) -> Counter[tuple[str, object]]:
    found: Counter[tuple[str, object]] = Counter()
    for node in every_expression(module):
        match node:
            case ir.Call(span=span):
                found["call", span] += 1
            case ir.Literal(value=str(value)):
                found["string", value] += 1
            case ir.Name(span=(start, _), name=name):
                found["name", (start, name)] += 1
            case ir.Object(entries=entries):
                found.update(("string", entry.key) for entry in entries if entry.key is not None)
            case ir.Member(computed=True, name=str(name)):
                found["string", name] += 1
    return found


def found_by_ast(source: str) -> Counter[tuple[str, object]]:
    lines = source.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)

    def offset(line: int, column: int) -> int:
        text = lines[line - 1]
        return starts[line - 1] + (column if text.isascii() else len(text.encode()[:column].decode()))

    tree = ast.parse(source)
    apart: set[int] = set()  # annotations are text; format strings are cut into pieces; keys of `%` are looked up
    for node in ast.walk(tree):
        for name in ("annotation", "returns"):
            if isinstance(inner := getattr(node, name, None), ast.AST):
                apart |= {id(n) for n in ast.walk(inner)}
        match node:
            case ast.JoinedStr(values=values):
                apart |= {id(v) for v in values}
            case ast.BinOp(left=left, op=ast.Mod(), right=right):
                apart |= {id(left)} | {id(key) for key in getattr(right, "keys", ())}
            case ast.Call(func=ast.Attribute(value=base, attr="format")):
                apart |= {id(node), id(base)}
            case ast.Call(func=ast.Name(id="dict")):
                apart |= {id(node), id(node.func)}
    found: Counter[tuple[str, object]] = Counter()
    for node in ast.walk(tree):
        if id(node) in apart:
            continue
        match node:
            case ast.Call():
                end = offset(node.end_lineno or 0, node.end_col_offset or 0)
                found["call", (offset(node.lineno, node.col_offset), end)] += 1
            case ast.Constant(value=str() | bytes() as value):
                text = value if isinstance(value, str) else value.decode("latin-1")
                if not re.search("[\ud800-\udfff]", text):
                    found["string", text] += 1
            case ast.Name(id=name, ctx=ast.Load()):
                found["name", (offset(node.lineno, node.col_offset), name)] += 1
    return found


LIBRARY = Path(os.__file__).parent
FILES = ["argparse.py", "subprocess.py", "dataclasses.py", "asyncio/tasks.py", "json/encoder.py", "string.py", "ast.py"]
FILES += ["http/server.py", "enum.py", "typing.py", "contextlib.py", "test/test_grammar.py", "test/test_patma.py"]


@pytest.mark.parametrize("name", FILES)
def test_nothing_in_the_standard_library_is_lost(name: str) -> None:
    path = LIBRARY / name
    if not path.exists():
        pytest.skip("this interpreter was installed without it")
    source = path.read_text("utf-8")
    module = parse_python(source)
    if module.damage:
        pytest.skip("the grammar does not know a form in this file")
    assert found_by_ast(source) - found_in_model(module) == Counter()


DEEP = [
    "(" * 3000 + "f()" + ")" * 3000,
    "[" * 1000 + "f()" + "]" * 1000,
    "x = " + "a.b(" * 500 + "f()" + ")" * 500,
    "x = f()" + ".b()" * 1000,
    "x = " + " + ".join(["f()"] * 3000),
    "x = " + " or ".join(["f()"] * 1000),
    "lambda: " * 300 + "f()",
    "".join(" " * i + "if x:\n" for i in range(90)) + " " * 90 + "f()\n",
    "x = " + "-" * 2000 + "f()",
]


@pytest.mark.parametrize("source", DEEP, ids=[source[:12] for source in DEEP])
def test_depth_costs_no_stack_and_loses_nothing(source: str) -> None:
    module = parse_python(source)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(module), type=ir.Module) == module
    names = Counter(n.name for n in every_expression(module) if isinstance(n, ir.Name))
    assert names["f"] == source.count("f()")


FRAGMENTS = [
    "def f(",
    "):",
    "\n",
    "    ",
    "x",
    " = ",
    "'",
    '"""',
    "f'{",
    "}",
    "[",
    "]",
    "class A",
    "import ",
    "from . ",
    "@",
]
FRAGMENTS += [
    "lambda",
    " if ",
    "else:",
    "try:",
    "match x:",
    "case ",
    "%",
    ".format(",
    "\\",
    "é👋",
    "\r\n",
    "*",
    "**",
    ":=",
    "-1.0",
]


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=25).map("".join))
@settings(max_examples=200, deadline=None)
def test_no_text_raises(source: str) -> None:
    module = parse_python(source)
    msgspec.msgpack.encode(module)
    for node in every_expression(module):
        assert 0 <= node.span[0] <= node.span[1] <= len(source)
