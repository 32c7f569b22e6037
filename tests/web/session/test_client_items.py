"""Items of a session with sound and images: transcripts, retrieved sound, replies that a deletion stops."""

import asyncio
import base64
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from support.conversations.session_harness import CONFIG, LONG, TRANSCRIBED, SessionHarness, run_scene
from support.engines.scripted_engines import SequenceRecognizer
from support.protocol.wire_client import SERVICE, Client, Event
from support.texts.image_files import data_url, png

from assistant.history.items import ROOT, SoundPart, UserMessage
from audio.errors import SttError
from web.connections.running_conversation import RunningConversation
from web.connections.shared_limits import SharedLimits
from web.session import recording_transcriber
from web.session.recording_transcriber import MAX_WAITING
from web.wire.realtime import Realtime
from web.wire.values.session_config import SessionOffer

pytestmark = pytest.mark.virtual_time

FAILED = "conversation.item.input_audio_transcription.failed"
DELTA = "conversation.item.input_audio_transcription.delta"


def voice(s: float = 0.5) -> str:
    """Returns a voice as PCM of 24 kHz in base64."""
    return base64.b64encode(np.full(round(24_000 * s), 8000, "<i2").tobytes()).decode()


def seconds(audio: str) -> float:
    return len(base64.b64decode(audio)) / 48_000


@dataclass
class ItemHarness(SessionHarness):
    """A session whose messages may have recordings.

    Attributes:
        recorded: Transcripts of the recordings.
        delay_ms: Time that each transcript takes.
        broken: Whether the recognizer of recordings fails.
    """

    recorded: tuple[str, ...] = ("count to three",)
    delay_ms: float = 300.0
    broken: bool = False
    images: bool = False

    def __post_init__(self) -> None:
        self.client = Client(CONFIG, begin=False)
        self.client.wire = Realtime(CONFIG, replace(SERVICE, offer=SessionOffer(images=self.images)), session_id="s1")
        SessionHarness.__post_init__(self)
        self.talk.realtime.begin()
        self.client.fetch()
        self.talk.items.transcriber.recognizer = self._recognizer

    async def _recognizer(self) -> SequenceRecognizer:
        if self.broken:
            raise SttError("broken")
        return SequenceRecognizer(self.recorded, self.delay_ms)

    async def add(self, *content: dict[str, Any], role: str = "user", **event: Any) -> None:
        """Sends a message with this content."""
        item = {"type": "message", "role": role, "content": content, **event.pop("item", {})}
        await self.send("conversation.item.create", item=item, **event)

    async def retrieved(self, item_id: str) -> Event:
        """Retrieves an item."""
        await self.send("conversation.item.retrieve", item_id=item_id)
        found: Event = self.events("conversation.item.retrieved")[-1]["item"]
        return found

    @property
    def asked(self) -> list[list[str]]:
        """The user's words in each request to the LLM."""
        return [[one.content for one in messages if one.role == "user"] for messages in self.model.asked]


def sound(s: float = 0.5, **fields: str) -> dict[str, str]:
    return {"type": "input_audio", "audio": voice(s), **fields}


# ---- recordings ----


async def test_recording_is_transcribed_before_the_response_that_follows() -> None:
    async with ItemHarness().running() as harness:
        await harness.type_text("first", id="first")
        await harness.add(sound(), item={"id": "spoken"})
        await harness.send("response.create")
        await harness.type_text("last", id="last")
        await harness.until("response.done")
    assert harness.errors == []
    assert harness.asked == [["first", "count to three", "last"]]
    assert harness.client.items[:3] == ["first", "spoken", "last"]
    kinds = [kind for kind in harness.kinds if "transcription" in kind or kind == "response.created"]
    assert kinds == [DELTA, TRANSCRIBED, "response.created"]
    (done,) = harness.events(TRANSCRIBED)
    assert (done["item_id"], done["content_index"], done["transcript"]) == ("spoken", 0, "count to three")
    assert done["usage"] == {"type": "duration", "seconds": 0.5}
    added = [event["item"] for event in harness.events("conversation.item.added")]
    assert added[1]["content"] == [{"type": "input_audio", "transcript": None}]


