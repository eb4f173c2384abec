"""Find the credentials of one file: every detector in the kinds of file where it can be believed.

This module must not know of rows: the relation says how a find is told.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fixaudit.secrets import program
from fixaudit.secrets.files import Kind
from fixaudit.secrets.kubernetes import documents, encoded_blocks, is_encrypted, secret_items
from fixaudit.secrets.names import credential_kind
from fixaudit.secrets.pairs import has_hint, is_aws_secret, is_credential_value, pairs
from fixaudit.secrets.providers import Hit, provider_hits
from fixaudit.secrets.uris import uri_hits
from fixaudit.secrets.values import is_key, is_password
from fixaudit.source import ir

if TYPE_CHECKING:
    from fixaudit.facts import SourceFile

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Found:
    """One credential before it becomes a row."""

    value: Span
    provider: str
    confidence: str
    shape: str
    whole: Span | None = None
    place: program.Place | None = None
    name: str | None = None
    name_span: Span | None = None


def find(file: SourceFile, content: str, kind: Kind) -> Sequence[Found]:
    """Return the credentials of a file, one for each unit that holds one."""
    strict = kind in (Kind.TEST, Kind.DOC, Kind.BUNDLE, Kind.DATA)
    hits = _distinct([*provider_hits(file.data, content), *uri_hits(file.data, content, strict=strict)])
    if strict:
        hits = [hit for hit in hits if hit.provider not in ("jwt", "bearer")]
    if kind is Kind.TEST:
        # A test's own certificate authority is made for the test; that it is one cannot be seen from the key.
        hits = [replace(hit, confidence="medium") if hit.provider == "private_key" else hit for hit in hits]
    if kind is Kind.BUNDLE:
        hits = [hit for hit in hits if hit.confidence == "high"]
    if file.kind.language is not None and kind is not Kind.BUNDLE:
        found = _in_program(file, content, hits, named=kind is Kind.SOURCE)
    else:
        found = _in_text(file, content, hits, kind)
    return list(_units(found))


def _distinct(hits: Iterable[Hit]) -> list[Hit]:
    """Drop hits inside other hits; a token inside a URI keeps its provider and takes the URI as its unit."""
    kept: list[Hit] = []
    for hit in sorted(hits, key=lambda h: (h.start, -h.end, h.whole is not None, h.confidence)):
        last = kept[-1] if kept else None
        if last is not None and hit.start < last.end:
            if hit.whole is not None and last.whole is None:
                kept[-1] = Hit(last.start, last.end, last.provider, last.confidence, hit.whole)
            continue
        kept.append(hit)
    return kept


def _units(found: list[Found]) -> Iterator[Found]:
    """Keep one credential for each unit: what a value shows itself comes before what a name says about it."""
    shown = [item.value for item in found if item.provider != "generic"]
    position = -1
    for item in sorted(found, key=lambda f: (f.value, f.provider == "generic")):
        unit = item.whole or item.value
        named = item.provider == "generic" and any(unit[0] <= a and b <= unit[1] for a, b in shown)
        if named or item.value[0] < position:
            continue
        position = unit[1]
        yield item


def _in_program(file: SourceFile, content: str, hits: list[Hit], *, named: bool) -> list[Found]:
    candidates = named and _has_candidate(file.data)
    if not hits and not candidates:
        return []
    module = file.module
    if module is None:
        return [_of_text(hit) for hit in hits]
    places = list(program.places(module, content))
    found = [_of_literal(hit, _innermost(places, hit), content) for hit in hits]
    if candidates:
        found += [item for place in places if (item := _named(place, content)) is not None]
    return found


def _innermost(places: Iterable[program.Place], hit: Hit) -> program.Place | None:
    around = [p for p in places if p.node.span[0] <= hit.start and hit.end <= p.node.span[1]]
    return min(around, key=lambda p: (p.node.span[1] - p.node.span[0], p.form == "template"), default=None)


def _inner(span: Span, content: str) -> Span:
    """Return the span of a literal without its prefix and quotes."""
    start, end = span
    while start < end and content[start] not in "\"'`":
        start += 1
    width = 3 if content[start : start + 3] in ('"""', "'''") and end - start >= 6 else 1
    return start + width, end - width


def _of_literal(hit: Hit, place: program.Place | None, content: str) -> Found:
    """Say how a hit stands in the literal around it."""
    value = (hit.start, hit.end)
    if place is None:
        return _of_text(hit)
    if place.form != "literal" or place.fixed:
        return Found(value, hit.provider, hit.confidence, "part", None, place)
    inner = _inner(place.node.span, content)
    unit = hit.whole or value
    covered = content[inner[0] : unit[0]].strip(" \n\r\t") == "" and _is_blank(content[unit[1] : inner[1]])
    if not covered:
        return Found(value, hit.provider, hit.confidence, "part", None, place)
    return Found(value, hit.provider, hit.confidence, "uri" if hit.whole else "whole", place.node.span, place)


