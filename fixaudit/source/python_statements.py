"""Python's simple statements: expressions, assignments, imports, and the flat list that they are written to.

Contract: every statement handler writes to the body that is being read, with the guards it is given; compound
statements push their blocks on a stack instead of recursing. This module must not know of blocks or definitions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from fixaudit.source import ir
from fixaudit.source.ir import Expr, Span
from fixaudit.source.python_expressions import Expressions, Scope
from fixaudit.syntax import Node, span_of

Guards = tuple[tuple[str, Span, Span], ...]

_PATTERNS = ("pattern_list", "tuple_pattern", "list_pattern", "expression_list", "tuple", "list")
SPLATS = ("list_splat_pattern", "list_splat", "dictionary_splat_pattern", "splat_pattern")
"""Node kinds of starred targets and parameters."""


class Statements(Expressions):
    """Reads the statements of one body at a time."""

    def __init__(self, content: str) -> None:
        super().__init__(content)
        self._imports: list[ir.Import] = []
        self._out: list[ir.Statement] = []
        self._stack: list[tuple[Node, Guards]] = []
        self._handlers: dict[str, Callable[[Node, Guards], None]] = {
            "expression_statement": self._expression_statement,
            "import_statement": self._import,
            "import_from_statement": self._import_from,
            "future_import_statement": self._import_from,
            "return_statement": self._simple,
            "raise_statement": self._simple,
            "delete_statement": self._simple,
            "block": self._block,
            "ERROR": self._block,
            "comment": self._nothing,
            "line_continuation": self._nothing,
        }

    def _body(self, nodes: Sequence[Node], scope: Scope) -> tuple[ir.Statement, ...]:
        """Read the statements of one body; blocks inside it are inlined in source order."""
        self.scope, self._out = scope, []
        self._stack = [(node, ()) for node in reversed(nodes)]
        while self._stack:
            node, guards = self._stack.pop()
            kind = node.kind()
            if (handler := self._handlers.get(kind)) is not None:
                handler(node, guards)
            elif node.is_named():
                self._plain(node, kind, guards)
        return tuple(self._out)

    def _emit(
        self,
        kind: str,
        span: Span,
        guards: Guards,
        value: Expr | None = None,
        targets: tuple[ir.Target, ...] = (),
        keyword: str = "",
        index: int | None = None,
    ) -> None:
        """Write one statement, in front of it the names that its expressions bind, behind it what they put off."""
        self._write_bound(guards)
        self._out.append(ir.Statement(span, kind, targets, value, index, guards, keyword))
        self._write_deferred(guards)

    def _write_bound(self, guards: Guards) -> None:
        if not self.scope.bound:
            return
        span = (self.scope.bound[0].span[0], self.scope.bound[-1].span[1])
        self._out.append(ir.Statement(span, "other", tuple(self.scope.bound), None, None, guards, ":="))
        self.scope.bound.clear()

    def _write_deferred(self, guards: Guards) -> None:
        while self.scope.deferred:
            node = self.scope.deferred.pop(0)
            word = "annotation" if node.kind() == "type" else "deep"
            value = self.detached(node)
            self._out.append(ir.Statement(span_of(node), "other", (), value, None, guards, word))

    def _write_asides(self, guards: Guards) -> None:
        """Write what the expressions of a definition without a statement (a method) bind or put off."""
        self._write_bound(guards)
        self._write_deferred(guards)

    def _push(self, items: Sequence[tuple[Node, Guards]]) -> None:
        self._stack.extend(reversed(items))

    def _nothing(self, node: Node, guards: Guards) -> None:
        """Comments are read apart, by their kind."""

    def _block(self, node: Node, guards: Guards) -> None:
        self._push([(child, guards) for child in node.children()])

    # Simple statements -----------------------------------------------------------------------------------------------

    def _plain(self, node: Node, kind: str, guards: Guards) -> None:
        """`pass`, `assert`, `global`, `type X = …`, Python 2's `print x`, or an expression in a damaged place."""
        word = kind.removesuffix("_statement")
        if word == kind:
            self._emit("other", span_of(node), guards, self.expr(node))
            return
        parts = self.parts(node)
        value = ir.Other(span_of(node), kind, parts) if parts else None
        self._emit("other", span_of(node), guards, value, keyword=word)

    def _simple(self, node: Node, guards: Guards) -> None:
        kind = node.kind()
        parts = self.parts(node)
        value = parts[0] if len(parts) == 1 else ir.Other(span_of(node), kind, parts) if parts else None
        self._emit(kind.removesuffix("_statement"), span_of(node), guards, value)

    def _expression_statement(self, node: Node, guards: Guards) -> None:
        span = span_of(node)
        inner = self.children(node)
        if len(inner) != 1:  # `a, b` as a statement
            self._emit("expression", span, guards, ir.Sequence(span, self.parts(node)))
            return
        kind = inner[0].kind()
        if kind == "assignment":
            self._assignment(inner[0], span, guards)
        elif kind == "augmented_assignment":
            sides = self.children(inner[0])
            if len(sides) == 2:
                targets = self._targets(sides[0])
                self._emit("augment", span, guards, self.expr(sides[1]), targets)
            else:
                self._emit("other", span, guards, ir.Other(span, kind, self.parts(inner[0])))
        else:
            value = self.expr(inner[0])
            docstring = not self._out and not guards and isinstance(value, ir.Literal) and isinstance(value.value, str)
            self._emit("directive" if docstring else "expression", span, guards, value)

    def _assignment(self, node: Node, span: Span, guards: Guards) -> None:
        """`a = b = value`, `a: T = value`, `a: T`."""
        targets: list[ir.Target] = []
        declared = False
        while True:
            left, right, annotation = None, None, None
            for child in self.children(node):
                if child.kind() == "type" and left is not None and right is None:
                    annotation = child
                elif left is None:
                    left = child
                else:
                    right = child
            if left is not None:
                targets.extend(self._targets(left, annotation=annotation))
            declared = declared or annotation is not None
            if right is None or right.kind() != "assignment":
                break
            node = right
        value = None if right is None else self.expr(right)
        self._emit("declare" if declared else "assign", span, guards, value, tuple(targets))

    def _annotation(self, node: Node | None) -> tuple[str | None, Span | None]:
        if node is None:
            return None, None
        span = span_of(node)
        text = self.content[span[0] : span[1]]
        if "(" in text:
            self.scope.deferred.append(node)
        return text, span

    def _targets(
        self, node: Node, path: tuple[str, ...] = (), annotation: Node | None = None, default: Expr | None = None
    ) -> tuple[ir.Target, ...]:
        """Return what a pattern binds; the way into the value is the path."""
        found: list[ir.Target] = []
        text, text_span = self._annotation(annotation)
        stack = [(node, path)]
        while stack:
            current, way = stack.pop()
            kind = current.kind()
            span = span_of(current)
            if kind == "identifier":
                found.append(ir.Target(span, self.content[span[0] : span[1]], way, default, None, text, text_span))
            elif kind in ("attribute", "subscript"):
                member = self.expr(current)
                if isinstance(member, ir.Member):
                    found.append(ir.Target(span, None, way, default, member, text, text_span))
            elif kind in _PATTERNS:
                inner = self.children(current)
                star = next((i for i, child in enumerate(inner) if child.kind() in SPLATS), len(inner))
                steps = [f"[{i}]" if i <= star else f"[{i - len(inner)}]" for i in range(len(inner))]
                stack.extend(reversed([(child, (*way, step)) for child, step in zip(inner, steps)]))
            elif kind in SPLATS:
                # The star stands for its own place in the list: ("...",), not ("[1]", "...").
                before = way[:-1] if way and way[-1].startswith("[") else way
                stack.extend((child, (*before, "...")) for child in self.children(current)[:1])
            elif kind in ("parenthesized_expression", "as_pattern_target", "case_pattern", "type"):
                stack.extend((child, way) for child in reversed(self.children(current)))
            else:
                self.scope.deferred.append(current)
        return tuple(found)

    # Imports ---------------------------------------------------------------------------------------------------------

    def _add_import(
        self,
        node: Node,
        module: str,
        export: str,
        local: str | None,
        statement: Node,
        guards: Guards,
        dotted: str | None = None,
    ) -> None:
        typing = any(guard[0] == "typing" for guard in guards)
        form = "import" if statement.kind() == "import_statement" else "from"
        places = (guards, span_of(statement), self.scope.function)
        self._imports.append(ir.Import(span_of(node), module, export, local, form, typing, dotted, *places))

    def _dotted(self, node: Node) -> str:
        return re.sub(r"\s|\\", "", self.text(node))

    def _alias(self, node: Node) -> tuple[str, str | None]:
        if node.kind() == "aliased_import":
            inner = self.children(node)
            return self._dotted(inner[0]), self.text(inner[-1]) if len(inner) > 1 else None
        return self._dotted(node), None

    def _import(self, node: Node, guards: Guards) -> None:
        for child in self.children(node):
            name, alias = self._alias(child)
            if alias is None and "." in name:
                top = name.partition(".")[0]
                self._add_import(child, top, "*", top, node, guards, name)
            else:
                self._add_import(child, name, "*", alias or name, node, guards)
        self._emit("import", span_of(node), guards)

    def _import_from(self, node: Node, guards: Guards) -> None:
        module: str | None = "__future__" if node.kind() == "future_import_statement" else None
        for child in self.children(node):
            if module is None:
                module = self._dotted(child)
            elif child.kind() == "wildcard_import":
                self._add_import(child, module, "*", None, node, guards)
            else:
                name, alias = self._alias(child)
                self._add_import(child, module, name, alias or name, node, guards)
        self._emit("import", span_of(node), guards)
