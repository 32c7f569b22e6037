"""`repartee talk` on a machine without microphone and loudspeaker: the user types, and replies are text."""

import os
from pathlib import Path

import pytest
from support.programs.talk_app import talking

pytestmark = [pytest.mark.slow, pytest.mark.timeout(200)]


def test_typed_text_is_answered_in_text(tmp_path: Path) -> None:
    if Path("/proc/asound/cards").exists() and "no soundcards" not in Path("/proc/asound/cards").read_text():
        pytest.skip("this machine has a sound card")
    with talking(tmp_path, {**os.environ, "PULSE_SERVER": "unix:/nonexistent"}) as app:
        app.say("what is two plus two")  # before everything is ready
        app.say("what is two plus three")
        app.until("repartee: ", within_s=100, count=2)
        app.say("/quit")
        app.ends_within_s(30)
    assert any("no microphone was found" in line and "replies are shown as text" in line for line in app.lines)
    assert [line for line in app.lines if line.startswith("repartee: ")] == [
        "repartee: That's 4.",
        "repartee: That's 5.",
    ]
    assert [record["outcome"] for record in app.records()] == ["answered", "answered"]
