"""The errors that a person sees: each has an exit code and, where one exists, a hint.

Expected failure inside the program is a returned value (`Refusal`, `Deferred`, `Diagnostic`), never one of these.
This module must not know anything of rules, git or the command line.
"""

from __future__ import annotations


class FixauditError(Exception):
    """Stop the command with `exit_code`; `hint` says what a person can do next."""

    exit_code = 2

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(FixauditError):
    """An option or argument cannot be used as given."""


class ConfigurationError(FixauditError):
    """`fixaudit.yaml`, `[tool.fixaudit]` or a rule pack cannot be used; carries every problem found."""

    def __init__(self, message: str, *, problems: tuple[str, ...] = (), hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.problems = problems


class RepositoryError(FixauditError):
    """Git refused or the repository is in a state in which nothing may be written."""


class LockedError(FixauditError):
    """Another fixaudit run holds this project."""


class ConflictError(FixauditError):
    """A file changed on disk since it was read; nothing of the transaction was written."""


class BlockedError(FixauditError):
    """A person or an agent must act before anything can be attempted (exit 3)."""

    exit_code = 3
