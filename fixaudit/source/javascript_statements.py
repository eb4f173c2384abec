"""Statements of JavaScript and TypeScript, flattened, with the blocks that guard them.

Contract: a condition or loop header becomes an "other" statement before what it guards; every declarator of
`const a = 1, b = 2` becomes a statement of its own, all with the span of the whole. An else-if chain is not nested: the
guards of a later branch are one "else" and its own "if".
This module must not know of imports, exports or types; a subclass adds those statements.
"""

from __future__ import annotations

from collections.abc import Callable

from fixaudit.source import ir
from fixaudit.source.javascript_definitions import DefinitionReader
from fixaudit.source.javascript_leaves import MAX_DEPTH
from fixaudit.syntax import Node, span_of

_CLASSES = ("class_declaration", "abstract_class_declaration")
_MAIN = ("require.main", "import.meta.main")


class StatementReader(DefinitionReader):
    """Add statements."""

    def __init__(self, content: str) -> None:
        super().__init__(content)
        self._statements: dict[str, Callable[[Node], object]] = {
            "expression_statement": self._expression,
            "lexical_declaration": self._variables,
            "variable_declaration": self._variables,
            "function_declaration": self._definition,
            "generator_function_declaration": self._definition,
            "class_declaration": self._definition,
            "abstract_class_declaration": self._definition,
            "if_statement": self._if,
            "for_statement": self._for,
            "for_in_statement": self._for_in,
            "while_statement": self._while,
            "do_statement": self._do,
            "try_statement": self._try,
            "switch_statement": self._switch,
            "with_statement": self._with,
            "labeled_statement": self._labeled,
            "statement_block": self._block,
            "return_statement": lambda node: self._valued(node, "return"),
            "throw_statement": lambda node: self._valued(node, "raise"),
            "break_statement": lambda node: self._bare(node, "break"),
            "continue_statement": lambda node: self._bare(node, "continue"),
            "debugger_statement": lambda node: self._bare(node, "debugger"),
            "empty_statement": lambda node: None,
        }

    # Entry -------------------------------------------------------------------------------------------------------

    def read_block(self, node: Node) -> None:
        if node.kind() == "statement_block":
            self._block(node)
        else:
            self._statement(node)

    def read_prologue(self, block: Node) -> None:
        prologue = True
        for child in block.named_children():
            kind = child.kind()
            if kind == "comment" or kind == "hash_bang_line":
                continue
            if prologue and kind == "expression_statement":
                inner = self.inside(child)
                if inner is not None and inner.kind() == "string":
                    self.emit("directive", span_of(child), value=self.expr(inner))
                    continue
            prologue = False
            self._statement(child)

    def read_statement(self, node: Node, kind: str) -> bool:
        if kind not in self._statements:
            return False
        self._statement(node)
        return True

    def _statement(self, node: Node) -> None:
        kind = node.kind()
        if kind == "comment":
            return
        if self.depth >= MAX_DEPTH:
            self.emit("other", span_of(node), value=self.too_deep(node, kind))
            return
        self.depth += 2
        reader = self._statements.get(kind)
        if reader is None:
            self.emit("other", span_of(node), value=self.expr(node))
        else:
            reader(node)
        self.depth -= 2

    def _guarded(self, kind: str, header: ir.Span, block: Node | None) -> None:
        """Read a block under one more guard."""
        if block is not None:
            outer = self.guards
            self.guards = (*outer, (kind, header, span_of(block)))
            self.read_block(block)
            self.guards = outer

    # Plain statements --------------------------------------------------------------------------------------------

    def _block(self, node: Node) -> None:
        for child in node.named_children():
            self._statement(child)

    def _bare(self, node: Node, keyword: str) -> None:
        self.emit("other", span_of(node), keyword=keyword)

    def _valued(self, node: Node, kind: str) -> None:
        inner = self.inside(node)
        self.emit(kind, span_of(node), value=None if inner is None else self.expr(inner))

    def _expression(self, node: Node) -> None:
        inner = self.inside(node)
        if inner is None:
            return
        span = span_of(node)
        inner = self.unwrapped(inner)
        match inner.kind():
            case "assignment_expression":
                self._assignment(inner, span)
            case "augmented_assignment_expression":
                left, right = inner.field("left"), inner.field("right")
                targets = () if left is None else self.targets(left)
                operator = inner.field("operator")
                self.emit(
                    "augment",
                    span,
                    targets=targets,
                    value=None if right is None else self.expr(right),
                    keyword="" if operator is None else operator.kind(),
                )
            case "update_expression":
                argument = inner.field("argument")
                self.emit("augment", span, targets=() if argument is None else self.targets(argument), keyword="++")
            case "unary_expression":
                value = self.expr(inner)
                deleted = isinstance(value, ir.Other) and value.kind == "delete"
                if deleted and isinstance(value, ir.Other):
                    self.emit("delete", span, value=value.parts[0])
                else:
                    self.emit("expression", span, value=value)
            case kind:
                # `namespace N {}` comes wrapped as an expression.
                if not self.read_statement(inner, kind):
                    self.emit("expression", span, value=self.expr(inner))

    def _assignment(self, node: Node, span: ir.Span) -> None:
        targets: list[ir.Target] = []
        keyword = ""
        current: Node = node
        while current.kind() == "assignment_expression":
            left, right = current.field("left"), current.field("right")
            if left is None or right is None:
                break
            # The grammar takes `using r = f()` for an assignment.
            keyword = "using" if current.children()[0].kind() == "using" else keyword
            targets += self.targets(left)
            current = self.unwrapped(right)
        self.emit(
            "declare" if keyword else "assign", span, targets=tuple(targets), value=self.expr(current), keyword=keyword
        )

    def _variables(self, node: Node, span: ir.Span | None = None, prefix: str = "") -> list[ir.Target]:
        """Read `const`, `let` and `var`; returns everything bound."""
        span = span or span_of(node)
        keyword = f"{prefix}{node.children()[0].kind()}"
        bound: list[ir.Target] = []
        for child in node.named_children():
            kind = child.kind()
            name = child.field("name") if kind == "variable_declarator" else None
            if name is not None:
                given = child.field("value")
                targets = self.targets(name, child.field("type"))
                value = None if given is None else self.expr(given)
                self.emit("declare", span, targets=targets, value=value, keyword=keyword)
                bound += targets
            elif kind != "comment":
                self.emit("other", span, value=self.expr(child))
        return bound

    def _definition(
        self, node: Node, span: ir.Span | None = None, prefix: str = "", decorators: tuple[ir.Expr, ...] = ()
    ) -> ir.Expr:
        """Read a function or class; returns the reference to it."""
        kind = node.kind()
        own = span_of(node)
        span = span or own
        if kind in _CLASSES or kind == "class":
            index = self.read_class(node, decorators)
            self.emit("class", span, index=index, keyword=prefix.strip())
            return ir.ClassRef(own, index)
        index = self.read_function(node)
        words = " ".join([prefix.strip(), *(["async"] if "async" in self._words(node) else [])]).strip()
        self.emit("function", span, index=index, keyword=words)
        return ir.FunctionRef(own, index)

    # Blocks ------------------------------------------------------------------------------------------------------

    def _if(self, node: Node) -> None:
        outer = self.guards
        current: Node | None = node
        while current is not None:
            condition, then = current.field("condition"), current.field("consequence")
            kind, header = "if", (span_of(current)[0], span_of(current)[0] + 2)
            if condition is not None:
                self.emit("other", span_of(condition), value=self.expr(condition))
                header = (header[0], span_of(condition)[1])
                kind = "main" if self._is_main(span_of(condition)) else "if"
            self._guarded(kind, header, then)
            clause, current = current.field("alternative"), None
            if clause is not None and (branch := self.inside(clause)) is not None:
                start = span_of(clause)[0]
                self.guards = (*outer, ("else", (start, start + 4), span_of(branch)))
                if branch.kind() == "if_statement":
                    current = branch
                else:
                    self.read_block(branch)
        self.guards = outer

    def _is_main(self, condition: ir.Span) -> bool:
        text = self.content[slice(*condition)]
        return any(word in text for word in _MAIN) or ("import.meta.url" in text and "process.argv" in text)

    def _header(self, node: Node) -> ir.Span:
        """Return the span from a statement's keyword to the end of what stands before its body."""
        start, end = span_of(node)
        block = node.field("body")
        stop = end if block is None else span_of(block)[0]
        return start, start + len(self.content[start:stop].rstrip())

    def _for(self, node: Node) -> None:
        first = node.field("initializer")
        if first is not None:
            self._part(first)
        condition = node.field("condition")
        if condition is not None and condition.kind() != "empty_statement":
            self._part(condition)
        step = node.field("increment")
        header = self._header(node)
        self._guarded("for", header, node.field("body"))
        if step is not None:
            outer = self.guards
            self.guards = (*outer, ("for", header, span_of(node)))
            self._part(step)
            self.guards = outer

    def _part(self, node: Node) -> None:
        """Read a part of a `for` header: a declaration, an assignment or another expression."""
        if node.kind() == "assignment_expression":
            self._assignment(node, span_of(node))
        elif not self.read_statement(node, node.kind()):
            self.emit("other", span_of(node), value=self.expr(node))

    def _for_in(self, node: Node) -> None:
        left, right, block = node.field("left"), node.field("right"), node.field("body")
        if right is not None:
            self.emit("other", span_of(right), value=self.expr(right))
        header = self._header(node)
        outer = self.guards
        if left is not None and block is not None:
            self.guards = (*outer, ("for", header, span_of(block)))
            word = node.field("kind")
            given = node.field("value")  # `for (var i = 0 in x)`, which old code has
            self.emit(
                "assign" if word is None else "declare",
                span_of(left),
                targets=self.targets(left),
                value=None if given is None else self.expr(given),
                keyword="" if word is None else word.kind(),
            )
            self.guards = outer
        self._guarded("for", header, block)

    def _while(self, node: Node) -> None:
        condition = node.field("condition")
        if condition is not None:
            self.emit("other", span_of(condition), value=self.expr(condition))
        self._guarded("while", self._header(node), node.field("body"))

    def _do(self, node: Node) -> None:
        start = span_of(node)[0]
        self._guarded("while", (start, start + 2), node.field("body"))
        condition = node.field("condition")
        if condition is not None:
            self.emit("other", span_of(condition), value=self.expr(condition))

    def _with(self, node: Node) -> None:
        value = node.field("object")
        if value is not None:
            self.emit("other", span_of(value), value=self.expr(value))
        self._guarded("with", self._header(node), node.field("body"))

    def _try(self, node: Node) -> None:
        start = span_of(node)[0]
        self._guarded("try", (start, start + 3), node.field("body"))
        handler = node.field("handler")
        if handler is not None:
            header, block, caught = self._header(handler), handler.field("body"), handler.field("parameter")
            if caught is not None and block is not None:
                outer = self.guards
                self.guards = (*outer, ("except", header, span_of(block)))
                targets = self.targets(caught, handler.field("type"))
                self.emit("declare", span_of(caught), targets=targets, keyword="catch")
                self.guards = outer
            self._guarded("except", header, block)
        finalizer = node.field("finalizer")
        if finalizer is not None:
            self._guarded("finally", self._header(finalizer), finalizer.field("body"))

    def _switch(self, node: Node) -> None:
        value, block = node.field("value"), node.field("body")
        if value is not None:
            self.emit("other", span_of(value), value=self.expr(value))
        header, outer = self._header(node), self.guards
        for case in block.named_children() if block is not None else ():
            if case.kind() == "comment":
                continue
            self.guards = (*outer, ("switch", header, span_of(case)))
            label = case.field("value")
            label_span = None if label is None else span_of(label)
            if label is not None:
                self.emit("other", span_of(label), value=self.expr(label))
            for child in case.named_children():
                if child.kind() != "comment" and span_of(child) != label_span:
                    self._statement(child)
        self.guards = outer

    def _labeled(self, node: Node) -> None:
        inner = node.field("body")
        if inner is not None:
            self.read_block(inner)
