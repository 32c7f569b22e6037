"""Responses outside of the conversation, and responses to a given input: real session, virtual time."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from support.conversations.session_harness import LAMP, LAMP_TOOL, LONG, SessionHarness, run_scene
from support.conversations.simulation import ScriptedVoice
from support.engines.scripted_engines import SequenceModel
from support.protocol.wire_client import Event

from assistant.history.items import AssistantMessage, ItemId, UserMessage
from assistant.pipeline.out_of_band import ANSWER_TIMEOUT_S, GIVE_WAY_S, MAX_ANSWERS
from assistant.turns.events import ReplyId
from audio.tts import Chunk
from llm.chat import NO_LIMIT, PLAIN, ChatEvent, ChatOptions, Finished, Message, Token
from llm.errors import LlmBroken, LlmFiltered

pytestmark = pytest.mark.virtual_time

SYSTEM = Message("system", "Be brief.")


def message(text: str, role: str = "user", **item: Any) -> Event:
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}], **item}


async def ask(harness: SessionHarness, **response: Any) -> None:
    """Requests a text response outside of the conversation."""
    given = {"conversation": "none", "output_modalities": ["text"], **response}
    await harness.send("response.create", response=given)


def beside(*answers: Any, **model: Any) -> tuple[SessionHarness, SequenceModel]:
    """Returns a harness whose out-of-band responses have their own model."""
    direct = SequenceModel(answers, **model)
    return SessionHarness(answers=(LONG,), engines=lambda engines: replace(engines, direct_model=direct)), direct


def ended(harness: SessionHarness, response_id: str) -> Event:
    return next(response for response in harness.done if response["id"] == response_id)


# ---- the answer ----


async def test_text_response_is_no_part_of_the_conversation() -> None:
    harness, model = beside("one two")
    async with harness.running():
        await harness.type_text("hello")
        harness.log.clear()
        await ask(harness, metadata={"topic": "support"}, instructions="Classify.", max_output_tokens="inf")
        await harness.until("response.done")
    assert harness.kinds == [
        "response.created", "response.output_item.added", "response.content_part.added", "response.output_text.delta",
        "response.output_text.done", "response.content_part.done", "response.output_item.done", "response.done",
    ]  # fmt: skip
    created, (done,) = harness.events("response.created")[0]["response"], harness.done
    for response in (created, done):
        assert response["conversation_id"] is None
        assert response["metadata"] == {"topic": "support"}
        assert response["output_modalities"] == ["text"]
        assert response["max_output_tokens"] == "inf"
    assert done["status"] == "completed"
    assert [part["text"] for item in done["output"] for part in item["content"]] == ["one two"]
    assert done["usage"]["total_tokens"] == 18
    assert done["usage"]["input_token_details"]["cached_tokens_details"]["text_tokens"] == 4
    assert model.asked == [(Message("system", "Classify."), Message("user", "hello"))]
    assert model.options[0].max_tokens == NO_LIMIT
    assert [item.text for item in harness.session.history.items if isinstance(item, UserMessage)] == ["hello"]
    assert len(harness.session.history.items) == 1
    assert harness.records == []


async def test_several_responses_run_beside_the_spoken_reply() -> None:
    harness, model = beside("a " * 20, "b " * 10, "c")
    async with harness.running():
        await harness.type_text("tell me")
        await harness.send("response.create", response={"metadata": {"kind": "spoken"}})
        await harness.until("response.output_audio.delta")
        for name in "abc":
            await ask(harness, metadata={"name": name})
        await harness.until("response.done", 4)
        await harness.until_idle()
    spoken, *others = [event["response"] for event in harness.events("response.created")]
    assert spoken["metadata"] == {"kind": "spoken"}
    assert [response["metadata"]["name"] for response in others] == ["a", "b", "c"]
    assert [ended(harness, one["id"])["status"] for one in (spoken, *others)] == ["completed"] * 4
    # The shortest one ends first.
    assert [response["metadata"].get("name") for response in harness.done][:3] == ["c", "b", "a"]
    assert harness.errors == []
    assert [item for item in harness.session.history.items if isinstance(item, AssistantMessage)] == [
        AssistantMessage(harness.session.history.items[-1].id, LONG)
    ]
    assert model.cancelled == 0


async def test_spoken_response_is_sent_and_not_heard_by_turn_taking() -> None:
    harness, _ = beside(LONG)
    async with harness.running():
        await harness.update(audio={"output": {"format": {"type": "audio/pcmu"}}})
        await ask(harness, output_modalities=["audio"], audio={"output": {"format": {"type": "audio/pcm"}}})
        await harness.until("response.output_audio.delta")
        assert harness.session.idle
        await harness.speak()  # it is no interruption
        await harness.until("response.done", 2)
        await harness.until_idle()
    first = harness.events("response.created")[0]["response"]
    assert first["audio"]["output"]["format"] == {"type": "audio/pcm", "rate": 24_000}
    outside = ended(harness, first["id"])
    assert outside["status"] == "completed"
    assert outside["output"][0]["content"] == [{"type": "output_audio", "transcript": LONG}]
    audio = [event for event in harness.events("response.output_audio.delta") if event["response_id"] == first["id"]]
    assert sum(len(event["delta"]) * 3 // 4 for event in audio) / 48 == pytest.approx(len(LONG.split()) * 200, abs=1)
    assert harness.events("conversation.item.truncated") == []
    (record,) = harness.records
    assert record.outcome == "answered"
    assert [event.name for event in record.events if event.name in {"interrupt", "overlap"}] == []
    kinds = [item["role"] for item in (event["item"] for event in harness.events("conversation.item.done"))]
    assert kinds == ["user", "assistant"]


async def test_skills_do_not_answer_outside_of_the_conversation() -> None:
    harness, direct = beside("a question about time")
    async with harness.running():
        await ask(harness, input=[message("what time is it")], instructions="Classify.")
        await harness.until("response.done")
    assert len(direct.asked) == 1
    assert harness.model.asked == []


# ---- input ----


async def test_input_replaces_the_conversation() -> None:
    harness, model = beside("fine")
    async with harness.running():
        await harness.type_text("first", id="mine")
        await harness.type_text("second")
        await ask(harness)
        given = [message("by rule", "system"), message("said", "assistant"), {"type": "item_reference", "id": "mine"}]
        await ask(harness, input=given)
        await ask(harness, input=[])
        await ask(harness, input=[], instructions="")
        await harness.until("response.done", 4)
    assert model.asked == [
        (SYSTEM, Message("user", "first"), Message("user", "second")),
        (SYSTEM, Message("system", "by rule"), Message("assistant", "said"), Message("user", "first")),
        (SYSTEM,),
        (),
    ]


async def test_function_call_and_its_output_in_the_input_belong_together() -> None:
    harness, model = beside("done")
    call = {"type": "function_call", "call_id": "call_9", "name": "set_lamp", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "call_9", "output": "on"}
    async with harness.running():
        await ask(harness, input=[message("light"), call, output])
        await harness.send("conversation.item.create", item={**call, "id": "called"})
        await harness.send("conversation.item.create", item={**output, "id": "returned"})
        await ask(harness, input=[{"type": "item_reference", "id": "returned"}])
        await ask(harness, input=[call, output])  # the conversation has them, too
        await ask(harness, input=[{**output, "call_id": "call_10"}], metadata={"a": "b"})
        await harness.until("response.done", 3)
    roles = [[one.role for one in messages] for messages in model.asked]
    assert roles == [
        ["system", "user", "assistant", "tool"],
        ["system", "assistant", "tool"],
        ["system", "assistant", "tool"],
    ]
    (error,) = [event["error"] for event in harness.events("error")]
    assert (error["code"], error["param"]) == ("invalid_tool_call_id", "response.input[0].call_id")


@pytest.mark.parametrize("conversation", ["auto", "none"])
async def test_unknown_item_reference_refuses_the_response(conversation: str) -> None:
    async with SessionHarness().running() as harness:
        given = [message("hello"), {"type": "item_reference", "id": "item_77"}]
        await harness.send("response.create", event_id="e1", response={"conversation": conversation, "input": given})
        await asyncio.sleep(1)
    (error,) = [event["error"] for event in harness.events("error")]
    assert (error["code"], error["param"], error["event_id"]) == (
        "response_input_invalid_item_id", "response.input[1].id", "e1",
    )  # fmt: skip
    assert "item_77" in error["message"]
    assert harness.events("response.created") == []
    assert not harness.session.reply_request_pending


async def test_response_in_the_conversation_may_have_its_own_input() -> None:
    async with SessionHarness(answers=("katze", "It is ten.")).running() as harness:
        await harness.type_text("hello")
        given = {"input": [message("translate: cat")], "instructions": "Translate.", "output_modalities": ["text"]}
        await harness.send("response.create", response=given)
        await harness.until("response.done")
        await harness.until_idle()
        await harness.speak(until="response.done", count=2)
        await harness.until_idle()
    assert harness.model.asked[0] == (Message("system", "Translate."), Message("user", "translate: cat"))
    # The answer belongs to the conversation, the input does not; the next turn sees the conversation.
    assert harness.model.asked[-1] == (
        SYSTEM, Message("user", "hello"), Message("assistant", "katze"), Message("user", "what time is it"),
    )  # fmt: skip
    assert harness.done[0]["conversation_id"] is not None


async def test_empty_input_does_not_stay_for_the_next_turn() -> None:
    async with SessionHarness().running() as harness:
        await harness.send("response.create", response={"input": [], "instructions": ""})
        await harness.until("response.done")
        await harness.until_idle()
        await harness.speak(until="response.done", count=2)
        await harness.until_idle()
    assert harness.model.asked[0] == ()
    assert harness.model.asked[-1][0] == SYSTEM
    assert harness.model.asked[-1][-1] == Message("user", "what time is it")


async def test_speech_that_fulfils_a_request_with_input_is_answered() -> None:
    """The client's request waits for the end of speech; the words follow its input."""
    async with SessionHarness().running() as harness:
        await harness.sound(400, loud=True)
        await harness.send("response.create", response={"input": [message("rule", "system")]})
        await harness.sound(900, loud=False)
        await harness.until("response.done")
        await harness.until_idle()
    assert harness.model.asked[-1] == (SYSTEM, Message("system", "rule"), Message("user", "what time is it"))


