"""`python -m mapdp` is the command line."""

from mapdp.cli import main

main()
