"""Credentials for examples: `{{ sample.github_pat }}` in a rule's examples becomes a token of that provider's shape.

Contract: made by a seeded generator from parts, so no file of rules and no source file holds a token that a scanner
(ours or anyone's) would find. The same name gives the same token everywhere; `{{ sample.github_pat.2 }}` another.
Nothing else between braces is touched: examples hold JSX, Jinja and workflow expressions.
This module must not know of rules.
"""

from __future__ import annotations

import random
import re
import string
from collections.abc import Callable, Iterator, Mapping
from typing import Any

_ALNUM = string.ascii_letters + string.digits
_UPPER = string.ascii_uppercase + string.digits
_HEX = "0123456789abcdef"
_USE = re.compile(r"\{\{\s*sample\.([a-z][a-z0-9_]*)(?:\.([1-9]))?\s*\}\}")


def _some(alphabet: str, count: int) -> Callable[[random.Random], str]:
    return lambda source: "".join(source.choice(alphabet) for _ in range(count))


def _password(source: random.Random) -> str:
    """A password as people choose good ones: letters of both cases, digits and a mark, no word in it."""
    body = [source.choice(string.ascii_lowercase) for _ in range(6)]
    body += [source.choice(string.ascii_uppercase) for _ in range(3)]
    body += [source.choice(string.digits) for _ in range(4)]
    source.shuffle(body)
    return "".join((*body, "-", source.choice(string.ascii_uppercase), source.choice(string.digits)))


_SHAPES: Mapping[str, tuple[str | Callable[[random.Random], str], ...]] = {
    "aws_access_key": ("AK", "IA", _some(string.ascii_uppercase + "234567", 16)),
    "aws_secret_key": (_some(_ALNUM, 40),),
    "github_pat": ("gh", "p_", _some(_ALNUM, 36)),
    "gitlab_pat": ("gl", "pat-", _some(_ALNUM, 20)),
    "slack_bot": ("xo", "xb-", _some(string.digits, 12), "-", _some(string.digits, 12), "-", _some(_ALNUM, 24)),
    "stripe_live": ("sk", "_live_", _some(_ALNUM, 24)),
    "google_api": ("AI", "za", _some(_ALNUM, 35)),
    "sendgrid": ("S", "G.", _some(_ALNUM, 22), ".", _some(_ALNUM, 43)),
    "twilio": ("S", "K", _some(_HEX, 32)),
    "npm_token": ("np", "m_", _some(_ALNUM, 36)),
    "openai": ("sk", "-proj-", _some(_ALNUM, 48)),
    "anthropic": ("sk", "-ant-", "api03-", _some(_ALNUM, 93), "AA"),
    "telegram_bot": (_some("123456789", 9), ":A", "A", _some(_ALNUM, 33)),
    "hex_key": (_some(_HEX, 40),),
    "random_key": (_some(_ALNUM, 32),),
    "password": (_password,),
    "uri_password": (_some(_ALNUM, 18),),
}

SAMPLES = tuple(sorted(_SHAPES))
"""Names that `{{ sample.… }}` knows."""


def sample(name: str, number: int = 1) -> str:
    """Return the `number`-th credential of a shape. Raises KeyError for an unknown name."""
    source = random.Random(f"{name}/{number}")  # noqa: S311 - it makes examples, not secrets
    return "".join(part if isinstance(part, str) else part(source) for part in _SHAPES[name])


def unknown_samples(text: str) -> Iterator[str]:
    """Yield the names that a text uses and that no shape has."""
    for use in _USE.finditer(text):
        if use[1] not in _SHAPES:
            yield use[1]


def expand(value: Any) -> Any:
    """Fill in the samples of every text inside a value, at any depth."""
    if isinstance(value, str):
        return _USE.sub(lambda use: sample(use[1], int(use[2] or 1)), value) if "sample." in value else value
    if isinstance(value, Mapping):
        return {key: expand(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [expand(inner) for inner in value]
    return value
