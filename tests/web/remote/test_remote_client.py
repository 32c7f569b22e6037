"""Messages of the client of a remote conversation, with a wire that the test opens and closes."""

import asyncio
import binascii
import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.clocks.virtual_time import run_virtual
from support.conversations.simulation import ScriptedMicrophone

from assistant.events import Problem, ReplyStopped, SessionEvent
from audio.frame import Frame
from audio.speaker import WavSpeaker
from audio.units import FRAME_SAMPLES, Pcm, Samples
from web.remote.address import address_of
from web.remote.close_reasons import CloseReason
from web.remote.conversation.pending_text import MAX_WAITING
from web.remote.talk import (
    NEVER_SENT,
    NOT_CONNECTED,
    NOT_YET_SENT,
    SENT_AGAIN,
    TOO_MUCH_TYPED,
    TOO_SHORT,
    RemoteTalk,
)

pytestmark = pytest.mark.virtual_time

REPLY = "resp_1_1"
LOST = CloseReason("gone", again=True)


class ClientHarness:
    """A client whose wire is a list."""

    def __init__(self, *, push_to_talk: bool = False) -> None:
        self.events: list[SessionEvent] = []
        self.microphone = ScriptedMicrophone([], 1000)
        speaker = WavSpeaker(lambda _at_s, _pcm: None)
        self.talk = RemoteTalk(
            address_of("ws://127.0.0.1:1"),
            None,
            self.microphone,
            speaker,
            self.events.append,
            push_to_talk=push_to_talk,
        )
        self._position = 0

    @property
    def problems(self) -> list[str]:
        return [event.text for event in self.events if isinstance(event, Problem)]

    def connect(self, *, resumed: bool = False, heard_ms: float = 0.0) -> None:
        self.talk.wire._open = True
        repartee = {"resume_token": "t", "heard_ms": heard_ms, "engines": [], "resumed": resumed}
        self.receive("session.created", session={"repartee": repartee})

    def confirm_update(self) -> None:
        """The server has sent the history and confirmed the session.update."""
        self.receive("session.updated", session={})

    def add_item(self, name: str, role: str = "user") -> None:
        """The server sends this item of the history."""
        content = [{"type": "input_text", "text": "hello"}]
        self.receive("conversation.item.added", item={"id": name, "type": "message", "role": role, "content": content})

    def lose_connection(self) -> None:
        self.talk.wire._drop_queue()
        self.talk.connection_lost(LOST)

    def receive(self, kind: str, **fields: Any) -> None:
        self.talk.event({"type": kind, **fields})

    def send_reply(self) -> None:
        """The server sends half a second of a reply."""
        self.receive("response.created", response={"id": REPLY})
        sound = np.full(12_000, 1000, "<i2").tobytes()
        self.receive("response.output_audio.delta", response_id=REPLY, delta=binascii.b2a_base64(sound).decode())

    def sent(self) -> list[dict[str, Any]]:
        """Returns the events sent since the last call, without audio."""
        texts = [json.loads(text) for text, _ in self.talk.wire._waiting]
        self.talk.wire._waiting.clear()
        self.talk.wire._waiting_sound = 0
        return [text for text in texts if text["type"] != "input_audio_buffer.append"]

    async def hold_key(self, seconds: float) -> None:
        """Holds the key of push-to-talk, and gives the client time to end the turn."""
        self.talk.set_push_to_talk(True)
        await self.feed_frames(seconds)
        self.talk.set_push_to_talk(False)
        await self.feed_frames(0.06)

    async def feed_frames(self, seconds: float) -> None:
        """Passes microphone frames to the client in real time."""
        for _ in range(round(seconds * 50)):
            await asyncio.sleep(0.02)
            self._position += FRAME_SAMPLES
            self.microphone.clock.observe(Samples(self._position), asyncio.get_running_loop().time())
            self.talk.hear(Frame(Samples(self._position - FRAME_SAMPLES), np.ones(FRAME_SAMPLES, np.int16)))


def kinds(events: list[dict[str, Any]]) -> list[str]:
    return [event["type"] for event in events]


async def test_reply_stopped_while_disconnected_is_cancelled_later() -> None:
    """Otherwise it would be completed, counted as heard, and stay in the history."""
    harness = ClientHarness()
    harness.connect()
    harness.send_reply()
    harness.lose_connection()
    harness.talk.interrupt()
    harness.connect(resumed=True)
    assert {"type": "response.cancel", "response_id": REPLY} in harness.sent()
    harness.lose_connection()
    harness.receive("response.done", response={"id": REPLY, "status": "cancelled"})
    harness.connect(resumed=True)
    assert "response.cancel" not in kinds(harness.sent())


