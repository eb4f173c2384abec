"""Credentials that stand in a place of their own: the password of a URI, of a connection string, of a header.

A variable or a placeholder in the password's place is no credential, and neither is any password for a loopback host
(trufflehog#209, #894, #3856). A URI is one unit: its parts are never moved apart.
This module must not know of files or programs.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator

from fixaudit.secrets.providers import Hit
from fixaudit.secrets.values import is_key, is_password, is_placeholder, is_random

_URI = re.compile(
    r"(?<![A-Za-z0-9+.-])([A-Za-z][A-Za-z0-9+.-]{1,30})://"
    r"([^\s:/?#@\"'`<>\\\[\]{}|,;()]{0,128}):([^\s/?#@\"'`<>\\|]{1,256})@"
    r"(\[[0-9a-fA-F:.]+\]|[^\s/?#@\"'`<>\\,;()\[\]|:]{1,255})([^\s\"'`<>\\|]*)"
)
_LOOPBACK = re.compile(r"localhost|127\.\d+\.\d+\.\d+|0\.0\.0\.0|\[::1?\]|host\.docker\.internal|.+\.localhost", re.I)
_EXAMPLE_HOST = re.compile(
    r"(?:.+\.)?(?:example\.(?:com|org|net)|example|test|invalid|domain\.(?:com|tld)|host(?:name)?)", re.I
)
_CONNECTION = re.compile(r"(?i)(?<![A-Za-z])(?:password|pwd)\s{0,3}=\s{0,3}([^;\s\"'`]{1,128})(?=[;\"'`]|$)")
_CONNECTION_CONTEXT = re.compile(
    r"(?i)(?:server|data source|host|endpoint|uid|user id|initial catalog|database)\s{0,3}="
)
_HEADER = re.compile(r"(?<![A-Za-z])(Basic|Bearer)[ ]{1,2}([A-Za-z0-9+/_.~-]{12,2000}={0,2})(?![A-Za-z0-9+/_.~=-])")
_CURL = re.compile(r"\bcurl\b[^\n]{0,300}?\s(?:-u|--user)[ =]?[\"']?([^\s:\"'$<{]{1,64}):([^\s\"'$<{]{1,128})")


def uri_hits(data: bytes, content: str, *, strict: bool = False) -> Iterator[Hit]:
    """Yield the URIs, connection strings and headers that hold a literal credential.

    `strict` is for documentation and tests, where `user:hunter2@host` is how one explains a URI: only a password that
    looks drawn counts there.
    """
    if b"://" in data and b"@" in data:
        for match in _URI.finditer(content):
            if _is_credential(match[2], match[3], match[4], strict):
                yield Hit(match.start(3), match.end(3), "uri", "high", (match.start(), _trim(content, match)))
    lowered = data.lower()
    if (b"password" in lowered or b"pwd" in lowered) and b"=" in data and b";" in data:
        yield from _connection_strings(content, strict)
    if b"Basic " in data or b"Bearer " in data:
        yield from _headers(content, strict)
    if b"curl" in data and not strict:
        for match in _CURL.finditer(content):
            if is_password(match[2]):
                yield Hit(match.start(2), match.end(2), "basic_auth", "medium")


def _is_credential(user: str, password: str, host: str, strict: bool) -> bool:
    if _LOOPBACK.fullmatch(host) or is_placeholder(password) or any(mark in host for mark in "${%*"):
        return False
    if any(mark in password for mark in "${}[]*()") or password.lower() == user.lower() or len(password) < 5:
        return False
    if password.isdigit() or set(password.lower()) <= {"x", "-", "_"}:
        return False
    if strict:
        return not _EXAMPLE_HOST.fullmatch(host) and (is_random(password, 12) or is_key(password))
    if is_password(password) or is_key(password):
        return True
    # A word alone may be somebody's password; where the host is a real one it is believed.
    wordy = password.isalpha() and any(word in password.lower() for word in ("pass", "secret", "user", "name", "token"))
    return "." in host and not _EXAMPLE_HOST.fullmatch(host) and not wordy and len(password) >= 7


def _trim(content: str, match: re.Match[str]) -> int:
    end = match.end()
    while end > match.end(4) and content[end - 1] in ".,;:)]}!":
        end -= 1
    return end


def _connection_strings(content: str, strict: bool) -> Iterator[Hit]:
    for match in _CONNECTION.finditer(content):
        line_start = content.rfind("\n", 0, match.start()) + 1
        begin = max(line_start, match.start() - 400)
        newline = content.find("\n", match.end())
        stop = min(newline if newline >= 0 else len(content), match.end() + 400)
        around = content[begin:stop]
        if ";" not in around or not _CONNECTION_CONTEXT.search(around):
            continue
        local = re.search(r"(?i)(?:localhost|127\.0\.0\.1|\(local(?:db)?\)|=\s*\.\s*;)", around)
        if local or not (is_random(match[1], 12) if strict else is_password(match[1]) or is_key(match[1])):
            continue
        quotes = "\"'`"
        left = match.start()
        while left > begin and content[left - 1] not in quotes:
            left -= 1
        right = match.end()
        while right < stop and content[right] not in quotes:
            right += 1
        yield Hit(match.start(1), match.end(1), "connection_string", "high", (left, right))


def _headers(content: str, strict: bool) -> Iterator[Hit]:
    for match in _HEADER.finditer(content):
        if match[1] == "Bearer":
            found = is_random(match[2], 20) and not strict
        else:
            pair = decoded(match[2])
            user, colon, password = (pair or "").partition(":")
            found = bool(colon and user) and (is_random(password, 12) if strict else is_password(password))
        if found:
            yield Hit(match.start(2), match.end(2), "basic_auth" if match[1] == "Basic" else "bearer", "high")


def decoded(value: str) -> str | None:
    """Return the text behind base64, or None when it is not base64 of printable UTF-8 (at most 64 KiB)."""
    if len(value) > 65536 * 4 // 3 or len(value) % 4:
        return None
    try:
        text = base64.b64decode(value, validate=True).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return None
    return text if all(char.isprintable() or char in "\n\r\t" for char in text) else None