async def test_recordings_and_texts_of_a_message_keep_their_order() -> None:
    async with ItemHarness(recorded=("one", "two")).running() as harness:
        await harness.add(sound(), {"type": "input_text", "text": "typed"}, sound(), item={"id": "mixed"})
        await harness.send("response.create")
        await harness.until("response.done")
    assert harness.asked == [["one\ntyped\ntwo"]]
    assert [event["content_index"] for event in harness.events(TRANSCRIBED)] == [0, 2]


@pytest.mark.parametrize("given", [None, "given words"])
def test_recording_that_cannot_be_transcribed_has_its_given_transcript(given: str | None) -> None:
    async def scene(harness: SessionHarness) -> None:
        assert isinstance(harness, ItemHarness)
        await harness.type_text("typed")
        await harness.add(sound() if given is None else sound(transcript=given))
        await harness.send("response.create")
        await harness.until("response.done")

    harness = ItemHarness(broken=True)
    run_scene(scene, harness)
    assert harness.asked == [["typed"] if given is None else ["typed", given]]
    (failed,) = harness.events(FAILED)
    assert failed["error"]["code"] == "transcription_failed"
    assert harness.events(TRANSCRIBED) == []


async def test_without_transcription_a_given_transcript_is_used_and_no_event_is_sent() -> None:
    async with ItemHarness(recorded=("heard words",)).running() as harness:
        await harness.update(audio={"input": {"transcription": None}})
        await harness.add(sound(transcript="given words"))
        await harness.add(sound())
        await harness.send("response.create")
        await harness.until("response.done")
    assert harness.asked == [["given words", "heard words"]]
    assert not [kind for kind in harness.kinds if "transcription" in kind]


async def test_response_that_waits_for_a_transcript_can_be_cancelled() -> None:
    async with ItemHarness().running() as harness:
        await harness.add(sound())
        await harness.send("response.create")
        await harness.send("response.create")
        assert harness.errors == ["conversation_already_has_active_response"]
        await harness.send("response.cancel")
        await harness.until(TRANSCRIBED)
        await asyncio.sleep(1)
    assert harness.events("response.created") == []
    assert harness.errors == ["conversation_already_has_active_response"]


async def test_responses_outside_of_the_conversation_wait_for_a_transcript_too() -> None:
    async with ItemHarness(answers=["One.", "Two.", "Three."]).running() as harness:
        await harness.add(sound())
        for _ in range(2):
            await harness.send("response.create", response={"conversation": "none", "output_modalities": ["text"]})
        await harness.send("response.create", response={"output_modalities": ["text"]})
        assert harness.events("response.created") == []
        await harness.until("response.done", 3)
    assert harness.errors == []
    assert harness.asked == [["count to three"]] * 3


async def test_recording_deleted_before_its_transcript_is_gone() -> None:
    async with ItemHarness().running() as harness:
        await harness.type_text("typed")
        await harness.add(sound(), item={"id": "spoken"})
        await harness.send("conversation.item.delete", item_id="spoken")
        await harness.send("response.create")
        await harness.until("response.done")
    assert harness.asked == [["typed"]]
    assert harness.events(TRANSCRIBED) == []


async def test_too_many_recordings_at_once_are_refused() -> None:
    async with ItemHarness().running() as harness:
        for _ in range(MAX_WAITING + 1):
            await harness.add(sound(0.1))
        assert harness.errors == ["rate_limit_exceeded"]


async def test_recordings_of_too_many_bytes_at_once_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording_transcriber, "MAX_WAITING_BYTES", 48_000)
    async with ItemHarness().running() as harness:
        for _ in range(3):
            await harness.add(sound(0.6))
        assert harness.errors == ["rate_limit_exceeded"]


