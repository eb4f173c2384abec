"""Whether a name says "credential", and which environment variable it suggests.

The words of the identifier decide, and the last ones most: `tokenUrl`, `PASSWORD_FILE` and `KMS_KEY_ALIAS` name other
things (buildkit#5775: a substring of `ACCESS_KEY` was enough for `CC`).
This module must not know of values, files or programs.
"""

from __future__ import annotations

import re
from functools import lru_cache

from fixaudit.secrets import listed

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_PASSWORD = frozenset({"password", "passwd", "passphrase", "pwd", "passwort", "pass", "pw", "psw", "passcode"})
_SECRET = frozenset({"secret"})
_TOKEN = frozenset({"token", "apikey", "authtoken", "accesstoken", "bearer", "pat", "apitoken"})
_KEYS = listed(
    "api access secret private encryption encrypt signing sign signature master auth session jwt hmac cipher aes"
    " crypto client service account license webhook deploy admin app subscription shared server function security"
    " decryption cookie"
)
_GLUED = re.compile(
    r"[a-z]{0,16}(?:password|passwd|passphrase|apikey|secretkey|accesskey|privatekey|authkey|authtoken|accesstoken"
    r"|apitoken|bottoken|apisecret|clientsecret|jwtsecret)|(?:db|my|app|user|smtp|mail|root|admin)pass(?:wd)?|dbpwd"
)
_OTHER_TOKENS = listed(
    "csrf xsrf next page cursor continuation design color colour theme font syntax lexer css style cancel"
    " cancellation cancelled injection stop start end eos bos pad unk mask special first last word punctuation"
    " keyword public publishable site anon open close sync resume pagination prev previous display bytes max min"
    " num"
)
_PUBLIC = frozenset({"public", "publishable", "pub", "site", "anon", "anonymous"})
_PLACE_WORDS = listed("no missing invalid wrong bad show hide forgot reset has is with without label i18n")


def words(name: str) -> tuple[str, ...]:
    """Split an identifier into lower-case words: camelCase, snake_case, kebab-case, dotted; digits at the end go."""
    found = [word.lower() for word in _WORD.findall(name)]
    while len(found) > 1 and found[-1].isdigit():
        found.pop()
    return tuple(found)


@lru_cache(maxsize=8192)
def credential_kind(name: str) -> str | None:
    """Return "password", "secret", "token" or "key" for a credential's name, else None."""
    if not 2 <= len(name) <= 80:
        return None
    parts = words(name)
    if not parts or not _PUBLIC.isdisjoint(parts) or parts[0] in _PLACE_WORDS:
        return None
    last = parts[-1]
    before = parts[-2] if len(parts) > 1 else ""
    if last in _PASSWORD:
        return "password"
    if last in _SECRET:
        return "secret"
    if last in _TOKEN:
        return None if before in _OTHER_TOKENS else "token"
    if last == "key" and (before in _KEYS or (before == "or" and "secret" in parts)):
        return "key"
    if last == "base" and before == "key" and "secret" in parts:  # Rails' SECRET_KEY_BASE
        return "key"
    if last in ("auth", "authorization") and (len(parts) == 1 or before in ("basic", "proxy", "http", "api")):
        return "token"
    if _GLUED.fullmatch(last) and not any(last.startswith(word) for word in _PLACE_WORDS):
        return "password" if "pass" in last or "pwd" in last else "secret" if "secret" in last else "key"
    return None


def environment_key(name: str) -> str | None:
    """Return UPPER_SNAKE of a name; None when it has letters that no environment variable should have."""
    if not name.isascii():
        return None
    key = re.sub(r"[^A-Za-z0-9]+", "_", _HUMP.sub("_", name)).strip("_").upper()
    return key if key and not key[0].isdigit() else None
