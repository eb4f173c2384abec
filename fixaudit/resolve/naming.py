"""How what an expression denotes is named: canonical names of packages' exports, of local definitions, of methods.

This module must not know how names are followed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fixaudit.resolve.things import Definition, Frame, Package, Thing
from fixaudit.source.ir import Call, Expr, Member, dotted

if TYPE_CHECKING:
    from fixaudit.resolve.names import Resolver


def named(resolver: Resolver, expr: Expr, frame: Frame, depth: int) -> tuple[str, bool, Thing]:
    """Name what an expression denotes, as `callee` does."""
    thing = resolver.settle(resolver.resolve(expr, frame))
    match thing:
        case Package():
            return thing.text, True, thing
        case Definition(kind="function" | "class"):
            return thing.text, True, thing
        case Definition(kind="instance"):
            return thing.text, True, thing
        case Definition(kind="value", expr=Call() as inner) if depth:
            text, certain, _ = named(resolver, inner.callee, thing.frame, depth - 1)
            return text, certain, thing
    if isinstance(expr, Member) and expr.name is not None and depth:
        holder = list(resolver.options(resolver.resolve(expr.object, frame)))
        if len(holder) == 1 and isinstance(holder[0], Definition):
            found = holder[0]
            if isinstance(found.expr, Call):
                text, certain, _ = named(resolver, found.expr.callee, found.frame, depth - 1)
                return f"{text}.{expr.name}", certain, thing
            if found.kind == "instance":
                return f"{_instance_text(resolver, found)}.{expr.name}", True, thing
        elif isinstance(expr.object, Member):
            # `prisma.user.findMany` is "@prisma/client#PrismaClient.user.findMany".
            text, certain, _ = named(resolver, expr.object, frame, depth - 1)
            if certain:
                return f"{text}.{expr.name}", True, thing
    return dotted(expr) or resolver.source(frame, expr.span), False, thing


def _instance_text(resolver: Resolver, thing: Definition) -> str:
    """Name an instance by the package's class that its class extends, if any."""
    for base in thing.frame.scopes.module.classes[thing.index].bases:
        parent = resolver.resolve(base, thing.frame)
        if isinstance(parent, Package) and parent.name:
            return parent.text
    return thing.text
