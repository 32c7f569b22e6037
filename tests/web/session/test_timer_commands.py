"""Commands that change timers, by voice in real time: real server and voice; the words of each turn are scripted."""

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.servers.session_server import (
    WHAT_TIME,
    Pace,
    RecordingClient,
    connected_client,
    in_real_time,
    real_engines,
    recording,
    session_server,
)

from audio.units import REPLY_RATE_HZ, Pcm

pytestmark = [pytest.mark.slow, pytest.mark.real_time, pytest.mark.timeout(240)]

SAID = {
    "en": (
        "set a timer for ten minutes and another for twenty",
        "call it pasta",
        "take five minutes off the pasta timer",
        "cancel the pasta timer and set an alarm for seven",
        "make my alarm half an hour later",
    ),
    "de": (
        "stell einen Timer auf zehn Minuten und einen auf zwanzig",
        "nenn ihn Pasta",
        "zieh fünf Minuten vom Pasta Timer ab",
        "lösch den Pasta Timer und stell den Wecker auf sieben",
        "stell den Wecker eine halbe Stunde später",
    ),
    "fr": (
        "mets un minuteur de dix minutes et un autre de vingt",
        "appelle-le pâtes",
        "enlève cinq minutes au minuteur pâtes",
        "annule le minuteur pâtes et mets une alarme à sept heures",
        "retarde l'alarme d'une demi-heure",
    ),
    "es": (
        "pon un temporizador de diez minutos y otro de veinte",
        "llámalo pasta",
        "quita cinco minutos al temporizador de pasta",
        "cancela el temporizador de pasta y pon una alarma a las siete",
        "pon la alarma media hora más tarde",
    ),
}
FRAME = REPLY_RATE_HZ // 50


@pytest.mark.parametrize("code", SAID)
def test_commands_by_voice_change_what_is_shown(code: str, tmp_path: Path) -> None:
    async def converse(pace: Pace, folder: Path) -> None:
        settings = (f"assistant.language={code}", "skills.store_timers=false")
        loader = real_engines(folder, "", *settings, transcripts=SAID[code])
        async with session_server(loader) as server, connected_client(server) as caller:
            await caller.send("session.update", session={"type": "realtime", "repartee": {"events": True}})
            shown = [await say(caller, pace, turn) for turn in range(1, len(SAID[code]) + 1)]
        name = SAID[code][1].split(" ")[-1].split("-")[-1].lower() if code != "fr" else "pâtes"
        assert [lengths(timers) for timers in shown] == [[600, 1200], [600, 1200], [600, 1200], [0, 600], [0, 600]]
        assert [timer["name"] for timer in shown[1]] == ["", name]
        assert 840 < shown[2][1]["left_s"] <= 900
        before, after = (next(timer["at"] for timer in timers if timer["kind"] == "alarm") for timers in shown[3:])
        assert (before[11:16], after[11:16]) in {("07:00", "07:30"), ("19:00", "19:30")}

    in_real_time(tmp_path, converse)


async def say(caller: RecordingClient, pace: Pace, turn: int) -> list[dict[str, Any]]:
    """Speaks in real time, and returns what is shown after the reply."""
    heard_ms = caller.sound_ms
    await speak(caller, pace, np.concatenate([recording(WHAT_TIME), np.zeros(2 * REPLY_RATE_HZ, np.int16)]))
    await caller.until("response.done", turn)
    reply_samples = round((caller.sound_ms - heard_ms) * REPLY_RATE_HZ / 1000)
    await speak(caller, pace, np.zeros(reply_samples, np.int16))  # the next turn interrupts no reply
    timers: list[dict[str, Any]] = caller.events_of("repartee.timers")[-1]["timers"]
    return timers


async def speak(caller: RecordingClient, pace: Pace, sound: Pcm) -> None:
    due_s = asyncio.get_running_loop().time()
    for begin in range(0, len(sound), FRAME):
        await caller.send_audio(sound[begin : begin + FRAME])
        due_s += 0.02
        await pace.until(due_s)


def lengths(timers: list[dict[str, Any]]) -> list[int]:
    return sorted(round(timer["length_s"]) for timer in timers)
