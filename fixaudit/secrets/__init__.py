"""What a credential looks like: provider patterns, names, values, and where each kind of file keeps them.

Pure functions of texts. This package must not know of rules, relations or the project around a file.
"""


def listed(words: str) -> frozenset[str]:
    """Return the words of a list that is written as one text."""
    return frozenset(words.split())
