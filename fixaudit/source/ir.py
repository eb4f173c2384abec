"""One small model of a program for every language: what the native relations are computed from.

Front ends (`source.javascript`, `source.python`) turn one file into a `Module`; `resolve` and the relations read
nothing else, so that "calls", "reads an environment variable" and "registers a route" are written once. The model
keeps what those relations need (values, calls, bindings, order) and drops the rest; what it cannot express becomes
`Other`, which still holds its parts, so nothing inside is lost. All spans are code points of the file's text.
Values are msgspec structs: frozen, compact, and readable from the cache without running code.
This module must not know of files, relations or of any parser.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import msgspec

Span: TypeAlias = tuple[int, int]


class Node(msgspec.Struct, frozen=True, tag=True, array_like=True):
    """Something with a place. `damaged`: the parser had to guess here, so a relation calls the row opaque."""

    span: Span


class Literal(Node, frozen=True, tag="lit"):
    """A string, number, boolean or null whose value is certain. `text` is its source, quotes included."""

    value: str | int | float | bool | None
    text: str


class Template(Node, frozen=True, tag="tpl"):
    """A string with holes: template literal, f-string, `"a" + b`, `"%s" % x`, `"{}".format(x)`.

    `parts` holds Literals (certain pieces, whose span is the piece alone) and expressions, in order.
    """

    parts: tuple[Expr, ...]


class Sequence(Node, frozen=True, tag="seq"):
    """An array, list, tuple or set. `complete` is False when a spread hides items."""

    items: tuple[Expr, ...]
    complete: bool = True


class Entry(Node, frozen=True, tag="ent"):
    """`key: value` in an object or dict, a shorthand `{ key }`, or a method. `key` is None when computed."""

    key: str | None
    value: Expr
    key_span: Span
    shorthand: bool = False


class Object(Node, frozen=True, tag="obj"):
    """An object or dict literal, or `dict(a=1)`. `complete` is False when a spread or computed key hides entries."""

    entries: tuple[Entry, ...]
    complete: bool = True


class Name(Node, frozen=True, tag="name"):
    """A plain identifier (also `this`, `self`, `super`, `undefined` stays a Name)."""

    name: str


class Member(Node, frozen=True, tag="mem"):
    """`object.name`, `object?.name`, `object["name"]`. `name` is None for a computed key, then `key` holds it."""

    object: Expr
    name: str | None
    name_span: Span
    computed: bool = False  # written with brackets
    key: Expr | None = None


class Argument(Node, frozen=True, tag="arg"):
    """One argument of a call. `keyword` is Python's; `spread` covers `...x`, `*x` and `**x`."""

    value: Expr
    keyword: str | None = None
    spread: bool = False


class Call(Node, frozen=True, tag="call"):
    """`callee(arguments)` or `new callee(arguments)`; a tagged template is `other`.

    `arguments_span` covers the brackets, `(` and `)` included; for `new X` without brackets it is empty, at the end.
    """

    callee: Expr
    arguments: tuple[Argument, ...]
    arguments_span: Span
    new: bool = False
    optional: bool = False
    awaited: bool = False


class Logical(Node, frozen=True, tag="or"):
    """`left || right`, `left ?? right`, `left or right` (op "or"), `and` forms (op "and"), `c ? a : b` (op "if").

    For "if" `test` holds the condition.
    """

    op: str
    left: Expr
    right: Expr
    test: Expr | None = None


class FunctionRef(Node, frozen=True, tag="fun"):
    """An inline function, arrow function or lambda: `Module.functions[index]`."""

    index: int


class ClassRef(Node, frozen=True, tag="cls"):
    """An inline class expression: `Module.classes[index]`."""

    index: int


class Other(Node, frozen=True, tag="oth"):
    """Anything else, with the expressions inside it in source order. `kind` is the parser's node kind."""

    kind: str
    parts: tuple[Expr, ...] = ()


Expr: TypeAlias = (
    Literal | Template | Sequence | Object | Name | Member | Call | Logical | FunctionRef | ClassRef | Other
)
# Parentheses, `await`, `as T`, `satisfies T`, `!`, `<T>x` and chain wrappers vanish: the inner expression stands alone.


class Target(Node, frozen=True, tag="tgt"):
    """What an assignment, declaration or parameter binds.

    `name` is the local name bound; `path` says which part of the value it takes: () the whole, ("a", "b") for
    `{ a: { b: name } }`, ("[0]",) for the first of an array, ("...",) for a rest element. `default` is its default.
    An assignment to a member has `member` instead of `name` (`this.app = …`, `module.exports.x = …`, `a["b"] = …`).
    """

    name: str | None
    path: tuple[str, ...] = ()
    default: Expr | None = None
    member: Member | None = None
    annotation: str | None = None  # type annotation as written, without the colon
    annotation_span: Span | None = None


class Statement(Node, frozen=True, tag="st"):
    """One statement of a body, flattened: blocks of `if`, `try`, loops and `with` are inlined in source order.

    kind: "declare" (`const a = …`, `let`, `var`, `a: int = 1`), "assign" (`a = …`, also the first binding in Python),
    "augment" (`a += …`, `a ??= …`), "expression", "return", "delete", "function" and "class" (definition; `index`),
    "import", "export" (a re-export or `export { a }`), "raise", "directive" (`"use strict"`, a docstring), "other".
    `span` is the whole statement with its semicolon; for a decorated definition it starts at the first decorator.
    `guards` names the enclosing blocks from outside in, each (kind, header span, block span) with kind "if", "else",
    "try", "except", "finally", "for", "while", "with", "switch", "main" (`if __name__ == "__main__":`,
    `require.main === module`), "typing" (`if TYPE_CHECKING:`). Unconditional statements have none.
    """

    kind: str
    targets: tuple[Target, ...] = ()
    value: Expr | None = None
    index: int | None = None
    guards: tuple[tuple[str, Span, Span], ...] = ()
    keyword: str = ""  # const, let, var, export, "export default", async …, as written


