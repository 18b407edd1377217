"""`python -m meantime.cli`."""

from meantime.cli import main

main()
