"""`talk --server` with a wake word on this machine: what is sent, and when it sleeps, in virtual time."""

import asyncio
import binascii
import json
import math
from typing import Any

import numpy as np
import pytest
from support.conversations.simulation import ScriptedMicrophone

from assistant.events import Problem, SessionEvent
from audio.frame import Frame
from audio.speaker import WavSpeaker
from audio.units import FRAME_MS, FRAME_SAMPLES, Samples, samples_of_ms
from audio.wake import WakeWordDetection
from audio.wake.gate import WakeWordGate
from audio.wake.listener import WakeWordListener
from web.remote.address import address_of
from web.remote.close_reasons import CloseReason
from web.remote.sound.contested_reply import DECIDED_S
from web.remote.sound.waking import MAX_AWAITED_S, Waking
from web.remote.talk import NOT_HEARD, RemoteTalk

pytestmark = pytest.mark.virtual_time

LEVEL = 3277
"""A tenth of full scale, -20 dBFS."""


class ScriptedDetector:
    """Detects the word in the frame after `say`, with an end that is 100 ms earlier."""

    def __init__(self) -> None:
        self.said = False

    def process(self, frame: Frame) -> WakeWordDetection | None:
        said, self.said = self.said, False
        return WakeWordDetection("okay_nabu", Samples(frame.end - samples_of_ms(100))) if said else None


class Satellite:
    """A client with a wake word, whose wire is a list."""

    def __init__(self) -> None:
        self.detector = ScriptedDetector()
        self.events: list[SessionEvent] = []
        self.unheard = 0
        gate = WakeWordGate(after_word=samples_of_ms(5000), after_reply=samples_of_ms(8000))
        self.waking = Waking(
            WakeWordListener(self.detector, gate), {"okay_nabu": "okay nabu"}, on_nothing_heard=self._count
        )
        self.microphone = ScriptedMicrophone([], 1000)
        self.talk = RemoteTalk(
            address_of("ws://127.0.0.1:1"),
            None,
            self.microphone,
            WavSpeaker(lambda _at_s, _pcm: None),
            self.events.append,
            waking=self.waking,
            room="Kitchen",
        )
        self._frames = 0

    def _count(self) -> None:
        self.unheard += 1

    def connect(self, *, rooms: bool = True) -> None:
        self.talk.wire._open = True
        repartee = {"resume_token": "t", "heard_ms": 0.0, "engines": [], "resumed": False} | (
            {"room": ""} if rooms else {}
        )
        self.receive("session.created", session={"repartee": repartee})
        self.receive("session.updated", session={})

    def receive(self, kind: str, **fields: Any) -> None:
        self.talk.event({"type": kind, **fields})

    async def hear(self, seconds: float) -> None:
        """Passes frames to the client in real time."""
        for _ in range(round(seconds * 1000 / FRAME_MS)):
            await asyncio.sleep(FRAME_MS / 1000)
            start, self._frames = self._frames * FRAME_SAMPLES, self._frames + 1
            self.microphone.clock.observe(Samples(start + FRAME_SAMPLES), asyncio.get_running_loop().time())
            self.talk.take_frame(Frame(Samples(start), np.full(FRAME_SAMPLES, LEVEL, np.int16)))

    async def say_word(self) -> None:
        self.detector.said = True
        await self.hear(FRAME_MS / 1000)

    def sent(self) -> list[dict[str, Any]]:
        """Returns the events sent since the last call."""
        events = [json.loads(text) for text, _ in self.talk.wire._waiting]
        self.talk.wire._waiting.clear()
        self.talk.wire._waiting_sound = 0
        return events

    def sent_ms(self) -> float:
        """Returns the length of the sound sent since the last call."""
        sounds = [binascii.a2b_base64(event["audio"]) for event in self.sent() if "audio" in event]
        return sum(map(len, sounds)) / 2 / 24


async def awake() -> Satellite:
    satellite = Satellite()
    satellite.connect()
    await satellite.hear(3)
    await satellite.say_word()
    return satellite


async def test_nothing_is_sent_before_the_wake_word() -> None:
    satellite = Satellite()
    satellite.connect()
    await satellite.hear(60)
    assert [event["type"] for event in satellite.sent()] == ["session.update"]
    assert satellite.talk.floor == "asleep"


