"""What was pulled onto this machine, for the few tests of it: `conftest` hides it from all others."""

from assistant.models.catalogue import TINY_EN
from assistant.models.needs import installed

TINY_EN_FOLDER = installed(TINY_EN)
"""tiny.en, as `make setup` fetches it where there is a package index; None: it could not."""