async def test_input_alone_counts_where_the_client_commits_turns() -> None:
    async with SessionHarness().running() as harness:
        await harness.update(audio={"input": {"turn_detection": None}})
        await harness.sound(600, loud=True)
        await harness.send("input_audio_buffer.commit")
        await harness.send("response.create", response={"input": [message("hello")]})
        await harness.until("response.done")
        await harness.until_idle()
    assert harness.model.asked[-1] == (SYSTEM, Message("user", "hello"))


# ---- tools ----


async def test_function_item_follows_the_done_message_and_stays_outside() -> None:
    harness, model = beside(("one moment", LAMP))
    async with harness.running():
        await ask(
            harness,
            output_modalities=["audio"],
            tools=[LAMP_TOOL],
            tool_choice={"type": "function", "name": "set_lamp"},
        )
        await harness.until("response.done")
    assert harness.errors == []
    order = [
        (event["type"], event["item"]["type"])
        for _, event in harness.log
        if event["type"].startswith("response.output_item.")
    ]
    assert order == [
        ("response.output_item.added", "message"), ("response.output_item.done", "message"),
        ("response.output_item.added", "function_call"), ("response.output_item.done", "function_call"),
    ]  # fmt: skip
    (done,) = harness.done
    assert [item["type"] for item in done["output"]] == ["message", "function_call"]
    assert harness.events("response.function_call_arguments.done")[0]["arguments"] == '{"on": true}'
    assert harness.session.history.items == ()
    assert [event for event in harness.kinds if event.startswith("conversation.")] == []
    (options,) = model.options
    assert [function.name for function in options.functions] == ["set_lamp"]
    assert options.choice == "set_lamp"


