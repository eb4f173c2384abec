"""Edits of Python files: imports at their place, statements and keywords as black leaves them."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fixaudit import python_source as edit
from fixaudit.source import ir
from fixaudit.source.python import parse_python
from fixaudit.text import Text

RUFF = shutil.which("ruff") or str(Path(sys.executable).with_name("ruff"))


def imported(
    source: str, package: str, name: str | None = None, alias: str | None = None, use: str | None = None
) -> tuple[str, str]:
    """Return the expression and the new text; planned again on it, nothing more may change."""
    text = Text(source)
    before = None if use is None else source.index(use)
    expression, edits = edit.ensure_import(
        text, parse_python(source), package=package, name=name, alias=alias, before=before
    )
    after = text.apply(edits)
    if use is not None:
        before = after.content.index(use)
    again = edit.ensure_import(
        after, parse_python(after.content), package=package, name=name, alias=alias, before=before
    )
    assert again == (expression, ())
    return expression, after.content


# (what, before, package, name, expression, after)
IMPORTS = [
    ("empty", "", "os", None, "os", "import os\n"),
    ("docstring only", '"""Doc."""\n', "os", None, "os", '"""Doc."""\n\nimport os\n'),
    ("docstring without end", '"""Doc."""', "os", None, "os", '"""Doc."""\n\nimport os\n'),
    ("code", "X = 1\n", "os", None, "os", "import os\n\nX = 1\n"),
    ("function", "def f():\n    pass\n", "os", None, "os", "import os\n\n\ndef f():\n    pass\n"),
    (
        "docstring and function",
        '"""Doc."""\n\n\ndef f():\n    pass\n',
        "os", None, "os",
        '"""Doc."""\n\nimport os\n\n\ndef f():\n    pass\n',
    ),
    (
        "shebang and encoding",
        "#!/usr/bin/env python\n# -*- coding: utf-8 -*-\nX = 1\n",
        "os", None, "os",
        "#!/usr/bin/env python\n# -*- coding: utf-8 -*-\n\nimport os\n\nX = 1\n",
    ),
    (
        "licence, then a comment that belongs to the code",
        "# Copyright me\n# All of it\n\n# about X\nX = 1\n",
        "os", None, "os",
        "# Copyright me\n# All of it\n\nimport os\n\n# about X\nX = 1\n",
    ),
    ("comment of the code", "# about X\nX = 1\n", "os", None, "os", "import os\n\n# about X\nX = 1\n"),
    (
        "future",
        '"""Doc."""\n\nfrom __future__ import annotations\n\nX = 1\n',
        "os", None, "os",
        '"""Doc."""\n\nfrom __future__ import annotations\n\nimport os\n\nX = 1\n',
    ),
    ("sorted", "import abc\nimport sys\n\nx = 1\n", "os", None, "os", "import abc\nimport os\nimport sys\n\nx = 1\n"),
    ("first", "import sys\n", "os", None, "os", "import os\nimport sys\n"),
    ("before from", "from sys import argv\n", "os", None, "os", "import os\nfrom sys import argv\n"),
    (
        "force_sort_within_sections",
        "from abc import ABC\nimport json\nfrom sys import argv\nimport typing\n",
        "os", None, "os",
        "from abc import ABC\nimport json\nimport os\nfrom sys import argv\nimport typing\n",
    ),
    (
        "new first section",
        "# Licence\nimport fastapi\n\nfrom . import x\n",
        "os", None, "os",
        "# Licence\nimport os\n\nimport fastapi\n\nfrom . import x\n",
    ),
    (
        "new middle section",
        "import os\n\n# ours\nfrom . import x\n\n\ndef f(): ...\n",
        "fastapi", "FastAPI", "FastAPI",
        "import os\n\nfrom fastapi import FastAPI\n\n# ours\nfrom . import x\n\n\ndef f(): ...\n",
    ),
    ("new last section", "import os", "fastapi", None, "fastapi", "import os\n\nimport fastapi"),
    (
        "by natural order and comment",
        "import a2\n\n# about a10\nimport a10\n",
        "a3", None, "a3",
        "import a2\nimport a3\n\n# about a10\nimport a10\n",
    ),
    (
        "relative",
        "from .. import a\nfrom .b import c\n",
        ".a", "z", "z",
        "from .. import a\nfrom .a import z\nfrom .b import c\n",
    ),
    ("alias reused", "import os as system\n", "os", None, "system", "import os as system\n"),
    ("bound through a submodule", "import os.path\n", "os", None, "os", "import os.path\n"),
    ("dotted", "import os.path\n", "os.path", None, "os.path", "import os.path\n"),
    ("parent's member", "from os import path as p\n", "os.path", None, "p", "from os import path as p\n"),
    ("merge", "from m import a, c  # why\n", "m", "b", "b", "from m import a, b, c  # why\n"),
    ("merge by type", "from m import C, a\n", "m", "LIMIT", "LIMIT", "from m import LIMIT, C, a\n"),
    (
        "merge into a block",
        "from m import (\n    a,\n    # about c\n    c,\n)\n",
        "m", "b", "b",
        "from m import (\n    a,\n    b,\n    # about c\n    c,\n)\n",
    ),
    (
        "merge at a block's end",
        "from m import (\n    a,  # x\n)\n",
        "m", "b", "b",
        "from m import (\n    a,  # x\n    b,\n)\n",
    ),
    (
        "aliases have lines of their own",
        "from m import c as c\n",
        "m", "b", "b",
        "from m import b\nfrom m import c as c\n",
    ),
    (
        "a comment inside a section",
        "import abc\n\n# typing\nfrom typing import Any\n",
        "zoneinfo", "ZoneInfo", "ZoneInfo",
        "import abc\n\n# typing\nfrom typing import Any\nfrom zoneinfo import ZoneInfo\n",
    ),
    (
        "two sections that are not the standard library's",
        "import django\n\nimport mine\n",
        "zzz", None, "zzz",
        "import django\nimport zzz\n\nimport mine\n",
    ),
    (
        "too long to merge",
        "from some.package.of.mine import first_member_of_it, second_member_of_it, third_one_x\n",
        "some.package.of.mine", "fourth", "fourth",
        "from some.package.of.mine import (\n    first_member_of_it,\n    fourth,\n    second_member_of_it,\n"
        "    third_one_x,\n)\n",
    ),
    (
        "guarded imports do not count",
        "import logging\n\ntry:\n    import os\nexcept ImportError:\n    os = None\n",
        "os", None, "_os",
        "import logging\nimport os as _os\n\ntry:\n    import os\nexcept ImportError:\n    os = None\n",
    ),
    (
        "typing only",
        "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from m import T\n",
        "m", "T", "_T",
        "from typing import TYPE_CHECKING\n\nfrom m import T as _T\n\nif TYPE_CHECKING:\n    from m import T\n",
    ),
    (
        "inside a function",
        "def f():\n    import os\n",
        "os", None, "_os",
        "import os as _os\n\n\ndef f():\n    import os\n",
    ),
    (
        "a parameter of that name",
        "import os\n\n\ndef f(os):\n    return os\n",
        "os", None, "_os",
        "import os\nimport os as _os\n\n\ndef f(os):\n    return os\n",
    ),
    ("a builtin that is read", "print(open)\n", "m", "open", "_open", "from m import open as _open\n\nprint(open)\n"),
    ("tabs", "def f():\n\tpass\n", "os", None, "os", "import os\n\n\ndef f():\n\tpass\n"),
    ("wide characters", '"""Начало 👋"""\n\nX = "語"\n', "os", None, "os",
     '"""Начало 👋"""\n\nimport os\n\nX = "語"\n'),
]  # fmt: skip


@pytest.mark.parametrize(
    ("source", "package", "name", "expression", "expected"),
    [case[1:] for case in IMPORTS],
    ids=[case[0] for case in IMPORTS],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_imports(source: str, package: str, name: str | None, expression: str, expected: str, newline: str) -> None:
    written = source.replace("\n", newline)
    if newline == "\r\n" and "\n" not in source:
        pytest.skip("nothing tells the line ending")
    assert imported(written, package, name) == (expression, expected.replace("\n", newline))


def test_a_byte_order_mark_stays() -> None:
    text = Text.decode(b"\xef\xbb\xbfX = 1\r\n")
    assert text is not None
    _, edits = edit.ensure_import(text, parse_python(text.content), package="os")
    assert text.apply(edits).encode() == b"\xef\xbb\xbfimport os\r\n\r\nX = 1\r\n"


def test_an_import_below_its_use_does_not_serve() -> None:
    source = "KEY = 1\n\nimport os\n\nprint(os)\n"
    expected = "import os as _os\n\nKEY = 1\n\nimport os\n\nprint(os)\n"
    assert imported(source, "os", use="KEY") == ("_os", expected)
    assert imported(source, "os", use="print") == ("os", source)


def test_a_wanted_alias_is_kept() -> None:
    assert imported("", "numpy", alias="np") == ("np", "import numpy as np\n")
    assert imported("np = 1\n", "numpy", alias="np") == ("_np", "import numpy as _np\n\nnp = 1\n")


def test_isort_and_black_agree(tmp_path: Path) -> None:
    """A file that ruff leaves alone before the edit is left alone after it."""
    if not Path(RUFF).exists():
        pytest.skip("ruff is not installed")
    before, after = tmp_path / "before", tmp_path / "after"
    for directory in (before, after):
        directory.mkdir()
    sources = [(source, package, name) for _, source, package, name, _, _ in IMPORTS if source.endswith("\n")]
    for number, (source, package, name) in enumerate(sources):
        (before / f"c{number}.py").write_text(source)
        (after / f"c{number}.py").write_text(imported(source, package, name)[1])

    def unstable(directory: Path) -> set[str]:
        output = ""
        for command in (["format", "--check"], ["check", "--select", "I", "--output-format", "concise"]):
            argv = [RUFF, *command, "--isolated", "--no-cache", "."]
            output += subprocess.run(argv, cwd=directory, capture_output=True, text=True).stdout
        return set(re.findall(r"c\d+\.py", output))

    assert len(unstable(before)) < len(sources) / 4
    broken = unstable(after) - unstable(before)
    assert {sources[int(name[1:-3])][0]: (after / name).read_text() for name in broken} == {}


ALIASED = (
    "import logging\n\ntry:\n    import os as _os\nexcept ImportError:\n    _os = None\n\nlog = logging.getLogger()\n"
)


def test_a_guarded_alias_gets_a_proper_import_beside_it() -> None:
    expression, after = imported(ALIASED, "os")
    assert (expression, after) == ("os", ALIASED.replace("import logging\n", "import logging\nimport os\n"))


HANDLERS = """from fastapi import FastAPI, HTTPException

