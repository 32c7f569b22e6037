"""Where the program `repartee` begins: Ctrl-C while it is still being loaded is no traceback either."""

import sys


def main() -> None:
    """Load the commands and run one; see assistant.commands.cli."""
    try:
        from assistant.commands.cli import main as run  # noqa: PLC0415

        run()
    except KeyboardInterrupt:  # half a second of imports, before anything could answer it
        sys.exit(130)
