"""Put what mounted routers do where it runs: under the application that mounts them.

Contract: owners in, `Placed` events out, in run order for every application; a router that nothing visible mounts is
placed under no application. This module must not know of calls or files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from fixaudit.apps.model import Event, Owner


@dataclass(frozen=True)
class Placed:
    """An event with the application it belongs to, its full path (None: cannot be read) and its place in the order."""

    event: Event
    owner: Owner
    app: Owner | None
    route: str | None
    order: int
    conditional: bool


def flatten(owners: Iterable[Owner]) -> list[Placed]:
    """Return the events of all applications, then of the routers that no application mounts."""
    listed = list(owners)
    placed: list[Placed] = []
    reached: set[int] = set()
    apps = [owner for owner in listed if owner.kind == "app"]
    # An application that another one mounts runs there, behind the other one's middleware.
    inner = {id(event.mounted) for owner in listed for event in owner.events if event.mounted is not owner}
    starts = [app for app in apps if id(app) not in inner or _listens(app)]
    for owner in (*starts, *(app for app in apps if app not in starts)):
        if owner in starts or id(owner) not in reached:
            found = list(_walk(owner, owner, "", False, (), reached))
            placed += [_numbered(item, number) for number, item in enumerate(_ordered(owner, found))]
    for owner in listed:
        if owner.kind == "router" and id(owner) not in reached:
            found = list(_walk(owner, None, "", False, (), set()))
            placed += [_numbered(item, number) for number, item in enumerate(_ordered(owner, found))]
    return placed


def _listens(owner: Owner) -> bool:
    return any(event.kind == "listen" for event in owner.events)


def _numbered(item: Placed, number: int) -> Placed:
    return Placed(item.event, item.owner, item.app, item.route, number, item.conditional)


def _ordered(owner: Owner, found: list[Placed]) -> list[Placed]:
    """In Python's frameworks middleware and error handlers wrap every route, wherever they are added."""
    if owner.language != "python":
        return found
    first = {"app": 0, "use": 1, "other": 1, "error_handler": 1}
    return sorted(found, key=lambda item: first.get(item.event.kind, 2))


def _walk(
    owner: Owner, app: Owner | None, prefix: str | None, conditional: bool, above: tuple[int, ...], reached: set[int]
) -> Iterator[Placed]:
    reached.add(id(owner))
    own = _joined(owner.framework, prefix, owner.prefix) if owner.kind == "router" else prefix
    for event in owner.events:
        perhaps = conditional or event.conditional
        full = _joined(owner.framework, own, event.route)
        if event.kind in ("route", "mount", "static", "use") or event.route is not None:
            yield Placed(event, owner, app, full, 0, perhaps)
        else:
            yield Placed(event, owner, app, None, 0, perhaps)
        mounted = event.mounted
        if mounted is not None and id(mounted) not in above:
            inner = full
            if owner.framework == "flask" and event.route:
                # A prefix given at registration replaces the blueprint's own.
                inner = _joined("flask", own, event.route)
                yield from _flask(mounted, app, inner, perhaps, (*above, id(owner)), reached)
                continue
            yield from _walk(mounted, app, inner, perhaps, (*above, id(owner)), reached)


def _flask(
    owner: Owner, app: Owner | None, prefix: str | None, conditional: bool, above: tuple[int, ...], reached: set[int]
) -> Iterator[Placed]:
    saved, owner.prefix = owner.prefix, ""
    yield from _walk(owner, app, prefix, conditional, above, reached)
    owner.prefix = saved


def _joined(framework: str, prefix: str | None, path: str | None) -> str | None:
    if prefix is None or path is None:
        return None
    if framework == "fastapi":
        return prefix + path
    if not path or path == "/":
        return prefix or path
    if not prefix or prefix == "/":
        return path
    return f"{prefix.rstrip('/')}/{path.lstrip('/')}"
