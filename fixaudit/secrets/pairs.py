"""Names and values in texts that no front end reads: configuration, .env, Dockerfiles, shell, other languages.

One reading for all of them, line by line: a name, `=` or `:`, and a value that is quoted or, where the format allows,
one bare word. Spans are those of the value without its quotes. A line reader cannot know nesting, which a name and a
value on one line do not need.
This module must not know of files or programs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from fixaudit.secrets.files import Kind
from fixaudit.secrets.names import credential_kind, words
from fixaudit.secrets.values import is_key, is_password, is_random

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Pair:
    """A credential bound to a name, as it stands in the text; `whole` includes the quotes."""

    name: str
    name_span: Span
    value_span: Span
    whole: Span
    confidence: str = "medium"


_HINT = re.compile(
    rb"pass|pwd|secret|token|_pw\b|psw|auth|bearer|\bpat\b|(?:api|access|private|encrypt\w*|sign\w*|master|session|jwt|hmac"
    rb"|client|app|license|webhook|account|service|admin)[-_. ]?key",
    re.IGNORECASE,
)
_PAIR = re.compile(
    r"(?<![A-Za-z0-9_$.-])(?P<q>[\"']?)(?P<name>[A-Za-z_][\w.-]{1,79})(?P=q)"
    r"(?:\s{0,8}[\"']?\]\s{0,2})?"
    r"(?P<op>[ \t]{0,20}(?::=|=>|=|:)[ \t]{0,20})"
    r"(?:(?P<quote>[\"'`])(?P<quoted>[^\"'`\n]{1,512})(?P=quote)|(?P<bare>[^\s\"'`,;#][^\s\"'`,;]{0,511}))"
)
_ENV_LINE = re.compile(  # the older form: one variable, no `=`
    r"\s{0,8}(?i:ENV)\s{1,8}(?P<name>[A-Za-z_]\w{1,79})\s{1,8}(?:\"(?P<quoted>[^\"]{1,512})\"|(?P<bare>[^\s\"=][^\s\"]{0,511}))\s*"
)
_XML = re.compile(r"<(?P<name>[A-Za-z][\w.-]{1,60})>(?P<bare>[^<>\s]{6,256})</(?P=name)>")
_ADD_KEY = re.compile(r"key=\"(?P<name>[\w.:-]{2,80})\"\s{1,4}value=\"(?P<bare>[^\"\s]{6,256})\"")
_BARE_KINDS = frozenset({Kind.DOTENV, Kind.DOCKERFILE, Kind.COMPOSE, Kind.CI, Kind.SHELL})
_BARE_SUFFIXES = (".yaml", ".yml", ".ini", ".cfg", ".conf", ".properties", ".npmrc", ".pypirc", ".cnf", ".service")
_SCHEMA = re.compile(r"(?:^|/)(?:openapi|swagger|schema)[^/]*\.(?:json|ya?ml)$|\.schema\.json$", re.IGNORECASE)


def has_hint(data: bytes) -> bool:
    """Say whether a credential's name may be in the bytes at all."""
    return _HINT.search(data) is not None


def pairs(path: str, kind: Kind, content: str) -> Iterator[Pair]:
    """Yield the name-and-value credentials of a text that is no program of ours."""
    if _SCHEMA.search(path):
        return
    bare_allowed = kind in _BARE_KINDS or path.lower().endswith(_BARE_SUFFIXES)
    for start, line in _lines(content):
        if len(line) > 4096 or not _HINT.search(line.encode()):
            continue
        comment = line.lstrip()[:2]
        if comment.startswith(("#", "//", "--", ";", "/*", "*")) and kind is not Kind.DOTENV:
            continue
        if comment.startswith("#"):
            continue
        if kind is Kind.DOCKERFILE and (old := _ENV_LINE.fullmatch(line)):
            begin, end = old.span("quoted") if old["quoted"] else old.span("bare")
            if found := _judge(old["name"], line[begin:end], kind):
                yield _pair(start, old.span("name"), (begin, end), 1 if old["quoted"] else 0, old["name"], found)
            continue
        for match in _PAIR.finditer(line):
            quoted = match["quoted"] is not None
            if not quoted and not bare_allowed:
                continue
            group = "quoted" if quoted else "bare"
            begin, end = match.span(group)
            found = _judge(match["name"], line[begin:end], kind)
            if found:
                edge = 1 if quoted else 0
                yield _pair(start, match.span("name"), (begin, end), edge, match["name"], found)
        if "<" in line:
            for match in (*_XML.finditer(line), *_ADD_KEY.finditer(line)):
                found = _judge(match["name"], match["bare"], kind)
                if found:
                    yield _pair(start, match.span("name"), match.span("bare"), 0, match["name"], found)


def _pair(start: int, name: Span, value: Span, edge: int, text: str, confidence: str) -> Pair:
    begin, end = start + value[0], start + value[1]
    return Pair(text, (start + name[0], start + name[1]), (begin, end), (begin - edge, end + edge), confidence)


def _lines(content: str) -> Iterator[tuple[int, str]]:
    position = 0
    for line in content.split("\n"):
        yield position, line.rstrip("\r")
        position += len(line) + 1


def _judge(name: str, value: str, kind: Kind) -> str | None:
    """Return a confidence when the pair is a credential in a file of this kind."""
    asked = credential_kind(name)
    if asked is None:
        return None
    if kind is Kind.CI:  # a service container's password lives as long as its job
        return "medium" if is_random(value, 16) else None
    if is_aws_secret(name, value):
        return "high"
    return "medium" if is_credential_value(asked, value) else None


def is_aws_secret(name: str, value: str) -> bool:
    """Say whether a value is AWS's secret access key: 40 characters of base64 under a name that says so."""
    parts = words(name)
    if "secret" not in parts or not ("aws" in parts or "access" in parts):
        return False
    return bool(re.fullmatch(r"[A-Za-z0-9/+]{40}", value)) and is_random(value.replace("/", "a").replace("+", "b"), 40)


def is_credential_value(asked: str, value: str) -> bool:
    """Say whether a value has the shape that a name of this kind ("password", "secret", "token", "key") promises."""
    if is_key(value):
        return True
    return asked in ("password", "secret") and is_password(value)
