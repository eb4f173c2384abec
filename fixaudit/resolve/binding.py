"""What the parameters of a function are bound to by one call.

This module must not know how expressions are followed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fixaudit.resolve.things import Definition, Frame, Thing
from fixaudit.source.ir import Call, dotted

if TYPE_CHECKING:
    from fixaudit.resolve.names import Resolver


def bind(resolver: Resolver, function: Definition, call: Call, frame: Frame) -> dict[str, Thing]:
    """Return what each parameter's name holds; parameters that cannot be matched are left out."""
    definition = function.frame.scopes.module.functions[function.index]
    groups: list[list[int]] = []
    for position, target in enumerate(definition.parameters):
        # `{ a, b }` is one parameter: a target without a name, then those inside of its span.
        head = definition.parameters[groups[-1][0]] if groups else None
        if head is not None and head.name is None and _inside(target.span, head.span):
            groups[-1].append(position)
        else:
            groups.append([position])
    is_method = definition.owner is not None and function.frame.python
    if is_method and not any(dotted(d) == "staticmethod" for d in definition.decorators):
        groups = groups[1:]
    bound: dict[str, Thing] = {}
    positional = [a for a in call.arguments if a.keyword is None]
    for argument, group in zip(positional, groups, strict=False):
        if argument.spread:
            break
        thing = resolver.resolve(argument.value, frame)
        for position in group:
            target = definition.parameters[position]
            if target.name is not None:
                bound[target.name] = resolver.take(thing, target.path)
    names = {t.name for t in definition.parameters}
    for argument in call.arguments:
        if argument.keyword is not None and argument.keyword in names:
            bound[argument.keyword] = resolver.resolve(argument.value, frame)
    return bound


def _inside(inner: tuple[int, int], outer: tuple[int, int]) -> bool:
    return outer[0] <= inner[0] and inner[1] <= outer[1]
