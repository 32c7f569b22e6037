"""Section of config.toml for the reading of documents; see `assistant/config/settings.py`."""

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from assistant.config.keys import ConfigSection
from assistant.support.paths import HomeError, at_home
from declarations.settings import KeyInfo


@dataclass(frozen=True, slots=True)
class DocumentsSection(ConfigSection):
    """Summaries of documents: `repartee read`, and a tool of the language model."""

    folders: Annotated[
        str,
        KeyInfo(
            "Folders whose documents the language model may summarize during a conversation, split as by a shell; "
            "empty: none. `repartee read` reads the files that it is given."
        ),
    ] = ""
    max_parallel: Annotated[
        int,
        KeyInfo("Parts that are asked at the same time; a model on this machine is asked one.", unit="parts",
                low=1, high=64),
    ] = 4  # fmt: skip
    max_parts: Annotated[int, KeyInfo("Largest number of parts in one reading.", unit="parts", low=1, high=1000)] = 40
    max_price: Annotated[
        float,
        KeyInfo(
            "Largest estimated price of one reading, in the currency of price_in_per_million and "
            "price_out_per_million; 0: no limit.",
            low=0,
            high=10000,
        ),
    ] = 0.0
    part_chars: Annotated[
        int, KeyInfo("Longest part that is asked at once.", unit="characters", low=500, high=100000)
    ] = 4000

    def __post_init__(self) -> None:
        """Raises ValueError with the key and the allowed values."""
        ConfigSection.__post_init__(self)
        try:
            folders = self.allowed_folders
        except ValueError:
            raise ValueError("folders must have a closing quote for each opening one") from None
        except HomeError as error:
            raise ValueError(f"folders must be folders' paths; {error}") from None
        if any(not folder.is_absolute() for folder in folders):
            raise ValueError("folders must be absolute paths, or begin with ~")

    @property
    def allowed_folders(self) -> tuple[Path, ...]:
        """`folders` as paths."""
        return tuple(at_home(folder) for folder in shlex.split(self.folders))
