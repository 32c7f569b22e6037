"""The network rests while the microphone is muted, and speech is found after it as without the rest."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import soundfile

from audio.frame import Frame
from audio.units import FRAME_MS, FRAME_SAMPLES, MIC_RATE_HZ, Pcm, Samples, ms_of_samples
from audio.vad import VadResult
from audio.vad.quiet import HANGOVER_FRAMES, QUIET_PEAK, is_quiet
from audio.vad.silero.detector import SileroVad
from audio.vad.silero.network import WINDOW_SAMPLES, SileroNetwork

RECORDINGS = Path(__file__).parent.parent.parent / "recordings"
NAMES = ("rhasspy3_set-timer", "pocketsphinx_goforward")
Floats = npt.NDArray[np.float32]


class CountingNetwork(SileroNetwork):
    """The real network; counts its windows."""

    def __init__(self) -> None:
        super().__init__()
        self.windows = 0

    def run(self, window: Floats, h: Floats, c: Floats) -> tuple[float, Floats, Floats]:
        self.windows += 1
        return super().run(window, h, c)


def recording(name: str) -> Pcm:
    pcm, rate_hz = soundfile.read(RECORDINGS / f"{name}.wav", dtype="int16")
    assert rate_hz == MIC_RATE_HZ
    return np.asarray(pcm, np.int16)


def quiet(seconds: float, peak: int = 0) -> Pcm:
    return np.random.default_rng(1).integers(-peak, peak + 1, round(seconds * MIC_RATE_HZ)).astype(np.int16)


def results(vad: SileroVad, *parts: Pcm) -> Iterator[VadResult]:
    pcm = np.concatenate(parts)
    for at in range(0, len(pcm) - FRAME_SAMPLES + 1, FRAME_SAMPLES):
        yield vad.process(Frame(Samples(at), pcm[at : at + FRAME_SAMPLES]))


def onset_ms(*parts: Pcm) -> float:
    """Returns when the first speech is reported, from the beginning of the last part."""
    frame = next(number for number, found in enumerate(results(SileroVad(), *parts), 1) if found.speaking)
    return frame * FRAME_MS - ms_of_samples(sum(map(len, parts[:-1])))


@pytest.mark.parametrize("peak", [0, QUIET_PEAK], ids=["digital silence", "noise of a converter"])
def test_network_does_not_run_in_quiet(peak: int) -> None:
    network = CountingNetwork()
    frames = len(list(results(SileroVad(network), quiet(5, peak))))
    hangover = HANGOVER_FRAMES * FRAME_SAMPLES // WINDOW_SAMPLES
    assert hangover <= network.windows <= hangover + 5 < frames


def test_network_runs_in_a_room() -> None:
    network = CountingNetwork()
    frames = len(list(results(SileroVad(network), quiet(2, 4 * QUIET_PEAK))))
    assert network.windows == frames * FRAME_SAMPLES // WINDOW_SAMPLES


@pytest.mark.parametrize("frames", [1, 8, 22])
def test_short_rest_changes_no_result(frames: int) -> None:
    speech = recording("rhasspy3_set-timer")
    parts = (speech, quiet((HANGOVER_FRAMES + 8 + frames) * FRAME_MS / 1000), speech)
    network, always = CountingNetwork(), CountingNetwork()
    never_rests = SileroVad(always)
    never_rests._quiet_rest.note_run = lambda *_, **__: None  # type: ignore[method-assign]
    found, expected = list(results(SileroVad(network), *parts)), list(results(never_rests, *parts))
    resumed = (len(parts[0]) + len(parts[1])) // FRAME_SAMPLES + 1
    assert found[resumed:] == expected[resumed:]
    assert [replace(one, probability=0) for one in found] == [replace(one, probability=0) for one in expected]
    assert network.windows == always.windows


@pytest.mark.parametrize("peak", [0, 8], ids=["digital silence", "noise of a converter"])
@pytest.mark.parametrize("name", NAMES)
def test_speech_after_a_long_rest_is_found_as_at_the_beginning(name: str, peak: int) -> None:
    speech = recording(name)
    first = onset_ms(quiet(1, peak), speech)
    assert onset_ms(quiet(12.34, peak), speech) <= first + 4 * FRAME_MS


def test_speech_in_the_kept_frames_is_not_dated_before_the_rest() -> None:
    speech = recording("rhasspy3_set-timer")
    found = list(results(SileroVad(), quiet(5), speech, quiet(5), speech))
    boundaries = [result.boundary for result in found]
    assert all(before <= after for before, after in pairwise(boundaries))


@pytest.mark.parametrize(
    ("sample", "expected"), [(QUIET_PEAK, True), (QUIET_PEAK + 1, False), (-QUIET_PEAK - 1, False)]
)
def test_one_loud_sample_ends_the_quiet(sample: int, expected: bool) -> None:
    pcm = np.zeros(FRAME_SAMPLES, np.int16)
    pcm[17] = sample
    assert is_quiet(pcm) is expected