async def test_recordings_of_all_conversations_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    shared = SharedLimits()
    monkeypatch.setattr(recording_transcriber, "MAX_WAITING_BYTES_OF_ALL", 100_000)
    async with ItemHarness().running() as harness:
        shared.apply_to(harness.talk)
        shared.recordings.bytes += 99_000  # of another conversation
        await harness.add(sound(0.1))
        assert harness.errors == []
        await harness.add(sound(0.1))
        assert harness.errors == ["rate_limit_exceeded"]
        await asyncio.sleep(5)
        assert shared.recordings.bytes == 99_000
        shared.recordings.bytes += 2000
        await harness.add(sound(0.1))
        assert harness.errors == ["rate_limit_exceeded"] * 2


async def test_recordings_of_a_conversation_that_ends_wait_no_longer() -> None:
    shared = SharedLimits()
    async with ItemHarness().running() as harness:
        shared.apply_to(harness.talk)
        await harness.add(sound(0.5))
        assert shared.recordings.bytes > 0
    assert shared.recordings.bytes == 0


async def test_lost_connection_drops_the_responses_that_wait_for_recordings() -> None:
    async with ItemHarness().running() as harness:
        await harness.add(sound())
        await harness.send("response.create", response={"conversation": "none", "output_modalities": ["text"]})
        harness.talk.on_disconnect()
        await asyncio.sleep(5)
    assert harness.model.asked == []


async def test_response_that_waits_for_a_recording_keeps_a_server_that_shuts_down() -> None:
    async with ItemHarness().running() as harness:
        socket: Any = object()
        conversation = RunningConversation(harness.talk, "token", client_socket=socket)
        await harness.add(sound())
        assert not conversation.busy
        await harness.send("response.create")
        assert conversation.busy


async def test_conversation_ends_while_a_recording_is_transcribed() -> None:
    async with ItemHarness(delay_ms=50_000).running() as harness:
        await harness.add(sound())
        await harness.send("response.create")
    assert harness.events("response.created") == []


async def test_recording_longer_than_a_segment_is_transcribed_in_parts() -> None:
    async with ItemHarness(recorded=("one", "two")).running() as harness:
        await harness.add(sound(20))
        await harness.until(TRANSCRIBED)
    assert harness.events(TRANSCRIBED)[0]["transcript"] == "one two"


# ---- images ----


async def test_image_goes_to_the_model_and_is_not_sent_back_until_retrieved() -> None:
    address = data_url(png())
    async with ItemHarness(images=True).running() as harness:
        text = {"type": "input_text", "text": "what is this"}
        part = {"type": "input_image", "image_url": address, "detail": "high"}
        await harness.add(text, part, item={"id": "seen"})
        await harness.send("response.create")
        await harness.until("response.done")
        found = await harness.retrieved("seen")
        assert found["content"] == [text, part]
        await harness.until_idle()
    (asked,) = harness.model.asked
    assert [(one.content, len(one.images)) for one in asked if one.role == "user"] == [("what is this", 1)]
    added = harness.events("conversation.item.added")[0]["item"]
    assert added["content"][1] == {"type": "input_image", "image_url": None, "detail": "high"}
    assert address[30:] not in str([record.to_json(turn_events=True) for record in harness.records])


async def test_image_alone_is_answered() -> None:
    async with ItemHarness(images=True).running() as harness:
        await harness.add({"type": "input_image", "image_url": data_url(png())})
        await harness.send("response.create")
        await harness.until("response.done")
    assert [len(one.images) for one in harness.model.asked[0] if one.role == "user"] == [1]


async def test_refused_image_keeps_the_question_that_came_with_it() -> None:
    async with ItemHarness().running() as harness:
        await harness.type_text("earlier")
        part = {"type": "input_image", "image_url": data_url(png())}
        await harness.add({"type": "input_text", "text": "what is this"}, part, event_id="e7")
        await harness.send("response.create")
        await harness.until("response.done")
    assert harness.asked == [["earlier", "what is this"]]
    (error,) = harness.events("error")
    assert (error["error"]["code"], error["error"]["param"]) == ("not_supported", "item.content[1].type")
    assert error["error"]["event_id"] == "e7"


