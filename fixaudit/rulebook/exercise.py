"""Run a rule's examples through the product's own audit, extraction, planning and verification.

Contract: pure; the answer is one sentence per broken promise. Good: no finding (and undecided exactly where the
example says so). Bad: the findings that it names, in order; each fix removes exactly its issue and brings nothing; the
tree is then `fixed`, byte for byte, and there is nothing left to plan; refusals, deferrals and broken clauses are
those that it names. Every variant, refusal sentence and clause must be reached by some example.
This module must not know of files on disk.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fixaudit.audit import ERROR, Audit, Finding, audit, audit_after
from fixaudit.compare import targets_gone
from fixaudit.facts import Memo
from fixaudit.fixers import plan_all
from fixaudit.fixers.base import Deferred, Refusal, Situation, Target
from fixaudit.issues import Issue, Tracker
from fixaudit.parameters import extract
from fixaudit.rulebook.rule import Concept, Example, Query, Rule, Rulebook, Variant
from fixaudit.rulebook.samples import expand
from fixaudit.rulebook.template import render
from fixaudit.rulebook.trees import differences, snapshot_of, state_of
from fixaudit.snapshot import ChangeSet, Overlay
from fixaudit.text import StaleEditError
from fixaudit.verify import parses_worse

MAX_FIXES = 50
"""No example has so many issues; a fix that only moves its finding would otherwise go on for ever."""


@dataclass(frozen=True)
class Failure:
    """One promise of an example, or of all of them together, that the rule does not keep."""

    rule: str
    path: str
    line: int
    example: str
    sentence: str

    def __str__(self) -> str:
        where = f"{self.path}:{self.line}: " if self.line else f"{self.path}: "
        return where + (f'"{self.example}": {self.sentence}' if self.example else self.sentence)


@dataclass
class Reached:
    """What examples made happen: variants by name, refusals as (parameter, code), ids of broken clauses."""

    variants: set[str]
    refusals: set[tuple[str | None, str]]
    clauses: set[str]


def exercise(rule: Rule, rulebook: Rulebook, memo: Memo[Any] | None = None) -> tuple[Failure, ...]:
    """Return every broken promise of a rule's examples, in order. A shared `memo` saves reading files again."""
    alone = replace(rulebook, rules=(rule,))
    reached = Reached(set(), set(), set())
    memo = memo if memo is not None else Memo()
    failures = [
        Failure(rule.id, rule.path, example.line, example.name, sentence)
        for example in rule.examples
        for sentence in _example(example, rule, alone, memo, reached)
    ]
    if not failures:
        failures = [Failure(rule.id, rule.path, 0, "", sentence) for sentence in _unreached(rule, reached)]
    return tuple(failures)


def first_failure(rule: Rule, rulebook: Rulebook, memo: Memo[Any], order: Sequence[Example]) -> Failure | None:
    """Return the first broken promise of the examples in the given order: all that mutation needs to know."""
    alone = replace(rulebook, rules=(rule,))
    reached = Reached(set(), set(), set())
    for example in order:
        for sentence in _example(example, rule, alone, memo, reached):
            return Failure(rule.id, rule.path, example.line, example.name, sentence)
    return None


def _example(example: Example, rule: Rule, rulebook: Rulebook, memo: Memo[Any], reached: Reached) -> Iterator[str]:
    tree = snapshot_of(example.files)
    first = audit(rulebook, tree, memo=memo)
    errors = [v.error for v in first.verdicts if v.verdict == ERROR]
    if errors:
        yield f"the rule could not be evaluated: {errors[0]}"
        return
    if example.stack and not any(example.stack in root.stacks for root in first.roots):
        found = ", ".join(sorted({stack for root in first.roots for stack in root.stacks})) or "none"
        yield f"the stack {example.stack} is not recognised here (found: {found})"
    if example.kind == "good":
        yield from _good(example, first)
        return
    if not first.findings:
        yield "nothing is found" + (" for sure (undecided only)" if first.undecided else "")
        return
    reached.variants |= {finding.variant for finding in first.findings}
    if example.finds is not None:
        yield from _finds(example, first)
    if example.kind == "fixed":
        yield from _fixed(example, rule, first, Overlay(tree))
    elif example.kind == "delegated":
        yield from _delegated(example, rule, first, Overlay(tree), reached)
    else:
        yield from _stopped(example, rule, first, reached)


