"""Checks whether ALSA, the sound system of Linux, has a configuration.

Without one, libasound aborts any program that lists sound cards (SIGABRT), without a helpful message.
"""

from collections.abc import Mapping
from pathlib import Path

_FOLDER = "/usr/share/alsa"


def lacking(environ: Mapping[str, str], platform: str) -> str:
    """Returns which configuration is missing or empty, and the remedy; "" if there is one.

    Args:
        environ: Environment with ALSA_CONFIG_PATH and ALSA_CONFIG_DIR.
        platform: Value of `sys.platform`.
    """
    if not platform.startswith("linux"):
        return ""
    if named := environ.get("ALSA_CONFIG_PATH", ""):
        if any(_holds_something(Path(path)) for path in named.split(":") if path):
            return ""
        return f"ALSA_CONFIG_PATH names {named}, which is missing or empty: correct it, or unset it"
    file = Path(environ.get("ALSA_CONFIG_DIR") or _FOLDER) / "alsa.conf"
    if _holds_something(file):
        return ""
    return f"its configuration {file} is missing or empty: install it again (Debian and Ubuntu: libasound2-data)"


def _holds_something(file: Path) -> bool:
    try:
        return file.is_file() and file.stat().st_size > 0
    except OSError:  # a folder without permission
        return False
