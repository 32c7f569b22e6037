"""Tells how to install an optional extra. `audio/extra.py` uses the same words."""


def installing(extra: str) -> str:
    """Returns the install command as part of a sentence.

    It installs from the folder, not by name: another program on PyPI is called repartee.
    """
    return f"run `.venv/bin/pip install -e '.[{extra}]'` in Repartee's folder"
