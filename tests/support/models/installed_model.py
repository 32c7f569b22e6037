"""Locations of the pulled models, for the few tests that use them. `conftest` hides them from all others.

Test subprocesses inherit the hidden state, and the locations with it.
"""

import contextlib
import os
from pathlib import Path

from assistant.models.needs import folder_of, installed
from audio.stt.whisper.catalogue import TINY_EN
from audio.tts.piper.catalogue import JOE
from declarations.models import Model


def _where(variable: str, model: Model) -> Path | None:
    """Returns where a model is; None if it is missing. The variable keeps what was found before it was hidden."""
    found = os.environ.setdefault(variable, str(installed(model) or ""))
    return Path(found) if found else None


TINY_EN_FOLDER = _where("TINY_EN_OF_THIS_MACHINE", TINY_EN)
"""Folder of tiny.en, fetched by `make setup` if a package index is available; None if it was not."""

JOE_FILE = _where("JOE_OF_THIS_MACHINE", JOE)
"""File of the voice Joe, likewise."""


def data_without_voices(temporary: Path) -> Path:
    """Returns a data folder with the models of this machine's own, except voices."""
    turns = folder_of("smart-turn")
    folder = temporary / "repartee-tests-no-voices"
    if turns.parents[1] != folder:
        (folder / "repartee").mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            (folder / "repartee" / turns.name).symlink_to(turns)
    return folder
