"""Edits keep what they do not mean to change, and what they write parses."""

from __future__ import annotations

import pytest

from fixaudit.source.javascript import parse_javascript
from fixaudit.source.javascript_edit import insert_statement, move_statement, remove_statement, statement_at
from fixaudit.source.javascript_import_edits import ensure_import
from fixaudit.source.javascript_options import add_option
from fixaudit.source.javascript_style import Style, bindings, env_read, free_name, module_system, style
from fixaudit.syntax import damage_count
from fixaudit.text import Edit, Text


def at(content: str, needle: str, nth: int = 0) -> tuple[int, int]:
    start = -1
    for _ in range(nth + 1):
        start = content.index(needle, start + 1)
    return start, start + len(needle)


def applied(content: str, edits: tuple[Edit, ...] | None, language: str = "javascript", *, bom: bool = False) -> str:
    assert edits is not None
    after = Text(content, bom).apply(edits)
    assert damage_count(after.content, language) <= damage_count(content, language)
    assert after.encode().startswith(b"\xef\xbb\xbf") == bom
    return after.content


def insert(content: str, anchor: str, where: str, code: str, language: str = "javascript", nth: int = 0) -> str | None:
    edits = insert_statement(Text(content), parse_javascript(content, language), at(content, anchor, nth), where, code)
    return None if edits is None else applied(content, edits, language)


INSERTS = [
    ("const app = e();\n", "app = e()", "after", "app.use(h());", "const app = e();\napp.use(h());\n"),
    ("const app = e();", "app", "after", "app.use(h());", "const app = e();\napp.use(h());"),
    ("const app = e(); // the app\nx();\n", "app", "after", "y();", "const app = e(); // the app\ny();\nx();\n"),
    ("const app = e(); /* a */ // b\nx();\n", "app", "after", "y();", "const app = e(); /* a */ // b\ny();\nx();\n"),
    ("a();\n\n// why\n/* b */\nb();\n", "b()", "before", "c();\nd();", "a();\n\nc();\nd();\n// why\n/* b */\nb();\n"),
    ("a(); // of a\nb();\n", "b()", "before", "c();", "a(); // of a\nc();\nb();\n"),
    ("// gone\n\nb();\n", "b()", "before", "c();", "// gone\n\nc();\nb();\n"),
    ("// @license MIT\nb();\n", "b()", "before", "c();", "// @license MIT\nc();\nb();\n"),
    ("// eslint-disable-next-line\nb();\n", "b()", "before", "c();", "c();\n// eslint-disable-next-line\nb();\n"),
    ("const app = e(); app.listen(1);", "app.listen", "before", "x();", "const app = e(); x(); app.listen(1);"),
    ("const app = e(); app.listen(1);", "app = e", "after", "x();", "const app = e(); x(); app.listen(1);"),
    ("a(); b();\n", "b()", "before", "c();\nd();", "a(); \nc();\nd();\nb();\n"),
    (
        "function f() {\n\ta()\n}\n",
        "a()",
        "after",
        "if (x) {\n\ty()\n}",
        "function f() {\n\ta()\n\tif (x) {\n\t\ty()\n\t}\n}\n",
    ),
    ("function f() { a(); }\n", "a()", "after", "b();", "function f() { a(); b(); }\n"),
    ("function f() { a() }\n", "a()", "after", "b()", "function f() { a(); b() }\n"),
    ("f(() => {\n  a();\n});\n", "a()", "before", "b();", "f(() => {\n  b();\n  a();\n});\n"),
    (
        "switch (x) {\n  case 1:\n    a();\n}\n",
        "a()",
        "after",
        "b();",
        "switch (x) {\n  case 1:\n    a();\n    b();\n}\n",
    ),
    ("if (x.y) {\n  a();\n}\n", "x.y", "before", "b();", "b();\nif (x.y) {\n  a();\n}\n"),
    ("a\n;(b)()\n", "a", "after", "c()", "a\nc()\n;(b)()\n"),
    ("a()\n[1].map(b)\n", "1", "before", "c()", "c()\na()\n[1].map(b)\n"),
    ("export const app = e();\n", "app", "after", "x();", "export const app = e();\nx();\n"),
    ("a();\r\nb();\r\n", "a()", "after", "c();\nd();", "a();\r\nc();\r\nd();\r\nb();\r\n"),
    ("é('ü😀');\nb();\n", "b()", "before", "c();", "é('ü😀');\nc();\nb();\n"),
    (
        "@D()\nclass A {\n  m() {\n    a();\n  }\n}\n",
        "a()",
        "before",
        "b();",
        "@D()\nclass A {\n  m() {\n    b();\n    a();\n  }\n}\n",
    ),
]


