"""Entry point of the program `repartee`. It handles Ctrl-C even while the program is still being imported."""

import sys


def main() -> None:
    """Imports the commands and runs one; see assistant.commands.cli."""
    try:
        from assistant.commands.cli import main as run  # noqa: PLC0415

        run()
    except KeyboardInterrupt:  # pressed during half a second of imports
        sys.exit(130)