def _good(example: Example, first: Audit) -> Iterator[str]:
    for finding in first.findings:
        yield f"a finding where none is expected: {_at(finding, first)}"
    if example.verdict is not None and not any(v.verdict == example.verdict for v in first.verdicts):
        yield f"the verdict is {', '.join(v.verdict for v in first.verdicts)}, expected {example.verdict}"
    if example.undecided and not first.undecided:
        yield "nothing is undecided here"
    if not example.undecided:
        for finding in first.undecided:
            yield f"undecided, which the example does not say: {_at(finding, first)}"


def _at(finding: Finding, where: Audit) -> str:
    text = _text(finding, where)
    return f"{finding.path or 'the root'}: {finding.message}" + (f" ({text[:80]!r})" if text else "")


def _text(finding: Finding, where: Audit) -> str | None:
    file = where.project.file(finding.path) if finding.path else None
    if file is None or file.text is None or finding.span is None:
        return None
    return file.text.content[slice(*finding.span)]


def _finds(example: Example, first: Audit) -> Iterator[str]:
    wanted = [(entry["path"], expand(entry.get("at"))) for entry in example.finds or ()]
    found = [(finding.path, _text(finding, first)) for finding in first.findings]
    if len(wanted) != len(found):
        listed = ", ".join(f"{path}: {text!r}" for path, text in found)
        yield f"{len(wanted)} findings are expected, found {len(found)}: {listed}"
        return
    for (path, at), (real_path, text) in zip(wanted, found, strict=True):
        if path != real_path or (at is not None and at != text):
            yield f"expected a finding at {path}: {at!r}, found {real_path}: {text!r}"
    for entry, finding in zip(example.finds or (), first.findings, strict=True):
        if entry.get("priority", finding.priority) != finding.priority:
            yield f"{_at(finding, first)} has the priority {finding.priority}, expected {entry['priority']}"


# Deterministic fixes -------------------------------------------------------------------------------------------------


def planned(issue: Issue, rule: Rule, now: Audit) -> ChangeSet | Refusal | Deferred:
    """Plan one issue as the loop does: parameters first, then all findings of the issue as one change."""
    first = issue.first
    facts = now.facts_for(first)
    variant = next((v for v in rule.variants if v.name == first.variant), Variant(""))
    situations = []
    for finding in issue.findings:
        target = Target(finding.match.row, finding.match.related, finding.path)
        values = extract(rule, variant, target, facts, now.rulebook)
        if isinstance(values, Refusal):
            return values
        situations.append(Situation(rule, variant, target, facts, now.rulebook, values))
    return plan_all(situations)


def _fixed(example: Example, rule: Rule, now: Audit, overlay: Overlay) -> Iterator[str]:
    original = overlay
    touched: set[str] = set()
    fixed: list[Issue] = []
    for _ in range(MAX_FIXES):
        if not now.findings:
            break
        tracker = Tracker("match")
        tracker.start(now)
        issue = tracker.issues()[0]
        change = planned(issue, rule, now)
        if isinstance(change, Refusal | Deferred):
            reason = change.sentence if isinstance(change, Refusal) else change.reason
            yield f"{_at(issue.first, now)} is not fixed: {reason}"
            return
        if change.is_empty():
            yield f"the fix of {_at(issue.first, now)} changes nothing"
            return
        try:
            overlay = overlay.apply(change)
        except StaleEditError as stale:
            yield f"the fix of {_at(issue.first, now)} cannot be applied: {stale}"
            return
        after = audit_after(now, overlay, (*change.paths(), *change.untracked))
        yield from _removes_exactly(issue, now, after)
        if (where := parses_worse(now, after, change)) is not None:
            yield f"after the fix {where} does not parse"
        yield from _clauses(rule, issue.first, now, after, change)
        touched |= {*change.paths(), *change.untracked}
        fixed.append(issue)
        now = after
    else:
        yield f"still failing after {MAX_FIXES} fixes"
    yield from differences(original, overlay, example.fixed, touched)
    for issue in fixed:
        if issue.first.match.row is None and not now.findings:
            again = planned(issue, rule, now)
            if isinstance(again, ChangeSet) and not again.is_empty():
                yield f"planning again changes {', '.join(again.paths())}"


