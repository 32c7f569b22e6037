"""Defines the turns of EOT evaluation: room noise, added pauses, and the silences that the VAD reports."""

import hashlib
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from audio.frame import Frame
from audio.units import FRAME_SAMPLES, Pcm, Samples, ms_of_samples, samples_of_ms, samples_of_s
from audio.vad import Vad, VadResult

Label = Literal["end", "pause", "gap", "made"]
"""Type of a silence: end of the turn; labelled pause; shorter silence inside a turn; or artificial pause."""

Use = Literal["train", "judge"]
"""The use of a recording. A fit on recordings of the use "judge" is an error."""

Span = tuple[float, float]
"""Begin and end in ms."""

LEAD_S = 0.6
TAIL_S = 1.7

_BLOCK = samples_of_ms(10)
_MIN_MADE_S, _MAX_MADE_S = 0.5, 1.6


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn. Times are in ms from the first sample of `pcm`.

    Attributes:
        id: Id of the clip; with "+made" if pauses were added.
        speaker: As in the manifest.
        source: Source of the clip.
        kind: As in the manifest.
        pcm: int16, shape (n,).
        start_ms: Start of speech.
        end_ms: End of speech.
        pauses: Labelled pauses, as (begin, end).
        made: Artificial pauses, as (begin, end).
        real_until_ms: From here on the sound is synthetic noise that resembles the clip's own room.
        group: Kind of speech under which the turn is reported.
        use: What the turn may be used for.
        given: Those of the pauses that stand directly before a word that the speaker was asked to use.
        ends: Whether the clip contains the end of the turn.
        content: What the speaker was asked to dictate, for example "a phone number"; "" if unknown.
    """

    id: str
    speaker: str
    source: str
    kind: str
    pcm: Pcm
    start_ms: float
    end_ms: float
    pauses: tuple[Span, ...]
    made: tuple[Span, ...]
    real_until_ms: float
    group: str = ""
    use: Use = "train"
    given: tuple[Span, ...] = ()
    ends: bool = True
    content: str = ""

    @property
    def key(self) -> str:
        """Returns a key that identifies this sound."""
        return hashlib.sha256(self.id.encode() + self.pcm.tobytes()).hexdigest()[:24]


@dataclass(frozen=True, slots=True)
class Silence:
    """A silence the VAD reported inside or at the end of a turn.

    Attributes:
        edge: End of speech as dated by the VAD.
        known_at: End of the first frame at which the silence was known.
        until: End of the frame at which the VAD reported speech again, or of the clip.
        label: Type of the silence.
        span: The labelled pause, or the labelled end twice; None for a gap.
    """

    edge: Samples
    known_at: Samples
    until: Samples
    label: Label
    span: Span | None = None


def room_noise(pcm: Pcm, count: int, seed: int) -> Pcm:
    """Returns steady noise with the spectrum of the clip's quietest tenth and random phase, shape (count,)."""
    size, hop = 512, 256
    starts = np.arange(0, max(len(pcm) - size, 1), hop // 2)
    window = np.hanning(size + 1)[:-1]
    pieces = np.stack([pcm[s : s + size].astype(np.float64) for s in starts if s + size <= len(pcm)])
    levels = np.square(pieces).mean(axis=1)
    # Digital silence is no room noise: a clip that is muted at its ends has room noise only between its words.
    heard = levels > 0.25
    pieces, levels = (pieces[heard], levels[heard]) if heard.any() else (pieces, levels)
    quiet = pieces[np.argsort(levels)[: max(4, len(levels) // 10)]]
    shape = np.sqrt(np.square(np.abs(np.fft.rfft(quiet * window, axis=1))).mean(axis=0))
    rng = np.random.default_rng(seed)
    frames = count // hop + 3
    spectra = shape * (rng.normal(size=(frames, len(shape))) + 1j * rng.normal(size=(frames, len(shape)))) / np.sqrt(2)
    bits = np.fft.irfft(spectra, axis=1) * np.sqrt(window)
    sound = np.zeros((frames + 1) * hop)
    for number, bit in enumerate(bits):
        sound[number * hop : number * hop + size] += bit
    # The analysis window scaled the power by sum(w^2)/N; the square roots of Hann windows overlap to one.
    sound /= np.sqrt(np.square(window).mean())
    noise: Pcm = sound[hop : hop + count].round().clip(-32_768, 32_767).astype(np.int16)
    return noise


def with_pauses(turn: Turn, max_pauses: int = 2) -> Turn | None:
    """Adds pauses of 0.5-1.6 s at the deepest dips. Returns None if no dip is deep enough or the turn has pauses.

    Recordings of commands contain no pauses, and those of read speech contain many. Without added pauses, a fit could
    distinguish ends from pauses by recognizing the collection.
    """
    if turn.pauses:
        return None
    name = f"{turn.id}+made"
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    places = _dips(turn, max_pauses, rng)
    if not places:
        return None
    pieces: list[npt.NDArray[np.int16]] = []
    made: list[tuple[float, float]] = []
    done, shift = 0, 0
    for place in places:
        count = samples_of_s(float(rng.uniform(_MIN_MADE_S, _MAX_MADE_S)))
        room = room_noise(turn.pcm, count, zlib.crc32(f"{name}{place}".encode()))
        pieces += [turn.pcm[done:place], room]
        made.append((ms_of_samples(place + shift), ms_of_samples(place + shift + count)))
        done, shift = place, shift + count
    pieces.append(turn.pcm[done:])
    moved_ms = ms_of_samples(shift)
    return replace(
        turn,
        id=name,
        pcm=np.concatenate(pieces),
        end_ms=turn.end_ms + moved_ms,
        made=tuple(made),
        real_until_ms=turn.real_until_ms + moved_ms,
    )


def _dips(turn: Turn, max_pauses: int, rng: np.random.Generator) -> list[int]:
    """Returns samples in the middle of quiet blocks inside the speech, in order, at least 0.5 s apart."""
    first = int((turn.start_ms + 350) / 10)
    last = int((turn.end_ms - 300) / 10)
    if last - first < 10:
        return []
    blocks = turn.pcm[: len(turn.pcm) // _BLOCK * _BLOCK].reshape(-1, _BLOCK).astype(np.float64)
    power = np.square(blocks).mean(axis=1) + 1.0
    level_db = 10 * np.log10(np.convolve(power, np.full(3, 1 / 3), "same"))
    speech_db = 10 * np.log10(power[first:last].mean())
    dips: list[int] = []
    deep = [
        b for b in range(first, last) if level_db[b] < speech_db - 15 and level_db[b] == level_db[b - 3 : b + 4].min()
    ]
    rng.shuffle(deep)
    for block in deep:
        place = block * _BLOCK + _BLOCK // 2
        if len(dips) < max_pauses and all(abs(place - other) > samples_of_ms(500) for other in dips):
            dips.append(place)
    return sorted(dips)


def vad_results(vad: Vad, pcm: Pcm) -> list[tuple[Frame, VadResult]]:
    """Returns every frame with the VAD result after it."""
    vad.reset()
    results = []
    for start in range(0, len(pcm) - FRAME_SAMPLES + 1, FRAME_SAMPLES):
        frame = Frame(Samples(start), pcm[start : start + FRAME_SAMPLES])
        results.append((frame, vad.process(frame)))
    return results


def silences(turn: Turn, heard: Sequence[tuple[Frame, VadResult]]) -> tuple[Samples, list[Silence]]:
    """Returns the VAD onset of the turn and its silences in order; the last is the end. None if not detected.

    A turn without its end has no silence at its end.
    """
    stretches = _stretches(heard)
    inside = [s for s in stretches if ms_of_samples(s[2]) > turn.start_ms and ms_of_samples(s[0]) < turn.end_ms]
    if not inside:
        return Samples(0), []
    silences = [Silence(edge, known_at, until, *_label(turn, edge, until)) for _, edge, known_at, until in inside[:-1]]
    if turn.ends:
        _, edge, known_at, until = inside[-1]
        silences.append(Silence(edge, known_at, until, "end", (turn.end_ms, turn.end_ms)))
    return inside[0][0], silences


def _stretches(heard: Sequence[tuple[Frame, VadResult]]) -> list[tuple[Samples, Samples, Samples, Samples]]:
    """Returns onset, end, when the end was known, and until when the silence after it lasted."""
    stretches: list[tuple[Samples, Samples, Samples, Samples]] = []
    onset: Samples | None = None
    closed: tuple[Samples, Samples, Samples] | None = None
    for frame, vad_result in heard:
        if vad_result.speaking and onset is None:
            if closed is not None:
                stretches.append((*closed, frame.end))
                closed = None
            onset = vad_result.boundary
        elif not vad_result.speaking and onset is not None:
            closed, onset = (onset, vad_result.boundary, frame.end), None
    if closed is not None:
        stretches.append((*closed, heard[-1][0].end))
    return stretches


def _label(turn: Turn, edge: Samples, until: Samples) -> tuple[Label, Span | None]:
    begin_ms, end_ms = ms_of_samples(edge), ms_of_samples(until)

    def overlapped(spans: Sequence[Span]) -> Span | None:
        for span in spans:
            shared_ms = min(end_ms, span[1]) - max(begin_ms, span[0])
            if shared_ms > 0.5 * min(end_ms - begin_ms, span[1] - span[0]):
                return span
        return None

    if (span := overlapped(turn.made)) is not None:
        return "made", span
    return ("gap" if (span := overlapped(turn.pauses)) is None else "pause"), span
