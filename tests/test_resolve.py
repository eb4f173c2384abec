"""Resolution: where names lead, across which imports, and what values come of expressions."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fixaudit.facts import Project
from fixaudit.relations.base import Value
from fixaudit.resolve import Definition, Opaque, Package, Resolver, value_of
from fixaudit.resolve.packages import canonical
from fixaudit.resolve.paths import loose_json
from fixaudit.snapshot import MemorySnapshot
from fixaudit.source.ir import Call


def resolver_of(files: dict[str, str]) -> Resolver:
    project = Project(MemorySnapshot.of({"package.json": "{}", **files}))
    return Resolver(project.view(project.roots[0]))


def meaning(files: dict[str, str], path: str) -> str:
    """What the argument of the last top-level call in a file means."""
    resolver = resolver_of(files)
    frame = resolver.frame(path)
    assert frame is not None
    call = frame.scopes.module.body[-1].value
    assert isinstance(call, Call)
    thing = resolver.settle(resolver.resolve(call.arguments[0].value, frame))
    match thing:
        case Package():
            return thing.text
        case Definition(kind="value"):
            assert thing.expr is not None
            return resolver.source(thing.frame, thing.expr.span)
        case Definition():
            return f"{thing.kind} {thing.text}"
        case Opaque():
            return "?"


SCRIPTS = [
    # in the file
    ({"a.js": "const x = 1; f(x);"}, "1"),
    ({"a.js": "let x; x = 1; f(x);"}, "1"),
    ({"a.js": "let x = 1; x = 2; f(x);"}, "?"),
    ({"a.js": "let x = 1; x += 2; f(x);"}, "?"),
    ({"a.js": "const a = b; const b = a; f(a);"}, "?"),
    ({"a.js": "const { a: { b: x } } = { a: { b: 1 } }; f(x);"}, "1"),
    ({"a.js": "const [, x] = [0, 1]; f(x);"}, "1"),
    ({"a.js": "const o = { a: { b: 1 } }; f(o.a['b']);"}, "1"),
    ({"a.js": "const o = { a: 1, ...p }; f(o.z);"}, "?"),
    ({"a.js": "function g() { return 1; } f(g());"}, "1"),
    ({"a.js": "const g = (x) => x; f(g(1));"}, "1"),
    ({"a.js": "const g = ({ a, b = 2 }) => b; f(g({ b: 3 }));"}, "3"),
    ({"a.js": "class A { x = 1; } f(new A().x);"}, "1"),
    ({"a.js": "class A { constructor(x) { this.x = x; } } f(new A(1).x);"}, "1"),
    ({"a.js": "class A { x() {} } f(new A().x);"}, "function local:a.js#x"),
    ({"a.js": "f(Object.freeze({ a: 1 }).a);"}, "1"),
    ({"a.js": "f(unbound);"}, "unbound"),
    ({"a.js": "f(process.env.A);"}, "process.env.A"),
    # one import
    ({"a.js": "f(require('./b'));", "b.js": "module.exports = 1;"}, "1"),
    ({"a.js": "f(require('./b').x);", "b.js": "exports.x = 1;"}, "1"),
    ({"a.js": "const { x: y } = require('./b'); f(y);", "b.js": "module.exports = { x: 1 };"}, "1"),
    ({"a.js": "f(require('./b').default);", "b.js": "export default 1;"}, "1"),
    ({"a.js": "import b from './b'; f(b);", "b.js": "module.exports = 1;"}, "1"),
    ({"a.js": "import * as b from './b'; f(b.x);", "b.js": "export const x = 1;"}, "1"),
    ({"a.js": "import { y } from './b'; f(y);", "b.js": "const x = 1; export { x as y };"}, "1"),
    ({"a.js": "import { x } from './b'; f(x);", "b.js": "export { x } from './c';",
      "c.js": "export const x = 1;"}, "1"),
    ({"a.js": "import { x } from './b'; f(x);", "b.js": "export * from './c';", "c.js": "export const x = 1;"}, "1"),
    ({"a.js": "import { x } from './b'; f(x);", "b.js": "export { default as x } from 'cors';"}, "cors#default"),
    ({"a.js": "import x from './b'; f(x);", "b.js": "export default function g() {}"}, "function local:b.js#g"),
    ({"a.js": "import { x } from './b'; f(x);", "b.js": "export const y = 1;"}, "?"),
    ({"a.js": "import { x } from './missing'; f(x);"}, "?"),
    ({"a.js": "f(require('./' + x));"}, "?"),
    # paths
    ({"a.ts": "import { x } from './b.js'; f(x);", "b.ts": "export const x = 1;"}, "1"),
    ({"a.ts": "import { x } from './b.jsx'; f(x);", "b.tsx": "export const x = 1;"}, "1"),
    ({"a.ts": "import { x } from './d'; f(x);", "d/index.ts": "export const x = 1;"}, "1"),
    ({"a.ts": "import { x } from './b'; f(x);", "b.mts": "export const x = 1;"}, "1"),
    ({"a.ts": "import { x } from '@/b'; f(x);", "src/b.ts": "export const x = 1;",
      "tsconfig.json": '{ // paths\n "compilerOptions": { "baseUrl": ".",'
                       ' "paths": { "@/*": ["./src/*"], }, }, }'}, "1"),
    ({"a.ts": "import { x } from '@/b'; f(x);"}, "?"),
    ({"a.js": "import { x } from '#lib/b.js'; f(x);", "lib/b.js": "export const x = 1;",
      "package.json": '{"imports": {"#lib/*": "./lib/*"}}'}, "1"),
    ({"a.js": "import { x } from '#lib/b.js'; f(x);"}, "?"),
    ({"a.js": "import { x } from '@acme/b'; f(x);"}, "@acme/b#x"),
    ({"a.js": "import { x } from '@acme/b'; f(x);", "packages/b/package.json": '{"name": "@acme/b"}'}, "?"),
]  # fmt: skip


@pytest.mark.parametrize(("files", "expected"), SCRIPTS)
def test_scripts(files: dict[str, str], expected: str) -> None:
    assert meaning(files, "a.ts" if "a.ts" in files else "a.js") == expected


PYTHON = [
    ({"a.py": "x = 1\nf(x)"}, "1"),
    ({"a.py": "x = 1\nx = 2\nf(x)"}, "?"),
    ({"a.py": "def g(a, *, b=2):\n    return b\nf(g(1))"}, "2"),
    ({"a.py": "class A:\n    x = 1\nf(A.x)"}, "1"),
    ({"a.py": "class A:\n    def __init__(self, x):\n        self.x = x\nf(A(1).x)"}, "1"),
    ({"a.py": "class B:\n    x = 1\nclass A(B): ...\nf(A().x)"}, "1"),
    ({"a.py": "from b import x\nf(x)", "b.py": "x = 1"}, "1"),
    ({"a.py": "import b\nf(b.x)", "b.py": "x = 1"}, "1"),
    ({"pkg/a.py": "from .b import x as y\nf(y)", "pkg/b.py": "x = 1", "pkg/__init__.py": ""}, "1"),
    ({"pkg/a.py": "from . import b\nf(b.x)", "pkg/b.py": "x = 1", "pkg/__init__.py": ""}, "1"),
    (
        {"pkg/s/a.py": "from ..b import x\nf(x)", "pkg/b.py": "x = 1", "pkg/__init__.py": "", "pkg/s/__init__.py": ""},
        "1",
    ),
    ({"a.py": "from pkg import x\nf(x)", "pkg/__init__.py": "from .b import x", "pkg/b.py": "x = 1"}, "1"),
    ({"a.py": "from pkg import x\nf(x)", "pkg/__init__.py": "from .b import *", "pkg/b.py": "x = 1"}, "1"),
    ({"run/a.py": "from app.b import x\nf(x)", "src/app/__init__.py": "", "src/app/b.py": "x = 1"}, "1"),
    ({"a.py": "from ns.b import x\nf(x)", "ns/b.py": "x = 1"}, "1"),
    ({"a.py": "from b import x\nf(x)", "b.py": "y = 1"}, "?"),
    ({"a.py": "from yaml import load\nf(load)"}, "yaml#load"),
    ({"a.py": "try:\n    import ujson as j\nexcept ImportError:\n    import json as j\nf(j.loads)"}, "ujson#loads"),
]


@pytest.mark.parametrize(("files", "expected"), PYTHON)
def test_python(files: dict[str, str], expected: str) -> None:
    assert meaning(files, next(path for path in files if path.endswith("a.py"))) == expected


@pytest.mark.parametrize(
    ("name", "export", "members", "python", "expected"),
    [
        ("express", "*", (), False, "express#default"),
        ("express", "default", ("Router",), False, "express#Router"),
        ("express", "Router", (), False, "express#Router"),
        ("helmet", "*", ("default",), False, "helmet#default"),
        ("express-rate-limit", "rateLimit", (), False, "express-rate-limit#default"),
        ("", "console", ("log",), False, "console.log"),
        ("sqlalchemy", "*", ("orm", "Session"), True, "sqlalchemy.orm#Session"),
        ("os", "*", ("environ", "get"), True, "os#environ.get"),
        ("starlette.middleware.cors", "CORSMiddleware", (), True, "fastapi.middleware.cors#CORSMiddleware"),
    ],
)
def test_canonical_names(name: str, export: str, members: tuple[str, ...], python: bool, expected: str) -> None:
    assert canonical(name, export, members, python) == expected


def evaluated(source: str, path: str = "a.ts") -> Value:
    resolver = resolver_of({path: source})
    frame = resolver.frame(path)
    assert frame is not None
    call = frame.scopes.module.body[-1].value
    assert isinstance(call, Call)
    return value_of(resolver, call.arguments[0].value, frame)


def shape(value: Value) -> str:
    """Write a value without its places: `env A(x)`, `list[1, 2…]`."""
    dots = "" if value.complete else "…"
    if value.kind == "list":
        return f"list[{', '.join(map(shape, value.items))}{dots}]"
    if value.kind == "object":
        return "{" + ", ".join(f"{k}: {shape(v)}" for k, v in value.entries.items()) + dots + "}"
    inner = f"({', '.join(map(shape, value.items))})" if value.items else ""
    return f"{value.kind} {value.text}{inner}".strip()


VALUES = [
    ("f('x')", "string x"),
    ("f(`x${1}y`)", "string x1y"),
    ("f(`x${y}`)", "template (string x, unknown y)"),
    ("f(1.5)", "number 1.5"),
    ("f(true)", "boolean true"),
    ("f(null)", "null null"),
    ("f(undefined)", "null undefined"),
    ("f(process.env.A)", "env A"),
    ("f(Number(process.env.A))", "env A"),
    ("f(parseInt(process.env.A!, 10) || 3)", "either (env A, number 3)"),
    ("f(process.env.A?.split(',').map((x) => x.trim()))", "env A"),
    ("f((process.env.A ?? 'x').split(','))", "either (env A, string x)"),
    ("const { A = 'x' } = process.env; f(A)", "env A(string x)"),
    ("f('a,b'.split(','))", "list[string a, string b]"),
    ("f(['a', ...['b']])", "list[string a, string b]"),
    ("f(['a', ...b])", "list[string a…]"),
    ("const b = { x: 1 }; f({ ...b, y: 2 })", "{x: number 1, y: number 2}"),
    ("f({ x: 1, ...b })", "{x: unknown…}"),
    ("f({ [k]: 1, x: 2 })", "{x: number 2…}"),
    ("f(c ? 'a' : 'b')", "either (string a, string b)"),
    ("f('a' || 'b')", "string a"),
    ("f(() => 1)", "function"),
    ("f(g())", "call g"),
    ("import g from 'g'; f(g(1))", "call g#default"),
    ("import g from 'g'; f(g)", "unknown g#default"),
    ("function h(x) { f(x) } f(x)", "unknown x"),
]


@pytest.mark.parametrize(("source", "expected"), VALUES)
def test_values(source: str, expected: str) -> None:
    assert shape(evaluated(source)) == expected


PYTHON_VALUES = [
    ("f(os.environ['A'])", "env A"),
    ("f(os.getenv('A', 'x'))", "env A(string x)"),
    ("f(os.environ.get('A', 'x').split(','))", "env A(string x)"),
    ("f([o.strip() for o in os.environ['A'].split(',')])", "env A"),
    ("f(int(os.environ['A']))", "env A"),
    ("f(['a', *b])", "list[string a…]"),
    ("f(dict(a=1))", "{a: number 1}"),
    ("f({**{'a': 1}, 'b': 2})", "{a: number 1, b: number 2}"),
    ("f('a' 'b')", "string ab"),
    ("f(None)", "null null"),
]


@pytest.mark.parametrize(("source", "expected"), PYTHON_VALUES)
def test_python_values(source: str, expected: str) -> None:
    assert shape(evaluated("import os\n" + source + "\n", "a.py")) == expected


def test_tsconfig_is_read_with_comments_and_commas() -> None:
    assert loose_json('{ // c\n "a": ["@/*", /* x */ 1,], }') == {"a": ["@/*", 1]}
    assert loose_json("{") is None


def test_functions_that_call_each_other_twice_end() -> None:
    lines = [f"const f{i} = (x) => f{i + 1}(f{i + 1}(x));" for i in range(40)]
    assert meaning({"a.js": "\n".join(lines) + "\nf(f0(1));"}, "a.js")


PIECES = ["a", "b", ".c", "['c']", "(", ")", " = ", "const ", "{", "}", ", ", "...", "=>", "f(a);",
          "class A { x = a }", "new A()",
          "||", "`${", "}`", "import a from './a';", "export default a;", "return", "\n"
          "", "this.", "process.env", "[", "]"]  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=30))
def test_nothing_raises(pieces: list[str]) -> None:
    resolver = resolver_of({"a.js": "".join(pieces) + "\nf(a);\n"})
    frame = resolver.frame("a.js")
    assert frame is not None
    for statement in frame.scopes.module.body:
        if statement.value is not None:
            resolver.resolve(statement.value, frame)
            value_of(resolver, statement.value, frame)
