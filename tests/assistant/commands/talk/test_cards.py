"""The sound devices of `repartee talk`, without opening one."""

from types import SimpleNamespace
from typing import Any, Literal

import numpy as np
import pytest

from assistant.commands.talk import cards
from assistant.commands.talk.cards import chime
from assistant.commands.talk.keys import TalkControls
from assistant.config.talk_settings import AudioSection
from audio.devices import Device
from audio.errors import DeviceError

MICROPHONE = Device(0, "desk", "ALSA", 1, 0, 16_000, 0.02, 0.0, default_input=True, default_output=False)
LOUDSPEAKER = Device(1, "box", "ALSA", 0, 2, 48_000, 0.0, 0.05, default_input=False, default_output=True)


@pytest.mark.parametrize(("echo", "plays"), [("headphones", True), ("half-duplex", False)])
def test_listening_sounds_need_a_microphone_that_stays_open(
    monkeypatch: pytest.MonkeyPatch, echo: Literal["headphones", "half-duplex"], plays: bool
) -> None:
    monkeypatch.setattr(cards, "list_devices", lambda: (MICROPHONE, LOUDSPEAKER))
    opened = cards.open_cards(AudioSection(echo=echo), pytest.fail)
    assert opened.sound_output is (opened.speaker if plays else None)


def opened(monkeypatch: pytest.MonkeyPatch, *devices: Device, name: str = "", has_keys: bool = True) -> cards.Cards:
    monkeypatch.setattr(cards, "list_devices", lambda: devices)
    return cards.open_cards(AudioSection(input=name, echo="half-duplex"), pytest.fail, has_keys=has_keys)


NO_MICROPHONE = "no microphone was found: connect one and start again; `repartee devices` lists them"


@pytest.mark.parametrize(
    ("devices", "notice", "echo"),
    [
        ((MICROPHONE, LOUDSPEAKER), "", "the microphone is off while a reply plays"),
        (
            (LOUDSPEAKER,),
            NO_MICROPHONE,
            "no echo",
        ),
        ((MICROPHONE,), "no loudspeaker was found: nothing is answered; connect one and start again", "no echo"),
        (
            (),
            f"{NO_MICROPHONE}; no loudspeaker either",
            "no echo",
        ),
    ],
    ids=["both", "no microphone", "no loudspeaker", "none"],
)
def test_satellite_is_not_told_of_keys_and_texts(
    monkeypatch: pytest.MonkeyPatch, devices: tuple[Device, ...], notice: str, echo: str
) -> None:
    satellite = opened(monkeypatch, *devices, has_keys=False)
    assert satellite.notice == notice
    assert satellite.echo.startswith(echo)
    shown = " ".join(choice.detail for choice in satellite.chosen)
    assert not any(word in shown for word in ("key", "type", "text"))


def test_without_a_microphone_the_user_types(monkeypatch: pytest.MonkeyPatch) -> None:
    found = opened(monkeypatch, LOUDSPEAKER)
    found.microphone.muted = True  # as `talk` does
    assert found.notice.startswith("no microphone was found: connect one and use /mute to open it, or type")
    assert "loudspeaker" not in found.notice
    assert found.line("input") == "none was found"
    assert [choice.name for choice in found.chosen] == ["none", "none", "box"]


def test_without_any_device_replies_are_text(monkeypatch: pytest.MonkeyPatch) -> None:
    found = opened(monkeypatch)
    found.microphone.muted = True
    assert found.lacking == {"input", "output"}
    assert found.notice.endswith("no loudspeaker either: replies are shown as text")
    assert found.line("output") == "none was found"
    assert found.ready


def test_without_a_microphone_letters_are_text_until_one_opens(monkeypatch: pytest.MonkeyPatch) -> None:
    talker: Any = SimpleNamespace(floor="listening", key_held=False, endpoint="", played_ms=None, counts=dict)
    found = opened(monkeypatch)
    controls = TalkControls("open", "", muted=True)
    assert controls.status().typing  # not known yet
    controls.lacking = frozenset({"output"})
    assert not controls.status().typing
    controls.cards, controls.talker = found, talker
    assert (controls.status().typing, controls.status().floor) == (True, "typing")
    controls.muted = False  # `/mute`, but there is still none
    assert (controls.status().typing, controls.status().floor) == (True, "typing")
    found._was_open.add("input")
    assert (controls.status().typing, controls.status().floor) == (False, "listening")


def test_named_device_that_is_missing_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DeviceError, match='no microphone is called "studio"'):
        opened(monkeypatch, MICROPHONE, LOUDSPEAKER, name="studio")


def test_push_to_talk_without_a_held_key_says_that_the_microphone_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    talker: Any = SimpleNamespace(floor="listening", key_held=False, endpoint="", played_ms=None, counts=dict)
    controls = TalkControls("push-to-talk", "", cards=opened(monkeypatch, MICROPHONE, LOUDSPEAKER), talker=talker)
    states = [controls.status().floor]
    talker.key_held = True
    states.append(controls.status().floor)
    talker.key_held, talker.floor = False, "speaking"
    states.append(controls.status().floor)
    controls.muted, talker.floor = True, "listening"
    assert [*states, controls.status().floor] == ["closed", "listening", "speaking", "muted"]


def test_ready_sound_is_short_soft_and_no_reply() -> None:
    pcm = chime()
    assert len(pcm) / 24 < 200
    assert np.abs(pcm).max() < 3000
    assert pcm[0] == 0
    assert abs(int(pcm[-1])) < 50
