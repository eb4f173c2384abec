"""Credentials never leave in any spelling."""

from __future__ import annotations

import html
import json
from urllib.parse import quote, quote_plus

from hypothesis import given
from hypothesis import strategies as st

from fixaudit.masking import Masker, mask

TOKEN = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
PASSWORD = "Vq7" + '"!mZ<2&' + "rT9w%Lk4e"


def test_mask_shows_at_most_four_characters_and_a_third() -> None:
    assert mask(TOKEN) == "ghp_…(40)"
    assert mask("hunter22") == "hu…(8)"
    assert mask("abc") == "a…(3)"
    assert mask("ab") == "…(2)"
    assert mask("") == "…(0)"
    assert mask("a\nb\nc\nd\ne\nf\ng") == "a…(13)"


@given(st.text(min_size=1, max_size=80))
def test_mask_never_shows_more_than_a_third(value: str) -> None:
    shown = mask(value).rpartition("…")[0]
    assert value.startswith(shown)
    assert len(shown) <= min(4, len(value) / 3)


def test_values_are_read_from_texts_by_span() -> None:
    content = f"A = '{TOKEN}'\nB = '{PASSWORD}'\n"
    spans = [(content.index(value), content.index(value) + len(value)) for value in (TOKEN, PASSWORD)]
    masker = Masker.of([(content, spans)])
    assert masker(content) == f"A = '{mask(TOKEN)}'\nB = '{mask(PASSWORD)}'\n"
    assert masker("nothing here") == "nothing here"
    assert masker("") == ""


def test_every_spelling_is_masked() -> None:
    masker = Masker(frozenset({PASSWORD}))
    for spelled in (
        PASSWORD,
        json.dumps(PASSWORD),
        repr(PASSWORD),
        html.escape(PASSWORD),
        quote(PASSWORD),
        quote(PASSWORD, safe=""),
        quote_plus(PASSWORD),
        PASSWORD.replace("!", r"\!").replace("<", r"\<"),
        PASSWORD.replace("%", "%25"),
    ):
        masked = masker(f"x {spelled} y")
        assert "rT9w" not in masked and mask(PASSWORD) in masked, spelled


def test_lines_of_a_private_key_are_masked_one_by_one() -> None:
    lines = ["MIIC" + f"{n:02d}" + "qwertyuiopasdfghjklzxcvbnmQWERTYUIOP" for n in range(5)]
    begin, end = "-----BEGIN PRI" + "VATE KEY-----", "-----END PRI" + "VATE KEY-----"
    for key in ("\n".join([begin, *lines, end]), "\\n".join([begin, *lines, end]), "\r\n".join([begin, *lines, end])):
        masker = Masker(frozenset({key}))
        diff = "\n".join(f"-{line}" for line in [begin, *lines, end])
        assert not any(line in masker(diff) for line in lines)
        assert lines[0] not in masker(key)
        assert begin in masker(diff), "the marks say what it was"


def test_longer_values_first() -> None:
    masker = Masker(frozenset({"secretA1", "secretA1-and-more9"}))
    assert masker("secretA1-and-more9 secretA1") == f"{mask('secretA1-and-more9')} {mask('secretA1')}"


def test_short_values_do_not_spoil_the_output() -> None:
    assert Masker(frozenset({"a", "abc"}))("abc a b c") == "abc a b c"
    assert Masker(frozenset())("abc") == "abc"


def test_union() -> None:
    masker = Masker(frozenset({TOKEN})) | Masker(frozenset({PASSWORD}))
    assert masker(f"{TOKEN}{PASSWORD}") == mask(TOKEN) + mask(PASSWORD)


@given(st.text(alphabet="aB1!<&\"'\\%\n", min_size=5, max_size=20), st.text(max_size=20), st.text(max_size=20))
def test_no_value_survives_and_masking_is_stable(value: str, before: str, after: str) -> None:
    masker = Masker(frozenset({value}))
    masked = masker(before + value + after)
    assert value not in masked
    assert masker(masked) == masked
