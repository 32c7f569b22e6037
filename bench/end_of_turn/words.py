"""Transcribes every silence of a set of turns with Whisper. Caches the results, since it takes minutes."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, TextIO, TypedDict

from audio.frame import Frame
from audio.stt import Punctuation
from audio.stt.whisper.encoder_window import WINDOW_S
from audio.stt.whisper.model import LoadedWhisper, WhisperSettings
from audio.units import Samples, samples_of_ms, samples_of_s
from audio.vad import VadResult
from audio.vad.silero.detector import SileroVad
from audio.vad.silero.network import SileroNetwork
from bench.end_of_turn.clips import Silence, Turn, silences, vad_results

ASKED_AT_MS = 100
SHORTEST_MS = 160.0
"""Silences up to this length are left out, since no profile ends a turn sooner."""

_PRE_ROLL = samples_of_ms(300)


class StoredTranscript(NamedTuple):
    """Transcript of the sound up to a moment of a silence, as stored in JSON."""

    text: str
    low_confidence: bool
    ends: float | None = None
    goes_on: float | None = None

    @property
    def punctuation(self) -> Punctuation | None:
        """Returns the punctuation expected after the words."""
        return None if self.ends is None or self.goes_on is None else Punctuation(self.ends, self.goes_on)


class SilenceTranscripts(TypedDict):
    """Transcripts at one silence of a turn: silence in ms → transcript."""

    edge: int
    words: dict[str, StoredTranscript]


class Whisper:
    """Works as in a conversation: decodes the segment so far again at each silence."""

    def __init__(self, folder: Path) -> None:
        self._model = LoadedWhisper(WhisperSettings(folder=folder, cpu_threads=1))

    def transcripts_at_silences(self, turn: Turn, heard: Sequence[tuple[Frame, VadResult]]) -> list[SilenceTranscripts]:
        """Returns the transcripts at every silence of a turn."""
        onset, pauses = silences(turn, heard)
        asked = []
        for silence in pauses:
            row = SilenceTranscripts(edge=int(silence.edge), words={})
            position = _asked_at(silence, ASKED_AT_MS)
            if position is not None:
                begin = max(0, onset - _PRE_ROLL, position - samples_of_s(WINDOW_S))
                decoded = self._model.decode(turn.pcm[begin:position], "en", retry=True)
                assert decoded is not None, "the run is not interrupted"
                punctuation = (
                    (decoded.punctuation.sentence_end, decoded.punctuation.continuation) if decoded.punctuation else ()
                )
                row["words"][str(ASKED_AT_MS)] = StoredTranscript(
                    decoded.text, bool(decoded.failed_check), *punctuation
                )
            asked.append(row)
        return asked


def _asked_at(silence: Silence, wait_ms: float) -> Samples | None:
    """Returns the end of the first frame at which the silence is known and this long; None if speech resumes before.

    Also None for silences that no profile can end.
    """
    if silence.until - silence.edge <= samples_of_ms(SHORTEST_MS):
        return None
    position = max(silence.known_at, -(-(silence.edge + samples_of_ms(wait_ms)) // 320) * 320)
    return Samples(position) if position < silence.until else None


def _transcribe(whisper: Path, turns: Sequence[Turn], known: dict[str, list[SilenceTranscripts]], file: TextIO) -> None:
    vad = SileroVad(SileroNetwork())
    recognizer = Whisper(whisper)
    for turn in turns:
        known[turn.key] = recognizer.transcripts_at_silences(turn, vad_results(vad, turn.pcm))
        file.write(json.dumps({"key": turn.key, "id": turn.id, "asked": known[turn.key]}) + "\n")
        file.flush()


def listen(turns: Sequence[Turn], cache: Path, whisper: Path) -> dict[str, list[SilenceTranscripts]]:
    """Returns the transcripts of every turn, from the cache if present; adds new ones to it.

    Args:
        turns: The turns.
        cache: Cache file of this model.
        whisper: Folder of the Whisper model.
    """
    known: dict[str, list[SilenceTranscripts]] = {}
    if cache.exists():
        known = {row["key"]: [_read(silence) for silence in row["asked"]] for row in map(json.loads, _lines(cache))}
    lacking = [turn for turn in turns if turn.key not in known]
    if lacking:
        with cache.open("a") as file:
            _transcribe(whisper, lacking, known, file)
    return {turn.id: known[turn.key] for turn in turns}


def _lines(cache: Path) -> list[str]:
    return cache.read_text().splitlines()


def _read(row: SilenceTranscripts) -> SilenceTranscripts:
    return SilenceTranscripts(
        edge=row["edge"],
        words={position: StoredTranscript(*transcript) for position, transcript in row["words"].items()},
    )
