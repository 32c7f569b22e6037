"""Prepares recordings as turns for EOT evaluation: adds room noise and pauses, and finds the silences.

A manifest is JSON Lines: `id`, `file` (beside it), `speaker`, `kind`, `source_repo`, `speech_start_s`, `speech_end_s`,
`internal_pauses`.
"""

import hashlib
import json
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from audio.frame import Frame
from audio.units import FRAME_SAMPLES, Pcm, Samples, ms_of_samples, samples_of_ms, samples_of_s
from audio.vad import Vad, VadResult
from bench.recordings import SEVERAL_VOICES, read_pcm

Label = Literal["end", "pause", "gap", "made"]
"""Type of a silence: end of the turn; labelled pause; shorter silence inside a turn; or artificial pause."""

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
    """

    id: str
    speaker: str
    source: str
    kind: str
    pcm: Pcm
    start_ms: float
    end_ms: float
    pauses: tuple[tuple[float, float], ...]
    made: tuple[tuple[float, float], ...]
    real_until_ms: float

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
    """

    edge: Samples
    known_at: Samples
    until: Samples
    label: Label


def turns(manifest: Path, *, tags: bool = False) -> Iterator[Turn]:
    """Yields the single-speaker turns of a manifest; `tags`: only lines with the tag "speech"."""
    for line in manifest.read_text().splitlines():
        row = json.loads(line)
        if tags and row.get("tag") != "speech":
            continue
        if row["kind"] in SEVERAL_VOICES or "+" in row["speaker"]:
            continue
        yield _padded(row["id"], row, read_pcm(manifest.parent / row["file"]))


def _padded(name: str, row: dict[str, object], pcm: Pcm) -> Turn:
    seed = zlib.crc32(name.encode())
    end_s = float(str(row["speech_end_s"]))
    short = max(0, samples_of_s(end_s + TAIL_S) - len(pcm))
    room = room_noise(pcm, samples_of_s(LEAD_S) + short + FRAME_SAMPLES, seed)
    lead = samples_of_s(LEAD_S)
    whole = np.concatenate([room[:lead], pcm, room[lead : lead + short]])
    pauses = row.get("internal_pauses") or []
    assert isinstance(pauses, list)
    return Turn(
        id=name,
        speaker=str(row["speaker"]),
        source=str(row.get("source_repo", "")),
        kind=str(row["kind"]),
        pcm=whole,
        start_ms=(float(str(row["speech_start_s"])) + LEAD_S) * 1000,
        end_ms=(end_s + LEAD_S) * 1000,
        pauses=tuple(((float(p[0]) + LEAD_S) * 1000, (float(p[1]) + LEAD_S) * 1000) for p in pauses),
        made=(),
        real_until_ms=ms_of_samples(lead + len(pcm)),
    )


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
    return Turn(
        name,
        turn.speaker,
        turn.source,
        turn.kind,
        np.concatenate(pieces),
        turn.start_ms,
        turn.end_ms + moved_ms,
        (),
        tuple(made),
        turn.real_until_ms + moved_ms,
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
    found: list[int] = []
    deep = [
        b for b in range(first, last) if level_db[b] < speech_db - 15 and level_db[b] == level_db[b - 3 : b + 4].min()
    ]
    rng.shuffle(deep)
    for block in deep:
        place = block * _BLOCK + _BLOCK // 2
        if len(found) < max_pauses and all(abs(place - other) > samples_of_ms(500) for other in found):
            found.append(place)
    return sorted(found)


def vad_results(vad: Vad, pcm: Pcm) -> list[tuple[Frame, VadResult]]:
    """Returns every frame with the VAD result after it."""
    vad.reset()
    found = []
    for start in range(0, len(pcm) - FRAME_SAMPLES + 1, FRAME_SAMPLES):
        frame = Frame(Samples(start), pcm[start : start + FRAME_SAMPLES])
        found.append((frame, vad.process(frame)))
    return found


def silences(turn: Turn, heard: Sequence[tuple[Frame, VadResult]]) -> tuple[Samples, list[Silence]]:
    """Returns the VAD onset of the turn and its silences in order; the last is the end. None if not detected."""
    stretches = _stretches(heard)
    inside = [s for s in stretches if ms_of_samples(s[2]) > turn.start_ms and ms_of_samples(s[0]) < turn.end_ms]
    if not inside:
        return Samples(0), []
    found: list[Silence] = []
    for number, (_, edge, known_at, until) in enumerate(inside):
        ends = number == len(inside) - 1
        found.append(Silence(edge, known_at, until, "end" if ends else _label(turn, edge, until)))
    return inside[0][0], found


def _stretches(heard: Sequence[tuple[Frame, VadResult]]) -> list[tuple[Samples, Samples, Samples, Samples]]:
    """Returns onset, end, when the end was known, and until when the silence after it lasted."""
    found: list[tuple[Samples, Samples, Samples, Samples]] = []
    onset: Samples | None = None
    closed: tuple[Samples, Samples, Samples] | None = None
    for frame, vad_result in heard:
        if vad_result.speaking and onset is None:
            if closed is not None:
                found.append((*closed, frame.end))
                closed = None
            onset = vad_result.boundary
        elif not vad_result.speaking and onset is not None:
            closed, onset = (onset, vad_result.boundary, frame.end), None
    if closed is not None:
        found.append((*closed, heard[-1][0].end))
    return found


def _label(turn: Turn, edge: Samples, until: Samples) -> Label:
    begin_ms, end_ms = ms_of_samples(edge), ms_of_samples(until)

    def overlaps(span: tuple[float, float]) -> bool:
        return min(end_ms, span[1]) - max(begin_ms, span[0]) > 0.5 * min(end_ms - begin_ms, span[1] - span[0])

    if any(overlaps(span) for span in turn.made):
        return "made"
    return "pause" if any(overlaps(span) for span in turn.pauses) else "gap"
