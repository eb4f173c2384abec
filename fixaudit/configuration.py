"""`fixaudit.yaml` or `[tool.fixaudit]`: what a project chose, checked by one closed schema.

Contract: every mistake is named with file, line, column, key and what was expected, all of them at once, and nothing
is audited with half a configuration. Both files at once are an error. The definition of done (`dod`) has a gate of its
own and is left alone here. What was read is kept in a directory that the caller names, by the digest of its text.
This module must not know of snapshots, audits or the loop.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fixaudit import __version__
from fixaudit.configuration_text import by_place, checked
from fixaudit.errors import ConfigurationError
from fixaudit.globs import matches
from fixaudit.rulebook.rule import Rulebook

if TYPE_CHECKING:
    from fixaudit.parameters import Answer

FILE_NAME = "fixaudit.yaml"
_TEXTS = {"type": "array", "items": {"type": "string", "minLength": 1}}
_RULE_ID = r"^[A-Z][A-Z0-9]{1,9}-[0-9]{3,}$"

SCHEMA: Mapping[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "fixaudit.yaml",
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "version": {"const": 1},
        "packs": {**_TEXTS, "description": "Folders with rule packs of your own, relative to this file."},
        "rules": {
            "type": "object",
            "description": "Per rule or pack: off, or what may be done with it.",
            "propertyNames": {
                "pattern": "^[A-Z][A-Z0-9]{1,9}(-[0-9]{3,})?$",
                "description": "a rule id or the name of a pack",
            },
            "additionalProperties": {
                "oneOf": [
                    {"enum": ["on", "off", True, False]},
                    {
                        "type": "object",
                        "additionalProperties": False,
                        "properties": {
                            "enabled": {"type": "boolean"},
                            "fix": {"enum": ["never", "ask", "auto"]},
                            "exclude": _TEXTS,
                        },
                    },
                ]
            },
        },
        "exclude": {**_TEXTS, "description": "Globs of paths whose findings are left out."},
        "answers": {
            "type": "array",
            "description": "Decisions that fixaudit refused to guess.",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["rule", "parameter", "value"],
                "properties": {
                    "rule": {"type": "string", "pattern": _RULE_ID, "description": "a rule id"},
                    "parameter": {"type": "string", "minLength": 1},
                    "value": {"type": ["string", "integer"]},  # 3.10 would be read as 3.1
                    "root": {"type": "string"},
                    "path": {"type": "string", "minLength": 1},
                },
            },
        },
        "gate": {
            "type": "object",
            "additionalProperties": False,
            "properties": {"score": {"type": "integer", "minimum": 0, "maximum": 100}},
        },
        "agent": {
            "type": "object",
            "additionalProperties": False,
            "required": ["command"],
            "properties": {
                "command": {**_TEXTS, "minItems": 1, "description": "An argv list; the prompt comes on stdin."},
                "timeout": {"type": "number", "exclusiveMinimum": 0, "maximum": 86400, "description": "Seconds."},
                "environment": {**_TEXTS, "description": "Names of variables that are passed on."},
            },
        },
        "unreadable": {"type": "object", "additionalProperties": False, "properties": {"accept": _TEXTS}},
        "dod": {"description": "The definition of done; it has a gate of its own."},
    },
}


@dataclass(frozen=True)
class RuleChoice:
    """What the project says of one rule or pack."""

    enabled: bool = True
    fix: str = "auto"
    exclude: tuple[str, ...] = ()


@dataclass(frozen=True)
class Agent:
    """The command that delegated fixes are handed to. `timeout` is in seconds."""

    command: tuple[str, ...]
    timeout: float = 600.0
    environment: tuple[str, ...] = ()


@dataclass(frozen=True)
class Configuration:
    """The project's choices; the defaults are those of a project without a configuration."""

    path: str | None = None
    packs: tuple[str, ...] = ()
    rules: Mapping[str, RuleChoice] = field(default_factory=dict)
    exclude: tuple[str, ...] = ()
    answers: tuple[Answer, ...] = ()
    minimum_score: int = 90
    agent: Agent | None = None
    unreadable_accept: tuple[str, ...] = ()
    places: Mapping[str, str] = field(default_factory=dict)
    """Where each rule and pack is named: `file:line:column`."""

    def choice(self, rule: str) -> RuleChoice:
        """Return what counts for a rule: its own entry, else its pack's."""
        return self.rules.get(rule) or self.rules.get(rule.split("-")[0]) or RuleChoice()

    def excludes(self, rule: str, path: str) -> bool:
        return bool(path) and matches(path, *self.exclude, *self.choice(rule).exclude)

    def may_fix(self, rule: str) -> bool:
        return self.choice(rule).fix != "never"

    def asks(self, rule: str) -> bool:
        return self.choice(rule).fix == "ask"

    def choose(self, rulebook: Rulebook) -> Rulebook:
        """Return the rulebook without the rules that are off. Raises ConfigurationError for rules that do not exist."""
        known = {rule.id for rule in rulebook.rules} | {rule.pack for rule in rulebook.rules}
        named = {*self.rules, *(answer.rule for answer in self.answers)}
        unknown = sorted(named - known)
        if unknown:
            from fixaudit.rulebook.template import nearest

            named_at = [(self.places.get(name, self.path), name) for name in unknown]
            problems = [f"{place}: no rule `{name}`{nearest(name, sorted(known))}" for place, name in named_at]
            raise ConfigurationError(
                f"{self.path} names rules that do not exist", problems=tuple(sorted(problems, key=by_place))
            )
        if all(self.choice(rule.id).enabled for rule in rulebook.rules):
            return rulebook
        kept = tuple(rule for rule in rulebook.rules if self.choice(rule.id).enabled)
        return replace(rulebook, rules=kept)


