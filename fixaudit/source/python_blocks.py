"""Python's compound statements: each block is inlined where it stands, its guards say what it hangs on.

Contract: headers write "other" statements, blocks go on the stack of `Statements`. This module must not know of
definitions.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from fixaudit.source import ir
from fixaudit.source.ir import Expr, Span
from fixaudit.source.python_statements import Guards, Statements
from fixaudit.syntax import Node, span_of

_MAIN = re.compile(r"""\(?\s*(__name__\s*==\s*(['"])__main__\2|(['"])__main__\3\s*==\s*__name__)\s*\)?""")
_TYPING = re.compile(r"([\w.]+\.)?TYPE_CHECKING")
_CLAUSES = {
    "except_clause": "except",
    "except_group_clause": "except",
    "finally_clause": "finally",
    "else_clause": "else",
}
_PATTERNS = (
    "case_pattern", "as_pattern", "list_pattern", "tuple_pattern", "dict_pattern", "union_pattern", "splat_pattern",
    "pattern_list",
)  # fmt: skip


class Blocks(Statements):
    """Reads statements that hold blocks."""

    def __init__(self, content: str) -> None:
        super().__init__(content)
        self._handlers |= {
            "if_statement": self._if,
            "elif_clause": self._elif,
            "for_statement": self._for,
            "while_statement": self._while,
            "try_statement": self._try,
            "with_statement": self._with,
            "match_statement": self._match,
            "case_clause": self._case,
            **dict.fromkeys(_CLAUSES, self._clause),
        }

    def _header(self, node: Node) -> tuple[Span, list[Node], Node | None]:
        """Return a clause's header (through its colon), the nodes in it, and its block."""
        start = span_of(node)[0]
        inside: list[Node] = []
        end = start
        for child in node.children():
            kind = child.kind()
            if kind == "block":
                return (start, max(end, start)), inside, child
            if kind in _CLAUSES or kind == "elif_clause":
                break
            if kind == ":":
                end = span_of(child)[1]
            elif child.is_named() and kind not in ("comment", "line_continuation"):
                inside.append(child)
        return (start, max(end, start)), inside, None

    def _enter(self, kind: str, header: Span, block: Node | None, guards: Guards) -> list[tuple[Node, Guards]]:
        return [] if block is None else [(block, (*guards, (kind, header, span_of(block))))]

    def _clauses(self, node: Node, guards: Guards) -> list[tuple[Node, Guards]]:
        """Return what follows the first block: `else`, `except`, `finally` for the stack."""
        later: list[tuple[Node, Guards]] = []
        for child in node.children():
            kind = child.kind()
            if kind in _CLAUSES or kind == "elif_clause":
                later.append((child, guards))
        return later

    def _if(self, node: Node, guards: Guards) -> None:
        header, inside, block = self._header(node)
        test = self.text(inside[0]) if inside else ""
        kind = "main" if _MAIN.fullmatch(test) else "typing" if _TYPING.fullmatch(test) else "if"
        self._condition(inside, header, guards, "if")
        self._push(self._enter(kind, header, block, guards) + self._clauses(node, guards))

    def _elif(self, node: Node, guards: Guards) -> None:
        header, inside, block = self._header(node)
        entered = self._enter("if", header, block, guards)
        # The condition itself runs only when the ones before it were false.
        self._condition(inside, header, entered[0][1] if entered else guards, "elif")
        self._push(entered)

    def _condition(self, inside: Sequence[Node], header: Span, guards: Guards, keyword: str) -> None:
        parts = tuple([self.expr(child) for child in inside])
        if parts:
            value = parts[0] if len(parts) == 1 else ir.Other(header, keyword, parts)
            self._emit("other", header, guards, value, keyword=keyword)

    def _while(self, node: Node, guards: Guards) -> None:
        header, inside, block = self._header(node)
        self._condition(inside, header, guards, "while")
        self._push(self._enter("while", header, block, guards) + self._clauses(node, guards))

    def _for(self, node: Node, guards: Guards) -> None:
        header, inside, block = self._header(node)
        targets = self._targets(inside[0]) if inside else ()
        parts = tuple([self.expr(child) for child in inside[1:]])
        value = parts[0] if len(parts) == 1 else ir.Other(header, "for", parts)
        self._emit("other", header, guards, value, targets, "for")
        self._push(self._enter("for", header, block, guards) + self._clauses(node, guards))

    def _try(self, node: Node, guards: Guards) -> None:
        header, _, block = self._header(node)
        self._push(self._enter("try", header, block, guards) + self._clauses(node, guards))

    def _clause(self, node: Node, guards: Guards) -> None:
        kind = _CLAUSES[node.kind()]
        header, inside, block = self._header(node)
        entered = self._enter(kind, header, block, guards)
        targets: list[ir.Target] = []
        parts: list[Expr] = []
        for child in inside:
            value, bound = self._as_pattern(child)
            targets.extend(bound)
            parts.extend(value)
        if parts or targets:
            value_expr = parts[0] if len(parts) == 1 else ir.Other(header, kind, tuple(parts))
            self._emit("other", header, entered[0][1] if entered else guards, value_expr, tuple(targets), kind)
        self._push(entered)

    def _as_pattern(self, node: Node) -> tuple[list[Expr], tuple[ir.Target, ...]]:
        if node.kind() != "as_pattern":
            return [self.expr(node)], ()
        inner = self.children(node)
        targets = tuple(target for child in inner[1:] for target in self._targets(child))
        return [self.expr(child) for child in inner[:1]], targets

    def _with(self, node: Node, guards: Guards) -> None:
        header, inside, block = self._header(node)
        items = [item for clause in inside for item in self.children(clause)]
        for item in items:
            for child in self.children(item) if item.kind() == "with_item" else [item]:
                parts, targets = self._as_pattern(child)
                for value in parts:
                    self._emit("assign" if targets else "other", header, guards, value, targets, "with")
        self._push(self._enter("with", header, block, guards))

    def _match(self, node: Node, guards: Guards) -> None:
        header, inside, block = self._header(node)
        self._condition(inside, header, guards, "match")
        self._push([(child, guards) for child in (block.children() if block is not None else ())])
        self._push([(child, guards) for child in node.children() if child.kind() == "case_clause"])

    def _case(self, node: Node, guards: Guards) -> None:
        header, inside, block = self._header(node)
        entered = self._enter("switch", header, block, guards)
        targets: list[ir.Target] = []
        parts: list[Expr] = []
        stack = list(reversed(inside))
        while stack:
            current = stack.pop()
            kind = current.kind()
            inner = self.children(current)
            if kind == "identifier" or (kind == "dotted_name" and len(inner) == 1):
                span = span_of(current)
                name = self.content[span[0] : span[1]]
                if name != "_":
                    targets.append(ir.Target(span, name, ("?",)))
            elif kind == "class_pattern":
                parts.extend(self.expr(child) for child in inner[:1])
                stack.extend(reversed(inner[1:]))
            elif kind == "keyword_pattern":
                stack.extend(reversed(inner[1:]))
            elif kind in _PATTERNS:
                stack.extend(reversed(inner))
            elif kind == "if_clause":
                parts.extend(self.expr(child) for child in inner)
            else:
                parts.append(self.expr(current))
        if parts or targets:
            value = ir.Other(header, "case_clause", tuple(parts))
            self._emit("other", header, entered[0][1] if entered else guards, value, tuple(targets), "case")
        self._push(entered)
