"""The machine-readable output: a contract from the first release, with a JSON Schema in the package.

Fields are only ever added. Positions are 1-based, columns count code points. Nothing here depends on the machine:
no absolute path, time or duration. Secrets are masked before they reach a report.
This module must not know how findings or fixes came about.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from fixaudit.audit import Audit, Finding
from fixaudit.gate import Gate, Standing
from fixaudit.ledger import Entry, Fixed, sentence
from fixaudit.loop import RunReport
from fixaudit.snapshot import FollowUp

VERSION = 1
"""Version of the output's shape; additive changes do not raise it."""


def dumps(value: Any) -> str:
    """Return JSON as written to files and pipes: two spaces, UTF-8, no escapes but lone surrogates."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    return text.encode("utf-8", "backslashreplace").decode() + "\n"


def scan(
    audit: Audit,
    standing: Standing,
    findings: Sequence[Finding],
    fixable: Callable[[Finding], bool],
) -> dict[str, Any]:
    """Describe one scan. `findings` are those to show: PATH arguments may have narrowed them."""
    return {
        "version": VERSION,
        "rule_set": audit.rulebook.version,
        "projects": [
            {
                "root": item.root.path or ".",
                "stacks": list(item.root.stacks),
                "assessed": item.score is not None,
                "score": item.score,
                "band": item.band,
                "gate": _gate(item.gate),
                "undecided": item.undecided,
            }
            for item in standing.roots
        ],
        "score": standing.score,
        "band": standing.band,
        "gate": _gate(standing.gate),
        "rules": [
            {
                "id": v.rule,
                "root": v.root or ".",
                "priority": v.priority,
                "fix_type": v.fix_type,
                "verdict": v.verdict,
                "undecided": len(v.undecided),
                **({"error": v.error} if v.error else {}),
            }
            for v in audit.verdicts
        ],
        "findings": [finding_of(f, fixable(f)) for f in findings],
        "undecided": [finding_of(f, False) for f in audit.undecided],
        "diagnostics": [{"path": d.path, "line": d.line, "message": d.message} for d in audit.diagnostics],
        "skipped": [{"path": path, "reason": "minified"} for path in audit.minified],
    }


def finding_of(finding: Finding, fixable: bool) -> dict[str, Any]:
    return {
        "rule": finding.rule,
        "root": finding.root or ".",
        "priority": finding.priority,
        "fix_type": finding.fix_type,
        "path": finding.path,
        "line": finding.line,
        "column": finding.column,
        "end_line": finding.end_line,
        "end_column": finding.end_column,
        "message": finding.message,
        "confidence": finding.confidence,
        "fingerprint": finding.fingerprint,
        "fixable": fixable,
    }


def _gate(gate: Gate) -> dict[str, Any]:
    return {"open": gate.open, "reasons": list(gate.reasons)}


def fix(report: RunReport, follow_ups: Sequence[FollowUp]) -> dict[str, Any]:
    """Describe one run of `fix`."""
    return {
        "version": VERSION,
        "rule_set": report.after.rulebook.version,
        "outcome": report.outcome,
        "cycles": report.ledger.cycles,
        "score_before": report.standing_before.score,
        "score_after": report.standing_after.score,
        "gate": _gate(report.standing_after.gate),
        "fixed": [_fixed(item) for item in report.fixed],
        "review": [_entry(entry) for entry in report.review],
        "reverted": [
            {"rule": a.rule, "attempt": a.number, "reason": sentence(a.reason) if a.reason else ""}
            for a in report.ledger.reverted()
        ],
        "lanes": [],
        "follow_ups": [{"id": f.id, "text": f.text, "command": f.command} for f in follow_ups],
        "changed": list(report.changed),
        **({"stopped": report.stopped} if report.stopped else {}),
    }


def _fixed(item: Fixed) -> dict[str, Any]:
    return {
        "rule": item.rule,
        "root": item.root or ".",
        "fix_type": item.fix_type,
        "path": item.path,
        "line": item.line,
        "attempts": item.attempts,
        "safety": item.safety,
        "title": item.title,
        "paths": list(item.paths),
        "follow_ups": [f.id for f in item.follow_ups],
        "by": item.by,
        "issue_resolved": item.issue_resolved,
    }


def _entry(entry: Entry) -> dict[str, Any]:
    return {
        "rule": entry.rule,
        "root": entry.root or ".",
        "fix_type": entry.fix_type,
        "priority": entry.priority,
        "locations": [{"path": p.path, "line": p.line, "column": p.column} for p in entry.locations],
        "reason": sentence(entry.reason),
        "stop": entry.reason.stop,
        "attempts": entry.attempts,
        "candidates": [{"value": c.value, "location": c.location} for c in entry.reason.candidates],
        "blocking": entry.blocking,
    }
