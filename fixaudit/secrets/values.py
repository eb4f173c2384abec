"""Whether a value has a credential's shape, and which values are placeholders.

The shapes are asked only of values whose name already says "credential" (or that stand in a credential's place in a
URI); provider-shaped tokens never come here. Everything is decided by the value alone, without dictionaries.
This module must not know of names, files or programs.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from itertools import pairwise

from fixaudit.secrets import listed

PUBLISHED = frozenset(
    {
        # Exact values from the providers' own documentation and emulators, in parts so that no scanner takes them here.
        "AK" + "IAIOSFODNN7" + "EXAMPLE",
        "AK" + "IAI44QH8DHB" + "EXAMPLE",
        "wJalrXUtnFEMI/K7MDENG/" + "bPxRfiCY" + "EXAMPLEKEY",
        "je7MtGbClwBF/2Zp9Utk/" + "h3yCo8nvb" + "EXAMPLEKEY",
        "sk_test_" + "4eC39HqLyjWDarjtT1zdp7dc",
        "sk_test_" + "BQokikJOvBiI2HlWgH4olfQ2",
        "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/" + "K1SZFPTOtr/KBHBeksoGMGw==",
        "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPM" + "bIZnqyMsEcaGQy67XIw/Jw==",
        "SG." + "ngeVfQFYQlKU0ufo8x5d1A." + "TwL2iGABf9DHoTf-09kqeF8tAmbihYzrnopKc-1s5cr",
    }
)
"""The full values only: a part of one of them means nothing (aws-sdk-go-v2#3087, gitleaks#1340)."""

_PLACEHOLDER = re.compile(
    r"change[-_. ]?(?:me|this|it|in)|your(?:s)?(?:[-_. ]|$)|your(?=[A-Z])"
    r"|(?<![a-z])your(?:api|secret|password|token|key)"
    r"|example|placeholder|dummy|sample|redacted|replace[-_. ]?(?:me|this|with)|insert[-_. ]|to[-_]?be[-_]"
    r"|xxx|\*\*\*|\.\.\.|…|•|<[^>]*>|\bto-?do\b|fix-?me|\bfake|\bmock|not[-_ ]?(?:set|used|a[-_ ]|real|secure)"
    r"|(?<![a-z])(?:here|value|string|goes|required|optional|unused|foo|bar|baz|foobar|lorem|undefined|null|none)(?![a-z])"
    r"|(?<![a-z])(?:in)?secure?[-_]|(?<![a-z])(?:my|some|any|the|a|new|old|this)[-_.]|(?<![a-z])(?:dev|test|local)[-_.]",
    re.IGNORECASE,
)
_WEAK = listed(
    "password passwd passphrase pass pwd pw secret token key apikey test testing tests tester admin administrator"
    " root user username guest postgres mysql mariadb mongo mongodb redis rabbitmq minio sa default changeit"
    " changeme demo dev development prod production staging local localhost app api auth login anonymous unknown"
    " empty blank hidden qwerty letmein welcome temp tmp abc abcd abcdef abcdefg foo bar baz foobar hello world"
    " public private"
)
_REFERENCE = re.compile(
    r"\$\{|\{\{|\$\(|\$\[|<%|#\{|%\(|%\{|@\{|\{[A-Za-z_0-9.]*\}|(?:^|[^%])%[sdr](?![A-Za-z0-9])|^\$[A-Za-z_]\w*$|^%\w+%$"
    r"|^@[\w./]+$|^__\w+__$|^\w+\(.*\)$|^(?:env|file|vault|secret|secrets|op|ssm|sm|kms|arn|projects|data|urn|ref)[:/]"
    r"|^!\w|^ENC\[|^\{cipher\}|^enc:|^AQICAH|^\$ANSIBLE_VAULT|^[*&]\w+$|process\.env|os\.environ|import\.meta",
)
_HASHED = re.compile(
    r"^\$(?:2[abxy]|1|5|6|y|argon2\w*|scrypt|pbkdf2[\w-]*|apr1)\$|^pbkdf2_|^bcrypt|^argon2|^md5\$|^sha\d"
    r"|^(?:sha(?:1|224|256|384|512)|md5|h1)[-:]|^\{(?:SHA|SSHA|CRYPT)"
)
# Public by design, or judged by a pattern of its own (the last two) and by nothing else.
_PUBLIC = re.compile(
    r"^(?:pk[_.]|phc_|pub[-_]|public|ssh-|-----BEGIN (?:PUBLIC|CERT)|sb_publishable_|6L[ce])|^AIza|^eyJ[\w-]+\.eyJ"
)
_UUID = re.compile(r"[0-9a-fA-F]{8}-?(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")
_LOCATION = re.compile(
    r"^(?:[a-z][\w+.-]*:)?//|^[~.]{0,2}/|^[A-Za-z]:\\|\.(?:json|ya?ml|pem|key|crt|txt|js|ts|py|html?)$"
)
_DATE_OR_VERSION = re.compile(r"^v?\d+(?:[.:/_-]\d+)*[a-z]{0,2}\d*(?:[T ][\d:.+Z-]+)?$")
_EMAIL = re.compile(r"^[\w.+-]+@[\w-]+(?:\.[\w-]+)+$")
_PHRASE_WORDS = listed(
    "password passwd pwd token secret key auth field input form step tab page label text button row item section"
    " id name type api client user access refresh bearer reset confirm new old current login signin hint error"
    " modal"
)
_CODE = re.compile(
    r"[\s\"'`\\]|\(\?|\[[A-Za-z^]|A-Z|0-9|a-z|\{\d|://|\$\{|\{\{|\w\(\)|[\w.]+\([\w., ]*\)|[a-z]{9}|^[./~]|[?&]\w+="
)
_SYMBOLS = frozenset("!@#$%^&*+=~?")


def entropy(value: str) -> float:
    """Return Shannon's entropy in bits a character."""
    total = len(value)
    return -sum(n / total * math.log2(n / total) for n in Counter(value).values()) if total else 0.0


def is_sequence(body: str) -> bool:
    """Say whether a text is filler: few distinct characters, or mostly runs such as `aaaa`, `1234`, `abcd`."""
    if len(set(body.lower())) < min(6, max(2, len(body) // 2)):
        return True
    codes = [ord(char) for char in body]
    steps = sum(1 for a, b in pairwise(codes) if b - a in (0, 1))
    return steps >= 0.6 * (len(codes) - 1)


def is_placeholder(value: str) -> bool:
    """Say whether a value stands for a credential without being one."""
    if value in PUBLISHED or _REFERENCE.search(value) or _PLACEHOLDER.search(value):
        return True
    core = value.strip("!?.#*-_\"'`").lower()
    return (
        core in _WEAK
        or core.rstrip("0123456789") in ("test", "example", "dummy", "foo", "user", "")
        or _is_filler(core)
    )


def _is_filler(core: str) -> bool:
    return len(set(core)) <= 2 or core in "abcdefghijklmnopqrstuvwxyz" or core in "01234567890123456789"


def is_no_credential(value: str) -> bool:
    """Say whether a value is surely something else: a path, an address, a hash, a version, a sentence, public data."""
    return (
        not value.isascii()
        or any(char.isspace() for char in value)
        or is_placeholder(value)
        or bool(
            _HASHED.search(value)
            or _PUBLIC.search(value)
            or _UUID.fullmatch(value)
            or _LOCATION.search(value)
            or _DATE_OR_VERSION.search(value)
            or _EMAIL.search(value)
        )
        or any(char in value for char in "<>()[]{}\\`|")
        or is_sequence(value)
    )


def transitions(value: str) -> int:
    """Count changes between digits, lower and upper case inside runs of letters and digits, camelCase left out."""
    count = 0
    for a, b in pairwise(value):
        if not (a.isalnum() and b.isalnum()):
            continue
        kinds = (a.isdigit(), a.isupper()), (b.isdigit(), b.isupper())
        if kinds[0] != kinds[1] and not (a.isupper() and b.islower()):
            count += 1
    return count


def is_random(value: str, least: int = 16) -> bool:
    """Say whether a value of at least `least` characters looks drawn, not written: letters and digits mixed densely."""
    if len(value) < least or is_no_credential(value):
        return False
    digits = sum(char.isdigit() for char in value)
    letters = sum(char.isalpha() for char in value)
    changes = transitions(value)
    if digits and letters and changes >= 3 and changes * 8 >= len(value):
        return len(value) < 20 or entropy(value) >= 3.0
    # Random letters alone: upper and lower case change more often than camelCase does.
    return len(value) >= 24 and changes * 5 >= len(value) and entropy(value) >= 3.8


def _is_symbol_key(value: str) -> bool:
    """Say whether a value is drawn from letters, digits and brackets as well, as Django's SECRET_KEY is.

    `django-insecure-` is what `startproject` writes before a drawn key: it is in use until somebody replaces it.
    """
    body = value.removeprefix("django-insecure-")
    if not 40 <= len(body) <= 100 or not body.isascii() or _CODE.search(body):
        return False
    digits, letters = sum(char.isdigit() for char in body), sum(char.isalpha() for char in body)
    return digits >= 3 and letters >= 12 and len(body) - digits - letters >= 4 and entropy(body) >= 4.3


def is_key(value: str) -> bool:
    """Say whether a value may be an API key, token or secret key (its name says so)."""
    if _is_symbol_key(value):
        return True
    if any(char in value for char in ":;,?&") and not value.startswith("base64:"):
        return False
    return len(value) <= 512 and is_random(value, 10)


def is_password(value: str) -> bool:
    """Say whether a value may be a password a person typed (its name says so): 7 to 128 characters, some variety."""
    if not 7 <= len(value) <= 128 or is_no_credential(value):
        return False
    digit, letter = any(char.isdigit() for char in value), any(char.isalpha() for char in value)
    if not letter:
        return False
    inner = any(char in _SYMBOLS for char in value[1:-1]) and not value.endswith(("=", ":", "?"))
    words = [word.lower() for word in _WORDS.findall(value)]
    if not digit:
        # "P@ssword!" is one, "password?" and "Required!" are texts; "user@host" and "a=b" were left out above.
        return inner and len(value) >= 8 and sum(char in _SYMBOLS for char in value) <= len(value) // 2
    if inner or transitions(value) >= 2 or any(char in _SYMBOLS for char in value):
        return True
    separated = any(char in value for char in "-_.:/,")
    if separated:  # "correct-horse-7" is a password, "password-field-2" is an element's name
        return len(value) >= 12 and not _PHRASE_WORDS.intersection(words) and "/" not in value and ":" not in value
    return not (value[:1].islower() and len(words) > 2 and _PHRASE_WORDS.intersection(words))


def length_class(value: str) -> str:
    """Return a class of length for fingerprints: never anything that helps to guess the value."""
    for limit in (8, 16, 32, 64, 128):
        if len(value) < limit:
            return f"<{limit}"
    return ">=128"