async def test_new_connection_does_not_stop_the_reply() -> None:
    harness = ClientHarness()
    harness.connect()
    harness.send_reply()
    harness.lose_connection()
    harness.connect(resumed=True)
    assert "response.cancel" not in kinds(harness.sent())


async def test_cancelled_reply_stops_playback() -> None:
    """The user has interrupted it: the server cancels it and reports what was heard."""
    harness = ClientHarness()
    harness.connect()
    harness.send_reply()
    assert harness.talk.playback.sounding
    harness.receive("response.done", response={"id": REPLY, "status": "cancelled"})
    assert not harness.talk.playback.sounding


async def test_key_stops_playback_and_is_reported_as_client() -> None:
    harness = ClientHarness()
    harness.connect()
    harness.send_reply()
    harness.talk.interrupt()
    assert not harness.talk.playback.sounding
    harness.receive("response.done", response={"id": REPLY, "status": "cancelled"})
    assert [event.reason for event in harness.events if isinstance(event, ReplyStopped)] == ["client"]


def typed(events: list[dict[str, Any]]) -> list[str]:
    """Returns the typed texts, and "?" for each requested answer."""
    kinds = {"conversation.item.create", "response.create"}
    return [
        event["item"]["content"][0]["text"] if "item" in event else "?" for event in events if event["type"] in kinds
    ]


async def test_text_typed_while_disconnected_is_sent_later() -> None:
    harness = ClientHarness()
    harness.talk.type("one")
    assert harness.problems == [NOT_YET_SENT]
    harness.connect()
    harness.talk.type("two")
    assert typed(harness.sent()) == []
    assert harness.problems == [NOT_YET_SENT], "the second goes in a moment"
    harness.confirm_update()
    assert typed(harness.sent()) == ["one", "two", "?"]


async def test_text_typed_during_greeting_waits_if_it_breaks() -> None:
    harness = ClientHarness()
    harness.connect()
    harness.talk.type("one")
    assert harness.problems == []
    harness.lose_connection()
    assert NOT_YET_SENT in harness.problems
    harness.connect()
    harness.confirm_update()
    assert typed(harness.sent()) == ["one", "?"]


@pytest.mark.parametrize("resumed", [True, False], ids=["resumed", "new conversation"])
async def test_text_lost_with_connection_is_sent_again(resumed: bool) -> None:
    harness = ClientHarness()
    harness.connect()
    harness.confirm_update()
    harness.talk.type("hello")
    assert typed(harness.sent()) == ["hello", "?"]
    harness.lose_connection()
    assert SENT_AGAIN in harness.problems
    harness.connect(resumed=resumed)
    harness.confirm_update()
    assert typed(harness.sent()) == ["hello", "?"]
    harness.add_item("typed_1")
    harness.send_reply()
    harness.lose_connection()
    harness.connect(resumed=True)
    harness.confirm_update()
    assert typed(harness.sent()) == []
    assert harness.problems.count(SENT_AGAIN) == 1


@pytest.mark.parametrize(
    ("answered", "asks"),
    [("", ["?"]), ("while it was gone", []), ("goes on", [])],
    ids=["not answered", "answered meanwhile", "answered later"],
)
async def test_arrived_text_is_not_sent_again(answered: str, asks: list[str]) -> None:
    harness = ClientHarness()
    harness.connect()
    harness.confirm_update()
    harness.talk.type("hello")
    harness.sent()
    harness.lose_connection()
    harness.connect(resumed=True)
    harness.add_item("typed_1")
    if answered == "while it was gone":
        harness.add_item("item_2", "assistant")
    if answered == "goes on":
        harness.send_reply()
    harness.confirm_update()
    assert typed(harness.sent()) == asks


async def test_refused_text_is_reported_and_not_sent_again() -> None:
    harness = ClientHarness()
    harness.connect()
    harness.confirm_update()
    harness.talk.type("hello")
    (create, _) = [event for event in harness.sent() if event["type"] != "session.update"]
    harness.receive("error", error={"code": "invalid_value", "message": "too long", "event_id": create["event_id"]})
    harness.lose_connection()
    harness.connect(resumed=True)
    harness.confirm_update()
    assert typed(harness.sent()) == []
    assert "the server reports: too long" in harness.problems


async def test_texts_beyond_maximum_and_unsent_texts_are_reported() -> None:
    harness = ClientHarness()
    for _ in range(MAX_WAITING + 1):
        harness.talk.type("hello")
    assert harness.problems[-1] == TOO_MUCH_TYPED
    harness.talk.leave()
    harness.talk.leave()
    assert harness.problems[-2:] == [TOO_MUCH_TYPED, NEVER_SENT]


