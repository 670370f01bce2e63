"""`python -m astonish` is the command `astonish`."""

from astonish.cli.app import main

main()
