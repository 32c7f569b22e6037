"""Loads botocore, which implements AWS's credentials, signatures and event streams. Optional; imported on first use."""

import importlib
import logging
from types import ModuleType

_USED = ("auth", "awsrequest", "config", "eventstream", "exceptions", "session")


def sdk(name: str) -> ModuleType:
    """Returns a module of botocore, such as `sdk("auth")`. The first import takes 0.1 s or more."""
    return importlib.import_module(f"botocore.{name}")


def import_sdk() -> None:
    """Imports all modules that are used; call it in a thread before the first request."""
    for name in _USED:
        sdk(name)
    # At DEBUG level, botocore logs session tokens, signatures and whole answers of the token service.
    logger = logging.getLogger("botocore")
    logger.setLevel(max(logger.level, logging.INFO))