async def test_sound_after_the_word_is_sent_and_the_word_is_not() -> None:
    satellite = await awake()
    assert satellite.talk.floor == "listening"
    sent_ms = satellite.sent_ms()
    assert 80 <= sent_ms <= 120 + FRAME_MS
    await satellite.hear(1)
    assert satellite.sent_ms() == pytest.approx(1000, abs=1)


async def test_server_is_told_level_and_end_of_the_word() -> None:
    satellite = await awake()
    (heard,) = [event for event in satellite.sent() if event["type"] == "repartee.wake_word.heard"]
    assert heard["level_dbfs"] == pytest.approx(20 * math.log10(LEVEL / 32768), abs=0.1)
    assert heard["audio_end_ms"] == 0


async def test_server_without_rooms_is_sent_neither_room_nor_word() -> None:
    satellite = Satellite()
    satellite.connect(rooms=False)
    await satellite.hear(1)
    await satellite.say_word()
    update, *others = satellite.sent()
    assert "room" not in update["session"]["repartee"]
    assert {event["type"] for event in others} == {"input_audio_buffer.append"}


async def test_server_with_rooms_is_told_the_room() -> None:
    satellite = Satellite()
    satellite.connect()
    assert satellite.sent()[0]["session"]["repartee"]["room"] == "Kitchen"


async def test_word_without_a_question_ends_with_nothing_heard() -> None:
    satellite = await awake()
    await satellite.hear(4.8)
    assert (satellite.talk.floor, satellite.unheard) == ("listening", 0)
    await satellite.hear(0.4)
    assert (satellite.talk.floor, satellite.unheard) == ("asleep", 1)
    satellite.sent()
    await satellite.hear(5)
    assert satellite.sent() == []


async def test_question_keeps_it_awake_and_is_followed_by_silence() -> None:
    satellite = await awake()
    satellite.receive("input_audio_buffer.speech_started", item_id="item_1", audio_start_ms=0)
    await satellite.hear(20)
    assert satellite.talk.floor == "hearing"
    satellite.receive("repartee.nothing_said", item_id="item_1", why="no words")
    await satellite.hear(1)
    assert (satellite.talk.floor, satellite.unheard) == ("asleep", 0)


async def test_reply_opens_the_window_for_the_next_question() -> None:
    satellite = Satellite()
    satellite.connect()
    satellite.receive("response.created", response={"id": "resp_1_1"})
    sound = binascii.b2a_base64(np.full(12_000, 1000, "<i2").tobytes()).decode()
    satellite.receive("response.output_audio.delta", response_id="resp_1_1", delta=sound)
    satellite.sent()
    await satellite.hear(1)
    assert satellite.sent_ms() == pytest.approx(1000, abs=1 + FRAME_MS)
    satellite.receive("response.done", response={"id": "resp_1_1", "status": "completed"})
    satellite.talk.playback.stop()
    await satellite.hear(7.9)
    assert satellite.talk.floor == "listening"
    await satellite.hear(0.2)
    assert (satellite.talk.floor, satellite.unheard) == ("asleep", 0)


async def test_server_that_never_answers_does_not_hear_for_ever() -> None:
    satellite = await awake()
    satellite.receive("input_audio_buffer.speech_started", item_id="item_1", audio_start_ms=0)
    satellite.receive("input_audio_buffer.speech_stopped", item_id="item_1", audio_end_ms=900)
    await satellite.hear(MAX_AWAITED_S - 1)
    assert satellite.waking.awake
    await satellite.hear(2)
    assert not satellite.waking.awake


async def test_satellite_that_yields_sleeps_without_a_sound() -> None:
    satellite = await awake()
    satellite.receive("input_audio_buffer.speech_started", item_id="item_1", audio_start_ms=0)
    satellite.receive("repartee.wake_word.yielded", room="Living room")
    satellite.sent()
    await satellite.hear(6)
    assert (satellite.talk.floor, satellite.unheard) == ("asleep", 0)
    assert satellite.sent_ms() <= FRAME_MS


