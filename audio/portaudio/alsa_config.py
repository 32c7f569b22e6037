"""Checks whether ALSA, the sound system of Linux, has a configuration with sound devices.

Without one, libasound aborts any program that lists sound cards (SIGABRT), without a helpful message. The check reads
the files themselves, not the files that they include: what seems to lack a configuration may have one.
"""

import re
from collections.abc import Mapping
from pathlib import Path

_FOLDER = "/usr/share/alsa"
_MAX_CHARS = 1 << 20
_DEVICE = re.compile(r"""^[^#\n]*?\bpcm['"]?\s*(\.|\{\s*[^\s}#])""", re.MULTILINE)
"""A sound device in a configuration: "pcm.name …", "pcm { name …"."""


def lacking(environ: Mapping[str, str], platform: str) -> str:
    """Returns which configuration is missing or has no devices, and the remedy; "" if there is one.

    Args:
        environ: Environment with ALSA_CONFIG_PATH and ALSA_CONFIG_DIR.
        platform: Value of `sys.platform`.
    """
    if not platform.startswith("linux"):
        return ""
    if named := environ.get("ALSA_CONFIG_PATH", ""):
        if any(_has_devices(Path(path)) for path in named.split(":") if path):
            return ""
        return f"ALSA_CONFIG_PATH names {named}, which is missing or has no devices: correct it, or unset it"
    file = Path(environ.get("ALSA_CONFIG_DIR") or _FOLDER) / "alsa.conf"
    if _has_devices(file):
        return ""
    return (
        f"its configuration {file} is missing or has no devices: install it again (Debian and Ubuntu: libasound2-data)"
    )


def _has_devices(file: Path) -> bool:
    try:
        if not file.is_file():
            return False
        with file.open(encoding="utf-8", errors="replace") as content:
            return _DEVICE.search(content.read(_MAX_CHARS)) is not None
    except OSError:  # it is missing, a folder, or without permission
        return False
