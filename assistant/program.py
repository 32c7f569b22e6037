"""Entry point of installations older than the package `repartee`: tells that the program must be installed again."""

import sys


def main() -> None:
    """Ends the process with status 2 and the remedy. The console script of an older installation calls it."""
    sys.stderr.write(
        "repartee: this installation is older than the source: run `make setup`, or `pip install --no-deps -e .` in "
        "Repartee's folder.\n"
    )
    sys.exit(2)
