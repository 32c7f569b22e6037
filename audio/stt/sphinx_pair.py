"""Two pocketsphinx decoders over the same sound: one that knows English, one that knows the commands.

Blocks while it decodes and holds the interpreter lock: lives in a process of its own (sphinx_worker).
"""

import os
import tempfile
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from pocketsphinx import Decoder

from audio.stt.command_lm import agrees, arpa, known_words, phone_distance, possessive, shape
from audio.stt.hypothesis import Hypothesis, is_filler, plain
from audio.stt.sphinx_wire import LoadReport

_QUIET = {"loglevel": "FATAL", "logfn": os.devnull}
_GENERAL = {"fwdflat": False, "bestpath": False, "maxhmmpf": 3000, "maxwpf": 5, "pl_window": 1}
"""One pass, pruned: final within tens of ms instead of hundreds, at the same word error rate. What the search looks
ahead (pl_window, frames of 10 ms) has to be waited for: the package's own 5 bring it no better words (docs/stt.md)."""
_COMMAND = {"fwdflat": False, "bestpath": False, "lw": 10.0, "wip": 0.2}
"""With few words the language model may weigh more (lw 6.5 and wip 0.65 are the package's own). It looks 50 ms ahead:
with 10 it heard "what's eleven like" for "what's the weather like"."""


@dataclass(frozen=True, slots=True)
class PairResult:
    """What the pair makes of a segment so far. `low_confidence`: by the general language model."""

    text: str
    low_confidence: bool


class SphinxPair:
    """The decoders of one conversation: their running means of the microphone's spectrum (CMN) adapt over it."""

    def __init__(self, commands: Iterable[str], cmn: str = "") -> None:
        """Load; takes 0.5 s. `cmn`: means learned before, "" for the model's own. Raises RuntimeError, OSError."""
        self._general = Decoder(**_GENERAL, **_QUIET)
        sentences = frozenset(" ".join(command.split()) for command in commands) - {""}
        self._lexicon, missing = _pronounce(self._general, known_words(sentences))
        self._known = frozenset(s for s in sentences if missing.isdisjoint(s.split()))
        self._shapes = frozenset(map(shape, self._known))
        self.left_out = len(sentences) - len(self._known)
        self.missing = missing
        self._command = _command_decoder(self._known, self._lexicon) if self._known else None
        self._decoders = [self._general, *([self._command] if self._command else [])]
        self._untaught = [decoder.get_cmn() for decoder in self._decoders]
        self._means: list[str] = [cmn or untaught for untaught in self._untaught]
        self._set_means()

    def report(self, version: str) -> LoadReport:
        """What was loaded, for the screen."""
        kept, missing = len(self._known), sorted(self.missing)
        return LoadReport(version=version, kept=kept, left_out=self.left_out, missing=missing)

    @property
    def cmn(self) -> str:
        """The learned means of the general decoder: as good for the other, for both hear the same."""
        return self._means[0]

    def start(self) -> None:
        """Begin a segment."""
        for decoder in self._decoders:
            decoder.start_utt()

    def feed(self, pcm: bytes) -> None:
        """Take PCM16 at 16 kHz."""
        for decoder in self._decoders:
            decoder.process_raw(pcm, no_search=False, full_utt=False)

    def result(self) -> PairResult:
        """The words of everything fed; the segment goes on.

        Of the running search: ending it, or padding with silence to flush what it looks ahead, was no better
        from 60 ms after the last sound of speech on (docs/stt.md).
        """
        general = self._hypothesis(self._general)
        if self._command is not None:
            command = self._hypothesis(self._command)
            if choose_result(command, general, self._shapes):
                return PairResult(command.text, low_confidence=False)
        if general.paced_like_speech and general.says_something:
            return PairResult(general.text, low_confidence=True)
        return PairResult("", low_confidence=False)

    def finish(self) -> None:
        """End the segment and learn the microphone from it."""
        for decoder in self._decoders:
            decoder.end_utt()
        self._means = [decoder.get_cmn() for decoder in self._decoders]

    def drop(self) -> None:
        """End the segment as if it had not been."""
        for decoder in self._decoders:
            decoder.end_utt()
        self._set_means()

    def forget(self) -> None:
        """Another person at another microphone comes: between segments."""
        self._means = list(self._untaught)
        self._set_means()

    def _set_means(self) -> None:
        for decoder, means in zip(self._decoders, self._means, strict=True):
            decoder.set_cmn(means)

    def _hypothesis(self, decoder: Decoder) -> Hypothesis:
        words: list[str] = []
        phones: list[str] = []
        frames = 0
        for segment in decoder.seg() or ():
            if is_filler(segment.word):
                continue
            words.append(plain(segment.word))
            phones += (decoder.lookup_word(segment.word) or "").split()
            frames += segment.end_frame - segment.start_frame + 1
        return Hypothesis(tuple(words), tuple(phones), frames)


def choose_result(command: Hypothesis, general: Hypothesis, shapes: Collection[str]) -> bool:
    """Whether the command decoder heard a command of one of these shapes, and the general one about the same.

    The phones are compared last, and of known commands only: after five minutes of other speech that takes 0.3 s, and
    there is a partial every tenth of a second.
    """
    if shape(command.text) not in shapes or not command.paced_like_speech:
        return False
    return agrees(len(command.words), phone_distance(command.phones, general.phones))


def _pronounce(decoder: Decoder, words: Iterable[str]) -> tuple[dict[str, str], frozenset[str]]:
    """Dictionary entries of the words ("the" and "the(2)" are two), and the words there are none for."""
    entries: dict[str, str] = {}
    missing: set[str] = set()
    for word in words:
        found = _pronunciations(decoder, word)
        if not found and word.endswith("'s"):
            found = [" ".join(possessive(p.split())) for p in _pronunciations(decoder, word.removesuffix("'s"))]
        if not found:
            missing.add(word)
        for number, phones in enumerate(found, start=1):
            entries[word if number == 1 else f"{word}({number})"] = phones
    return entries, frozenset(missing)


def _pronunciations(decoder: Decoder, word: str) -> list[str]:
    found: list[str] = []
    while phones := decoder.lookup_word(word if not found else f"{word}({len(found) + 1})"):
        found.append(phones)
    return found


def _command_decoder(sentences: Iterable[str], lexicon: dict[str, str]) -> Decoder:
    """A decoder of these sentences. Only its own words in its dictionary: 18 MB and 0.3 s less than all of them."""
    with tempfile.TemporaryDirectory() as folder:
        model, dictionary = Path(folder, "commands.arpa"), Path(folder, "commands.dict")
        model.write_text(arpa(sentences))
        dictionary.write_text("".join(f"{word} {phones}\n" for word, phones in sorted(lexicon.items())))
        return Decoder(lm=str(model), dict=str(dictionary), **_COMMAND, **_QUIET)
