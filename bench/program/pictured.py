"""Checks that pictures in README and docs show the recognizer that `make setup` installs, not a fallback."""

from collections.abc import Sequence

SETUP_RECOGNIZER = "faster-whisper"
"""Recognizer that deploy/setup.sh installs, with its model tiny.en."""


def check_recognizer(shown: str, settings: Sequence[str] = ()) -> None:
    """Exits if the picture shows another recognizer than the one that setup installs.

    Args:
        shown: Name of the recognizer in the picture.
        settings: Settings given with --set. One that names the recognizer permits it.
    """
    is_needed = shown == SETUP_RECOGNIZER or any(setting.startswith("stt.engine=") for setting in settings)
    if not is_needed:
        raise SystemExit(
            f"the picture would show {shown}, but set-up installs {SETUP_RECOGNIZER}: run repartee models pull tiny.en"
        )
