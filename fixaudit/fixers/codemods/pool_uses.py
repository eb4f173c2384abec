"""How a program uses one connection or pool: every place of its name, and what may move to the module's top level.

Contract: pure, over one file's model; a use that is not understood is told apart from those that are, so that the
caller can refuse. This module must not know of drivers or of rules.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from fixaudit.fixers.program import Program
from fixaudit.resolve import scopes as scoping
from fixaudit.resolve.scopes import Binding, ScopeIndex, Scopes
from fixaudit.resolve.sites import Site, sites
from fixaudit.source.ir import Call, Expr, FunctionRef, Member, Name, Span, Statement, walk
from fixaudit.text import Edit

RECEIVERS = frozenset({"this", "self", "cls", "super", "arguments"})


@dataclass(frozen=True, slots=True)
class Use:
    """One place of a name. `method` and `call` are set for `name.method(…)`; anything else lets the value escape."""

    span: Span
    site: Site
    method: str | None = None
    call: Call | None = None

    @property
    def alone(self) -> bool:
        """Whether the call is a statement of its own and takes no arguments: `await client.end();`."""
        statement = self.site.statement
        return (
            self.call is not None
            and not self.call.arguments
            and statement is not None
            and statement.kind == "expression"
            and statement.value is self.call
        )


@dataclass(frozen=True)
class Made:
    """The statement that makes a connection or pool, and every use of the name that it is bound to."""

    program: Program
    scopes: Scopes
    call: Call
    statement: Statement
    scope: ScopeIndex
    binding: Binding
    uses: tuple[Use, ...]

    @property
    def name(self) -> str:
        return self.binding.name

    @property
    def content(self) -> str:
        return self.program.text.content

    @property
    def body(self) -> tuple[Statement, ...]:
        module = self.scopes.module
        return module.body if self.scope is None else module.functions[self.scope].body


def made_at(program: Program, span: Span) -> Made | str:
    """Find the call at a span with the one plain name that it is bound to; a sentence where it is not so plain."""
    scopes = scoping.index(program.module)
    for site in sites(program.module):
        call = next((node for node in walk(site.expr) if isinstance(node, Call) and node.span == span), None)
        if call is None:
            continue
        statement = site.statement
        if statement is None or statement.value is not call or statement.kind not in ("declare", "assign"):
            return "what it makes is not bound to a name first"
        target = statement.targets[0] if len(statement.targets) == 1 else None
        if target is None or target.name is None or target.path or target.annotation is not None:
            return "what it makes is not bound to one plain name"
        binding = scopes.lookup(target.name, site.scope)
        if binding is None or binding.scope != site.scope or len(binding.values) != 1 or binding.changed:
            return f"{target.name} is bound more than once"
        uses = tuple(uses_of(scopes, binding))
        if _written(program, binding.name, scopes, binding.scope) != len(uses) + 1:
            return f"{target.name} is used in a way that is not followed"
        return Made(program, scopes, call, statement, site.scope, binding, uses)
    return "the call was not found again"


def uses_of(scopes: Scopes, binding: Binding) -> Iterator[Use]:
    """Yield every place where a name means this binding, in order."""
    found: dict[Span, Use] = {}
    for site in sites(scopes.module):
        for node in walk(site.expr):
            if isinstance(node, Call) and isinstance(node.callee, Member) and isinstance(node.callee.object, Name):
                name = node.callee.object
                if name.name == binding.name and scopes.lookup(name.name, site.scope) is binding:
                    found[name.span] = Use(name.span, site, node.callee.name, node)
            elif isinstance(node, Name) and node.name == binding.name and node.span not in found:
                if scopes.lookup(node.name, site.scope) is binding:
                    found[node.span] = Use(node.span, site)
    for export in scopes.exports:
        value = export.value
        if isinstance(value, Name) and value.name == binding.name and binding.scope is None:
            found.setdefault(value.span, Use(value.span, Site(value, None)))
    yield from (found[span] for span in sorted(found))


def _written(program: Program, name: str, scopes: Scopes, scope: ScopeIndex) -> int:
    """Count the places of a name in its scope's text, so that one which the model drops (a type) is not overlooked."""
    from fixaudit.syntax import parse, span_of

    inside = (0, len(program.text.content)) if scope is None else scopes.module.functions[scope].span
    shadows = [
        function.span
        for index, function in enumerate(scopes.module.functions)
        if index != scope and name in scopes.tables.get(index, {}) and inside[0] <= function.span[0] < inside[1]
    ]
    count = 0
    kinds = ("identifier", "shorthand_property_identifier", "type_identifier")
    tree = parse(program.text.content, program.language)
    for kind in kinds[:1] if program.family == "python" else kinds:
        for node in tree.nodes(kind):
            start, end = span_of(node)
            if node.text() != name or not inside[0] <= start < inside[1]:
                continue
            if any(low <= start < high for low, high in shadows):
                continue
            # In Python the name behind a dot and a keyword argument's name are identifiers as well.
            before, after = program.text.content[:start].rstrip(), program.text.content[end:].lstrip()
            keyword = before.endswith(("(", ",")) and after.startswith("=") and not after.startswith("==")
            if program.family == "python" and (before.endswith(".") or keyword):
                continue
            count += 1
    return count


