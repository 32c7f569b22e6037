"""Finds the configuration files to read, and the one that commands change."""

import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from assistant.support.paths import HomeError, at_home, config_folder

VARIABLE = "REPARTEE_CONFIG"
"""Environment variable that names the configuration file, like --config."""

NAME = "config.toml"


@dataclass(frozen=True, slots=True)
class ConfigFiles:
    """The configuration files of one run.

    Attributes:
        project: The commented defaults that come with the program; never changed by a command. None: not there, or a
            file was named.
        own: The file that was named, else the user's. None: there is no home folder.
        is_named: Whether `own` was named; then it has to exist.
    """

    project: Path | None
    own: Path | None
    is_named: bool

    @property
    def to_read(self) -> Path | None:
        """`own` if it was named or exists."""
        return self.own if self.own is not None and (self.is_named or is_there(self.own)) else None


def config_files(config: Path | None, environ: Mapping[str, str]) -> ConfigFiles:
    """Finds the files. A config.toml in the working directory counts only if it is named.

    Args:
        config: The file of --config, if any.
        environ: Environment variables; `VARIABLE` names a file where --config does not.

    Raises:
        HomeError: The named path begins with ~, and there is no such home folder.
    """
    if config is None and (named := environ.get(VARIABLE)):
        config = at_home(named)
    if config is not None:
        return ConfigFiles(None, config, is_named=True)
    try:
        own = config_folder() / NAME
    except HomeError:
        own = None
    return ConfigFiles(_project_file(), own, is_named=False)


def is_there(file: Path) -> bool:
    """Returns whether the file exists. True if its folder cannot be read: reading the file then reports it."""
    try:
        return stat.S_ISREG(file.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True


def _project_file() -> Path | None:
    package = Path(__file__).parents[1]
    # The folder above belongs to the project only in a checkout: an installed package has other packages beside it.
    checkout = [package.parent] if (package.parent / "pyproject.toml").is_file() else []
    return next((folder / NAME for folder in (package, *checkout) if is_there(folder / NAME)), None)
