"""The fast onset detector: opens if audio is above the silence and the network scores it half likely."""

from pathlib import Path

import numpy as np
import pytest
import soundfile

from audio.frame import Frame
from audio.units import FRAME_SAMPLES, MIC_RATE_HZ, Pcm, Samples
from audio.vad.fast_onset import SOUND_SAMPLES, FastOnset
from audio.vad.silero.detector import SETTINGS, SileroStream, SileroVad
from audio.vad.silero.network import SileroNetwork
from audio.vad.speech_tracker import SpeechTracker

RECORDINGS = Path(__file__).parents[2] / "recordings"
RECORDING = RECORDINGS / "pocketsphinx_goforward.wav"
QUIET, LOUD = 8.0, 900.0


class Peeking:
    """A tracker with a fast onset detector and a scripted network score."""

    def __init__(self, score: float) -> None:
        self.track = SpeechTracker(SETTINGS)
        self.score = score
        self.asked: list[Pcm] = []
        self.beginning = FastOnset(self.track, self._peek, SETTINGS.hysteresis)
        self.at = 0
        self._random = np.random.default_rng(4)

    def _peek(self, sound: Pcm) -> float:
        self.asked.append(sound.copy())
        return self.score

    def hear(self, frames: int, level: float) -> list[bool]:
        """Processes noise; returns whether speech is open after each frame."""
        speaking = []
        for _ in range(frames):
            pcm = self._random.normal(0, level, FRAME_SAMPLES).round().astype(np.int16)
            self.track.push_frame(Frame(Samples(self.at), pcm))
            self.beginning.push_frame(pcm)
            self.at += FRAME_SAMPLES
            self.beginning.check(Samples(self.at))
            speaking.append(self.track.speaking)
        return speaking


@pytest.mark.parametrize(
    ("score", "opens"), [(0.34, False), (0.35, True)], ids=["just below the threshold", "at the threshold"]
)
def test_half_likely_score_opens_if_audio_is_loud(score: float, opens: bool) -> None:
    scene = Peeking(score)
    assert not any(scene.hear(50, QUIET))
    assert scene.asked == [], "of silence nothing is asked"
    assert scene.hear(1, LOUD) == [opens]
    assert len(scene.asked[0]) == SOUND_SAMPLES
    assert np.abs(scene.asked[0][-FRAME_SAMPLES:]).max() > 10 * np.abs(scene.asked[0][:FRAME_SAMPLES]).max()


def test_onset_is_dated_by_audio() -> None:
    scene = Peeking(0.9)
    scene.hear(50, QUIET)
    scene.hear(1, LOUD)
    assert -512 <= scene.track.result(0.1).boundary - 50 * FRAME_SAMPLES <= 80
    assert scene.track.result(0.1).above_noise


def test_network_is_not_asked_during_speech() -> None:
    scene = Peeking(0.9)
    scene.hear(50, QUIET)
    scene.hear(5, LOUD)
    assert len(scene.asked) == 1


def test_wrong_onset_closes_again() -> None:
    scene = Peeking(0.9)
    scene.hear(50, QUIET)
    opened = scene.at + FRAME_SAMPLES
    assert scene.hear(1, LOUD) == [True]
    scene.track.step(0.1, Samples(opened), Samples(opened + 512))
    scene.track.step(0.1, Samples(opened + 512), Samples(opened + 1024))
    assert not scene.track.speaking


def test_reset_clears_audio() -> None:
    scene = Peeking(0.0)
    scene.hear(50, LOUD)
    scene.beginning.reset()
    scene.track.reset()
    scene.at = 0
    scene.hear(50, QUIET)
    scene.hear(1, LOUD)
    assert np.abs(scene.asked[-1][:FRAME_SAMPLES]).max() < LOUD / 10


def test_peek_equals_window_score_and_keeps_state() -> None:
    pcm, _ = soundfile.read(RECORDING, dtype="int16")
    network = SileroNetwork()
    plain, peeking = SileroStream(network), SileroStream(network)
    same = 0
    for at in range(0, len(pcm) // FRAME_SAMPLES * FRAME_SAMPLES, FRAME_SAMPLES):
        window = plain.push_frame(pcm[at : at + FRAME_SAMPLES])
        ahead = peeking.peek(pcm[at + FRAME_SAMPLES - SOUND_SAMPLES : at + FRAME_SAMPLES]) if at else 0.0
        assert peeking.push_frame(pcm[at : at + FRAME_SAMPLES]) == window
        if window is not None and window[1] == 0 and at:
            assert ahead == pytest.approx(window[0], abs=1e-5)
            same += 1
    assert same > 10


def test_onset_is_earlier_than_by_whole_windows() -> None:
    pcm, _ = soundfile.read(RECORDING, dtype="int16")
    room = np.random.default_rng(1).normal(0, 10, 2 * MIC_RATE_HZ).astype(np.int16)
    sooner = []
    for shift in range(0, 512, 64):
        heard = np.concatenate([room[shift:], pcm])
        vad, whole = SileroVad(), SileroStream(SileroNetwork())
        opened, sure = None, None
        for at in range(0, len(heard) - FRAME_SAMPLES + 1, FRAME_SAMPLES):
            frame = Frame(Samples(at), heard[at : at + FRAME_SAMPLES])
            if opened is None and vad.process(frame).speaking:
                opened = frame.end
            window = whole.push_frame(frame.pcm)
            if sure is None and window is not None and window[0] >= SETTINGS.hysteresis.open_score:
                sure = frame.end
        assert opened is not None
        assert sure is not None
        sooner.append((sure - opened) // FRAME_SAMPLES)
    assert min(sooner) >= 0
    assert max(sooner) >= 1
