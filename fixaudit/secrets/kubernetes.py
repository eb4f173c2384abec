"""Kubernetes secrets: base64 values decoded once, encrypted manifests left alone.

The order of keys in a document means nothing (gitleaks#1933: `kind` came after `data`).
This module must not know of files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from fixaudit.secrets.uris import decoded

_KIND = re.compile(r"(?m)^kind:[ \t]*[\"']?(\w+)")
_DATA = re.compile(r"(?m)^data:[ \t]*(?:#[^\n]*)?\r?\n((?:[ \t]+[^\n]*\r?(?:\n|$)|[ \t]*\r?\n)*)")
_ITEM = re.compile(r"(?m)^[ \t]+[\"']?([\w.-]+)[\"']?:[ \t]*[\"']?([A-Za-z0-9+/]{8,87380}={0,2})[\"']?[ \t]*\r?$")
_ENCRYPTED = re.compile(r"(?m)^\s{0,4}\"?sops\"?:|ENC\[AES256|^\$ANSIBLE_VAULT|!vault\b|^kind:[ \t]*[\"']?SealedSecret")


@dataclass(frozen=True, slots=True)
class Item:
    """One decoded entry of a `kind: Secret`; the spans are those of the key and of the base64 in the file."""

    name: str
    name_span: tuple[int, int]
    value_span: tuple[int, int]
    text: str


def documents(content: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of the documents of a YAML stream."""
    start = 0
    for match in re.finditer(r"(?m)^---", content):
        if match.start() > start:
            yield start, match.start()
        start = match.start()
    yield start, len(content)


def is_encrypted(document: str) -> bool:
    """Say whether a document holds values that are meant to be committed: SealedSecret, SOPS, Ansible Vault."""
    return _ENCRYPTED.search(document) is not None


def encoded_blocks(content: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of the `data` of every `kind: Secret`: base64, which only its decoded text can judge."""
    for start, end in documents(content):
        document = content[start:end]
        kind = _KIND.search(document)
        if kind is None or kind[1] != "Secret" or is_encrypted(document):
            continue
        data = _DATA.search(document)
        if data is not None:
            yield start + data.start(1), start + data.end(1)


def secret_items(content: str) -> Iterator[Item]:
    """Yield the decodable entries of every `kind: Secret` in a manifest."""
    for base, end in encoded_blocks(content):
        for match in _ITEM.finditer(content[base:end]):
            text = decoded(match[2])
            if text is not None:
                name, value = match.span(1), match.span(2)
                yield Item(match[1], (base + name[0], base + name[1]), (base + value[0], base + value[1]), text)
