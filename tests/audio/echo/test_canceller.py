"""The real canceller in a simulated room, in virtual time, and errors if it is missing."""

import asyncio
import functools
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile

from audio.card.microphone import FrameCleaner
from audio.card.speaker import EchoReference
from audio.echo.canceller import LEAD_MS, MIN_LEAD_MS, EchoCanceller
from audio.echo.half_duplex import HalfDuplex
from audio.errors import AudioError, EchoUnavailable
from audio.level import gain_for
from audio.units import FRAME_SAMPLES, MIC_RATE_HZ, REPLY_RATE_HZ, Pcm, s_of_samples
from bench.sound.echo import reply
from bench.sound.echo_room import Air, Room

FRAME_S = s_of_samples(FRAME_SAMPLES)
BLOCK = REPLY_RATE_HZ // 100
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


def scene(
    canceller: EchoCanceller,
    room: Room,
    seconds: float,
    *,
    ahead_s: float = 0.06,
    speech: Pcm | None = None,
    speech_at: int = 0,
) -> tuple[Pcm, Pcm]:
    """Returns the microphone audio with the reply and the user's speech, and the cleaned audio."""
    people = np.zeros(int(seconds * MIC_RATE_HZ))
    if speech is not None:
        people[speech_at : speech_at + len(speech)] = speech[: len(people) - speech_at]
    air = Air(room)
    told = 0
    raw: list[Pcm] = []
    cleaned: list[Pcm] = []
    for number in range(int(seconds / FRAME_S)):
        start_s = number * FRAME_S
        while (leaves_s := told * 0.01 * (1 + room.drift_ppm * 1e-6)) < start_s + FRAME_S + ahead_s:
            block = np.take(voice(), np.arange(told * BLOCK, (told + 1) * BLOCK), mode="wrap")
            canceller.add_reference(block, REPLY_RATE_HZ, leaves_s)
            air.play(block)
            told += 1
        sound = air.hear() * 32_768 + people[number * FRAME_SAMPLES : (number + 1) * FRAME_SAMPLES]
        raw.append(np.rint(sound).clip(-32_768, 32_767).astype(np.int16))
        cleaned.append(canceller.clean(raw[-1], start_s))
    return np.concatenate(raw), np.concatenate(cleaned)


def loss_db(raw: Pcm, cleaned: Pcm, begin_s: float, end_s: float) -> float:
    span = slice(int(begin_s * MIC_RATE_HZ), int(end_s * MIC_RATE_HZ))
    before, after = (float(np.mean(np.square(sound[span], dtype=np.float64))) for sound in (raw, cleaned))
    return 10 * float(np.log10(before / after))


@pytest.mark.parametrize(
    "room",
    [
        Room(gain_db=0.0, delay_ms=10),
        Room(gain_db=0.0, delay_ms=250),
        Room(gain_db=-10.0, noise_dbfs=-80),
        Room(gain_db=0.0, delay_ms=-20),
    ],
    ids=str,
)
def test_echo_is_cancelled_after_two_seconds(room: Room) -> None:
    raw, cleaned = scene(EchoCanceller(), room, 6.0)
    assert loss_db(raw, cleaned, 2.0, 6.0) >= 25


@pytest.mark.parametrize("ppm", [-100.0, 100.0], ids="{} ppm".format)
def test_clock_drift_costs_little_cancellation(ppm: float) -> None:
    raw, cleaned = scene(EchoCanceller(), Room(gain_db=0.0, drift_ppm=ppm), 20.0)
    assert loss_db(raw, cleaned, 15.0, 20.0) >= 25


def test_without_reference_microphone_is_unchanged() -> None:
    canceller = EchoCanceller()
    sound = person()
    heard = [canceller.clean(sound[at : at + FRAME_SAMPLES], at / MIC_RATE_HZ) for at in range(0, len(sound), 320)]
    # The high-pass filter removes what is below the voice.
    assert abs(loss_db(sound, np.concatenate(heard), 0.4, 2.0)) < 1.5


def test_user_speech_during_playback_passes() -> None:
    """Speech as loud as the echo, after the canceller has settled."""
    speech = person()
    raw, cleaned = scene(EchoCanceller(), Room(gain_db=-10.0), 6.0, speech=speech, speech_at=4 * MIC_RATE_HZ)
    _, alone = scene(EchoCanceller(), Room(gain_db=-10.0), 6.0)
    assert loss_db(cleaned, alone, 4.5, 6.0) > 15
    assert loss_db(raw, cleaned, 4.5, 6.0) < 10


def test_lead_is_reduced_for_card_with_late_reference() -> None:
    canceller = EchoCanceller()
    raw, cleaned = scene(canceller, Room(gain_db=0.0, delay_ms=30), 8.0, ahead_s=0.02)
    assert MIN_LEAD_MS <= canceller.delay_ms < 20
    assert loss_db(raw, cleaned, 5.0, 8.0) >= 25


def test_card_with_early_reference_keeps_full_lead() -> None:
    canceller = EchoCanceller()
    scene(canceller, Room(), 2.0)
    assert canceller.delay_ms == LEAD_MS
    assert canceller.reference.late_samples == 0


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


@pytest.fixture
def without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulates a missing livekit package."""
    monkeypatch.setitem(sys.modules, "livekit.rtc", None)


@pytest.mark.usefixtures("without_the_extra")
def test_missing_extra_names_remedy() -> None:
    with pytest.raises(EchoUnavailable) as caught:
        EchoCanceller()
    assert "run `.venv/bin/pip install -e '.[desktop]'` in Repartee's folder, or set audio.echo to" in str(caught.value)


def test_library_is_imported_on_use_only() -> None:
    ours = "audio.echo.canceller, audio.echo.half_duplex"
    code = f"import sys, {ours}; print(any('livekit' in name for name in sys.modules))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert ran.stdout.strip() == "False"


def test_both_cleaners_implement_protocols() -> None:
    cleaners: list[FrameCleaner] = [EchoCanceller(), HalfDuplex()]
    listeners: list[EchoReference] = [EchoCanceller(), HalfDuplex()]
    assert len(cleaners) == len(listeners)
