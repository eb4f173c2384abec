"""`python -m fixaudit`."""

from fixaudit.cli.main import main

main()