@pytest.mark.parametrize("choice", ["auto", "none", "required"])
async def test_tool_choice_of_the_response_is_passed_on(choice: str) -> None:
    harness, model = beside("fine")
    async with harness.running():
        await harness.update(tools=[LAMP_TOOL], tool_choice="auto")
        await ask(harness, tool_choice=choice)
        await ask(harness, tools=[], tool_choice=choice)
        await harness.until("response.done", 2)
    assert [options.choice for options in model.options] == [choice] * 2
    assert [len(options.functions) for options in model.options] == [1, 0]


async def test_call_of_a_function_that_was_not_offered_is_left_out() -> None:
    harness, _ = beside(("fine", LAMP))
    async with harness.running():
        await ask(harness)
        await harness.until("response.done")
    assert [item["type"] for item in harness.done[0]["output"]] == ["message"]


# ---- ends ----


@dataclass(slots=True)
class EndingModel(SequenceModel):
    """A model with another end."""

    reason: str = "length"
    fails: Exception | None = None
    hangs: bool = False
    heard_options: list[ChatOptions] = field(default_factory=list)

    async def stream(self, messages: Sequence[Message], options: ChatOptions = PLAIN) -> AsyncGenerator[ChatEvent]:
        self.heard_options.append(options)
        yield Token("so far")
        if self.hangs:
            await asyncio.sleep(ANSWER_TIMEOUT_S * 2)
        if self.fails is not None:
            raise self.fails
        yield Finished(self.reason, prompt_tokens=5, completion_tokens=2)


