"""What a name can turn out to be: part of a package, something the project defines, or not to be seen.

Contract: plain frozen values; `names.Resolver` makes them. A `Frame` is a scope together with what its parameters
were bound to by one call, so that one function that is called twice is two different places.
This module must not know how anything is resolved.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from fixaudit.resolve.packages import canonical
from fixaudit.resolve.scopes import Scopes
from fixaudit.source.ir import Expr, Function, Name


@dataclass(frozen=True, eq=False)
class Frame:
    """A scope of one file. `key` names the chain of calls that entered it ("" when nothing is known of callers)."""

    path: str
    scopes: Scopes
    function: int | None = None
    parent: Frame | None = None
    arguments: Mapping[str, Thing] = field(default_factory=dict)
    this: Thing | None = None
    key: str = ""
    called: bool = False  # parameters that are not in `arguments` were left out by the caller

    @property
    def python(self) -> bool:
        return self.scopes.module.language == "python"

    @property
    def definition(self) -> Function | None:
        return None if self.function is None else self.scopes.module.functions[self.function]


@dataclass(frozen=True)
class Package:
    """An export of a package; a global or builtin has no `name`. `export` is "*" for the whole module."""

    name: str
    export: str
    members: tuple[str, ...] = ()
    python: bool = False
    dotted: tuple[str, ...] = ()  # `import a.b` says that the attribute b of a is a module

    @property
    def text(self) -> str:
        """The canonical name: "express#Router", "os#environ.get", "console.log"."""
        return canonical(self.name, self.export, self.members, self.python)

    def member(self, name: str) -> Package:
        """Return an attribute of this export."""
        if self.python and self.export == "*" and not self.members:
            longer = f"{self.name}.{name}"
            if any(known == longer or known.startswith(longer + ".") for known in self.dotted):
                return Package(longer, "*", (), True, self.dotted)
        if self.export in ("*", "default") and not self.members:
            return Package(self.name, name, (), self.python)
        return Package(self.name, self.export, (*self.members, name), self.python)


@dataclass(frozen=True, eq=False)
class Definition:
    """Something in the project's own files.

    kind: "function" and "class" (`index` in the module), "instance" (of class `index`; `made` is the frame of its
    constructor call), "module" (a whole file) or "value" (`expr`, to be read in `frame`: a literal, an object, a call
    of a package, an expression that cannot be followed further).
    """

    kind: str
    frame: Frame
    index: int = -1
    expr: Expr | None = None
    made: Frame | None = None

    @property
    def path(self) -> str:
        return self.frame.path

    @property
    def name(self) -> str:
        """The name it is defined under; "" for values and nameless functions."""
        module = self.frame.scopes.module
        if self.kind == "function":
            return module.functions[self.index].name or _bound_name(self.frame, self.index, "fun")
        if self.kind in ("class", "instance"):
            return module.classes[self.index].name or ""
        return self.expr.name if isinstance(self.expr, Name) else ""

    @property
    def text(self) -> str:
        return f"local:{self.path}#{self.name}"


@dataclass(frozen=True)
class Opaque:
    """What could not be followed, with what it may be as far as that can be read."""

    reason: str
    alternatives: tuple[Thing, ...] = ()


Thing: TypeAlias = Package | Definition | Opaque


def _bound_name(frame: Frame, index: int, tag: str) -> str:
    """Return the name that `const name = () => …` gives to an arrow function."""
    from fixaudit.source.ir import FunctionRef

    for table in frame.scopes.tables.values():
        for name, binding in table.items():
            if any(isinstance(value, FunctionRef) and value.index == index for _, value, _, _ in binding.values):
                return name
    return ""
