"""`repartee devices`."""

import json
import math
import subprocess
import sys
from dataclasses import replace
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from support.sound.virtual_card import MICROPHONE, SPEAKER, Recorder, found_at, noise, virtual_card, write_wav

from assistant.commands import devices as devices_command
from assistant.commands.devices import DevicesOptions, devices, meter, tone, verdict
from audio.devices import Device
from audio.errors import DeviceError

DESK = (
    Device(0, "desk [usb]", "ALSA", 1, 0, 16_000, 0.02, 0.0, default_input=True, default_output=False),
    Device(1, "speakers", "ALSA", 0, 2, 48_000, 0.0, 0.05, default_input=False, default_output=True),
)


def run(monkeypatch: pytest.MonkeyPatch, found: tuple[Device, ...], wanted: DevicesOptions) -> tuple[int, str]:
    monkeypatch.setattr(devices_command, "list_devices", lambda: found)
    console = Console(file=StringIO(), width=100, highlight=False)
    code = devices(wanted, console)
    assert isinstance(console.file, StringIO)
    return code, console.file.getvalue()


def test_list_has_both_directions(monkeypatch: pytest.MonkeyPatch) -> None:
    code, text = run(monkeypatch, DESK, DevicesOptions())
    assert code == 0
    lines = [line.split() for line in text.splitlines() if line.strip()]
    assert lines[1] == "0 desk [usb] default ALSA 1 16000 Hz 20 ms".split()
    assert lines[3] == "1 speakers default ALSA 2 48000 Hz 50 ms".split()


def test_list_with_only_a_microphone(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "none" in run(monkeypatch, DESK[:1], DevicesOptions())[1]


def test_list_without_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    code, text = run(monkeypatch, (), DevicesOptions(meter_s=1.0, tone=True))
    assert code == 1
    assert text.startswith("no device: no microphone and no loudspeaker was found. Plug one in")


def test_json_has_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    code, text = run(monkeypatch, DESK, DevicesOptions(as_json=True))
    assert code == 0
    listed = json.loads(text)["devices"]
    assert [entry["name"] for entry in listed] == ["desk [usb]", "speakers"]
    assert run(monkeypatch, (), DevicesOptions(as_json=True, meter_s=1.0, tone=True)) == (1, '{\n  "devices": []\n}\n')


@pytest.mark.parametrize("as_json", [True, False], ids=["json", "table"])
@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (DevicesOptions(input="zzz"), 'no microphone is called "zzz": choose'),
        (DevicesOptions(output="zzz"), 'no loudspeaker is called "zzz": choose'),
        (DevicesOptions(output="desk"), 'no loudspeaker is called "desk": choose'),
    ],
    ids=["unknown microphone", "unknown loudspeaker", "ambiguous loudspeaker"],
)
def test_missing_device_is_an_error_for_any_action(
    monkeypatch: pytest.MonkeyPatch, wanted: DevicesOptions, message: str, *, as_json: bool
) -> None:
    with pytest.raises(DeviceError, match=message):
        run(monkeypatch, DESK, replace(wanted, as_json=as_json))
    assert run(monkeypatch, DESK, DevicesOptions(input="desk", output="1"))[0] == 0


def test_meter_shows_the_level() -> None:
    assert meter(-math.inf).endswith("silence")
    assert meter(-30.0).count("█") == 20
    assert meter(0.0).count("█") == 40


@pytest.mark.parametrize(
    ("loudest_dbfs", "message"),
    [(-math.inf, "No sound arrived"), (-50.0, "quiet"), (-20.0, "fine"), (-1.0, "too loud")],
    ids=["silence", "soft", "fine", "too loud"],
)
def test_verdict_follows_the_level(loudest_dbfs: float, message: str) -> None:
    assert message in verdict(loudest_dbfs, 0)
    assert "lost 3 times" in verdict(loudest_dbfs, 3)


def test_tone_has_no_clicks() -> None:
    steps = abs(np.diff(np.concatenate([[0], tone(), [0]]).astype(np.int32)))
    assert steps.max() < 1000
    assert 4000 < tone().max() < 6000


@pytest.mark.slow
@pytest.mark.real_time
@pytest.mark.calm
def test_meter_and_tone_run_on_a_virtual_card(tmp_path: Path) -> None:
    with virtual_card() as card:

        def repartee(*words: str) -> subprocess.CompletedProcess[str]:
            command = [sys.executable, "-c", "from repartee.cli import main; main()", "devices", *words]
            return subprocess.run(command, env=card.environ, capture_output=True, text=True, timeout=60, check=False)

        with Recorder(card) as recorder:
            played = repartee("--tone", "--output", SPEAKER)
        assert (played.returncode, played.stderr) == (0, "")
        assert f'Two notes were played on "{SPEAKER}"' in played.stdout
        assert found_at(recorder.pcm, tone())[1] > 0.9
        speaking = card.speak(write_wav(tmp_path / "voice.wav", noise(16_000 * 10), 16_000))
        metered = repartee("--meter", "1", "--input", MICROPHONE)
        speaking.terminate()
        speaking.wait()
        assert "That is fine" in metered.stdout
        told = json.loads(repartee("--json", "--meter", "1", "--input", MICROPHONE, "--tone").stdout)
        assert MICROPHONE in [device["name"] for device in told["devices"]]
        assert told["meter"] == {
            "device": MICROPHONE,
            "loudest_dbfs": -120.0,
            "overflows": 0,
            "verdict": "No sound arrived: the microphone is muted, or it is the wrong one (choose with --input).",
            "troubles": [],
        }
        assert told["tone"]["verdict"].startswith("Two notes were played on")
        unknown = repartee("--meter", "1", "--input", "moon")
        assert unknown.returncode == 2
        assert unknown.stderr.startswith('repartee: no microphone is called "moon": choose')