def ending(**model: Any) -> tuple[SessionHarness, EndingModel]:
    direct = EndingModel(**model)
    return SessionHarness(engines=lambda engines: replace(engines, direct_model=direct)), direct


BROKEN = LlmBroken("near", "it broke", spoken="", retryable=False)
FILTERED = LlmFiltered("near", "it was filtered", spoken="", retryable=False)


@pytest.mark.parametrize(
    ("model", "status", "details"),
    [
        ({"reason": "length"}, "incomplete", {"type": "incomplete", "reason": "max_output_tokens"}),
        ({"reason": "content_filter"}, "incomplete", {"type": "incomplete", "reason": "content_filter"}),
        ({"fails": FILTERED}, "incomplete", {"type": "incomplete", "reason": "content_filter"}),
        (
            {"fails": BROKEN}, "failed",
            {"type": "failed", "error": {"type": "server_error", "code": "reply_failed", "message": "it broke"}},
        ),
        (
            {"hangs": True}, "failed",
            {"type": "failed", "error": {
                "type": "server_error", "code": "reply_failed",
                "message": "the answer took longer than 300 s and was stopped"}},
        ),
    ],
)  # fmt: skip
async def test_response_ends_as_the_model_does(model: dict[str, Any], status: str, details: Event) -> None:
    harness, direct = ending(**model)
    async with harness.running():
        await ask(harness, max_output_tokens=20)
        async with asyncio.timeout(ANSWER_TIMEOUT_S + 10):
            while not harness.done:  # noqa: ASYNC110
                await asyncio.sleep(1)
    (done,) = harness.done
    assert (done["status"], done["status_details"]) == (status, details)
    assert done["output"][0]["status"] == "incomplete"
    assert done["output"][0]["content"][0]["text"] == "so far"
    assert direct.heard_options[0].max_tokens == 20
    assert harness.session.out_of_band.active == ()


async def test_voice_that_fails_is_loaded_again() -> None:
    harness, _ = beside("one two.")
    async with harness.running():
        harness.voice.fails = True
        await ask(harness, output_modalities=["audio"])
        await harness.until("response.done")
        await ask(harness, output_modalities=["audio"])
        await harness.until("response.done", 2)
    assert [done["status"] for done in harness.done] == ["failed", "completed"]
    assert harness.done[0]["status_details"]["error"]["message"] == "the voice has died"
    assert harness.voice.loads == 1


async def test_text_that_the_voice_cannot_speak_is_sent() -> None:
    harness, _ = beside("one two.")
    async with harness.running():
        harness.voice.silent = ("one two.",)
        await ask(harness, output_modalities=["audio"])
        await harness.until("response.done")
    assert harness.done[0]["output"][0]["content"] == [{"type": "output_audio", "transcript": "one two."}]


async def test_empty_answer_is_complete() -> None:
    harness, _ = beside(())
    async with harness.running():
        await ask(harness)
        await harness.until("response.done")
    assert (harness.done[0]["status"], harness.done[0]["output"]) == ("completed", [])


# ---- limits and cancelling ----


