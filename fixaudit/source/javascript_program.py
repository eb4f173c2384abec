"""Whole programs: the statements that import, export or exist for types only, and the order of reading.

Contract: imports and exports are collected on the way; `require` is found wherever it stands. Names of types are taken
names (Targets without a value), their contents are not read. What `namespace N {}` exports is not the file's export.
This module must not know of files.
"""

from __future__ import annotations

from fixaudit.source import ir
from fixaudit.source.javascript_modules import cjs_exports, cjs_imports, esm_export_clause, esm_imports
from fixaudit.source.javascript_statements import StatementReader
from fixaudit.syntax import Node, span_of

_VARIABLES = ("lexical_declaration", "variable_declaration")
_DEFINITIONS = (
    "function_declaration",
    "generator_function_declaration",
    "class_declaration",
    "abstract_class_declaration",
    "function_expression",
    "class",
)


class ProgramReader(StatementReader):
    """Read one file."""

    def __init__(self, content: str) -> None:
        super().__init__(content)
        self.imports: list[ir.Import] = []
        self.exports: list[ir.Export] = []
        self.is_esm = False
        self._namespaces = 0
        self._statements.update(
            {
                "import_statement": self._import,
                "export_statement": self._export,
                "import_alias": self._alias,
                "internal_module": self._namespace,
                "module": self._namespace,
                "enum_declaration": self._enum,
                "ambient_declaration": self._ambient,
                "function_signature": self._typed_name,
                "interface_declaration": self._typed_name,
                "type_alias_declaration": self._typed_name,
            }
        )

    def read_program(self, root: Node, errors: list[Node]) -> tuple[ir.Statement, ...]:
        """Read everything below the root and return the top level's body.

        `errors` are the tree's ERROR nodes: one that stood where no reader looks is added at the end, so that a
        secret in it is still found.
        """
        self.errors.add(span_of(root))  # the root itself is an ERROR when nothing fits
        self.read_prologue(root)
        self.read_postponed()
        for error in errors:
            start, end = span_of(error)
            inside = any(a <= start and end <= b for a, b in self.damage)
            if (start, end) not in self.errors and not inside:
                self.emit("other", (start, end), value=self.other(error, "ERROR"))
        self.read_postponed()
        return tuple(self.body)

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
        statement = super().emit(kind, span, targets=targets, value=value, index=index, keyword=keyword)
        if self.requires:
            self.imports.extend(cjs_imports(statement, self.requires, self.function))
            self.requires = []
        if not self._namespaces:
            self.exports.extend(cjs_exports(statement))
        return statement

    # Modules -----------------------------------------------------------------------------------------------------

    def _import(self, node: Node) -> None:
        self.is_esm = True
        self.emit("import", span_of(node))
        self.imports.extend(esm_imports(self.content, node, self.guards, self.function))

    def _add_export(self, name: str, value: ir.Expr | None, span: ir.Span) -> None:
        if not self._namespaces:
            self.exports.append(ir.Export(span, name, value))

    def _export(self, node: Node) -> None:
        self.is_esm = self.is_esm or not self._namespaces
        span = span_of(node)
        decorators = self._decorators(node)
        declared, value = node.field("declaration"), node.field("value")
        words = [child.kind() for child in node.children() if not child.is_named()]
        default = "default" in words
        prefix = "export default " if default else "export "
        if declared is None and value is not None and value.kind() in ("function_expression", "class"):
            declared, value = value, None
        if declared is not None:
            self._exported(declared, span, prefix, default, decorators)
        elif value is not None:
            read = self.expr(value)
            self.emit("export", span, value=read, keyword=prefix.strip())
            self._add_export("default", read, span)
        elif "=" in words:
            self._assigned_export(node, span)
        else:
            self.emit("export", span, keyword="export")
            if not self._namespaces:
                self.exports.extend(esm_export_clause(self.content, node))

    def _assigned_export(self, node: Node, span: ir.Span) -> None:
        """`export = X` is what `module.exports = X` is."""
        inner = next((child for child in node.named_children() if child.kind() not in ("comment", "decorator")), None)
        if inner is None:
            return
        value = self.expr(inner)
        self.emit("export", span, value=value, keyword="export =")
        self._add_export("default", value, span)
        for entry in value.entries if isinstance(value, ir.Object) else ():
            if entry.key is not None:
                self._add_export(entry.key, entry.value, entry.span)

    def _exported(self, node: Node, span: ir.Span, prefix: str, default: bool, decorators: tuple[ir.Expr, ...]) -> None:
        kind = node.kind()
        if kind in _VARIABLES:
            for target in self._variables(node, span, prefix):
                if target.name is not None:
                    self._add_export(target.name, ir.Name(target.span, target.name), target.span)
        elif kind in _DEFINITIONS:
            value = self._definition(node, span, prefix, decorators)
            name = node.field("name")
            if default or name is not None:
                self._add_export("default" if default else self.text(name), value, span)
        elif kind in ("enum_declaration", "internal_module", "import_alias"):
            self._statement(node)
            name = next((child for child in node.named_children() if child.kind() == "identifier"), None)
            if name is not None:
                self._add_export(self.text(name), ir.Name(span_of(name), self.text(name)), span)
        elif kind == "ambient_declaration" or kind in self._statements:
            self._statement(node)
        else:
            self.emit("export", span, value=self.expr(node), keyword=prefix.strip())

    def _alias(self, node: Node) -> None:
        """`import R = A.B`, a local name for a namespace's member."""
        names = [child for child in node.named_children() if child.kind() != "comment"]
        if len(names) > 1:
            value = self._name(names[1]) if names[1].kind() == "identifier" else self.other(names[1], "import_alias")
            self.emit("declare", span_of(node), targets=self.targets(names[0]), value=value, keyword="import")

    # TypeScript's own --------------------------------------------------------------------------------------------

    def _namespace(self, node: Node) -> None:
        name, block = node.field("name"), node.field("body")
        targets = self.targets(name) if name is not None and name.kind() == "identifier" else ()
        self.emit("other", span_of(node), targets=targets, keyword="namespace")
        if block is not None:
            self._namespaces += 1
            esm = self.is_esm
            self.read_block(block)
            self.is_esm = esm
            self._namespaces -= 1

    def _enum(self, node: Node) -> None:
        name, block = node.field("name"), node.field("body")
        entries = []
        for child in block.named_children() if block is not None else ():
            kind = child.kind()
            given = child.field("value") if kind == "enum_assignment" else None
            if given is not None:
                value = self.expr(given)
                key = child.field("name") or child.named_children()[0]
                entries.append(ir.Entry(span_of(child), self.property_name(key), value, span_of(key)))
        value = ir.Object(span_of(block or node), tuple(entries), False)
        targets = () if name is None else self.targets(name)
        self.emit("other", span_of(node), targets=targets, value=value, keyword="enum")

    def _ambient(self, node: Node) -> None:
        """`declare …` has no code, but its names are taken."""
        targets: list[ir.Target] = []
        for child in node.named_children():
            declarators = child.named_children() if child.kind() in _VARIABLES else [child]
            for declared in declarators:
                name = declared.field("name")
                if name is not None and name.kind() in ("identifier", "type_identifier"):
                    targets.append(ir.Target(span_of(name), self.text(name)))
        self.emit("other", span_of(node), targets=tuple(targets), keyword="declare")

    def _typed_name(self, node: Node) -> None:
        """An interface, type or overload has no code, but its name is taken."""
        name = node.field("name")
        targets = () if name is None else (ir.Target(span_of(name), self.text(name)),)
        self.emit("other", span_of(node), targets=targets, keyword="type")
