"""Location of the pulled model, for the few tests that use it. `conftest` hides it from all others.

Test subprocesses inherit the hidden state, and the location with it.
"""

import os
from pathlib import Path

from assistant.models.catalogue import TINY_EN
from assistant.models.needs import installed

_WHERE = os.environ.setdefault("TINY_EN_OF_THIS_MACHINE", str(installed(TINY_EN) or ""))

TINY_EN_FOLDER = Path(_WHERE) if _WHERE else None
"""Folder of tiny.en, fetched by `make setup` if a package index is available; None if it was not."""
