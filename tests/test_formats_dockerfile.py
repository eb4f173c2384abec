"""Dockerfiles: syntax, stages, and inserted lines."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fixaudit.formats.dockeredit import insert_after, insert_before, insert_in_stage, replace_tag, set_user
from fixaudit.formats.dockerfile import Instruction, parse
from fixaudit.formats.dockerimages import known_user, parse_image, starts_nonroot
from fixaudit.formats.dockerstages import Stage, drops_rights, script, stages, substitute
from fixaudit.formats.problem import Edits, Problem
from fixaudit.text import Text

DIGEST = "sha256:" + "ab" * 32


def final(content: str) -> Stage:
    return stages(parse(content))[-1]


def applied(content: str, edits: Edits) -> str:
    assert not isinstance(edits, Problem), edits
    return Text(content).apply(edits).content


def test_continuations_comments_and_heredocs_belong_to_their_instruction() -> None:
    content = (
        "# syntax=docker/dockerfile:1\nFROM alpine:3.19\n"
        "RUN apk add \\\n  # why\n\n  curl \\\n  git\n"
        "RUN <<EOF\nUSER not-an-instruction\nEOF\n"
        "COPY <<-'A' <<B /etc/\n\tx\n\tA\ny\nB\n"
        'RUN cat <<<word; echo "<<EOF" $((1<<2))\n'
        "USER node"
    )
    dockerfile = parse(content)
    assert [(item.keyword, item.line) for item in dockerfile.instructions] == [
        ("FROM", 2),
        ("RUN", 3),
        ("RUN", 8),
        ("COPY", 11),
        ("RUN", 16),
        ("USER", 17),
    ]
    run, heredoc, copy = dockerfile.instructions[1:4]
    assert [word.raw for word in run.words] == ["apk", "add", "curl", "git"]
    assert all(content[slice(*word.span)] == word.raw for word in run.words)
    assert content[slice(*heredoc.heredocs[0].span)] == "USER not-an-instruction\n"
    assert [(item.name, item.expands, content[slice(*item.span)]) for item in copy.heredocs] == [
        ("A", False, "\tx\n"),
        ("B", True, "y\n"),
    ]
    assert content[slice(*dockerfile.comments[1])] == "# why"
    assert dockerfile.problems == ()


def test_the_escape_directive_and_windows_paths() -> None:
    dockerfile = parse("# escape=`\r\nFROM x:1\r\nCOPY a `\r\n  C:\\\r\nRUN b\r\n")
    assert [item.value for item in dockerfile.instructions] == ["x:1", "a   C:\\", "b"]
    assert dockerfile.escape == "`"


@pytest.mark.parametrize(
    ("line", "pairs"),
    [
        ('ENV A=1 B=\'x y\' C="q \\" $X"', [("A", "1"), ("B", "x y"), ("C", 'q " $X')]),
        ("ENV KEY some long value", [("KEY", "some long value")]),
        ("ENV A=", [("A", "")]),
        ("ARG NAME", [("NAME", None)]),
        ("ARG A=1 B", [("A", "1"), ("B", None)]),
        ("ENV A=x\\ y", [("A", "x y")]),
        ("ENV REF=${FROM_OUTSIDE}", [("REF", "${FROM_OUTSIDE}")]),
    ],
)
def test_pairs_are_read_in_both_spellings(line: str, pairs: list[tuple[str, str | None]]) -> None:
    instruction = parse(f"FROM x\n{line}\n").instructions[1]
    assert [(pair.key, pair.value) for pair in instruction.pairs] == pairs
    source = f"FROM x\n{line}\n"
    for pair in instruction.pairs:
        assert source[slice(*pair.key_span)] == pair.key
        assert source[slice(*pair.value_span)] == pair.raw


def test_exec_form_flags_and_nested_instructions() -> None:
    content = (
        'FROM --platform=linux/amd64 a AS b\nCMD ["node", "x y"]\nCMD [node]\n'
        "COPY --from=build --chown=1:1 --link /a /b\n"
        "HEALTHCHECK --interval=5s CMD curl -f http://localhost\nONBUILD RUN make\n"
    )
    origin, exec_form, shell_form, copy, health, onbuild = parse(content).instructions
    assert origin.flag("platform") == "linux/amd64"
    assert exec_form.argv == ("node", "x y")
    assert shell_form.argv is None
    assert (copy.flag("from"), copy.flag("chown"), copy.flag("link"), copy.flag("x")) == ("build", "1:1", "", None)
    assert [word.raw for word in copy.words] == ["/a", "/b"]
    assert health.flag("interval") == "5s"
    assert isinstance(health.inner, Instruction)
    assert health.inner.value == "curl -f http://localhost"
    assert onbuild.inner is not None
    assert onbuild.inner.keyword == "RUN"


def test_arguments_stage_names_scratch_and_digests() -> None:
    content = (
        "ARG BASE=python:3.12.2-slim\nARG EXTERNAL\nFROM ${BASE} AS app\nFROM app AS test\nFROM $EXTERNAL AS maybe\n"
        f"FROM alpine@{DIGEST} AS pinned\nFROM --platform=$BUILDPLATFORM ubuntu AS loose\nFROM scratch\n"
        "COPY --from=app /usr/bin/env /env\nUSER 65532\n"
    )
    app, test, maybe, pinned, loose, last = stages(parse(content))
    assert app.base == parse_image("python:3.12.2-slim")
    assert (test.base, test.base_stage, test.root_image) == (None, 0, app.base)
    assert (maybe.base, maybe.base_known, maybe.runs_as_root) == (None, False, None)
    assert pinned.base is not None
    assert (pinned.base.repository, pinned.base.tag, pinned.base.digest, pinned.base.pinned) == (
        "alpine",
        None,
        DIGEST,
        True,
    )
    assert loose.base is not None
    assert (loose.base.name, loose.base.pinned, loose.platform) == ("ubuntu", False, "$BUILDPLATFORM")
    assert (last.scratch, last.final, last.user, last.runs_as_root) == (True, True, "65532", False)


@pytest.mark.parametrize(
    ("content", "user", "root"),
    [
        ("FROM node:20 AS build\nUSER root\nFROM node:20-slim\nUSER node\nCMD x\n", "node", False),
        ("FROM node:20 AS build\nUSER node\nFROM node:20-slim\nCMD x\n", None, True),
        ("FROM node:20 AS base\nUSER node\nFROM base\nRUN x\n", "node", False),
        ("FROM node:20 AS Base\nUSER node\nFROM base\nUSER root\n", "root", True),
        ("FROM a\nUSER 0:0\n", "0", True),
        ("FROM a\nARG UID\nUSER ${UID}\n", None, None),
        ("FROM a\nARG UID=1000\nUSER ${UID}:${UID}\n", "1000", False),
        ("ARG UID=7\nFROM a\nARG UID\nUSER $UID\n", "7", False),
        ("ARG UID=7\nFROM a\nUSER $UID\n", None, None),
        ("FROM a\nENV U=me\nUSER $U\n", "me", False),
        ('FROM a\nUSER "app"\n', "app", False),
        ("FROM gcr.io/distroless/python3-debian12:nonroot\n", None, False),
        ("FROM scratch\n", None, True),
        ("FROM $WHAT\n", None, None),
    ],
)
def test_the_effective_user(content: str, user: str | None, root: bool | None) -> None:
    stage = final(content)
    assert (stage.user, stage.runs_as_root) == (user, root)


@pytest.mark.parametrize(
    ("image", "nonroot", "user"),
    [
        ("node:20-alpine", None, "node"),
        ("docker.io/library/node:20", None, "node"),
        ("python:3.12-slim", None, None),
        ("gcr.io/distroless/nodejs22-debian12", None, "nonroot"),
        ("gcr.io/distroless/static:debug-nonroot", True, "nonroot"),
        ("cgr.dev/chainguard/node:latest", True, None),
        ("docker:27-dind-rootless", True, None),
        ("nginxinc/nginx-unprivileged:1.27", True, "nginx"),
        ("registry.access.redhat.com/ubi9/nodejs-22", True, None),
        ("registry.access.redhat.com/ubi9/ubi-minimal", None, None),
        ("localhost:5000/my/node:1", None, None),
    ],
)
def test_what_is_known_of_images(image: str, nonroot: bool | None, user: str | None) -> None:
    assert (starts_nonroot(parse_image(image)), known_user(parse_image(image))) == (nonroot, user)


@pytest.mark.parametrize(
    ("command", "drops", "path"),
    [
        ('ENTRYPOINT ["su-exec", "app", "/run.sh"]', True, None),
        ('ENTRYPOINT ["/sbin/tini", "--", "gosu", "app", "x"]', True, None),
        ('ENTRYPOINT ["/docker-entrypoint.sh"]\nCMD ["node", "x.js"]', None, "/docker-entrypoint.sh"),
        ("CMD exec gosu app node x.js", True, None),
        ('CMD ["sh", "-c", "gosu app x"]', True, None),
        ('CMD ["node", "server.js"]', False, None),
        ("CMD bash start.sh", None, "start.sh"),
        ("RUN true", False, None),
    ],
)
def test_commands_that_drop_rights(command: str, drops: bool | None, path: str | None) -> None:
    stage = final(f"FROM alpine:3.19\n{command}\n")
    assert drops_rights(stage) is drops
    if drops is not True:
        assert script(stage) == path


def test_the_command_is_inherited_and_reset_by_an_own_entrypoint() -> None:
    base = 'FROM node:20 AS base\nENTRYPOINT ["gosu", "app"]\nCMD ["node"]\n'
    assert drops_rights(final(base + "FROM base\n")) is True
    stage = final(base + 'FROM base\nENTRYPOINT ["node"]\n')
    assert stage.command is None
    assert drops_rights(stage) is False


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a$A", "a1"),
        ("${A}b", "1b"),
        ("${B:-x$A}", "x1"),
        ("${E:-x}", "x"),
        ("${E-x}", ""),
        ("${A:+y}", "y"),
        ("$B", None),
        ("${A#x}", None),
        ("\\$A", "$A"),
        ("$5", "$5"),
    ],
)
def test_substitution(text: str, value: str | None) -> None:
    assert substitute(text, {"A": "1", "E": "", "B": None}) == value


@pytest.mark.parametrize(
    ("content", "after"),
    [
        (
            'FROM node:20 AS b\nCMD a\n\nFROM node:20\nCOPY . .\n\n# start\nCMD ["node"]\n',
            'FROM node:20 AS b\nCMD a\n\nFROM node:20\nCOPY . .\n\nUSER node\n# start\nCMD ["node"]\n',
        ),
        ("FROM node:20\r\nRUN a \\\r\n  b", "FROM node:20\r\nRUN a \\\r\n  b\r\nUSER node"),
        ("FROM node:20\nRUN <<E\nx\nE\n", "FROM node:20\nRUN <<E\nx\nE\nUSER node\n"),
        ("FROM node:20\nUSER root # x\nCMD a\n", "FROM node:20\nUSER node\nCMD a\n"),
        ("FROM node:20\nUSER root\nCMD a\n", "FROM node:20\nUSER node\nCMD a\n"),
        ("FROM node:20\nUSER root\nRUN b\nCMD a\n", "FROM node:20\nUSER root\nRUN b\nUSER node\nCMD a\n"),
        ("FROM node:20\nCMD a\nRUN b\n", "FROM node:20\nCMD a\nRUN b\nUSER node\n"),
        ("FROM node:20 AS b\nUSER x\nFROM b\nCMD a\n", "FROM node:20 AS b\nUSER x\nFROM b\nUSER node\nCMD a\n"),
        ("FROM node:20\nUSER node\nCMD a\n", "FROM node:20\nUSER node\nCMD a\n"),
    ],
)
def test_set_user(content: str, after: str) -> None:
    result = applied(content, set_user(Text(content), "node"))
    assert result == after
    assert set_user(Text(result), "node") == ()


def test_nothing_is_inserted_behind_an_open_continuation() -> None:
    assert isinstance(set_user(Text("FROM a\nRUN x \\\n"), "node"), Problem)


def test_setup_lines_stand_above_the_user() -> None:
    content = "FROM python:3.12-slim\nCMD x\n"
    assert applied(content, set_user(Text(content), "app", setup=("RUN useradd app",))) == (
        "FROM python:3.12-slim\nRUN useradd app\nUSER app\nCMD x\n"
    )


@pytest.mark.parametrize(
    ("line", "after"),
    [
        ("FROM --platform=x node:20 AS b", "FROM --platform=x node:22 AS b"),
        ("FROM localhost:5000/node", "FROM localhost:5000/node:22"),
        ("FROM node:22", "FROM node:22"),
        ("FROM $X", None),
        ("FROM scratch", None),
        (f"FROM node:20@{DIGEST}", None),
        ("ARG V=20\nFROM node:$V", None),
    ],
)
def test_replace_tag(line: str, after: str | None) -> None:
    edits = replace_tag(Text(line), final(line), "22")
    if after is None:
        assert isinstance(edits, Problem)
    else:
        assert applied(line, edits) == after


PIECES = st.sampled_from(
    [
        "FROM node:20 AS a",
        "# note",
        "",
        "RUN a \\\n  b",
        "RUN a \\\n# c\n  b",
        "RUN <<EOF\nx\nEOF",
        'ENV A="1 2" B=é',
        "env X y z ",
        "COPY --from=a x y",
        '  CMD ["a", "b"]',
        "RUN é \\  \n é",
        "FOO bar",
        "USER $U",
    ]
)


@settings(max_examples=200, deadline=None)
@given(st.lists(PIECES, max_size=8), st.booleans(), st.booleans(), st.data())
def test_spans_slice_back_and_insertions_keep_the_rest(
    pieces: list[str], crlf: bool, end: bool, data: st.DataObject
) -> None:
    content = "\n".join(pieces) + ("\n" if end else "")
    content = content.replace("\n", "\r\n") if crlf else content
    text, dockerfile = Text(content), parse(content)
    for item in dockerfile.instructions:
        assert content[slice(*item.span)].split(None, 1)[0].upper() == item.keyword
        assert content[: item.span[0]].count("\n") == item.line - 1
        for word in item.words:
            source = content[slice(*word.span)]
            assert source == word.raw or "\\" in source
        for pair in item.pairs:
            assert content[slice(*pair.key_span)] == pair.key
            assert content[slice(*pair.value_span)] == pair.raw
    if not dockerfile.instructions:
        return
    target = data.draw(st.sampled_from(dockerfile.instructions))
    for edits in (insert_before(text, target, ["LABEL a=b"]), insert_after(text, target, ["LABEL a=b"])):
        after = applied(content, edits)
        assert len(parse(after).instructions) == len(dockerfile.instructions) + 1
        assert "\r\n" not in content or after.count("\n") == after.count("\r\n")
        assert after.endswith("\n") == content.endswith("\n") or not content.endswith("\n")
    for stage in stages(dockerfile):
        insert_in_stage(text, stage, ["LABEL a=b"], before=("CMD",))


@settings(max_examples=200, deadline=None)
@given(st.text("FROMRUN <E\"'\\\n#$={}[]-`é", max_size=40))
def test_any_text_is_read(content: str) -> None:
    for item in parse(content).instructions:
        assert 0 <= item.span[0] <= item.span[1] <= len(content)
    stages(parse(content))
