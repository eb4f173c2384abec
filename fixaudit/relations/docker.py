"""Rows of `dockerfile`: one per stage, with what it is built on and who it runs as."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fixaudit.facts import SourceFile
from fixaudit.formats.dockerfile import parse
from fixaudit.formats.dockerstages import Stage, drops_rights, stages
from fixaudit.relations.base import Column, FileRelation, Row, Scalar

_NAME = re.compile(r"(?:Dockerfile|Containerfile)(?:[.-][\w.-]+)?\Z|.+\.(?:Dockerfile|dockerfile)\Z")
_NOT = re.compile(r"\.(?:dockerignore|md|txt|j2|tmpl|template|erb|ejs|sh|ya?ml|json)\Z")


def is_dockerfile(path: str) -> bool:
    """Say whether a file is a Dockerfile by its name; templates and ignore files are not."""
    name = path.rsplit("/", 1)[-1]
    return bool(_NAME.match(name)) and not _NOT.search(name)


def _rows(file: SourceFile) -> Sequence[Row]:
    if not is_dockerfile(file.path) or file.text is None or file.kind.vendored or file.kind.test:
        return ()
    return [_row(file.path, stage) for stage in stages(parse(file.text.content))]


def _row(path: str, stage: Stage) -> Row:
    root = stage.runs_as_root
    drops = drops_rights(stage)
    opaque = []
    if root is None:
        opaque.append("ROOT")
    if drops is None:
        opaque.append("DROPS_RIGHTS")
    if not stage.base_known:
        opaque += ["BASE", "TAG", "PINNED"]
    kind = "image"
    if stage.base_stage is not None:
        kind = "stage"
    elif stage.scratch:
        kind = "scratch"
    elif not stage.base_known:
        kind = "unknown"
    values: dict[str, Scalar] = {
        "FILE": path,
        "STAGE": stage.name,
        "INDEX": stage.index,
        "FINAL": stage.final,
        "KIND": kind,
        "BASE": stage.base.name if stage.base else None,
        "TAG": stage.base.tag if stage.base else None,
        "PINNED": stage.base.pinned if stage.base else None,
        "USER": stage.user,
        "ROOT": root,
        "DROPS_RIGHTS": drops,
        "KNOWN_USER": stage.known_user,
        "COMMAND": bool(stage.command or stage.entrypoint),
        "HEALTHCHECK": stage.healthcheck is not None,
    }
    spans = {"FROM": stage.origin.span, "BASE": stage.base_span}
    span = stage.origin.span
    if stage.user_instruction is not None and stage.user_instruction in stage.instructions:
        spans["USER"] = span = stage.user_instruction.span
    return Row(path, span, values, spans, tuple(opaque))


RELATIONS = (
    FileRelation(
        "dockerfile",
        "Stages of Dockerfiles and Containerfiles. The stage that is built by default is the final one.",
        {
            "FILE": Column("text", "The Dockerfile, relative to the audit root."),
            "STAGE": Column("text", "The stage's name, if it has one."),
            "INDEX": Column("number", "0-based."),
            "FINAL": Column("flag", "Whether it is the stage that is built by default."),
            "KIND": Column("text", "What FROM names.", ("image", "stage", "scratch", "unknown")),
            "BASE": Column("text", "The base image without tag; opaque when it depends on a variable without value."),
            "TAG": Column("text", "The base image's tag."),
            "PINNED": Column("flag", "Whether the base has a digest, or a tag other than latest."),
            "USER": Column("text", "The effective user, inherited over `FROM stage`."),
            "ROOT": Column("flag", "Whether the stage's processes run as root; opaque when that cannot be known."),
            "DROPS_RIGHTS": Column(
                "flag", "Whether the command starts the program as another user; opaque for scripts."
            ),
            "KNOWN_USER": Column("text", "A user other than root that the base image is known to bring."),
            "COMMAND": Column("flag", "Whether CMD or ENTRYPOINT is set."),
            "HEALTHCHECK": Column("flag", "Whether HEALTHCHECK is set."),
        },
        _rows,
        literals=(b"FROM", b"from", b"From"),
        programs_only=False,
    ),
)
