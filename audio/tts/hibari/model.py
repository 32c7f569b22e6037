"""Loads the voice into onnxruntime and synthesizes one sentence at a time, which can be stopped. Not thread-safe."""

import hashlib
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnxruntime
import orjson
from hibari.g2p import G2P
from hibari.g2p.lexicon import Lexicon
from hibari.g2p.oov import OOV
from hibari.g2p.tagger import Tagger
from hibari.g2p.tokenize import Tokenizer

from audio import onnx_messages as onnx
from audio.errors import EngineLoadError
from audio.execution_provider import OpenedSession, ProviderInUse, ProviderRequest, open_session
from audio.tts.hibari.phonemizer import Phonemizer
from audio.tts.hibari.vocoder import HOP_SAMPLES, RATE_HZ, Spectra, sound_pieces
from audio.tts.streaming.phonemes import Phonemes
from audio.tts.streaming.sentence_sound import SentenceSound, StopSwitch, checked, failure_of

_FATAL = 4
_DURATIONS = "/Round_output_0"
"""Inner tensor with the duration of each phoneme id, in units of 2 frames (25 ms)."""

_UNIT_FRAMES = 2
_EARLY_FRAMES = 4
"""Frames by which a phoneme sounds before its place in the durations.

Measured: the energy fits the vowels best 4 frames earlier, 6 at half and 3 at double speed.
"""

SLOWEST, FASTEST = 0.5, 2.0
"""Speeds that the voice is made for."""


_GZIP = 31
"""zlib's window size for the gzip format."""


PACKAGE = "hibari-tts"

REMEDY = f"install the package {PACKAGE} again"

_VOICE = "hibari.onnx"
_UNKNOWN_WORDS = "oov.onnx"
_SHA256 = {
    _VOICE: "5f70741d4e900f4e85d0037498736cc1b3e1b9a63a13546a5da1e63abf4fccd8",
    _UNKNOWN_WORDS: "d3cfd8122c5f172a98c8de38268bf1213ee09f2c2ae4df6e055fc6532590fe76",
}
"""Hashes of the two networks in hibari-tts 0.2.1."""


@dataclass(frozen=True, slots=True)
class HibariFiles:
    """The voice's files.

    Attributes:
        voice: The network that makes sound of phonemes.
        unknown_words: The network that makes phonemes of letters.
        ids: The id of each phoneme.
        folder: The folder of all files.
    """

    voice: bytes
    unknown_words: bytes
    ids: Mapping[str, int]
    folder: Path


def read_files() -> HibariFiles:
    """Reads and checks the files. Raises EngineLoadError."""
    spec = find_spec("hibari")
    if spec is None or spec.origin is None:
        raise EngineLoadError(f"the package {PACKAGE} is not installed: run `make setup`, or choose another tts.engine")
    folder = Path(spec.origin).parent / "assets"
    try:
        voice, unknown_words = (_checked(folder / name) for name in (_VOICE, _UNKNOWN_WORDS))
        ids = orjson.loads((folder / "vocab.json").read_bytes())
    except OSError as refused:
        raise EngineLoadError(f"{refused.filename} cannot be read ({refused.strerror}): {REMEDY}") from refused
    except ValueError as broken:
        raise EngineLoadError(f"{folder / 'vocab.json'} is not JSON: {REMEDY}") from broken
    return HibariFiles(voice, unknown_words, ids, folder)


def _checked(path: Path) -> bytes:
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != _SHA256[path.name]:
        raise EngineLoadError(f"{path} is not the file that this program was tested with (its hash differs): {REMEDY}")
    return content


class Reader(G2P):  # type: ignore[misc]  # it ships without types
    """Reads American English. Not thread-safe.

    It parses the package's tables itself, because that takes a third of the time of the package's own parsing.
    """

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


class HibariModel:
    """The loaded voice.

    Attributes:
        rate_hz: Sample rate of its sound.
        provider: Where it computes: the CPU.
        fallback: See `OpenedSession.fallback`.
        phonemizer: Reads text.
    """

    def __init__(self, phonemizer: Phonemizer | None = None) -> None:
        """Reads, checks and loads the files. Raises EngineLoadError.

        `phonemizer`: that of an earlier model. Without it, loading holds the interpreter lock for up to 60 ms at
        a time, while the lexica are parsed.
        """
        files = read_files()
        # int8 on one thread: a GPU or more threads gain nothing for sentences.
        voice = _session(onnx.with_output(files.voice, _DURATIONS))
        self.rate_hz = RATE_HZ
        self.provider: ProviderInUse = voice.provider
        self.fallback = ""
        self._session = voice.session
        self._ids = files.ids
        if phonemizer is None:
            unknown_words = _session(files.unknown_words)
            phonemizer = Phonemizer(_reader(files, unknown_words), frozenset(files.ids))
        self.phonemizer = phonemizer

    def sentence(self, phonemes: Phonemes, switch: StopSwitch, speed: float = 1.0) -> SentenceSound:
        """Synthesizes one sentence. `speed`: limited to SLOWEST..FASTEST. Raises StoppedError, TtsError."""
        ids = np.array([[0, *(self._ids[sign] for sign in phonemes), 0]], np.int64)
        speeds = np.array([min(max(speed, SLOWEST), FASTEST)], np.float32)
        try:
            *spectra, durations = self._session.run(None, {"ids": ids, "speed": speeds}, switch.options)
        except Exception as failure:
            # onnxruntime has a class of its own for every code and no root for them.
            raise failure_of(switch, failure, "Hibari") from failure
        made = Spectra(*(part[0] for part in spectra))
        ends = _ends(np.reshape(durations, -1), made.frames)
        lead_frames = 0 if ends is None else int(ends[0]) // HOP_SAMPLES
        pieces = checked(sound_pieces(made, lead_frames), switch, "Hibari")
        return SentenceSound(pieces, ends, made.frames * HOP_SAMPLES)


def _reader(files: HibariFiles, unknown_words: OpenedSession) -> Reader:
    try:
        return Reader(files.folder, unknown_words.session)
    except (OSError, ValueError) as broken:
        raise EngineLoadError(f"the lexicon in {files.folder} cannot be read ({broken}): {REMEDY}") from broken


def _ends(durations: npt.NDArray[np.float32], frames: int) -> npt.NDArray[np.int64] | None:
    """Returns `SentenceSound.ends`; None if the durations are not those of the sound."""
    after = np.cumsum(np.maximum(durations, 1) * _UNIT_FRAMES).astype(np.int64)  # no phoneme is shorter than a unit
    if after[-1] != frames:
        return None
    # The first and the last id are padding.
    return np.maximum(after[:-1] - _EARLY_FRAMES, 0) * HOP_SAMPLES


def _session(model: bytes) -> OpenedSession:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = _FATAL
    # Every sentence has another length, so that a pattern of memory is hardly ever used again.
    options.enable_mem_pattern = False
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    try:
        return open_session(model, options, ProviderRequest("", "cpu"))
    except Exception as refused:
        # onnxruntime has a class of its own for every code and no root for them.
        raise EngineLoadError(
            f"onnxruntime cannot load Hibari ({type(refused).__name__}): update onnxruntime"
        ) from refused
