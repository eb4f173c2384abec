"""Path globs, the same everywhere: `*` stays inside a segment, `**` crosses segments, `{a,b}` is a choice.

A pattern without a slash matches at any depth, as in .gitignore; one with a slash is anchored. `dir/` means what is
below it.
"""

from __future__ import annotations

import re
from functools import lru_cache


@lru_cache(maxsize=2048)
def compiled(pattern: str) -> re.Pattern[str]:
    """Translate one glob into a regular expression for whole POSIX paths."""
    anchored = "/" in pattern.rstrip("/")
    body = pattern.removeprefix("./").lstrip("/")
    if body.endswith("/"):
        body += "**"
    out = "" if anchored else "(?:.*/)?"
    index, depth = 0, 0
    while index < len(body):
        char = body[index]
        if body.startswith("**/", index):
            out, index = out + "(?:.*/)?", index + 3
            continue
        if body.startswith("**", index):
            out, index = out + ".*", index + 2
            continue
        if char == "*":
            out += "[^/]*"
        elif char == "?":
            out += "[^/]"
        elif char == "{":
            out, depth = out + "(?:", depth + 1
        elif char == "}" and depth:
            out, depth = out + ")", depth - 1
        elif char == "," and depth:
            out += "|"
        elif char == "[" and "]" in body[index + 2 :]:
            end = body.index("]", index + 2)
            inner = body[index + 1 : end]
            out += "[" + ("^" + inner[1:] if inner[0] in "!^" else inner).replace("\\", "\\\\") + "]"
            index = end
        else:
            out += re.escape(char)
        index += 1
    return re.compile(out + ")" * depth, re.DOTALL)


def matches(path: str, *patterns: str) -> bool:
    """Say whether a path matches one of the globs."""
    return any(compiled(pattern).fullmatch(path) for pattern in patterns)
