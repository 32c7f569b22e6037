"""Properties of all detectors, on synthetic signals and real recordings."""

import functools
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import soundfile
from hypothesis import given, settings
from hypothesis import strategies as st

from audio.errors import VadError
from audio.frame import Frame
from audio.units import FRAME_SAMPLES, MIC_RATE_HZ, Pcm, Samples, ms_of_samples, samples_of_ms, samples_of_s
from audio.vad import Vad, VadResult
from audio.vad.cascade.detector import CascadeVad
from audio.vad.silero.detector import SileroVad
from audio.vad.silero.network import SileroNetwork
from audio.vad.webrtc.detector import WebrtcVad

RECORDINGS = Path(__file__).parents[2] / "recordings"
PRE_ROLL_MS = 300


@functools.cache
def network() -> SileroNetwork:
    """Loads the network once for all tests."""
    return SileroNetwork()


ENGINES: dict[str, Callable[[], Vad]] = {
    "webrtc": WebrtcVad,
    "silero": lambda: SileroVad(network()),
    "cascade": lambda: CascadeVad(network()),
}
every_engine = pytest.mark.parametrize("name", ENGINES)

Wave = npt.NDArray[np.float64]


def listen(vad: Vad, pcm: Pcm, start: int = 0) -> list[VadResult]:
    """Returns the detector's results, frame by frame."""
    return [
        vad.process(Frame(Samples(start + at), pcm[at : at + FRAME_SAMPLES]))
        for at in range(0, len(pcm) - FRAME_SAMPLES + 1, FRAME_SAMPLES)
    ]


def pcm16(wave: Wave) -> Pcm:
    """Converts full scale 1.0 to int16."""
    return (wave * 32_768).round().clip(-32_768, 32_767).astype(np.int16)


def noise(seconds: float, dbfs: float, seed: int = 1) -> Wave:
    """White noise at a level in dBFS (RMS)."""
    return np.random.default_rng(seed).normal(0, 10 ** (dbfs / 20), samples_of_s(seconds))


def tone(seconds: float, hz: float, dbfs: float) -> Wave:
    """A sine at a level in dBFS (RMS)."""
    at_s = np.arange(samples_of_s(seconds)) / MIC_RATE_HZ
    wave: Wave = np.sqrt(2) * 10 ** (dbfs / 20) * np.sin(2 * np.pi * hz * at_s)
    return wave


