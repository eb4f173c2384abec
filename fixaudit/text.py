"""Text that can be edited without touching the rest of its file.

Contract: bytes in, bytes out. A byte order mark, the line endings and the presence of a final newline survive
every edit. All offsets are code points of the decoded text *without* the byte order mark; this is the one offset
unit of the whole program (tree-sitter bindings, regular expressions and `str` slicing agree on it).
This module must not know of files, snapshots or languages.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True, order=True)
class Edit:
    """Replace `text[start:end]`, which must equal `expected`, by `replacement` (code points, half-open)."""

    start: int
    end: int
    expected: str
    replacement: str


class StaleEditError(ValueError):
    """An edit expects text that is not there, or two edits overlap: planning used positions of another text."""


@dataclass(frozen=True)
class Text:
    """A decoded file. `content` has no byte order mark and keeps its line endings as they are."""

    content: str
    bom: bool = False

    @classmethod
    def decode(cls, data: bytes) -> Text | None:
        """Decode UTF-8; None when the bytes are binary (a NUL in the first 8000, git's own test) or not UTF-8."""
        if b"\0" in data[:8000]:
            return None
        bom = data.startswith(BOM)
        try:
            return cls((data[3:] if bom else data).decode("utf-8"), bom)
        except UnicodeDecodeError:
            return None

    def encode(self) -> bytes:
        """Give back the exact bytes."""
        return (BOM if self.bom else b"") + self.content.encode("utf-8")

    @cached_property
    def newline(self) -> str:
        r"""The file's own line ending: the more frequent of ``\r\n`` and ``\n``; ``\n`` when there is none."""
        crlf = self.content.count("\r\n")
        return "\r\n" if crlf > self.content.count("\n") - crlf else "\n"

    @cached_property
    def lines(self) -> LineIndex:
        return LineIndex(self.content)

    def apply(self, edits: Iterable[Edit]) -> Text:
        """Return the text after `edits`; raises StaleEditError when an anchor is stale or edits overlap."""
        return Text(apply_edits(self.content, edits), self.bom)


def apply_edits(content: str, edits: Iterable[Edit]) -> str:
    """Apply non-overlapping edits, in order of position; two insertions at one place keep their given order.

    Identical edits count once, so two steps may ask for the same import. Raises StaleEditError.
    """
    ordered = sorted(dict.fromkeys(edits), key=lambda edit: (edit.start, edit.end))
    pieces: list[str] = []
    position = 0
    for edit in ordered:
        if edit.start < position or edit.end < edit.start or edit.end > len(content):
            raise StaleEditError(f"edits overlap or leave the text at offset {edit.start}")
        if content[edit.start : edit.end] != edit.expected:
            raise StaleEditError(f"the text at offset {edit.start} is not what the edit expects")
        pieces += (content[position : edit.start], edit.replacement)
        position = edit.end
    pieces.append(content[position:])
    return "".join(pieces)


class LineIndex:
    r"""Map offsets to 1-based lines and columns (code points). Lines end at ``\n``, ``\r\n`` or a lone ``\r``."""

    __slots__ = ("_content", "_starts")

    def __init__(self, content: str) -> None:
        self._content = content
        starts = [0]
        for line in content.splitlines(keepends=True) if "\r" in content else ():
            starts.append(starts[-1] + len(line))
        if len(starts) == 1:
            position = content.find("\n")
            while position >= 0:
                starts.append(position + 1)
                position = content.find("\n", position + 1)
        elif any(mark in content for mark in "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"):
            # str.splitlines knows more line ends than editors and compilers do: count only the three real ones.
            starts = [0]
            for index, char in enumerate(content):
                if char == "\n" or (char == "\r" and content[index + 1 : index + 2] != "\n"):
                    starts.append(index + 1)
        self._starts = starts

    def position(self, offset: int) -> tuple[int, int]:
        """Return (line, column), both 1-based, of a code-point offset."""
        line = bisect_right(self._starts, offset) - 1
        return line + 1, offset - self._starts[line] + 1

    def line_start(self, offset: int) -> int:
        """Return the offset at which the line holding `offset` begins."""
        return self._starts[bisect_right(self._starts, offset) - 1]

    def line_end(self, offset: int) -> int:
        """Return the offset just behind the line's text, before its line ending."""
        line = bisect_right(self._starts, offset)
        end = self._starts[line] if line < len(self._starts) else len(self._content)
        while end > self._starts[line - 1] and self._content[end - 1] in "\r\n":
            end -= 1
        return end

    def next_line(self, offset: int) -> int:
        """Return the start of the following line, or the end of the text when there is none."""
        line = bisect_right(self._starts, offset)
        return self._starts[line] if line < len(self._starts) else len(self._content)

    def start_of(self, line: int) -> int:
        """Return the offset of a 1-based line."""
        return self._starts[line - 1]

    def __len__(self) -> int:
        return len(self._starts)


def indent_of(content: str, offset: int, lines: LineIndex) -> str:
    """Return the white space at the start of the line that holds `offset`."""
    start = lines.line_start(offset)
    end = start
    while end < len(content) and content[end] in " \t":
        end += 1
    return content[start:end]


def byte_key(path: str) -> bytes:
    """Sort key for paths: the bytes of the UTF-8 POSIX path, so that no locale changes an order."""
    return path.encode("utf-8", "surrogateescape")
