"""Entry point of the program `repartee`: limits that are too small end it in one sentence, Ctrl-C at any time."""

import sys

from assistant.support import process_limits


def main() -> None:
    """Imports the commands and runs one; see assistant.commands.cli."""
    if problem := process_limits.refusal(sys.argv[1:]):
        _refuse(problem)
    try:
        from assistant.commands.cli import main as run  # noqa: PLC0415 - after the limits are checked

        run()
    except KeyboardInterrupt:  # pressed during half a second of imports
        sys.exit(130)
    except Exception as error:
        if problem := process_limits.cause(error, sys.argv[1:]):
            _refuse(problem)
        raise


def _refuse(problem: str) -> None:
    sys.stderr.write(f"repartee: {problem}\n")
    sys.exit(process_limits.EXIT_CODE)
