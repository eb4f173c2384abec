"""What kind of file a path is, for secrets: it decides which detectors are worth believing there.

This module must not know of contents.
"""

from __future__ import annotations

import re
from enum import Enum

from fixaudit.projects import FileClass
from fixaudit.secrets import listed


class Kind(Enum):
    """`value` is the KIND column."""

    SOURCE = "source"  # a program some front end reads
    FOREIGN = "foreign"  # a program of another language: quoted literals by name only
    CONFIG = "config"
    DOTENV = "dotenv"
    DOCKERFILE = "dockerfile"
    COMPOSE = "compose"
    CI = "ci"
    SHELL = "shell"
    LOCKFILE = "lockfile"
    DOC = "doc"
    TEST = "test"
    BUNDLE = "bundle"  # vendored, generated and minified programs
    DATA = "data"


_LOCKFILES = listed(
    "package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml bun.lock deno.lock poetry.lock pdm.lock"
    " uv.lock pipfile.lock pylock.toml cargo.lock composer.lock gemfile.lock go.sum go.mod gradle.lockfile"
    " mix.lock packages.lock.json podfile.lock pubspec.lock flake.lock .terraform.lock.hcl"
    " buildscript-gradle.lockfile verification-metadata.xml"
)
_CONFIG = listed(
    ".yaml .yml .json .json5 .jsonc .toml .ini .cfg .conf .properties .tf .tfvars .xml .config .netrc .npmrc"
    " .pypirc .plist .hcl .service .htpasswd .credentials .cnf .editorconfig"
)
_SHELL = frozenset([".sh", ".bash", ".zsh", ".fish", ".ksh", ".ps1", ".bat", ".cmd"])
_SHELL_NAMES = frozenset({"makefile", "justfile", "procfile", ".bashrc", ".profile", "vagrantfile"})
_FOREIGN = listed(
    ".java .kt .kts .scala .groovy .gradle .go .rb .php .cs .vb .rs .swift .m .c .h .cpp .cc .hpp .dart .ex .exs"
    " .pl .lua .vue .svelte .astro .clj .sql .pyi .r .jl .fs .coffee .erb"
)
_DOC = listed(".md .mdx .rst .adoc .txt .markdown .html .htm .tex .org .ipynb .http .rest")
_DATA = listed(
    ".csv .tsv .svg .map .po .pot .mo .snap .log .lock .sum .diff .patch .eml .jsonl .ndjson .geojson .css .scss"
    " .less .pem .crt .cer .key .pub .asc .xlf .xliff .resx .strings .arb"
)
_DOTENV = re.compile(r"\.?env(?:\..+|rc)?|.+\.env(?:\..+)?|\.envrc|\.dev\.vars", re.IGNORECASE)
_DOCKERFILE = re.compile(r"(?:.+\.)?(?:dockerfile|containerfile)(?:[.-].+)?", re.IGNORECASE)
_COMPOSE = re.compile(r"(?:docker-)?compose(?:[.-].+)?\.ya?ml", re.IGNORECASE)
_CI = re.compile(
    r"(?:.+/)?(?:\.github/(?:workflows|actions)/.+|\.circleci/.+|\.gitlab-ci[^/]*\.ya?ml|\.travis\.yml"
    r"|azure-pipelines[^/]*\.ya?ml|bitbucket-pipelines\.yml|\.drone\.ya?ml|\.buildkite/.+|appveyor\.yml|\.?woodpecker.*\.ya?ml|Jenkinsfile[^/]*)"
)
_MADE_UP = re.compile(r"[.-](?:stories|story|mocks?|fixtures?|fakes?)\.[^.]+$")
_TRANSLATIONS = re.compile(r"(?:^|/)(?:i18n|locales?|lang|langs|languages?|translations?|l10n|messages|intl)(?:/|$)")


def kind_of(path: str, file_class: FileClass) -> Kind:
    """Return a file's kind by its path relative to the audit root and its class."""
    folder, _, name = path.rpartition("/")
    lower = name.lower()
    stem, dot, last = lower.rpartition(".")
    suffix = dot + last if stem or last in ("npmrc", "pypirc", "netrc") else ""
    if lower in _LOCKFILES:
        return Kind.LOCKFILE
    if file_class.test or _MADE_UP.search(lower):
        return Kind.TEST
    if file_class.vendored or file_class.generated or file_class.minified:
        return Kind.BUNDLE
    if file_class.language is not None:
        return Kind.TEST if file_class.example else Kind.SOURCE
    if _DOTENV.fullmatch(name):
        return Kind.DOTENV
    if _DOCKERFILE.fullmatch(name):
        return Kind.DOCKERFILE
    if _COMPOSE.fullmatch(name):
        return Kind.COMPOSE
    if suffix in _DOC or (file_class.example and suffix not in _DATA) or lower in ("readme", "changelog", "license"):
        return Kind.DOC
    if suffix in _DATA or _TRANSLATIONS.search(f"{folder}/"):
        return Kind.DATA
    if _CI.fullmatch(path):
        return Kind.CI
    if suffix in _SHELL or lower in (
        "makefile",
        "justfile",
        "procfile",
        "profile",
        ".bashrc",
        ".profile",
        "vagrantfile",
    ):
        return Kind.SHELL
    if suffix in _FOREIGN:
        return Kind.FOREIGN
    return Kind.CONFIG if suffix in _CONFIG else Kind.DATA
