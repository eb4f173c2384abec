"""Put an expression in the place of another one: brackets where precedence needs them, the file's quotes.

Contract: text and spans in, text out. What is put in keeps meaning what it says whatever stands around it; a place
where no expression may stand (a type, a key, a decorator's name) has no fitting form.
This module must not know of rules or files.
"""

from __future__ import annotations

from functools import lru_cache

from fixaudit.source.ir import Span
from fixaudit.syntax import Node, Tree, parse, span_of


def _kinds(*lines: str) -> frozenset[str]:
    return frozenset(" ".join(lines).split())


# The parents inside which any expression may stand without brackets, by grammar kind.
_ROOMY_JS = _kinds(
    "variable_declarator arguments pair assignment_expression augmented_assignment_expression return_statement",
    "arrow_function assignment_pattern object_assignment_pattern array public_field_definition field_definition",
    "parenthesized_expression expression_statement jsx_expression template_substitution export_statement",
    "required_parameter optional_parameter throw_statement ternary_expression",
)
_ROOMY_PY = _kinds(
    "assignment augmented_assignment argument_list keyword_argument default_parameter typed_default_parameter pair",
    "return_statement list tuple set parenthesized_expression expression_statement expression_list interpolation",
)
# What binds so tightly that it never needs brackets.
_TIGHT = _kinds(
    "identifier member_expression call_expression subscript_expression string template_string number true false null",
    "undefined array object parenthesized_expression call attribute subscript list dictionary tuple set integer float",
    "none this",
)
# Places that look like expressions and are none: what stands there is read by the compiler.
_FIXED = _kinds(
    "literal_type enum_assignment enum_body import_statement import_attribute property_signature",
    "import_from_statement import_require_clause call_signature ambient_declaration",
)
_KEYS = _kinds("pair method_definition public_field_definition field_definition export_statement")


@lru_cache(maxsize=16)
def _tree(content: str, language: str) -> Tree:
    return parse(content, language)


def chain(content: str, language: str, span: Span) -> tuple[Node, ...]:
    """Return the nodes from the root down to the outermost one with exactly this span; empty when there is none."""
    tree = _tree(content, language)
    found: list[Node] = [tree.root]
    while span_of(found[-1]) != span:
        inner = next((n for n in found[-1].children() if _covers(span_of(n), span)), None)
        if inner is None:
            return ()
        found.append(inner)
    return tuple(found)


def _covers(outer: Span, inner: Span) -> bool:
    return outer[0] <= inner[0] and inner[1] <= outer[1]


def is_value(content: str, language: str, span: Span) -> bool:
    """Say whether a computed expression may stand at a place: not in a type, an enum, an import or as a key."""
    nodes = chain(content, language, span)
    if len(nodes) < 2 or any(node.kind() in _FIXED for node in nodes):
        return False
    parent, node = nodes[-2], nodes[-1]
    if language == "python":
        return str(parent.kind()) != "concatenated_string"
    for field in ("key", "name", "source"):
        holder = parent.field(field) if parent.kind() in _KEYS else None
        if holder is not None and span_of(holder) == span_of(node):
            return False
    return bool(parent.kind() != "call_expression" or node.kind() != "template_string")


def fitted(code: str, content: str, language: str, span: Span) -> str:
    """Return `code` as it must be written at `span`: in brackets, or in braces as the value of a JSX attribute."""
    nodes = chain(content, language, span)
    parent = nodes[-2].kind() if len(nodes) > 1 else ""
    if parent == "jsx_attribute":
        return f"{{{code}}}"
    roomy = _ROOMY_PY if language == "python" else _ROOMY_JS
    if parent in ("arrow_function", "expression_statement") and code.lstrip().startswith("{"):
        return f"({code})"  # a block otherwise
    if parent in roomy:
        if parent == "ternary_expression" and span_of(nodes[-2])[0] == span[0] and not is_tight(code, language):
            return f"({code})"
        return code
    return code if is_tight(code, language) else f"({code})"


def is_roomy(content: str, language: str, span: Span) -> bool:
    """Say whether a place takes any value as it is: it is stored or passed on, and nothing is done with it at once."""
    nodes = chain(content, language, span)
    parent = str(nodes[-2].kind()) if len(nodes) > 1 else ""
    return parent in (_ROOMY_PY if language == "python" else _ROOMY_JS)


def span_around(content: str, language: str, span: Span) -> Span:
    """Return the span of the expression that a place is a direct part of."""
    nodes = chain(content, language, span)
    return span_of(nodes[-2]) if len(nodes) > 1 else span


def is_tight(code: str, language: str) -> bool:
    """Say whether an expression can stand inside any other one as it is."""
    body = f"({code})"
    for node in _tree(body, language).root.children():
        inner = node
        while inner.kind() in ("expression_statement", "parenthesized_expression") and len(inner.children()) > 0:
            named = [child for child in inner.children() if child.is_named()]
            if len(named) != 1:
                return False
            inner = named[0]
            if span_of(inner) == (1, 1 + len(code)):
                return str(inner.kind()) in _TIGHT
    return False


def quoted_like(code: str, quote: str) -> str:
    """Write the simple string literals of JavaScript or Python code with the file's own quote character.

    A literal with an escape or with either quote in it is left as it is.
    """
    other = "'" if quote == '"' else '"'
    out: list[str] = []
    position = 0
    while position < len(code):
        char = code[position]
        if char not in "'\"`":
            out.append(char)
            position += 1
            continue
        if code.startswith(char * 3, position):
            end = code.find(char * 3, position + 3)
            end = len(code) if end < 0 else end + 3
        else:
            end = position + 1
            while end < len(code) and code[end] != char and (code[end] != "\n" or char == "`"):
                end += 2 if code[end] == "\\" else 1
            end = min(end + 1, len(code))
        literal = code[position:end]
        closed = len(literal) >= 2 and literal.endswith(char)
        simple = char == other and closed and not any(mark in literal[1:-1] for mark in "'\"\\\n")
        out.append(f"{quote}{literal[1:-1]}{quote}" if simple and not literal.startswith(char * 3) else literal)
        position = end
    return "".join(out)
