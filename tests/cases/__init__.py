"""Small inputs made after public bug reports about comparable tools; see `runner` and tests/test_cases.py."""
