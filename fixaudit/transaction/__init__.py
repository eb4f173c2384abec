"""Writing to the user's files: all of a change set or none, journalled, recoverable and undoable."""

from fixaudit.transaction.journal import Journal, Transaction
from fixaudit.transaction.recover import Index, Recovered, recover
from fixaudit.transaction.undo import Undone, undo_rule, undo_run
from fixaudit.transaction.write import NotWritten, Written, apply

__all__ = [
    "Index",
    "Journal",
    "NotWritten",
    "Recovered",
    "Transaction",
    "Undone",
    "Written",
    "apply",
    "recover",
    "undo_rule",
    "undo_run",
]
