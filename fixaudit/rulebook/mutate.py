"""Weaken each part of a rule in turn and see whether an example notices.

Contract: pure. A mutant is the rule with one filter, test, branch, condition, step or clause less; it is killed when
an example fails or cannot even be run. One that survives is a missing example, or is explained under
`equivalent_mutants` by its id, which names its place in the rule (`check.forbid.call.option.origin`) and stays the
same while that place does. An explanation for what is killed, or is not there, is reported too.
This module must not know how examples are judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from fixaudit.facts import Memo
from fixaudit.relations import registry
from fixaudit.rulebook.exercise import first_failure
from fixaudit.rulebook.rule import Check, Clause, Contract, Example, Fix, Parameter, Query, Rule, Rulebook, Variant

Mutant: TypeAlias = tuple[str, Rule]

CRASHES = (LookupError, ValueError, TypeError, AttributeError, AssertionError)
"""What a rule with a part missing may run into; a mutant that cannot be run is killed."""


def survivors(rule: Rule, rulebook: Rulebook, memo: Memo[Any] | None = None) -> tuple[str, ...]:
    """Return the mutants that no example kills and that are not explained, and explanations of what is killed."""
    memo = memo if memo is not None else Memo()
    explained = set(rule.equivalent_mutants)
    found: list[str] = []
    order = list(rule.examples)
    for name, mutant in mutants(rule):
        if name not in explained:
            if _survives(mutant, rulebook, memo, order):
                found.append(name)
            continue
        explained.discard(name)
        if not _survives(mutant, rulebook, memo, order):
            found.append(f"{name} (explained as equivalent, but an example kills it)")
    found += [f"{name} (explained as equivalent, but there is no such mutant)" for name in sorted(explained)]
    return tuple(found)


def _survives(mutant: Rule, rulebook: Rulebook, memo: Memo[Any], order: list[Example]) -> bool:
    try:
        failure = first_failure(mutant, rulebook, memo, order)
    except CRASHES:
        return False
    if failure is None:
        return True
    # The example that killed one mutant often kills the next.
    killer = next(example for example in order if example.name == failure.example)
    order.remove(killer)
    order.insert(0, killer)
    return False


def mutants(rule: Rule) -> Iterator[Mutant]:
    """Yield every mutant of a rule with its id, in the order of the rule's keys."""
    if rule.stacks:
        yield "applies.stacks", replace(rule, stacks=())
    if rule.when is not None:
        yield "applies.when", replace(rule, when=None)
        for name, when in _query(rule.when, "applies.when"):
            yield name, replace(rule, when=when)
    if rule.check is not None:
        for name, check in _check(rule.check, "check"):
            yield name, replace(rule, check=check)
    for name, parameters in _parameters(rule.parameters, "parameters"):
        yield name, replace(rule, parameters=parameters)
    if rule.fix is not None:
        for name, fix in _fix(rule.fix):
            yield name, replace(rule, fix=fix)
    if rule.contract is not None:
        for name, contract in _contract(rule.contract):
            yield name, replace(rule, contract=contract)
    for name, clauses in _clauses(rule.clauses, "clauses"):
        yield name, replace(rule, clauses=clauses)
    for index, variant in enumerate(rule.variants):
        for name, weaker in _variant(variant, f"variants.{variant.name}"):
            yield name, replace(rule, variants=_with(rule.variants, index, weaker))


def _with(items: Sequence[Any], index: int, item: Any) -> tuple[Any, ...]:
    return (*items[:index], item, *items[index + 1 :])


def _without(items: Sequence[Any], index: int) -> tuple[Any, ...]:
    return (*items[:index], *items[index + 1 :])


