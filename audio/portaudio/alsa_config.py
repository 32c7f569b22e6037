"""Whether ALSA, the sound system of Linux, has a configuration at all.

Without one, libasound ends whatever program asks it for sound cards (SIGABRT), and says nothing that helps a person.
"""

from collections.abc import Mapping
from pathlib import Path

_FOLDER = "/usr/share/alsa"


def lacking(environ: Mapping[str, str], platform: str) -> str:
    """What ALSA would read and what is missing or empty, and the remedy; "" where there is something to read.

    Args:
        environ: Where ALSA_CONFIG_PATH and ALSA_CONFIG_DIR are.
        platform: As `sys.platform` has it.
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
    except OSError:  # a folder that may not be looked into
        return False
