"""Which application or router an expression denotes, and what has been recorded of each.

Contract: one creating call is one application, however often its factory runs; a router is one for each chain of
calls. This module must not know how a program is followed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fixaudit.apps.model import Event, Owner, OwnerId
from fixaudit.resolve.names import Resolver
from fixaudit.resolve.things import Definition, Frame, Package, Thing
from fixaudit.source.ir import Call, Expr, Span

if TYPE_CHECKING:
    from fixaudit.apps.frameworks import Framework

MAX_SEEKING = 24
"""Applications inside of applications: `self.wsgi_app = ProxyFix(self.wsgi_app)` has no end."""


@dataclass
class Registry:
    """The applications and routers of one root."""

    resolver: Resolver
    frameworks: tuple[Framework, ...]
    owners: dict[OwnerId, Owner] = field(default_factory=dict)
    conditional: int = 0  # conditions around what is being run
    repeated: int = 0  # loops around it
    emitted: int = 0  # events recorded so far, repeated ones too
    _seeking: int = 0
    _names: dict[tuple[str, Span], str] = field(default_factory=dict)

    def owner(self, expr: Expr, frame: Frame) -> Owner | None:
        """Return the application or router that an expression denotes."""
        return self.owner_of(self.resolver.resolve(expr, frame))

    def owner_of(self, thing: Thing) -> Owner | None:
        """Return the application or router that a thing is; of a choice, the only one that it can be."""
        found: dict[OwnerId, Owner] = {}
        if self._seeking > MAX_SEEKING:
            return None
        self._seeking += 1
        for option in self.resolver.options(thing):
            if isinstance(option, Definition) and option.kind == "instance":
                inherited = self.subclass(option)
                found |= {inherited.id: inherited} if inherited is not None else {}
            if isinstance(option, Package) and option.text == "flask#current_app":
                flasks = [owner for owner in self.owners.values() if (owner.kind, owner.framework) == ("app", "flask")]
                found |= {owner.id: owner for owner in flasks}
            if isinstance(option, Definition) and isinstance(option.expr, Call):
                for framework in self.frameworks:
                    owner = framework.owner(self, option.expr, option.frame)
                    if owner is not None:
                        found[owner.id] = owner
                        break
        self._seeking -= 1
        return next(iter(found.values())) if len(found) == 1 else None

    def subclass(self, thing: Definition) -> Owner | None:
        """An instance of `class Shop(Flask)` is an application, named by its class."""
        class_ = thing.frame.scopes.module.classes[thing.index]
        for base in class_.bases:
            parent = self.resolver.resolve(base, thing.frame)
            for framework in self.frameworks if isinstance(parent, Package) else ():
                made = framework.kinds.get(parent.text) if isinstance(parent, Package) else None
                if made is not None:
                    key = (thing.path, class_.span, "")
                    language = thing.frame.scopes.module.language
                    return self.owners.setdefault(key, Owner(key, *made, language, class_.name or made[0]))
        return None

    def create(self, call: Call, frame: Frame, kind: str, framework: str, prefix: str | None = "") -> Owner:
        """Return the owner that a creating call makes. An application is one however often its factory is called."""
        key = (frame.path, call.span, "" if kind == "app" else frame.key)
        if key not in self.owners:
            language = frame.scopes.module.language
            name = self._names.get((frame.path, call.span)) or self._bound(call, frame) or f"{kind}@{call.span[0]}"
            for known in self.owners.values() if kind == "app" else ():
                # `if (tls) { app = express(); } else { app = express(); }` is one application.
                if (known.id[0], known.name, known.scope) == (frame.path, name, frame.function):
                    return known
            self.owners[key] = Owner(key, kind, framework, language, name, prefix, frame.function)
        return self.owners[key]

    def _bound(self, call: Call, frame: Frame) -> str | None:
        for table in frame.scopes.tables.values():
            for name, binding in table.items():
                if any(value is call for _, value, _, _ in binding.values):
                    return name
        for (_, name), values in frame.scopes.members.items():
            if any(value is call for value, _ in values):
                return name
        return None

    def emit(self, owner: Owner, event: Event) -> None:
        """Record an event, once for each place and meaning."""
        event.conditional = event.conditional or self.conditional > 0
        event.repeated = event.repeated or self.repeated > 0
        self.emitted += 1
        if not any(_same(known, event) for known in owner.events):
            owner.events.append(event)


def _same(left: Event, right: Event) -> bool:
    names = ("path", "span", "kind", "method", "route", "callee", "mounted")
    return all(getattr(left, name) == getattr(right, name) for name in names)
