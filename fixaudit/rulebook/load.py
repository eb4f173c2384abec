"""Read rule packs into a rulebook, or say everything that is wrong with them at once.

Contract: all files of all packs are read before anything is said; each problem is one line `file:line:column:
key.path: message`. A rule that loads cannot fail later on a name that is not there. What was compiled is kept as JSON
in a directory that the caller names (the user's cache, never the project), keyed by the digest of every file and of
the program's version.
This module must not know of projects, snapshots or findings.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from fixaudit import __version__
from fixaudit.errors import ConfigurationError, UsageError
from fixaudit.rulebook.rule import PACKS, Concept, Rule, Rulebook, Stack
from fixaudit.text import byte_key

SUFFIXES = (".yaml", ".yml")
DATA_FILES = ("runtimes", "packages")
"""Dated data of the shipped packs: versions and end-of-life dates."""


@dataclass(frozen=True)
class PackFile:
    """One file of a pack: how messages call it, its kind, and the bytes. `shipped`: part of this program."""

    label: str
    kind: str  # rule, concept, stacks, runtimes, packages
    data: bytes
    shipped: bool
    stem: str
    folder: str


@dataclass(frozen=True)
class Loaded:
    """A rulebook of what could be loaded, and one line for each thing that could not."""

    rulebook: Rulebook
    problems: tuple[str, ...]


def load_rulebook(
    extra_dirs: Sequence[Path] = (), *, strict: bool = True, cache: Path | None = None, shipped: bool = True
) -> Rulebook:
    """Return the shipped rules and those of `extra_dirs` (each a pack, a folder of packs, or one file).

    `strict`: raises ConfigurationError with every problem. Otherwise files with problems are left out, which only
    `fixaudit test` and editors may want. `cache`: where compiled rulebooks are kept. Raises UsageError for a path
    that is not there or holds no rules.
    """
    files = pack_files(extra_dirs, shipped=shipped)
    digest = _digest(files)
    kept = cache / f"rulebook-{digest}-{_build()}.json" if cache is not None else None
    if kept is not None and (known := _cached(kept)) is not None:
        return known
    loaded = compile_files(files)
    if loaded.problems:
        if strict:
            count = len(loaded.problems)
            noun = "problem" if count == 1 else "problems"
            raise ConfigurationError(
                f"{count} {noun} in rule files", problems=loaded.problems, hint="docs/rules.md describes every key"
            )
        return loaded.rulebook
    if kept is not None:
        _keep(kept, loaded.rulebook)
    return loaded.rulebook


def shipped_directory() -> Path:
    """Return where the packs of this program are: inside the installed package, or beside it in a checkout."""
    inside = Path(__file__).parent.parent / "_packs"
    return inside if inside.is_dir() else Path(__file__).parent.parent.parent / "rules"


def pack_files(extra_dirs: Sequence[Path], *, shipped: bool = True) -> tuple[PackFile, ...]:
    """Read every file of every pack, in a fixed order."""
    files: list[PackFile] = []
    if shipped:
        home = shipped_directory()
        files += [_file(path, path.relative_to(home).as_posix(), True) for path in _yaml_files(home)]
    for given in extra_dirs:
        if given.is_file():
            files.append(_file(given, _label(given), False))
            continue
        if not given.is_dir():
            raise UsageError(f"no rules at {given}", hint="--rules takes a pack, a folder of packs or one file")
        found = [_file(path, _label(path), False) for path in _yaml_files(given)]
        if not found:
            raise UsageError(f"no .yaml file below {given}", hint="--rules takes a pack, a folder of packs or one file")
        files += found
    return tuple(files)


def _yaml_files(directory: Path) -> list[Path]:
    found = [
        path
        for path in directory.rglob("*")
        if path.suffix in SUFFIXES and path.is_file() and not any(part.startswith(".") for part in path.parts[-2:])
    ]
    return sorted(found, key=lambda path: byte_key(path.relative_to(directory).as_posix()))


def _label(path: Path) -> str:
    """Call a user's file as a person would: relative to where they are, when it is below that."""
    relative = os.path.relpath(path)
    return relative if not relative.startswith("..") else path.as_posix()


def _file(path: Path, label: str, shipped: bool) -> PackFile:
    kind = "rule"
    if path.parent.name == "concepts":
        kind = "concept"
    elif path.stem == "stacks" or (shipped and path.stem in DATA_FILES):
        kind = path.stem
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{label} cannot be read: {error.strerror}") from error
    return PackFile(label, kind, data, shipped, path.stem, path.parent.name)


def _digest(files: Sequence[PackFile]) -> str:
    total = hashlib.blake2b(__version__.encode(), digest_size=16)
    for file in files:
        for part in (file.label.encode("utf-8", "surrogateescape"), file.data):
            total.update(len(part).to_bytes(8, "big") + part)
    return total.hexdigest()


def _build() -> str:
    """Name the code that compiles: in a checkout it changes while the version does not."""
    total = hashlib.blake2b(digest_size=8)
    for path in sorted(Path(__file__).parent.glob("*.py")):
        info = path.stat()
        total.update(f"{path.name}\0{info.st_size}\0{info.st_mtime_ns}\0".encode())
    return total.hexdigest()


# Compiling -----------------------------------------------------------------------------------------------------------


