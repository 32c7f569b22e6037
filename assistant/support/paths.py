"""Expands ~ in paths. For a user without an account entry the home folder is known only from HOME."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

import platformdirs


class HomeError(Exception):
    """The home folder is not known. The text is one sentence: the path, and what to do next."""


def at_home(place: str) -> Path:
    """Expands ~/ and ~name/ at the start of a path. Raises HomeError if there is no such home folder."""
    own = place.partition("/")[0] == "~"
    nowhere = HomeError(
        f"{place}: no home folder is known. Set HOME; or XDG_DATA_HOME, for models and conversations, and HF_HOME, "
        "for models in the Hugging Face cache."
    )
    if own and os.environ.get("HOME") == "":  # an empty HOME would mean the root folder
        raise nowhere
    try:
        return Path(place).expanduser()
    except RuntimeError as error:
        if not own:
            raise HomeError(f"{place}: there is no such home folder; correct the path.") from error
        raise nowhere from error


def data_folder(environ: Mapping[str, str]) -> Path:
    """Returns this program's folder in the user's data folder. Raises HomeError."""
    home = environ.get("XDG_DATA_HOME") or (environ.get("LOCALAPPDATA") if sys.platform == "win32" else "")
    return at_home(home or "~/.local/share") / "repartee"


def config_folder() -> Path:
    """Returns the folder of the user's configuration; it need not exist. Raises HomeError."""
    unknown = HomeError("the configuration: no home folder is known. Set HOME or XDG_CONFIG_HOME, or use --config.")
    if os.environ.get("HOME") == "" and not os.environ.get("XDG_CONFIG_HOME"):  # it would mean the root folder
        raise unknown
    try:
        return platformdirs.user_config_path("repartee", appauthor=False)
    except RuntimeError as error:
        raise unknown from error