async def test_further_responses_are_refused() -> None:
    harness, model = beside(LONG)
    async with harness.running():
        for number in range(MAX_ANSWERS + 1):
            await harness.send(
                "response.create",
                event_id=f"e{number}",
                response={"conversation": "none", "output_modalities": ["text"]},
            )
        await harness.until("response.done", MAX_ANSWERS)
        await ask(harness)
        await harness.until("response.done", MAX_ANSWERS + 1)
    (error,) = [event["error"] for event in harness.events("error")]
    assert (error["code"], error["param"], error["event_id"]) == (
        "too_many_responses", "response.conversation", f"e{MAX_ANSWERS}",
    )  # fmt: skip
    assert len(model.asked) == MAX_ANSWERS + 1


@pytest.mark.parametrize("modality", ["text", "audio"])
def test_response_is_cancelled_by_its_id(modality: str) -> None:
    harness, model = beside(LONG, token_ms=50.0)

    async def scene(harness: SessionHarness) -> None:
        await ask(harness, output_modalities=[modality])
        await ask(harness, output_modalities=["text"])
        kind = "response.output_text.delta" if modality == "text" else "response.output_audio_transcript.delta"
        await harness.until(kind)
        first, _ = [event["response"]["id"] for event in harness.events("response.created")]
        await harness.send("response.cancel", response_id=first)
        await harness.send("response.cancel", response_id=first, event_id="late")
        await harness.send("response.cancel", response_id="resp_0_99", event_id="unknown")
        await harness.send("response.cancel", event_id="nothing in the conversation")
        await harness.until("response.done", 2)

    run_scene(scene, harness)
    cancelled, other = harness.done
    assert (cancelled["status"], cancelled["status_details"]["reason"]) == ("cancelled", "client_cancelled")
    assert cancelled["output"][0]["status"] == "incomplete"
    assert cancelled["usage"]["total_tokens"] == 0
    assert other["status"] == "completed"
    errors = [event["error"] for event in harness.events("error")]
    assert [error["event_id"] for error in errors] == ["late", "unknown", "nothing in the conversation"]
    assert [error["param"] for error in errors] == ["response_id", "response_id", None]
    for error in errors:
        assert error["message"].startswith("Cancellation failed")
        assert error["code"] == "response_cancel_not_active"
    assert model.cancelled == 1


async def test_cancel_without_id_means_the_conversation() -> None:
    harness, _ = beside(LONG)
    async with harness.running():
        await ask(harness)
        await harness.ask("hello", "response.output_audio.delta")
        await harness.send("response.cancel")
        await harness.until("response.done", 2)
    assert {(one["conversation_id"] is None, one["status"]) for one in harness.done} == {
        (True, "completed"),
        (False, "cancelled"),
    }
    assert harness.errors == []


async def test_item_outside_of_the_conversation_cannot_be_addressed() -> None:
    harness, _ = beside("fine")
    async with harness.running():
        await ask(harness)
        await harness.until("response.done")
        item = harness.done[0]["output"][0]["id"]
        await harness.send("conversation.item.retrieve", item_id=item)
        await harness.send("conversation.item.truncate", item_id=item, content_index=0, audio_end_ms=0)
        await harness.send("conversation.item.delete", item_id=item)
        await harness.send("repartee.playout", response_id=harness.done[0]["id"], played_ms=10)
    assert harness.errors == [
        "item_retrieve_invalid_item_id", "item_truncate_invalid_item_id", "item_delete_invalid_item_id",
    ]  # fmt: skip


async def test_lost_connection_cancels_the_responses() -> None:
    harness, model = beside(LONG, token_ms=50.0)
    async with harness.running():
        await ask(harness)
        await harness.until("response.output_text.delta")
        harness.talk.on_disconnect()
        await asyncio.sleep(1)
        harness.resume(ReplyId(0, 1), 0.0)
        await asyncio.sleep(5)
        await ask(harness)
        await harness.until("response.done")
    assert model.cancelled == 1
    assert [event["response"]["id"] for event in harness.events("response.created")] == ["resp_0_2"]


async def test_session_ends_while_a_response_runs() -> None:
    harness, model = beside(LONG, token_ms=500.0)
    async with harness.running():
        await ask(harness, output_modalities=["audio"])
        await ask(harness)
        await asyncio.sleep(1)
    assert model.cancelled == 2


