"""The skills as a ChatModel, alone and in front of a model."""

import asyncio
import random
from collections.abc import AsyncGenerator, Sequence
from datetime import UTC, datetime

import pytest
from support.conversations.loaded_skills import written_skills
from support.texts.text_cases import text_cases

from assistant.skills.answers import REFUSED, Running, SetAlarm, SetTimer, SkillContext, timer_effects
from assistant.skills.chat import SkillsChat, SkillsFirst
from assistant.skills.languages.sentences import TemplateMatch
from assistant.skills.skills import Skills
from assistant.skills.timers.timers import Timers
from llm.chat import (
    PLAIN,
    AnsweringEndpoint,
    ChatEvent,
    ChatModel,
    ChatOptions,
    Finished,
    Function,
    Image,
    Message,
    Token,
)
from llm.errors import LlmUnreachable

NOW = datetime(2026, 11, 20, 22, 43, tzinfo=UTC)


@pytest.fixture(scope="module")
def skills() -> Skills:
    return written_skills()


class ScriptedModel:
    """A model that yields given events and records how it was called."""

    name = "script"
    detail = "a script"

    def __init__(self, *events: ChatEvent, error: Exception | None = None) -> None:
        self.events = events
        self.error = error
        self.requests: list[Sequence[Message]] = []
        self.loaded = self.closed = self.stream_closed = False

    async def load(self) -> None:
        self.loaded = True

    async def stream(self, messages: Sequence[Message], options: ChatOptions = PLAIN) -> AsyncGenerator[ChatEvent]:
        self.requests.append(messages)
        try:
            for event in self.events:
                yield event
            if self.error is not None:
                raise self.error
        finally:
            self.stream_closed = True

    async def aclose(self) -> None:
        self.closed = True


def user(*said: str) -> list[Message]:
    """Returns a conversation of alternating user and assistant messages."""
    return [Message("assistant" if at % 2 else "user", text) for at, text in enumerate(said)]


def events_of(model: ChatModel, messages: Sequence[Message]) -> list[ChatEvent]:
    async def collect() -> list[ChatEvent]:
        return [event async for event in model.stream(messages)]

    return asyncio.run(collect())


def text_of(events: list[ChatEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, Token)).strip()


def chat(skills: Skills) -> SkillsChat:
    return SkillsChat(skills, lambda: NOW)


def test_answer_is_streamed_at_once(skills: Skills) -> None:
    assert events_of(chat(skills), user("what time is it")) == [
        Token("It's 10:43 PM.\n\n"),
        Finished("stop"),
    ]


def test_last_user_message_is_answered(skills: Skills) -> None:
    assert text_of(events_of(chat(skills), user("what time is it", "Late.", "two plus two"))) == "That's 4."


def test_repeat_returns_the_last_assistant_message(skills: Skills) -> None:
    assert text_of(events_of(chat(skills), user("hello", "Hello there.", "say that again"))) == "Hello there."
    assert text_of(events_of(chat(skills), user("say that again"))) == "I haven't said anything yet."


def test_unknown_request_names_the_missing_model(skills: Skills) -> None:
    events = events_of(chat(skills), user("tell me a story"))
    assert text_of(events) == "I can't do that yet: no language model is connected."
    assert events[-1] == Finished(REFUSED)


def test_conversation_without_user_message_names_the_missing_model(skills: Skills) -> None:
    assert text_of(events_of(chat(skills), [Message("system", "what time is it")])) == "I didn't hear any words."


def test_load_builds_tables_once() -> None:
    skills = Skills()
    model = chat(skills)

    async def load_twice() -> None:
        await model.load()
        await model.load()
        await model.aclose()

    asyncio.run(load_twice())
    assert skills.match("what time is it") is not None
    assert (model.name, model.detail) == ("skills", "built-in skills, no language model")