def anchor_of(made: Made) -> Statement | None:
    """Return the unconditional statement of the module's top level that holds the call."""
    start, end = made.call.span
    around = [s for s in made.scopes.module.body if s.span[0] <= start and end <= s.span[1] and not s.guards]
    return min(around, key=lambda s: s.span[1] - s.span[0], default=None)


def stays_put(made: Made, expr: Expr, anchor: Statement) -> str | None:
    """Say in words why an expression would not mean the same at the top level, before `anchor`; None where it does."""
    module = made.scopes.module
    for node in walk(expr):
        if isinstance(node, FunctionRef):
            return "its options hold a function"
        if isinstance(node, Name):
            if node.name in RECEIVERS:
                return f"its options come from `{node.name}`"
            binding = made.scopes.lookup(node.name, made.scope)
            if binding is None:
                continue
            if binding.scope is not None:
                return f"its options come from `{node.name}`, which belongs to the function"
            single = len(binding.values) + len(binding.imports) + len(binding.functions) + len(binding.classes) == 1
            if binding.changed or not single or any(scope is not None for *_, scope in binding.values):
                return f"`{node.name}` may change while the program runs"
            hoisted = module.language != "python" and not binding.values and not binding.classes
            places = [statement.span for _, _, statement, _ in binding.values]
            places += [item.statement for item in binding.imports]
            places += [module.functions[i].span for i in binding.functions]
            places += [module.classes[i].span for i in binding.classes]
            commonjs = any(item.form == "require" for item in binding.imports)
            if (not hoisted or commonjs) and any(end > anchor.span[0] for _, end in places):
                return f"`{node.name}` is only bound further down"
    return None


def is_free(made: Made, name: str) -> bool:
    """Say whether the module's top level can bind a name without catching what somebody else means by it."""
    module = made.scopes.module
    if name in made.scopes.tables[None]:
        return False
    if made.program.family == "javascript":
        from fixaudit.source.javascript_style import bindings

        if name in bindings(module)[None]:  # types, too
            return False
    for site in sites(module):
        for node in walk(site.expr):
            if isinstance(node, Name) and node.name == name and made.scopes.lookup(name, site.scope) is None:
                return False
    return True


def awaits(call: Call, content: str) -> Span:
    """Return the span of a call together with the `await` in front of it."""
    match = re.search(r"\bawait\s+$", content[: call.span[0]])
    return (match.start(), call.span[1]) if match else call.span


def cut(made: Made, statement: Statement) -> tuple[str, Edit] | str:
    """Take a statement out with the comments above and behind it: (code without its indentation, edit)."""
    text, content = made.program.text, made.content
    lines = text.lines
    start, end = lines.line_start(statement.span[0]), lines.next_line(statement.span[1] - 1)
    rest = content[statement.span[1] : end].strip()
    if content[start : statement.span[0]].strip() or (rest and not rest.startswith(("//", "#"))):
        return "it shares its line with something else"
    own = {lines.line_start(c.span[0]) for c in made.scopes.module.comments if c.own_line and "\n" not in c.text}
    while start > 0 and lines.line_start(start - 1) in own:
        start = lines.line_start(start - 1)
    block = content[start:end].replace("\r\n", "\n").rstrip("\n")
    if "`" in block or '"""' in block or "'''" in block:
        return "its options hold a text of several lines"
    indents = [len(line) - len(line.lstrip()) for line in block.split("\n") if line.strip()]
    code = "\n".join(line[min(indents) :] for line in block.split("\n"))
    before = content[:start].rstrip(" \t\r\n")
    opens = before.endswith(("{", ":")) or content[len(before) : start].count("\n") > 1
    if opens and not content[end : lines.line_end(end)].strip() and end < len(content):
        end = lines.next_line(end)  # the blank line below it
    return code, Edit(start, end, content[start:end], "")


def removed(made: Made, statement: Statement) -> tuple[Edit, ...] | str:
    """Remove a statement that is not the only one of its block."""
    depth = len(statement.guards)
    owner = next(
        (b for _, b in scoping.bodies(made.scopes.module) if any(other is statement for other in b)), made.body
    )
    if not any(other is not statement and other.guards[:depth] == statement.guards for other in owner):
        return "a block would be left empty"
    edits = made.program.remove(statement.span)
    return edits if isinstance(edits, tuple) else edits.sentence


def joined(edits: list[Edit], content: str) -> tuple[Edit, ...]:
    """Order edits, and make one of deletions that overlap (two statements that both take the blank line between)."""
    result: list[Edit] = []
    for edit in sorted(edits):
        last = result[-1] if result else None
        if last is not None and edit.start < last.end and not last.replacement and not edit.replacement:
            end = max(last.end, edit.end)
            result[-1] = Edit(last.start, end, content[last.start : end], "")
        else:
            result.append(edit)
    return tuple(result)