def _is_blank(rest: str) -> bool:
    """Say whether what follows a value in its literal is nothing (a private key ends with an escaped newline)."""
    return re.sub(r"\\+[nr]", "", rest).strip() == ""


def _of_text(hit: Hit) -> Found:
    return Found((hit.start, hit.end), hit.provider, hit.confidence, "text", hit.whole)


def _named(place: program.Place, content: str) -> Found | None:
    """Return the credential that a literal holds because of its name, if it does."""
    node = place.node
    if place.form == "piece":
        return None
    if place.basic:
        return _basic(place, content)
    if not isinstance(node, ir.Literal) or not isinstance(node.value, str):
        return None
    inner = _inner(node.span, content)
    value = node.value
    name, name_span = place.name, place.name_span
    asked = place.kind or (credential_kind(name) if name else None)
    if asked is None and place.env_key:
        name, name_span, asked = place.env_key, None, credential_kind(place.env_key)
    if asked is None or value == name:
        return None
    aws = name is not None and is_aws_secret(name, value)
    if not aws and not is_credential_value(asked, value):
        return None
    shape = "part" if place.fixed else "whole"
    whole = None if place.fixed else node.span
    if aws:
        return Found(inner, "aws", "high", shape, whole, place, name, name_span)
    return Found(inner, "generic", "medium", shape, whole, place, name, name_span)


def _basic(place: program.Place, content: str) -> Found | None:
    """Return the password of `user:password` that is encoded for HTTP Basic authentication."""
    start, end = _inner(place.node.span, content)
    user, colon, password = content[start:end].partition(":")
    if not colon or not user or not is_password(password):
        return None
    return Found((end - len(password), end), "basic_auth", "high", "part", None, place)


_LITERAL = re.compile(rb"([\"'`])((?:(?!\1)[^\s\\]|\\.){7,512})\1")
_HINTS = (b"pass", b"pwd", b"secret", b"token", b"key", b"auth", b"bearer", b"_pw", b"_pat")
_CALLS = (b"basic ", b"jwt", b"createhmac", b"cookieparser")
_WINDOW = 400


def _has_candidate(data: bytes) -> bool:
    """Say whether a credential-shaped literal follows a credential's name soon: only then is the program parsed."""
    lowered = data.lower()
    for hint in (*_HINTS, *_CALLS):
        position = lowered.find(hint)
        while position >= 0:
            end = position + len(hint)
            if hint in _CALLS or _is_named(data, position, end):
                for match in _LITERAL.finditer(data, end, end + _WINDOW):
                    value = match[2].decode("utf-8", "replace")
                    if is_key(value) or is_password(value):
                        return True
            position = lowered.find(hint, end)
    return False


def _is_named(data: bytes, start: int, end: int) -> bool:
    """Say whether the identifier around a hint names a credential."""
    left, right = start, end
    while left > 0 and start - left < 80 and _is_word(data[left - 1]):
        left -= 1
    while right < len(data) and right - end < 80 and _is_word(data[right]):
        right += 1
    return credential_kind(data[left:right].decode("utf-8", "replace")) is not None


def _is_word(byte: int) -> bool:
    return byte >= 128 or 48 <= byte <= 57 or 65 <= byte <= 90 or 97 <= byte <= 122 or byte in b"_-"


def _in_text(file: SourceFile, content: str, hits: list[Hit], kind: Kind) -> list[Found]:
    sealed: list[Span] = []
    if file.path.endswith((".yaml", ".yml", ".json", ".env", ".ini")):
        spans = documents(content) if file.path.endswith((".yaml", ".yml")) else [(0, len(content))]
        sealed = [span for span in spans if is_encrypted(content[span[0] : span[1]])]
    named = kind in (Kind.FOREIGN, Kind.CONFIG, Kind.DOTENV, Kind.DOCKERFILE, Kind.COMPOSE, Kind.CI, Kind.SHELL)
    found = [_of_text(hit) for hit in hits]
    if named and has_hint(file.data):
        for pair in pairs(file.path, kind, content):
            provider = "aws" if pair.confidence == "high" else "generic"
            found.append(
                Found(pair.value_span, provider, pair.confidence, "text", None, None, pair.name, pair.name_span)
            )
    if b"Secret" in file.data and file.path.endswith((".yaml", ".yml")):
        encoded = list(encoded_blocks(content))
        found = [item for item in found if not any(a <= item.value[0] < b for a, b in encoded)]
        found += _in_manifest(content)
    return [item for item in found if not any(a <= item.value[0] < b for a, b in sealed)]


def _in_manifest(content: str) -> Iterator[Found]:
    for item in secret_items(content):
        data = item.text.encode()
        hit = next(iter([*provider_hits(data, item.text), *uri_hits(data, item.text)]), None)
        asked = credential_kind(item.name)
        inner = next(iter(pairs(".env", Kind.DOTENV, item.text)), None)
        if hit or inner or (asked and is_credential_value(asked, item.text.strip())):
            provider = hit.provider if hit else "generic"
            yield Found(item.value_span, provider, "high", "text", None, None, item.name, item.name_span)