def _removes_exactly(issue: Issue, before: Audit, after: Audit) -> Iterator[str]:
    place = issue.first.place
    had, has = before.keys(place), after.keys(place)
    for finding in issue.findings:
        had[finding.key] -= 1
    had = +had
    if has == had:
        return
    if has - had:
        yield f"after the fix of {_at(issue.first, before)} there is {_key(has - had)}"
    if had - has:
        yield f"the fix of {_at(issue.first, before)} also removes {_key(had - has)}"


def _key(counter: Any) -> str:
    return "; ".join(" ".join(key) for key in sorted(counter))


def _clauses(rule: Rule, finding: Finding, before: Audit, after: Audit, change: ChangeSet) -> Iterator[str]:
    if rule.clauses:
        from fixaudit.delegate.contract import broken_clause

        broken = broken_clause(rule.clauses, before, after, finding, change)
        if broken is not None:
            yield f"the fix breaks the rule's own clause {broken.sentence}"


def _stopped(example: Example, rule: Rule, now: Audit, reached: Reached) -> Iterator[str]:
    tracker = Tracker("match")
    tracker.start(now)
    answer = planned(tracker.issues()[0], rule, now)
    if example.kind == "deferred":
        if not isinstance(answer, Deferred):
            yield f"expected to be deferred, got {_answer(answer)}"
        elif answer.reason != example.deferred:
            yield f"deferred because {answer.reason!r}, expected {example.deferred!r}"
        return
    if not isinstance(answer, Refusal):
        yield f"expected a refusal, got {_answer(answer)}"
        return
    reached.refusals.add((answer.parameter, answer.code))
    wanted = example.refused
    if answer.code != wanted["code"]:
        yield f"refused with the code {answer.code} ({answer.sentence}), expected {wanted['code']}"
    if "parameter" in wanted and answer.parameter != wanted["parameter"]:
        yield f"refused for the parameter {answer.parameter}, expected {wanted['parameter']}"
    if "reason" in wanted and answer.sentence != expand(wanted["reason"]):
        yield f"refused because {answer.sentence!r}, expected {wanted['reason']!r}"
    candidates = sorted({candidate.value for candidate in answer.candidates})
    if "candidates" in wanted and candidates != sorted(expand(wanted["candidates"])):
        yield f"the candidates are {candidates}, expected {wanted['candidates']}"


def _answer(answer: ChangeSet | Refusal | Deferred) -> str:
    match answer:
        case Refusal(sentence=sentence, code=code):
            return f"a refusal ({code}): {sentence}"
        case Deferred(reason=reason):
            return f"deferred: {reason}"
    return f"a change of {', '.join(answer.paths()) or 'nothing'}"


# Delegated fixes -----------------------------------------------------------------------------------------------------


