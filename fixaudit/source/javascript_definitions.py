"""What JavaScript binds: targets of declarations and parameters, functions and classes.

Contract: a pattern yields one Target per local name, in source order. A Target without name and member stands for a
pattern as a whole and carries what belongs to no single name: its default, its annotation, a computed key. A
destructured parameter always has one with an empty path, so the n-th parameter is the n-th Target whose path is empty
(a rest parameter has the path ("...",)).
Function bodies are read where they stand while there is room, else later, so that nesting has no limit.
This module must not know of imports or exports; statements are left to a subclass.
"""

from __future__ import annotations

from msgspec.structs import replace

from fixaudit.source import ir
from fixaudit.source.javascript_composites import CompositeReader
from fixaudit.source.javascript_leaves import MAX_DEPTH, TYPES, Guards
from fixaudit.syntax import Node, span_of

_WRAPPED = ("parenthesized_expression", "as_expression", "satisfies_expression", "non_null_expression")
_PATTERNS = ("object_pattern", "array_pattern")


class DefinitionReader(CompositeReader):
    """Add targets, functions and classes to expressions."""

    def __init__(self, content: str) -> None:
        super().__init__(content)
        self.functions: list[ir.Function | None] = []
        self.classes: list[ir.Class | None] = []
        self.body: list[ir.Statement] = []
        self.guards: Guards = ()
        self.function: int | None = None
        self._later: list[tuple[Node, int, int | None, int | None, tuple[ir.Expr, ...]]] = []

    def read_block(self, node: Node) -> None:
        """Read the statements of a block or a single statement into the current body."""
        raise NotImplementedError

    def read_prologue(self, block: Node) -> None:
        """Read the statements of a function's block, directives first, into the current body."""
        raise NotImplementedError

    def emit(
        self,
        kind: str,
        span: ir.Span,
        *,
        targets: tuple[ir.Target, ...] = (),
        value: ir.Expr | None = None,
        index: int | None = None,
        keyword: str = "",
    ) -> ir.Statement:
        """Append a statement to the current body."""
        statement = ir.Statement(span, kind, targets, value, index, self.guards, keyword)
        self.body.append(statement)
        return statement

    # Targets -----------------------------------------------------------------------------------------------------

    def targets(
        self, pattern: Node, annotation: Node | None = None, default: Node | None = None, *, whole: bool = False
    ) -> tuple[ir.Target, ...]:
        """Return what a pattern binds; `whole` asks for the nameless Target of a destructuring parameter."""
        found: list[ir.Target] = []
        self._target(pattern, (), default, found, whole or annotation is not None)
        if annotation is not None and found:
            inner = next((c for c in annotation.named_children() if c.kind() != "comment"), annotation)
            found[0] = replace(found[0], annotation=self.text(inner), annotation_span=span_of(inner))
        return tuple(found)

    def _target(
        self, node: Node, path: tuple[str, ...], default: Node | None, found: list[ir.Target], whole: bool = False
    ) -> None:
        kind = node.kind()
        while kind in _WRAPPED and (inner := self.inside(node)) is not None:
            node, kind = inner, inner.kind()
        if kind == "rest_pattern" or kind == "spread_element":
            rest = self.inside(node)
            if rest is not None:
                self._target(rest, (*path, "..."), default, found)
        elif kind == "assignment_pattern" or kind == "object_assignment_pattern":
            left = node.field("left")
            if left is not None:
                if left.kind() == "shorthand_property_identifier_pattern":
                    path = (*path, self.text(left))
                self._target(left, path, node.field("right"), found, whole)
        elif kind in _PATTERNS:
            if whole or default is not None:
                value = None if default is None else self.expr(default)
                found.append(ir.Target(span_of(node), None, path, value))
            self.depth += 2
            if self.depth > MAX_DEPTH:
                self.damage.append(span_of(node))
            elif kind == "object_pattern":
                self._object_pattern(node, path, found)
            else:
                self._array_pattern(node, path, found)
            self.depth -= 2
        elif kind == "identifier" or kind == "shorthand_property_identifier_pattern" or kind == "undefined":
            span = span_of(node)
            value = None if default is None else self.expr(default)
            found.append(ir.Target(span, self.content[span[0] : span[1]], path, value))
        elif kind != "this":
            place = self.expr(node)
            value = None if default is None else self.expr(default)
            if isinstance(place, ir.Member):
                found.append(ir.Target(place.span, None, path, value, place))
            else:
                lost = (place,) if value is None else (place, value)
                found.append(ir.Target(place.span, None, path, ir.Other(place.span, kind, lost)))

    def _object_pattern(self, node: Node, path: tuple[str, ...], found: list[ir.Target]) -> None:
        for child in node.named_children():
            kind = child.kind()
            if kind == "shorthand_property_identifier_pattern":
                self._target(child, (*path, self.text(child)), None, found)
            elif kind == "pair_pattern":
                key, value = child.field("key"), child.field("value")
                if key is None or value is None:
                    continue
                name = self.property_name(key)
                if name is None:
                    found.append(ir.Target(span_of(key), None, (*path, "[?]"), self.other(key, "computed")))
                    name = "[?]"
                self._target(value, (*path, name), None, found)
            elif kind != "comment":
                self._target(child, path, None, found)

    def _array_pattern(self, node: Node, path: tuple[str, ...], found: list[ir.Target]) -> None:
        position = 0
        for child in node.children():
            kind = child.kind()
            if kind == ",":
                position += 1
            elif kind in ("rest_pattern", "spread_element"):
                self._target(child, path, None, found)
            elif kind not in ("[", "]", "comment"):
                self._target(child, (*path, f"[{position}]"), None, found)

    def _parameters(self, node: Node) -> tuple[list[ir.Target], list[ir.Expr], bool]:
        """Return the parameters of a function, their decorators, and whether one takes the rest."""
        single = node.field("parameter")
        if single is not None:
            return list(self.targets(single, whole=True)), [], False
        listed = node.field("parameters")
        found: list[ir.Target] = []
        decorators: list[ir.Expr] = []
        rest = False
        for child in listed.named_children() if listed is not None else ():
            kind = child.kind()
            if kind in ("required_parameter", "optional_parameter"):
                pattern = child.field("pattern")
                decorators += self._decorators(child)
                if pattern is None:
                    continue
                rest = rest or pattern.kind() == "rest_pattern"
                found += self.targets(pattern, child.field("type"), child.field("value"), whole=True)
            elif kind != "comment" and kind not in TYPES:
                rest = rest or kind == "rest_pattern"
                found += self.targets(child, whole=True)
        return found, decorators, rest

    # Functions ---------------------------------------------------------------------------------------------------

    def read_function(self, node: Node, owner: int | None = None, decorators: tuple[ir.Expr, ...] = ()) -> int:
        index = len(self.functions)
        self.functions.append(None)
        if self.depth > MAX_DEPTH // 3:
            self._later.append((node, index, self.function, owner, decorators))
        else:
            self._read_function(node, index, self.function, owner, decorators)
        return index

    def read_postponed(self) -> None:
        """Read the functions that stood too deep to be read where they stand."""
        while self._later:
            self._read_function(*self._later.pop(0))

    def _read_function(
        self, node: Node, index: int, parent: int | None, owner: int | None, decorators: tuple[ir.Expr, ...]
    ) -> None:
        outer = self.body, self.guards, self.function, self.requires
        self.body, self.guards, self.function, self.requires = [], (), index, []
        self.depth += 2
        parameters, more, rest = self._parameters(node)
        block = node.field("body")
        body_span = (span_of(node)[1],) * 2 if block is None else span_of(block)
        if block is not None and block.kind() == "statement_block":
            self.read_prologue(block)
        elif block is not None:
            self.emit("return", body_span, value=self.expr(block))
        words = self._words(node)
        returns = node.field("return_type")
        annotation = None if returns is None else self.text(returns).lstrip(":").strip()
        name = node.field("name")
        self.functions[index] = ir.Function(
            span_of(node),
            None if name is None else self.property_name(name),
            tuple(parameters),
            tuple(self.body),
            (body_span[0], body_span[1]),
            "async" in words,
            "*" in words,
            (*decorators, *more),
            owner,
            parent,
            rest,
            annotation,
        )
        self.depth -= 2
        left = self.requires  # by a default value of a function without statements
        self.body, self.guards, self.function, self.requires = outer
        self.requires = self.requires + left

    def _words(self, node: Node) -> list[str]:
        """Return the tokens before a definition's name: `async`, `*`, `static`, `get` …"""
        words: list[str] = []
        for child in node.children():
            kind = child.kind()
            if kind in ("accessibility_modifier", "override_modifier"):
                words.append(self.text(child))
            elif kind != "comment" and kind != "decorator":
                if child.is_named():
                    break
                words.append(kind)
        return words

    # Classes -----------------------------------------------------------------------------------------------------

    def read_class(self, node: Node, decorators: tuple[ir.Expr, ...] = ()) -> int:
        index = len(self.classes)
        self.classes.append(None)
        bases: list[ir.Expr] = []
        for child in node.children():
            if child.kind() == "class_heritage":
                bases += self._bases(child)
        own = (*decorators, *self._decorators(node))
        outer = self.body, self.guards, self.requires
        self.body, self.guards, self.requires = [], (), []
        methods: list[int] = []
        members = node.field("body")
        waiting: tuple[ir.Expr, ...] = ()
        for child in members.named_children() if members is not None else ():
            kind = child.kind()
            if kind == "decorator":
                waiting = (*waiting, *self._decorator(child))
            elif kind == "method_definition":
                key = child.field("name")
                if key is not None and self.property_name(key) is None:
                    self.emit("other", span_of(key), value=self.other(key, "computed"))
                methods.append(self.read_function(child, index, (*waiting, *self._decorators(child))))
                waiting = ()
            elif kind in ("field_definition", "public_field_definition"):
                self._field(child, waiting)
                waiting = ()
            elif kind == "class_static_block":
                block = child.field("body")
                if block is not None:
                    self.read_block(block)
            elif kind != "comment" and kind not in TYPES and not self.read_statement(child, kind):
                self.emit("other", span_of(child), value=self.expr(child))
        fields = tuple(self.body)
        self.body, self.guards, self.requires = outer
        name = node.field("name")
        self.classes[index] = ir.Class(
            span_of(node),
            None if name is None else self.text(name),
            tuple(bases),
            fields,
            tuple(methods),
            own,
            self.function,
        )
        return index

    def _bases(self, heritage: Node) -> list[ir.Expr]:
        found = []
        for child in heritage.named_children():
            kind = child.kind()
            if kind == "extends_clause":
                found += [self.expr(base) for base in child.field_children("value")]
            elif kind != "comment" and kind not in TYPES:
                found.append(self.expr(child))
        return found

    def _field(self, node: Node, decorators: tuple[ir.Expr, ...]) -> None:
        for decorator in (*decorators, *self._decorators(node)):
            self.emit("other", decorator.span, value=ir.Other(decorator.span, "decorator", (decorator,)))
        key = node.field("name") or node.field("property")
        if key is None:
            return
        name, span, given = self.property_name(key), span_of(key), node.field("value")
        if name is None:
            self.emit("other", span, value=self.other(key, "computed"))
        target = ir.Target(span, name)
        annotation = node.field("type")
        if annotation is not None:
            inner = next((c for c in annotation.named_children() if c.kind() != "comment"), annotation)
            target = replace(target, annotation=self.text(inner), annotation_span=span_of(inner))
        value = None if given is None else self.expr(given)
        self.emit("declare", span_of(node), targets=(target,), value=value, keyword=" ".join(self._words(node)))

    def _decorators(self, node: Node) -> tuple[ir.Expr, ...]:
        found: tuple[ir.Expr, ...] = ()
        for child in node.children():
            if child.kind() == "decorator":
                found = (*found, *self._decorator(child))
        return found

    def _decorator(self, node: Node) -> tuple[ir.Expr, ...]:
        inner = self.inside(node)
        return () if inner is None else (self.expr(inner),)
