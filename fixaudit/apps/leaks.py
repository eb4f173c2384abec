"""What an error handler tells the client: a stack trace, the error's own message, or neither.

Contract: a function's frame in; "stack", "message", "some" (the messages of errors that a condition chooses) or "none"
out, None when that cannot be read. What is sent only
outside production (a test of NODE_ENV, `app.debug`) is not sent.
This module must not know of applications or events.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from fixaudit.relations.base import Value
from fixaudit.resolve.names import Resolver
from fixaudit.resolve.scopes import expressions
from fixaudit.resolve.things import Definition, Frame
from fixaudit.source.ir import Call, Expr, FunctionRef, Logical, Member, Name, Object, Statement, Template, parts

SENDERS = frozenset({"json", "send", "end", "write", "render", "jsonp", "status", "sendStatus"})
RESPONSES = re.compile(r"(Response|jsonify|make_response|render_template|abort)$")
DEVELOPMENT = re.compile(r"NODE_ENV|\benv\b|is_?prod|is_?dev|production|development|\bdebug\b|DEBUG|ENVIRONMENT", re.I)
TELLING = frozenset({"message", "args", "toString", "original", "orig", "sqlMessage"})
STACK_CALLS = frozenset({"traceback#format_exc", "traceback#format_exception", "traceback#format_tb"})


def leaks_and_place(resolver: Resolver, function: Definition, depth: int = 2) -> tuple[str | None, Value | None]:
    """Say what a handler's answer holds of the error: "stack", "message", "some", "none"; None when it cannot be read.

    The second value is the place of the stack trace, when it is written in one place of the answer itself: its text is
    "answer" where the trace is the whole answer, "stack" where it is a part of one.
    """
    definition = function.frame.scopes.module.functions[function.index]
    frame = resolver.enter(function, None, None, function.frame.this)
    names = [target.name for target in definition.parameters if target.name not in ("self", "cls")]
    if not names or (frame.python and len(names) < 1):
        return None, None
    # Express gives the error first; Starlette gives (request, exc); Flask gives the error alone.
    error = names[min(1, len(names) - 1)] if frame.python else names[0]
    if error is None:
        return None, None
    reader = _Reader(resolver, frame, {error}, depth)
    found = "none"
    for statement in definition.body:
        found = _worse(found, reader.statement(statement))
    place = reader.places[0] if len(reader.places) == 1 and reader.places[0].span[0] > 0 else None
    if found == "none" and reader.some:
        found = "some"
    return (None if reader.hidden and found != "stack" else found), place


def _worse(left: str, right: str) -> str:
    order = ("none", "message", "stack")
    return max(left, right, key=order.index)


class _Reader:
    """Walks one handler. `errors` grows with the local names that hold parts of the error."""

    def __init__(self, resolver: Resolver, frame: Frame, errors: set[str], depth: int) -> None:
        self.resolver, self.frame, self.errors, self.depth = resolver, frame, errors, depth
        self.messages: set[str] = set()
        self.stacks: set[str] = set()
        self.hidden = False
        self.some = False
        self.places: list[Value] = []

    def statement(self, statement: Statement) -> str:
        guards = [
            self.resolver.source(self.frame, guard[1]) for guard in statement.guards if guard[0] in ("if", "else")
        ]
        if any(DEVELOPMENT.search(guard) for guard in guards):
            return "none"
        guarded = any(self._mentions(guard) for guard in guards)
        self._remember(statement)
        found = "none"
        if statement.kind == "return" and self.frame.python and statement.value is not None:
            if not (isinstance(statement.value, Call) and self._is_response(statement.value)):
                found = self.holds(statement.value)
        for expr in expressions(statement):
            if isinstance(expr, Call):
                found = _worse(found, self._call(expr))
        # `if (err instanceof ValidationError) return res.status(400).json({ error: err.message })` is meant for them.
        return "none" if guarded and found == "message" else found

    def _mentions(self, text: str) -> bool:
        return any(re.search(rf"(?<![\w$]){re.escape(name)}(?![\w$])", text) for name in self.errors)

    def _remember(self, statement: Statement) -> None:
        if statement.kind not in ("declare", "assign") or statement.value is None:
            return
        for target in statement.targets:
            member = target.member
            if member is not None and member.name is not None and isinstance(member.object, Member):
                # `res.locals.message = err.message`, then rendered
                if member.object.name == "locals":
                    self.messages.update({"res.locals"} if self.holds(statement.value) == "message" else ())
                continue
            if target.name is None:
                continue
            if target.path and isinstance(statement.value, Name) and statement.value.name in self.errors:
                last = target.path[-1]
                (self.stacks if last == "stack" else self.messages if last == "message" else set()).add(target.name)
                continue
            held = self.holds(statement.value)
            if isinstance(statement.value, Name) and statement.value.name in self.errors:
                self.errors.add(target.name)
            elif held == "stack":
                self.stacks.add(target.name)
            elif held == "message":
                self.messages.add(target.name)

    def _is_response(self, call: Call) -> bool:
        return RESPONSES.search(self.resolver.callee(call, self.frame)[0]) is not None

    def _call(self, call: Call) -> str:
        callee = call.callee
        if isinstance(callee, Member) and callee.name in SENDERS and not self.frame.python:
            found = "none"
            for argument in call.arguments:
                found = _worse(found, self.holds(argument.value, sent=True))
            if callee.name == "render" and "res.locals" in self.messages:
                found = _worse(found, "message")
            return found
        if self.frame.python and self._is_response(call):
            found = "none"
            for argument in call.arguments:
                found = _worse(found, self.holds(argument.value, sent=True))
            return found
        return self._passed_on(call)

    def _passed_on(self, call: Call) -> str:
        """`sendError(res, err)`: what does that function do with it?"""
        given = [i for i, a in enumerate(call.arguments) if isinstance(a.value, Name) and a.value.name in self.errors]
        sends = any(isinstance(a.value, Name) and a.value.name in ("res", "response", "reply") for a in call.arguments)
        if not given or not sends:
            return "none"
        thing = self.resolver.settle(self.resolver.resolve(call.callee, self.frame))
        if not isinstance(thing, Definition) or thing.kind != "function" or self.depth == 0:
            self.hidden = self.hidden or not (isinstance(call.callee, Name) and call.callee.name == "next")
            return "none"
        definition = thing.frame.scopes.module.functions[thing.index]
        names = {p.name for i, p in enumerate(definition.parameters) if i in given and p.name is not None}
        inner = _Reader(self.resolver, self.resolver.enter(thing, None, None), names, self.depth - 1)
        found = "none"
        for statement in definition.body:
            found = _worse(found, inner.statement(statement))
        self.hidden = self.hidden or inner.hidden
        self.some = self.some or inner.some
        return found

    def holds(self, expr: Expr, sent: bool = False) -> str:
        """Say what of the error an expression holds. `sent`: an error itself that is sent shows its fields."""
        found = "none"
        for part in self._visible(expr):
            held = self._one(part, sent)
            if held == "stack" and sent:
                whole = "answer" if part is expr else "stack"
                self.places.append(Value("string", whole, part.span, self.frame.path))
            found = _worse(found, held)
        return found

    def _visible(self, expr: Expr) -> Iterator[Expr]:
        """Walk an expression without the branches that development alone takes and without parts of other members."""
        if isinstance(expr, Logical):
            test = expr.test if expr.test is not None else expr.left
            text = self.resolver.source(self.frame, test.span)
            if expr.op != "or" and DEVELOPMENT.search(text):
                return
            if expr.op == "if" and expr.test is not None:
                # `status === 500 ? "Internal" : err.message` shows some messages, on purpose: not to be decided here.
                held = [self.holds(expr.left), self.holds(expr.right)]
                if "none" in held and held != ["none", "none"] and not self._mentions(text):
                    if "stack" not in held:
                        self.some = True
                        return
                elif "message" in held and self._mentions(text):
                    return
                yield from self._visible(expr.left)
                yield from self._visible(expr.right)
                return
        yield expr
        if isinstance(expr, Member | FunctionRef):
            return
        if isinstance(expr, Object):
            for entry in expr.entries:
                yield from self._visible(entry.value)
            return
        if isinstance(expr, Call):
            for argument in expr.arguments:
                yield from self._visible(argument.value)
            if isinstance(expr.callee, Member):
                yield from self._visible(expr.callee.object)
            return
        for part in parts(expr):
            yield from self._visible(part)

    def _one(self, expr: Expr, sent: bool) -> str:
        if isinstance(expr, Member) and isinstance(expr.object, Name) and expr.object.name in self.errors:
            if expr.name in ("stack", "__traceback__"):
                return "stack"
            return (
                "message" if expr.name in ("message", "args", "toString", "original", "orig", "sqlMessage") else "none"
            )
        if isinstance(expr, Name):
            if expr.name in self.stacks:
                return "stack"
            if expr.name in self.messages:
                return "message"
            return "message" if sent and expr.name in self.errors else "none"
        if isinstance(expr, Template):
            return "message" if any(isinstance(p, Name) and p.name in self.errors for p in expr.parts) else "none"
        if isinstance(expr, Call):
            text, _, _ = self.resolver.callee(expr, self.frame)
            if text in STACK_CALLS:
                return "stack"
            arguments = [a.value.name for a in expr.arguments if isinstance(a.value, Name)]
            if text in ("String", "str", "repr", "JSON.stringify", "util#inspect", "util#format"):
                return "message" if any(name in self.errors for name in arguments) else "none"
            if isinstance(expr.callee, Member) and isinstance(expr.callee.object, Name):
                if expr.callee.object.name in self.errors and expr.callee.name in ("toString", "toJSON"):
                    return "message"
        return "none"
