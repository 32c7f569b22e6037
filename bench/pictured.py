"""What the pictures of README and docs must show: the recognizer that `make setup` brings, not a stand-in for it."""

from collections.abc import Sequence

SETUP_RECOGNIZER = "faster-whisper"
"""With its model tiny.en, which deploy/setup.sh fetches."""


def check_recognizer(shown: str, settings: Sequence[str] = ()) -> None:
    """Ends the script where another recognizer is shown than set-up brings.

    Args:
        shown: The name of the recognizer in the picture.
        settings: As given with --set: one that names the recognizer is meant so.
    """
    wanted = shown == SETUP_RECOGNIZER or any(setting.startswith("stt.engine=") for setting in settings)
    if not wanted:
        raise SystemExit(
            f"the picture would show {shown}, and set-up brings {SETUP_RECOGNIZER}: repartee models pull tiny.en"
        )
