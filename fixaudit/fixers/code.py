"""Steps that change what a finding's row points at: replace, remove, add_argument, ensure_import.

Contract: a capture is a place of the finding's row: a span by name (`VALUE`, `STATEMENT`, `ROW` for all of it) or a
value of its call (`option.origin`, `argument.0`, the literal that one falls back to: `option.origin.fallback`), which
may stand in another file. The smallest text is replaced; comments are never lost; code takes the file's style, and
what it names is brought into scope.
This module must not know of any single rule.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fixaudit.fixers.base import Planned, Refusal, Situation, StepKind
from fixaudit.fixers.expressions import fitted, is_value
from fixaudit.fixers.program import Code, Program, open_program
from fixaudit.fixers.support import NAME, TEXT, closed, edited, fill
from fixaudit.relations.base import Row, Value
from fixaudit.rulebook.template import Application, Template, parse
from fixaudit.source.ir import Module, Span
from fixaudit.text import Edit

ONE_IMPORT = closed(("package",), package=NAME, export=NAME, **{"as": NAME})
IMPORTS: Mapping[str, Any] = {"type": "object", "additionalProperties": ONE_IMPORT}


PLACES = frozenset(
    (
        *("ROW", "STATEMENT", "CALL", "CALLEE", "RECEIVER", "ARGUMENTS", "OPTIONS", "READ", "SQL", "EXPORT", "FROM"),
        *("WHOLE", "PART", "VALUE", "TARGET", "ANNOTATION", "FALLBACK"),
    )
)
"""Places that rows may have besides those of their columns; `ROW` is all of it."""


@dataclass(frozen=True, slots=True)
class Spot:
    """A captured place: the file, the span in it, and its text."""

    program: Program
    span: Span

    @property
    def text(self) -> str:
        return self.program.text.content[slice(*self.span)]


def spot(situation: Situation, capture: str) -> Spot | Refusal:
    """Find the place of a capture."""
    row = situation.target.row
    place = _place(row, capture) if row else None
    if place is None:
        return Refusal(f"{capture} is not written in the code that was found", code="shape")
    program = open_program(situation.facts, place[0])
    return program if isinstance(program, Refusal) else Spot(program, place[1])


def _place(row: Row, capture: str) -> tuple[str, Span] | None:
    if capture == "ROW":
        return row.path, row.span
    if capture in row.spans:
        return row.path, row.spans[capture]
    head, *rest = capture.split(".")
    value: Value | None = row.nested.get(head)
    path = row.path
    for name in rest:
        if value is None:
            return None
        path = value.path or path
        if name == "fallback":
            value = _fallback(value)
        elif value.kind == "list" and name.isdecimal():
            value = value.items[int(name)] if int(name) < len(value.items) else None
        else:
            value = value.entries.get(name)
    if value is None or value.span == (0, 0):
        return None
    return value.path or path, value.span


def _fallback(value: Value) -> Value | None:
    """Return the literal that an expression falls back to: `"*"` of `process.env.X || "*"`, `getenv("X", "*")`."""
    while value.kind in ("either", "env", "list") and value.items:
        if value.kind == "list" and len(value.items) > 1:
            return None
        value = value.items[-1]
    return value if value.kind in ("string", "number", "boolean") else None


def written(
    template: str, situation: Situation, program: Program, imports: Mapping[str, Any], at: Span, **more: Any
) -> Code:
    """Fill in a template of code for one place: its imports become names, `env(…)` reads in the file's language."""
    before = at[0] if runs_at_import(program.module, at) else None
    bound: dict[str, str] = {}
    edits: list[Edit] = []
    current = program
    for name, wanted in imports.items():
        package, export = str(fill(wanted["package"], situation)), wanted.get("export", "default")
        # Each import is put beside those before it: two names of one module share a line.
        shifted = None if before is None else before + len(current.text.content) - len(program.text.content)
        code = current.ensure_import(package, export, wanted.get("as"), hint=name, before=shifted)
        bound[name] = code.code
        edits = list(code.edits)
        if len(imports) > 1:
            current = current.after(code.edits)
            edits = list(program.edits_to(current.text.content))
    functions = _functions(program, edits, before, alone=_is_one_call(template))
    return Code(str(fill(template, situation, functions, **bound, **more)), tuple(edits))


def runs_at_import(module: Module, span: Span) -> bool:
    """Say whether a place is evaluated while its file is loaded: it is outside of every function's body."""
    return not any(f.body_span[0] <= span[0] and span[1] <= f.body_span[1] for f in module.functions)


def _is_one_call(template: str) -> bool:
    parsed = parse(template)
    return isinstance(parsed, Template) and len(parsed.parts) == 1 and isinstance(parsed.parts[0], Application)


def _functions(
    program: Program, edits: list[Edit], before: int | None, *, alone: bool
) -> dict[str, Callable[..., str]]:
    def read(key: str, required: bool, default: str) -> str:
        code = program.env_read(key, required=required, default=default, before=before)
        edits.extend(code.edits)
        loose = " " in code.code and program.family == "javascript"
        return f"({code.code})" if loose and not alone else code.code

    return {
        "env": lambda key: read(key, True, ""),
        "env_optional": lambda key, default="": read(key, False, default),
    }


