"""Extracts the moments of EOT estimates: every silence of every turn at growing lengths, with all evidence."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from audio.end_of_turn.prosody import ProsodyTrack
from audio.end_of_turn.prosody_features import prosody_at
from audio.end_of_turn.smart_turn.network import SmartTurn
from audio.units import FRAME_SAMPLES, Samples, ms_of_samples, samples_of_ms
from audio.vad.silero.detector import SileroVad
from audio.vad.silero.network import SileroNetwork
from bench.end_of_turn.clips import Silence, Turn, Use, silences, vad_results
from bench.end_of_turn.words import SHORTEST_MS, SilenceTranscripts, StoredTranscript, listen

AT_MS = (100, 150, 200, 300, 400, 600, 800, 1200)
SMART_AT_MS = 100
SMART_BEFORE_MS = 700.0
"""Sound before the onset that Smart Turn gets, in milliseconds: 500 ms from its own pipeline, 200 ms from the VAD."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A silence of a turn at one length.

    Attributes:
        turn: Number of the turn.
        speaker: As in the manifest, like `source` and `kind`.
        label: Type of the silence, see turn_end_clips.Label.
        made: Whether pauses were added to the turn.
        number: Number of the silence within its turn.
        at_ms: Nominal length at which it is judged: at the first later frame at which the VAD reports silence.
        known_ms: Actual length at that frame.
        lasts_ms: Total length of the silence.
        prosody: Features of audio.end_of_turn.prosody_features, by name.
        smart: Smart Turn's probability, asked once at 100 ms; None without the network.
        text: Transcript at the start of the silence.
        low_confidence: Whether the recognizer reports low confidence.
        ends, goes_on: Punctuation expected after the words, see audio.stt.Punctuation; None if unknown.
        group: As in the turn, like `use`.
        given: Whether it is a pause before a word that the speaker was asked to use.
        ended_ms: Labelled end of the speech before the silence, from the VAD's end, in ms; 0 for a gap.
        resumes_ms: Labelled end of the pause, likewise; the length of the silence for an end and a gap.
    """

    turn: int
    speaker: str
    source: str
    kind: str
    label: str
    made: bool
    number: int
    at_ms: int
    known_ms: float
    lasts_ms: float
    prosody: dict[str, float]
    smart: float | None
    text: str
    low_confidence: bool
    ends: float | None = None
    goes_on: float | None = None
    group: str = ""
    use: Use = "train"
    given: bool = False
    ended_ms: float = 0.0
    resumes_ms: float = float("inf")


def heard_moments(turns: Sequence[Turn], folder: Path, network: SmartTurn | None, whisper: Path) -> list[Moment]:
    """Returns all moments of all turns. Reads transcripts from the cache in `folder` and adds new ones.

    Args:
        turns: The turns.
        folder: Cache of one Whisper model.
        network: Smart Turn.
        whisper: Folder of the Whisper model.
    """
    words = listen(turns, folder / "words.jsonl", whisper)
    heard = "" if network is None else "-short" if network.short else "-smart"
    cache = folder / f"moments{heard}.jsonl"
    known = {}
    if cache.exists():
        known = {row["key"]: row["moments"] for row in map(json.loads, cache.read_text().splitlines())}
    vad = SileroVad(SileroNetwork())
    moments: list[Moment] = []
    with cache.open("a") as file:
        for number, turn in enumerate(turns):
            if turn.key not in known:
                known[turn.key] = [asdict(moment) for moment in _of_turn(turn, vad, words[turn.id], network)]
                file.write(json.dumps({"key": turn.key, "id": turn.id, "moments": known[turn.key]}) + "\n")
                file.flush()
            moments += [Moment(**(row | {"turn": number, "use": turn.use})) for row in known[turn.key]]
    return moments


def _of_turn(
    turn: Turn, vad: SileroVad, words: Sequence[SilenceTranscripts], network: SmartTurn | None
) -> Iterator[Moment]:
    heard = vad_results(vad, turn.pcm)
    onset, pauses = silences(turn, heard)
    track = ProsodyTrack()
    moments_by_turn: dict[int, list[tuple[int, Silence, int]]] = {}
    for number, silence in enumerate(pauses):
        for position, at_ms in _when(silence):
            moments_by_turn.setdefault(position, []).append((number, silence, at_ms))
    smart: dict[int, float] = {}
    for frame, vad_result in heard:
        track.push_frame(frame, vad_result)
        for number, silence, at_ms in moments_by_turn.get(frame.end, ()):
            if network is not None and at_ms == SMART_AT_MS:
                smart[number] = _smart(network, turn.pcm, onset, frame.end)
            transcript = next(iter(words[number]["words"].values()), StoredTranscript("", True))
            yield Moment(
                turn=0,
                speaker=turn.speaker,
                source=turn.source,
                kind=turn.kind,
                label=silence.label,
                made=bool(turn.made),
                number=number,
                at_ms=at_ms,
                known_ms=ms_of_samples(frame.end - silence.edge),
                lasts_ms=ms_of_samples(silence.until - silence.edge),
                prosody=prosody_at(track, onset, silence.edge).named(),
                smart=smart.get(number),
                text=transcript.text,
                low_confidence=transcript.low_confidence,
                ends=transcript.ends,
                goes_on=transcript.goes_on,
                group=turn.group,
                use=turn.use,
                given=silence.span in turn.given,
                ended_ms=silence.span[0] - ms_of_samples(silence.edge) if silence.span else 0.0,
                resumes_ms=_resumes_ms(silence),
            )


def _resumes_ms(silence: Silence) -> float:
    """Returns when the speech after a silence begins, in ms from its start: as labelled, or as detected."""
    if silence.span is None or silence.label == "end":
        return ms_of_samples(silence.until - silence.edge)
    return silence.span[1] - ms_of_samples(silence.edge)


def _when(silence: Silence) -> Iterator[tuple[Samples, int]]:
    """Yields the frame ends at which the silence is judged, with the lengths."""
    if silence.until - silence.edge <= samples_of_ms(SHORTEST_MS):
        return
    for at_ms in AT_MS:
        due = -(-(silence.edge + samples_of_ms(at_ms)) // FRAME_SAMPLES) * FRAME_SAMPLES
        position = Samples(max(silence.known_at, due))
        if position < silence.until:
            yield position, at_ms


def _smart(network: SmartTurn, pcm: npt.NDArray[np.int16], onset: Samples, now: Samples) -> float:
    begin = max(0, onset - samples_of_ms(SMART_BEFORE_MS))
    return network.probability(pcm[begin:now])
