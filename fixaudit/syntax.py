"""Concrete syntax trees and user matchers: the only importer of ast_grep_py.

Contract: text in, trees, matches and damage out; every span is code points of the text. Languages are an allow-list,
because the library panics with a BaseException on a name that it does not know. Nothing here raises on damaged input:
the parser is error tolerant and `damage` says where it had to guess.
This module must not know of the program model, files, relations or rules.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Span: TypeAlias = tuple[int, int]
Node: TypeAlias = Any
"""A node of ast_grep_py (`SgNode`), which has no types of its own worth the name. Valid while its Tree lives."""

LANGUAGES = ("javascript", "typescript", "tsx", "python")
GRAMMARS: Mapping[str, tuple[str, ...]] = {
    "javascript": ("javascript", "typescript", "tsx"),
    "typescript": ("typescript", "tsx"),
    "tsx": ("tsx",),
    "python": ("python",),
}
"""Which grammars a matcher of a language is compiled for: a JavaScript matcher also reads TypeScript."""

_DAMAGE = {"rule": {"any": [{"kind": "ERROR"}, {"regex": "^$"}]}}
# A missing token is a leaf of no width; nothing else but the root of an empty file has no text.
_ROOTS = ("program", "module")


@dataclass(frozen=True)
class Tree:
    """A parsed text. `root` is the library's root node."""

    content: str
    language: str
    root: Node

    def damage(self) -> tuple[Span, ...]:
        """Return the ranges of ERROR nodes and of missing tokens, in order; an empty range is a missing token."""
        found = {span_of(node) for node in self.root.find_all(_DAMAGE) if node.kind() not in _ROOTS}
        if self.root.kind() == "ERROR":
            found.add((0, len(self.content)))
        return tuple(sorted(found))

    def nodes(self, *kinds: str) -> list[Node]:
        """Return the nodes of the given kinds, in source order; a kind that the grammar lacks yields nothing."""
        known = [kind for kind in kinds if _kind_exists(kind, self.language)]
        return list(self.root.find_all({"rule": {"any": [{"kind": kind} for kind in known]}})) if known else []


def span_of(node: Node) -> Span:
    """Return a node's span.

    By way of an edit and not of `range()`: that one also counts the column from the start of the line, which made a
    minified line of one megabyte take 20 seconds instead of 10 milliseconds.
    """
    edit = node.replace("")
    return edit.start_pos, edit.end_pos


def parse(content: str, language: str) -> Tree:
    """Parse a text. Raises ValueError for a language outside LANGUAGES."""
    from ast_grep_py import SgRoot

    if language not in LANGUAGES:
        raise ValueError(f"no grammar for {language!r}; known: {', '.join(LANGUAGES)}")
    # The library takes UTF-8 only; a lone surrogate becomes one replacement character, so offsets stay.
    safe = content if content.isascii() else re.sub("[\ud800-\udfff]", "\ufffd", content)
    return Tree(content, language, SgRoot(safe, language).root())


# The syntax guard ----------------------------------------------------------------------------------------------------


def damage_count(content: str, language: str) -> int:
    """Count what is wrong with a text: 0 means that it parses.

    ERROR nodes and missing tokens; for Python also what `ast.parse` refuses (bad indentation is no ERROR); for
    JavaScript also names bound twice in one block (`const a` after `import a`), which no grammar reports.
    """
    tree = parse(content, language)
    count = len(tree.damage())
    if language == "python":
        return count + (not python_accepts(content))
    return count + len(duplicate_bindings(tree))


def parses_no_worse(before: str, after: str, language: str) -> bool:
    """Say whether a text parses at least as well after an edit: the syntax guard of every change."""
    if language == "python" and python_accepts(before):
        # The interpreter's own verdict: tree-sitter knows some older and newer forms less well.
        return python_accepts(after)
    return damage_count(after, language) <= damage_count(before, language)


