"""Conversations with the assistant for clients of the Wyoming protocol."""

import asyncio
from pathlib import Path

import pytest
from support.engines.scripted_engines import SequenceRecognizer
from support.servers.session_server import SessionServer, eventually, real_engines
from support.servers.wyoming_client import speech, wyoming_client, wyoming_server
from support.services import llm_server
from wyoming.asr import Transcribe, Transcript
from wyoming.error import Error
from wyoming.handle import Handled, NotHandled
from wyoming.info import Describe, Info
from wyoming.intent import NotRecognized, Recognize

from assistant.config.settings import Settings
from assistant.setup.conversation import engine_options
from assistant.setup.conversation.chosen_engines import EngineChoices
from audio.stt import Recognizer


@pytest.fixture
def multilingual(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pretends that a multilingual recognizer is installed."""

    async def recognizer(_self: EngineChoices, language: str, _settings: Settings) -> Recognizer:
        return SequenceRecognizer([f"words in {language}"])

    monkeypatch.setattr(engine_options, "candidates", lambda _language: ["base"])
    monkeypatch.setattr(EngineChoices, "_recognizer_in", recognizer)


async def answer_of(server: SessionServer, text: str, conversation: str = "", language: str | None = None) -> str:
    """Asks on a connection of its own, as Home Assistant does."""
    context = {"conversation_id": conversation} if conversation else None
    async with wyoming_client(server) as client:
        await client.send(Transcript(text, context=context, language=language))
        handled = Handled.from_event(await client.until("handled"))
        await client.until("handled-stop")
        assert handled.context == context
        assert client.types[0] == "handled-start"
        streamed = "".join(event.data["text"] for event in client.events if event.type == "handled-chunk")
        assert streamed.strip() == handled.text
        return streamed.strip()


async def test_next_question_refers_to_the_first(tmp_path: Path) -> None:
    async with wyoming_server(tmp_path, loader=real_engines(tmp_path)) as server:
        assert await answer_of(server, "set a timer for ten minutes", "first") == "Your 10 minute timer is set."
        assert await answer_of(server, "how long is left?", "first") == "10 minutes are left."
        assert await answer_of(server, "how long is left?", "second") == "There is no timer."
        await eventually(lambda: [record["outcome"] for record in server.records()] == ["answered"] * 3)


async def test_several_conversations_are_answered_at_once(tmp_path: Path) -> None:
    async with wyoming_server(tmp_path, loader=real_engines(tmp_path)) as server:
        questions = [(f"what is {number} plus one", f"conversation {number}") for number in range(6)]
        answers = await asyncio.gather(*(answer_of(server, *question) for question in questions))
        assert answers == [f"That's {number + 1}." for number in range(6)]


async def test_model_answer_is_streamed(tmp_path: Path) -> None:
    body = llm_server.event(role="assistant", content="")
    script = (
        llm_server.HEAD,
        llm_server.chunk(body + llm_server.event("The Everest. ")),
        llm_server.Wait(0.3),
        llm_server.chunk(llm_server.event("It is high.") + llm_server.event(finish="stop") + llm_server.DONE),
        llm_server.LAST_CHUNK,
    )
    async with llm_server.serving(script) as service:
        loader = real_engines(tmp_path, service.url)
        async with wyoming_server(tmp_path, loader=loader) as server, wyoming_client(server) as client:
            await client.send(Transcript("what is the tallest mountain"))
            now_s = asyncio.get_running_loop().time
            await client.until("handled-chunk")
            began_s = now_s()
            assert Handled.from_event(await client.until("handled")).text == "The Everest. It is high."
            assert now_s() - began_s > 0.2


async def test_question_that_nothing_answers_is_not_handled(tmp_path: Path) -> None:
    async with wyoming_server(tmp_path, loader=real_engines(tmp_path)) as server, wyoming_client(server) as client:
        await client.send(Transcript("what is the meaning of life", context={"conversation_id": "a"}))
        refusal = NotHandled.from_event(await client.until("not-handled"))
        assert "no language model" in (refusal.text or "")
        assert refusal.context == {"conversation_id": "a"}
        await client.send(Recognize("what is the meaning of life"))
        assert "no language model" in (NotRecognized.from_event(await client.until("not-recognized")).text or "")
        await client.send(Transcript("   "))
        await client.until("not-handled")
        await client.send(Recognize("what is one plus one"))
        assert Handled.from_event(await client.until("handled")).text == "That's 2."


@pytest.mark.usefixtures("multilingual")
async def test_question_and_speech_have_their_own_language(tmp_path: Path) -> None:
    async with wyoming_server(tmp_path, loader=real_engines(tmp_path)) as server:
        assert await answer_of(server, "was ist eins plus eins", language="de-DE") == "Das ergibt 2."
        assert await answer_of(server, "was ist eins plus eins", "same", language="de") == "Das ergibt 2."
        assert await answer_of(server, "what is one plus one", "same") == "That's 2."
        assert await answer_of(server, "what is one plus one", language="en-GB") == "That's 2."
        async with wyoming_client(server) as client:
            await client.send(Describe())
            info = Info.from_event(await client.until("info"))
            assert set(info.handle[0].models[0].languages) == {"en", "de", "fr", "es"}
            assert {"en", "de", "nl"} <= set(info.asr[0].models[0].languages)
            await client.send(Transcribe(language="de_DE"))
            await client.send_sound(speech())
            assert Transcript.from_event(await client.until("transcript")) == Transcript("words in de", language="de")


async def test_language_that_is_not_spoken_is_refused(tmp_path: Path) -> None:
    async with wyoming_server(tmp_path, loader=real_engines(tmp_path)) as server, wyoming_client(server) as client:
        await client.send(Transcript("hello", language="xx"))
        assert "speaks 'en'" in (reason := Error.from_event(await client.until("error")).text)
        assert NotHandled.from_event(await client.until("not-handled")).text == reason  # which is spoken
        assert await client.receive() is None


async def test_conversation_that_waits_leaves_its_place_to_others(tmp_path: Path) -> None:
    loader = real_engines(tmp_path, "", "server.max_sessions=1")
    async with wyoming_server(tmp_path, loader=loader) as server:
        for conversation in ("first", "second", "first"):
            assert await answer_of(server, "what is one plus one", conversation) == "That's 2."
        assert server.limits.current == 1