def _replace(arguments: Mapping[str, Any], situation: Situation) -> Planned:
    place = spot(situation, arguments["capture"])
    if isinstance(place, Refusal):
        return place
    program = place.program
    if not is_value(program.text.content, program.language, place.span) and not arguments.get("whole"):
        return _constant(program, place.span)
    template = str(arguments["with"])
    code = written(template, situation, program, arguments.get("imports", {}), place.span, original=place.text)
    if _loses_comment(place, code.code):
        return Refusal(f"{_where(place)}: a comment would be lost", code="shape")
    # What stands there already keeps its own style; what is put around it takes the file's.
    pieces = code.code.split(place.text) if place.text else [code.code]
    styled = place.text.join(program.styled(piece) for piece in pieces)
    new = styled
    if not arguments.get("whole"):
        new = fitted(styled, program.text.content, program.language, place.span)
    edit = Edit(*place.span, place.text, new.replace("\n", program.text.newline))
    return edited(program.path, (*code.edits, edit))


def _constant(program: Program, span: Span) -> Refusal:
    line = program.text.lines.position(span[0])[0]
    return Refusal(f"{program.path}:{line}: the language wants a constant there", code="shape")


def _where(place: Spot) -> str:
    return f"{place.program.path}:{place.program.text.lines.position(place.span[0])[0]}"


def _loses_comment(place: Spot, code: str) -> bool:
    inside = [c for c in place.program.module.comments if place.span[0] <= c.span[0] < place.span[1]]
    return any(comment.text not in code for comment in inside)


def _remove(arguments: Mapping[str, Any], situation: Situation) -> Planned:
    place = spot(situation, arguments["capture"])
    if isinstance(place, Refusal):
        return place
    edits = place.program.remove(place.span)
    return edits if isinstance(edits, Refusal) else edited(place.program.path, edits)


def _add_argument(arguments: Mapping[str, Any], situation: Situation) -> Planned:
    place = spot(situation, arguments["capture"])
    if isinstance(place, Refusal):
        return place
    program = place.program
    name = str(fill(arguments["name"], situation))
    template = arguments["value"]
    if not isinstance(template, str):
        template = _constant_code(template, program.family)
    code = written(template, situation, program, arguments.get("imports", {}), place.span)
    if arguments.get("replace"):
        held = spot(situation, f"option.{name}")
        if isinstance(held, Spot):
            if held.program.path != program.path:
                return edited(held.program.path, (Edit(*held.span, held.text, program.styled(code.code)),))
            return edited(program.path, (*code.edits, Edit(*held.span, held.text, program.styled(code.code))))
    edits = program.add_argument(place.span, name, code.code, position=arguments.get("position", 0))
    return edits if isinstance(edits, Refusal) else edited(program.path, (*code.edits, *edits))


def _constant_code(value: Any, family: str) -> str:
    """Write a number, flag or nothing as the language does."""
    if isinstance(value, bool):
        return str(value) if family == "python" else str(value).lower()
    if value is None:
        return "None" if family == "python" else "null"
    return str(value)


def _ensure_import(arguments: Mapping[str, Any], situation: Situation) -> Planned:
    target = situation.target
    path = target.row.path if target.row else target.path
    if path is None:
        return Refusal("the finding points at no program", code="shape")
    program = open_program(situation.facts, path)
    if isinstance(program, Refusal):
        return program
    package = str(fill(arguments["package"], situation))
    code = program.ensure_import(package, arguments.get("export", "default"), arguments.get("as"))
    return edited(path, code.edits)


_CAPTURE = {"type": "string", "pattern": r"^([A-Z][A-Z0-9_]*|(option|argument)(\.[^.]+)*)$"}
_SCALAR = {"type": ["string", "number", "boolean", "null"]}

STEPS = (
    StepKind(
        "replace",
        "Put an expression in the place of a captured one (`original` is its text): in brackets where precedence "
        "needs them, in the file's quotes. `whole: true` replaces any other text, as it is written.",
        closed(("capture", "with"), capture=_CAPTURE, **{"with": TEXT}, imports=IMPORTS, whole={"type": "boolean"}),
        _replace,
        ("with", "imports"),
        ("original",),
    ),
    StepKind(
        "remove",
        "Remove a captured statement; refused where a comment would be lost.",
        closed(("capture",), capture=_CAPTURE),
        _remove,
    ),
    StepKind(
        "add_argument",
        "Add an option to a captured object, an option to the object argument (`position`, 0 by default) of a "
        "captured call, or a keyword to a captured Python call. One with another value refuses the fix, unless "
        "`replace` is set.",
        closed(
            ("capture", "name", "value"),
            capture=_CAPTURE,
            name=NAME,
            value=_SCALAR,
            position={"type": "integer", "minimum": 0},
            replace={"type": "boolean"},
            imports=IMPORTS,
        ),
        _add_argument,
        ("name", "value", "imports"),
    ),
    StepKind(
        "ensure_import",
        "Bring a package's export (`default`, `*` or a name) into scope in the finding's file.",
        ONE_IMPORT,
        _ensure_import,
        ("package",),
    ),
)
