"""`fixaudit.yaml` or `[tool.fixaudit]`: what a project chose, checked by one closed schema.

Contract: every mistake is named with file, line, key and what was expected, all of them at once, and nothing is
audited with half a configuration. Both files at once are an error. The definition of done (`dod`) has a gate of its
own and is left alone here.
This module must not know of snapshots, audits or the loop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
            "patternProperties": {
                "^[A-Z][A-Z0-9]{1,9}(-[0-9]{3,})?$": {
                    "anyOf": [
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
                }
            },
            "additionalProperties": False,
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
                    "rule": {"type": "string", "pattern": _RULE_ID},
                    "parameter": {"type": "string", "minLength": 1},
                    "value": {"type": ["string", "number"]},
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

            raise ConfigurationError(
                f"{self.path} names rules that do not exist",
                problems=tuple(f"{self.path}: no rule `{name}`{nearest(name, sorted(known))}" for name in unknown),
            )
        if all(self.choice(rule.id).enabled for rule in rulebook.rules):
            return rulebook
        kept = tuple(rule for rule in rulebook.rules if self.choice(rule.id).enabled)
        return replace(rulebook, rules=kept)


def load_configuration(root: Path) -> Configuration:
    """Read the configuration of an audit root. Raises ConfigurationError with every problem."""
    own = [name for name in (FILE_NAME, "fixaudit.yml") if (root / name).is_file()]
    tool = _tool_table(root / "pyproject.toml")
    if len(own) + (tool is not None) > 1:
        names = [*own, *(["[tool.fixaudit] in pyproject.toml"] if tool is not None else [])]
        raise ConfigurationError(f"two configurations: {' and '.join(names)}; keep one of them")
    if own:
        data, locate = _read_yaml(root / own[0], own[0])
    elif tool is not None:
        data, locate = tool, lambda _: "pyproject.toml: tool.fixaudit"
    else:
        return Configuration()
    problems = _problems(data, locate)
    if problems:
        name = own[0] if own else "pyproject.toml"
        raise ConfigurationError(f"{name} cannot be used", problems=tuple(problems))
    return _configuration(own[0] if own else "pyproject.toml", data or {})


def _tool_table(path: Path) -> Any:
    import tomllib

    try:
        return tomllib.loads(path.read_bytes().decode("utf-8-sig")).get("tool", {}).get("fixaudit")
    except (OSError, ValueError):
        return None  # a broken manifest is the audit's business, not the configuration's


def _read_yaml(path: Path, name: str) -> tuple[Any, Any]:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        text = path.read_bytes().decode("utf-8-sig")
        data = YAML(typ="rt").load(text)
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{name} is not UTF-8 text (byte {error.start})") from error
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{name}:{mark.line + 1}:{mark.column + 1}" if mark else name
        raise ConfigurationError(f"{name} cannot be used", problems=(f"{where}: {error.problem}",)) from error
    except YAMLError as error:
        raise ConfigurationError(f"{name} cannot be used", problems=(f"{name}: {error}",)) from error

    def locate(keys: Sequence[str | int]) -> str:
        node: Any = data
        place = (0, 0)
        for key in keys:
            try:
                place = node.lc.key(key) if isinstance(node, Mapping) else node.lc.item(key)
                node = node[key]
            except (AttributeError, KeyError, IndexError, TypeError):
                break
        return f"{name}:{place[0] + 1}:{place[1] + 1}"

    return data, locate


def _problems(data: Any, locate: Any) -> list[str]:
    from jsonschema import Draft202012Validator

    if data is None:
        return []
    found = []
    for error in sorted(
        Draft202012Validator(SCHEMA).iter_errors(data), key=lambda e: (list(map(str, e.path)), e.message)
    ):
        best = error
        while best.context:
            # Take the branch of a union that is of the right shape at all, never a dump of every alternative.
            shaped = [c for c in best.context if c.validator not in ("enum", "type") or c.relative_path]
            best = (shaped or list(best.context))[0]
        keys = list(best.absolute_path)
        found += [f"{locate(path)}: {text}" for path, text in _say(best, keys)]
    return sorted(dict.fromkeys(found), key=_by_place)


def _by_place(problem: str) -> tuple[int, int, str]:
    parts = problem.split(":")
    numbers = [int(part) for part in parts[1:3] if part.isdigit()]
    line, column = [*numbers, 0, 0][:2]
    return line, column, problem


def _say(error: Any, keys: list[str | int]) -> list[tuple[list[str | int], str]]:
    from fixaudit.rulebook.template import nearest

    where = ".".join(str(key) for key in keys)
    label = f"{where}: " if where else ""
    if error.validator == "additionalProperties":
        known = list(error.schema.get("properties", {}))
        patterns = list(error.schema.get("patternProperties", {}))
        said = []
        for key in error.instance:
            import re

            if key not in known and not any(re.search(p, str(key)) for p in patterns):
                expected = f"expected one of {', '.join(sorted(known))}" if known else "expected a rule id or a pack"
                said.append(([*keys, key], f"{label}unknown key `{key}` ({expected}){nearest(str(key), known)}"))
        return said
    if error.validator == "required":
        missing = [key for key in error.validator_value if key not in error.instance]
        return [(keys, f"{label}`{key}` is missing") for key in missing]
    if error.validator == "type":
        kinds = error.validator_value
        kind = " or ".join(kinds) if isinstance(kinds, list) else kinds
        return [(keys, f"{label}expected {_KINDS.get(kind, kind)}, found {_kind_of(error.instance)}")]
    if error.validator == "enum":
        choices = ", ".join(str(choice) for choice in error.validator_value)
        return [
            (keys, f"{label}`{error.instance}` is none of {choices}{nearest(str(error.instance), choices.split(', '))}")
        ]
    if error.validator == "pattern":
        return [(keys, f"{label}`{error.instance}` is not of the form {error.validator_value}")]
    return [(keys, f"{label}{error.message}")]


_KINDS = {
    "array": "a list",
    "object": "a mapping",
    "string": "a text",
    "integer": "a whole number",
    "boolean": "true or false",
}


def _kind_of(value: Any) -> str:
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    return "nothing" if value is None else "a text" if isinstance(value, str) else "a number"


def _configuration(path: str, data: Mapping[str, Any]) -> Configuration:
    from fixaudit.parameters import Answer  # brings the fixers along, which a scan has no use for

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
        tuple(
            Answer(str(a["rule"]), str(a["parameter"]), str(a["value"]), _text(a.get("root")), _text(a.get("path")))
            for a in data.get("answers", ())
        ),
        int(data.get("gate", {}).get("score", 90)),
        Agent(
            tuple(map(str, agent["command"])),
            float(agent.get("timeout", 600.0)),
            tuple(map(str, agent.get("environment", ()))),
        )
        if agent
        else None,
        tuple(map(str, data.get("unreadable", {}).get("accept", ()))),
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