async def test_listening_sounds_are_asked_for_played_and_stopped() -> None:
    harness = ClientHarness()
    output = RecordedSounds()
    harness.talk.sound_output = output
    harness.connect()
    assert harness.sent()[0]["session"]["repartee"]["listening_sounds"] is True
    sound = np.arange(480, dtype="<i2")
    harness.receive("repartee.listening_sound", audio=binascii.b2a_base64(sound.tobytes()).decode())
    harness.receive("repartee.listening_sound_stopped")
    assert np.array_equal(output.played[0], sound)
    assert output.stopped == 1
    assert harness.talk.playback.playing is None


async def test_client_that_cannot_play_listening_sounds_ignores_them() -> None:
    harness = ClientHarness()
    harness.connect()
    harness.receive("repartee.listening_sound", audio="AAAA")
    harness.receive("repartee.listening_sound_stopped")
    assert harness.problems == []


@dataclass
class RecordedSounds:
    played: list[Pcm] = field(default_factory=list)
    stopped: int = 0

    def chime(self, pcm: Pcm) -> None:
        self.played.append(pcm)

    def stop_chime(self) -> None:
        self.stopped += 1


async def test_every_connection_sends_interrupt_after_ms() -> None:
    harness = ClientHarness()
    harness.connect()
    assert "interrupt_after_ms" not in harness.sent()[0]["session"]["repartee"]
    harness.talk.interrupt_after_ms = 300.0
    for _ in range(2):
        harness.lose_connection()
        harness.connect(resumed=True)
        (update,) = harness.sent()
        assert update["session"]["repartee"] == {"duck": True, "playout": True, "interrupt_after_ms": 300}


async def test_turn_spoken_while_disconnected_is_reported_lost() -> None:
    harness = ClientHarness(push_to_talk=True)
    harness.connect()
    harness.lose_connection()
    await harness.hold_key(1.0)
    assert harness.problems[-1] == NOT_CONNECTED
    assert TOO_SHORT not in harness.problems
    assert not harness.talk.conversation.awaiting


@pytest.mark.parametrize("resumed", [True, False], ids=["resumed", "new conversation"])
@pytest.mark.parametrize("how", ["let go", "muted"], ids=["key released", "muted"])
async def test_partial_turn_is_cleared_at_the_server(how: str, resumed: bool) -> None:
    """Otherwise it would be part of the next turn, and both would be answered."""
    harness = ClientHarness(push_to_talk=True)
    harness.connect()
    harness.talk.set_push_to_talk(True)
    await harness.feed_frames(0.3)
    harness.lose_connection()
    if how == "muted":
        harness.talk.forget()
    else:
        harness.talk.set_push_to_talk(False)
        await harness.feed_frames(0.1)
    harness.connect(resumed=resumed)
    assert kinds(harness.sent()).count("input_audio_buffer.clear") == resumed  # a new conversation has no partial turn
    harness.lose_connection()
    harness.connect(resumed=True)
    assert "input_audio_buffer.clear" not in kinds(harness.sent())


async def test_muted_turn_is_not_sent() -> None:
    harness = ClientHarness(push_to_talk=True)
    harness.connect()
    harness.talk.set_push_to_talk(True)
    await harness.feed_frames(0.5)
    harness.talk.forget()
    harness.talk.set_push_to_talk(False)
    await harness.feed_frames(0.06)
    assert not {"input_audio_buffer.commit", "response.create"} & {*kinds(harness.sent())}


async def test_quick_key_release_and_press_continues_the_turn() -> None:
    harness = ClientHarness(push_to_talk=True)
    harness.connect()
    harness.talk.set_push_to_talk(True)
    await harness.feed_frames(1.0)
    harness.talk.set_push_to_talk(False)
    await harness.hold_key(0.06)
    assert kinds(harness.sent())[-2:] == ["input_audio_buffer.commit", "response.create"]
    assert harness.problems == []


@pytest.mark.parametrize("pressed_again", [False, True], ids=["key held", "key pressed again"])
async def test_reply_beginning_while_key_is_down_is_cancelled(pressed_again: bool) -> None:
    harness = ClientHarness(push_to_talk=True)
    harness.connect()
    await harness.hold_key(1.0)
    assert kinds(harness.sent())[-1] == "response.create"
    harness.talk.set_push_to_talk(pressed_again)
    harness.send_reply()
    assert ("response.cancel" in kinds(harness.sent())) == pressed_again
    assert harness.talk.playback.sounding != pressed_again


