"""Which of the project's files a file imports, so that programs are followed from where they start.

This module must not know of applications.
"""

from __future__ import annotations

from collections.abc import Iterator

from fixaudit.resolve.names import Resolver, requirement
from fixaudit.resolve.sites import sites
from fixaudit.source.ir import Call, walk


def imports_of(resolver: Resolver, path: str) -> Iterator[str]:
    """Yield the project's files that a file imports, anywhere in it."""
    frame = resolver.frame(path)
    if frame is None:
        return
    module = frame.scopes.module
    specifiers = [item.module for item in module.imports if not item.type_only]
    specifiers += [item.module for item in module.exports if item.module is not None]
    if frame.python:
        specifiers += [
            f"{item.module}{'' if item.module.endswith('.') else '.'}{item.export}"
            for item in module.imports
            if item.form == "from" and item.export != "*"
        ]
    else:
        for site in sites(module):
            for expr in walk(site.expr):
                if isinstance(expr, Call):
                    specifiers.append(requirement(expr) or "")
    for specifier in filter(None, dict.fromkeys(specifiers)):
        target = getattr(resolver.locator.place(path, specifier, frame.python), "path", None)
        if isinstance(target, str):
            yield target