def compile_files(files: Sequence[PackFile]) -> Loaded:
    """Validate and build every file; the vocabulary first, since rules quote it."""
    from fixaudit.rulebook import build
    from fixaudit.rulebook.consistency import concept_faults, rule_faults, stacks_faults
    from fixaudit.rulebook.links import Known
    from fixaudit.rulebook.positions import Document, Fault, Problem

    problems: list[Problem] = []
    documents: dict[PackFile, Document] = {}
    for file in files:
        read = _document(file)
        if isinstance(read, Document):
            documents[file] = read
        else:
            problems += read

    def of(kind: str) -> Iterator[tuple[PackFile, Document]]:
        return ((file, document) for file, document in documents.items() if file.kind == kind)

    bad: set[PackFile] = set()

    def note(file: PackFile, faults: Sequence[Fault]) -> None:
        if faults:
            bad.add(file)
            problems.extend(documents[file].problem(fault) for fault in faults)

    written_stacks: dict[str, Any] = {}
    written_concepts: dict[str, Any] = {}
    for file, document in of("stacks"):
        twice = [name for name in document.value["stacks"] if name in written_stacks]
        note(file, [Fault(("stacks", name), "this stack is known already", at_key=True) for name in twice])
        written_stacks |= document.value["stacks"]
    for file, document in of("concept"):
        name = document.value["concept"]
        if name in written_concepts:
            note(file, [Fault(("concept",), f'the concept "{name}" is known already')])
        elif name != file.stem:
            note(file, [Fault(("concept",), f'the concept "{name}" stands in a file called {file.stem}')])
        written_concepts[name] = document.value
    known = Known(written_stacks, written_concepts)
    for file, document in of("stacks"):
        note(file, stacks_faults(document.value["stacks"], known))
    for file, document in of("concept"):
        note(file, concept_faults(document.value))

    rules: dict[str, Rule] = {}
    for file, document in of("rule"):
        written = document.value
        faults = [*_identity_faults(file, written["id"], rules), *rule_faults(written, known)]
        note(file, faults)
        if not faults:
            lines = [document.position(("examples", index))[0] for index in range(len(written["examples"]))]
            digest = hashlib.blake2b(file.data, digest_size=16).hexdigest()
            rules[written["id"]] = build.rule(written, file.label, digest, lines)
    total = _digest(files)
    rulebook = Rulebook(
        tuple(rules[name] for name in sorted(rules)),
        _stacks(document.value["stacks"] for file, document in of("stacks") if file not in bad),
        _concepts(document.value for file, document in of("concept") if file not in bad),
        {file.kind: document.value for file, document in documents.items() if file.kind in DATA_FILES},
        total,
        f"{__version__}+{total[:8]}",
    )
    return Loaded(rulebook, tuple(str(problem) for problem in sorted(set(problems))))


def _stacks(written: Iterator[Mapping[str, Any]]) -> Mapping[str, Stack]:
    from fixaudit.rulebook import build

    return {name: build.stack(name, entry) for stacks in written for name, entry in stacks.items()}


def _concepts(written: Iterator[Mapping[str, Any]]) -> Mapping[str, Concept]:
    from fixaudit.rulebook import build

    return {entry["concept"]: build.concept(entry) for entry in written}


def _document(file: PackFile) -> Any:
    """Return a document that passed its schema, or the problems."""
    from fixaudit.rulebook.positions import Document, Problem, read
    from fixaudit.rulebook.schema import schema_for
    from fixaudit.rulebook.validate import Validation

    try:
        text = file.data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = file.data.count(b"\n", 0, error.start) + 1
        return [Problem(file.label, line, 1, "", "the file is not UTF-8 text")]
    document = read(text, file.label)
    if not isinstance(document, Document):
        return [document]
    validation = _validations.get(file.kind)
    if validation is None:
        validation = _validations[file.kind] = Validation(schema_for(file.kind))
    faults = validation.faults(document.value)
    return [document.problem(fault) for fault in faults] if faults else document


_validations: dict[str, Any] = {}


def _identity_faults(file: PackFile, name: str, rules: Mapping[str, Rule]) -> Iterator[Any]:
    from fixaudit.rulebook.positions import Fault

    if name in rules:
        yield Fault(("id",), f"the rule {name} is written in {rules[name].path} already")
    if name != file.stem:
        yield Fault(("id",), f"the rule {name} stands in a file called {file.stem}; expected {name}.yaml")
    pack = re.split("-", name)[0]
    if file.shipped and (pack not in PACKS or file.folder != pack):
        yield Fault(("id",), f"{pack} is no pack of this folder (expected one of {', '.join(PACKS)})")


# The cache -----------------------------------------------------------------------------------------------------------


def _cached(path: Path) -> Rulebook | None:
    """Read a compiled rulebook; a damaged or foreign file counts as none."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Rulebook)
    except (OSError, msgspec.DecodeError, msgspec.ValidationError):
        return None


def _keep(path: Path, rulebook: Rulebook) -> None:
    """Write a compiled rulebook; a cache that cannot be written is no error."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        temporary = path.with_suffix(f".{os.getpid()}.tmp")
        temporary.write_bytes(msgspec.json.encode(rulebook))
        temporary.replace(path)
    except OSError:
        return
