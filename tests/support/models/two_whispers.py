"""Installs two Whisper models of the catalogue that take no time, for tests of the choice between them."""

import json
import shutil
from pathlib import Path

import pytest
from support.models.synthetic_whisper import cached_whisper


def install_two_whispers(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Installs tiny and base.en, which say "what time is it", in a cache of their own. Returns the cache."""
    monkeypatch.setenv("HF_HUB_CACHE", str(folder / "hub"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    for name in ("tiny", "base.en"):
        place = folder / "hub" / f"models--Systran--faster-whisper-{name}" / "snapshots" / "c"
        shutil.copytree(cached_whisper("what", "time", "is", "it"), place)
        # As on the hub, where CTranslate2 converts it to a .json.
        vocabulary = json.loads((place / "vocabulary.json").read_text(encoding="utf-8"))
        (place / "vocabulary.txt").write_text("\n".join(vocabulary))
    return folder / "hub"
