"""Which built file a source file becomes, and the other way round, as tsconfig.json and bundler commands say.

Contract: paths relative to the root in and out; the answer is None where the configuration does not say it. Where
there is no configuration for a built path, the usual folders are tried, and only a single source counts.
Sources: TypeScript's tsconfig reference (outDir, rootDir, noEmit, extends, include).
This module must not know what starts a program.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fixaudit.facts import Facts
from fixaudit.formats import json
from fixaudit.globs import matches
from fixaudit.projects import Root
from fixaudit.relations.places import join, read

SOURCE_EXTENSIONS = {
    ".js": (".ts", ".tsx", ".js", ".jsx"),
    ".mjs": (".mts", ".mjs"),
    ".cjs": (".cts", ".cjs"),
}
"""What a built file's extension can come from, most telling first."""

_BUILT = {".ts": ".js", ".tsx": ".js", ".mts": ".mjs", ".cts": ".cjs"}
_OUTPUT_FOLDERS = ("dist", "build", "out", "lib", "output", "dist/src", "build/src")
_SOURCE_FOLDERS = ("src", "", "app", "lib", "server")
_BUNDLER = re.compile(
    r"(?:\A|[\s;&|/])(?:esbuild|tsup|ncc|swc|rollup|webpack|vite|parcel|tsdown|unbuild|pkgroll|nest)\b"
)
_OUTFILE = re.compile(r"--outfile[= ]([^\s;&|]+)")
_OUTDIR = re.compile(r"--(?:outdir|out-dir)[= ]([^\s;&|]+)|\s-d ([^\s;&|]+)")
_ENTRY = re.compile(r"(?<=\s)((?:\./)?[\w./-]+\.(?:ts|tsx|mts|cts))(?=[\s;&|]|\Z)")
_PROJECT = re.compile(r"\btsc\b[^;&|]*\s(?:-p|--project|-b|--build)\s+([^\s;&|]+)")
_DEFAULT_EXCLUDED = ("node_modules/**", "bower_components/**", "jspm_packages/**")


@dataclass(frozen=True, slots=True)
class Compiler:
    """What tsc does in a root: `out` and `root` are folders relative to the root ("" for the root itself)."""

    out: str
    root: str


def is_typescript(path: str) -> bool:
    """Say whether a path is TypeScript that compiles to JavaScript."""
    return posixpath.splitext(path)[1] in _BUILT and not re.search(r"\.d\.[cm]?ts\Z", path)


def built_file(facts: Facts, root: Root, source: str, build: str) -> str | None:
    """Return what `source` becomes; `build` is the text of the build script. None when that is not known."""
    if _BUNDLER.search(build):
        return _bundled(source, build)
    compiler = _compiler(facts, root, build)
    stem, extension = posixpath.splitext(source)
    if compiler is None or extension not in _BUILT:
        return None
    inside = _relative(stem, compiler.root)
    return None if inside is None else posixpath.join(compiler.out, inside + _BUILT[extension])


def source_file(facts: Facts, root: Root, built: str, build: str) -> str | None:
    """Return the one source file that becomes `built`; None when there is none or it is not known which."""
    outfile = _OUTFILE.search(build)
    entries = _ENTRY.findall(build)
    if outfile and len(entries) == 1 and posixpath.normpath(outfile[1]) == built:
        return _existing(facts, root, posixpath.normpath(entries[0]))
    compiler = None if _BUNDLER.search(build) else _compiler(facts, root, build)
    if compiler is not None:
        inside = _relative(built, compiler.out)
        found = list(_sources(facts, root, posixpath.join(compiler.root, inside))) if inside is not None else []
        if found:
            return found[0] if len(found) == 1 else None
    candidates: list[str] = []
    for folder in _OUTPUT_FOLDERS:
        inside = _relative(built, folder)
        if inside is not None:
            for source in _SOURCE_FOLDERS:
                candidates += _sources(facts, root, posixpath.join(source, inside))
    unique = list(dict.fromkeys(candidate for candidate in candidates if candidate != built))
    return unique[0] if len(unique) == 1 else None


def _bundled(source: str, build: str) -> str | None:
    """Bundlers that name their output on the command line; others are configured by a program."""
    if source not in [posixpath.normpath(entry) for entry in _ENTRY.findall(build)]:
        return None
    outfile, outdir = _OUTFILE.search(build), _OUTDIR.search(build)
    if outfile:
        return posixpath.normpath(outfile[1])
    name = posixpath.splitext(posixpath.basename(source))[0]
    if outdir and re.search(r"\besbuild\b", build) and len(_ENTRY.findall(build)) == 1:
        return posixpath.normpath(posixpath.join(outdir[1] or outdir[2], name + ".js"))
    return None


