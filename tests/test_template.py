"""Templates: what parses, what is refused and where, and what is filled in."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fixaudit.rulebook.template import FILTER_DOCS, FILTERS, Template, TemplateProblem, UndefinedError, parse, render

NAMES = {
    "NAME": "dbPassword", "key": "API_KEY", "path": "services/api/src/app.js", "dir": "services/api/src",
    "root": "services/api", "stack": {"ignore": ["node_modules/", "dist/"]}, "count": 2, "flag": True, "none": None,
}  # fmt: skip


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("plain", "plain"),
        ("{{ NAME }}", "dbPassword"),
        ("{{NAME}} and {{ key }}!", "dbPassword and API_KEY!"),
        ("{{ NAME | upper_snake }}", "DB_PASSWORD"),
        ("{{ NAME | snake | json }}", '"db_password"'),
        ("{{ path | basename | strip_ext }}", "app"),
        ("{{ path | relative }}", "src/app.js"),
        ("{{ path | relative(dir) }}", "app.js"),
        ('{{ path | relative("services") }}', "api/src/app.js"),
        ("{{ stack.ignore }}", "node_modules/, dist/"),
        ("{{ stack.nothing }}", ""),
        ("{{ count }} {{ flag }} {{ none }}", "2 true "),
        ("{{ env(key) }}", "process.env.API_KEY"),
        ('{{ env_optional(key, "a)b}}") }}', 'process.env.API_KEY ?? "a)b}}"'),
        ("{{ env(NAME | upper_snake) }}", None),
        ("${{ secrets.TOKEN }}", "${{ secrets.TOKEN }}"),
        ('{{ "{{" }} x }}', "{{ x }}"),
        ("a } b }} c", "a } b }} c"),
    ],
)
def test_rendering(template: str, expected: str | None) -> None:
    functions = {
        "env": lambda key: f"process.env.{key}",
        "env_optional": lambda k, d: f"process.env.{k} ?? {json.dumps(d)}",
    }
    if expected is None:
        assert isinstance(parse(template), TemplateProblem)
    else:
        assert render(template, NAMES, functions) == expected


@pytest.mark.parametrize(
    ("template", "offset", "words"),
    [
        ("ab {{ NAME", 3, "without `}}`"),
        ("{{ }}", 2, "expected a name"),
        ("{{ NAME | uper_snake }}", 10, 'did you mean "upper_snake"'),
        ("{{ NAME | }}", 9, "filter's name"),
        ("{{ a b }}", 4, "expected `|` or `}}`"),
        ("{{ f(a b) }}", 6, "expected `,` or `)`"),
        ("{{ a + b }}", 5, "unexpected '+'"),
        ("style={{ color: 'red' }}", 14, "unexpected ':'"),
    ],
)
def test_problems_say_where(template: str, offset: int, words: str) -> None:
    problem = parse(template)
    assert isinstance(problem, TemplateProblem)
    assert problem.offset == offset
    assert words in problem.message


def test_everything_a_template_names_is_known_after_parsing() -> None:
    parsed = parse('{{ env(key, "x") | lower }} {{ stack.ignore }} {{ NAME | relative(dir) }}')
    assert isinstance(parsed, Template)
    assert parsed.names == {"key", "stack.ignore", "NAME", "dir"}
    assert parsed.functions == {"env"}
    assert parsed.filters == {"lower", "relative"}
    assert parse("x${{ y }}").is_plain  # type: ignore[union-attr]


def test_undefined_names_and_functions_raise() -> None:
    with pytest.raises(UndefinedError, match="missing"):
        render("{{ missing }}", {}, {})
    with pytest.raises(UndefinedError, match="env"):
        render("{{ env(NAME) }}", NAMES, {})


def test_what_is_filled_in_is_not_a_template() -> None:
    assert render("{{ NAME }}", {"NAME": "{{ key }}"}, {}) == "{{ key }}"


@pytest.mark.parametrize(
    ("name", "upper", "snake", "camel"),
    [
        ("dbPassword", "DB_PASSWORD", "db_password", "dbPassword"),
        ("AWS_SECRET_ACCESS_KEY", "AWS_SECRET_ACCESS_KEY", "aws_secret_access_key", "awsSecretAccessKey"),
        ("HTTPServer", "HTTP_SERVER", "http_server", "httpServer"),
        ("stripe-token", "STRIPE_TOKEN", "stripe_token", "stripeToken"),
        ("oauth2Token", "OAUTH2_TOKEN", "oauth2_token", "oauth2Token"),
        ("_private", "PRIVATE", "private", "private"),
        ("schlüsselToken", "", "schlüssel_token", "schlüsselToken"),
        ("2fa", "", "2fa", "2fa"),
    ],
)
def test_name_filters(name: str, upper: str, snake: str, camel: str) -> None:
    assert FILTERS["upper_snake"](name) == upper
    assert (FILTERS["snake"](name), FILTERS["camel"](name)) == (snake, camel)


@given(st.text())
def test_quoted_reads_back_in_python(text: str) -> None:
    text = text.encode("utf-8", "replace").decode()
    assert eval(FILTERS["quoted"](text)) == text


@given(st.text(alphabet="{}|()\"'\\$ abé.,\n1-"))
def test_no_text_makes_the_parser_crash(text: str) -> None:
    parsed = parse(text)
    assert isinstance(parsed, Template | TemplateProblem)
    if isinstance(parsed, TemplateProblem):
        assert 0 <= parsed.offset <= len(text)


def test_every_filter_is_documented() -> None:
    assert set(FILTERS) == set(FILTER_DOCS)
