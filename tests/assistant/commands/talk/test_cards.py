"""The sound devices of `repartee talk`, without opening one."""

from types import SimpleNamespace
from typing import Literal

import pytest

from assistant.commands.talk import cards
from assistant.config.talk_settings import AudioSection


@pytest.mark.parametrize(("echo", "plays"), [("headphones", True), ("half-duplex", False)])
def test_listening_sounds_need_a_microphone_that_stays_open(
    monkeypatch: pytest.MonkeyPatch, echo: Literal["headphones", "half-duplex"], plays: bool
) -> None:
    device = SimpleNamespace(name="card", host_api="ALSA")
    monkeypatch.setattr(cards, "list_devices", tuple)
    monkeypatch.setattr(cards, "pick", lambda *_given: device)
    opened = cards.open_cards(AudioSection(echo=echo), -18.0, pytest.fail)
    assert opened.sound_output is (opened.speaker if plays else None)
