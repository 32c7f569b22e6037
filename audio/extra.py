"""The installation instruction for an optional extra. `llm/extra.py` has the same text."""


def installing(extra: str) -> str:
    """Returns the instruction as part of a sentence. It has no package name: "repartee" on PyPI is another program."""
    return f"run `.venv/bin/pip install -e '.[{extra}]'` in Repartee's folder"
