"""Places in the user's home folder, which a user that the system does not know has only where HOME says so."""

import os
from pathlib import Path


class HomeError(Exception):
    """A place that cannot be told. The text is one sentence: which, and what to do next."""


def at_home(place: str) -> Path:
    """A path in which ~/ is the home folder, and ~name/ that of another user. Raises HomeError where there is none."""
    own = place.partition("/")[0] == "~"
    nowhere = HomeError(
        f"{place}: no home folder is known. Set HOME; or XDG_DATA_HOME, for models and conversations, and HF_HOME, "
        "for Whisper models."
    )
    if own and os.environ.get("HOME") == "":  # which would be the root of the disk
        raise nowhere
    try:
        return Path(place).expanduser()
    except RuntimeError as error:
        if not own:
            raise HomeError(f"{place}: nobody's home folder is called that; correct the path.") from error
        raise nowhere from error
