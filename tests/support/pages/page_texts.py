"""Reads the texts of the page."""

import json
import re

from web.app import STATIC

LANGUAGES = ("de", "en", "es", "fr")
TEXTS = STATIC / "texts"

_ENTRY = re.compile(r'^  ("[^"\n]+"): ("(?:\\.|[^"\\\n])*"),$', re.MULTILINE)


def table(language: str) -> dict[str, str]:
    """Returns the texts of a language by their keys."""
    source = (TEXTS / f"{language}.js").read_text(encoding="utf-8")
    pairs = [(json.loads(key), json.loads(value)) for key, value in _ENTRY.findall(source)]
    assert len(pairs) == len(dict(pairs)), f"{language}: a key is there twice"
    assert len(pairs) == source.count('": "'), f"{language}: an entry has another form"
    return dict(pairs)