def _dropped(mapping: Mapping[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in mapping.items() if name != key}


# Checks and queries --------------------------------------------------------------------------------------------------


def _check(check: Check, at: str) -> Iterator[tuple[str, Check]]:
    for name, query in _query(check.query, f"{at}.{check.kind}"):
        yield name, replace(check, query=query)
    if check.has is not None:
        for name, query in _query(check.has, f"{at}.has"):
            yield name, replace(check, has=query)
    if len(check.on) > 1:
        for column in check.on:
            yield f"{at}.on.{column}", replace(check, on=_dropped(check.on, column))
    if check.before is not None:
        yield f"{at}.before", replace(check, before=None)
    if check.after is not None:
        yield f"{at}.after", replace(check, after=None)
    if check.at_least is not None and check.at_most is not None:
        yield f"{at}.at_least", replace(check, at_least=None)
        yield f"{at}.at_most", replace(check, at_most=None)
    if check.subject is not None:
        yield f"{at}.subject", replace(check, subject=None)
        for name, query in _query(check.subject, f"{at}.subject"):
            yield name, replace(check, subject=query)


def _query(query: Query, at: str) -> Iterator[tuple[str, Query]]:
    if query.in_files is not None:
        yield f"{at}.in_files", replace(query, in_files=None)
        for name, inner in _query(query.in_files, f"{at}.in_files"):
            yield name, replace(query, in_files=inner)
    if query.priority is not None:
        yield f"{at}.priority", replace(query, priority=None)
    if query.any:
        for index, branch in enumerate(query.any):
            here = f"{at}.any[{index}]"
            if len(query.any) > 1:
                yield here, replace(query, any=_without(query.any, index))
            for name, inner in _query(branch, here):
                yield name, replace(query, any=_with(query.any, index, inner))
        return
    here = f"{at}.{query.relation}"
    if query.relation == "ast":
        for name, options in _matcher(query.options, here):
            yield name, replace(query, options=options)
    elif query.relation == "regex":
        for name, files in _shorter(query.options["files"], f"{here}.files"):
            yield name, replace(query, options={**query.options, "files": files})
    elif query.relation != "concept":
        for name, filters in _tests(query.filters, here):
            yield name, replace(query, filters=filters)
        for key, value in query.options.items():
            if not registry()[query.relation].options[key].required:
                yield f"{here}.{key}", replace(query, options=_dropped(query.options, key))
            for name, shorter in _shorter(value, f"{here}.{key}"):
                yield name, replace(query, options={**query.options, key: shorter})


def _tests(tests: Mapping[str, Any], at: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Drop each test of a mapping, and each test inside it."""
    for key, value in tests.items():
        here = f"{at}.{key}"
        yield here, _dropped(tests, key)
        if isinstance(value, Mapping):
            if len(value) > 1 or any(isinstance(inner, Mapping | list) for inner in value.values()):
                for name, inner in _tests(value, here):
                    if inner:
                        yield name, {**tests, key: inner}
        else:
            for name, shorter in _shorter(value, here):
                yield name, {**tests, key: shorter}


def _shorter(value: Any, at: str) -> Iterator[tuple[str, list[Any]]]:
    if isinstance(value, list) and len(value) > 1:
        for index in range(len(value)):
            yield f"{at}[{index}]", list(_without(value, index))


_KEPT = ("pattern", "kind", "language", "selector", "context", "stopBy", "field")
"""Parts of a matcher that cannot be left out without making it another one."""


def _matcher(config: Mapping[str, Any], at: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Drop each relation, negation, expression and branch of an ast-grep object, at any depth."""
    for key, value in config.items():
        here = f"{at}.{key}"
        if key not in _KEPT and len(config) > 1 and key != "rule":
            yield here, _dropped(config, key)
        if isinstance(value, Mapping):
            for name, inner in _matcher(value, here):
                yield name, {**config, key: inner}
        elif isinstance(value, list):
            for index, item in enumerate(value):
                if len(value) > 1:
                    yield f"{here}[{index}]", {**config, key: list(_without(value, index))}
                if isinstance(item, Mapping):
                    for name, inner in _matcher(item, f"{here}[{index}]"):
                        yield name, {**config, key: list(_with(value, index, inner))}


# Fixes ---------------------------------------------------------------------------------------------------------------


def _parameters(parameters: Mapping[str, Parameter], at: str) -> Iterator[tuple[str, dict[str, Parameter]]]:
    for key, parameter in parameters.items():
        for name, weaker in _parameter(parameter, f"{at}.{key}"):
            yield name, {**parameters, key: weaker}


def _parameter(parameter: Parameter, at: str) -> Iterator[tuple[str, Parameter]]:
    for test in parameter.accept:
        yield f"{at}.accept.{test}", replace(parameter, accept=_dropped(parameter.accept, test))
    if parameter.optional:
        yield f"{at}.optional", replace(parameter, optional=False)
    for index, tier in enumerate(parameter.tiers):
        here = f"{at}.tiers[{index}]"
        if len(parameter.tiers) > 1:
            yield here, replace(parameter, tiers=_without(parameter.tiers, index))
        for number, source in enumerate(tier):
            there = f"{here}[{number}]"
            if len(tier) > 1:
                tiers = _with(parameter.tiers, index, _without(tier, number))
                yield there, replace(parameter, tiers=tiers)
            weaker = [(f"{there}.through[{i}]", replace(source, through=_without(source.through, i)))
                      for i in range(len(source.through))]  # fmt: skip
            if source.query is not None:
                weaker += [
                    (name, replace(source, query=query)) for name, query in _query(source.query, f"{there}.rows")
                ]
            for value in source.values if len(source.values) > 1 else ():
                weaker.append((f"{there}.values.{value}", replace(source, values=_dropped(source.values, value))))
            for name, mutant in weaker:
                yield name, replace(parameter, tiers=_with(parameter.tiers, index, _with(tier, number, mutant)))
    lookup = parameter.lookup or {}
    for key in lookup if len(lookup) > 1 else ():
        yield f"{at}.lookup.{key}", replace(parameter, lookup=_dropped(lookup, key))


def _fix(fix: Fix) -> Iterator[tuple[str, Fix]]:
    for index, step in enumerate(fix.steps):
        yield f"fix.steps[{index}].{step.kind}", replace(fix, steps=_without(fix.steps, index))


def _variant(variant: Variant, at: str) -> Iterator[tuple[str, Variant]]:
    if variant.stacks:
        yield f"{at}.stacks", replace(variant, stacks=())
    if variant.languages:
        yield f"{at}.languages", replace(variant, languages=())
    if variant.check is not None:
        for name, check in _check(variant.check, f"{at}.check"):
            yield name, replace(variant, check=check)
    if len(variant.steps) > 1:
        for index, step in enumerate(variant.steps):
            yield f"{at}.steps[{index}].{step.kind}", replace(variant, steps=_without(variant.steps, index))
    for name, parameters in _parameters(variant.parameters, f"{at}.parameters"):
        yield name, replace(variant, parameters=parameters)


def _contract(contract: Contract) -> Iterator[tuple[str, Contract]]:
    for name, clauses in _clauses(contract.requirement, "delegate.requirement"):
        yield name, replace(contract, requirement=clauses)
    for name, clauses in _clauses(contract.forbidden, "delegate.forbidden"):
        yield name, replace(contract, forbidden=clauses)


def _clauses(clauses: Sequence[Clause], at: str) -> Iterator[tuple[str, tuple[Clause, ...]]]:
    for index, clause in enumerate(clauses):
        here = f"{at}.{clause.id}"
        yield here, _without(clauses, index)
        for column in clause.columns if len(clause.columns) > 1 else ():
            kept = tuple(name for name in clause.columns if name != column)
            yield f"{here}.columns.{column}", _with(clauses, index, replace(clause, columns=kept))
