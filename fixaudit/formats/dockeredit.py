"""Minimal edits of Dockerfiles: whole lines inserted at an instruction, and a base image's tag replaced.

Contract: no other byte changes; after an insertion the file reads as the old instructions plus the new ones, or the
edit is refused. Continuations, here-documents and comments stay with their instruction.
"""

from __future__ import annotations

from collections.abc import Sequence

from fixaudit.formats.dockerfile import Dockerfile, Instruction, parse
from fixaudit.formats.dockerimages import parse_image
from fixaudit.formats.dockerstages import Stage, stages
from fixaudit.formats.problem import Edits, Problem, insertion
from fixaudit.text import Edit, Text


def insert_before(text: Text, instruction: Instruction, lines: Sequence[str]) -> Edits:
    """Insert lines above an instruction and above the comment lines that stand directly over it."""
    content, index = text.content, text.lines
    place = index.line_start(instruction.span[0])
    while place > 0:
        above = index.line_start(place - 1)
        if not content[above:place].lstrip().startswith("#") or _is_directive_zone(text, above):
            break
        place = above
    return _checked(text, (insertion(place, "".join(line + text.newline for line in lines)),), lines)


def insert_after(text: Text, instruction: Instruction, lines: Sequence[str]) -> Edits:
    """Insert lines below an instruction (its continued lines and here-documents included)."""
    place = text.lines.line_end(instruction.span[1])
    return _checked(text, (insertion(place, "".join(text.newline + line for line in lines)),), lines)


def insert_in_stage(text: Text, stage: Stage, lines: Sequence[str], *, before: Sequence[str] = ()) -> Edits:
    """Insert lines above the stage's first instruction named in `before`, at the end of the stage otherwise.

    For `before` only instructions count behind which nothing is built any more (RUN, COPY, ADD): a USER line must not
    change who runs those.
    """
    building = [number for number, item in enumerate(stage.instructions) if item.keyword in ("RUN", "COPY", "ADD")]
    rest = stage.instructions[building[-1] + 1 if building else 0 :]
    for instruction in rest:
        if instruction.keyword in before:
            return insert_before(text, instruction, lines)
    return insert_after(text, stage.instructions[-1] if stage.instructions else stage.origin, lines)


def set_user(text: Text, user: str, *, setup: Sequence[str] = ()) -> Edits:
    """Make the final stage run as `user`: replace its last own USER, or insert one before ENTRYPOINT or CMD.

    `setup` lines (such as a RUN that creates the user) go directly above an inserted USER line; they must run as
    root, so they are refused where a USER line is replaced. No edit when the stage already runs as that user.
    """
    read = stages(parse(text.content))
    if not read:
        return Problem(1, "there is no FROM")
    stage = read[-1]
    if stage.user == user:
        return ()
    own = stage.user_instruction
    if own is not None and own in stage.instructions:
        building = any(item.keyword in ("RUN", "COPY", "ADD") for item in stage.instructions if item.span > own.span)
        if setup or building:
            return insert_in_stage(text, stage, [*setup, f"USER {user}"], before=("ENTRYPOINT", "CMD"))
        start, end = own.words[0].span[0], own.words[-1].span[1]
        return (Edit(start, end, text.content[start:end], user),)
    return insert_in_stage(text, stage, [*setup, f"USER {user}"], before=("ENTRYPOINT", "CMD"))


def replace_tag(text: Text, stage: Stage, tag: str) -> Edits:
    """Give a stage's base image another tag, or its first one; refuses digests, variables, stages and scratch."""
    start, end = stage.base_span
    written = text.content[start:end]
    line = stage.origin.line
    if stage.base is None:
        return Problem(line, "the base is no image that is known here")
    if "$" in written or written[:1] in "\"'":
        return Problem(line, "the base image is written with a variable or in quotes")
    image = parse_image(written)
    if image.digest:
        return Problem(line, "the base image is pinned by digest")
    if image.tag == tag:
        return ()
    place = start + len(image.repository)
    return (Edit(place, end, text.content[place:end], f":{tag}"),)


def _is_directive_zone(text: Text, start: int) -> bool:
    """Parser directives count only while nothing precedes them, so nothing may be inserted above the first lines."""
    return not text.content[:start].strip() or all(
        line.lstrip().startswith("#") for line in text.content[:start].splitlines()
    )


def _checked(text: Text, edits: tuple[Edit, ...], lines: Sequence[str]) -> Edits:
    before, after = parse(text.content), parse(text.apply(edits).content)
    added = parse("\n".join(lines))
    if sorted(_key(before) + _key(added)) != sorted(_key(after)) or before.escape != after.escape:
        line = text.lines.position(edits[0].start)[0]
        return Problem(line, "the instruction before this place is continued, so no line can be inserted")
    return edits


def _key(dockerfile: Dockerfile) -> list[tuple[str, str]]:
    return [(item.keyword, item.value) for item in dockerfile.instructions]
