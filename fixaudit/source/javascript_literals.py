r"""What JavaScript literals are worth: the value of a string, a template piece or a number.

Contract: source text in, Python value out; nothing raises. An escape that the language refuses (`\xZZ`, a lone
surrogate) stays as it is written, because a value that nobody can read is better than no value.
This module must not know of syntax trees.
"""

from __future__ import annotations

import math
import re

_ESCAPE = re.compile(
    r"\\(?:u\{([0-9A-Fa-f]{1,6})\}"
    r"|u([dD][89ABab][0-9A-Fa-f]{2})\\u([dD][C-Fc-f][0-9A-Fa-f]{2})"
    r"|u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2})|([0-3]?[0-7]{1,2})|(\r\n|[\s\S]))"
)
_SIMPLE = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}
_LINE_ENDS = ("\r\n", "\n", "\r", "\u2028", "\u2029")
_LARGEST = 2**63
"""Integers beyond this are kept as floats: JavaScript would round them too, and msgpack has no larger ones."""


def unescape(text: str) -> str:
    """Decode the inside of a string literal or of a template piece (without its quotes)."""
    return _ESCAPE.sub(_decoded, text) if "\\" in text else text


def _decoded(match: re.Match[str]) -> str:
    braced, high, low, four, two, octal, other = match.groups()
    if high is not None:
        return chr(0x10000 + ((int(high, 16) - 0xD800) << 10) + (int(low, 16) - 0xDC00))
    digits = braced or four or two
    if digits is not None:
        code = int(digits, 16)
        return match[0] if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF else chr(code)
    if octal is not None:
        return chr(int(octal, 8))
    if other in _LINE_ENDS:
        return ""
    if other in "ux":
        return match[0]
    return _SIMPLE.get(other, other)


def number(text: str) -> int | float | None:
    """Return the value of a numeric literal; None when it is not finite or not one."""
    digits = text.replace("_", "").lower().removesuffix("n")
    try:
        if digits[:2] in ("0x", "0o", "0b"):
            value: int | float = int(digits, 0)
        elif len(digits) > 1 and digits[0] == "0" and digits.isdigit():
            value = int(digits, 8 if set(digits) <= set("01234567") else 10)
        elif digits.isdigit():
            # More digits than any number that is exact; int() of thousands of digits is refused by Python.
            value = int(digits) if len(digits) < 19 else float(digits)
        else:
            value = float(digits)
    except (ValueError, OverflowError):
        return None
    if isinstance(value, int) and value >= _LARGEST:
        value = float(value) if value < 10**300 else math.inf
    return value if math.isfinite(value) else None
