"""Which security headers a middleware sets.

Contract: what an application is given in; header names in lower case out, None when that cannot be read although it may
well set some. A package is known by name (helmet and its kin); a function or class of the project by the header names
written in it, in what it calls and in the constants it uses. What cannot be followed and has a name that promises no
headers sets none: a limiter from an unknown package must not hide that nobody sets them.
This module must not know of applications or events.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from fixaudit.resolve.names import Resolver, requirement
from fixaudit.resolve.scopes import expressions
from fixaudit.resolve.things import Definition, Frame, Opaque, Package, Thing
from fixaudit.source.ir import Call, ClassRef, Expr, FunctionRef, Member, Name, Object, Span, dotted, parts

NAMES = (
    "content-security-policy", "strict-transport-security", "x-content-type-options", "x-frame-options",
    "referrer-policy", "permissions-policy", "cross-origin-opener-policy", "cross-origin-resource-policy",
)  # fmt: skip
WHOLE = NAMES[:5] + NAMES[6:]
"""What helmet sets without options (https://helmetjs.github.io/#reference); its kin set most of them."""

PACKAGES = frozenset(
    {
        "helmet", "lusca", "secure", "express-secure-headers", "hood", "nestjs-helmet", "Secweb", "secweb",
        "flask_talisman", "flask_security_headers", "fastapi_security_headers", "starlette_securityheaders",
        "asgi_security_headers", "secure_headers", "securityheaders",
    }
)  # fmt: skip
PARTS = {
    "contentSecurityPolicy": NAMES[0], "csp": NAMES[0], "hsts": NAMES[1], "strictTransportSecurity": NAMES[1],
    "noSniff": NAMES[2], "nosniff": NAMES[2], "xContentTypeOptions": NAMES[2], "frameguard": NAMES[3],
    "xFrameOptions": NAMES[3], "xframe": NAMES[3], "referrerPolicy": NAMES[4],
    "crossOriginOpenerPolicy": NAMES[6], "crossOriginResourcePolicy": NAMES[7],
}  # fmt: skip
OTHER_PARTS = frozenset(
    {
        "hidePoweredBy", "xPoweredBy", "dnsPrefetchControl", "xDnsPrefetchControl", "ieNoOpen", "xDownloadOptions",
        "permittedCrossDomainPolicies", "xPermittedCrossDomainPolicies", "xssFilter", "xXssProtection", "csrf",
        "xssProtection", "originAgentCluster",
    }
)  # fmt: skip
_WRITTEN = re.compile("|".join(NAMES), re.IGNORECASE)
_TAKEN_AWAY = re.compile(r"(remove\w*|delete\w*|unset|\bdel)\W*[\w.]*\W*$", re.IGNORECASE)
_PROMISING = re.compile(r"secur|header|helmet|protect|harden", re.IGNORECASE)
_GATHERING = re.compile(r"middlewares?$|plugins?$|handlers$|setup|configure|bootstrap|\binit", re.IGNORECASE)
DEPTH = 3


def headers_of(resolver: Resolver, expr: Expr, frame: Frame, thing: Thing) -> tuple[str, ...] | None:
    """Return the security headers that a middleware sets; None when it may set some and cannot be read."""
    found = set(_known(resolver, expr, frame))
    hidden = False
    for option in resolver.options(thing):
        inner = _of_thing(resolver, option, DEPTH)
        if inner is None:
            hidden = hidden or isinstance(option, Opaque) or bool(_PROMISING.search(text_of(resolver, expr, frame)))
        else:
            found |= inner
    if found or not hidden:
        return tuple(name for name in NAMES if name in found)
    written = text_of(resolver, expr, frame)
    return None if _PROMISING.search(written) or _GATHERING.search(written) else ()


def promises(text: str) -> bool:
    """Say whether the name of what an application is handed to suggests that it adds middleware."""
    return bool(_PROMISING.search(text) or _GATHERING.search(text))


def text_of(resolver: Resolver, expr: Expr, frame: Frame) -> str:
    """Return how a middleware is written, without its arguments."""
    while isinstance(expr, Call) and requirement(expr) is None:
        expr = expr.callee
    return dotted(expr) or ("" if isinstance(expr, FunctionRef | ClassRef) else resolver.source(frame, expr.span)[:80])


def _known(resolver: Resolver, expr: Expr, frame: Frame) -> Iterator[str]:
    """Yield what packages that are named in an expression set: `helmet()`, `unless(helmet(), …)`."""
    stack = [expr]
    while stack:
        part = stack.pop()
        if isinstance(part, Call | Name | Member):
            text, certain, _ = resolver.named(part.callee if isinstance(part, Call) else part, frame)
            if certain and _is_known(text):
                yield from _of_package(text)
                stack += [argument.value for argument in part.arguments] if isinstance(part, Call) else []
                continue
        stack += parts(part)


def _is_known(text: str) -> bool:
    package, _, export = text.partition("#")
    return bool(export) and package.partition(".")[0] in PACKAGES


def _of_package(text: str) -> tuple[str, ...]:
    if not _is_known(text):
        return ()
    for name in text.partition("#")[2].split("."):
        if name in PARTS:
            return (PARTS[name],)
        if name in OTHER_PARTS:
            return ()
    return WHOLE


def _of_thing(resolver: Resolver, thing: Thing, depth: int) -> set[str] | None:
    """Read a function or class; None when there is nothing to read or nothing was found in it."""
    if isinstance(thing, Package):
        if _is_known(thing.text):
            return set(_of_package(thing.text))
        return None if _PROMISING.search(thing.text) else set()
    if not isinstance(thing, Definition) or depth == 0:
        return None
    module = thing.frame.scopes.module
    if thing.kind == "function":
        found = _of_function(resolver, thing, depth)
        return found or (None if _PROMISING.search(thing.name) else set())
    if thing.kind in ("class", "instance"):
        found = set()
        for method in module.classes[thing.index].methods:
            found |= _of_function(resolver, Definition("function", thing.frame, method), depth)
        for base in module.classes[thing.index].bases:
            text, certain, _ = resolver.named(base, thing.frame)
            found |= set(_of_package(text)) if certain else set()
        return found or (None if _PROMISING.search(thing.name) else set())
    if isinstance(thing.expr, Call):
        text, certain, callee = resolver.callee(thing.expr, thing.frame)
        if certain and _is_known(text):
            return set(_of_package(text))
        if isinstance(callee, Definition) and callee.kind in ("function", "class"):
            return _of_thing(resolver, callee, depth - 1)
        inner = {name for a in thing.expr.arguments for name in _known(resolver, a.value, thing.frame)}
        return inner or (None if isinstance(callee, Opaque) or _PROMISING.search(text) else set())
    return None


def _of_function(resolver: Resolver, function: Definition, depth: int) -> set[str]:
    module = function.frame.scopes.module
    definition = module.functions[function.index]
    found = set(_named_in(resolver, function.frame, definition.span))
    outer = [i for i, f in enumerate(module.functions) if _inside(f.span, definition.span)]
    for index in outer:
        frame = resolver.frame(function.path, index)
        if frame is None:
            continue
        for statement in module.functions[index].body:
            for expr in expressions(statement):
                found |= _of_expression(resolver, expr, frame, depth)
    return found


def _of_expression(resolver: Resolver, expr: Expr, frame: Frame, depth: int) -> set[str]:
    """Read what a middleware uses: `res.set(HEADERS)`, `applyHeaders(res)`, `helmet()(req, res, next)`."""
    if isinstance(expr, Call):
        text, certain, thing = resolver.callee(expr, frame)
        if certain and _of_package(text):
            return set(_of_package(text))
        if isinstance(thing, Definition) and thing.kind == "function" and depth > 1:
            return _of_function(resolver, thing, depth - 1)
        return set()
    if isinstance(expr, Name | Member):
        thing = resolver.settle(resolver.resolve(expr, frame))
        if isinstance(thing, Definition) and thing.kind == "value" and thing.expr is not None:
            if isinstance(thing.expr, Object) or thing.frame.path != frame.path or len(str(thing.expr)) < 4000:
                return set(_named_in(resolver, thing.frame, thing.expr.span))
    return set()


def _named_in(resolver: Resolver, frame: Frame, span: Span) -> Iterator[str]:
    """Yield the header names in a piece of source, but those in comments and those that are taken away."""
    text = resolver.source(frame, span)
    comments = [comment.span for comment in frame.scopes.module.comments]
    for match in _WRITTEN.finditer(text):
        place = span[0] + match.start()
        if any(start <= place < end for start, end in comments):
            continue
        if _TAKEN_AWAY.search(text[max(0, match.start() - 24) : match.start()]):
            continue
        yield match[0].lower()


def _inside(inner: Span, outer: Span) -> bool:
    return outer[0] <= inner[0] and inner[1] <= outer[1]