@pytest.mark.parametrize(("content", "anchor", "where", "code", "expected"), INSERTS)
def test_inserted_code_takes_its_place(content: str, anchor: str, where: str, code: str, expected: str) -> None:
    assert insert(content, anchor, where, code, "typescript") == expected


REFUSED_INSERTS = [
    ("if (x) y();\n", "y()", "before"),
    ("if (x) y();\n", "y()", "after"),
    ("if (x) { z(); } else y();\n", "y()", "after"),
    ("for (const a of b) y();\n", "y()", "after"),
    ("const f = () => y();\n", "y()", "after"),
    ("class A { x = y(); }\n", "y()", "after"),
    ("function f() { return y(); }\n", "y()", "after"),
    ("while (a) { break; }\n", "break", "after"),
]


@pytest.mark.parametrize(("content", "anchor", "where"), REFUSED_INSERTS)
def test_no_second_statement_where_none_may_stand(content: str, anchor: str, where: str) -> None:
    assert insert(content, anchor, where, "z();") is None


def test_insertion_into_jsx_file_keeps_it_whole() -> None:
    content = "export function App() {\n  return <A b={() => c()} />;\n}\n"
    assert insert(content, "return", "before", "useX();", "tsx") == content.replace("  return", "  useX();\n  return")
    assert insert(content, "c()", "before", "useX();", "tsx") is None


REMOVALS = [
    ("a();\nb();\nc();\n", "b();", "a();\nc();\n"),
    ("a();\n\nb();\n\nc();\n", "b();", "a();\n\nc();\n"),
    ("b();\n\nc();\n", "b();", "c();\n"),
    ("a(); b(); c();\n", "b();", "a(); c();\n"),
    ("function f() {\r\n  a();\r\n\r\n  b();\r\n}\r\n", "b();", "function f() {\r\n  a();\r\n}\r\n"),
    ("a();\n// of b\nb();\n", "b();", "a();\n// of b\n"),
    ("a(); // b\nb();\n", "b();", "a(); // b\n"),
    ("a();\nb();", "b();", "a();\n"),
    ("a();\nb(); // why\n", "b();", None),
    ("a();\nb(/* why */);\n", "b(/* why */);", None),
    ("const a = 1, b = 2;\n", "const a = 1, b = 2;", None),
    ("if (a) b();\n", "b();", None),
    ("a\nb\n(c)\n", "b\n(c)", "a\n"),
    ("a\nb;\n(c)\n", "b;", None),
]


@pytest.mark.parametrize(("content", "gone", "expected"), REMOVALS)
def test_removal(content: str, gone: str, expected: str | None) -> None:
    edits = remove_statement(Text(content), parse_javascript(content, "javascript"), at(content, gone))
    assert (None if edits is None else applied(content, edits)) == expected


MOVES = [
    ("h();\na();\nb();\n", "h();", "b();", "a();\nb();\nh();\n"),
    ("// why\nh(); // x\na();\n\nb(); // y\nc();\n", "h();", "b();", "a();\n\nb(); // y\n// why\nh(); // x\nc();\n"),
    ("a();\nb();\nh();\n", "h();", "a();", "a();\nh();\nb();\n"),
    ("a();\r\n\r\nh();\r\n\r\nb();", "h();", "b();", "a();\r\n\r\nb();\r\nh();"),
    ("a();\nh();\n", "h();", "a();", "a();\nh();\n"),
    ("const h = 1;\na(h);\n", "const h = 1;", "a(h);", None),
    ("a();\nconst x = 1;\nh(x);\n", "h(x);", "a();", None),
    ("h(x);\nx = 2;\n", "h(x);", "x = 2;", None),
    ("h(x);\nconst y = 2;\n", "h(x);", "const y = 2;", "const y = 2;\nh(x);\n"),
    ("h(); a();\n", "h();", "a();", None),
    ("function f() {\n  h();\n}\na();\n", "h();", "a();", None),
    ("function f() {\n  h();\n  return;\n}\n", "h();", "return;", None),
    ("h();\nfunction h() {}\n", "h();", "function h() {}", "function h() {}\nh();\n"),
    ("class H {}\nnew H();\n", "class H {}", "new H();", None),
]


