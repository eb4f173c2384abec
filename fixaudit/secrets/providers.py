"""Credentials that show what they are: a provider's own prefix and exact shape.

Every pattern is written after the provider's published description of its tokens, begins and ends at a boundary and
is made of bounded or single-class repetitions, so that matching is linear. A pattern runs only where one of its
literal words is in the bytes. Stop words ("example", "test") never reach these values (a token is a token wherever
it stands); only a body that nobody issued (one character repeated, a run of the alphabet) and the exact published
values of `values.PUBLISHED` are left out.
This module must not know of files or programs.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from fixaudit.secrets.values import PUBLISHED, is_sequence


@dataclass(frozen=True, slots=True)
class Hit:
    """A credential in a text: code points [start, end). `whole` is the unit around it (a URI), else the same."""

    start: int
    end: int
    provider: str
    confidence: str = "high"
    whole: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Pattern:
    provider: str
    words: tuple[bytes, ...]
    regex: re.Pattern[str]
    confidence: str


def _pattern(provider: str, words: str, regex: str, confidence: str = "high", *, edge: str = r"A-Za-z0-9_") -> Pattern:
    bounded = rf"(?<![{edge}])(?:{regex})(?![{edge}])"
    return Pattern(provider, tuple(word.encode() for word in words.split()), re.compile(bounded), confidence)


PATTERNS: tuple[Pattern, ...] = (
    _pattern("aws", "AKIA ASIA ABIA ACCA", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}", edge=r"A-Za-z0-9+/"),
    _pattern("aws", "amzn.mws.", r"amzn\.mws\.[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"),
    _pattern("aws", "ABSK", r"ABSK[A-Za-z0-9+/]{109,269}={0,2}", edge=r"A-Za-z0-9+/"),
    _pattern("github", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[pousr]_[A-Za-z0-9]{36,255}"),
    _pattern("github", "github_pat_", r"github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}"),
    _pattern(
        "gitlab",
        "glpat- gldt- glrt- glptt- glsoat- glcbt- glimt- glagent- gloas-",
        r"gl(?:pat|dt|rt|ptt|soat|cbt|imt|agent|oas)-[A-Za-z0-9_-]{20,300}(?:\.[a-z0-9]{2}\.[a-z0-9]{9})?",
    ),
    _pattern("slack", "xox", r"xox[abeoprs]-(?:[0-9]{1,14}-){1,3}[A-Za-z0-9-]{16,200}", edge=r"A-Za-z0-9_-"),
    _pattern("slack", "xapp-", r"xapp-[0-9]-[A-Z0-9]{8,20}-[0-9]{8,20}-[a-f0-9]{32,80}"),
    _pattern(
        "slack",
        "hooks.slack.com",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/T[A-Z0-9]{6,14}/[A-Z0-9]{6,20}/[A-Za-z0-9]{16,80}",
        edge=r"A-Za-z0-9_.",
    ),
    _pattern("stripe", "_live_", r"(?:sk|rk)_live_[A-Za-z0-9]{16,247}"),
    _pattern("stripe", "_test_", r"(?:sk|rk)_test_[A-Za-z0-9]{24,247}", "medium"),
    _pattern("stripe", "whsec_", r"whsec_[A-Za-z0-9+/]{32,80}={0,2}", "medium"),
    _pattern("google", "AIza", r"AIza[A-Za-z0-9_-]{35}", edge=r"A-Za-z0-9_-"),
    _pattern("google", "GOCSPX-", r"GOCSPX-[A-Za-z0-9_-]{28}", edge=r"A-Za-z0-9_-"),
    _pattern("google", "ya29.", r"ya29\.[A-Za-z0-9_-]{60,600}", edge=r"A-Za-z0-9_-"),
    _pattern("azure", "AccountKey=", r"(?<=AccountKey=)[A-Za-z0-9+/]{86}==", edge=r"A-Za-z0-9+/"),
    _pattern("azure", "SharedAccessKey=", r"(?<=SharedAccessKey=)[A-Za-z0-9+/]{43}=", edge=r"A-Za-z0-9+/"),
    _pattern("azure", "Q~", r"[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}", edge=r"A-Za-z0-9_~."),
    _pattern("twilio", "SK", r"SK[0-9a-f]{32}", "medium", edge=r"A-Za-z0-9_+/"),
    _pattern("sendgrid", "SG.", r"SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}", edge=r"A-Za-z0-9_-"),
    _pattern("mailgun", "key-", r"key-[0-9a-f]{32}", edge=r"A-Za-z0-9_-"),
    _pattern("mailchimp", "-us", r"[0-9a-f]{32}-us[0-9]{1,2}", edge=r"A-Za-z0-9_-"),
    _pattern("brevo", "xkeysib-", r"xkeysib-[0-9a-f]{64}-[A-Za-z0-9]{16}"),
    _pattern("resend", "re_", r"re_[A-Za-z0-9]{8}_[A-Za-z0-9]{24}"),
    _pattern("npm", "npm_", r"npm_[A-Za-z0-9]{36}"),
    _pattern("pypi", "pypi-AgEI", r"pypi-AgEI[A-Za-z0-9_-]{50,500}", edge=r"A-Za-z0-9_-"),
    _pattern("rubygems", "rubygems_", r"rubygems_[0-9a-f]{48}"),
    _pattern("nuget", "oy2", r"oy2[a-z0-9]{43}"),
    _pattern("docker", "dckr_pat_ dckr_oat_", r"dckr_[po]at_[A-Za-z0-9_-]{27,60}", edge=r"A-Za-z0-9_-"),
    _pattern("digitalocean", "_v1_", r"do[opr]_v1_[0-9a-f]{64}"),
    _pattern("heroku", "HRKU-", r"HRKU-[A-Za-z0-9_-]{36,64}", edge=r"A-Za-z0-9_-"),
    _pattern("shopify", "shp", r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}"),
    _pattern("square", "sq0", r"sq0(?:atp|csp|idp)-[A-Za-z0-9_-]{22,60}", edge=r"A-Za-z0-9_-"),
    _pattern("square", "EAAA", r"EAAA[A-Za-z0-9_-]{60}", edge=r"A-Za-z0-9_+/=-"),
    _pattern("braintree", "access_token$production$", r"access_token\$production\$[0-9a-z]{16}\$[0-9a-f]{32}"),
    _pattern("telegram", ":AA", r"[0-9]{8,10}:AA[A-Za-z0-9_-]{33}", edge=r"A-Za-z0-9_:-"),
    _pattern(
        "discord",
        "iscord ISCORD",
        r"[MNO][A-Za-z0-9_-]{23,25}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,38}",
        edge=r"A-Za-z0-9_.-",
    ),
    _pattern(
        "discord",
        "/api/webhooks/",
        r"discord(?:app)?\.com/api/webhooks/[0-9]{17,20}/[A-Za-z0-9_-]{60,80}",
        edge=r"A-Za-z0-9_-",
    ),
    _pattern("anthropic", "sk-ant-", r"sk-ant-[a-z]{3,6}[0-9]{2}-[A-Za-z0-9_-]{40,140}", edge=r"A-Za-z0-9_-"),
    _pattern("openai", "sk-", r"sk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{40,200}", edge=r"A-Za-z0-9_-"),
    _pattern("openai", "sk-", r"sk-[A-Za-z0-9]{48}", edge=r"A-Za-z0-9_-"),
    _pattern("openrouter", "sk-or-v1-", r"sk-or-v1-[0-9a-f]{64}", edge=r"A-Za-z0-9_-"),
    _pattern("huggingface", "hf_", r"hf_[A-Za-z0-9]{34}"),
    _pattern("groq", "gsk_", r"gsk_[A-Za-z0-9]{52}"),
    _pattern("replicate", "r8_", r"r8_[A-Za-z0-9]{37}"),
    _pattern("perplexity", "pplx-", r"pplx-[A-Za-z0-9]{48}"),
    _pattern("xai", "xai-", r"xai-[A-Za-z0-9]{80}"),
    _pattern("databricks", "dapi", r"dapi[0-9a-f]{32}(?:-[0-9])?"),
    _pattern("vault", "hvs. hvb.", r"hv[sb]\.[A-Za-z0-9_-]{24,300}", edge=r"A-Za-z0-9_-"),
    _pattern("terraform", ".atlasv1.", r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_-]{60,80}", edge=r"A-Za-z0-9_.-"),
    _pattern("doppler", "dp.", r"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{1,40}\.)?[A-Za-z0-9]{40,44}"),
    _pattern("linear", "lin_api_", r"lin_api_[A-Za-z0-9]{40}"),
    _pattern("notion", "ntn_", r"ntn_[A-Za-z0-9]{43,60}"),
    _pattern("airtable", "pat", r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}"),
    _pattern("atlassian", "ATATT3", r"ATATT3[A-Za-z0-9_=-]{60,250}", edge=r"A-Za-z0-9_-"),
    _pattern("postman", "PMAK-", r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}"),
    _pattern("newrelic", "NRAK-", r"NRAK-[A-Z0-9]{27}"),
    _pattern("grafana", "glsa_", r"glsa_[A-Za-z0-9]{32}_[0-9a-f]{8}"),
    _pattern("sentry", "sntrys_ sntryu_", r"sntry[su]_[A-Za-z0-9+/=_]{60,300}", edge=r"A-Za-z0-9_+/="),
    _pattern("supabase", "sbp_ sb_secret_", r"sbp_[0-9a-f]{40}|sb_secret_[A-Za-z0-9_-]{22,60}"),
    _pattern("planetscale", "pscale_", r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{32,64}", edge=r"A-Za-z0-9_-"),
    _pattern("netlify", "nfp_", r"nfp_[A-Za-z0-9]{36}"),
    _pattern("figma", "figd_", r"figd_[A-Za-z0-9_-]{38,44}", edge=r"A-Za-z0-9_-"),
    _pattern("cloudflare", "v1.0-", r"v1\.0-[0-9a-f]{24}-[0-9a-f]{146}"),
    _pattern("age", "AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}"),
)

_JWT = re.compile(
    r"(?<![A-Za-z0-9_-])(eyJ[A-Za-z0-9_-]{10,500})\.(eyJ[A-Za-z0-9_-]{10,4000})\.[A-Za-z0-9_-]{20,1000}(?![A-Za-z0-9_-])"
)
_PEM = re.compile(r"-----BEGIN ((?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?)-----")
_PREFIX = re.compile(r"[A-Za-z0-9]{2,12}[_.-](?:[a-z0-9]{2,8}[_.-]){0,2}")


def provider_hits(data: bytes, content: str) -> Iterator[Hit]:
    """Yield the provider-shaped credentials of a text. `data` holds the same text as bytes, for the pre-filter."""
    for pattern in PATTERNS:
        if not any(word in data for word in pattern.words):
            continue
        for match in pattern.regex.finditer(content):
            if is_issued(match[0]) and not _is_public_web_key(content, match):
                yield Hit(match.start(), match.end(), pattern.provider, pattern.confidence)
    if b"PRIVATE KEY" in data:
        yield from _private_keys(content)
    if b"eyJ" in data:
        yield from _tokens(content)


def is_issued(token: str) -> bool:
    """Say whether a token may have been issued: not a published example, not `xxxx…`, not the alphabet."""
    if token in PUBLISHED or token.endswith(("EXAMPLE", "EXAMPLEKEY")):
        return False
    prefix = _PREFIX.match(token)
    body = token[prefix.end() :] if prefix and len(token) - prefix.end() >= 12 else token[4:]
    return not is_sequence(body)


def _is_public_web_key(content: str, match: re.Match[str]) -> bool:
    """A Firebase web configuration is public by design (its documentation says so) and lists `authDomain` nearby."""
    if not match[0].startswith("AIza"):
        return False
    around = content[max(0, match.start() - 400) : match.end() + 600]
    return "authDomain" in around or "messagingSenderId" in around or "mobilesdk_app_id" in around


def _private_keys(content: str) -> Iterator[Hit]:
    """Yield BEGIN..END once, over real and escaped newlines; a body of dots, x or a placeholder is no key."""
    position = 0
    while begin := _PEM.search(content, position):
        closing = f"-----END {begin[1]}-----"
        end = content.find(closing, begin.end(), begin.end() + 20_000)
        position = begin.end()
        if end < 0:
            continue
        body = re.sub(r"\\+[nrt]|[^A-Za-z0-9+/=]", "", content[begin.end() : end])
        if len(body) >= 64 and len(set(body)) >= 16 and not is_sequence(body):
            position = end + len(closing)
            yield Hit(begin.start(), position, "private_key")


def _tokens(content: str) -> Iterator[Hit]:
    for match in _JWT.finditer(content):
        header, payload = _claims(match[1]), _claims(match[2])
        if header is None or payload is None or "alg" not in header:
            continue
        if payload.get("role") == "anon" or payload.get("sub") == "1234567890" or payload.get("name") == "John Doe":
            continue  # a Supabase browser key is public by design; the others are the debugger's sample
        service = payload.get("role") == "service_role"
        yield Hit(match.start(), match.end(), "supabase" if service else "jwt", "high")


def _claims(part: str) -> dict[str, object] | None:
    try:
        value = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except (binascii.Error, ValueError):
        return None
    return value if isinstance(value, dict) else None