# ---- the voice ----


@dataclass(slots=True)
class OneThreadVoice(ScriptedVoice):
    """A voice that makes one text at a time, in the order of requests, as an engine with one thread does."""

    chunk_s: float = 0.5
    _engine: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def speak(self, text: str, speed: float = 1.0, ahead_s: float = 0.0) -> AsyncGenerator[Chunk]:
        async with self._engine:
            await asyncio.sleep(self.chunk_s)
            async for chunk in ScriptedVoice.speak(self, text, speed):
                yield chunk


SENTENCES = "This is a sentence of the answer. " * 12


def first_sound_ms(asked: int) -> int:
    """Returns when the reply to speech makes its first sound, with this many spoken out-of-band responses."""
    direct, voice = SequenceModel((SENTENCES,), token_ms=1.0), OneThreadVoice()
    harness = SessionHarness(
        answers=("It is ten.",), engines=lambda engines: replace(engines, direct_model=direct, voice=voice)
    )

    async def scene(harness: SessionHarness) -> None:
        for _ in range(asked):
            await ask(harness, output_modalities=["audio"])
        await harness.speak()
        await harness.until_idle()

    run_scene(scene, harness)
    spoken = next(
        event["response"]["id"]
        for event in harness.events("response.created")
        if event["response"]["conversation_id"] is not None
    )
    return next(
        at_ms
        for at_ms, event in harness.log
        if event["type"] == "response.output_audio.delta" and event["response_id"] == spoken
    )


def test_spoken_reply_waits_for_one_chunk_at_most() -> None:
    alone_ms, beside_ms = first_sound_ms(0), first_sound_ms(4)
    assert beside_ms - alone_ms <= OneThreadVoice().chunk_s * 1000 + 20


@pytest.mark.parametrize("reply_s", [2.0, 8.0])
async def test_chunks_wait_for_the_first_sound_of_a_reply(reply_s: float) -> None:
    harness, _ = beside(SENTENCES, token_ms=1.0)
    harness.model.token_ms = reply_s * 1000 / len(LONG.split())
    async with harness.running():
        await ask(harness, output_modalities=["audio"])
        await harness.until("response.output_audio.delta")
        await asyncio.sleep(5)  # its audio is ten seconds ahead, so chunks are made in real time
        await harness.type_text("hello")
        await harness.send("response.create")
        await harness.until_idle()
        await harness.until("response.done", 2)
    (began_ms,) = [
        at_ms
        for at_ms, event in harness.log
        if event["type"] == "response.created" and event["response"]["conversation_id"] is not None
    ]
    audio = [
        (at_ms, event["response_id"])
        for at_ms, event in harness.log
        if event["type"] == "response.output_audio.delta" and at_ms > began_ms
    ]
    reply_ms = next(at_ms for at_ms, response_id in audio if response_id != "resp_0_1")
    outside_ms = next(at_ms for at_ms, response_id in audio if response_id == "resp_0_1")
    assert reply_ms - began_ms > 1500
    waits_until_ms = min(reply_ms, began_ms + GIVE_WAY_S * 1000)
    assert waits_until_ms - 20 <= outside_ms <= waits_until_ms + 1500  # the next chunk is due that much later at most


async def test_audio_is_sent_no_more_than_ten_seconds_ahead() -> None:
    harness, _ = beside(SENTENCES * 4, token_ms=1.0)
    async with harness.running():
        await ask(harness, output_modalities=["audio"])
        await asyncio.sleep(2)
        assert 10_000 < harness.sound_ms() < 15_000
        await harness.until("response.done")
    assert harness.done[0]["status"] == "completed"
    assert harness.at_ms("response.done")[0] > 50_000


async def test_ids_of_items_stay_unique() -> None:
    harness, _ = beside(("fine", LAMP))
    async with harness.running():
        await ask(harness, tools=[LAMP_TOOL])
        await harness.until("response.done")
        await harness.type_text("hello")
    ids = [item["id"] for item in harness.done[0]["output"]]
    ids += [str(item.id) for item in harness.session.history.items]
    assert len(set(ids)) == 3
    assert not harness.session.history.is_taken(ItemId(ids[0]))
