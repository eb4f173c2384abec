"""Which environment variables the fields of a settings class are read from (pydantic's BaseSettings).

Facts (https://docs.pydantic.dev/latest/concepts/pydantic_settings/): a field is read from `env_prefix` + its name,
without regard to case unless `case_sensitive`; an alias replaces that name, without the prefix; with
`env_nested_delimiter` a field whose type is a model is also read field by field.
This module must not know of relations.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from fixaudit.resolve.names import Resolver
from fixaudit.resolve.things import Definition, Frame, Package
from fixaudit.source.ir import Call, Expr, Literal, Name, Object, Sequence, Span, Statement

BASES = frozenset({"pydantic_settings#BaseSettings", "pydantic#BaseSettings", "pydantic.env_settings#BaseSettings"})
MODELS = frozenset({"pydantic#BaseModel"})
FIELDS = frozenset({"pydantic#Field", "pydantic.fields#Field"})


@dataclass(frozen=True)
class Setting:
    """One field. `key` None: it cannot be read; `default` None with `required` False: an optional type."""

    field: str
    key: str | None
    default: Expr | None
    required: bool
    span: Span
    frame: Frame


@dataclass(frozen=True)
class _Config:
    prefix: str | None = ""
    sensitive: bool = False
    delimiter: str | None = None


def is_settings(resolver: Resolver, frame: Frame, index: int, depth: int = 4) -> bool:
    """Say whether a class is, directly or by its bases, a settings class."""
    return any(True for _ in _settings_chain(resolver, frame, index, depth))


def _settings_chain(resolver: Resolver, frame: Frame, index: int, depth: int) -> Iterator[tuple[Frame, int]]:
    """Yield a settings class and its local bases, itself first; nothing when it is no settings class."""
    chain = [(frame, index)]
    if depth == 0:
        return
    for base in frame.scopes.module.classes[index].bases:
        thing = resolver.resolve(base, frame)
        if isinstance(thing, Package) and thing.text in BASES:
            yield from chain
            return
        if isinstance(thing, Definition) and thing.kind == "class":
            found = list(_settings_chain(resolver, thing.frame, thing.index, depth - 1))
            if found:
                yield from chain
                yield from found
                return


def settings_of(resolver: Resolver, frame: Frame, index: int) -> list[Setting]:
    """Return the fields of a settings class, its bases' included; empty when it is no settings class."""
    chain = list(_settings_chain(resolver, frame, index, 4))
    if not chain:
        return []
    config = _config(chain)
    found: dict[str, Setting] = {}
    for owner, class_index in chain:
        for statement in owner.scopes.module.classes[class_index].fields:
            for setting in _fields(resolver, owner, statement, config):
                found.setdefault(f"{setting.field}\0{setting.key}", setting)
    return list(found.values())


def setting_key(resolver: Resolver, holder: Definition, name: str) -> tuple[str, Expr | None] | None:
    """Return (KEY, default) of a field of an instance of a settings class."""
    for setting in settings_of(resolver, holder.frame, holder.index):
        if setting.field == name and setting.key is not None:
            return setting.key, setting.default
    return None


def _config(chain: list[tuple[Frame, int]]) -> _Config:
    for frame, index in chain:
        module = frame.scopes.module
        values: dict[str, Expr] = {}
        for statement in module.classes[index].fields:
            if statement.kind == "class" and statement.index is not None:
                inner = module.classes[statement.index]
                if inner.name == "Config":
                    for field in inner.fields:
                        for target in field.targets:
                            if target.name is not None and field.value is not None:
                                values[target.name] = field.value
            elif any(target.name == "model_config" for target in statement.targets):
                if isinstance(statement.value, Call):
                    values |= {a.keyword: a.value for a in statement.value.arguments if a.keyword is not None}
                elif isinstance(statement.value, Object):
                    values |= {e.key: e.value for e in statement.value.entries if e.key is not None}
        if values:
            prefix = values.get("env_prefix")
            delimiter = _text(values.get("env_nested_delimiter"))
            sensitive = values.get("case_sensitive")
            return _Config(
                "" if prefix is None else _text(prefix),
                isinstance(sensitive, Literal) and sensitive.value is True,
                delimiter,
            )
    return _Config()


def _text(expr: Expr | None) -> str | None:
    return expr.value if isinstance(expr, Literal) and isinstance(expr.value, str) else None


def _fields(resolver: Resolver, frame: Frame, statement: Statement, config: _Config) -> Iterator[Setting]:
    if statement.kind not in ("declare", "assign") or not statement.targets:
        return
    target = statement.targets[0]
    annotation = target.annotation
    if target.name is None or target.name == "model_config" or target.name.startswith("_"):
        return
    if annotation is None or annotation.startswith(("ClassVar", "typing.ClassVar")):
        return
    default: Expr | None = statement.value
    aliases: list[str | None] = []
    if isinstance(default, Call) and resolver.callee(default, frame)[0] in FIELDS:
        default, aliases = _field_call(default)
    required = default is None and not re.search(r"\bOptional\b", annotation)
    names = aliases or ([None] if config.prefix is None else [f"{config.prefix}{target.name}"])
    for name in names:
        key = name if name is None or config.sensitive else name.upper()
        yield Setting(target.name, key, default, required, statement.span, frame)
    if config.delimiter is not None and config.prefix is not None and not aliases:
        yield from _nested(resolver, frame, annotation, f"{config.prefix}{target.name}", statement, config)


def _field_call(call: Call) -> tuple[Expr | None, list[str | None]]:
    default: Expr | None = None
    aliases: list[str | None] = []
    for position, argument in enumerate(call.arguments):
        if argument.keyword in ("default", "default_factory") or (argument.keyword is None and position == 0):
            ellipsis = isinstance(argument.value, Name) and argument.value.name in ("Ellipsis", "...")
            if not ellipsis and getattr(argument.value, "kind", "") != "ellipsis":
                default = argument.value
        elif argument.keyword in ("alias", "validation_alias", "env"):
            aliases = _aliases(argument.value) or aliases
    return default, aliases


def _aliases(expr: Expr) -> list[str | None]:
    if isinstance(expr, Literal):
        return [_text(expr)]
    if isinstance(expr, Call):  # AliasChoices("A", "B"): any of them will do, the first is preferred
        return [_text(expr.arguments[0].value)] if expr.arguments else []
    if isinstance(expr, Sequence):
        return [_text(expr.items[0])] if expr.items else []
    return [None]


def _nested(
    resolver: Resolver, frame: Frame, annotation: str, prefix: str, statement: Statement, config: _Config
) -> Iterator[Setting]:
    name = re.sub(r"^Optional\[(.*)\]$|\s*\|\s*None$", r"\1", annotation)
    if not name.isidentifier():
        return
    thing = resolver.resolve(Name((0, 0), name), frame)
    if not isinstance(thing, Definition) or thing.kind != "class":
        return
    for field in thing.frame.scopes.module.classes[thing.index].fields:
        for target in field.targets:
            if target.name is not None and target.annotation is not None:
                key = f"{prefix}{config.delimiter}{target.name}"
                key = key if config.sensitive else key.upper()
                yield Setting(f"{prefix}.{target.name}", key, field.value, False, statement.span, frame)
