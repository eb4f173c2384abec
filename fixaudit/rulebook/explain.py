"""What `fixaudit explain RULE` says, as markdown: why the rule exists, how it is checked, what its fix does.

Contract: pure and deterministic; everything is taken from the rule itself, so that the page cannot go stale. Samples
of credentials in examples stay unexpanded. This module must not know of any project.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from fixaudit.rulebook.rule import Check, Clause, Example, Parameter, Query, Rule, Rulebook, Source, Step, Variant


def explain(rule: Rule, rulebook: Rulebook) -> str:
    """Return the page of one rule."""
    return "\n".join((*_head(rule), *_checked(rule), *_fixed(rule), *_delegated(rule), *_shown(rule))).rstrip() + "\n"


def _head(rule: Rule) -> Iterator[str]:
    yield f"# {rule.id}: {rule.title}"
    yield ""
    stacks = ", ".join(rule.stacks) or "every stack"
    where = "once for the whole repository" if rule.scope == "repository" else "at each project root"
    yield f"{rule.priority}, {rule.fix_type}; {stacks}; judged {where}."
    yield ""
    yield f"**What it asks.** {rule.docs['what']}"
    yield ""
    yield f"**Why.** {rule.docs['why']}"
    cwe = rule.docs.get("cwe", [])
    references = [*([cwe] if isinstance(cwe, str) else cwe), *rule.docs.get("references", [])]
    if references:
        yield ""
        yield "See: " + ", ".join(references)


# How it is checked ---------------------------------------------------------------------------------------------------


def _checked(rule: Rule) -> Iterator[str]:
    yield ""
    yield "## How it is checked"
    yield ""
    if rule.when is not None:
        yield f"Only where there is {query_text(rule.when)}."
        yield ""
    checks = [("", rule.check)] if rule.check else []
    checks += [(variant.name, variant.check) for variant in rule.variants if variant.check]
    for name, check in checks:
        yield f"- {f'{name}: ' if name else ''}{check_text(check)}"


_UNITS = {
    "match": "Each place is an issue of its own.",
    "file": "One issue for each file.",
    "root": "One issue in all.",
}


def check_text(check: Check) -> str:
    """Say a check in one or two sentences."""
    asked = query_text(check.query)
    match check.kind:
        case "forbid":
            text = f"There may be no {asked}."
        case "require":
            text = f"There must be {asked}."
        case "count":
            limits = [f"at least {check.at_least}"] if check.at_least is not None else []
            limits += [f"at most {check.at_most}"] if check.at_most is not None else []
            text = f"There must be {' and '.join(limits)} of {asked}."
        case "every":
            assert check.has is not None
            on = ", ".join(mine if mine == theirs else f"{mine} = {theirs}" for mine, theirs in check.on.items())
            order = f", standing before it by {check.before}" if check.before else ""
            order += f", standing after it by {check.after}" if check.after else ""
            text = f"Every {asked} needs {query_text(check.has)} with the same {on}{order}."
        case _:
            text = f"All {asked} must share a value of {check.agree_on}."
    if check.subject is not None:
        text += f" It applies where there is {query_text(check.subject)}."
    return f"{text} {_UNITS[check.per]}" if check.kind in ("forbid", "every") else text


def query_text(query: Query) -> str:
    """Say a query: the relation, and what is asked of its columns."""
    if query.any:
        text = " or ".join(query_text(branch) for branch in query.any)
    elif query.relation == "concept":
        text = f"`{query.options['name']}`"
    elif query.relation in ("ast", "regex"):
        text = f"match of `{_short(query.options.get('pattern') or query.options.get('rule'))}`"
    else:
        asked = {**query.options, **query.filters}
        text = f"`{query.relation}`" + (f" with {_tests(asked)}" if asked else "")
    if query.in_files is not None:
        text += f" in a file that has {query_text(query.in_files)}"
    return text + (f" ({query.priority})" if query.priority else "")


def _tests(tests: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {_short(value)}" for name, value in tests.items())


def _short(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_short(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list | tuple):
        return " or ".join(_short(item) for item in value) if len(value) < 9 else f"one of {len(value)} values"
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 100 else text[:99] + "…"


# What the fix does ---------------------------------------------------------------------------------------------------


def _fixed(rule: Rule) -> Iterator[str]:
    if rule.fix is None:
        return
    yield ""
    yield f"## The fix: {rule.fix.title}"
    yield ""
    if rule.fix.safety == "safe":
        yield "Safe: once its follow-ups are done, every legitimate caller keeps working."
    else:
        yield "Unsafe: it may break a caller, so it is applied only with `--unsafe-fixes`."
    if "safety" in rule.docs:
        yield rule.docs["safety"]
    yield ""
    steps = [("", step) for step in rule.fix.steps]
    steps += [(variant.name, step) for variant in rule.variants for step in variant.steps]
    for number, (name, step) in enumerate(steps, 1):
        yield f"{number}. {f'{name}: ' if name else ''}{step_text(step)}"
    for entry in rule.fix.follow_ups:
        yield f"- afterwards: {entry['text']}" + (f" (`{entry['command']}`)" if entry.get("command") else "")
    yield from _values(rule)


def step_text(step: Step) -> str:
    """Say a step: its kind and its arguments as written."""
    return f"`{step.kind}` {_tests({key: value for key, value in step.arguments.items() if key != 'imports'})}"


def _values(rule: Rule) -> Iterator[str]:
    everywhere: list[tuple[Variant | None, Parameter]] = [(None, parameter) for parameter in rule.parameters.values()]
    everywhere += [(variant, parameter) for variant in rule.variants for parameter in variant.parameters.values()]
    if not everywhere:
        return
    yield ""
    yield "Values that it needs from the project:"
    yield ""
    for variant, parameter in everywhere:
        yield f"- `{parameter.name}`{f' ({variant.name})' if variant else ''}: {_origin(parameter)}"
        for code, sentence in parameter.refuse.items():
            yield f"  - refused ({code}): {sentence}"


def _origin(parameter: Parameter) -> str:
    if parameter.lookup is not None:
        return f"looked up by `{parameter.by}`"
    if not parameter.tiers:
        return f"`{_short(parameter.value)}`"
    return "; else ".join(" and ".join(_source(source) for source in tier) for tier in parameter.tiers)


def _source(source: Source) -> str:
    match source.kind:
        case "capture":
            text = f"{source.capture} of the finding"
        case "value":
            text = f"`{_short(source.value)}`"
        case "release":
            text = f"the {source.value} release that the project declares, else the newest settled one"
        case _:
            assert source.query is not None
            text = f"{source.column} of {query_text(source.query)}"
    return text + "".join(f" | {name}" for name in source.through)


def _delegated(rule: Rule) -> Iterator[str]:
    if rule.contract is None:
        return
    contract = rule.contract
    yield ""
    yield "## The contract for an agent, or for you"
    yield ""
    yield contract.goal
    yield ""
    for title, clauses in (("Afterwards", contract.requirement), ("Never", contract.forbidden)):
        for clause in clauses:
            yield f"- {title}: {clause.id}: {clause_text(clause)}"
    limits = contract.boundary
    for kind, globs in (("edit", limits.edit), ("create", limits.create), ("delete", limits.delete)):
        yield f"- May {kind}: {', '.join(globs) or 'nothing'}"
    yield f"- At most {limits.files_at_most} files and {limits.lines_at_most} changed lines"


def clause_text(clause: Clause) -> str:
    """Say what a clause asks."""
    if clause.query is not None:
        return f"{', '.join(clause.columns)} of every {query_text(clause.query)} stay as they are"
    if clause.globs:
        return f"{', '.join(clause.globs)} stay unchanged"
    if clause.added:
        return f"no {', '.join(clause.added).replace('_', ' ')} is added"
    assert clause.check is not None
    return check_text(clause.check) + (f" (in {clause.in_path})" if clause.in_path else "")


# An example ----------------------------------------------------------------------------------------------------------


def _shown(rule: Rule) -> Iterator[str]:
    example = next((example for example in rule.examples if example.kind == "fixed"), None)
    if example is None:
        example = next((example for example in rule.examples if example.accepts), None)
    if example is None:
        return
    yield ""
    yield f"## Example: {example.name}"
    yield ""
    yield "```diff"
    yield from example_diff(example)
    yield "```"


def example_diff(example: Example) -> Iterator[str]:
    """Yield the unified diff from a bad example to its fixed (or first accepted) tree."""
    expected = example.fixed or (example.accepts[0] if example.accepts else {})
    for path, form in expected.items():
        old, new = _content(example.files.get(path)), _content(form)
        lines = difflib.unified_diff(
            old.splitlines(), new.splitlines(), path if path in example.files else "/dev/null", path, lineterm="", n=2
        )
        yield from lines


def _content(form: Any) -> str:
    if isinstance(form, Mapping):
        return str(form.get("content", ""))
    return form or ""
