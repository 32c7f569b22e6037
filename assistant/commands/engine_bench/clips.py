"""Reads labelled recordings, and cuts them into the speech segments that turn taking would hand to a recognizer."""

import json
from collections.abc import Iterator
from contextlib import aclosing
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import numpy as np

from audio.errors import AudioFileError
from audio.formats.recording import Recording, open_recording
from audio.formats.wav import WavMicrophone
from audio.units import Pcm, Samples, samples_of_ms, samples_of_s

CONVERSATION = "recordings/conversation"

MANIFEST = "recordings/engines.jsonl"

SNR_DB = 10.0
"""Level of the voice above the noise in dB, both as root mean square, during the labelled speech."""

NOISES = ("tests/recordings/blanket_fireplace.wav", "tests/recordings/koala_noise.wav")
"""Recordings of noise; the recordings of speech use them alternately."""


@dataclass(frozen=True, slots=True)
class Noise:
    """Noise from a file that is added to a recording, `snr_db` decibels below the speech."""

    file: Path
    snr_db: float


@dataclass(frozen=True, slots=True)
class Label:
    """One line of a manifest: speech in a recording.

    Attributes:
        name: Identifies the result.
        file: The recording.
        start_s: Start of its first speech, from the beginning of the recording.
        end_s: End of its last speech.
        transcript: What is said; None if unknown.
        noise: Noise to add; None for none.
        timed: Whether it is recognized in real time. Otherwise only its word errors count.
    """

    name: str
    file: Path
    start_s: float
    end_s: float
    transcript: str | None
    noise: Noise | None = None
    timed: bool = True


@dataclass(frozen=True, slots=True)
class Clip:
    """One speech segment.

    Attributes:
        label: Its label.
        pcm: The pre-roll, the speech, and the silence until the transcript is requested.
        onset: First sample of speech.
    """

    label: Label
    pcm: Pcm
    onset: Samples


def read_labels(manifest: Path) -> list[Label]:
    """Reads the labels of a manifest. Skips lines without speech.

    A manifest has one JSON object a line: `file` (relative to the manifest), `speech_start_s` and `speech_end_s`, and
    if known `id` and `transcript`.

    Raises AudioFileError with the line that cannot be used, and the reason.
    """
    try:
        lines = manifest.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeError) as error:
        raise AudioFileError(f"{manifest} cannot be read ({error}); name a file of JSON lines.") from error
    labels = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            label = _label(json.loads(line), manifest)
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise AudioFileError(
                f"{manifest}, line {number} is not a label ({error}): it must be a JSON object with file, "
                "speech_start_s and speech_end_s."
            ) from error
        labels += [label] if label is not None else []
    if not labels:
        raise AudioFileError(f"{manifest} has no line with speech_start_s and speech_end_s: add labels.")
    return labels


async def clip_of(label: Label, *, before_ms: float, after_ms: float) -> Clip:
    """Returns the segment of a label. Raises AudioFileError.

    Args:
        label: From `read_labels`.
        before_ms: Length of the pre-roll.
        after_ms: From the end of speech to the request for the transcript; padded with silence after the recording.
    """
    recording = open_recording(label.file)
    if label.end_s > recording.duration_s:
        raise AudioFileError(
            f"{label.file} is {recording.duration_s:.1f} s long, but its label ends at {label.end_s:.1f} s: correct it."
        )
    sound = await _sound(recording, after_ms / 1000 + 0.1)
    speech = samples_of_s(label.start_s)
    start = max(0, speech - samples_of_ms(before_ms))
    end = samples_of_s(label.end_s)
    pcm = sound[start : end + samples_of_ms(after_ms)]
    if label.noise is not None:
        noise = await _sound(open_recording(label.noise.file), 0.0)
        pcm = with_noise(pcm, _rms(sound[speech:end]), noise, label.noise.snr_db)
    return Clip(label, pcm, Samples(speech - start))


def with_noise(pcm: Pcm, speech_rms: float, noise: Pcm, snr_db: float) -> Pcm:
    """Adds noise `snr_db` decibels below the speech; short noise is repeated. Returns int16 as long as `pcm`."""
    gain = speech_rms / max(1.0, _rms(noise)) * 10 ** (-snr_db / 20)
    mixed: Pcm = np.clip(np.rint(pcm + gain * np.resize(noise, len(pcm))), -32_768, 32_767).astype(np.int16)
    return mixed


def _rms(pcm: Pcm) -> float:
    return float(np.sqrt(np.mean(np.square(pcm, dtype=np.float64)))) if len(pcm) else 0.0


async def _sound(recording: Recording, tail_s: float) -> Pcm:
    microphone = WavMicrophone(recording, tail_s=tail_s, realtime=False)
    async with aclosing(microphone.frames()) as frames:
        # the microphone reuses its buffers
        return np.concatenate([frame.pcm.copy() async for frame in frames])[microphone.leading_silence :]


def _label(line: object, manifest: Path) -> Label | None:
    if not isinstance(line, dict):
        raise TypeError("it is not an object")
    if "speech_start_s" not in line or "speech_end_s" not in line:
        return None
    start_s, end_s = float(str(line["speech_start_s"])), float(str(line["speech_end_s"]))
    if not 0 <= start_s < end_s < float("inf"):
        raise ValueError(f"speech from {start_s:g} to {end_s:g} s")
    file = str(line["file"])
    transcript = line.get("transcript")
    return Label(
        str(line.get("id", file)), manifest.parent / file, start_s, end_s, str(transcript) if transcript else None
    )


def labels_of(manifest: Path | None) -> list[Label]:
    """Returns the labels of a manifest; None: of the default set. Raises AudioFileError."""
    return list(default_labels()) if manifest is None else read_labels(manifest)


def default_labels() -> Iterator[Label]:
    """Yields the labels of the default set: five requests, free and read speech, and noise.

    The requests are measured in real time. The others, of several speakers, only count word errors and are fed faster
    than real time: once as they are, and once with real noise (a fireplace, a room) `SNR_DB` below the voice. The noise
    is mixed here, in the same way each time. Raises OSError if the installation is incomplete.
    """
    package = Path(str(files("assistant")))
    turns = json.loads((package / f"{CONVERSATION}.json").read_text(encoding="utf-8"))
    for number, turn in enumerate(turns, start=1):
        yield Label(f"turn {number}", package / f"{CONVERSATION}.wav", turn["start_s"], turn["end_s"], turn["words"])
    lines = (package / MANIFEST).read_text(encoding="utf-8").splitlines()
    speech = [json.loads(line) for line in lines if line.strip()]
    for noisy in (False, True):
        for place, clip in enumerate(speech):
            noise = Noise(recording(package, NOISES[place % len(NOISES)]), SNR_DB) if noisy else None
            yield Label(
                f"{clip['id']}{', in noise' * noisy}",
                recording(package, clip["file"]),
                clip["speech_start_s"],
                clip["speech_end_s"],
                clip["transcript"],
                noise,
                timed=False,
            )


def recording(package: Path, name: str) -> Path:
    """Returns the path of a recording: in an installed package, or among the tests' in a checkout."""
    installed = package / "recordings" / "engines" / Path(name).name
    return installed if installed.exists() else package.parent / name
