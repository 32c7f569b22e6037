"""How an extra is installed: the same words wherever one is missing. `llm/extra.py` says it likewise."""


def installing(extra: str) -> str:
    """What to do, as part of a sentence. Never by name: on PyPI another program is called repartee."""
    return f"run `.venv/bin/pip install -e '.[{extra}]'` in Repartee's folder"