def clicks(seconds: float) -> Wave:
    """One loud sample twice a second."""
    wave = np.zeros(samples_of_s(seconds))
    wave[:: MIC_RATE_HZ // 2] = 0.8
    return wave


STEADY: dict[str, Wave] = {
    "digital silence": np.zeros(samples_of_s(3)),
    "last bit": noise(3, -88),
    "DC offset": np.full(samples_of_s(3), 0.2) + noise(3, -70),
    "white -40": noise(3, -40),
    "white -26": noise(3, -26),
    "white -14": noise(3, -14),
    "hum 50": tone(3, 50, -20) + noise(3, -70),
    "hum 60 with overtones": tone(3, 60, -25) + tone(3, 120, -30) + tone(3, 180, -35) + noise(3, -70),
    "tone 440": tone(3, 440, -20),
    "tone 1000": tone(3, 1000, -30) + noise(3, -60),
    "clicks": clicks(3) + noise(3, -70),
}


def recorded(name: str) -> Pcm:
    pcm, rate_hz = soundfile.read(RECORDINGS / name, dtype="int16")
    assert rate_hz == MIC_RATE_HZ
    return np.asarray(pcm, dtype=np.int16)


def labelled() -> list[dict[str, object]]:
    rows = [json.loads(line) for line in (RECORDINGS / "manifest.jsonl").read_text().splitlines()]
    return [row for row in rows if row["tag"] == "speech"]


def in_a_room(pcm: Pcm) -> Pcm:
    """The clip with 0.6 s of a quiet room on both sides, because several clips begin or end with the word."""
    level = float(np.percentile(np.abs(pcm.astype(np.float64)), 5)) / 32_768 + 1e-5
    room = pcm16(np.random.default_rng(3).normal(0, level, samples_of_s(0.6)))
    return np.concatenate([room, pcm, room])


@every_engine
@pytest.mark.parametrize("signal", STEADY)
def test_steady_sound_is_not_speech(name: str, signal: str) -> None:
    assert not any(voicing.speaking for voicing in listen(ENGINES[name](), pcm16(STEADY[signal])))


@every_engine
def test_noise_step_counts_as_speech_for_half_a_second_at_most(name: str) -> None:
    wave = np.concatenate([noise(2, -60), noise(3, -26, seed=2)])
    voicings = listen(ENGINES[name](), pcm16(wave))
    assert sum(voicing.speaking for voicing in voicings) <= 25
    assert not any(voicing.speaking for voicing in voicings[-100:])


@every_engine
def test_speech_is_detected_after_loud_audio(name: str) -> None:
    """Five seconds of loud noise, then quiet speech 0.3 s later: the floor has come down by then."""
    speech = recorded("rhasspy3_turn-on-the-lamp.wav")[samples_of_s(0.9) :]
    wave = np.concatenate([pcm16(noise(5, -20)), pcm16(noise(0.3, -60)), speech // 2])
    voicings = listen(ENGINES[name](), wave)
    opened = next(i for i, voicing in enumerate(voicings) if voicing.speaking) * FRAME_SAMPLES
    assert samples_of_s(5.3) < opened < samples_of_s(5.9)


@every_engine
def test_stream_may_start_within_a_word(name: str) -> None:
    speech = recorded("rhasspy3_turn-on-the-lamp.wav")[samples_of_s(1.05) :]
    voicings = listen(ENGINES[name](), speech)
    assert any(voicing.speaking for voicing in voicings[:20])


@every_engine
@pytest.mark.parametrize("bad", [(Samples(0), 160), (Samples(320), 320)], ids=["short frame", "skipped frame"])
def test_frame_out_of_order_is_refused(name: str, bad: tuple[Samples, int]) -> None:
    vad = ENGINES[name]()
    vad.process(Frame(Samples(640), np.zeros(FRAME_SAMPLES, dtype=np.int16)))
    with pytest.raises(VadError):
        vad.process(Frame(bad[0], np.zeros(bad[1], dtype=np.int16)))


# A conversation in pieces: each is a part of a recording, noise or silence, at a gain.
_SPEECH = in_a_room(recorded("rhasspy3_set-timer.wav"))
_SOURCES: tuple[Pcm, ...] = (
    _SPEECH,
    recorded("python-docs-sample_audio.wav"),
    pcm16(noise(2, -30)),
    np.zeros(samples_of_s(1), dtype=np.int16),
    pcm16(tone(1, 200, -15)),
)
_PIECE = st.tuples(
    st.integers(0, len(_SOURCES) - 1), st.integers(0, 12_000), st.integers(800, 24_000), st.integers(0, 12)
)


def _assemble(pieces: list[tuple[int, int, int, int]]) -> Pcm:
    return np.concatenate([_SOURCES[which][at : at + length] >> gain for which, at, length, gain in pieces])


@every_engine
@given(pieces=st.lists(_PIECE, min_size=1, max_size=5), start=st.integers(0, 10**9))
def test_boundaries_are_consistent(name: str, pieces: list[tuple[int, int, int, int]], start: int) -> None:
    pcm = _assemble(pieces)
    voicings = listen(ENGINES[name](), pcm, start)
    before = VadResult(speaking=False, boundary=Samples(0), probability=0.0)
    for i, voicing in enumerate(voicings):
        assert 0 <= voicing.probability <= 1
        assert voicing.boundary <= start + (i + 1) * FRAME_SAMPLES
        assert voicing.boundary >= before.boundary
        if voicing.speaking and before.speaking:
            assert voicing.boundary == before.boundary
        before = voicing


@every_engine
@settings(max_examples=15)
@given(first=st.lists(_PIECE, min_size=1, max_size=3), second=st.lists(_PIECE, min_size=1, max_size=3))
def test_reset_clears_all_state(
    name: str, first: list[tuple[int, int, int, int]], second: list[tuple[int, int, int, int]]
) -> None:
    used = ENGINES[name]()
    listen(used, _assemble(first))
    used.reset()
    assert listen(used, _assemble(second)) == listen(ENGINES[name](), _assemble(second))


@every_engine
def test_result_depends_on_frames_only(name: str) -> None:
    """An offset shifts the boundaries; two detectors side by side and a reused buffer change nothing."""
    alone = listen(ENGINES[name](), _SPEECH)
    first, second = ENGINES[name](), ENGINES[name]()
    buffer = np.zeros(FRAME_SAMPLES, dtype=np.int16)
    shift = 7_000_123
    for i, expected in enumerate(alone):
        buffer[:] = _SPEECH[i * FRAME_SAMPLES : (i + 1) * FRAME_SAMPLES]
        voicing = first.process(Frame(Samples(i * FRAME_SAMPLES), buffer))
        shifted = second.process(Frame(Samples(shift + i * FRAME_SAMPLES), buffer))
        buffer[:] = 0
        assert voicing == expected
        assert shifted.speaking == expected.speaking
        assert shifted.boundary == (expected.boundary + shift if expected.boundary else 0)
    assert any(voicing.speaking for voicing in alone)


def test_inserted_silence_does_not_change_noise_floor() -> None:
    """A network gap filled with silence in steady noise must not make the noise look like an onset."""
    vad = WebrtcVad()
    hiss, silence = pcm16(noise(2, -26)), np.zeros(FRAME_SAMPLES, dtype=np.int16)
    frames = [(hiss[i * FRAME_SAMPLES : (i + 1) * FRAME_SAMPLES], False) for i in range(50)]
    frames += [(silence, True)] * 10
    frames += [(hiss[i * FRAME_SAMPLES : (i + 1) * FRAME_SAMPLES], False) for i in range(50, 100)]
    heard = [vad.process(Frame(Samples(i * FRAME_SAMPLES), pcm, invented)) for i, (pcm, invented) in enumerate(frames)]
    assert not any(voicing.speaking for voicing in heard)


@pytest.mark.slow
@every_engine
@pytest.mark.parametrize("row", labelled(), ids=lambda row: row["id"])
def test_first_word_is_not_clipped_and_end_is_found(name: str, row: dict[str, object]) -> None:
    pcm = in_a_room(recorded(str(row["file"])))
    began, ended = (600 + 1000 * float(str(row[key])) for key in ("speech_start_s", "speech_end_s"))
    voicings = listen(ENGINES[name](), pcm)
    onset = next(voicing for voicing in voicings if voicing.speaking)
    assert began - 300 <= ms_of_samples(onset.boundary) <= began + PRE_ROLL_MS - 100
    assert not voicings[-1].speaking
    assert abs(ms_of_samples(voicings[-1].boundary) - ended) <= 150


@pytest.mark.slow
@pytest.mark.parametrize("name", ["silero", "cascade"])
@pytest.mark.parametrize("clip", ["blanket_fireplace.wav", "koala_noise.wav"])
def test_real_noise_is_not_speech(name: str, clip: str) -> None:
    assert not any(voicing.speaking for voicing in listen(ENGINES[name](), recorded(clip)))


@pytest.mark.slow
def test_end_is_reported_early_enough() -> None:
    """An attempt may start after 100 ms of silence: the detector must have closed by about then."""
    pcm = in_a_room(recorded("rhasspy3_whats-the-date-today.wav"))
    voicings = listen(ENGINES["silero"](), pcm)
    last_open = max(i for i, voicing in enumerate(voicings) if voicing.speaking)
    closed_at = (last_open + 2) * FRAME_SAMPLES
    assert closed_at - voicings[-1].boundary <= samples_of_ms(160)
