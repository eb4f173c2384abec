"""From an expression to what it means: through scopes, members, calls of the project's own functions, and imports.

Contract: `Resolver.resolve(expr, frame)` never raises and never guesses: what cannot be followed is `Opaque`. Imports
cost steps (one import two, one re-export one): `NEAR` allows one import and one re-export, which is what values may
take; `FAR` lets the identity of a function or application be found through a chain of index files.
This module must not know of relations or of any single package.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from fixaudit.resolve import binding as calls
from fixaudit.resolve import imports, members, naming
from fixaudit.resolve.files import Files
from fixaudit.resolve.scopes import Assignment, Binding
from fixaudit.resolve.things import Definition, Frame, Opaque, Package, Thing
from fixaudit.source.ir import (
    Argument,
    Call,
    ClassRef,
    Expr,
    FunctionRef,
    Import,
    Literal,
    Logical,
    Member,
    Name,
    Object,
    Other,
)
from fixaudit.source.ir import (
    Sequence as SequenceNode,
)

NEAR, FAR = 3, 12

MAX_DEPTH = 80
"""Nested resolutions before giving up; the deepest chain in the programs it was tried on was below 30."""

MAX_STEPS = 4000
"""Resolutions that one question may need: functions that call each other twice over would need exponentially many."""

MAX_REENTRIES = 2
"""How often one name may be met while it is being resolved: `m = m.default` needs it once more, and the n assignments
`query = query.where(…)` of a query builder would be gone through in all n! orders."""

MAX_OPTIONS = 16
"""Alternatives of one expression that are looked at."""

# Calls that give their first argument back.
SAME = frozenset({"Object.freeze", "Object.seal", "structuredClone", "copy#deepcopy", "copy#copy"})


@dataclass
class Resolver(Files):
    """Resolution over the files of one root."""

    _active: set[tuple[int, int]] = field(default_factory=set)
    _held: list[Frame] = field(default_factory=list)
    _spent: int = 0
    _nesting: int = 0
    _entered: Counter[tuple[int, int | str, int]] = field(default_factory=Counter, repr=False)
    _cuts: int = 0  # how often an answer was cut short; such answers depend on what was being asked around them
    _answers: dict[tuple[int, int, int], tuple[Thing, Expr, Frame]] = field(default_factory=dict, repr=False)
    _members: dict[tuple[int, str, int], tuple[Thing, Thing]] = field(default_factory=dict, repr=False)

    def begin(self) -> None:
        """Start the questions about one file: forget the paths that were touched, and the answers that rest on them.

        Answers are kept only so long because a remembered one touches nothing. Chains of calls ask for their beginnings
        again and again: without this, a query builder's chain of n calls costs n³ resolutions.
        """
        self.touched.clear()
        self._answers.clear()
        self._members.clear()

    # Frames

    def enter(self, function: Definition, call: Call | None, frame: Frame | None, this: Thing | None = None) -> Frame:
        """Return the frame of a function as one call (standing in `frame`) enters it."""
        outer = function.frame
        parameters = outer.scopes.module.functions[function.index].parameters
        arguments: dict[str, Thing] = {}
        known = call is not None and frame is not None
        if call is not None and frame is not None:
            arguments = calls.bind(self, function, call, frame)
        key = f"{frame.key}/{frame.path}@{call.span[0]}" if call is not None and frame is not None else ""
        called = known and bool(parameters) and not any(a.spread for a in (call.arguments if call else ()))
        return Frame(outer.path, outer.scopes, function.index, outer, arguments, this, key, called)

    # Resolution

    def resolve(self, expr: Expr, frame: Frame, steps: int = FAR) -> Thing:
        """Follow an expression to its end."""
        known = self._answers.get((id(expr), id(frame), steps))
        if known is not None:
            return known[0]
        key = (id(expr), id(frame))
        if key in self._active:
            self._cuts += 1
            return Opaque("it refers to itself")
        if not self._descend():
            return Opaque("it refers to itself")
        cuts = self._cuts
        self._active.add(key)
        self._held.append(frame)  # ids stay unique while a frame is alive
        self._nesting += 1
        try:
            found = self._resolve(expr, frame, steps)
        finally:
            self._nesting -= 1
            self._active.discard(key)
            self._held.pop()
        if self._cuts == cuts or not self._nesting:
            self._answers[id(expr), id(frame), steps] = (found, expr, frame)
        return found

    def _descend(self) -> bool:
        """Count one step of the question that is being answered; False when it has gone too deep or too far."""
        self._spent = self._spent + 1 if self._nesting else 0
        if self._nesting < MAX_DEPTH and self._spent < MAX_STEPS:
            return True
        self._cuts += 1
        return False

    def _resolve(self, expr: Expr, frame: Frame, steps: int) -> Thing:
        match expr:
            case Name(name=name):
                return self._name(name, frame, steps)
            case Member(object=inner, name=name):
                if name is None:
                    return self._computed(expr, frame, steps)
                return self.member(self.resolve(inner, frame, steps), name, steps)
            case Call():
                return self._call(expr, frame, steps)
            case FunctionRef(index=index):
                return Definition("function", frame, index)
            case ClassRef(index=index):
                return Definition("class", frame, index)
            case Other(kind="assignment_expression", parts=(_, value)):
                return self.resolve(value, frame, steps)
            case _:
                return Definition("value", frame, expr=expr)

    def _computed(self, expr: Member, frame: Frame, steps: int) -> Thing:
        key = expr.key
        if isinstance(key, Literal):
            inner = self.resolve(expr.object, frame, steps)
            return self.take(inner, (f"[{key.value}]" if isinstance(key.value, int) else str(key.value),), steps)
        return Opaque("a computed member")

    def _name(self, name: str, frame: Frame, steps: int) -> Thing:
        if name in ("this", "self", "cls"):
            found = self._this(name, frame)
            if found is not None:
                return found
        current: Frame | None = frame
        while current is not None:
            if name in current.arguments:
                return current.arguments[name]
            binding = current.scopes.tables.get(current.function, {}).get(name)
            if binding is not None:
                return self.binding(binding, current, steps)
            current = current.parent
        return Package("", name, (), frame.python)

    def _this(self, name: str, frame: Frame) -> Thing | None:
        if frame.python == (name == "this"):
            return None
        current: Frame | None = frame
        while current is not None:
            if current.this is not None:
                return current.this
            owner = current.scopes.owner_of(current.function) if current.function is not None else None
            if owner is not None:
                return Definition("instance", current.parent or current, owner)
            current = current.parent
        return None

    def binding(self, binding: Binding, frame: Frame, steps: int) -> Thing:
        """Return what a name is bound to in the frame of its scope."""
        if binding.parameter is not None and not binding.values:
            return self._parameter(binding, frame, steps)
        if binding.imports and not binding.values:
            # `try: import a except ImportError: import b`: the first is what a normal installation runs.
            return self.imported(binding.imports[0], frame, steps)
        if binding.functions and not binding.values:
            return Definition("function", frame, binding.functions[-1])
        if binding.classes and not binding.values:
            return Definition("class", frame, binding.classes[-1])
        key = (id(frame), id(binding), 0)
        things = self.each(key, lambda: [self._assigned(item, frame, steps) for item in binding.values])
        certain = len(things) == 1 and not binding.changed and binding.parameter is None
        if certain and not (binding.imports or binding.functions or binding.classes):
            return things[0]
        if binding.imports:
            things.insert(0, self.imported(binding.imports[0], frame, steps))
        return Opaque(f"{binding.name} is assigned more than once", tuple(things))

    def each(self, name: tuple[int, int | str, int], follow: Callable[[], list[Thing]]) -> list[Thing]:
        """Return what a name was assigned, unless it is being followed for the MAX_REENTRIES-th time already."""
        if self._entered[name] == MAX_REENTRIES:
            self._cuts += 1
            return [Opaque("it refers to itself")]
        self._entered[name] += 1
        try:
            return follow()
        finally:
            self._entered[name] -= 1

    def _assigned(self, assignment: Assignment, frame: Frame, steps: int) -> Thing:
        target, value, statement, scope = assignment
        at = self._inner(frame, scope)
        if value is None or any(guard[0] == "for" and _in(statement.span, guard[1]) for guard in statement.guards):
            return Opaque("an item of a loop")
        thing = self.take(self.resolve(value, at, steps), target.path, steps)
        if target.default is not None:
            thing = Opaque("a default", (thing, self.resolve(target.default, at, steps)))
        return thing

    def _inner(self, frame: Frame, scope: int | None) -> Frame:
        """Return the frame in which an assignment stands: this one, or a function inside of it."""
        if scope == frame.function:
            return frame
        return self.frame(frame.path, scope) or frame

    def _parameter(self, binding: Binding, frame: Frame, steps: int) -> Thing:
        assert binding.parameter is not None
        default = binding.parameter.default
        if default is None:
            return Opaque(f"{binding.name} is a parameter")
        thing = self.resolve(default, frame, steps)
        return thing if frame.called else Opaque(f"{binding.name} is a parameter", (thing,))

    def imported(self, item: Import, frame: Frame, steps: int = FAR) -> Thing:
        """Follow one import."""
        return imports.imported(self, item, frame, steps)

    def export(self, top: Frame, name: str, steps: int = FAR) -> Thing:
        """Return what a JavaScript file exports under a name."""
        return imports.export(self, top, name, steps)

    def settle(self, thing: Thing) -> Thing:
        """Return what a thing is when it is used as a value: a CommonJS module is what it assigns to its exports."""
        if isinstance(thing, Definition) and thing.kind == "module" and not thing.frame.python:
            module = thing.frame.scopes.module
            if module.system != "esm" and any(item.name == "default" for item in thing.frame.scopes.exports):
                return self.export(thing.frame, "default")
        return thing

    # Members

    def take(self, thing: Thing, path: Sequence[str], steps: int = FAR) -> Thing:
        """Follow a destructuring path: names, "[0]" for positions, "..." for a rest."""
        for part in path:
            if part.startswith("["):
                thing = self._item(thing, part, steps)
            elif part == "...":
                return Opaque("a rest element")
            else:
                thing = self.member(thing, part, steps)
        return thing

    def _item(self, thing: Thing, part: str, steps: int) -> Thing:
        thing = self.settle(thing)
        if isinstance(thing, Package):
            return thing.member(part)
        position = part[1:-1]
        if isinstance(thing, Definition) and isinstance(thing.expr, SequenceNode) and position.isdigit():
            items = thing.expr.items
            if thing.expr.complete and int(position) < len(items):
                return self.resolve(items[int(position)], thing.frame, steps)
        return Opaque("an item that cannot be read")

    def member(self, thing: Thing, name: str, steps: int = FAR) -> Thing:
        """Return the member `name` of a thing."""
        if isinstance(thing, Package):
            return thing.member(name)
        known = self._members.get((id(thing), name, steps))
        if known is not None:
            return known[0]
        if not self._descend():
            return Opaque("it refers to itself")
        cuts = self._cuts
        self._nesting += 1
        try:
            found = self._member(thing, name, steps)
        finally:
            self._nesting -= 1
        if self._cuts == cuts or not self._nesting:
            self._members[id(thing), name, steps] = (found, thing)
        return found

    def _member(self, thing: Thing, name: str, steps: int) -> Thing:
        match thing:
            case Package():
                return thing.member(name)
            case Opaque(alternatives=options):
                return Opaque(thing.reason, tuple(self.member(option, name, steps) for option in options[:MAX_OPTIONS]))
            case Definition(kind="module"):
                return members.module_member(self, thing, name, steps)
            case Definition(kind="instance" | "class"):
                return members.class_member(self, thing, name, steps)
            case Definition(kind="value", expr=Object() as expr):
                for entry in reversed(expr.entries):
                    if entry.key == name:
                        return self.resolve(entry.value, thing.frame, steps)
                return Opaque(f"no readable entry {name}")
            case Definition(kind="value", expr=Logical()):
                return Opaque("a choice", tuple(self.member(t, name, steps) for t in self.options(thing)))
        return Opaque(f"a member {name} of something that is computed")

    # Calls

    def _call(self, call: Call, frame: Frame, steps: int) -> Thing:
        required = self.required(call, frame, steps)
        if required is not None:
            return required
        callee = self.settle(self.resolve(call.callee, frame, steps))
        match callee:
            case Definition(kind="function"):
                this = callee.frame.this
                return self._returned_by(call, frame, self.enter(callee, call, frame, this), steps)
            case Definition(kind="class"):
                return self.instance(callee, call, frame)
            case Package():
                if callee.text in SAME and call.arguments and not call.arguments[0].spread:
                    return self.resolve(call.arguments[0].value, frame, steps)
        return Definition("value", frame, expr=call)

    def required(self, call: Call, frame: Frame, steps: int = FAR) -> Thing | None:
        """Return what `require("x")` or `import("x")` gives; None when the call is something else."""
        if frame.python or not (isinstance(call.callee, Name) and call.callee.name in ("require", "import")):
            return None
        if frame.scopes.lookup("require", frame.function) is not None:
            return None
        specifier = requirement(call)
        if specifier is None:
            return Opaque("an import whose path is computed")
        form = "require" if isinstance(call.callee, Name) and call.callee.name == "require" else "dynamic"
        return self.imported(Import(call.span, specifier, "*", None, form), frame, steps)

    def instance(self, thing: Definition, call: Call, frame: Frame) -> Definition:
        """Return the object that a call of a local class makes."""
        bare = Definition("instance", thing.frame, thing.index)
        constructor = members.constructor(bare)
        if constructor is None:
            return bare
        made = self.enter(Definition("function", thing.frame, constructor), call, frame, bare)
        full = Definition("instance", thing.frame, thing.index, made=made)
        made = Frame(made.path, made.scopes, made.function, made.parent, made.arguments, full, made.key, made.called)
        return Definition("instance", thing.frame, thing.index, made=made)

    def _returned_by(self, call: Call, frame: Frame, inner: Frame, steps: int) -> Thing:
        definition = inner.definition
        if definition is None or definition.is_generator:
            return Definition("value", frame, expr=call)
        found = self.returned(inner, steps)
        # A function whose result cannot be read is still a call of a known function.
        return found if not isinstance(found, Opaque) or found.alternatives else Definition("value", frame, expr=call)

    def returned(self, inner: Frame, steps: int = FAR) -> Thing:
        """Return what a function gives back, when it says so in one way."""
        definition = inner.definition
        assert definition is not None
        values = [s.value for s in definition.body if s.kind == "return" and s.value is not None]
        things = [self.resolve(value, inner, steps) for value in values]
        if len(things) == 1:
            return things[0]
        return Opaque("a function with several results", tuple(things))

    # Choices

    def options(self, thing: Thing) -> tuple[Thing, ...]:
        """Return everything that a thing may be: the branches of a choice, the alternatives of an opaque one."""
        found: list[Thing] = []
        self._collect(thing, found, 6)
        return tuple(found[:MAX_OPTIONS])

    def _collect(self, thing: Thing, found: list[Thing], depth: int) -> None:
        thing = self.settle(thing)
        branches: tuple[Thing, ...] = ()
        if len(found) < MAX_OPTIONS and depth and self._descend():
            self._nesting += 1
            if isinstance(thing, Opaque):
                branches = thing.alternatives
            elif isinstance(thing, Definition) and isinstance(thing.expr, Logical):
                sides = [thing.expr.right] if thing.expr.op == "and" else [thing.expr.left, thing.expr.right]
                branches = tuple(self.resolve(side, thing.frame) for side in sides)
            for branch in branches:
                self._collect(branch, found, depth - 1)
            self._nesting -= 1
        if not branches:
            found.append(thing)

    def callee(self, call: Call, frame: Frame) -> tuple[str, bool, Thing]:
        """Name what a call calls: (canonical text, whether it is certain, the thing).

        A method of what a package's call returned is named by that call: `new pg.Pool().query` is "pg#Pool.query".
        """
        return self.named(call.callee, frame)

    def named(self, expr: Expr, frame: Frame, depth: int = 8) -> tuple[str, bool, Thing]:
        """Name what an expression denotes, as `callee` does."""
        return naming.named(self, expr, frame, depth)


def _in(inner: tuple[int, int], outer: tuple[int, int]) -> bool:
    return outer[0] <= inner[0] and inner[1] <= outer[1]


def requirement(call: Call) -> str | None:
    """Return the literal specifier of `require("x")` or `import("x")`."""
    if not (isinstance(call.callee, Name) and call.callee.name in ("require", "import")):
        return None
    if len(call.arguments) != 1:
        return None
    value = call.arguments[0].value
    return value.value if isinstance(value, Literal) and isinstance(value.value, str) else None


def positional(arguments: Sequence[Argument]) -> list[Argument]:
    """Return the arguments without a keyword, up to the first spread."""
    found = []
    for argument in arguments:
        if argument.spread:
            break
        if argument.keyword is None:
            found.append(argument)
    return found