async def announcing(*, asleep: bool) -> Satellite:
    """Returns a satellite during an announcement."""
    satellite = Satellite()
    satellite.connect()
    if not asleep:
        await satellite.say_word()
    satellite.receive("repartee.announcement", response_id="resp_1_1", text="Dinner is ready.")
    satellite.receive("response.created", response={"id": "resp_1_1"})
    sound = binascii.b2a_base64(np.full(12_000, 1000, "<i2").tobytes()).decode()
    satellite.receive("response.output_audio.delta", response_id="resp_1_1", delta=sound)
    satellite.sent()
    await satellite.hear(6)
    return satellite


async def test_announcement_does_not_wake_a_satellite() -> None:
    satellite = await announcing(asleep=True)
    assert satellite.sent() == []
    assert not satellite.waking.awake
    assert satellite.talk.playback.sounding


async def test_announcement_to_a_user_who_talks_opens_the_window() -> None:
    satellite = await announcing(asleep=False)
    assert satellite.waking.awake  # the window after the word alone has ended


async def speaking(words: str, *, room: str = "") -> Satellite:
    """Returns a satellite in the middle of a reply."""
    satellite = await awake()
    satellite.talk.room = room
    satellite.receive("response.created", response={"id": "resp_1_1"})
    satellite.receive("response.output_audio_transcript.delta", response_id="resp_1_1", delta=words)
    sound = binascii.b2a_base64(np.full(48_000, 1000, "<i2").tobytes()).decode()
    async with asyncio.TaskGroup() as tasks:
        work = [tasks.create_task(satellite.talk.speaker.run()), tasks.create_task(satellite.talk.playback.run())]
        satellite.receive("response.output_audio.delta", response_id="resp_1_1", delta=sound)
        await satellite.hear(1)
        assert satellite.talk.floor == "speaking"
        for task in work:
            task.cancel()
    satellite.sent()
    return satellite


async def test_word_interrupts_a_reply() -> None:
    satellite = await speaking("One two three.")
    await satellite.say_word()
    assert "response.cancel" in [event["type"] for event in satellite.sent()]
    assert not satellite.talk.playback.sounding


async def test_word_in_a_room_interrupts_a_reply_when_the_server_has_decided() -> None:
    satellite = await speaking("One two three.", room="Kitchen")
    await satellite.say_word()
    assert [event["type"] for event in satellite.sent() if "audio" not in event] == ["repartee.wake_word.heard"]
    assert satellite.talk.playback.sounding
    await satellite.hear(DECIDED_S + 0.1)
    assert "response.cancel" in [event["type"] for event in satellite.sent()]
    assert not satellite.talk.playback.sounding


async def test_reply_goes_on_at_its_volume_if_another_satellite_answers() -> None:
    satellite = await speaking("One two three.", room="Kitchen")
    lowered: list[bool] = []
    satellite.talk.speaker.duck = lambda: lowered.append(True)  # type: ignore[method-assign]
    satellite.talk.speaker.unduck = lambda: lowered.append(False)  # type: ignore[method-assign]
    await satellite.say_word()
    satellite.receive("repartee.wake_word.yielded", room="Hall")
    await satellite.hear(DECIDED_S + 0.1)
    assert lowered == [True, False]
    assert "response.cancel" not in [event["type"] for event in satellite.sent()]
    assert satellite.talk.playback.sounding


async def test_word_within_the_reply_itself_is_ignored() -> None:
    satellite = await speaking("Say: Okay, Nabu!")
    await satellite.say_word()
    assert {event["type"] for event in satellite.sent()} == {"input_audio_buffer.append"}
    assert satellite.talk.playback.sounding


async def test_lost_connection_is_shown_without_a_further_frame() -> None:
    satellite = await awake()
    floors: list[str] = []
    satellite.talk.on_step = lambda: floors.append(satellite.talk.floor)
    satellite.talk.wire._open = False
    satellite.talk.connection_lost(CloseReason("the connection was lost.", again=True))
    assert floors == ["starting"]


async def test_word_without_a_connection_is_answered_by_a_sound_only() -> None:
    satellite = await awake()
    await satellite.hear(8)
    satellite.talk.wire._drop_queue()
    satellite.talk.connection_lost(CloseReason("gone.", again=True))
    unheard = satellite.unheard
    await satellite.say_word()
    assert satellite.unheard == unheard + 1
    assert Problem(NOT_HEARD) in satellite.events
    satellite.connect()
    satellite.sent()
    await satellite.hear(1)
    assert satellite.sent() == []
