"""YAML with the place of everything; scalars stay text.

Contract: `parse` gives trees whose nodes know their spans; a scalar's `text` is what is written, never a resolved
value: `on`, `NO`, `3.10` and `0755` stay as typed (U18), and who needs a boolean asks `plain`. Aliases point to their
anchor's node and keep their own place; merge keys are resolved by `Mapping.get` and `scalars`. Several documents are
read. Edits live in `yamledit`.
Built on ruamel.yaml's events: its composed nodes lose the place of aliases and merged keys.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from fixaudit.formats.problem import Problem
from fixaudit.text import LineIndex

Span: TypeAlias = tuple[int, int]
Path: TypeAlias = tuple[str | int, ...]

_PROPERTIES = re.compile(r"(?:[&!][^\s\[\]{},]*\s+)*")
_DEPTH = 100
# Aliases can make a small file mean millions of scalars ("billion laughs"); no configuration has this many.
MOST_ROWS = 200_000


@dataclass(frozen=True, slots=True)
class Scalar:
    """A scalar as text. `style`: "" plain, `'`, `"`, `|` or `>`. `tag` is an explicit tag (`!Ref`), else None."""

    text: str
    style: str
    span: Span
    tag: str | None = None

    @property
    def plain(self) -> bool:
        """Whether YAML resolves the text (to null, a boolean, a number) instead of taking it for a string."""
        return self.style == "" and self.tag is None


@dataclass(frozen=True, slots=True)
class Items:
    """A sequence; `flow` is the `[a, b]` form."""

    items: tuple[Node, ...]
    flow: bool
    span: Span
    tag: str | None = None


@dataclass(frozen=True, slots=True)
class Mapping:
    """A mapping: pairs in order, duplicates and merge keys included; `flow` is the `{a: b}` form."""

    pairs: tuple[tuple[Node, Node], ...]
    flow: bool
    span: Span
    tag: str | None = None

    def get(self, key: str) -> Node | None:
        """Return a value by its key's text (the first of duplicates), looking through aliases and `<<`."""
        own = self.own(key)
        if own is not None:
            return own
        for source in merged(self):
            found = source.get(key)
            if found is not None:
                return found
        return None

    def own(self, key: str) -> Node | None:
        """Return a value that stands in this mapping itself, an alias followed."""
        for name, value in self.pairs:
            if isinstance(name, Scalar) and name.text == key:
                return follow(value)
        return None

    def key(self, key: str) -> Scalar | None:
        """Return the key's own node."""
        return next((name for name, _ in self.pairs if isinstance(name, Scalar) and name.text == key), None)


@dataclass(frozen=True, slots=True)
class Alias:
    """`*name`; `target` is the anchored node."""

    name: str
    target: Node
    span: Span


Node: TypeAlias = Scalar | Items | Mapping | Alias


@dataclass(frozen=True, slots=True)
class Row:
    """One scalar of a document with its path (keys as text, items by number from 0).

    `span` is where the text is written, for an alias or merge that is the anchor's place; then `shared` is set.
    """

    path: Path
    text: str
    span: Span
    line: int
    style: str
    document: int
    shared: bool


