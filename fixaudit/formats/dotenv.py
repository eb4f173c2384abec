"""The one reader and writer of `.env` files.

Contract: `#` starts a comment only after white space and outside quotes; quoted values may span lines; `export` is
optional; spaces around `=` are allowed (U72). Lines that are none of this are kept and listed as problems. Written
values read back exactly the same with dotenv for Node, python-dotenv, `node --env-file`, Compose and a POSIX shell;
where no quoting does that, writing is refused. (`docker run --env-file` takes quotes as part of the value, so quotes
are written only where one of the others needs them.)
This module must not know which file it reads, nor what a key means.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from fixaudit.formats.problem import Edits, Problem, append_lines
from fixaudit.text import Edit, Text

Span = tuple[int, int]

_START = re.compile(r"[ \t]*(?P<export>export[ \t]+)?(?P<key>[A-Za-z_][\w.-]*)[ \t]*=[ \t]*", re.ASCII)
# The closing quote is the first one behind which only a comment follows, as in dotenv's own expression; a quote
# behind a backslash is content.
_QUOTED = {
    "'": re.compile(r"'((?:\\'|[^'])*)'(?=[ \t]*(?:#[^\r\n]*)?(?:[\r\n]|\Z))"),
    '"': re.compile(r'"((?:\\.|[^"\\])*)"(?=[ \t]*(?:#[^\r\n]*)?(?:[\r\n]|\Z))', re.DOTALL),
    "`": re.compile(r"`((?:\\`|[^`])*)`(?=[ \t]*(?:#[^\r\n]*)?(?:[\r\n]|\Z))"),
}
_LINE_END = re.compile(r"\r\n|\r|\n|\Z")
_COMMENT = re.compile(r"(?<=[ \t])#[^\r\n]*")
_ESCAPE = re.compile(r"\\([\\\"nrt$])")
_WRITABLE_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
# Read alike without quotes by every loader, and by a shell: no white space, quote, `#`, `$`, backslash, and none of
# the shell's separators and redirections.
_BARE = re.compile(r"[\w./:@%+,=?*!{}\[\]^-]*\Z")
_COMMENTED_ENTRY = re.compile(r"(#+[ \t]*(?:export[ \t]+)?[A-Za-z_][\w.-]*[ \t]*=).*\Z", re.ASCII | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Entry:
    """One `KEY=value`.

    `value` is decoded; `value_span` covers it as written, quotes included, and is empty where nothing is written.
    `span` runs from the start of its line to the end of its last line's text. `quote` is `'`, `"`, a backtick or empty.
    """

    key: str
    value: str
    key_span: Span
    value_span: Span
    span: Span
    line: int
    comment: str = ""  # from its `#` on
    exported: bool = False
    quote: str = ""


@dataclass(frozen=True, slots=True)
class Document:
    """A `.env` file: entries in order (duplicates included), comment lines, and lines that are neither."""

    entries: tuple[Entry, ...]
    comments: tuple[Span, ...] = ()
    problems: tuple[Problem, ...] = field(default=())

    def get(self, key: str) -> Entry | None:
        """Return the entry that counts: the last one with this key, as every loader has it."""
        return next((entry for entry in reversed(self.entries) if entry.key == key), None)


def read(content: str) -> Document:
    """Read a `.env` text; never fails, what is no entry is listed under `problems`."""
    entries: list[Entry] = []
    comments: list[Span] = []
    problems: list[Problem] = []
    position, line = 0, 1
    while position < len(content):
        entry = _entry(content, position, line)
        end = entry.span[1] if entry else _end_of_line(content, position)
        if entry:
            entries.append(entry)
        else:
            stripped = content[position:end].strip()
            if stripped.startswith("#"):
                comments.append((position, end))
            elif stripped:
                problems.append(Problem(line, "the line is not of the form KEY=value"))
        ending = _LINE_END.match(content, end)
        following = ending.end() if ending else end
        line += len(re.findall(r"\r\n|\r|\n", content[position:following]))
        position = following
    return Document(tuple(entries), tuple(comments), tuple(problems))


def set_key(text: Text, key: str, value: str, *, replace: bool = False) -> Edits:
    """Return the edits after which `key` is declared; the value is quoted only where that is needed.

    A new key is a new last line. A declared key is left alone, unless `replace` is given: then the value of the entry
    that counts is replaced. Refuses a name that is no plain environment variable name, and a value that the common
    loaders would not read back alike.
    """
    document = read(text.content)
    existing = document.get(key)
    if existing is not None and (not replace or existing.value == value):
        return ()
    line = existing.line if existing else len(text.lines)
    if not _WRITABLE_KEY.match(key):
        return Problem(line, f"{key!r} is not a name that every loader accepts")
    written = quoted(value)
    if written is None:
        return Problem(line, f"no way of quoting makes every loader read the value of {key} back unchanged")
    if "\n" in written and text.newline == "\r\n":
        return Problem(line, f"the value of {key} holds line feeds and the file ends its lines with CR LF")
    if existing is not None:
        start, end = existing.value_span
        edits: tuple[Edit, ...] = (Edit(start, end, text.content[start:end], written),)
    else:
        edits = append_lines(text, [f"{key}={written}"])
    after = read(text.apply(edits).content)
    before_keys = [(entry.key, entry.value) for entry in document.entries if entry is not existing]
    after_keys = [(entry.key, entry.value) for entry in after.entries]
    if (key, value) not in after_keys:
        return Problem(line, "an unclosed quote above would swallow the new line")
    after_keys.remove((key, value))
    return edits if sorted(after_keys) == sorted(before_keys) else Problem(line, "an unclosed quote is in the way")


def quoted(value: str) -> str | None:
    """Return `value` as it is to be written, or None when loaders disagree on every way of writing it.

    Sources: dotenv 16 and 17 (`lib/main.js`), python-dotenv 1.x (`parser.py`, `variables.py`: `${…}` is expanded even
    in single quotes), Node 20 to 24 (`src/node_dotenv.cc`), compose-go (`dotenv/parser.go`), POSIX shell.
    """
    if _BARE.match(value):
        return value
    if "\r" in value or "\0" in value or "${" in value:
        return None
    if "'" not in value and "\\\\" not in value and not value.endswith("\\"):
        return f"'{value}'"
    if not any(char in value for char in '"\\$`'):
        return f'"{value}"'
    return None


def template_line(content: str, entry: Entry) -> str:
    """Return the entry's line for `.env.example`: key, `export`, spacing and comment kept, the value left out."""
    head = content[entry.span[0] : entry.value_span[0]].rstrip(" \t")
    return f"{head} {entry.comment}" if entry.comment else head


