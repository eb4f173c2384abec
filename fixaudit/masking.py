"""Take credentials out of every text that leaves the program: excerpts, diffs, prompts, messages, reports.

Contract: the values are read from the texts that hold them, by span, and live in memory only. Mask a text before it is
cut or wrapped: half of a value is found by nobody.
This module must not know of rules, relations or files.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import quote, quote_plus

SHOWN = 4
"""At most this many first characters are shown, and never more than a third of the value."""
LEAST = 5
"""A shorter value is left alone: its text stands everywhere by chance, and masking it would spoil the output."""
LEAST_LINE = 12
"""The lines of a longer value (a private key) are masked one by one too: excerpts and diffs show lines."""


def mask(value: str) -> str:
    """Return a text that tells which value it is to someone who knows it, and nothing to anyone else."""
    first = value[: min(SHOWN, len(value) // 3)].split("\n")[0]
    return f"{first}…({len(value)})"


@dataclass(frozen=True)
class Masker:
    """Replaces every occurrence of the given values, also as JSON, HTML, URLs and program literals write them."""

    values: frozenset[str]

    @classmethod
    def of(cls, sources: Iterable[tuple[str, Iterable[tuple[int, int]]]]) -> Masker:
        """Collect the values from (content, spans of values in it); spans are code points, half-open."""
        return cls(frozenset(content[start:end] for content, spans in sources for start, end in spans))

    def __or__(self, other: Masker) -> Masker:
        return Masker(self.values | other.values)

    def __call__(self, text: str) -> str:
        """Return the text with every known value masked."""
        pattern, masks = self._spelled
        if pattern is None or not text:
            return text
        return pattern.sub(lambda match: masks[match[0]], text)

    @cached_property
    def _spelled(self) -> tuple[re.Pattern[str] | None, dict[str, str]]:
        masks: dict[str, str] = {}
        for value in sorted(self.values):
            for spelling in _spellings(value):
                masks.setdefault(spelling, mask(value))
        longest_first = sorted(masks, key=lambda spelling: (-len(spelling), spelling))
        return (re.compile("|".join(map(re.escape, longest_first))) if masks else None), masks


def _spellings(value: str) -> Iterable[str]:
    """Yield the ways in which a value may stand in an output."""
    plain = {value, value.replace("\\n", "\n")}
    for line in re.split(r"\\n|\r?\n", value):
        line = line.strip().rstrip("\\")
        if len(line) >= LEAST_LINE and not line.startswith("-----"):
            plain.add(line)
    spellings = set(plain)
    for text in plain:
        spellings.add(json.dumps(text)[1:-1])
        spellings.add(json.dumps(text, ensure_ascii=False)[1:-1])
        spellings.add(repr(text)[1:-1])
        spellings.add(html.escape(text))
        spellings.add(html.escape(text).replace("&#x27;", "&#39;"))
        spellings.add(quote(text, safe=""))
        spellings.add(quote(text))
        spellings.add(quote_plus(text))
        spellings.add(re.sub(r"([\\`*_{}\[\]()#+.!|<>~-])", r"\\\1", text))  # markdown
        spellings.add(text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A"))  # workflow commands
    return sorted(spelling for spelling in spellings if len(spelling) >= LEAST)
