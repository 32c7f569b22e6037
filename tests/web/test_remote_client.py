"""What the client of a remote conversation sends, with a wire that the test opens and closes."""

import asyncio
import binascii
import json
from collections.abc import Awaitable, Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rehearsal import ScriptedMicrophone
from virtual_time import run_virtual

from assistant.events import Problem, SessionEvent
from audio.frame import Frame
from audio.speaker import WavSpeaker
from audio.units import FRAME_SAMPLES, Samples
from web.remote.address import address_of
from web.remote.close_reasons import CloseReason
from web.remote.pending_text import MAX_WAITING
from web.remote.talk import (
    NEVER_SENT,
    NOT_CONNECTED,
    NOT_YET_SENT,
    SENT_AGAIN,
    TOO_MUCH_TYPED,
    TOO_SHORT,
    RemoteTalk,
)

REPLY = "resp_1_1"
LOST = CloseReason("gone", again=True)


class Here:
    """A client whose wire is a list."""

    def __init__(self, *, push_to_talk: bool = False) -> None:
        self.facts: list[SessionEvent] = []
        self.microphone = ScriptedMicrophone([], 1000)
        speaker = WavSpeaker(lambda _at_s, _pcm: None)
        self.talk = RemoteTalk(
            address_of("ws://127.0.0.1:1"), None, self.microphone, speaker, self.facts.append, push_to_talk=push_to_talk
        )
        self._position = 0

    @property
    def troubles(self) -> list[str]:
        return [fact.text for fact in self.facts if isinstance(fact, Problem)]

    def connected(self, *, resumed: bool = False, heard_ms: float = 0.0) -> None:
        self.talk.wire._open = True
        repartee = {"resume_token": "t", "heard_ms": heard_ms, "engines": [], "resumed": resumed}
        self.tell("session.created", session={"repartee": repartee})

    def updated(self) -> None:
        """The server has sent the history and confirmed the session.update."""
        self.tell("session.updated", session={})

    def has(self, name: str, role: str = "user") -> None:
        """The server sends this item of the history."""
        content = [{"type": "input_text", "text": "hello"}]
        self.tell("conversation.item.added", item={"id": name, "type": "message", "role": role, "content": content})

    def lost(self) -> None:
        self.talk.wire._drop_queue()
        self.talk.lost(LOST)

    def tell(self, kind: str, **fields: Any) -> None:
        self.talk.event({"type": kind, **fields})

    def replies(self) -> None:
        """The server sends half a second of a reply."""
        self.tell("response.created", response={"id": REPLY})
        sound = np.full(12_000, 1000, "<i2").tobytes()
        self.tell("response.output_audio.delta", response_id=REPLY, delta=binascii.b2a_base64(sound).decode())

    def sent(self) -> list[dict[str, Any]]:
        """Returns the events sent since the last call, without audio."""
        texts = [json.loads(text) for text, _ in self.talk.wire._waiting]
        self.talk.wire._waiting.clear()
        self.talk.wire._waiting_sound = 0
        return [text for text in texts if text["type"] != "input_audio_buffer.append"]

    async def hears(self, seconds: float) -> None:
        """Passes microphone frames to the client in real time."""
        for _ in range(round(seconds * 50)):
            await asyncio.sleep(0.02)
            self._position += FRAME_SAMPLES
            self.microphone.clock.observe(Samples(self._position), asyncio.get_running_loop().time())
            self.talk.hear(Frame(Samples(self._position - FRAME_SAMPLES), np.ones(FRAME_SAMPLES, np.int16)))


def with_here(script: Callable[[Here], Awaitable[None]], *, push_to_talk: bool = False) -> None:
    async def run() -> None:
        await script(Here(push_to_talk=push_to_talk))

    run_virtual(run())


def kinds(events: list[dict[str, Any]]) -> list[str]:
    return [event["type"] for event in events]


def test_reply_stopped_while_disconnected_is_cancelled_later() -> None:
    """Otherwise it would be completed, counted as heard, and stay in the history."""

    async def script(here: Here) -> None:
        here.connected()
        here.replies()
        here.lost()
        here.talk.interrupt()
        here.connected(resumed=True)
        assert {"type": "response.cancel", "response_id": REPLY} in here.sent()
        here.lost()
        here.tell("response.done", response={"id": REPLY, "status": "cancelled"})
        here.connected(resumed=True)
        assert "response.cancel" not in kinds(here.sent())

    with_here(script)


def test_new_connection_does_not_stop_the_reply() -> None:
    async def script(here: Here) -> None:
        here.connected()
        here.replies()
        here.lost()
        here.connected(resumed=True)
        assert "response.cancel" not in kinds(here.sent())

    with_here(script)


