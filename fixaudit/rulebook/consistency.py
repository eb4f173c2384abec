"""Whether the parts of one rule, concept or stack fit each other, after its schema.

Contract: written values in, faults out. This is where the fix type decides which keys a rule has, where variants and
clauses must be shown by examples, and where clauses in prose are turned away. This module must not know of files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fixaudit.projects import LANGUAGES
from fixaudit.rulebook.build import EXAMPLE_KINDS
from fixaudit.rulebook.links import (
    ROOT_NAMES,
    Columns,
    Known,
    Written,
    check_faults,
    columns_of,
    expected,
    matcher_faults,
    message_columns,
    parameter_faults,
    query_faults,
    step_faults,
    template_faults,
    text_faults,
)
from fixaudit.rulebook.positions import Fault, Path
from fixaudit.rulebook.samples import unknown_samples

BOUNDARY_CLAUSES = tuple(f"boundary.{part}" for part in ("edit", "create", "delete", "mode", "files", "lines"))


def rule_faults(rule: Written, known: Known) -> list[Fault]:
    """Return everything that is wrong with a rule that passed its schema."""
    return [
        *_key_faults(rule),
        *_stack_faults(rule, known),
        *_question_faults(rule, known),
        *_fix_faults(rule, known),
        *_contract_faults(rule, known),
        *_example_faults(rule, known),
    ]


_KEYS_OF_TYPE: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "STATIC": (("fix",), ("parameters", "delegate")),
    "DYNAMIC-PARAMETRIC": (("fix",), ("delegate",)),
    "DYNAMIC-DELEGATED": (("delegate",), ("fix", "parameters")),
}


def _key_faults(rule: Written) -> Iterator[Fault]:
    kind = rule["fix_type"]
    needed, excluded = _KEYS_OF_TYPE[kind]
    variants: Mapping[str, Written] = rule.get("variants", {})
    for key in needed:
        if key not in rule:
            yield Fault(("fix_type",), f'a {kind} rule needs the key "{key}"')
    for key in excluded:
        if key not in rule:
            continue
        tiers = any("tiers" in entry for entry in rule[key].values()) if key == "parameters" else True
        # A STATIC rule may name constants and look them up; what it may not do is read them from the project.
        if kind == "STATIC" and key == "parameters" and not tiers:
            continue
        why = "parameters with tiers make a rule DYNAMIC-PARAMETRIC" if kind == "STATIC" and key == "parameters" else ""
        yield Fault((key,), f'a {kind} rule has no "{key}"' + (f": {why}" if why else ""), at_key=True)
    if kind == "DYNAMIC-PARAMETRIC":
        everywhere = [rule.get("parameters", {}), *(v.get("parameters", {}) for v in variants.values())]
        if not any(everywhere):
            yield Fault(("fix_type",), f'a {kind} rule needs the key "parameters"')
    if "check" not in rule and not (variants and all("check" in variant for variant in variants.values())):
        yield Fault((), 'the key "check" is missing (in the rule, or in every variant)')
    if "fix" in rule and "steps" not in rule["fix"]:
        without = [name for name, variant in variants.items() if "steps" not in variant]
        if without or not variants:
            at: Path = ("variants", without[0]) if without else ("fix",)
            yield Fault(at, 'the key "steps" is missing (in `fix`, or in every variant)')
    unsafe: list[Path] = [("fix",)] if rule.get("fix", {}).get("safety") == "unsafe" else []
    unsafe += [("variants", name) for name, variant in variants.items() if variant.get("safety") == "unsafe"]
    for place in unsafe:
        if "safety" not in rule["docs"]:
            yield Fault((*place, "safety"), "an unsafe fix needs docs.safety: say what it may break")


def _stack_faults(rule: Written, known: Known) -> Iterator[Fault]:
    quoted: list[tuple[Path, str]] = []
    for index, name in enumerate(rule.get("applies", {}).get("stacks", ())):
        quoted.append((("applies", "stacks", index), name))
    for variant, entry in rule.get("variants", {}).items():
        quoted += [(("variants", variant, "stacks", i), name) for i, name in enumerate(entry.get("stacks", ()))]
    quoted += [(("examples", i, "stack"), e["stack"]) for i, e in enumerate(rule["examples"]) if "stack" in e]
    for path, name in quoted:
        if name not in known.stacks:
            yield Fault(path, f'unknown stack "{name}"{expected(name, known.stacks)}')
    if "when" in rule.get("applies", {}):
        yield from query_faults(rule["applies"]["when"], ("applies", "when"), known)


def _question_faults(rule: Written, known: Known) -> Iterator[Fault]:
    if "check" in rule:
        yield from check_faults(rule["check"], ("check",), known)
    for name, variant in rule.get("variants", {}).items():
        if "check" in variant:
            yield from check_faults(variant["check"], ("variants", name, "check"), known)


def _fix_faults(rule: Written, known: Known) -> Iterator[Fault]:
    variants: Mapping[str, Written] = rule.get("variants", {})
    shared = rule.get("parameters", {})
    base = ROOT_NAMES | known.stack_facts
    plain = _finding_columns(rule, {}, known)
    own = {name: _finding_columns(rule, variant, known) for name, variant in variants.items()}
    everywhere: Columns = plain
    if variants:
        first, *rest = own.values()
        everywhere = {name: column for name, column in first.items() if all(name in other for other in rest)}
    names = base | frozenset(everywhere)
    yield from parameter_faults(shared, ("parameters",), known, everywhere, names)
    # The rule's own steps run in every variant that has none: they may use what all of those have.
    of_variants = [frozenset(v.get("parameters", {})) for v in variants.values()]
    common = frozenset.intersection(*of_variants) if of_variants else frozenset[str]()
    named = names | frozenset(shared) | common
    if "fix" in rule:
        fix = rule["fix"]
        yield from template_faults(fix["title"], ("fix", "title"), named)
        yield from step_faults(fix.get("steps", []), ("fix", "steps"), everywhere, named, known)
        yield from text_faults(fix.get("follow_ups", []), ("fix", "follow_ups"), named, frozenset())
    for name, variant in variants.items():
        here: Path = ("variants", name)
        columns = own[name]
        inner = base | frozenset(columns) | frozenset(shared)
        yield from parameter_faults(variant.get("parameters", {}), (*here, "parameters"), known, columns, inner)
        inner |= frozenset(variant.get("parameters", {}))
        yield from step_faults(variant.get("steps", []), (*here, "steps"), columns, inner, known)
        yield from text_faults(variant.get("follow_ups", []), (*here, "follow_ups"), inner, frozenset())


def _finding_columns(rule: Written, variant: Written, known: Known) -> Columns:
    check = variant.get("check") or rule.get("check")
    return message_columns(check, known) if check else {}


def _contract_faults(rule: Written, known: Known) -> Iterator[Fault]:
    columns = frozenset(_finding_columns(rule, {}, known))
    names = columns | {"path", "dir", "root", "rule"}
    lists: list[tuple[Path, list[Written]]] = [(("clauses",), rule.get("clauses", []))]
    if "delegate" in rule:
        delegate = rule["delegate"]
        yield from template_faults(delegate["goal"], ("delegate", "goal"), names)
        yield from text_faults(delegate["boundary"], ("delegate", "boundary"), names, frozenset())
        lists += [(("delegate", key), delegate[key]) for key in ("requirement", "forbidden")]
    seen: set[str] = set()
    for path, clauses in lists:
        for index, clause in enumerate(clauses):
            here = (*path, index)
            if clause["id"] in seen:
                yield Fault((*here, "id"), f'the clause "{clause["id"]}" is written twice')
            seen.add(clause["id"])
            yield from _clause_faults(clause, here, known, names)


def _clause_faults(clause: Written, path: Path, known: Known, names: frozenset[str]) -> Iterator[Fault]:
    if "preserve" in clause:
        yield from query_faults(clause["preserve"], (*path, "preserve"), known)
        columns = columns_of(clause["preserve"], known)
        for index, name in enumerate(clause["columns"]):
            if name not in columns:
                at = (*path, "columns", index)
                yield Fault(at, f'unknown column "{name}"{expected(name, columns)}')
    elif "unchanged" in clause:
        yield from text_faults(clause["unchanged"], (*path, "unchanged"), names, frozenset())
    elif "forbid_added" not in clause:
        yield from check_faults(clause, path, known, names)
        if "in" in clause:
            yield from template_faults(clause["in"], (*path, "in"), names)


# Examples ------------------------------------------------------------------------------------------------------------


def _example_faults(rule: Written, known: Known) -> Iterator[Fault]:
    examples = rule["examples"]
    seen: dict[str, int] = {}
    for index, example in enumerate(examples):
        here: Path = ("examples", index)
        if example["name"] in seen:
            yield Fault((*here, "name"), f'the example "{example["name"]}" is there twice')
        seen[example["name"]] = index
        yield from _one_example(rule, example, here)
    variants: Mapping[str, Written] = rule.get("variants", {})
    for name, variant in (variants or {"": {}}).items():
        covering = [example for example in examples if not variants or _shows(example, variant, known)]
        at: Path = ("variants", name) if name else ("examples",)
        for kind, there in (("good", any("good" in e for e in covering)), ("bad", any("bad" in e for e in covering))):
            if not there:
                what = f' for the variant "{name}"' if name else ""
                yield Fault(at, f"a {kind} example is missing{what}", at_key=bool(name))


def _shows(example: Written, variant: Written, known: Known) -> bool:
    stacks, languages = variant.get("stacks"), variant.get("languages")
    if stacks and not (_implied(example.get("stack"), known) & set(stacks)):
        return False
    if languages:
        files = example.get("good") or example.get("bad") or {}
        found = {LANGUAGES.get("." + path.rpartition(".")[2]) for path in files}
        return bool(found & set(languages))
    return True


def _implied(stack: str | None, known: Known) -> set[str]:
    found: set[str] = set()
    pending = [stack] if stack else []
    while pending:
        name = pending.pop()
        if name not in found:
            found.add(name)
            implies = known.stacks.get(name, {}).get("implies", ())
            pending += [implies] if isinstance(implies, str) else implies
    return found


_KINDS_OF_TYPE: Mapping[str, tuple[str, ...]] = {
    "STATIC": ("good", "fixed", "refused", "deferred"),
    "DYNAMIC-PARAMETRIC": ("good", "fixed", "refused", "deferred"),
    "DYNAMIC-DELEGATED": ("good", "accepts"),
}


def _one_example(rule: Written, example: Written, here: Path) -> Iterator[Fault]:
    kind = next(key for key in EXAMPLE_KINDS if key in example)
    if kind not in _KINDS_OF_TYPE[rule["fix_type"]]:
        allowed = ", ".join(_KINDS_OF_TYPE[rule["fix_type"]])
        yield Fault((*here, kind), f"a {rule['fix_type']} rule has no such example (expected {allowed})", at_key=True)
    files: Mapping[str, Any] = example.get("good") or example.get("bad") or {}
    for index, found in enumerate(example.get("finds", ())):
        if found["path"] not in files and "at" in found:
            yield Fault((*here, "finds", index, "path"), f"{found['path']} is no file of this example")
    parameter = example.get("refused", {}).get("parameter")
    declared = {*rule.get("parameters", {})}
    declared |= {name for variant in rule.get("variants", {}).values() for name in variant.get("parameters", {})}
    if parameter is not None and parameter not in declared:
        at = (*here, "refused", "parameter")
        yield Fault(at, f'unknown parameter "{parameter}"{expected(parameter, declared)}')
    clauses = {clause["id"] for clause in rule.get("clauses", ())}
    for key in ("requirement", "forbidden"):
        clauses |= {clause["id"] for clause in rule.get("delegate", {}).get(key, ())}
    for index, rejected in enumerate(example.get("rejects", ())):
        if rejected["clause"] not in clauses and rejected["clause"] not in BOUNDARY_CLAUSES:
            at = (*here, "rejects", index, "clause")
            yield Fault(
                at,
                f'unknown clause "{rejected["clause"]}"{expected(rejected["clause"], [*clauses, *BOUNDARY_CLAUSES])}',
            )
    for path, text in _texts(example, here):
        for name in unknown_samples(text):
            yield Fault(path, f'unknown sample "sample.{name}"')


def _texts(value: Any, path: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _texts(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _texts(inner, (*path, index))


# Vocabulary ----------------------------------------------------------------------------------------------------------


def concept_faults(concept: Written) -> list[Fault]:
    """Return everything that is wrong with a concept that passed its schema."""
    found: list[Fault] = []
    binds = frozenset(concept["binds"])
    for key in ("unquote", "sensitive"):
        for index, name in enumerate(concept.get(key, ())):
            if name not in binds:
                found.append(Fault((key, index), f'unknown column "{name}"{expected(name, binds)}'))
    for language, spelling in concept["languages"].items():
        here: Path = ("languages", language)
        found += matcher_faults(spelling["match"], language, (*here, "match"))
        if "render" in spelling:
            found += template_faults(spelling["render"], (*here, "render"), binds)
    for kind in ("recognised", "ignored"):
        if not any(kind in example for example in concept["examples"]):
            found.append(Fault(("examples",), f"an example that is {kind} is missing"))
    for index, example in enumerate(concept["examples"]):
        for number, row in enumerate(example.get("rows", ())):
            for name in row:
                if name not in binds:
                    at: Path = ("examples", index, "rows", number, name)
                    found.append(Fault(at, f'unknown column "{name}"{expected(name, binds)}', at_key=True))
    return found


def stacks_faults(stacks: Mapping[str, Written], known: Known) -> list[Fault]:
    """Return everything that is wrong with the stacks of one file."""
    found: list[Fault] = []
    for name, stack in stacks.items():
        for index, query in enumerate(stack["detect"]):
            found += query_faults(query, ("stacks", name, "detect", index), known)
        implies = stack.get("implies", ())
        for implied in (implies,) if isinstance(implies, str) else implies:
            if implied not in known.stacks:
                sentence = f'unknown stack "{implied}"{expected(implied, known.stacks)}'
                found.append(Fault(("stacks", name, "implies"), sentence))
    return found