@pytest.mark.parametrize(("content", "moved", "after", "expected"), MOVES)
def test_move(content: str, moved: str, after: str, expected: str | None) -> None:
    module = parse_javascript(content, "javascript")
    edits = move_statement(Text(content), module, at(content, moved), at(content, after))
    assert (None if edits is None else applied(content, edits)) == expected


OPTIONS = [
    ("f()", "f()", "f({ a: 1 })"),
    ("f({})", "f({})", "f({ a: 1 })"),
    ("f({}, g)", "f({}, g)", "f({ a: 1 }, g)"),
    ("f({ b: 2 })", "f({ b: 2 })", "f({ b: 2, a: 1 })"),
    ("f({ b, })", "f({ b, })", "f({ b, a: 1, })"),
    ("new X", "new X", "new X({ a: 1 })"),
    ("new X()", "new X()", "new X({ a: 1 })"),
    ("f({\n  b: 2,\n})", "f({\n  b: 2,\n})", "f({\n  b: 2,\n  a: 1,\n})"),
    ("f({\n\tb: 2 // why\n})", "f({\n\tb: 2 // why\n})", "f({\n\tb: 2, // why\n\ta: 1\n})"),
    ("f({\n  b: 2, // why\n})", "f({\n  b: 2, // why\n})", "f({\n  b: 2, // why\n  a: 1,\n})"),
    ("f({\n  b() {},\n  // last\n})", "f({\n  b() {},\n  // last\n})", "f({\n  b() {},\n  a: 1,\n  // last\n})"),
    ("f({ /* none */ })", "f({ /* none */ })", "f({ /* none */\n  a: 1\n})"),
    ("f({ a: 1 })", "f({ a: 1 })", "f({ a: 1 })"),
    ("x = { b: 2 }", "{ b: 2 }", "x = { b: 2, a: 1 }"),
    ("f({ a: 2 })", "f({ a: 2 })", None),
    ("f({ a })", "f({ a })", None),
    ("f({ ...b })", "f({ ...b })", None),
    ("f({ [b]: 1 })", "f({ [b]: 1 })", None),
    ("f(b)", "f(b)", None),
    ("f(...b)", "f(...b)", None),
]


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize(("content", "place", "expected"), OPTIONS)
def test_option(content: str, place: str, expected: str | None, newline: str) -> None:
    content, place = content.replace("\n", newline), place.replace("\n", newline)
    wanted = None if expected is None else expected.replace("\n", newline)
    if wanted is not None and "\n" in wanted and "\n" not in content:
        wanted = wanted.replace(newline, "\n")  # a file of one line has no line ending of its own
    edits = add_option(Text(content), parse_javascript(content, "javascript"), at(content, place), "a", "1")
    assert (None if edits is None else applied(content, edits)) == wanted
    if wanted is not None:
        module = parse_javascript(wanted, "javascript")
        span = at(wanted, wanted) if content == place else (4, len(wanted))
        assert add_option(Text(wanted), module, span, "a", "1") == ()


def test_option_key_and_argument_position() -> None:
    content = "f('x');\n"
    module = parse_javascript(content, "javascript")
    edits = add_option(Text(content), module, at(content, "f('x')"), "max-age", "1", argument=1)
    assert applied(content, edits) == "f('x', { 'max-age': 1 });\n"
    assert add_option(Text(content), module, at(content, "f('x')"), "a", "1", argument=2) is None


def imported(content: str, language: str = "javascript", system: str | None = None, **how: str) -> tuple[str, str]:
    module = parse_javascript(content, language)
    wanted = {"package": "helmet", "export": "default", "local_hint": "helmet", **how}
    system = system or module_system(module, "a.js", None)
    local, edits = ensure_import(Text(content), module, system=system, **wanted)  # type: ignore[arg-type]
    after = applied(content, edits, language)
    again = parse_javascript(after, language)
    assert ensure_import(Text(after), again, system=system, **wanted)[1] == ()  # type: ignore[arg-type]
    return local, after