def load_configuration(root: Path, cache: Path | None = None) -> Configuration:
    """Read the configuration of an audit root. Raises ConfigurationError with every problem.

    `cache` is a directory for what was read and found right: a hook that starts for every commit then needs neither a
    YAML reader nor a schema.
    """
    own = [name for name in (FILE_NAME, "fixaudit.yml") if (root / name).is_file()]
    manifest = _manifest(root / "pyproject.toml")
    if len(own) + (manifest is not None) > 1:
        names = [*own, *(["[tool.fixaudit] in pyproject.toml"] if manifest is not None else [])]
        raise ConfigurationError(f"two configurations: {' and '.join(names)}; keep one of them")
    if not own and manifest is None:
        return Configuration()
    name, data = (own[0], (root / own[0]).read_bytes()) if own else ("pyproject.toml", manifest or b"")
    key = json.dumps([name, __version__, SCHEMA]).encode() + data
    kept = cache / f"configuration-{hashlib.blake2b(key, digest_size=16).hexdigest()}.json" if cache else None
    try:
        value, places = json.loads(kept.read_bytes()) if kept else (None, None)
    except (OSError, ValueError):
        value = places = None
    if value is None or places is None:
        value, places = checked(name, data, SCHEMA)
        if kept is not None:
            _keep(kept, value, places)
    return _configuration(name, value, places)


def _keep(path: Path, value: Mapping[str, Any], places: Mapping[str, str]) -> None:
    """Write what was read; a cache that cannot be written, or a date that JSON does not know, is no error."""
    try:
        temporary = path.with_suffix(f".{os.getpid()}.tmp")
        temporary.write_text(json.dumps([value, places]), encoding="utf-8")
        temporary.replace(path)
    except (OSError, TypeError):
        return


def _manifest(path: Path) -> bytes | None:
    """Return a manifest that has a table of ours."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    if b"fixaudit" not in data:
        return None
    import tomllib

    try:
        tool = tomllib.loads(data.decode("utf-8-sig")).get("tool", {})
    except ValueError:
        return None  # a broken manifest is the audit's business, not the configuration's
    return data if isinstance(tool, dict) and "fixaudit" in tool else None


def _configuration(path: str, data: Mapping[str, Any], places: Mapping[str, str]) -> Configuration:
    rules = {}
    for name, value in data.get("rules", {}).items():
        if isinstance(value, Mapping):
            rules[str(name)] = RuleChoice(
                value.get("enabled", True), value.get("fix", "auto"), tuple(map(str, value.get("exclude", ())))
            )
        else:
            rules[str(name)] = RuleChoice(enabled=value in (True, "on"))
    agent = data.get("agent")
    return Configuration(
        path,
        tuple(map(str, data.get("packs", ()))),
        rules,
        tuple(map(str, data.get("exclude", ()))),
        _answers(data.get("answers", ())),
        int(data.get("gate", {}).get("score", 90)),
        Agent(
            tuple(map(str, agent["command"])),
            float(agent.get("timeout", 600.0)),
            tuple(map(str, agent.get("environment", ()))),
        )
        if agent
        else None,
        tuple(map(str, data.get("unreadable", {}).get("accept", ()))),
        places,
    )


def _answers(written: Sequence[Mapping[str, Any]]) -> tuple[Answer, ...]:
    if not written:
        return ()
    from fixaudit.parameters import Answer  # brings the fixers along, which a scan has no use for

    return tuple(
        Answer(str(a["rule"]), str(a["parameter"]), str(a["value"]), _text(a.get("root")), _text(a.get("path")))
        for a in written
    )


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


TEMPLATE = """\
# fixaudit.yaml: what this project chose. Everything is optional; remove the # to use a line.

# version: 1

# Rule packs of your own, relative to this file.
# packs: [rules]

# Switch rules or packs off, keep one from being fixed, or leave paths out.
# rules:
#   OBS: off
#   SEC-003: {fix: never}          # never, ask (with --interactive), auto
#   SCR-002: {exclude: ["docs/**"]}

# Leave out findings in these paths, for every rule.
# exclude: ["legacy/**"]

# Decisions that fixaudit refused to guess; the review file names rule, parameter and candidates.
# answers:
#   - {rule: CON-002, parameter: driver, value: postgres}

# The gate opens when no P0 rule fails and the score is at least this.
# gate: {score: 90}

# A coding agent for delegated fixes: an argv list, prompt on standard input. It works in a private copy.
# agent: {command: [my-agent, --print], timeout: 600}

# Files that may stay unreadable although a P0 rule would have to read them.
# unreadable: {accept: ["data/**"]}
"""

SCHEMA_FILE = Path(__file__).parent / "schemas" / "configuration.schema.json"


def shipped_text() -> str:
    """Return the text that `schemas/configuration.schema.json` must have."""
    return json.dumps(SCHEMA, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    SCHEMA_FILE.write_text(shipped_text(), encoding="utf-8")