try:
    import orjson as jsonlib
except ImportError:
    import json as jsonlib

app = FastAPI(debug=True)


def audited(f):
    return f


@app.get(
    "/rows/{row_id}",
    responses={404: {"description": "none"}},
)
@audited
async def row(row_id: int, *, verbose: bool = False):
    out = []
    # every row
    async for x in source(row_id):
        out.append(x)
    return jsonlib.dumps(out)
"""


def insert(source: str, anchor: str, where: str, code: str) -> str | None:
    text = Text(source)
    start = source.index(anchor)
    edits = edit.insert_statement(text, parse_python(source), (start, start + len(anchor)), where, code)
    if edits is None:
        return None
    after = text.apply(edits).content
    ast.parse(after)
    return after


INSERTS = [
    ("app = FastAPI", "after", "app.state.x = 1",
     "app = FastAPI(debug=True)\n", "app = FastAPI(debug=True)\napp.state.x = 1\n"),
    ("@audited", "before", "x = 1", "\n\n@app.get(", "\n\nx = 1\n\n\n@app.get("),
    ("app = FastAPI", "after", "@app.get('/h')\ndef h():\n    return 1\n",
     "app = FastAPI(debug=True)\n", "app = FastAPI(debug=True)\n\n\n@app.get('/h')\ndef h():\n    return 1\n"),
    ("out = []", "before", "log()", "    out = []\n", "    log()\n    out = []\n"),
    ("async for x", "before", "y = 1", "    # every row\n", "    y = 1\n    # every row\n"),
    ("out.append", "after", 'q = """a\n  b"""', "        out.append(x)\n",
     '        out.append(x)\n        q = """a\n  b"""\n'),
    ("import orjson", "before", "y = 1", "try:\n", "try:\n    y = 1\n"),
    ("return jsonlib", "after", "y = 1", "dumps(out)\n", "dumps(out)\n    y = 1\n"),
    ("from fastapi", "after", "y = 1", "HTTPException\n", "HTTPException\n\ny = 1\n"),
    ("return f", "before", "def g():\n    pass", "    return f\n", "    def g():\n        pass\n\n    return f\n"),
]  # fmt: skip


@pytest.mark.parametrize(("anchor", "where", "code", "old", "new"), INSERTS)
def test_statements_are_inserted(anchor: str, where: str, code: str, old: str, new: str) -> None:
    after = insert(HANDLERS, anchor, where, code)
    assert after == HANDLERS.replace(old, new, 1)


REFUSED = [
    ("if x: y()\n", "y()"),
    ("a(); b()\n", "a()"),
    ("a(); b()\n", "b()"),
    ("for x in y:\n    pass\n", "for x in y"),
    ("def f(): return 1\n", "return 1"),
    ('"""Doc."""\nfrom __future__ import annotations\n', "Doc"),
]


@pytest.mark.parametrize(("source", "anchor"), REFUSED)
def test_places_that_cannot_take_a_statement_are_refused(source: str, anchor: str) -> None:
    assert insert(source, anchor, "after", "z()") is None


BEFORE_REFUSED = [
    ("if x:\n    pass\nelif y:\n    pass\n", "elif y"),
    ("try:\n    pass\nexcept E:\n    pass\n", "except E"),
    ('"""Doc."""\n', "Doc"),
    ("from __future__ import annotations\n", "from"),
]


@pytest.mark.parametrize(("source", "anchor"), BEFORE_REFUSED)
def test_nothing_goes_in_front_of_what_must_stay_there(source: str, anchor: str) -> None:
    assert insert(source, anchor, "before", "z()") is None


DEFINITIONS = [
    ("if x:\n    a()\nelse:\n    b()\n", "a()", "if x:\n    a()\n\n    def g(): ...\nelse:\n    b()\n"),
    ("if x:\n    a()\nb()\n", "a()", "if x:\n    a()\n\n    def g(): ...\n\n\nb()\n"),
    ("def f():\n    if x:\n        a()\n    b()\n", "a()",
     "def f():\n    if x:\n        a()\n\n        def g(): ...\n\n    b()\n"),
    ("class C:\n    'Doc.'\n", "Doc", "class C:\n    'Doc.'\n\n    def g(): ...\n"),
    ("import a\n\ntry:\n    b()\nfinally:\n    c()\n", "import a",
     "import a\n\n\ndef g(): ...\n\n\ntry:\n    b()\nfinally:\n    c()\n"),
]  # fmt: skip


@pytest.mark.parametrize(("source", "anchor", "expected"), DEFINITIONS)
def test_definitions_are_set_off(source: str, anchor: str, expected: str) -> None:
    assert insert(source, anchor, "after", "def g(): ...") == expected


REMOVALS = [
    ("try:\n    a()\nexcept E as e:\n    b()\n", "b()", "try:\n    a()\nexcept E as e:\n    pass\n"),
    ("a()\nb()\nc()\n", "b()", "a()\nc()\n"),
    ("def f():\n    a()\n", "a()", "def f():\n    pass\n"),
    ("def f():\n    '''Doc.'''\n    a()\n", "a()", "def f():\n    '''Doc.'''\n"),
    ("a()\n\nb()\n\nc()\n", "b()", "a()\n\nc()\n"),
    ("a()\n\n\nb(\n    1,\n)\n", "b(", "a()\n"),
    ("if x:\n    a()\nelse:\n    b()\n", "b()", "if x:\n    a()\nelse:\n    pass\n"),
    ("@d\ndef f():\n    pass\n\n\nx = 1\n", "@d", "x = 1\n"),
    ("a()  # why\n", "a()", None),
    ("a(); b()\n", "b()", None),
    ("class C:\n    x = 1\n\n    def m(self):\n        pass\n", "x = 1", "class C:\n    def m(self):\n        pass\n"),
    ("class C:\n    def m(self):\n        pass\n", "def m", "class C:\n    pass\n"),
    ("a()\r\nb()\r\n", "b()", "a()\r\n"),
]


@pytest.mark.parametrize(("source", "anchor", "expected"), REMOVALS)
def test_statements_are_removed(source: str, anchor: str, expected: str | None) -> None:
    text = Text(source)
    start = source.index(anchor)
    edits = edit.remove_statement(text, parse_python(source), (start, start + 1))
    after = None if edits is None else text.apply(edits).content
    assert after == expected


def test_statements_are_moved_with_their_comments() -> None:
    source = "def f():\n    # about a\n    a()\n    if x:\n        b()\n    c()\n"
    text = Text(source)
    module = parse_python(source)

    def at(word: str) -> ir.Span:
        return source.index(word), source.index(word) + len(word)

    moved = edit.move_statement(text, module, at("a()"), at("c()"), "after")
    assert moved is not None
    assert text.apply(moved).content == "def f():\n    if x:\n        b()\n    c()\n    # about a\n    a()\n"
    moved = edit.move_statement(text, module, at("c()"), at("b()"), "before")
    assert moved is not None
    assert text.apply(moved).content == "def f():\n    # about a\n    a()\n    if x:\n        c()\n        b()\n"
    assert edit.move_statement(text, module, at("b()"), at("a()"), "after") is None


KEYWORDS = [
    ("f()", "f(k=1)"),
    ("f(a)", "f(a, k=1)"),
    ("f(a,)", "f(a, k=1,)"),
    ("f(*a)", "f(*a, k=1)"),
    ("f(*a, **b)", "f(*a, k=1, **b)"),
    ("f(\n    a,\n    **b,\n)", "f(\n    a,\n    k=1,\n    **b,\n)"),
    ("f(\n    a,\n    b=2,  # why, (\n)", "f(\n    a,\n    b=2,  # why, (\n    k=1,\n)"),
    ("f(\n    a,\n    b=2  # why, (\n)", "f(\n    a,\n    b=2,  # why, (\n    k=1,\n)"),
    ("f(\n    a,\n    b\n)", "f(\n    a,\n    b,\n    k=1,\n)"),
    ("f(\n    a,\n    b)", "f(\n    a,\n    b,\n    k=1)"),
    ("f(\n    a, b\n)", "f(\n    a, b, k=1\n)"),
    ("f(\n    # nothing\n)", "f(\n    # nothing\n    k=1,\n)"),
    ("f(a, (yield))", "f(a, (yield), k=1)"),
    ("f({\n    'a': 1,\n})", "f({\n    'a': 1,\n}, k=1)"),
    ("f(x for x in y)", None),
    ("f(k=2)", None),
    ("é('👋', b)", "é('👋', b, k=1)"),
]


def first_call(source: str) -> ir.Call:
    value = parse_python(source).body[-1].value
    assert isinstance(value, ir.Call)
    return value


@pytest.mark.parametrize(("source", "expected"), KEYWORDS)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_keywords_are_added(source: str, expected: str | None, newline: str) -> None:
    text = Text((source + "\n").replace("\n", newline))
    edits = edit.add_keyword(text, first_call(text.content), "k", "1")
    after = None if edits is None else text.apply(edits).content
    assert after == (None if expected is None else (expected + "\n").replace("\n", newline))


SETS = [
    ("f(k=2)", "f(k=1)"),
    ("f(k = (a or\n  b), c=3)", "f(k = 1, c=3)"),
    ("f(k=await g())", "f(k=1)"),
    ("f(a)", "f(a, k=1)"),
    ("f(k=1)", "f(k=1)"),
]


@pytest.mark.parametrize(("source", "expected"), SETS)
def test_keywords_are_set(source: str, expected: str) -> None:
    text = Text(source)
    edits = edit.set_keyword(text, first_call(source), "k", "1")
    assert edits is not None and text.apply(edits).content == expected


def test_reads_of_the_environment() -> None:
    assert edit.env_read("os", "KEY", "required") == 'os.environ["KEY"]'
    assert edit.env_read("_os", "KEY", "optional", quote="'") == "_os.environ.get('KEY', '')"
    assert edit.env_read("os", "KEY", "optional", 'a"\n') == 'os.environ.get("KEY", \'a"\\n\')'
    with pytest.raises(ValueError, match="no such form"):
        edit.env_read("os", "KEY", "maybe")


def test_style_and_names() -> None:
    source = "def f(os, *, a=1):\r\n\tx = 'a' 'b'\r\n\tfor y in x: pass\r\n\treturn [z for z in x]\r\n"
    module = parse_python(source)
    assert edit.style(Text(source), module) == edit.Style("'", "\t", "\r\n", 88)
    assert edit.bindings(module) == {"f", "os", "a", "x", "y"}
    free = {hint: edit.free_name(module, hint) for hint in ("b", "os", "z", "print", "class")}
    assert free == {"b": "b", "os": "_os", "z": "_z", "print": "_print", "class": "_class"}


LINES = ["import os\n", "import sys\n", "from os import path\n", "import fastapi\n", "from . import x\n", "\n", "# c\n"]
LINES += ["X = 1\n", '"""d"""\n', "try:\n    import os\nexcept E:\n    pass\n", "def f(os): ...\n"]
LINES += ["from m import (\n    a,\n)\n", "import a; import b\n", "from m import a\n"]


@given(
    st.lists(st.sampled_from(LINES), max_size=8).map("".join),
    st.sampled_from([("os", None), ("m", "b"), ("fastapi.responses", "JSONResponse"), ("json", None), (".y", "z")]),
)
@settings(max_examples=200, deadline=None)
def test_any_file_keeps_its_code_and_gets_one_binding(source: str, wanted: tuple[str, str | None]) -> None:
    expression, after = imported(source, *wanted)
    tree = ast.parse(after)
    old = [line for line in source.splitlines() if line.strip() and "import" not in line]
    assert Counter(old) - Counter(after.splitlines()) == Counter()
    local = expression.partition(".")[0]
    statements = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    assert local in [name.asname or name.name.partition(".")[0] for node in statements for name in node.names]
