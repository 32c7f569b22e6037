"""The files of a Whisper model for CTranslate2. Nothing is ever downloaded here."""

from pathlib import Path

_NEEDED = ("model.bin", "config.json", "tokenizer.json")
"""Without tokenizer.json faster-whisper would fetch one from the network."""

_VOCABULARIES = ("vocabulary.json", "vocabulary.txt")
"""CTranslate2 reads either: which there is differs from one conversion to the next."""


def lacking(folder: Path) -> list[str]:
    """The files that a folder lacks, or has empty, to be a model's."""
    found = [name for name in _NEEDED if not _is_there(folder / name)]
    if not any(_is_there(folder / name) for name in _VOCABULARIES):
        found.append(_VOCABULARIES[0])
    return found


def _is_there(path: Path) -> bool:
    try:
        return path.is_file() and path.stat().st_size > 0
    except OSError:  # it may not be looked at
        return False
