"""`secret`: credentials written into files, by a provider's pattern or by name and shape, with the spans a fix needs.

Rows hold spans and masked text, never a value: they are cached on disk. What counts where:

- provider patterns, private keys and URIs: in every text file, tests, documentation and bundles too (in tests and
  documentation a URI or header counts only with a password that looks drawn);
- a credential's name with a credential's value: in programs, configuration, .env, Dockerfiles, shell; not in tests,
  examples, documentation, bundles, lock files and translations, where such values are made up;
- SealedSecret, SOPS and Ansible Vault are clean; a `kind: Secret` is decoded once.

The detectors live in `fixaudit.secrets`. This module must not know of rules, checks or fixes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fixaudit.masking import mask
from fixaudit.relations.base import Column, FileRelation, Row
from fixaudit.secrets.detect import Found, find
from fixaudit.secrets.files import Kind, kind_of
from fixaudit.secrets.names import environment_key
from fixaudit.secrets.providers import PATTERNS
from fixaudit.secrets.values import length_class

if TYPE_CHECKING:
    from fixaudit.facts import SourceFile

Span = tuple[int, int]


def secret_rows(file: SourceFile) -> Sequence[Row]:
    """Return the credentials of one file in order of position, one row for each unit that holds one."""
    if file.text is None:
        return ()
    content = file.text.content
    kind = kind_of(file.path, file.kind)
    rows = [_row(file, content, item, kind) for item in find(file, content, kind)]
    return sorted(rows, key=lambda row: row.spans["VALUE"])


def _row(file: SourceFile, content: str, found: Found, kind: Kind) -> Row:
    place = found.place
    name, name_span = found.name, found.name_span
    if name is None and place is not None and found.shape != "part":
        name, name_span = place.name or place.env_key, place.name_span
    if name is None and place is None:
        name, name_span = _name_before(content, (found.whole or found.value)[0])
    env_key = place.env_key if place else None
    spans: dict[str, Span] = {"VALUE": found.value}
    unit = found.whole or found.value
    if found.whole is not None and found.shape in ("whole", "uri"):
        spans["WHOLE"] = found.whole
    if found.shape == "part" and place is not None:
        spans["PART"] = place.node.span
    if name_span is not None and content[slice(*name_span)] == name:
        spans["NAME"] = name_span
        if 0 <= unit[0] - name_span[0] <= 300:
            unit = (name_span[0], unit[1])
    if place is not None:
        around = {
            "STATEMENT": place.statement,
            "TARGET": place.target,
            "ANNOTATION": place.annotation,
            "FALLBACK": place.fallback,
        }
        spans |= {label: span for label, span in around.items() if span is not None}
    value = content[slice(*found.value)]
    return Row(
        file.path,
        unit,
        {
            "PROVIDER": found.provider,
            "NAME": name,
            "KEY": environment_key(env_key or name or ""),
            "SHAPE": found.shape,
            "LANGUAGE": file.kind.language,
            "KIND": kind.value,
            "CONFIDENCE": found.confidence,
            "MASKED": mask(value),
            "CLASS": length_class(value),
            "FALLBACK": bool(place and place.fallback),
        },
        spans,
    )


_NAME_BEFORE = re.compile(r"([A-Za-z_][\w.-]{0,79})[\"']?\s{0,4}(?::=|=>|=|:)\s{0,4}[\"'`]?$")


def _name_before(content: str, start: int) -> tuple[str | None, Span | None]:
    """Return the name directly before a value in a text that is no program."""
    line = content.rfind("\n", 0, start) + 1
    begin = max(line, start - 120)
    match = _NAME_BEFORE.search(content[begin:start])
    if match is None:
        return None, None
    return match[1], (begin + match.start(1), begin + match.end(1))


SECRET = FileRelation(
    name="secret",
    doc="A credential written into a file: by a provider's own pattern, or by a credential's name and value.",
    columns={
        "PROVIDER": Column(
            "text",
            "who issues it, or what it is",
            tuple(
                sorted(
                    {pattern.provider for pattern in PATTERNS}
                    | {"private_key", "jwt", "uri", "connection_string", "basic_auth", "bearer", "generic"}
                )
            ),
        ),
        "NAME": Column("text", "the variable, property, key, parameter or argument that it is bound to, as written"),
        "KEY": Column("text", "the environment variable that the name suggests; none for a name that gives none"),
        "SHAPE": Column(
            "text",
            "whether it is a whole literal, a URI that is a whole literal, a part of a literal, or text",
            ("whole", "uri", "part", "text"),
        ),
        "LANGUAGE": Column("text", "the file's language, if some front end reads it"),
        "KIND": Column("text", "the kind of file", tuple(kind.value for kind in Kind)),
        "CONFIDENCE": Column(
            "text", "high: the value itself shows it; medium: name and value together", ("high", "medium")
        ),
        "MASKED": Column("text", "the first characters and the length"),
        "CLASS": Column("text", "a class of length, for fingerprints"),
        "FALLBACK": Column("flag", "it stands in for an environment variable that is not set"),
    },
    rows=secret_rows,
    programs_only=False,
)
RELATIONS = (SECRET,)
