"""hibari's conversion of text to phonemes, with its tables parsed in a third of the time."""

import zlib
from pathlib import Path

import orjson
from hibari.g2p import G2P
from hibari.g2p.lexicon import Lexicon
from hibari.g2p.oov import OOV
from hibari.g2p.tagger import Tagger
from hibari.g2p.tokenize import Tokenizer

_GZIP = 31
"""zlib's window size for the gzip format."""


class Reader(G2P):  # type: ignore[misc]  # it ships without types
    """Reads American English. Not thread-safe."""

    def __init__(self, folder: Path, unknown_words: object) -> None:
        """Reads the tables. Holds the interpreter lock for up to 60 ms at a time.

        Args:
            folder: Folder of the package's files.
            unknown_words: Session of the network for words outside of the lexicon.

        Raises:
            OSError: A table cannot be read.
            ValueError: A table is damaged.
        """
        self.lexicon = Lexicon(_table(folder, "lexicon_us_gold"), _table(folder, "lexicon_us_silver"), british=False)
        self.tokenizer = Tokenizer(orjson.loads((folder / "tokenizer_exceptions.json").read_bytes()))
        self.tagger = Tagger(_table(folder, "tagger"))
        self.british = False
        self.unk = ""
        self._oov = OOV(str(folder / "oov.onnx"), unknown_words)


def _table(folder: Path, name: str) -> object:
    try:
        return orjson.loads(zlib.decompress((folder / f"{name}.json.gz").read_bytes(), _GZIP))
    except zlib.error as damaged:
        raise ValueError(str(damaged)) from damaged
