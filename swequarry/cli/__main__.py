"""`python -m swequarry.cli` is the same as `swequarry`."""

from swequarry.cli.main import main

main()
