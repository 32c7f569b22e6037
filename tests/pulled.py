"""What was pulled onto this machine, for the few tests of it: `conftest` hides it from all others.

Tests that run in several processes inherit what is hidden, and with it the place where it was.
"""

import os
from pathlib import Path

from assistant.models.catalogue import TINY_EN
from assistant.models.needs import installed

_WHERE = os.environ.setdefault("TINY_EN_OF_THIS_MACHINE", str(installed(TINY_EN) or ""))

TINY_EN_FOLDER = Path(_WHERE) if _WHERE else None
"""tiny.en, as `make setup` fetches it where there is a package index; None: it could not."""