@pytest.mark.parametrize("heard", [False, True], ids=["unheard", "heard"])
async def test_reply_to_empty_turn_is_cancelled(heard: bool) -> None:
    """Otherwise an old question would be answered again."""
    harness = ClientHarness(push_to_talk=True)
    harness.connect()
    await harness.hold_key(1.0)
    assert kinds(harness.sent())[-1] == "response.create"
    if not heard:
        harness.receive("error", error={"code": "input_audio_buffer_commit_empty", "message": "no words"})
    harness.send_reply()
    assert ("response.cancel" in kinds(harness.sent())) != heard
    assert harness.talk.playback.sounding == heard


async def test_unrequested_reply_may_play_while_key_is_down() -> None:
    """Otherwise a ringing timer would be lost."""
    harness = ClientHarness(push_to_talk=True)
    harness.connect()
    harness.talk.set_push_to_talk(True)
    harness.send_reply()
    assert "response.cancel" not in kinds(harness.sent())


@pytest.mark.parametrize("seconds", [0.0, 0.06], ids="{} s".format)
async def test_short_key_press_is_not_a_turn(seconds: float) -> None:
    harness = ClientHarness(push_to_talk=True)
    harness.connect()
    await harness.hold_key(seconds)
    assert kinds(harness.sent())[-1] == "input_audio_buffer.clear"
    assert harness.problems == [TOO_SHORT]


NUMBERS = st.integers(-(10**14), 10**14) | st.floats(-1e14, 1e14) | st.sampled_from([0, -1, 0.1, 1e14])
SOUNDS = st.binary(max_size=200).map(lambda raw: binascii.b2a_base64(raw, newline=False).decode())
REPLIES = st.sampled_from([REPLY, "resp_1_2", "resp_2_1", "resp_999999999_1"])
EVENTS = st.one_of(
    st.builds(
        lambda heard, resumed: {
            "type": "session.created",
            "session": {"repartee": {"resume_token": "t", "heard_ms": heard, "engines": [], "resumed": resumed}},
        },
        NUMBERS,
        st.booleans(),
    ),
    st.builds(lambda at: {"type": "input_audio_buffer.speech_started", "item_id": "i", "audio_start_ms": at}, NUMBERS),
    st.builds(
        lambda end, invented: {
            "type": "input_audio_buffer.speech_stopped",
            "audio_end_ms": end,
            "repartee": {"inserted_ms": invented},
        },
        NUMBERS,
        NUMBERS,
    ),
    st.builds(lambda reply: {"type": "response.created", "response": {"id": reply}}, REPLIES),
    st.builds(lambda reply, kind: {"type": kind, "response_id": reply}, REPLIES, st.just("response.output_audio.done")),
    st.builds(
        lambda reply, sound: {"type": "response.output_audio.delta", "response_id": reply, "delta": sound},
        REPLIES,
        SOUNDS,
    ),
    st.builds(
        lambda reply, item: {"type": "response.output_item.added", "response_id": reply, "item": item},
        REPLIES,
        st.just({"type": "message", "id": "m"}),
    ),
    st.builds(lambda at: {"type": "conversation.item.truncated", "item_id": "m", "audio_end_ms": at}, NUMBERS),
    st.just({"type": "conversation.item.deleted", "item_id": "m"}),
    st.builds(
        lambda reply, status: {"type": "response.done", "response": {"id": reply, "status": status}},
        REPLIES,
        st.sampled_from(["completed", "cancelled", "failed", "incomplete"]),
    ),
    st.sampled_from([{"type": "repartee.duck"}, {"type": "repartee.unduck"}, {"type": "output_audio_buffer.cleared"}]),
)


@pytest.mark.slow
@settings(max_examples=40)
@given(st.lists(st.tuples(EVENTS, st.sampled_from(["", "lost", "interrupt", "type", "repeat"])), max_size=30))
def test_any_order_of_events_and_keys_is_handled(course: list[tuple[dict[str, Any], str]]) -> None:
    async def main() -> None:
        harness = ClientHarness()
        async with asyncio.TaskGroup() as tasks:
            work = [tasks.create_task(harness.talk.speaker.run()), tasks.create_task(harness.talk.playback.run())]
            for event, then in course:
                harness.talk.wire._open = True
                harness.talk.event(event)
                await harness.feed_frames(0.04)
                match then:
                    case "lost":
                        harness.lose_connection()
                        harness.talk.resume()
                    case "interrupt":
                        harness.talk.interrupt()
                    case "type":
                        harness.talk.type("hello")
                    case "repeat":
                        harness.talk.repeat()
            await asyncio.sleep(3.0)
            assert not harness.talk.playback._waiting
            for task in work:
                task.cancel()

    run_virtual(main())