IMPORTS = [
    ("import a from 'a'\nf()\n", "helmet", "import a from 'a'\nimport helmet from 'helmet'\nf()\n"),
    (
        "const a = require('a'); // a\nf();\n",
        "helmet",
        "const a = require('a'); // a\nconst helmet = require('helmet');\nf();\n",
    ),
    ('var a = require("a");\n', "helmet", 'var a = require("a");\nvar helmet = require("helmet");\n'),
    (
        "require('dotenv').config();\nconst a = require('a');\na();\n",
        "helmet",
        "require('dotenv').config();\nconst a = require('a');\nconst helmet = require('helmet');\na();\n",
    ),
    ('"use strict";\nf();\n', "helmet", '"use strict";\nconst helmet = require("helmet");\n\nf();\n'),
    (
        "#!/usr/bin/env node\n// Copyright me\nf();\n",
        "helmet",
        '#!/usr/bin/env node\n// Copyright me\nconst helmet = require("helmet");\n\nf();\n',
    ),
    ("// about f\nf();\n", "helmet", 'const helmet = require("helmet");\n\n// about f\nf();\n'),
    ("", "helmet", 'const helmet = require("helmet");\n'),
    (
        "import a from 'a';\nfunction f(helmet) {}\n",
        "helmetMiddleware",
        "import a from 'a';\nimport helmetMiddleware from 'helmet';\nfunction f(helmet) {}\n",
    ),
    (
        "import a from 'a';\nlet helmet, helmetMiddleware;\n",
        "helmet2",
        "import a from 'a';\nimport helmet2 from 'helmet';\nlet helmet, helmetMiddleware;\n",
    ),
    ("import h from 'helmet';\n", "h", "import h from 'helmet';\n"),
    ("import * as h from 'helmet';\n", "h.default", "import * as h from 'helmet';\n"),
    ("import * as h from 'helmet';\na.use(h());\n", "h", "import * as h from 'helmet';\na.use(h());\n"),
    ("const h = require('helmet');\n", "h", "const h = require('helmet');\n"),
    (
        "if (x) { var h = require('helmet'); }\n",
        "helmet",
        "var helmet = require('helmet');\n\nif (x) { var h = require('helmet'); }\n",
    ),
    ("import a from 'a';\r\nf();\r\n", "helmet", "import a from 'a';\r\nimport helmet from 'helmet';\r\nf();\r\n"),
    ("import a from 'ä😀'; f();\n", "helmet", "import a from 'ä😀'; import helmet from 'helmet'; f();\n"),
    (
        "import {\n  a,\n} from 'a';\n\nf();\n",
        "helmet",
        "import {\n  a,\n} from 'a';\nimport helmet from 'helmet';\n\nf();\n",
    ),
]


@pytest.mark.parametrize(("content", "local", "expected"), IMPORTS)
def test_import(content: str, local: str, expected: str) -> None:
    assert imported(content) == (local, expected)


def test_import_of_a_name_and_of_typescript() -> None:
    assert imported("import a from 'a';\n", package="pg", export="Pool", local_hint="Pool") == (
        "Pool",
        "import a from 'a';\nimport { Pool } from 'pg';\n",
    )
    assert imported("const Pool = require('a');\n", package="pg", export="Pool", local_hint="Pool") == (
        "Pool2",
        "const Pool = require('a');\nconst { Pool: Pool2 } = require('pg');\n",
    )
    assert imported("const pg = require('pg');\n", package="pg", export="Pool", local_hint="Pool")[0] == "pg.Pool"
    assert imported("import a = require('a');\n", "typescript")[1].endswith("import helmet = require('helmet');\n")
    type_only = "import type h from 'helmet';\nlet x: h;\n"
    assert imported(type_only, "typescript") == (
        "helmet",
        "import type h from 'helmet';\nimport helmet from 'helmet';\nlet x: h;\n",
    )
    # The name of a type is taken as well.
    assert imported("import a from 'a';\ntype helmet = string;\n", "typescript")[0] == "helmetMiddleware"


