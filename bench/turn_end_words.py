"""Transcribes every silence of a set of turns with our own recognizers. Caches the results, since it takes minutes."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Protocol, TextIO, TypedDict

from assistant.skills.skills import understood_sentences
from audio.frame import Frame
from audio.stt import Punctuation, SegmentId
from audio.stt.pocketsphinx import PocketsphinxRecognizer
from audio.stt.whisper.encoder_window import WINDOW_S
from audio.stt.whisper.model import LoadedWhisper, WhisperSettings
from audio.units import Samples, samples_of_ms, samples_of_s
from audio.vad import VadResult
from audio.vad.silero import SileroNetwork, SileroVad
from bench.turn_end_clips import Silence, Turn, silences, vad_results

ASKED_AT_MS = (100, 200, 400)
WHISPER_ASKED_AT_MS = 100
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


class Recognizer(Protocol):
    """Transcribes complete turns."""

    async def one(self, turn: Turn, heard: Sequence[tuple[Frame, VadResult]]) -> list[SilenceTranscripts]:
        """Returns the transcripts at every silence of a turn."""
        ...

    async def aclose(self) -> None:
        """Releases the recognizer."""
        ...


class Pocketsphinx:
    """Works as in a conversation: one decoder runs through the turn."""

    def __init__(self, transcriber: PocketsphinxRecognizer) -> None:
        self._transcriber = transcriber

    async def one(self, turn: Turn, heard: Sequence[tuple[Frame, VadResult]]) -> list[SilenceTranscripts]:
        """Returns the transcripts at every silence of a turn."""
        onset, found = silences(turn, heard)
        if not found:
            return []
        start = Samples(max(0, onset - _PRE_ROLL))
        hearing = self._transcriber.open(SegmentId(start), lambda _words: None)
        asked: list[SilenceTranscripts] = []
        fed = int(start)
        for silence in found:
            row = SilenceTranscripts(edge=int(silence.edge), words={})
            for wait_ms in ASKED_AT_MS:
                at = _asked_at(silence, wait_ms)
                if at is None:
                    continue
                while fed < at:
                    # Its queue holds 5 s. An intermediate request waits until all of it is decoded.
                    until = min(at, fed + samples_of_s(2))
                    hearing.feed(turn.pcm[fed:until])
                    fed = until
                    words = await asyncio.wait_for(hearing.transcript(), 60)
                row["words"][str(wait_ms)] = StoredTranscript(words.text, words.low_confidence)
            asked.append(row)
        # Cancelled to limit adaptation to the microphone, so that nearly every turn is like a first one. A few words
        # still depend on the order of the turns.
        hearing.cancel()
        return asked

    async def aclose(self) -> None:
        """Stops its process."""
        await self._transcriber.aclose()


class Whisper:
    """Works as in a conversation: decodes the segment so far again at each silence."""

    def __init__(self, folder: Path) -> None:
        self._model = LoadedWhisper(WhisperSettings(folder=folder))

    async def one(self, turn: Turn, heard: Sequence[tuple[Frame, VadResult]]) -> list[SilenceTranscripts]:
        """Returns the transcripts at every silence of a turn."""
        onset, found = silences(turn, heard)
        asked = []
        for silence in found:
            row = SilenceTranscripts(edge=int(silence.edge), words={})
            at = _asked_at(silence, WHISPER_ASKED_AT_MS)
            if at is not None:
                begin = max(0, onset - _PRE_ROLL, at - samples_of_s(WINDOW_S))
                decoded = self._model.decode(turn.pcm[begin:at], "en", retry=True)
                assert decoded is not None, "the run is not interrupted"
                punctuation = (
                    (decoded.punctuation.sentence_end, decoded.punctuation.continuation) if decoded.punctuation else ()
                )
                row["words"][str(WHISPER_ASKED_AT_MS)] = StoredTranscript(
                    decoded.text, bool(decoded.failed_check), *punctuation
                )
            asked.append(row)
        return asked

    async def aclose(self) -> None:
        """Does nothing: there is nothing to stop."""


def _asked_at(silence: Silence, wait_ms: float) -> Samples | None:
    """Returns the end of the first frame at which the silence is known and this long; None if speech resumes before."""
    at = max(silence.known_at, -(-(silence.edge + samples_of_ms(wait_ms)) // 320) * 320)
    return Samples(at) if at < silence.until else None


async def _all(
    whisper: Path | None, turns: Sequence[Turn], known: dict[str, list[SilenceTranscripts]], file: TextIO
) -> None:
    vad = SileroVad(SileroNetwork())
    recognizer = await _recognizer(whisper)
    try:
        for turn in turns:
            known[turn.key] = await recognizer.one(turn, vad_results(vad, turn.pcm))
            file.write(json.dumps({"key": turn.key, "id": turn.id, "asked": known[turn.key]}) + "\n")
            file.flush()
    finally:
        await recognizer.aclose()


async def _recognizer(whisper: Path | None) -> Recognizer:
    if whisper is not None:
        return Whisper(whisper)
    transcriber = PocketsphinxRecognizer(understood_sentences())
    await transcriber.load()
    return Pocketsphinx(transcriber)


def listen(turns: Sequence[Turn], cache: Path, whisper: Path | None) -> dict[str, list[SilenceTranscripts]]:
    """Returns the transcripts of every turn, from the cache if present; adds new ones to it.

    Args:
        turns: The turns.
        cache: Cache file of this recognizer.
        whisper: Folder of a Whisper model; None for pocketsphinx.
    """
    known: dict[str, list[SilenceTranscripts]] = {}
    if cache.exists():
        known = {row["key"]: [_read(one) for one in row["asked"]] for row in map(json.loads, _lines(cache))}
    lacking = [turn for turn in turns if turn.key not in known]
    if lacking:
        with cache.open("a") as file:
            asyncio.run(_all(whisper, lacking, known, file))
    return {turn.id: known[turn.key] for turn in turns}


def _lines(cache: Path) -> list[str]:
    return cache.read_text().splitlines()


def _read(row: SilenceTranscripts) -> SilenceTranscripts:
    return SilenceTranscripts(
        edge=row["edge"], words={at: StoredTranscript(*said) for at, said in row["words"].items()}
    )