class Function(Node, frozen=True, tag="fn"):
    """A function, method, arrow function or lambda. `body` is flattened; nested functions are other entries.

    `body_span` is the block with its braces (JavaScript) or from the first statement to the last (Python); for an
    arrow function with an expression body, `body` is one "return" statement and `body_span` the expression.
    """

    name: str | None
    parameters: tuple[Target, ...]
    body: tuple[Statement, ...]
    body_span: Span
    is_async: bool = False
    is_generator: bool = False
    decorators: tuple[Expr, ...] = ()
    owner: int | None = None  # index of the enclosing class, for methods
    parent: int | None = None  # index of the enclosing function; None at module level
    has_rest: bool = False  # *args, **kwargs, ...rest
    returns: str | None = None  # return annotation as written


class Class(Node, frozen=True, tag="klass"):
    """A class with its fields (as "declare"/"assign" statements) and methods (indices of functions, in order)."""

    name: str | None
    bases: tuple[Expr, ...]
    fields: tuple[Statement, ...]
    methods: tuple[int, ...]
    decorators: tuple[Expr, ...] = ()
    parent: int | None = None


class Import(Node, frozen=True, tag="imp"):
    """One local name bound by an import.

    `module` is the specifier as written ("express", "./routes", "node:fs", ".models", "os.path"); `export` is the
    imported name, "default" for a default import, "*" for a namespace (also `require("x")` bound whole and Python's
    `import x`). `local` is None for a side-effect import. Python's `import a.b` binds local "a" with module "a" and
    `dotted` "a.b". `form` is "import", "require", "dynamic" or "from". `names_span` covers this one name's clause.
    """

    module: str
    export: str
    local: str | None
    form: str
    type_only: bool = False
    dotted: str | None = None
    guards: tuple[tuple[str, Span, Span], ...] = ()
    statement: Span = (0, 0)
    scope: int | None = None  # function index when not at module level


class Export(Node, frozen=True, tag="exp"):
    """One exported name: `name` ("default" for a default export; "*" with `module` for `export * from`).

    `value` is the exported expression (a Name for `export { a }`, a FunctionRef or ClassRef for a definition);
    `module` is set for re-exports (`export { a as b } from "./x"`: name "b", value Name a, module "./x").
    CommonJS: `module.exports = X` is "default" *and*, when X is an object literal, one Export per entry;
    `exports.a = X` is "a". Python exports every module-level name: no Export is recorded for it.
    """

    name: str
    value: Expr | None
    module: str | None = None


class Comment(Node, frozen=True, tag="com"):
    """A comment; `text` with its markers. `own_line`: nothing but white space before it on its line."""

    text: str
    own_line: bool


class Module(msgspec.Struct, frozen=True):
    """One file. `functions[i]`/`classes[i]` are referred to by index; `body` is the flattened top level."""

    language: str  # javascript, typescript, tsx, python
    body: tuple[Statement, ...]
    functions: tuple[Function, ...]
    classes: tuple[Class, ...]
    imports: tuple[Import, ...]
    exports: tuple[Export, ...]
    comments: tuple[Comment, ...]
    system: str  # "esm", "commonjs" or "none" by the syntax in the file; "python"
    damage: tuple[Span, ...] = ()  # ranges of ERROR nodes and of missing tokens
    strict: bool = False  # "use strict", ESM or TypeScript


def parts(node: Expr | Argument | Entry | None) -> tuple[Expr, ...]:
    """Return the direct sub-expressions of a node, in source order."""
    match node:
        case None | Literal() | Name() | FunctionRef() | ClassRef():
            return ()
        case Template(parts=inner) | Other(parts=inner) | Sequence(items=inner):
            return inner
        case Object(entries=entries):
            return tuple(entry.value for entry in entries)
        case Member(object=inner, key=key):
            return (inner,) if key is None else (inner, key)
        case Call(callee=callee, arguments=arguments):
            return (callee, *(argument.value for argument in arguments))
        case Logical(left=left, right=right, test=test):
            return (left, right) if test is None else (test, left, right)
        case Argument(value=value) | Entry(value=value):
            return (value,)


def walk(node: Expr | None) -> Iterator[Expr]:
    """Yield a node and every expression inside it, parents first; inline functions are not entered."""
    if node is None:
        return
    stack: list[Expr] = [node]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(reversed(parts(current)))


def dotted(node: Expr | None) -> str | None:
    """Return "a.b.c" for a chain of plain names, None for anything else."""
    names: list[str] = []
    while isinstance(node, Member) and node.name is not None:
        names.append(node.name)
        node = node.object
    if not isinstance(node, Name):
        return None
    return ".".join([node.name, *reversed(names)])


def in_damage(module: Module, span: Span) -> bool:
    """Say whether a span touches a range in which the parser had to guess."""
    return any(start < span[1] and span[0] < max(end, start + 1) for start, end in module.damage)