def template(text: Text) -> str:
    """Return the content of the `.env.example` that belongs to a `.env`: same keys, same order, no value at all.

    Comments stay, but one that is a commented-out entry loses its value, and a line that could not be read is left
    out: either may hold a secret. A key that is declared twice is listed once, at its first place.
    """
    document = read(text.content)
    problem_lines = {problem.line for problem in document.problems}
    pieces: dict[int, str] = {}
    seen: set[str] = set()
    covered: list[Span] = []
    for entry in document.entries:
        covered.append(entry.span)
        if entry.key not in seen:
            seen.add(entry.key)
            pieces[entry.span[0]] = template_line(text.content, entry)
    for start, end in document.comments:
        comment = text.content[start:end].rstrip()
        pieces[start] = _COMMENTED_ENTRY.sub(r"\1", comment.lstrip()) if "=" in comment else comment
    for number in range(1, len(text.lines) + 1):
        start = text.lines.start_of(number)
        inside = any(first <= start <= last for first, last in covered)
        if start not in pieces and not inside and number not in problem_lines and start < len(text.content):
            pieces[start] = ""
    return "".join(pieces[start] + text.newline for start in sorted(pieces))


def _entry(content: str, position: int, line: int) -> Entry | None:
    start = _START.match(content, position)
    if start is None:
        return None
    begin = start.end()
    quote = content[begin : begin + 1]
    match = _QUOTED[quote].match(content, begin) if quote in _QUOTED else None
    if match is not None:
        end, raw = match.end(), match.group(1)
        value = _unescape(raw) if quote == '"' else raw.replace("\r\n", "\n")
    else:
        quote = ""
        line_end = _end_of_line(content, begin)
        comment = _COMMENT.search(content, begin, line_end)
        end = len(content[: comment.start() if comment else line_end].rstrip(" \t"))
        end = max(end, begin)
        value = content[begin:end]
    line_end = _end_of_line(content, end)
    return Entry(
        key=start["key"],
        value=value,
        key_span=start.span("key"),
        value_span=(begin, end),
        span=(position, line_end),
        line=line,
        comment=content[end:line_end].strip(),
        exported=start["export"] is not None,
        quote=quote,
    )


def _unescape(raw: str) -> str:
    named = {"n": "\n", "r": "\r", "t": "\t"}
    return _ESCAPE.sub(lambda match: named.get(match[1], match[1]), raw.replace("\r\n", "\n"))


def _end_of_line(content: str, position: int) -> int:
    match = _LINE_END.search(content, position)
    return match.start() if match else len(content)
