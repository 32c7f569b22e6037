"""The named prompts of the server's configuration, which clients refer to by name."""

import re
from collections.abc import Mapping
from typing import Annotated, ClassVar

from assistant.config.toml_table import TomlTable
from declarations.settings import KeyInfo

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")


class Prompts(TomlTable):
    """Prompts: names and texts, in which {{name}} stands for a variable."""

    __slots__ = ()
    max_chars: ClassVar[int] = 200_000

    @classmethod
    def form(cls) -> str:
        """See `TomlTable.form`."""
        return 'a table of texts, as in { support = "You help customers of {{company}}." }'

    @classmethod
    def _check(cls, raw: Mapping[str, object]) -> None:
        if not all(_NAME.fullmatch(name) and isinstance(text, str) and text.strip() for name, text in raw.items()):
            raise ValueError(f"must be {cls.form()}; a name has letters, digits, -, _ and .")

    @property
    def texts(self) -> dict[str, str]:
        """The texts by name."""
        return {name: str(text) for name, text in self.values.items()}


NO_PROMPTS = Prompts()

PromptsKey = Annotated[
    Prompts,
    KeyInfo("Prompts that a client may name in `session.prompt`; {{name}} stands for a variable that it gives."),
]