def typed(events: list[dict[str, Any]]) -> list[str]:
    """Returns the typed texts, and "?" for each requested answer."""
    kinds = {"conversation.item.create", "response.create"}
    return [
        event["item"]["content"][0]["text"] if "item" in event else "?" for event in events if event["type"] in kinds
    ]


def test_text_typed_while_disconnected_is_sent_later() -> None:
    async def script(here: Here) -> None:
        here.talk.type("one")
        assert here.troubles == [NOT_YET_SENT]
        here.connected()
        here.talk.type("two")
        assert typed(here.sent()) == []
        assert here.troubles == [NOT_YET_SENT], "the second goes in a moment"
        here.updated()
        assert typed(here.sent()) == ["one", "two", "?"]

    with_here(script)


def test_text_typed_during_greeting_waits_if_it_breaks() -> None:
    async def script(here: Here) -> None:
        here.connected()
        here.talk.type("one")
        assert here.troubles == []
        here.lost()
        assert NOT_YET_SENT in here.troubles
        here.connected()
        here.updated()
        assert typed(here.sent()) == ["one", "?"]

    with_here(script)


@pytest.mark.parametrize("resumed", [True, False])
def test_text_lost_with_connection_is_sent_again(resumed: bool) -> None:
    async def script(here: Here) -> None:
        here.connected()
        here.updated()
        here.talk.type("hello")
        assert typed(here.sent()) == ["hello", "?"]
        here.lost()
        assert SENT_AGAIN in here.troubles
        here.connected(resumed=resumed)
        here.updated()
        assert typed(here.sent()) == ["hello", "?"]
        here.has("typed_1")
        here.replies()
        here.lost()
        here.connected(resumed=True)
        here.updated()
        assert typed(here.sent()) == []
        assert here.troubles.count(SENT_AGAIN) == 1

    with_here(script)


@pytest.mark.parametrize(("answered", "asks"), [("", ["?"]), ("while it was gone", []), ("goes on", [])])
def test_arrived_text_is_not_sent_again(answered: str, asks: list[str]) -> None:
    async def script(here: Here) -> None:
        here.connected()
        here.updated()
        here.talk.type("hello")
        here.sent()
        here.lost()
        here.connected(resumed=True)
        here.has("typed_1")
        if answered == "while it was gone":
            here.has("item_2", "assistant")
        if answered == "goes on":
            here.replies()
        here.updated()
        assert typed(here.sent()) == asks

    with_here(script)


def test_refused_text_is_reported_and_not_sent_again() -> None:
    async def script(here: Here) -> None:
        here.connected()
        here.updated()
        here.talk.type("hello")
        (create, _) = [event for event in here.sent() if event["type"] != "session.update"]
        here.tell("error", error={"code": "invalid_value", "message": "too long", "event_id": create["event_id"]})
        here.lost()
        here.connected(resumed=True)
        here.updated()
        assert typed(here.sent()) == []
        assert "the server: too long" in here.troubles

    with_here(script)


def test_unsent_and_too_many_texts_are_reported() -> None:
    async def script(here: Here) -> None:
        for _ in range(MAX_WAITING + 1):
            here.talk.type("hello")
        assert here.troubles[-1] == TOO_MUCH_TYPED
        here.talk.leave()
        here.talk.leave()
        assert here.troubles[-2:] == [TOO_MUCH_TYPED, NEVER_SENT]

    with_here(script)


def test_every_connection_sends_interrupt_after_ms() -> None:
    async def script(here: Here) -> None:
        here.connected()
        assert "interrupt_after_ms" not in here.sent()[0]["session"]["repartee"]
        here.talk.interrupt_after_ms = 300.0
        for _ in range(2):
            here.lost()
            here.connected(resumed=True)
            (update,) = here.sent()
            assert update["session"]["repartee"] == {"duck": True, "playout": True, "interrupt_after_ms": 300}

    with_here(script)


def test_turn_spoken_while_disconnected_is_reported_lost() -> None:
    async def script(here: Here) -> None:
        here.connected()
        here.lost()
        here.talk.set_push_to_talk(True)
        await here.hears(1.0)
        here.talk.set_push_to_talk(False)
        await here.hears(0.1)
        assert here.troubles[-1] == NOT_CONNECTED
        assert TOO_SHORT not in here.troubles
        assert not here.talk.conversation.awaiting

    with_here(script, push_to_talk=True)


