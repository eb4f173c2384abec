"""Follow a program the way it starts, and gather what happens to its applications.

Contract: modules run once, imports first, functions where they are called with what they are called with; a loop runs
once; what only runs under a condition is marked. Functions that nothing visible calls run last, with nothing known of
their parameters, when they make an application or work on one. Nothing is executed: this reads syntax.
What a call on an application means is said by `express` and `asgi`; this module knows no framework.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from fixaudit.apps.model import Event, Owner
from fixaudit.apps.order import imports_of
from fixaudit.apps.owners import Registry
from fixaudit.resolve.members import constructor
from fixaudit.resolve.things import Definition, Frame, Opaque
from fixaudit.source.ir import (
    Call,
    Class,
    ClassRef,
    Expr,
    FunctionRef,
    Literal,
    Logical,
    Member,
    Name,
    Object,
    Other,
    Sequence,
    Span,
    Statement,
    parts,
    walk,
)

MAX_CALLS = 30_000
"""Calls that are followed in one root; the largest program it was tried on (80 files, a server) needed an eighth."""

MAX_DEPTH = 24

MAX_ITEMS = 100
"""Items of a list of routers that a loop is unrolled over."""

CONDITIONAL_GUARDS = frozenset({"if", "else", "except", "switch", "while"})
REPEATING_GUARDS = frozenset({"for", "while"})
EACH = ("forEach", "map")


@dataclass
class Machine(Registry):
    """One run over the modules at `relevant`, in order. `owners` is the result."""

    relevant: tuple[str, ...] = ()
    statement: Span = (0, 0)
    _started: set[str] = field(default_factory=set)
    _entered: set[tuple[str, int]] = field(default_factory=set)
    _stack: list[tuple[str, int]] = field(default_factory=list)
    exhausted: bool = False  # the program needed more than MAX_CALLS: events may be missing
    _inert: set[tuple[str, int, int]] = field(default_factory=set)
    _calls: int = 0
    _cut: int = 0

    def run(self) -> None:
        """Run every module, then the functions that nobody called."""
        self._relevant = set(self.relevant)
        imported = {target for path in self.relevant for target in imports_of(self.resolver, path) if target != path}
        # A program starts at a file that nothing imports; what is left after those imports itself in a circle.
        for path in (*(p for p in self.relevant if p not in imported), *self.relevant):
            self.module(path)
        for path in self.relevant:
            self._uncalled(path)

    # Modules and statements

    def module(self, path: str) -> None:
        """Run a module once; modules that have nothing to do with applications are not run."""
        if path in self._started or path not in self._relevant:
            return
        self._started.add(path)
        frame = self.resolver.frame(path)
        if frame is None:
            return
        saved = self.statement, self.conditional, self.repeated
        self.conditional = self.repeated = 0
        module = frame.scopes.module
        if module.system == "esm":
            for item in module.imports:
                if item.form == "import" and item.scope is None and not item.type_only:
                    self._import(item.module, frame)
            for export in module.exports:
                if export.module is not None:
                    self._import(export.module, frame)
        self._body(module.body, frame)
        self.statement, self.conditional, self.repeated = saved

    def _import(self, specifier: str, frame: Frame) -> None:
        place = self.resolver.locator.place(frame.path, specifier, frame.python)
        path = getattr(place, "path", None)
        if isinstance(path, str):
            self.module(path)

    def _body(self, body: tuple[Statement, ...], frame: Frame) -> None:
        position = 0
        while position < len(body):
            loop = self._loop(body, position, frame)
            if loop is None:
                self._statement(body[position], frame)
                position += 1
                continue
            end, frames = loop
            for inner in frames:
                for statement in body[position:end]:
                    self._statement(statement, inner)
            position = end

    def _loop(self, body: tuple[Statement, ...], start: int, frame: Frame) -> tuple[int, list[Frame]] | None:
        """Unroll `for (const { path, router } of routes)` when the items of `routes` can be read.

        Returns the end of the loop's statements and one frame for each item; None: the statement begins no such loop.
        """
        first = body[start]
        loops = [guard for guard in first.guards if guard[0] == "for"]
        if not loops or first.kind not in ("declare", "assign") or first.value is not None or not first.targets:
            return None
        guard = loops[-1]
        if not _inside(first.span, guard[1]) or start == 0:
            return None
        source = body[start - 1].value
        if source is None or not _inside(source.span, guard[1]):
            return None
        items = self._items(source, frame)
        if items is None:
            return None
        end = start + 1
        while end < len(body) and guard in body[end].guards:
            end += 1
        frames = []
        for item, at in items:
            thing = self.resolver.resolve(item, at)
            bound = {t.name: self.resolver.take(thing, t.path) for t in first.targets if t.name is not None}
            arguments = {**frame.arguments, **bound}
            frames.append(replace(frame, arguments=arguments))
        return end, frames

    def _items(self, expr: Expr, frame: Frame) -> list[tuple[Expr, Frame]] | None:
        """Return the items of a list that can be read, each with the frame it stands in."""
        thing = self.resolver.settle(self.resolver.resolve(expr, frame))
        if isinstance(thing, Definition) and isinstance(thing.expr, Sequence) and thing.expr.complete:
            if len(thing.expr.items) <= MAX_ITEMS:
                return [(item, thing.frame) for item in thing.expr.items]
        return None

    def _statement(self, statement: Statement, frame: Frame) -> None:
        outer, self.statement = self.statement, statement.span
        conditional = any(guard[0] in CONDITIONAL_GUARDS for guard in statement.guards)
        repeated = any(guard[0] in REPEATING_GUARDS for guard in statement.guards)
        self.conditional += conditional
        self.repeated += repeated
        if statement.kind == "import":
            for item in frame.scopes.imports_at.get(statement.span, ()):
                if frame.python:
                    self._python_import(item.module, item.export, frame)
                elif not item.type_only:
                    self._import(item.module, frame)
        elif statement.kind in ("function", "class") and statement.index is not None:
            self._definition(statement, frame)
        else:
            self._name_creation(statement, frame)
            for target in statement.targets:
                self.visit(target.default, frame)
                for framework in self.frameworks:
                    framework.assigned(self, target, statement.value, frame)
            self.visit(statement.value, frame)
        self.conditional -= conditional
        self.repeated -= repeated
        self.statement = outer

    def _python_import(self, module: str, export: str, frame: Frame) -> None:
        self._import(module, frame)
        if export not in ("*", ""):
            joined = f"{module}{export}" if module.endswith(".") else f"{module}.{export}"
            self._import(joined, frame)

    def _definition(self, statement: Statement, frame: Frame) -> None:
        module = frame.scopes.module
        index = statement.index
        assert index is not None
        if statement.kind == "function":
            decorators = module.functions[index].decorators
            for decorator in decorators:
                self.visit_parts(decorator, frame)
            # Decorators are applied from the last to the first.
            for decorator in reversed(decorators):
                for framework in self.frameworks:
                    framework.decorated(self, decorator, Definition("function", frame, index), frame)
            return
        class_: Class = module.classes[index]
        for field_ in class_.fields:
            if field_.keyword and "static" not in field_.keyword and not frame.python:
                continue
            self._statement(field_, frame)
        for method in class_.methods:
            for decorator in module.functions[method].decorators:
                for framework in self.frameworks:
                    framework.decorated(self, decorator, Definition("function", frame, method), frame)

    def _name_creation(self, statement: Statement, frame: Frame) -> None:
        """Remember what name an application is bound to."""
        value = statement.value
        while isinstance(value, Other) and value.kind == "assignment_expression":
            value = value.parts[-1]
        if isinstance(value, Call) and len(statement.targets) >= 1:
            target = statement.targets[0]
            name = target.name
            if name is None and target.member is not None:
                name = self.resolver.source(frame, target.member.span)
            if name is not None:
                inner: Expr = value
                while isinstance(inner, Call) and isinstance(inner.callee, Member):
                    self._names.setdefault((frame.path, inner.span), name)
                    inner = inner.callee.object
                self._names.setdefault((frame.path, inner.span), name)

    # Expressions

    def visit(self, expr: Expr | None, frame: Frame) -> None:
        """Run an expression: its parts in order, then the call that it is."""
        match expr:
            case None | Literal() | Name() | FunctionRef():
                return
            case Logical(op=op, left=left, right=right, test=test):
                self.visit(test, frame)
                self.conditional += op == "if"
                self.visit(left, frame)
                self.conditional += op != "if"
                self.visit(right, frame)
                self.conditional -= 1
            case Call():
                self.visit_parts(expr, frame)
                self._call(expr, frame)
            case _:
                for part in parts(expr):
                    self.visit(part, frame)

    def visit_parts(self, expr: Expr, frame: Frame) -> None:
        """Run what stands inside of an expression, not the expression itself."""
        for part in parts(expr):
            self.visit(part, frame)

    def _call(self, call: Call, frame: Frame) -> None:
        self._calls += 1
        if self._calls > MAX_CALLS or len(self._stack) > MAX_DEPTH:
            self.exhausted = self.exhausted or self._calls > MAX_CALLS
            self._cut += 1
            return
        required = self.resolver.required(call, frame)
        if required is not None:
            if isinstance(required, Definition) and required.kind == "module":
                self.module(required.path)
            return
        for framework in self.frameworks:
            if framework.call(self, call, frame):
                return
        callee = self.resolver.settle(self.resolver.resolve(call.callee, frame))
        if isinstance(callee, Definition) and callee.kind == "function":
            if self._worth(callee, call, frame):
                self._enter_once(callee, call, frame)
            else:
                self._callbacks(call, frame)
            return
        if isinstance(callee, Definition) and callee.kind == "class":
            self._instantiate(callee, call, frame)
            return
        for framework in self.frameworks:
            framework.given(self, call, callee, frame)
        self._callbacks(call, frame)

    def _enter_once(self, callee: Definition, call: Call, frame: Frame) -> None:
        """Enter a function, but not again when it did nothing and is given nothing that could change that."""
        this = callee.frame.this
        mark = (callee.path, callee.index, this.index if isinstance(this, Definition) else -1)
        plain = all(self._is_plain(argument.value, frame) for argument in call.arguments)
        if plain and mark in self._inert:
            return
        emitted, cut = self.emitted, self._cut
        self.enter(callee, call, frame)
        if plain and (emitted, cut) == (self.emitted, self._cut):
            self._inert.add(mark)

    def _is_plain(self, expr: Expr, frame: Frame, depth: int = 4) -> bool:
        """Whether an argument is surely no function, object of a class or application, and holds none."""
        if isinstance(expr, FunctionRef | ClassRef) or depth == 0:
            return False
        if isinstance(expr, Object | Sequence):
            return all(self._is_plain(part, frame, depth - 1) for part in parts(expr))
        if not isinstance(expr, Name | Member | Call):
            return True
        thing = self.resolver.settle(self.resolver.resolve(expr, frame))
        if isinstance(thing, Definition):
            if thing.kind != "value" or self.owner_of(thing) is not None:
                return False
            inner = thing.expr
            return inner is None or isinstance(inner, Call) or self._is_plain(inner, thing.frame, depth - 1)
        return not (isinstance(thing, Opaque) and thing.alternatives)

    def _worth(self, callee: Definition, call: Call, frame: Frame) -> bool:
        """Only functions of relevant modules, or that are given an application, can do anything to one."""
        return callee.path in self._relevant or any(True for _ in self.given(call, frame))

    def given(self, call: Call, frame: Frame) -> Iterator[tuple[Owner, Expr]]:
        """Yield applications among a call's arguments, directly or as an entry of an object."""
        for argument in call.arguments:
            value = argument.value
            candidates = [e.value for e in value.entries] if isinstance(value, Object) else [value]
            for candidate in candidates:
                if isinstance(candidate, Name | Member | Call):
                    owner = self.owner(candidate, frame)
                    if owner is not None:
                        yield owner, candidate

    def enter(self, function: Definition, call: Call | None, frame: Frame | None) -> None:
        """Run a function's body as one call enters it; a function that is already running is not entered again."""
        mark = (function.path, function.index)
        if mark in self._stack:
            return
        self._stack.append(mark)
        self._entered.add(mark)
        inner = self.resolver.enter(function, call, frame, function.frame.this)
        definition = inner.definition
        assert definition is not None
        self._body(definition.body, inner)
        self._stack.pop()

    def _instantiate(self, callee: Definition, call: Call, frame: Frame) -> None:
        thing = self.resolver.instance(callee, call, frame)
        tables = callee.frame.scopes
        if callee.path not in self._relevant and not any(True for _ in self.given(call, frame)):
            return
        mark = (callee.path, -1 - callee.index)
        if mark in self._stack:
            return
        self._stack.append(mark)
        owner = self.subclass(thing)
        if owner is not None and owner.kind == "app":
            self.emit(owner, Event("app", frame.path, call.span, self.statement, owner.name))
        inner = Frame(callee.path, tables, callee.frame.function, callee.frame.parent, {}, thing)
        for field_ in tables.module.classes[callee.index].fields:
            if "static" not in field_.keyword:
                self._statement(field_, inner)
        maker = constructor(thing)
        if maker is not None and thing.made is not None:
            self._entered.add((callee.path, maker))
            self._body(tables.module.functions[maker].body, thing.made)
        else:
            self._inherited(callee, call, frame, thing)
        self._stack.pop()

    def _inherited(self, callee: Definition, call: Call, frame: Frame, thing: Definition) -> None:
        for base in callee.frame.scopes.module.classes[callee.index].bases:
            parent = self.resolver.resolve(base, callee.frame)
            if isinstance(parent, Definition) and parent.kind == "class":
                self._instantiate(parent, call, frame)

    def _callbacks(self, call: Call, frame: Frame) -> None:
        """`connect().then(() => app.listen(3000))`: what is handed to an unknown call runs some time."""
        items = self._each(call, frame)
        repeated = isinstance(call.callee, Member) and call.callee.name in EACH
        self.repeated += repeated
        for argument in call.arguments:
            if isinstance(argument.value, FunctionRef | Name | Member):
                thing = self.resolver.settle(self.resolver.resolve(argument.value, frame))
                if not (isinstance(thing, Definition) and thing.kind == "function" and thing.path in self._relevant):
                    continue
                if items is None:
                    self.enter(thing, None, None)
                for item, at in items or ():
                    made = Call(item.span, call.callee, (type(argument)(item.span, item),), item.span)
                    self.enter(thing, made, at)
        self.repeated -= repeated

    def _each(self, call: Call, frame: Frame) -> list[tuple[Expr, Frame]] | None:
        """Return the items of `routes.forEach(f)` when they can be read."""
        if not (isinstance(call.callee, Member) and call.callee.name in EACH):
            return None
        return self._items(call.callee.object, frame)

    # What nobody called

    def _uncalled(self, path: str) -> None:
        frame = self.resolver.frame(path)
        if frame is None:
            return
        module = frame.scopes.module
        for index, function in enumerate(module.functions):
            if (path, index) in self._entered or not self._touches(index, frame, function.body):
                continue
            outer = self.resolver.frame(path, function.parent)
            if outer is None:
                continue
            self.enter(Definition("function", outer, index), None, None)

    def _touches(self, index: int, frame: Frame, body: tuple[Statement, ...]) -> bool:
        """Whether a function makes an application or calls something of one that it did not get as a parameter."""
        inner = self.resolver.frame(frame.path, index)
        if inner is None:
            return False
        for statement in body:
            for expr in walk(statement.value):
                if not isinstance(expr, Call) or not self._may_concern(expr, inner):
                    continue
                if any(framework.concerns(self, expr, inner) for framework in self.frameworks):
                    return True
                made = self.resolver.resolve(expr, inner)
                if isinstance(made, Definition) and made.kind == "instance" and self.subclass(made) is not None:
                    return True
        return False

    def _may_concern(self, call: Call, frame: Frame) -> bool:
        """A cheap first look: most calls of a program are of methods, or of functions of its own."""
        callee = call.callee
        if isinstance(callee, Member):
            name = callee.name or ""
            return name[:1].isupper() or any(name in framework.methods for framework in self.frameworks)
        if isinstance(callee, Name):
            binding = frame.scopes.lookup(callee.name, frame.function)
            return binding is not None and not binding.functions
        return True


def _inside(inner: Span, outer: Span) -> bool:
    return outer[0] <= inner[0] and inner[1] <= outer[1]
