"""What the stages of a Dockerfile mean: base images after ARG, the user that runs, the command.

Contract: the stage built by default is the last one (`--target` is not known). A variable without a value in the file
is unknown, and so is everything that depends on it; nothing is guessed (U77). USER, ENV, ENTRYPOINT and CMD are
inherited over `FROM stage` (U73).
Source: the Dockerfile reference, sections FROM, ARG, USER, ENTRYPOINT.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from fixaudit.formats.dockerfile import Dockerfile, Instruction, Span, unquote
from fixaudit.formats.dockerimages import Image, known_user, parse_image, starts_nonroot

_VARIABLE = re.compile(
    r"\\\$|\$(?:(?P<name>[A-Za-z_]\w*)|\{(?P<braced>[A-Za-z_]\w*)(?:(?P<operator>:?[-+?])(?P<word>[^}]*))?\})"
)
# Programs that start another one as another user. Source: their manuals.
_DROPPERS = frozenset({"gosu", "su-exec", "setpriv", "runuser", "su", "s6-setuidgid", "setuidgid", "chpst"})
_SHELLS = frozenset({"sh", "bash", "ash", "dash", "zsh"})


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage.

    `base` is the image after ARG substitution; it is None for `scratch`, for another stage (`base_stage` is its
    index) and where a variable has no value (`base_known` is False). `user` is the effective user as written (name or
    uid, group cut off), None when no USER was met; `user_known` is False when it is a variable without a value.
    """

    index: int
    name: str | None
    origin: Instruction
    instructions: tuple[Instruction, ...]  # without FROM
    base: Image | None
    base_stage: int | None
    base_known: bool
    base_span: Span
    platform: str | None
    final: bool
    user: str | None
    user_known: bool
    user_instruction: Instruction | None
    entrypoint: Instruction | None
    command: Instruction | None
    healthcheck: Instruction | None
    environment: Mapping[str, str | None]
    root_image: Image | None  # the image at the end of the chain of FROM; None: scratch or unknown

    @property
    def scratch(self) -> bool:
        """Whether the stage begins with nothing."""
        return self.base_known and self.base is None and self.base_stage is None

    @property
    def runs_as_root(self) -> bool | None:
        """Whether the stage's processes run as root: None when that depends on something unknown.

        Without USER an image that is not known to be otherwise starts as root: that is Docker's default (U75).
        """
        if not self.user_known:
            return None
        if self.user is not None:
            return self.user in ("root", "0")
        if self.root_image is None:
            return True if self.base_known else None
        return not starts_nonroot(self.root_image)

    @property
    def known_user(self) -> str | None:
        """A user that the base image is known to bring, None otherwise."""
        return known_user(self.root_image) if self.root_image else None


def stages(dockerfile: Dockerfile) -> tuple[Stage, ...]:
    """Return the stages in order; empty for a file without FROM."""
    arguments: dict[str, str | None] = {}
    groups: list[tuple[Instruction, list[Instruction]]] = []
    for instruction in dockerfile.instructions:
        if instruction.keyword == "FROM":
            groups.append((instruction, []))
        elif groups:
            groups[-1][1].append(instruction)
        elif instruction.keyword == "ARG":
            for pair in instruction.pairs:
                arguments[pair.key] = None if pair.value is None else substitute(pair.value, arguments)
    result: list[Stage] = []
    for index, (origin, body) in enumerate(groups):
        result.append(_stage(index, origin, body, arguments, result, index == len(groups) - 1, dockerfile.escape))
    return tuple(result)


def substitute(text: str, variables: Mapping[str, str | None]) -> str | None:
    """Put in the variables' values; None when one that is needed has none.

    An unset variable is unknown, not empty: the builder may be given a value that this file does not show.
    """
    result: list[str] = []
    position = 0
    for match in _VARIABLE.finditer(text):
        result.append(text[position : match.start()])
        position = match.end()
        if match[0] == "\\$":
            result.append("$")
            continue
        value = variables.get(match["name"] or match["braced"])
        if (match["operator"] or "").endswith("+"):
            value = None if value is None else match["word"] if value or match["operator"] == "+" else ""
        elif (match["operator"] or "").endswith("-") and (value is None or (not value and ":" in match["operator"])):
            value = substitute(match["word"], variables)
        if value is None:
            return None
        result.append(value)
    result.append(text[position:])
    # `${name#pattern}` and other forms that are not understood here leave their text between the matches.
    return None if "${" in _VARIABLE.sub("", text) else "".join(result)


