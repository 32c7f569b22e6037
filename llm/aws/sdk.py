"""botocore, which knows AWS's credentials, signatures and frames. An extra: imported on use, never with a module."""

import importlib
import importlib.util
import logging
from types import ModuleType

from llm.extra import installing

_USED = ("auth", "awsrequest", "config", "eventstream", "exceptions", "session")


def demand_sdk(endpoint: str) -> None:
    """Raises ValueError, naming the extra, where botocore is not installed. Imports nothing."""
    if importlib.util.find_spec("botocore") is None:
        remedy = installing("aws")
        raise ValueError(f"llm endpoint {endpoint!r}: AWS's services need botocore, which is not installed: {remedy}")


def sdk(name: str) -> ModuleType:
    """One module of botocore, as `sdk("auth")`. The first import of them takes a tenth of a second and more."""
    return importlib.import_module(f"botocore.{name}")


def import_sdk() -> None:
    """Import all that is used here; to be called in a thread before the first request needs them."""
    for name in _USED:
        sdk(name)
    # At DEBUG it writes session tokens, signatures and whole answers of the token service into the log.
    logger = logging.getLogger("botocore")
    logger.setLevel(max(logger.level, logging.INFO))
