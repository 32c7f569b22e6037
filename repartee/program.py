"""Entry point of the program `repartee`: too small limits and an incomplete installation end it in one sentence."""

import sys

from assistant.support import process_limits

OWN_PACKAGES = frozenset({"assistant", "audio", "declarations", "llm", "repartee", "web"})


def main() -> None:
    """Imports the commands and runs one; see repartee.cli."""
    if problem := process_limits.refusal(sys.argv[1:]):
        _refuse(problem)
    try:
        from repartee.cli import main as run  # after the limits are checked

        run()
    except KeyboardInterrupt:  # pressed during half a second of imports
        sys.exit(130)
    except Exception as error:
        from assistant.registry.entry_points import EnginesNotRegisteredError

        not_registered = str(error) if isinstance(error, EnginesNotRegisteredError) else ""
        if problem := not_registered or _missing_package(error) or process_limits.cause(error, sys.argv[1:]):
            _refuse(problem)
        raise


def _missing_package(error: BaseException) -> str:
    """Returns what to do about a package that is not installed, as a sentence; "" for another error."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    name = (error.name or "").partition(".")[0] if isinstance(error, ModuleNotFoundError) else ""
    if not name or name in OWN_PACKAGES:
        return ""
    return (
        f"this command needs the package {name}, which is not installed. An installation by `make satellite` has what "
        "`talk --server`, `doctor --satellite` and `service` need; `make setup` installs the rest."
    )


def _refuse(problem: str) -> None:
    sys.stderr.write(f"repartee: {problem}\n")
    sys.exit(process_limits.EXIT_CODE)
