"""`fixaudit rules`, `explain`, `test` and `init`: what concerns rules and no project's findings."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from fixaudit.configuration import FILE_NAME, TEMPLATE
from fixaudit.errors import ConfigurationError, UsageError
from fixaudit.rulebook.rule import Rule, Rulebook


def _load(rules: Sequence[Path]) -> Rulebook:
    from fixaudit.rulebook.load import load_rulebook

    return load_rulebook([Path.cwd() / path for path in rules])


def run_rules(rules: Sequence[Path], format_: str, stats: bool) -> int:
    """List rules, or count them by how they are fixed."""
    book = _load(rules)
    counts = Counter(rule.fix_type for rule in book.rules)
    fixed = counts["STATIC"] + counts["DYNAMIC-PARAMETRIC"]
    if format_ == "json":
        from fixaudit.reports import json

        listed = [
            {"id": r.id, "title": r.title, "priority": r.priority, "fix_type": r.fix_type, "scope": r.scope,
             "stacks": list(r.stacks), "safety": r.fix.safety if r.fix else None}
            for r in book.rules
        ]  # fmt: skip
        ratio = round(fixed / len(book.rules), 4) if book.rules else None
        numbers = {"total": len(listed), "deterministic": fixed, "ratio": ratio}
        sys.stdout.write(json.dumps({"version": 1, "rule_set": book.version, "rules": listed, "stats": numbers}))
        return 0
    if stats:
        for fix_type, number in sorted(counts.items()):
            print(f"{fix_type:<20} {number:>4}")
        share = 100 * fixed / len(book.rules) if book.rules else 0.0
        print(f"{'deterministic':<20} {fixed:>4} of {len(book.rules)} ({share:.1f} %)")
        return 0
    for rule in sorted(book.rules, key=lambda r: (r.priority, r.id)):
        stacks = ", ".join(rule.stacks) or "every stack"
        print(f"{rule.priority}  {rule.id}  {rule.fix_type:<18}  {rule.title}  ({stacks})")
    print(f"{len(book.rules)} rules, set {book.version}. `fixaudit explain RULE` tells more.")
    return 0


def run_explain(rule_id: str, rules: Sequence[Path]) -> int:
    """Print one rule's page."""
    from fixaudit.rulebook.explain import explain
    from fixaudit.rulebook.template import nearest

    book = _load(rules)
    rule = book.rule(rule_id) or book.rule(rule_id.upper())
    if rule is None:
        raise UsageError(f"no rule `{rule_id}`{nearest(rule_id.upper(), [r.id for r in book.rules])}")
    sys.stdout.write(explain(rule, book))
    return 0


def run_test(names: Sequence[str], mutate: bool, rules: Sequence[Path]) -> int:
    """Exercise rules and concepts; 1 when an example fails or a mutant survives without a reason."""
    from fixaudit.rulebook.exercise import exercise, exercise_concept
    from fixaudit.rulebook.template import nearest

    book, broken = _load_what_loads(rules)
    chosen = [rule for rule in book.rules if not names or _chosen(rule, names)]
    concepts = [c for name, c in sorted(book.concepts.items()) if not names or name in names]
    known = {r.id for r in book.rules} | {r.pack for r in book.rules} | set(book.concepts)
    unknown = sorted(set(names) - known)
    if unknown and not broken:
        raise UsageError("; ".join(f"no rule, pack or concept `{n}`{nearest(n, sorted(known))}" for n in unknown))
    failed = 0
    for rule in chosen:
        failures = exercise(rule, book)
        left = _survivors(rule, book) if mutate and not failures else ()
        failed += bool(failures or left)
        word = "failed" if failures else "weak" if left else "ok"
        print(f"{word:<7} {rule.id}  {len(rule.examples)} examples")
        for failure in failures:
            print(f"        {failure}")
        for mutant in left:
            print(f"        survives: {mutant}")
    for concept in concepts:
        failures = exercise_concept(concept, book)
        failed += bool(failures)
        print(f"{'failed' if failures else 'ok':<7} {concept.name}  {len(concept.examples)} examples")
        for failure in failures:
            print(f"        {failure}")
    print(f"{len(chosen)} rules and {len(concepts)} concepts tried, {failed} failed")
    return 2 if broken else int(bool(failed))


def _load_what_loads(rules: Sequence[Path]) -> tuple[Rulebook, bool]:
    """Load every rule that can be loaded, and say what is wrong with the others: a mistake in one must not keep the
    author of another from trying it."""
    from fixaudit.rulebook.load import load_rulebook

    try:
        return _load(rules), False
    except ConfigurationError as error:
        print(f"error: {error.message}", file=sys.stderr)
        for problem in error.problems:
            print(f"  {problem}", file=sys.stderr)
        return load_rulebook([Path.cwd() / path for path in rules], strict=False), True


def _survivors(rule: Rule, book: Rulebook) -> Sequence[object]:
    from fixaudit.rulebook.mutate import survivors

    return survivors(rule, book)


def _chosen(rule: Rule, names: Sequence[str]) -> bool:
    return rule.id in names or rule.pack in names


def run_init() -> int:
    """Write a commented configuration where there is none."""
    target = Path.cwd() / FILE_NAME
    if target.exists() or target.is_symlink():
        raise UsageError(f"{FILE_NAME} exists already; nothing was changed")
    target.write_text(TEMPLATE, encoding="utf-8")
    print(f"wrote {FILE_NAME}: every line is a comment, so nothing changes until you use one")
    return 0