def test_byte_order_mark_and_edits_are_independent() -> None:
    text = Text.decode(b"\xef\xbb\xbfconst a = require('a');\r\n")
    assert text is not None
    module = parse_javascript(text.content, "javascript")
    _, edits = ensure_import(text, module, package="cors", export="default", local_hint="cors", system="commonjs")
    assert text.apply(edits).encode() == b"\xef\xbb\xbfconst a = require('a');\r\nconst cors = require('cors');\r\n"


def test_style_is_the_majority_of_the_file() -> None:
    def of(content: str, language: str = "javascript") -> Style:
        return style(Text(content), parse_javascript(content, language))

    assert of("") == Style('"', True, "  ", "\n", False)
    assert of("a('x')\nb('y')\r\nif (x) {\n\tc(\"z\")\n}\n") == Style("'", False, "\t", "\n", False)
    assert of("f({\r\n    a: 1,\r\n});\r\n") == Style('"', True, "    ", "\r\n", True)
    # An attribute of JSX and a text with an apostrophe say nothing about the quotes of the code.
    assert of('f(\'a\');\nx = <A b="c" d="e" />;\ny = "it\'s";\n', "tsx").quote == "'"


def test_module_system() -> None:
    def of(content: str, path: str, package: str | None = None, language: str = "javascript") -> str:
        return module_system(parse_javascript(content, language), path, package)

    assert of("", "a.mjs", "commonjs") == "esm"
    assert of("", "a.cjs", "module") == "commonjs"
    assert of("import a from 'a';", "a.js") == "esm"
    assert of("const a = require('a');", "a.js", "module") == "commonjs"
    assert (of("f()", "a.js"), of("f()", "a.js", "module")) == ("commonjs", "esm")
    assert of("f()", "a.ts", None, "typescript") == "esm"
    assert of("import a from 'a';", "a.cts", None, "typescript") == "esm"


def test_bindings_and_free_names() -> None:
    module = parse_javascript("import a from 'a';\nfunction f(b, {c}) { let d; }\nclass G {}\nread(z);\n", "javascript")
    assert bindings(module) == {None: frozenset({"a", "f", "G"}), 0: frozenset({"b", "c", "d", "f"})}
    assert [free_name(module, hint) for hint in ("x", "a", "z", "G", "class", "@s/rate-limit")] == [
        "x",
        "aMiddleware",
        "zMiddleware",
        "G2",
        "classMiddleware",
        "rateLimit",
    ]


def test_statement_at_finds_the_innermost() -> None:
    content = "app.get('/', (req) => {\n  const x = req.q;\n});\n"
    module = parse_javascript(content, "javascript")
    place = statement_at(module, at(content, "req.q"))
    assert place is not None
    assert (content[slice(*place.statement.span)], place.function) == ("const x = req.q;", 0)
    field = "class A {\n  key = 'x';\n}\n"
    inner = statement_at(parse_javascript(field, "javascript"), at(field, "'x'"))
    assert inner is not None
    assert inner.statement.targets[0].name == "key"
    assert statement_at(module, (len(content), len(content) + 5)) is None


ENV = [
    ("KEY", "required", "javascript", {}, "process.env.KEY"),
    ("KEY", "optional", "javascript", {"operand": True}, "process.env.KEY"),
    ("a-b", "optional", "javascript", {}, 'process.env["a-b"]'),
    ("KEY", "optional", "typescript", {}, 'process.env.KEY ?? ""'),
    ("KEY", "optional", "tsx", {"operand": True, "style": Style("'")}, "(process.env.KEY ?? '')"),
    ("KEY", "required", "typescript", {}, "process.env.KEY as string"),
    (
        "KEY",
        "required",
        "typescript",
        {"checked": True},
        'process.env.KEY ?? (() => { throw new Error("KEY is not set"); })()',
    ),
]


@pytest.mark.parametrize(("key", "form", "language", "how", "expected"), ENV)
def test_environment_reads(key: str, form: str, language: str, how: dict[str, object], expected: str) -> None:
    code = env_read(key, form, language=language, **how)  # type: ignore[arg-type]
    assert code == expected
    assert damage_count(f"const a = {code};", language) == 0
