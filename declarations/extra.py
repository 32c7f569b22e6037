"""The installation instruction for an optional extra."""

import sys
from pathlib import Path


def installing(extra: str) -> str:
    """Returns the instruction as part of a sentence. It has no package name: "repartee" on PyPI is another program."""
    command = f"`.venv/bin/pip install -e '.[{extra}]'`"
    # pipx and `uv tool` leave a file in their environments, which have no pip.
    if Path(sys.prefix, "pipx_metadata.json").exists():
        command = f"`pipx install --force '.[{extra}]'`"
    elif Path(sys.prefix, "uv-receipt.toml").exists():
        command = f"`uv tool install --force '.[{extra}]'`"
    return f"run {command} in Repartee's folder"