def parse(content: str) -> tuple[Node, ...] | Problem:
    """Return the root node of every document; an empty text has none. The Problem names the line."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        return tuple(_documents(iter(YAML(typ="safe", pure=False).parse(content)), content))
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        # The end of a text without final line ending is reported one line below it.
        line = min(mark.line + 1, len(LineIndex(content))) if mark else 1
        return Problem(line, " ".join(str(error.problem or error.context).split()))
    except YAMLError as error:
        at = getattr(error, "position", 0)
        line = LineIndex(content).position(at)[0] if isinstance(at, int) else 1
        return Problem(line, "the text holds a character that YAML does not allow")
    except _TooDeepError as error:
        return Problem(error.args[0], "values are nested too deeply")


def scalars(content: str) -> tuple[Row, ...] | Problem:
    """Return every scalar that is a value, in document order; merged keys that are not overridden included."""
    documents = parse(content)
    if isinstance(documents, Problem):
        return documents
    lines = LineIndex(content)
    rows: list[Row] = []
    for number, root in enumerate(documents):
        for path, scalar, shared in _leaves(root, (), False, ()):
            if len(rows) >= MOST_ROWS:
                return Problem(1, f"aliases make more than {MOST_ROWS} values of this file")
            line = lines.position(scalar.span[0])[0]
            rows.append(Row(path, scalar.text, scalar.span, line, scalar.style, number, shared))
    return tuple(rows)


def follow(node: Node) -> Scalar | Items | Mapping:
    """Return the node itself, or what an alias stands for."""
    while isinstance(node, Alias):
        node = node.target
    return node


def merged(mapping: Mapping) -> Iterator[Mapping]:
    """Yield the mappings that `<<` merges in, those that win first."""
    for name, value in mapping.pairs:
        if isinstance(name, Scalar) and name.text == "<<" and name.plain:
            source = follow(value)
            parts: Sequence[Node] = source.items if isinstance(source, Items) else (source,)
            for part in map(follow, parts):
                if isinstance(part, Mapping):
                    yield part


def get(root: Node, path: Sequence[str | int]) -> Scalar | Items | Mapping | None:
    """Return the node at a path, aliases and merge keys followed; None when there is none."""
    node: Node | None = root
    for part in path:
        current = follow(node) if node is not None else None
        if isinstance(current, Mapping) and isinstance(part, str):
            node = current.get(part)
        elif isinstance(current, Items) and isinstance(part, int) and part < len(current.items):
            node = current.items[part]
        else:
            return None
    return follow(node) if node is not None else None


class _TooDeepError(Exception):
    """Raised with the 1-based line."""


def _documents(events: Iterator[Any], content: str) -> Iterator[Node]:
    anchors: dict[str, Node] = {}
    for event in events:
        name = type(event).__name__
        if name == "DocumentStartEvent":
            anchors = {}
        elif name not in ("StreamStartEvent", "StreamEndEvent", "DocumentEndEvent"):
            yield _node(event, events, content, anchors, 0)


def _node(event: Any, events: Iterator[Any], content: str, anchors: dict[str, Node], depth: int) -> Node:
    if depth > _DEPTH:
        raise _TooDeepError(event.start_mark.line + 1)
    kind = type(event).__name__
    start: int = event.start_mark.index
    if kind == "AliasEvent":
        from ruamel.yaml.composer import ComposerError

        if event.anchor not in anchors:
            raise ComposerError(None, None, f"the anchor {event.anchor} is not defined", event.start_mark)
        return Alias(event.anchor, anchors[event.anchor], (start, event.end_mark.index))
    tag = str(event.tag) if getattr(event, "tag", None) and str(event.tag) != "!" else None
    result: Node
    if kind == "ScalarEvent":
        match = _PROPERTIES.match(content, start) if event.anchor or event.tag else None
        begin = min(match.end(), event.end_mark.index) if match else start
        result = Scalar(event.value, event.style or "", (begin, event.end_mark.index), tag)
    elif kind == "SequenceStartEvent":
        children: list[Node] = []
        for child in events:
            if type(child).__name__ == "SequenceEndEvent":
                break
            children.append(_node(child, events, content, anchors, depth + 1))
        result = Items(tuple(children), bool(event.flow_style), (start, child.end_mark.index), tag)
    else:
        pairs: list[tuple[Node, Node]] = []
        for child in events:
            if type(child).__name__ == "MappingEndEvent":
                break
            key = _node(child, events, content, anchors, depth + 1)
            pairs.append((key, _node(next(events), events, content, anchors, depth + 1)))
        result = Mapping(tuple(pairs), bool(event.flow_style), (start, child.end_mark.index), tag)
    if event.anchor:
        anchors[event.anchor] = result
    return result


def _leaves(node: Node, path: Path, shared: bool, hidden: tuple[str, ...]) -> Iterator[tuple[Path, Scalar, bool]]:
    """Yield the scalars below a node; `hidden` are keys that the merging mapping overrides."""
    target = follow(node)
    shared = shared or target is not node
    if isinstance(target, Scalar):
        yield path, target, shared
    elif isinstance(target, Items):
        for number, item in enumerate(target.items):
            yield from _leaves(item, (*path, number), shared, ())
    else:
        own = tuple(name.text for name, _ in target.pairs if isinstance(name, Scalar))
        for name, value in target.pairs:
            if isinstance(name, Scalar) and not (name.text == "<<" and name.plain) and name.text not in hidden:
                yield from _leaves(value, (*path, name.text), shared, ())
        taken = (*hidden, *own)
        for source in merged(target):
            yield from _leaves(source, path, True, taken)
            taken = (*taken, *(name.text for name, _ in source.pairs if isinstance(name, Scalar)))