def python_accepts(content: str) -> bool:
    """Say whether Python accepts a text: the running interpreter, or libcst where a newer one may be meant.

    An older interpreter refuses what its successors brought (type parameters, nested quotes in f-strings); libcst
    reads every released syntax. It costs 0.3 s to import, so it is asked only where the interpreter says no.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(content)
        except IndentationError:
            return False
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return _newer_python_accepts(content)
    return True


def _newer_python_accepts(content: str) -> bool:
    import libcst

    try:
        libcst.parse_module(content)
    except (libcst.ParserSyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


_BLOCK_BINDINGS = ("lexical_declaration", "variable_declaration", "class_declaration", "abstract_class_declaration")
_FUNCTION_BINDINGS = ("function_declaration", "generator_function_declaration")


def duplicate_bindings(tree: Tree) -> tuple[Span, ...]:
    """Return the names that a block of JavaScript or TypeScript binds again although one of the two forbids it.

    `const`, `let`, `class` and value imports may share their block's name with nothing; `var` and functions may
    repeat each other. Types are left out: interfaces and namespaces merge with values.
    """
    seen: dict[tuple[Span, str], bool] = {}
    repeated = []
    for scope, name, exclusive in _bindings(tree):
        key = (scope, tree.content[slice(*name)])
        if key in seen and (exclusive or seen[key]):
            repeated.append(name)
        seen[key] = seen.get(key, False) or exclusive
    return tuple(repeated)


def _bindings(tree: Tree) -> Iterator[tuple[Span, Span, bool]]:
    """Yield (span of the scope, span of the name, whether the name must be unique there)."""
    for node in tree.nodes("import_statement", *_BLOCK_BINDINGS, *_FUNCTION_BINDINGS):
        parent = node.parent()
        if parent is not None and parent.kind() == "export_statement":
            parent = parent.parent()
        if parent is None or parent.kind() in ("ambient_declaration", "for_statement", "ERROR"):
            continue
        if parent.kind() in ("switch_case", "switch_default"):
            parent = parent.parent()
        scope, kind = span_of(parent), node.kind()
        if kind == "import_statement":
            for name in _imported_names(node):
                yield scope, span_of(name), True
        elif kind in ("lexical_declaration", "variable_declaration"):
            for declarator in node.children():
                pattern = declarator.field("name") if declarator.kind() == "variable_declarator" else None
                for name in _pattern_names(pattern) if pattern is not None else ():
                    yield scope, span_of(name), kind == "lexical_declaration"
        elif (name := node.field("name")) is not None:
            yield scope, span_of(name), kind not in _FUNCTION_BINDINGS


def _imported_names(statement: Node) -> Iterator[Node]:
    stack = [child for child in statement.children() if child.kind() in ("import_clause", "import_require_clause")]
    if any(child.kind() == "type" for child in statement.children()):
        return
    while stack:
        node = stack.pop()
        for child in node.children():
            match child.kind():
                case "identifier":
                    yield child
                case "import_specifier" if not any(token.kind() == "type" for token in child.children()):
                    yield child.field("alias") or child.field("name")
                case "namespace_import" | "named_imports":
                    stack.append(child)


def _pattern_names(pattern: Node) -> Iterator[Node]:
    stack = [pattern]
    while stack:
        node = stack.pop()
        match node.kind():
            case "identifier" | "shorthand_property_identifier_pattern":
                yield node
            case "object_pattern" | "array_pattern" | "rest_pattern":
                stack.extend(node.children())
            case "pair_pattern":
                stack.append(node.field("value"))
            case "assignment_pattern" | "object_assignment_pattern":
                stack.append(node.field("left"))


# Matchers ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Problem:
    """Why a matcher cannot work: `path` is the place inside the rule object, from outside in."""

    path: tuple[str | int, ...]
    message: str


@dataclass(frozen=True)
class Matcher:
    """A matcher that was tried against its grammars. `configs` holds one library configuration per usable grammar."""

    language: str
    configs: Mapping[str, Mapping[str, Any]]
    captures: tuple[str, ...] = ()  # names without `$`, sorted
    lists: tuple[str, ...] = ()  # names of `$$$NAME`, sorted


@dataclass(frozen=True)
class Capture:
    text: str
    span: Span


@dataclass(frozen=True)
class Match:
    """One matched node. `captures` has the metavariables that are bound; an empty `$$$LIST` is left out."""

    text: str
    span: Span
    captures: Mapping[str, Capture] = field(default_factory=dict)


_CONFIG_KEYS = ("rule", "constraints", "utils", "transform")
_METAVARIABLE = re.compile(r"(\$\$\$|\$)([A-Z_][A-Z0-9_]*)")


def compile_matcher(rule: Mapping[str, Any], language: str) -> Matcher | tuple[Problem, ...]:
    """Check an ast-grep object (a bare rule, or one with `rule`, `constraints`, `utils`, `transform`) and keep it.

    A JavaScript matcher is tried against three grammars and kept for those it fits (`public_field_definition` exists
    in TypeScript only); inside `any` a branch that a grammar does not know is dropped for that grammar. It is broken
    when no grammar is left: a bad kind, key or regular expression, or pattern text that does not parse, which the
    library neither reports nor ever matches. `fix` is refused: the library would ignore it silently.
    """
    if language not in LANGUAGES:
        return (Problem((), f"no grammar for {language!r}; known: {', '.join(LANGUAGES)}"),)
    config = dict(rule) if "rule" in rule else {"rule": dict(rule)}
    unknown = [key for key in config if key not in _CONFIG_KEYS]
    if unknown:
        allowed = f"allowed here: {', '.join(_CONFIG_KEYS)}"
        return tuple(
            Problem((key,), "a matcher cannot fix: write the fix as a step" if key == "fix" else allowed)
            for key in unknown
        )
    if isinstance(rule.get("fix"), str):
        return (Problem(("fix",), "a matcher cannot fix: write the fix as a step"),)
    prefix = () if "rule" in rule else ("rule",)
    configs: dict[str, Mapping[str, Any]] = {}
    problems: tuple[Problem, ...] = ()
    for grammar in GRAMMARS[language]:
        usable = _fit(config, grammar)
        if isinstance(usable, tuple):
            problems = problems or usable
        else:
            configs[grammar] = usable
    if not configs:
        return tuple(Problem(p.path[len(prefix) :], p.message) for p in problems)
    single: set[str] = set()
    many: set[str] = set()
    for _, text in _strings(config):
        for dollars, name in _METAVARIABLE.findall(text):
            (single if dollars == "$" else many).add(name)
    names = {name for name in single | set(config.get("transform") or ()) if not name.startswith("_")}
    return Matcher(language, configs, tuple(sorted(names)), tuple(sorted(n for n in many if not n.startswith("_"))))


def find(tree: Tree, matcher: Matcher) -> list[Match]:
    """Return every match in source order; many matchers may run over one tree."""
    config = matcher.configs.get(tree.language)
    if config is None:
        return []
    found = []
    for node in tree.root.find_all(dict(config)):
        captures: dict[str, Capture] = {}
        for name in matcher.captures:
            single = node.get_match(name)
            if single is not None:
                captures[name] = _capture(tree, span_of(single))
            elif (text := node.get_transformed(name)) is not None:
                captures[name] = Capture(text, span_of(node))
        for name in matcher.lists:
            if nodes := node.get_multiple_matches(name):
                captures[name] = _capture(tree, (span_of(nodes[0])[0], span_of(nodes[-1])[1]))
        span = span_of(node)
        found.append(Match(tree.content[slice(*span)], span, captures))
    return sorted(found, key=lambda match: match.span)


def _capture(tree: Tree, span: Span) -> Capture:
    return Capture(tree.content[slice(*span)], span)


def _fit(config: Mapping[str, Any], grammar: str) -> dict[str, Any] | tuple[Problem, ...]:
    """Return the configuration cut to one grammar, or why it cannot be used there."""
    pruned = {**config, "rule": _prune(config["rule"], grammar)}
    problems = [
        Problem(path, f"the pattern does not parse as {grammar}: {text!r}")
        for path, text in _patterns(pruned)
        if not _pattern_parses(text, grammar)
    ]
    if problems:
        return tuple(problems)
    reason = _refusal(pruned, grammar)
    return pruned if reason is None else (Problem((), reason),)


def _prune(rule: Any, grammar: str) -> Any:
    if isinstance(rule, list):
        return [_prune(item, grammar) for item in rule]
    if not isinstance(rule, Mapping):
        return rule
    kept = {key: _prune(value, grammar) for key, value in rule.items()}
    branches = kept.get("any")
    if isinstance(branches, list):
        usable = [branch for branch in branches if _branch_fits(branch, grammar)]
        kept["any"] = usable or branches
    return kept


def _branch_fits(branch: Any, grammar: str) -> bool:
    if not isinstance(branch, Mapping):
        return True
    if not all(_pattern_parses(text, grammar) for _, text in _patterns(branch)):
        return False
    # Only an unknown kind lets a branch go: every other mistake is one in all grammars and must be reported.
    return all(_kind_exists(kind, grammar) for kind in _kinds(branch))


_known_kinds: dict[tuple[str, str], bool] = {}


def _kind_exists(kind: str, grammar: str) -> bool:
    key = (kind, grammar)
    if key not in _known_kinds:
        _known_kinds[key] = _refusal({"rule": {"kind": kind}}, grammar) is None
    return _known_kinds[key]


def _refusal(config: Mapping[str, Any], grammar: str) -> str | None:
    """Return why the library refuses a configuration; it compiles it even for an empty source."""
    from ast_grep_py import SgRoot

    try:
        root: Node = SgRoot("", grammar).root()
        root.find_all(dict(config))
    except Exception as error:  # noqa: BLE001 - the library raises bare `Exception` for an unknown key
        # The message carries a Rust backtrace behind its first lines.
        text = str(error).split("Stack backtrace")[0]
        return " ".join(line.strip() for line in text.splitlines() if line.strip())[:300]
    return None


def _strings(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], str]]:
    match value:
        case str():
            yield path, value
        case Mapping():
            for key, inner in value.items():
                yield from _strings(inner, (*path, key))
        case list() | tuple():
            for index, inner in enumerate(value):
                yield from _strings(inner, (*path, index))


def _patterns(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield (path, text) of every pattern; of a pattern object its `context`."""
    match value:
        case Mapping():
            for key, inner in value.items():
                if key == "pattern" and isinstance(inner, str):
                    yield (*path, key), inner
                elif key == "pattern" and isinstance(inner, Mapping):
                    yield (*path, key, "context"), str(inner.get("context", ""))
                else:
                    yield from _patterns(inner, (*path, key))
        case list() | tuple():
            for index, inner in enumerate(value):
                yield from _patterns(inner, (*path, index))


def _kinds(value: Any) -> Iterator[str]:
    for path, text in _strings(value):
        if path and path[-1] == "kind":
            yield text


def _pattern_parses(text: str, grammar: str) -> bool:
    """Say whether pattern text parses: a metavariable stands for one identifier, a list for one too."""
    if not text.strip():
        return False
    plain = _METAVARIABLE.sub(lambda m: "µ" + m[2], text).replace("$$$", "µ").replace("$_", "µ")
    wrappers: tuple[Callable[[str], str], ...] = (str, lambda body: f"({body})")
    return any(not parse(wrap(plain), grammar).damage() for wrap in wrappers)
