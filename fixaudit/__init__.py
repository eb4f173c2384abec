"""Audit a repository against declarative rule packs and fix what can be fixed and verified."""

__version__ = "0.1.0"
