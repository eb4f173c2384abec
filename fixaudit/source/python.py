"""Python front end: one file's text becomes an `ir.Module`.

Contract: total and tolerant. Any text gives a module; where the parser had to guess, `damage` says so and what could
be read is still there. It reads the tree-sitter tree and not `ast`, which knows the running interpreter's syntax only
(Python 2 leftovers and newer releases are normal in audited trees) and gives up at the first error.

Where Python has forms that the model does not name:
- A condition, a loop's iterable, a `with` item, a `match` subject and `assert` are "other" statements in front of
  their block; `keyword` says which ("if", "for", "with", …). Names that a loop, an `except`, a pattern or `:=` binds
  are targets of such a statement without a value that could be followed; `with x as y` is an "assign" with the
  keyword "with".
- Bytes are Literals whose value is Latin-1 text; `text` shows the prefix.
- A call inside an annotation (`Annotated[Session, Depends(get_db)]`) is an "other" statement with the keyword
  "annotation", because a Target holds its annotation as text.
- In a class body everything but methods stands in `fields`.

This module must not know of files or relations.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from fixaudit.source import ir
from fixaudit.source.ir import Expr, Span
from fixaudit.source.python_blocks import Blocks
from fixaudit.source.python_expressions import Scope
from fixaudit.source.python_statements import SPLATS, Guards
from fixaudit.syntax import Node, parse, span_of


def parse_python(content: str) -> ir.Module:
    """Read a Python file. Never raises; `content` has no byte order mark."""
    tree = parse(content, "python")
    return _Reader(content).module(tree.root, tree.nodes("comment"), tree.damage())


class _Reader(Blocks):
    """Reads definitions. Bodies of functions and classes wait in a queue, so that nesting costs no stack."""

    def __init__(self, content: str) -> None:
        super().__init__(content)
        self._functions: list[ir.Function | None] = []
        self._classes: list[ir.Class | None] = []
        self._methods: dict[int, list[int]] = {}
        self._queue: deque[Callable[[], None]] = deque()
        self._handlers |= {
            "function_definition": self._function,
            "class_definition": self._class,
            "decorated_definition": self._decorated,
        }

    def module(self, root: Node, comments: Sequence[Node], damage: tuple[Span, ...]) -> ir.Module:
        body = self._body([root] if root.kind() == "ERROR" else root.children(), Scope())
        while self._queue:
            self._queue.popleft()()
        # The handlers are bound methods: without this every tree would wait for the cycle collector.
        self._handlers.clear()
        self._readers.clear()
        return ir.Module(
            language="python",
            body=body,
            functions=tuple([f for f in self._functions if f is not None]),
            classes=tuple([c for c in self._classes if c is not None]),
            imports=tuple(self._imports),
            exports=(),
            comments=tuple([self._comment(node) for node in comments]),
            system="python",
            damage=damage,
        )

    def _comment(self, node: Node) -> ir.Comment:
        start, end = span_of(node)
        line = self.content.rfind("\n", 0, start) + 1
        return ir.Comment((start, end), self.content[start:end], not self.content[line:start].strip())

    def _decorated(self, node: Node, guards: Guards) -> None:
        decorators: list[Expr] = []
        for child in self.children(node):
            kind = child.kind()
            if kind == "decorator":
                decorators.extend(self.parts(child))
            elif kind == "function_definition":
                self._function(child, guards, span_of(node), tuple(decorators))
            elif kind == "class_definition":
                self._class(child, guards, span_of(node), tuple(decorators))
            else:
                self._push([(child, guards)])

    # Functions -------------------------------------------------------------------------------------------------------

    def _function(
        self, node: Node, guards: Guards, whole: Span | None = None, decorators: tuple[Expr, ...] = ()
    ) -> None:
        span = span_of(node)
        name = block = returns = None
        parameters: tuple[ir.Target, ...] = ()
        rest = is_async = False
        for child in node.children():
            match child.kind():
                case "async":
                    is_async = True
                case "identifier" if name is None:
                    name = self.text(child)
                case "parameters":
                    parameters, rest = self._parameters(child)
                case "type":
                    returns, _ = self._annotation(child)
                case "block":
                    block = child
        scope = self.scope
        index = self._reserve()

        def read() -> None:
            inner = Scope(function=index)
            body = self._body([block] if block is not None else [], inner)
            self._functions[index] = ir.Function(
                span,
                name,
                parameters,
                body,
                span_of(block) if block is not None else (span[1], span[1]),
                is_async=is_async,
                is_generator=inner.yields,
                decorators=decorators,
                owner=scope.owner,
                parent=scope.function,
                has_rest=rest,
                returns=returns,
            )

        self._queue.append(read)
        if scope.owner is None:
            self._emit("function", whole or span, guards, keyword="async def" if is_async else "def", index=index)
        else:
            self._methods[scope.owner].append(index)
            self._write_asides(guards)

    def _reserve(self) -> int:
        self._functions.append(None)
        return len(self._functions) - 1

    def _parameters(self, node: Node) -> tuple[tuple[ir.Target, ...], bool]:
        """Return what the parameters bind, and whether one of them takes the rest."""
        found: list[ir.Target] = []
        rest = False
        for child in self.children(node):
            kind = child.kind()
            if kind.endswith("_separator"):  # `/` and `*`
                continue
            pattern, annotation, default = child, None, None
            if kind in ("default_parameter", "typed_parameter", "typed_default_parameter"):
                inner = self.children(child)
                pattern = inner[0] if inner else child
                annotation = next((c for c in inner[1:] if c.kind() == "type"), None)
                if kind != "typed_parameter" and len(inner) > 1:
                    default = self.expr(inner[-1])
            rest = rest or pattern.kind() in SPLATS
            found.extend(self._targets(pattern, annotation=annotation, default=default))
        return tuple(found), rest

    def lambda_index(self, node: Node) -> int:
        inner = self.children(node)
        parameters: tuple[ir.Target, ...] = ()
        rest = False
        if inner and inner[0].kind() == "lambda_parameters":
            parameters, rest = self._parameters(inner.pop(0))
        index, parent, span = self._reserve(), self.scope.function, span_of(node)

        def read() -> None:
            scope = Scope(function=index)
            body = self._body([], scope)
            for child in inner[:1]:
                self._emit("return", span_of(child), (), self.expr(child))
                body = tuple(self._out)
            place = span_of(inner[0]) if inner else (span[1], span[1])
            self._functions[index] = ir.Function(
                span, None, parameters, body, place, is_generator=scope.yields, parent=parent, has_rest=rest
            )

        self._queue.append(read)
        return index

    # Classes ---------------------------------------------------------------------------------------------------------

    def _class(self, node: Node, guards: Guards, whole: Span | None = None, decorators: tuple[Expr, ...] = ()) -> None:
        span = span_of(node)
        name = block = None
        bases: tuple[Expr, ...] = ()
        for child in node.children():
            match child.kind():
                case "identifier" if name is None:
                    name = self.text(child)
                case "argument_list":
                    bases = self.parts(child)
                case "block":
                    block = child
        parent = self.scope.function
        index = len(self._classes)
        self._classes.append(None)
        self._methods[index] = []

        def read() -> None:
            fields = self._body([block] if block is not None else [], Scope(function=parent, owner=index))
            self._classes[index] = ir.Class(
                span, name, bases, fields, tuple(self._methods[index]), decorators=decorators, parent=parent
            )

        self._queue.append(read)
        self._emit("class", whole or span, guards, index=index)
