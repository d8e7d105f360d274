"""`python -m turnkeeper.cli`, the same as `turnkeeper`."""

from turnkeeper.cli.main import main

main()