def _sources(facts: Facts, root: Root, built: str) -> Iterator[str]:
    """Yield existing files that would be compiled to a path, for one extension only."""
    stem, extension = posixpath.splitext(built)
    for other in SOURCE_EXTENSIONS.get(extension, ()):
        found = _existing(facts, root, stem + other)
        if found is not None:
            yield found
            return


def _existing(facts: Facts, root: Root, path: str) -> str | None:
    return path if facts.project.has(root.join(path)) else None


def _relative(path: str, folder: str) -> str | None:
    if folder in ("", "."):
        return path
    return path[len(folder) + 1 :] if path.startswith(folder + "/") else None


def _compiler(facts: Facts, root: Root, build: str) -> Compiler | None:
    """Read the configuration that the build script names, else tsconfig.json. None: nothing is emitted."""
    named = _PROJECT.search(build)
    name = named[1] if named else "tsconfig.json"
    path = join(root.path, name if name.endswith(".json") else posixpath.join(name, "tsconfig.json"))
    settings = _settings(facts, root, path, 5) if path is not None else None
    if path is None or settings is None or True in (settings.get("noEmit"), settings.get("emitDeclarationOnly")):
        return None
    here = _folder(root, posixpath.dirname(path), ".")
    out, base = settings.get("outDir"), settings.get("rootDir")
    folder = base if isinstance(base, str) else _common_folder(facts, root, here, settings)
    return Compiler(out if isinstance(out, str) else folder, folder)


def _settings(facts: Facts, root: Root, path: str, depth: int) -> dict[str, Any] | None:
    """Return compilerOptions, `include`, `files` and `exclude` with what is inherited; folders relative to the root.

    None when there is no such file; packages that are extended are not looked at (they name no folders).
    """
    document = read(facts, path, "json", json.parse)
    value: Any = document.root.value() if document else None
    if not isinstance(value, dict):
        return None
    found: dict[str, Any] = {}
    extended = value.get("extends")
    for parent in extended if isinstance(extended, list) else [extended]:
        if isinstance(parent, str) and parent.startswith(".") and depth:
            target = join(posixpath.dirname(path), parent if parent.endswith(".json") else parent + ".json")
            found |= (_settings(facts, root, target, depth - 1) if target is not None else None) or {}
    options = value.get("compilerOptions")
    here = posixpath.dirname(path)
    found |= options if isinstance(options, dict) else {}
    for key in ("outDir", "rootDir"):
        if isinstance(options, dict) and isinstance(options.get(key), str):
            found[key] = _folder(root, here, options[key])
    for key in ("include", "files", "exclude"):
        if isinstance(value.get(key), list):
            found[key] = [_folder(root, here, item) for item in value[key] if isinstance(item, str)]
    return found


def _folder(root: Root, here: str, written: str) -> str:
    """Return a path of a configuration in the directory `here` relative to the root, "" for the root itself."""
    path = posixpath.normpath(posixpath.join(here, written.replace("${configDir}", ".")))
    relative = posixpath.relpath(f"/{path}", f"/{root.path}")
    return "" if relative == "." else relative


def _common_folder(facts: Facts, root: Root, here: str, settings: Mapping[str, Any]) -> str:
    """Return the longest folder that holds every input: what `rootDir` is when it is not set."""
    out = settings.get("outDir")
    included = _patterns([*settings.get("include", ()), *settings.get("files", ())]) or [posixpath.join(here, "**/*")]
    excluded = _patterns(settings.get("exclude", ())) or [*_DEFAULT_EXCLUDED, *([f"{out}/**"] if out else [])]
    folders = [
        posixpath.dirname(relative)
        for path in facts.paths
        if is_typescript(path)
        and path.startswith(root.join(""))
        and matches(relative := root.relative(path), *included)
        and not matches(relative, *excluded)
    ]
    return posixpath.commonpath([f"/{folder}" for folder in folders])[1:] if folders else ""


def _patterns(written: Any) -> list[str]:
    """Give globs as this program has them: anchored, and a folder stands for what is in it."""
    found = []
    for item in written:
        whole = "*" in item or posixpath.splitext(item)[1] != ""
        found.append(f"/{item}" if whole else f"/{item}/**".replace("//", "/"))
    return found