# ---- history of the assistant, places ----


async def test_spoken_history_of_the_assistant_keeps_its_kind_and_sound() -> None:
    async with ItemHarness().running() as harness:
        await harness.type_text("hello", id="u")
        spoken = {"type": "output_audio", "audio": voice(), "transcript": "Good morning."}
        await harness.add(spoken, role="assistant", item={"id": "a"}, previous_item_id="root")
        assert (await harness.retrieved("a"))["content"] == [spoken]
        await harness.send("conversation.item.truncate", item_id="a", content_index=0, audio_end_ms=100)
        await harness.send("response.create")
        await harness.until("response.done")
    assert harness.client.items[:2] == ["a", "u"]
    assert harness.errors == ["unsupported_content_type"]
    assert [one.content for one in harness.model.asked[0]][1:] == ["Good morning.", "hello"]


@pytest.mark.parametrize(
    ("after", "order"), [(str(ROOT), ["x", "a", "b"]), ("a", ["a", "x", "b"]), (None, ["a", "b", "x"])]
)
async def test_recording_has_the_place_that_its_client_wants(after: str | None, order: list[str]) -> None:
    async with ItemHarness().running() as harness:
        await harness.type_text("one", id="a")
        await harness.type_text("two", id="b")
        await harness.add(sound(), item={"id": "x"}, previous_item_id=after)
        await harness.send("response.create")
        await harness.until("response.done")
    assert harness.client.items[:3] == order
    words = {"a": "one", "b": "two", "x": "count to three"}
    assert harness.asked == [[words[item] for item in order]]


async def test_recording_after_an_unknown_item_is_refused_and_not_transcribed() -> None:
    async with ItemHarness().running() as harness:
        await harness.add(sound(), item={"id": "x"}, previous_item_id="nope")
        await asyncio.sleep(1)
    assert harness.errors == ["item_create_invalid_previous_item_id"]
    assert harness.events(TRANSCRIBED) == []


# ---- retrieved sound ----


def test_retrieved_items_have_the_sound_of_both_sides() -> None:
    found: list[Event] = []

    async def scene(harness: SessionHarness) -> None:
        assert isinstance(harness, ItemHarness)
        await harness.speak(600)
        await harness.until_idle()
        found.extend([await harness.retrieved(item) for item in harness.client.items])

    harness = ItemHarness()
    run_scene(scene, harness)
    user, assistant = (item["content"][0] for item in found)
    assert (user["type"], user["transcript"]) == ("input_audio", "what time is it")
    assert seconds(user["audio"]) == pytest.approx(0.6 + 0.2, abs=0.1)  # the margins, as far as there was sound
    assert np.abs(np.frombuffer(base64.b64decode(user["audio"]), "<i2")).max() > 7000
    assert assistant["type"] == "output_audio"
    assert seconds(assistant["audio"]) * 1000 == harness.sound_ms() == 1200


async def test_sound_of_an_interrupted_reply_ends_where_it_was_cut() -> None:
    found: list[Event] = []
    async with ItemHarness((LONG,)).running() as harness:
        await harness.ask("count", "response.output_item.added")
        await asyncio.sleep(1)
        item = harness.client.items[1]
        assert seconds((await harness.retrieved(item))["content"][0]["audio"]) > 1
        await harness.send("conversation.item.truncate", item_id=item, content_index=0, audio_end_ms=450)
        await harness.send("response.cancel")
        found.append(await harness.retrieved(item))
    assert harness.errors == []
    assert seconds(found[0]["content"][0]["audio"]) == pytest.approx(0.45, abs=0.001)