def _delegated(example: Example, rule: Rule, now: Audit, overlay: Overlay, reached: Reached) -> Iterator[str]:
    from fixaudit.delegate.contract import broken_contract

    assert rule.contract is not None
    tracker = Tracker("match")
    tracker.start(now)
    issue = tracker.issues()[0]
    for index, edit in enumerate(example.accepts):
        after, change = _edited(overlay, edit, now)
        broken = broken_contract(rule.contract, now, after, issue.first, change)
        if broken is not None:
            yield f"accepts[{index}] is refused: {broken.sentence}"
        elif not targets_gone(now, after, issue.findings):
            yield f"accepts[{index}] leaves the finding: {_at(issue.first, now)}"
        elif sentence := next(_removes_exactly(issue, now, after), None):
            yield f"accepts[{index}]: {sentence}"
        elif (where := parses_worse(now, after, change)) is not None:
            yield f"accepts[{index}] does not parse: {where}"
    for index, rejected in enumerate(example.rejects):
        after, change = _edited(overlay, rejected["edit"], now)
        broken = broken_contract(rule.contract, now, after, issue.first, change)
        wanted = rejected["clause"]
        if broken is None:
            yield f"rejects[{index}] breaks no clause, expected {wanted}"
        elif broken.id != wanted:
            yield f"rejects[{index}] breaks {broken.sentence}, expected {wanted}"
        reached.clauses.add(broken.id if broken else "")


def _edited(overlay: Overlay, edit: Any, now: Audit) -> tuple[Audit, ChangeSet]:
    states = {path: state_of(form) for path, form in edit.items()}
    after = overlay.with_states(states)
    change = ChangeSet(
        created={p: s for p, s in states.items() if s is not None and overlay.mode(p) is None},
        replaced={
            p: (overlay.digest(p), s.data) for p, s in states.items() if s is not None and overlay.mode(p) is not None
        },
        deleted={p: overlay.digest(p) for p, s in states.items() if s is None},
    )
    return audit_after(now, after, tuple(states)), change


# Everything must be reached ------------------------------------------------------------------------------------------


def _unreached(rule: Rule, reached: Reached) -> Iterator[str]:
    for variant in rule.variants:
        if variant.name not in reached.variants:
            yield f"no bad example reaches the variant {variant.name}"
    parameters = {**rule.parameters}
    for variant in rule.variants:
        parameters |= variant.parameters
    for name, parameter in parameters.items():
        for code in parameter.refuse:
            if (name, code) not in reached.refusals:
                yield f"no example reaches the refusal {name}.{code}"
    if rule.contract is not None:
        for clause in (*rule.contract.requirement, *rule.contract.forbidden):
            if clause.id not in reached.clauses:
                yield f"no example breaks the clause {clause.id}"


# Concepts ------------------------------------------------------------------------------------------------------------


def exercise_concept(concept: Concept, rulebook: Rulebook) -> tuple[Failure, ...]:
    """Return every broken promise of a concept's examples; what it writes it must also read."""
    failures: list[Failure] = []
    for index, example in enumerate(concept.examples):
        language = example["language"]
        text = expand(example.get("recognised") or example["ignored"])
        rows = _recognised(concept, rulebook, language, text)
        wanted = [expand(row) for row in example.get("rows", ())]
        sentences = []
        if "ignored" in example and rows:
            sentences.append(f"recognises what it should not: {rows}")
        if "recognised" in example and (rows != wanted if wanted else not rows):
            sentences.append(f"expected {wanted or 'a row'}, recognised {rows}")
        spelling = concept.languages.get(_family(language, concept), {})
        for row in wanted if "render" in spelling else ():
            written = render(spelling["render"], row)
            if row not in _recognised(concept, rulebook, language, written):
                sentences.append(f"does not recognise what it writes itself: {written!r}")
        path = f"concepts/{concept.name}.yaml"
        failures += [Failure(concept.name, path, 0, f"example {index + 1}", sentence) for sentence in sentences]
    return tuple(failures)


def _family(language: str, concept: Concept) -> str:
    return language if language in concept.languages or language == "python" else "javascript"


_SUFFIXES = {"javascript": "js", "typescript": "ts", "tsx": "tsx", "python": "py"}


def _recognised(concept: Concept, rulebook: Rulebook, language: str, text: str) -> list[dict[str, str]]:
    from fixaudit.facts import Project
    from fixaudit.relations.raw import rows

    project = Project(snapshot_of({f"example.{_SUFFIXES[language]}": text}))
    found = rows(Query("concept", options={"name": concept.name}), project.view(project.roots[0]), rulebook.concepts)
    return [{name: row.text(name) for name in concept.binds if row.values[name] is not None} for row in found]