@pytest.mark.parametrize("resumed", [True, False])
@pytest.mark.parametrize("how", ["let go", "muted"])
def test_partial_turn_is_cleared_at_the_server(how: str, resumed: bool) -> None:
    """Otherwise it would be part of the next turn, and both would be answered."""

    async def script(here: Here) -> None:
        here.connected()
        here.talk.set_push_to_talk(True)
        await here.hears(0.3)
        here.lost()
        if how == "muted":
            here.talk.forget()
        else:
            here.talk.set_push_to_talk(False)
            await here.hears(0.1)
        here.connected(resumed=resumed)
        assert kinds(here.sent()).count("input_audio_buffer.clear") == resumed  # a new conversation has no partial turn
        here.lost()
        here.connected(resumed=True)
        assert "input_audio_buffer.clear" not in kinds(here.sent())

    with_here(script, push_to_talk=True)


def test_muted_turn_is_not_sent() -> None:
    async def script(here: Here) -> None:
        here.connected()
        here.talk.set_push_to_talk(True)
        await here.hears(0.5)
        here.talk.forget()
        here.talk.set_push_to_talk(False)
        await here.hears(0.06)
        assert not {"input_audio_buffer.commit", "response.create"} & {*kinds(here.sent())}

    with_here(script, push_to_talk=True)


def test_quick_key_release_and_press_continues_the_turn() -> None:
    async def script(here: Here) -> None:
        here.connected()
        here.talk.set_push_to_talk(True)
        await here.hears(1.0)
        here.talk.set_push_to_talk(False)
        here.talk.set_push_to_talk(True)
        await here.hears(0.06)
        here.talk.set_push_to_talk(False)
        await here.hears(0.06)
        assert kinds(here.sent())[-2:] == ["input_audio_buffer.commit", "response.create"]
        assert here.troubles == []

    with_here(script, push_to_talk=True)


@pytest.mark.parametrize("pressed_again", [False, True])
def test_reply_beginning_while_key_is_down_is_cancelled(pressed_again: bool) -> None:
    async def script(here: Here) -> None:
        here.connected()
        here.talk.set_push_to_talk(True)
        await here.hears(1.0)
        here.talk.set_push_to_talk(False)
        await here.hears(0.06)
        assert kinds(here.sent())[-1] == "response.create"
        here.talk.set_push_to_talk(pressed_again)
        here.replies()
        assert ("response.cancel" in kinds(here.sent())) == pressed_again
        assert here.talk.playback.sounding != pressed_again

    with_here(script, push_to_talk=True)


@pytest.mark.parametrize("heard", [False, True])
def test_reply_to_empty_turn_is_cancelled(heard: bool) -> None:
    """Otherwise an old question would be answered again."""

    async def script(here: Here) -> None:
        here.connected()
        here.talk.set_push_to_talk(True)
        await here.hears(1.0)
        here.talk.set_push_to_talk(False)
        await here.hears(0.06)
        assert kinds(here.sent())[-1] == "response.create"
        if not heard:
            here.tell("error", error={"code": "input_audio_buffer_commit_empty", "message": "no words"})
        here.replies()
        assert ("response.cancel" in kinds(here.sent())) != heard
        assert here.talk.playback.sounding == heard

    with_here(script, push_to_talk=True)


def test_unrequested_reply_may_play_while_key_is_down() -> None:
    """Otherwise a ringing timer would be lost."""

    async def script(here: Here) -> None:
        here.connected()
        here.talk.set_push_to_talk(True)
        here.replies()
        assert "response.cancel" not in kinds(here.sent())

    with_here(script, push_to_talk=True)


@pytest.mark.parametrize("seconds", [0.0, 0.06])
def test_short_key_press_is_not_a_turn(seconds: float) -> None:
    async def script(here: Here) -> None:
        here.connected()
        here.talk.set_push_to_talk(True)
        await here.hears(seconds)
        here.talk.set_push_to_talk(False)
        await here.hears(0.06)
        assert kinds(here.sent())[-1] == "input_audio_buffer.clear"
        assert here.troubles == [TOO_SHORT]

    with_here(script, push_to_talk=True)


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
            "repartee": {"invented_ms": invented},
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
    async def script(here: Here) -> None:
        async with asyncio.TaskGroup() as tasks:
            work = [tasks.create_task(here.talk.speaker.run()), tasks.create_task(here.talk.playback.run())]
            for event, then in course:
                here.talk.wire._open = True
                here.talk.event(event)
                await here.hears(0.04)
                match then:
                    case "lost":
                        here.lost()
                        here.talk.resume()
                    case "interrupt":
                        here.talk.interrupt()
                    case "type":
                        here.talk.type("hello")
                    case "repeat":
                        here.talk.repeat()
            await asyncio.sleep(3.0)
            assert not here.talk.playback._waiting
            for task in work:
                task.cancel()

    with_here(script)
