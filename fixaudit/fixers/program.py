"""One program file as steps see it: its text and model, its style, and how it imports and reads the environment.

Contract: the one place in which steps tell languages apart; everything else asks a `Program`. Edits are relative to
`text`. A place that cannot be edited without changing what the program does is a refusal.
This module must not know of rules or of any single step.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import cached_property
from itertools import accumulate

from fixaudit.facts import Facts, parse_module
from fixaudit.fixers.base import Refusal
from fixaudit.fixers.expressions import quoted_like
from fixaudit.projects import owner
from fixaudit.source import javascript_edit, javascript_import_edits, javascript_options, javascript_style
from fixaudit.source.ir import Module, Span
from fixaudit.source.javascript_style import Style
from fixaudit.text import Edit, Text


@dataclass(frozen=True, slots=True)
class Code:
    """Code to put in, and the edits that bring what it names into scope."""

    code: str
    edits: tuple[Edit, ...] = ()


@dataclass(frozen=True)
class Program:
    """A file that a front end reads.

    `package_type` is the nearest manifest's `type` (JavaScript), `first_party` the project's own top-level modules
    (Python).
    """

    path: str
    text: Text
    module: Module
    language: str
    package_type: str | None = None
    first_party: tuple[str, ...] = ()

    def after(self, edits: tuple[Edit, ...]) -> Program:
        """Return the file with edits made."""
        if not edits:
            return self
        text = self.text.apply(edits)
        return replace(self, text=text, module=parse_module(self.language, text.content))

    def edits_to(self, content: str) -> tuple[Edit, ...]:
        """Return edits of whole lines that turn this file into another text.

        New lines are put at the end of the line above them, where the insertion of a statement would stand, too.
        """
        if content == self.text.content:
            return ()
        old, new = self.text.content.splitlines(keepends=True), content.splitlines(keepends=True)
        starts = [0, *accumulate(map(len, old))]
        opcodes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
        edits = []
        for tag, i, j, a, b in opcodes:
            removed, added = "".join(old[i:j]), "".join(new[a:b])
            newline = self.text.newline
            if tag == "insert" and i and old[i - 1].endswith(newline) and added.endswith(newline):
                place = starts[i] - len(newline)
                edits.append(Edit(place, place, "", newline + added.removesuffix(newline)))
            elif tag != "equal":
                edits.append(Edit(starts[i], starts[j], removed, added))
        return tuple(edits)

    @property
    def family(self) -> str:
        return "python" if self.language == "python" else "javascript"

    @property
    def typed(self) -> bool:
        """Whether a compiler checks the types of what is put in."""
        return self.language in ("typescript", "tsx")

    @cached_property
    def style(self) -> Style:
        """How a JavaScript file is written."""
        return javascript_style.style(self.text, self.module)

    @cached_property
    def quote(self) -> str:
        if self.family == "javascript":
            return self.style.quote
        from fixaudit import python_source

        return python_source.style(self.text, self.module).quote

    def ensure_import(
        self, package: str, export: str, local: str | None = None, *, hint: str = "", before: int | None = None
    ) -> Code:
        """Bring an export into scope; `code` is how to refer to it. `export`: "default", "*" or a name.

        `local` is the name that it must have, `hint` one that would do. `before` is where it is used, when that runs
        while the file is loaded: in Python an import further down does not serve it.
        """
        if self.family == "python":
            from fixaudit import python_source

            exported = None if export in ("*", "default") else export
            name, edits = python_source.ensure_import(
                self.text,
                self.module,
                package=package,
                name=exported,
                alias=local,
                before=before,
                first_party=self.first_party,
            )
            return Code(name, edits)
        hint = local or (hint or package if export in ("default", "*") else export)
        system = javascript_style.module_system(self.module, self.path, self.package_type)
        name, edits = javascript_import_edits.ensure_import(
            self.text, self.module, package=package, export=export, local_hint=hint, system=system
        )
        return Code(name, edits)

    def env_read(self, key: str, *, required: bool = True, default: str | None = "", before: int | None = None) -> Code:
        """Write the read of a variable; without `required` a missing one is `default`. `before` as in an import."""
        if self.family == "python":
            from fixaudit import python_source

            found = self.ensure_import("os", "*", before=before)
            if not required and default is None:
                return Code(f"{found.code}.environ.get({python_source.quoted(key, self.quote)})", found.edits)
            form = "required" if required else "optional"
            return Code(python_source.env_read(found.code, key, form, default, quote=self.quote), found.edits)
        if not required and default is not None:  # the code around it calls methods of the value, in JavaScript too
            return Code(f"process.env.{key} ?? {self.style.string(default)}")
        return Code(javascript_style.env_read(key, "required", language=self.language, style=self.style))

    def insert(self, anchor: Span, where: str, code: str) -> tuple[Edit, ...] | Refusal:
        """Insert statements before or after the one at `anchor`."""
        if self.family == "python":
            from fixaudit import python_source

            edits = python_source.insert_statement(self.text, self.module, anchor, where, code)
        else:
            edits = javascript_edit.insert_statement(self.text, self.module, anchor, where, self.styled(code))
        return self._refused("a statement") if edits is None else edits

    def move(self, span: Span, after: Span) -> tuple[Edit, ...] | Refusal:
        """Move a statement behind another one of the same block."""
        if self.family == "python":
            from fixaudit import python_source

            moved = python_source.move_statement(self.text, self.module, span, after, "after")
            return self._refused("a moved statement") if moved is None else moved
        edits = javascript_edit.move_statement(self.text, self.module, span, after)
        return self._refused("a moved statement") if edits is None else edits

    def remove(self, span: Span) -> tuple[Edit, ...] | Refusal:
        """Remove a statement; refused where a comment would be lost."""
        if self.family == "python":
            from fixaudit import python_source

            edits = python_source.remove_statement(self.text, self.module, span)
        else:
            edits = javascript_edit.remove_statement(self.text, self.module, span)
        return self._refused("a removal") if edits is None else edits

    def add_argument(self, span: Span, name: str, code: str, *, position: int = 0) -> tuple[Edit, ...] | Refusal:
        """Add an option to an object literal, an option to a call's object argument, or a keyword to a call."""
        code = self.styled(code)
        if self.family == "python":
            from fixaudit import python_source

            call = python_source.call_at(self.module, span)
            if call is None or any(self.text.content.startswith("**", a.span[0]) for a in call.arguments):
                return self._refused(f"the argument {name}")  # `**options` may bring it already
            held = next((a for a in call.arguments if a.keyword == name), None)
            if held is not None and self.text.content[slice(*held.value.span)] == code:
                return ()
            edits = python_source.add_keyword(self.text, call, name, code)
        else:
            edits = javascript_options.add_option(self.text, self.module, span, name, code, argument=position)
        return self._refused(f"the option {name}") if edits is None else edits

    def styled(self, code: str) -> str:
        """Write code, given with double quotes, semicolons and two spaces, as the file writes its own."""
        code = quoted_like(code, self.quote)
        if self.family == "javascript" and self.style.indent != "  ":
            lines = code.split("\n")
            code = "\n".join(self.style.indent * (_width(line) // 2) + line.lstrip(" ") for line in lines)
        if self.family == "javascript" and not self.style.semicolons:
            code = "\n".join(_open_ended(line) for line in code.split("\n"))
        return code

    def _refused(self, what: str) -> Refusal:
        return Refusal(f"{self.path} has no place for {what} that leaves the rest as it is", code="shape")


def _width(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _open_ended(line: str) -> str:
    """Leave the semicolon at a line's end out, but not those of a `for (;;)` head or an empty statement."""
    return line[:-1] if line.endswith((");", "};", "];", '";', "';", "`;")) or re.search(r"\w;$", line) else line


def open_program(facts: Facts, path: str) -> Program | Refusal:
    """Return a program file, or a refusal for a file that no front end reads or that the parser had to guess at."""
    file = facts.file(path)
    text = file.text if file else None
    module = file.module if file else None
    if file is None or text is None or module is None or file.kind.language is None:
        return Refusal(f"{path} is no program that can be edited here", code="shape")
    if module.damage:
        line = text.lines.position(module.damage[0][0])[0]
        return Refusal(f"{path}:{line} does not parse, so it is not edited", code="shape")
    if file.kind.language == "python":
        return Program(path, text, module, "python", None, _first_party(facts, path))
    return Program(path, text, module, file.kind.language, _package_type(facts, path))


def _first_party(facts: Facts, path: str) -> tuple[str, ...]:
    """Return the names that the root of a file gives to its own top-level modules and packages, `src` seen through."""
    root = owner(facts.project.roots, path)
    found: set[str] = set()
    for other in facts.project.paths:
        relative = root.relative(other) if not root.path or other.startswith(f"{root.path}/") else ""
        if relative.endswith(".py"):
            found.add(relative.removeprefix("src/").partition("/")[0].removesuffix(".py"))
    return tuple(sorted(found))


def _package_type(facts: Facts, path: str) -> str | None:
    directory = posixpath.dirname(path)
    while True:
        text = facts.text(posixpath.join(directory, "package.json"))
        if text is not None:
            try:
                manifest = json.loads(text.content)
            except ValueError:
                return None
            kind = manifest.get("type") if isinstance(manifest, dict) else None
            return kind if isinstance(kind, str) else None
        if not directory:
            return None
        directory = posixpath.dirname(directory)


def code_functions(path: str) -> dict[str, Callable[..., str]]:
    """Return what templates of code may call for a file that may not exist yet: `env(key)`, `env_optional(key, x)`.

    The code stands for one operand: `{{ env(key) }}.length` is right in every language.
    """
    python = path.endswith(".py")
    language = "python" if python else "typescript" if path.endswith((".ts", ".tsx", ".mts", ".cts")) else "javascript"
    style = Style()

    def env(key: str) -> str:
        if python:
            return f"os.environ[{style.string(key)}]"
        return javascript_style.env_read(key, "required", language=language, operand=True)

    def env_optional(key: str, default: str = "") -> str:
        if python:
            return f"os.environ.get({style.string(key)}, {style.string(default)})"
        return f"(process.env.{key} ?? {style.string(default)})"

    return {"env": env, "env_optional": env_optional}
