"""Checks the files of a Whisper model for CTranslate2. Downloads nothing."""

from pathlib import Path

_NEEDED = ("model.bin", "config.json", "tokenizer.json")
"""Required files. Without tokenizer.json faster-whisper would download one."""

VOCABULARIES = ("vocabulary.json", "vocabulary.txt")
"""Vocabulary files, of which CTranslate2 needs one; conversions differ in which they contain."""


def lacking(folder: Path) -> list[str]:
    """Returns the required model files that are missing or empty in a folder."""
    found = [name for name in _NEEDED if not _is_there(folder / name)]
    if not any(_is_there(folder / name) for name in VOCABULARIES):
        found.append(VOCABULARIES[0])
    return found


def _is_there(path: Path) -> bool:
    try:
        return path.is_file() and path.stat().st_size > 0
    except OSError:  # no permission
        return False
