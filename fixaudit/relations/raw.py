"""Rows of raw queries, for user packs: `ast` (an ast-grep object), `regex` (over lines of files) and `concept`.

Contract: every row has TEXT, the matched text, and one column per capture; a capture that took no part is None. What
is found in a range that the parser had to guess is opaque. Results are memoised by file digest and by the query.
This module must not know of checks or fixes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

import msgspec

from fixaudit import dialect, syntax
from fixaudit.facts import Facts, SourceFile
from fixaudit.globs import matches
from fixaudit.relations.base import Row, Scalar
from fixaudit.rulebook.rule import Concept, Query
from fixaudit.source.ir import Span


def rows(query: Query, facts: Facts, concepts: Mapping[str, Concept]) -> Sequence[Row]:
    """Return the rows of an `ast`, `regex` or `concept` query in order of path and position."""
    key = (f"raw:{query.relation}", _key(query.options))
    if key not in facts._rows:
        found = _regex(query.options, facts) if query.relation == "regex" else _matched(query, facts, concepts)
        facts._rows[key] = tuple(found)
    return facts._rows[key]


def _key(value: Any) -> str:
    return msgspec.json.encode(value, order="sorted").decode()


def _matched(query: Query, facts: Facts, concepts: Mapping[str, Concept]) -> Iterator[Row]:
    if query.relation == "concept":
        concept = concepts[query.options["name"]]
        for language, spelling in concept.languages.items():
            yield from _ast(spelling["match"], language, concept.binds, concept.unquote, facts)
        return
    languages = query.options["language"]
    config = {name: part for name, part in query.options.items() if name != "language"}
    for language in (languages,) if isinstance(languages, str) else languages:
        yield from _ast(config, language, None, (), facts)


@lru_cache(maxsize=512)
def _matcher(config: str, language: str) -> syntax.Matcher:
    matcher = syntax.compile_matcher(msgspec.json.decode(config), language)
    if not isinstance(matcher, syntax.Matcher):
        raise ValueError("; ".join(problem.message for problem in matcher))
    return matcher


def _ast(
    config: Mapping[str, Any], language: str, binds: Sequence[str] | None, unquote: Sequence[str], facts: Facts
) -> Iterator[Row]:
    written = _key(config)
    matcher = _matcher(written, language)
    columns = tuple(binds) if binds is not None else (*matcher.captures, *matcher.lists)
    for file in facts.programs():
        if file.kind.language in matcher.configs:
            key = f"{file.kind.language}\0{file.path}\0{file.digest}"
            kind = f"ast:{written}:{_key([columns, list(unquote)])}"
            yield from facts.project.memo.get(kind, key, partial(_in_file, file, matcher, columns, unquote))


def _in_file(
    file: SourceFile, matcher: syntax.Matcher, columns: Sequence[str], unquote: Sequence[str]
) -> tuple[Row, ...]:
    assert file.text is not None and file.kind.language is not None
    tree = syntax.parse(file.text.content, file.kind.language)
    damage = tree.damage()
    found = []
    for match in syntax.find(tree, matcher):
        values: dict[str, Scalar] = {"TEXT": match.text}
        spans: dict[str, Span] = {"TEXT": match.span}
        for name in columns:
            capture = match.captures.get(name)
            values[name] = None
            if capture is not None:
                text, span = capture.text, capture.span
                if name in unquote and len(text) > 1 and text[0] == text[-1] and text[0] in "\"'`":
                    text, span = text[1:-1], (span[0] + 1, span[1] - 1)
                values[name], spans[name] = text, span
        hidden = any(start < match.span[1] and match.span[0] < max(end, start + 1) for start, end in damage)
        found.append(Row(file.path, match.span, values, spans, ("*",) if hidden else ()))
    return tuple(found)


def _regex(options: Mapping[str, Any], facts: Facts) -> Iterator[Row]:
    pattern = dialect.compiled(options["pattern"])
    for path in facts.paths:
        text = facts.text(path) if matches(facts.root.relative(path), *options["files"]) else None
        if text is None:
            continue
        for found in pattern.finditer(text.content):
            values: dict[str, Scalar] = {"TEXT": found[0], **found.groupdict()}
            spans = {"TEXT": found.span()}
            spans |= {name: found.span(name) for name, value in found.groupdict().items() if value is not None}
            yield Row(path, found.span(), values, spans)