async def test_g711_session_retrieves_g711() -> None:
    async with ItemHarness().running() as harness:
        await harness.update(audio={"input": {"format": {"type": "audio/pcmu"}}})
        await harness.add({"type": "input_audio", "audio": base64.b64encode(bytes(800)).decode()}, item={"id": "x"})
        audio = (await harness.retrieved("x"))["content"][0]["audio"]
        assert base64.b64decode(audio) == bytes(800)


async def test_resumed_reply_keeps_its_sound_once() -> None:
    async with ItemHarness().running() as harness:
        await harness.ask("count", "response.output_audio.delta")
        reply_id, before_ms = harness.session.active_replies[0], harness.sound_ms()
        harness.talk.on_disconnect()
        await asyncio.sleep(1)
        harness.client.comes_back()
        harness.talk.resume(None, reply_id, 0)
        harness.talk.changed = harness._fetch
        await harness.until("response.done", 1)
        assert seconds((await harness.retrieved(harness.client.items[1]))["content"][0]["audio"]) == pytest.approx(1.2)
        assert harness.sound_ms() >= 1200 + before_ms


# ---- deleting what plays ----


async def test_deleting_a_playing_item_stops_it_and_a_late_cancel_is_no_error() -> None:
    async with ItemHarness((LONG, "Fine.")).running() as harness:
        await harness.ask("count", "response.output_audio.delta")
        before_ms = harness.sound_ms()
        await harness.send("conversation.item.delete", item_id=harness.client.items[1])
        await harness.send("response.cancel")
        assert harness.session.idle
        await asyncio.sleep(1)
        assert harness.sound_ms() <= before_ms + 500
        await harness.send("response.create")
        await harness.until("response.done", 2)
    assert harness.errors == []
    assert [response["status"] for response in harness.done] == ["cancelled", "completed"]
    assert harness.events("conversation.item.truncated") == []
    assert [one.role for one in harness.model.asked[1]] == ["system", "user"]


async def test_deleting_a_complete_reply_that_still_plays_stops_it() -> None:
    async with ItemHarness().running() as harness:
        await harness.ask("hello")
        assert not harness.session.idle
        await harness.send("conversation.item.delete", item_id=harness.client.items[1])
        assert harness.session.idle
    assert harness.errors == []
    assert len(harness.session.history.items) == 1


async def test_transcripts_arrive_in_the_history_and_not_only_at_the_client() -> None:
    async with ItemHarness().running() as harness:
        await harness.add(sound(), item={"id": "x"})
        await harness.until(TRANSCRIBED)
    (item,) = harness.session.history.items
    assert isinstance(item, UserMessage)
    assert item.parts == (SoundPart("count to three"),)


async def test_retrieved_sound_does_not_precede_the_first_sound_of_a_reply() -> None:
    async with ItemHarness().running() as harness:
        harness.model.token_ms = 200
        for count in (1, 2):
            await harness.speak(until=TRANSCRIBED, count=count)
            if count == 2:  # as openai-agents does at every transcript
                await harness.send("conversation.item.retrieve", item_id=harness.client.items[1])
                assert harness.events("conversation.item.retrieved") == []
                await harness.send("conversation.item.retrieve", item_id="nope")
                assert harness.errors == ["item_retrieve_invalid_item_id"]
            await harness.until("response.done", count)
            await harness.until_idle()
    kinds = [event["type"] for _, event in harness.log]
    (at,) = (at for at, kind in enumerate(kinds) if kind == "conversation.item.retrieved")
    since = kinds[len(kinds) - kinds[::-1].index("response.created") : at]
    assert "response.output_audio.delta" in since
    assert since.count("response.output_audio_transcript.delta") == 0
    assert harness.events("conversation.item.retrieved")[0]["item"]["content"][0]["audio"]


async def test_large_image_is_left_out_of_a_retrieved_item() -> None:
    async with ItemHarness(images=True).running() as harness:
        await harness.add({"type": "input_image", "image_url": data_url(png(more=900_000))}, item={"id": "x"})
        assert (await harness.retrieved("x"))["content"][0]["image_url"] is None