def drops_rights(stage: Stage) -> bool | None:
    """Say whether the stage's command starts the program as another user; None when a script decides that."""
    words = [word for part in (stage.entrypoint, stage.command) if part for word in command_words(part)]
    if any(word.rpartition("/")[2] in _DROPPERS for word in words):
        return True
    return None if script(stage) is not None else False


def script(stage: Stage) -> str | None:
    """Return the shell script that the stage starts, as written there, None when it starts something else."""
    main = stage.entrypoint or stage.command
    for word in command_words(main) if main else ():
        base = word.rpartition("/")[2]
        if base.endswith((".sh", ".bash")) or "entrypoint" in base:
            return word
        if base not in _SHELLS and not word.startswith("-") and base not in ("tini", "dumb-init", "exec", "env"):
            return None
    return None


def command_words(instruction: Instruction) -> tuple[str, ...]:
    """Return the words of CMD, ENTRYPOINT or RUN: the exec form's list, or the shell text split at white space.

    `["sh", "-c", "…"]` is taken apart, too.
    """
    words = instruction.argv
    if words is None:
        words = tuple(unquote(word.raw) for word in instruction.words)
    return tuple(part for word in words for part in (word.split() if " " in word else (word,)))


def _stage(
    index: int,
    origin: Instruction,
    body: list[Instruction],
    arguments: Mapping[str, str | None],
    earlier: list[Stage],
    final: bool,
    escape: str,
) -> Stage:
    words = origin.words
    name = words[2].raw if len(words) >= 3 and words[1].raw.upper() == "AS" else None
    reference = substitute(unquote(words[0].raw, escape), arguments) if words else None
    parent = next((stage for stage in reversed(earlier) if reference and _same(stage.name, reference)), None)
    image = parse_image(reference) if reference and parent is None and reference.lower() != "scratch" else None
    environment: dict[str, str | None] = dict(parent.environment) if parent else {}
    user, known = (parent.user, parent.user_known) if parent else (None, True)
    last: dict[str, Instruction | None] = {
        "USER": parent.user_instruction if parent else None,
        "ENTRYPOINT": parent.entrypoint if parent else None,
        "CMD": parent.command if parent else None,
        "HEALTHCHECK": parent.healthcheck if parent else None,
    }
    for instruction in body:
        if instruction.keyword in ("ARG", "ENV"):
            for pair in instruction.pairs:
                if pair.value is None:
                    environment[pair.key] = arguments.get(pair.key)
                else:
                    environment[pair.key] = substitute(pair.value, environment)
        elif instruction.keyword == "USER":
            value = substitute(unquote(instruction.value, escape), environment)
            known = bool(value)
            user = value.partition(":")[0].strip() if value else None
        if instruction.keyword == "ENTRYPOINT" and last["ENTRYPOINT"] is not instruction:
            last["CMD"] = None if parent and last["CMD"] is parent.command else last["CMD"]
        if instruction.keyword in last:
            last[instruction.keyword] = instruction
    return Stage(
        index=index,
        name=name,
        origin=origin,
        instructions=tuple(body),
        base=image,
        base_stage=parent.index if parent else None,
        base_known=reference is not None and (parent is None or parent.base_known),
        base_span=words[0].span if words else origin.span,
        platform=origin.flag("platform"),
        final=final,
        user=user,
        user_known=known,
        user_instruction=last["USER"],
        entrypoint=last["ENTRYPOINT"],
        command=last["CMD"],
        healthcheck=last["HEALTHCHECK"],
        environment=environment,
        root_image=parent.root_image if parent else image,
    )


def _same(name: str | None, reference: str) -> bool:
    return name is not None and name.lower() == reference.lower()
