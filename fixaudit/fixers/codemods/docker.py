"""Codemods of Dockerfiles: they change the stage that a row of the relation `dockerfile` describes.

This module must not know of rules; what a Dockerfile means is in `formats`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fixaudit.fixers.base import Planned, Refusal, Situation
from fixaudit.fixers.support import editable, edited, fill
from fixaudit.formats import dockeredit
from fixaudit.formats.dockerfile import parse
from fixaudit.formats.dockerstages import Stage, stages
from fixaudit.text import Text


def _stage(situation: Situation) -> tuple[Text, Stage] | Refusal:
    """Return the text and the stage of the finding's row; the final stage when the row names none."""
    row = situation.target.row
    path = row.path if row else situation.target.path
    text = editable(situation, path) if path else None
    if text is None:
        return Refusal("the finding points at no Dockerfile", code="shape")
    if isinstance(text, Refusal):
        return text
    found = stages(parse(text.content))
    if not found:
        return Refusal(f"{path} has no FROM", code="shape")
    index = row.values.get("INDEX") if row else None
    return text, next((stage for stage in found if stage.index == index), found[-1])


def _path(situation: Situation) -> str:
    row = situation.target.row
    return row.path if row else situation.target.path or ""


def set_user(arguments: Mapping[str, Any], situation: Situation) -> Planned:
    """Make the final stage run as `user`; `setup` lines run as root directly above."""
    found = _stage(situation)
    if isinstance(found, Refusal):
        return found
    user = str(fill(arguments["user"], situation))
    setup = [str(line) for line in fill(list(arguments.get("setup", ())), situation)]
    return edited(_path(situation), dockeredit.set_user(found[0], user, setup=setup))


def insert_lines(arguments: Mapping[str, Any], situation: Situation) -> Planned:
    """Add lines to the stage, above its first instruction named in `before` that follows everything built."""
    found = _stage(situation)
    if isinstance(found, Refusal):
        return found
    text, stage = found
    lines = [str(line) for line in fill(list(arguments["lines"]), situation)]
    written = {line.strip() for line in text.content.splitlines()}
    if all(line.strip() in written for line in lines):
        return edited(_path(situation), ())
    before = [str(name).upper() for name in arguments.get("before", ())]
    return edited(_path(situation), dockeredit.insert_in_stage(text, stage, lines, before=before))


def set_tag(arguments: Mapping[str, Any], situation: Situation) -> Planned:
    """Give the stage's base image another tag."""
    found = _stage(situation)
    if isinstance(found, Refusal):
        return found
    return edited(_path(situation), dockeredit.replace_tag(found[0], found[1], str(fill(arguments["tag"], situation))))
