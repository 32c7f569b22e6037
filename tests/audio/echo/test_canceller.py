"""The real canceller in a simulated room, in virtual time: troubles of cards, and errors if the library is missing."""

import asyncio
import functools
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import soundfile

from audio.echo.canceller import LEAD_MS, MIN_LEAD_MS, EchoCanceller
from audio.errors import AudioError, EchoUnavailable
from audio.level import gain_for
from audio.units import FRAME_SAMPLES, MIC_RATE_HZ, REPLY_RATE_HZ, Pcm, s_of_samples
from bench.sound.echo import reply
from bench.sound.echo_room import Air, Room

FRAME_S = s_of_samples(FRAME_SAMPLES)
BLOCK_S = 0.01
BLOCK = REPLY_RATE_HZ // 100
PLAIN = Room(gain_db=-10.0, noise_dbfs=-80)
RECORDING = Path(__file__).parent.parent.parent / "recordings" / "rhasspy3_set-timer.wav"


@functools.cache
def voice() -> Pcm:
    """The assistant's voice, half a minute at 24 kHz."""
    return asyncio.run(reply())


def person() -> Pcm:
    """The user's voice: two seconds at 16 kHz, at -30 dBFS."""
    pcm, _ = soundfile.read(RECORDING, dtype="int16")
    sound = pcm[: 2 * MIC_RATE_HZ // FRAME_SAMPLES * FRAME_SAMPLES]
    spoken: Pcm = np.rint(sound * gain_for(-30.0, sound, MIC_RATE_HZ)).astype(np.int16)
    return spoken


@dataclass
class Scene:
    """A reply in a room, and what the canceller is told of it.

    Attributes:
        room: The room.
        ahead_s: How much before the frame blocks are announced.
        speech: The user's speech, from the fourth second on.
        announced: Whether the block that leaves then is announced to the canceller.
        closed: Whether the microphone is closed at that time.
        late: By how much the block that leaves then is said to leave too late.
        other: From this second on another loudspeaker plays in another room; its blocks are announced this much sooner.
        canceller: What is fed by `run`.
        raw: The microphone's sound after it.
        cleaned: The cleaned sound.
    """

    room: Room = PLAIN
    ahead_s: float = 0.06
    speech: Pcm | None = None
    announced: Callable[[float], bool] = lambda _at_s: True
    closed: Callable[[float], bool] = lambda _at_s: False
    late: Callable[[float], float] = lambda _at_s: 0.0
    other: tuple[float, Room, float] | None = None

    def run(self, seconds: float) -> "Scene":
        """Plays the scene."""
        self.canceller = EchoCanceller()
        people = np.zeros(int(seconds * MIC_RATE_HZ))
        if self.speech is not None:
            at = 4 * MIC_RATE_HZ
            people[at : at + len(self.speech)] = self.speech[: len(people) - at]
        self.raw, self.cleaned = np.zeros(len(people), np.int16), np.zeros(len(people), np.int16)
        air, ahead_s, other, told = Air(self.room), self.ahead_s, self.other, 0
        for number in range(int(seconds / FRAME_S)):
            start_s = number * FRAME_S
            if other is not None and start_s >= other[0]:
                air, ahead_s, other = Air(other[1]), other[2], None
            pace = 1 + self.room.drift_ppm * 1e-6
            while (leaves_s := told * BLOCK_S * pace) < start_s + FRAME_S + ahead_s:
                block = np.take(voice(), np.arange(told * BLOCK, (told + 1) * BLOCK), mode="wrap")
                if self.announced(leaves_s):
                    self.canceller.add_reference(block, REPLY_RATE_HZ, leaves_s + self.late(leaves_s))
                air.play_samples(block)
                told += 1
            span = slice(number * FRAME_SAMPLES, (number + 1) * FRAME_SAMPLES)
            sound = air.hear() * 32_768 + people[span]
            if not self.closed(start_s):
                self.raw[span] = np.rint(sound).clip(-32_768, 32_767)
                self.cleaned[span] = self.canceller.clean(self.raw[span], start_s)
        return self

    def loss_db(self, begin_s: float, end_s: float) -> float:
        """Returns by how much the sound became softer."""
        return level_difference_db(self.raw, self.cleaned, begin_s, end_s)

    def least_loss_db(self, begin_s: int, end_s: int) -> float:
        """Returns the loss of the worst second."""
        return min(self.loss_db(second, second + 1) for second in range(begin_s, end_s))


def level_difference_db(one: Pcm, other: Pcm, begin_s: float, end_s: float) -> float:
    span = slice(int(begin_s * MIC_RATE_HZ), int(end_s * MIC_RATE_HZ))
    before, after = (float(np.mean(np.square(sound[span], dtype=np.float64))) + 1.0 for sound in (one, other))
    return 10 * float(np.log10(before / after))


@pytest.mark.parametrize("delay_ms", [10, 250, -20], ids="{} ms delay".format)
def test_echo_is_cancelled_after_two_seconds(delay_ms: float) -> None:
    assert Scene(Room(gain_db=0.0, delay_ms=delay_ms)).run(5).loss_db(2, 5) >= 25


@pytest.mark.parametrize("ppm", [-100.0, 100.0], ids="{} ppm".format)
def test_clock_drift_costs_little_cancellation(ppm: float) -> None:
    assert Scene(Room(gain_db=0.0, drift_ppm=ppm)).run(14).loss_db(10, 14) >= 25


def test_without_reference_microphone_is_unchanged() -> None:
    canceller = EchoCanceller()
    sound = person()
    heard = [canceller.clean(sound[at : at + FRAME_SAMPLES], at / MIC_RATE_HZ) for at in range(0, len(sound), 320)]
    # The high-pass filter removes what is below the voice.
    assert abs(level_difference_db(sound, np.concatenate(heard), 0.4, 2.0)) < 1.5


def test_user_speech_during_playback_passes() -> None:
    """Speech as loud as the echo, after the canceller has settled."""
    spoken, alone = Scene(Room(gain_db=-10.0), speech=person()).run(6), Scene(Room(gain_db=-10.0)).run(6)
    assert level_difference_db(spoken.cleaned, alone.cleaned, 4.5, 6.0) > 15
    assert spoken.loss_db(4.5, 6.0) < 10
    assert alone.canceller.delay_ms == LEAD_MS, "its reference is early"
    assert alone.canceller.reference.late_samples == 0


def test_lead_is_reduced_for_card_with_late_reference() -> None:
    scene = Scene(Room(gain_db=0.0, delay_ms=30), ahead_s=0.02).run(8)
    assert MIN_LEAD_MS <= scene.canceller.delay_ms < 20
    assert scene.loss_db(5, 8) >= 25


@pytest.mark.parametrize("delay_ms", [40, -5], ids="{} ms delay".format)
def test_lead_is_restored_when_reference_is_early_again(delay_ms: float) -> None:
    """The first card requests its blocks just in time; the second plays them at the reported time."""
    scene = Scene(ahead_s=0.02, other=(4.0, Room(gain_db=-10.0, delay_ms=delay_ms, noise_dbfs=-80), 0.06)).run(10)
    assert scene.loss_db(3, 4) >= 20
    assert scene.canceller.delay_ms == LEAD_MS
    assert scene.least_loss_db(8, 10) >= 20


def test_lead_oscillates_less_for_unsteady_card() -> None:
    """Four seconds with early blocks, then one without."""
    canceller = EchoCanceller()
    leads = []
    for number in range(50 * 30):
        start_s = number * FRAME_S
        announced_s = start_s + FRAME_S + (0.02 if start_s % 5 >= 4 else 0.06)
        while (canceller.reference.ends_s or 0.0) < announced_s:
            canceller.add_reference(np.zeros(BLOCK, np.int16), REPLY_RATE_HZ, canceller.reference.ends_s or 0.0)
        canceller.clean(np.zeros(FRAME_SAMPLES, np.int16), start_s)
        leads.append(canceller.delay_ms)
    raised = [after > before for before, after in pairwise(leads)]
    assert 1 <= sum(raised) <= 3


@pytest.mark.parametrize(
    ("scene", "steady_from_s"),
    [
        pytest.param(Scene(announced=lambda at_s: not 4.0 <= at_s < 4.03), 6, id="30 ms gap in the reference"),
        pytest.param(Scene(announced=lambda at_s: not 4.0 <= at_s < 5.0), 6, id="1 s gap in the reference"),
        pytest.param(Scene(closed=lambda at_s: 3.0 <= at_s < 3.1), 6, id="microphone closed for 100 ms"),
        pytest.param(Scene(closed=lambda at_s: 3.0 <= at_s < 5.0), 6, id="microphone closed for 2 s"),
        pytest.param(
            Scene(late=lambda at_s: 0.05 if abs(at_s - 4.0) < 0.001 else 0.0), 5, id="one wrong date"
        ),  # a busy interpreter reads the clock late
        pytest.param(
            Scene(other=(4.0, Room(gain_db=-4.0, delay_ms=120, noise_dbfs=-80), 0.06)), 6, id="another loudspeaker"
        ),
        pytest.param(
            Scene(other=(4.0, Room(gain_db=-4.0, delay_ms=120, noise_dbfs=-80), 0.2)),
            6,
            id="another loudspeaker with longer buffer",
        ),
    ],
)
def test_cancellation_recovers(scene: Scene, steady_from_s: int) -> None:
    scene.run(8)
    assert scene.loss_db(2, 3) >= 20
    assert scene.least_loss_db(steady_from_s, 8) >= 20
    assert scene.canceller.delay_ms == LEAD_MS


def test_input_frame_is_not_modified() -> None:
    frame = np.arange(FRAME_SAMPLES, dtype=np.int16)
    frame.flags.writeable = False
    cleaned = EchoCanceller().clean(frame, 0.0)
    assert cleaned.shape == frame.shape
    assert cleaned is not frame
    with pytest.raises(ValueError, match=r"a frame has 320 samples, but this one has the shape \(100,\)"):
        EchoCanceller().clean(np.zeros(100, np.int16), 0.0)


def test_library_failure_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    canceller = EchoCanceller()

    def fails(_frame: object) -> None:
        raise RuntimeError("no")

    monkeypatch.setattr(canceller._module, "process_stream", fails)
    with pytest.raises(AudioError, match="Echo cancellation failed inside livekit: restart Repartee, or set"):
        canceller.clean(np.zeros(FRAME_SAMPLES, np.int16), 0.0)


def test_missing_extra_names_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "livekit.rtc", None)
    with pytest.raises(EchoUnavailable) as caught:
        EchoCanceller()
    assert "run `.venv/bin/pip install -e '.[desktop]'` in Repartee's folder, or set audio.echo to" in str(caught.value)


def test_library_is_imported_on_use_only() -> None:
    ours = "audio.echo.canceller, audio.echo.half_duplex"
    code = f"import sys, {ours}; print(any('livekit' in name for name in sys.modules))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert ran.stdout.strip() == "False"
