"""Reads the recordings of a manifest, resampled to the rate of the wire, and derives their room noise.

A manifest is JSON Lines: `file` (16 kHz mono PCM16, beside it), `tag` or `kind`, for speech `speech_start_s` and
`speech_end_s`, and if known `id`, `speaker`, `transcript`, `internal_pauses` ([[begin_s, end_s], …]) and
`speech_end_uncertainty_ms`. A line without a `speech_end_s` is noise, unless it says `contains_voices`.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import soundfile
import soxr

from audio.units import FULL_SCALE, MIC_RATE_HZ, REPLY_RATE_HZ, Pcm, reply_samples_of_ms

Kind = Literal["plain", "paused", "noise"]
"""Speech without or with a labelled pause of at least `PAUSE_S`; or no speech."""

PAUSE_S = 0.3
END_KNOWN_MS = 60
"""Largest uncertainty of a labelled end of speech for which latency is measured, in milliseconds."""

SEVERAL_VOICES = frozenset(["meeting", "conversation"])

MARGIN_MS = 60
"""Margin around speech that does not count as room noise, in milliseconds."""

_MIN_ROOM = reply_samples_of_ms(200)


@dataclass(frozen=True, slots=True)
class Recording:
    """One clip.

    Attributes:
        id: Identifies the clip in results.
        kind: Its use.
        speaker: Clips of one speaker share a connection.
        pcm: int16, shape (n,), at REPLY_RATE_HZ.
        start_s: First sample of speech, from the beginning of the clip; 0 for noise.
        end_s: End of speech; the length for noise.
        transcript: The words; None if there is no transcript.
        end_unsure_s: Uncertainty of `end_s`.
        pauses: Labelled pauses within the speech, as (begin, end).
    """

    id: str
    kind: Kind
    speaker: str
    pcm: Pcm
    start_s: float
    end_s: float
    transcript: str | None = None
    end_unsure_s: float = 0.0
    pauses: tuple[tuple[float, float], ...] = ()

    @property
    def speech(self) -> tuple[tuple[float, float], ...]:
        """The stretches of speech between the pauses, as (begin, end)."""
        edges = [self.start_s, *(edge for pause in self.pauses for edge in pause), self.end_s]
        return tuple(zip(edges[::2], edges[1::2], strict=True))


def read_pcm(path: Path) -> Pcm:
    """Reads a recording as int16, shape (n,). Raises SystemExit if it is not 16 kHz mono."""
    pcm, rate_hz = soundfile.read(path, dtype="int16")
    if rate_hz != MIC_RATE_HZ or pcm.ndim != 1:
        raise SystemExit(f"{path} is not 16 kHz mono: convert it first.")
    return np.asarray(pcm, dtype=np.int16)


def read_recordings(manifest: Path) -> list[Recording]:
    """Reads all usable clips of a manifest, in order. Raises SystemExit for an invalid manifest."""
    recordings = []
    for number, line in enumerate(manifest.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            kind = kind_of(row)
            recordings += [] if kind is None else [_recording(row, kind, manifest.parent)]
        except (ValueError, TypeError, KeyError, OSError, soundfile.SoundFileError) as error:
            raise SystemExit(
                f"{manifest}, line {number}: {error}; bench/conversations/recordings.py describes the format."
            ) from error
    return recordings


def kind_of(row: dict[str, Any]) -> Kind | None:
    """Returns the use of a manifest line; None if it has none."""
    if row.get("kind") in SEVERAL_VOICES or row.get("tag") in SEVERAL_VOICES or "+" in str(row.get("speaker", "")):
        return None
    if row.get("speech_end_s") is None:
        return None if row.get("contains_voices") else "noise"
    if row.get("tag") == "noise":
        return None  # somebody can be heard in it
    if any(end - begin >= PAUSE_S for begin, end in row.get("internal_pauses") or ()):
        return "paused"
    if row.get("tag") == "hesitation" or row.get("kind") == "hesitation":
        return "paused"
    return "plain" if float(row.get("speech_end_uncertainty_ms") or 0) <= END_KNOWN_MS else None


def _recording(row: dict[str, Any], kind: Kind, folder: Path) -> Recording:
    pcm, rate_hz = soundfile.read(folder / row["file"], dtype="int16")
    if pcm.ndim != 1:
        raise ValueError(f"{row['file']} has {pcm.shape[1]} channels, but must have one")
    sound = np.asarray(soxr.resample(pcm, rate_hz, REPLY_RATE_HZ), np.int16)
    length_s = len(sound) / REPLY_RATE_HZ
    start_s, end_s = float(row.get("speech_start_s") or 0), float(row.get("speech_end_s") or length_s)
    if not 0 <= start_s < end_s <= length_s + 0.05:
        raise ValueError(f"{row['file']} is {length_s:.2f} s long, but its speech is from {start_s:g} to {end_s:g} s")
    name = str(row.get("id", row["file"]))
    speaker, unsure_ms = str(row.get("speaker") or name), float(row.get("speech_end_uncertainty_ms") or 0)
    pauses = tuple((float(begin), float(end)) for begin, end in row.get("internal_pauses") or ())
    words = row.get("transcript") or None
    return Recording(name, kind, speaker, sound, start_s, end_s, words, unsure_ms / 1000, pauses)


def chosen(recordings: Sequence[Recording], kind: Kind, limit: int | None) -> list[Recording]:
    """Returns at most `limit` recordings of one kind, evenly spaced over the list."""
    fit = [recording for recording in recordings if recording.kind == kind]
    if limit is None or len(fit) <= limit:
        return fit
    return [fit[place * len(fit) // limit] for place in range(limit)]


def room_of(recording: Recording) -> Pcm:
    """Returns the recording's sound without speech, forwards and backwards, so that it repeats without a seam.

    If there is too little, returns noise as loud as the quietest parts of the recording.
    """
    margin = reply_samples_of_ms(MARGIN_MS)
    speech = int(recording.start_s * REPLY_RATE_HZ), int(recording.end_s * REPLY_RATE_HZ)
    before, after = recording.pcm[: max(0, speech[0] - margin)], recording.pcm[speech[1] + 2 * margin :]
    quiet = before if before.size >= after.size else after
    if quiet.size < _MIN_ROOM:
        quiet = _hiss(recording.pcm)
    return np.concatenate([quiet, quiet[::-1]])


def _hiss(pcm: Pcm) -> Pcm:
    """Returns a second of white noise at the 5th percentile of the 20 ms levels, at most at -40 dBFS."""
    block = reply_samples_of_ms(20)
    blocks = pcm[: pcm.size // block * block].reshape(-1, block).astype(np.float64)
    floor = float(np.percentile(np.sqrt(np.square(blocks).mean(axis=1)), 5)) if len(blocks) else 0.0
    level = min(max(floor, FULL_SCALE * 1e-4), FULL_SCALE * 0.01)
    noise: Pcm = np.random.default_rng(11).normal(0, level, REPLY_RATE_HZ).round().astype(np.int16)
    return noise