def test_question_with_an_image_is_for_the_model(skills: Skills) -> None:
    script = ScriptedModel(Token("On the clock it is noon."), Finished("stop"))
    asked = [Message("user", "what time is it", images=(Image("image/png", "iVBO", 9, 9),))]
    first = SkillsFirst(skills, script, lambda: NOW)
    assert text_of(events_of(first, asked)) == "On the clock it is noon."
    assert script.requests == [asked]


def test_skill_answer_does_not_call_the_model(skills: Skills) -> None:
    script = ScriptedModel(Token("no"), Finished("stop"))
    first = SkillsFirst(skills, script, lambda: NOW)
    events = events_of(first, user("what is two plus two"))
    assert events[0] == AnsweringEndpoint("skills")
    assert text_of(events) == "That's 4."
    assert script.requests == []


def test_model_answers_other_requests(skills: Skills) -> None:
    script = ScriptedModel(Token("Once"), Token(" upon"), Finished("length"))
    first = SkillsFirst(skills, script, lambda: NOW)
    messages = user("tell me a story")
    assert events_of(first, messages) == [
        AnsweringEndpoint("script"),
        Token("Once"),
        Token(" upon"),
        Finished("length"),
    ]
    assert script.requests == [messages]


@text_cases(
    ("language", "missing", "own"),
    [
        ("en", "turn on the kitchen light", "snooze the alarm"),
        ("en", "what's the weather like today", "how much time is left"),
        ("en", "play some jazz", "louder"),
        ("de", "Mach das Licht an", "Snooze"),
        ("fr", "Quel temps fait-il demain ?", "Snooze"),
        ("es", "Cierra las persianas", "Pospón la alarma"),
    ],
    columns=(0, 1),
)
def test_missing_function_goes_to_the_model_or_is_refused(
    skills: Skills, language: str, missing: str, own: str
) -> None:
    skills.load(language)
    script = ScriptedModel(Token("Done."), Finished("stop"))
    first = SkillsFirst(skills, script, lambda: NOW, language)
    assert events_of(first, user(missing))[0] == AnsweringEndpoint("script")
    assert events_of(first, user(own))[0] == AnsweringEndpoint("skills")
    alone = SkillsChat(skills, lambda: NOW, language)
    refused = skills.answer(missing, SkillContext(NOW, language=language))
    assert refused is not None
    assert refused.missing
    events = events_of(alone, user(missing))
    assert text_of(events) == refused.text
    assert events[-1] == Finished(REFUSED)
    assert events_of(alone, user(own))[-1] == Finished("stop")


def test_missing_function_is_refused_in_front_of_a_model_without_tools(skills: Skills) -> None:
    model = ScriptedModel(Token("The lamp is on."), Finished("stop"))
    chat = SkillsFirst(skills, model, lambda: NOW, model_has_tools=False)
    asked = user("turn on the lamp")
    assert "The lamp is on." not in text_of(events_of(chat, asked))
    assert not model.requests
    assert text_of(events_of(chat, user("why is the sky blue"))) == "The lamp is on."

    async def with_function() -> list[ChatEvent]:
        options = ChatOptions(functions=(Function("lamp", "Switch it.", "{}"),))
        return [event async for event in chat.stream(asked, options)]

    assert text_of(asyncio.run(with_function())) == "The lamp is on."  # a client offers to do it


def test_turns_of_the_skills_are_computed_in_advance(skills: Skills) -> None:
    computed: list[Sequence[Message]] = []

    async def prefill(messages: Sequence[Message]) -> None:
        computed.append(messages)

    model = ScriptedModel(Token("Blue."), Finished("stop"))
    chat = SkillsFirst(skills, model, lambda: NOW, prefill=prefill)
    asyncio.run(chat.warm())
    assert model.loaded
    assert computed == []
    asked = user("two plus two")
    events_of(chat, asked)
    for _ in range(2):
        asyncio.run(chat.warm())
    assert computed == [(*asked, Message("assistant", "That's 4."))]


def test_answering_endpoint_is_reported_once(skills: Skills) -> None:
    script = ScriptedModel(AnsweringEndpoint("one of many"), Token("Yes."), Finished("stop"))
    first = SkillsFirst(skills, script, lambda: NOW)
    assert events_of(first, user("tell me a story")) == list(script.events)


