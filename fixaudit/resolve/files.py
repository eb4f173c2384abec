"""The files that resolution reads: their tables, their frames and their text.

Contract: everything is read through a root's facts, and every path that an answer rests on is kept in `touched`.
This module must not know what anything means.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from fixaudit.facts import Facts
from fixaudit.resolve import scopes as scoping
from fixaudit.resolve.paths import Locator
from fixaudit.resolve.scopes import Scopes
from fixaudit.resolve.things import Frame


@dataclass
class Files:
    """Tables and frames by path, made once."""

    facts: Facts
    touched: set[str] = field(default_factory=set)
    _scopes: dict[str, Scopes | None] = field(default_factory=dict)
    _frames: dict[tuple[str, int | None], Frame] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.locator = Locator(self.facts, self.touched.add)

    def scopes(self, path: str) -> Scopes | None:
        """Return the tables of a file's module; None when it is no program."""
        self.touched.add(path)
        if path not in self._scopes:
            file = self.facts.file(path)
            module = file.module if file else None
            if file is None or module is None:
                self._scopes[path] = None
            else:
                key = f"{module.language}\0{file.digest}"
                self._scopes[path] = file.memo.get("scopes", key, lambda: scoping.index(module))
        return self._scopes[path]

    def frame(self, path: str, function: int | None = None) -> Frame | None:
        """Return the scope of a file's top level or of one of its functions, with nothing known of its callers."""
        key = (path, function)
        if key not in self._frames:
            tables = self.scopes(path)
            if tables is None:
                return None
            parent = None
            if function is not None:
                parent = self.frame(path, tables.module.functions[function].parent)
            self._frames[key] = Frame(path, tables, function, parent)
        self.touched.add(path)
        return self._frames[key]

    def source(self, frame: Frame, span: tuple[int, int]) -> str:
        """Return the text of a span."""
        text = self.facts.text(frame.path)
        return text.content[span[0] : span[1]] if text else ""