def test_model_error_is_propagated(skills: Skills) -> None:
    error = LlmUnreachable("script", "nobody answers", spoken="I can't reach it.", retryable=True)
    first = SkillsFirst(skills, ScriptedModel(Token("One"), error=error), lambda: NOW)
    with pytest.raises(LlmUnreachable):
        events_of(first, user("tell me a story"))


def test_closing_the_stream_closes_the_model_stream(skills: Skills) -> None:
    script = ScriptedModel(Token("Once"), Token(" upon"), Finished("stop"))
    first = SkillsFirst(skills, script, lambda: NOW)

    async def close_early() -> None:
        stream = first.stream(user("tell me a story"))
        assert await anext(stream) == AnsweringEndpoint("script")
        assert await anext(stream) == Token("Once")
        await stream.aclose()

    asyncio.run(close_early())
    assert script.stream_closed


def test_load_and_close_are_forwarded_to_the_model(skills: Skills) -> None:
    script = ScriptedModel()
    first = SkillsFirst(skills, script, lambda: NOW)

    async def load_and_close() -> None:
        await first.load()
        await first.aclose()

    asyncio.run(load_and_close())
    assert script.loaded
    assert script.closed
    assert first.detail == "built-in skills, then script: a script"


def test_sentence_is_matched_once(skills: Skills, monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = Skills()
    fresh.load()
    found: list[str] = []
    sentences = fresh._tables["en"].sentences
    find = sentences.find

    def counted(text: str) -> TemplateMatch | None:
        found.append(text)
        return find(text)

    monkeypatch.setattr(sentences, "find", counted)
    first = SkillsFirst(fresh, ScriptedModel(Finished("stop")), lambda: NOW)
    for said in ("what is three plus four", "tell me a story"):
        first.effect_of(user(said))
        events_of(first, user(said))
    assert found == ["what is three plus four", "tell me a story"]


@pytest.mark.parametrize("in_front", [False, True], ids=["model first", "skills first"])
def test_effect_is_not_applied_by_streaming(skills: Skills, in_front: bool) -> None:
    timers = Timers()

    def running() -> Running:
        return timers.running(100.0)

    alone = SkillsChat(skills, lambda: NOW, running=running)
    model = SkillsFirst(skills, ScriptedModel(Finished("stop")), lambda: NOW, running=running) if in_front else alone
    messages = user("set a timer for ten minutes")
    for _ in range(3):  # three attempts in one turn
        assert text_of(events_of(model, messages)) == "Your 10 minute timer is set."
    assert timers.running(100.0) == Running()
    effect = model.effect_of(messages)
    assert timer_effects(effect) == (SetTimer(600.0, None, "Your 10 minute timer is done."),)
    timers.apply(effect, 100.0)
    assert text_of(events_of(model, user("how much time is left"))) == "10 minutes are left."
    assert timer_effects(model.effect_of(user("how much time is left"))) == ()
    assert timer_effects(model.effect_of(user("tell me a story"))) == ()
    assert timer_effects(model.effect_of([])) == ()


def test_effect_matches_the_spoken_answer(skills: Skills) -> None:
    moments = iter([NOW, NOW.replace(hour=23)])
    model = SkillsChat(skills, lambda: next(moments))
    messages = user("set an alarm for ten fifty")
    assert text_of(events_of(model, messages)) == "Your alarm is set for 10:50 PM."
    # asked eighteen minutes later, the effect would be for the next morning
    (effect,) = timer_effects(model.effect_of(messages))
    assert isinstance(effect, SetAlarm)
    assert effect.local_time == NOW.replace(minute=50, tzinfo=None)


def test_random_generator_can_be_passed_in(skills: Skills) -> None:
    model = SkillsChat(skills, lambda: NOW, rng=random.Random(1))
    assert text_of(events_of(model, user("roll two dice"))) == "2 and 5: 7."
