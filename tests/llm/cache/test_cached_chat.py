"""The chat model with a cache: answers that it stores and gives."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field, replace

from support.clocks.virtual_time import run_virtual
from support.engines.cache_parts import MemoryStore, inline_cache
from support.texts.text_cases import named_cases

from llm.cache.cached_chat import CachedChat
from llm.chat import (
    PLAIN,
    AnsweringEndpoint,
    CacheLookup,
    ChatEvent,
    ChatOptions,
    FallbackAnswers,
    Finished,
    Function,
    FunctionCall,
    Image,
    Message,
    Token,
)
from llm.errors import LlmBroken

SYSTEM = Message("system", "Be brief.")
FRANCE = "What is the capital of France?"
ANSWERED = (AnsweringEndpoint("near"), Token("Paris"), Token("."), Finished("stop", 10, 2))
LAMP = Function("lamp", "Turns the lamp on.", "{}")


def asking(text: str, *earlier: Message) -> tuple[Message, ...]:
    return (SYSTEM, *earlier, Message("user", text))


@dataclass(slots=True)
class EventModel:
    """Yields the same events for each request; raises an error at the end if there is one."""

    events: Sequence[ChatEvent] = ANSWERED
    error: Exception | None = None
    name: str = "router"
    detail: str = "two endpoints"
    asked: list[Sequence[Message]] = field(default_factory=list)

    async def load(self) -> None:
        pass

    async def aclose(self) -> None:
        pass

    async def stream(self, messages: Sequence[Message], options: ChatOptions = PLAIN) -> AsyncGenerator[ChatEvent]:
        self.asked.append(messages)
        for event in self.events:
            yield event
        if self.error is not None:
            raise self.error


class Scene:
    """A cache, its store and a model, and ways to ask."""

    def __init__(self, *events: ChatEvent, error: Exception | None = None) -> None:
        self.store = MemoryStore()
        self.cache = inline_cache(self.store)
        self.model = EventModel(events or ANSWERED, error)
        self.chat = self.conversation()

    def conversation(self, answered_by: str = "near m") -> CachedChat:
        return CachedChat(self.model, self.cache, answered_by)

    def ask(
        self,
        messages: Sequence[Message],
        *,
        options: ChatOptions = PLAIN,
        heard: bool = True,
        chat: CachedChat | None = None,
    ) -> list[ChatEvent]:
        chat = chat or self.chat
        events: list[ChatEvent] = []

        async def scene() -> None:
            try:
                events.extend([event async for event in chat.stream(messages, options)])
            except LlmBroken:
                heard_now = False
            else:
                heard_now = heard
            if heard_now:
                chat.heard(messages)

        run_virtual(scene())
        return events

    def outcome(self, messages: Sequence[Message], **more: object) -> str:
        lookup = self.ask(messages, **more)[0]  # type: ignore[arg-type]
        assert isinstance(lookup, CacheLookup)
        return lookup.outcome


def test_second_request_is_answered_from_the_cache() -> None:
    scene = Scene()
    assert scene.ask(asking(FRANCE)) == [CacheLookup("miss"), *ANSWERED]
    other = scene.conversation()
    assert scene.ask(asking("Um, what's the capital of France?"), chat=other) == [
        CacheLookup("exact"),
        AnsweringEndpoint("cache"),
        Token("Paris."),
        Finished("stop"),
    ]
    assert len(scene.model.asked) == 1
    (entry,) = scene.store.kept
    assert (entry.request, entry.answer, entry.by, entry.hits) == (FRANCE, "Paris.", "near", 1)


def test_answer_that_was_not_heard_is_not_stored() -> None:
    scene = Scene()
    scene.ask(asking(FRANCE), heard=False)
    assert scene.store.kept == []
    assert scene.outcome(asking(FRANCE)) == "miss"


def test_use_counts_only_if_it_was_heard() -> None:
    scene = Scene()
    scene.ask(asking(FRANCE))
    scene.ask(asking(FRANCE), heard=False)
    assert scene.store.kept[0].hits == 0


@named_cases(
    "events",
    {
        "cut": (Token("Paris"), Finished("length")),
        "call": (Token("Let me see."), FunctionCall("1", "lamp", "{}"), Finished("tool_calls")),
        "fallback": (FallbackAnswers("here"), *ANSWERED),
        "asks back": (Token("Which France do you mean?"), Finished("stop")),
        "time": (Token("Currently it is Paris."), Finished("stop")),
        "empty": (Finished("stop"),),
        "no end": (Token("Paris."),),
    },
)
def test_answer_is_not_stored(events: tuple[ChatEvent, ...]) -> None:
    scene = Scene(*events)
    scene.ask(asking(FRANCE))
    assert scene.store.kept == []


def test_failed_answer_is_not_stored() -> None:
    scene = Scene(Token("Paris is"), error=LlmBroken("near", "broke off", spoken="", retryable=True))
    scene.ask(asking(FRANCE))
    assert scene.store.kept == []


@named_cases(
    ("changed", "options", "answered_by"),
    {
        "instructions": ((replace(SYSTEM, content="Answer like a pirate."), Message("user", FRANCE)), PLAIN, "near m"),
        "greeting": (asking(FRANCE, Message("assistant", "I am a pirate.")), PLAIN, "near m"),
        "tools": (asking(FRANCE), ChatOptions(functions=(LAMP,)), "near m"),
        "length": (asking(FRANCE), ChatOptions(max_tokens=10), "near m"),
        "model": (asking(FRANCE), PLAIN, "near another-model"),
    },
)
def test_answer_is_valid_only_for_the_same_instructions_tools_and_model(
    changed: tuple[Message, ...], options: ChatOptions, answered_by: str
) -> None:
    scene = Scene()
    scene.ask(asking(FRANCE))
    assert scene.outcome(changed, options=options, chat=scene.conversation(answered_by)) == "miss"
    assert scene.outcome(asking(FRANCE), chat=scene.conversation()) == "exact"


@named_cases(
    ("messages", "options"),
    {
        "time": (asking("What's the weather?"), PLAIN),
        "refers back": (asking("And in Spain?", Message("user", FRANCE), Message("assistant", "Paris.")), PLAIN),
        "statement": (asking(FRANCE, Message("user", "I am a child."), Message("assistant", "Hello.")), PLAIN),
        "greeting": (asking(FRANCE), ChatOptions(functions=(LAMP,), choice="required")),
        "unanswered request": (
            asking("What is the population?", Message("assistant", "Let us talk about Italy.")),
            PLAIN,
        ),
        "required tool": (asking(FRANCE, Message("user", "What is the capital of Spain?")), PLAIN),
        "tool before": (asking(FRANCE, Message("tool", "on", call_id="1")), PLAIN),
        "result of a tool": ((SYSTEM, Message("user", FRANCE), Message("tool", "on", call_id="1")), PLAIN),
        "image": ((SYSTEM, Message("user", FRANCE, images=(Image("image/png", "iVBO", 9, 9),))), PLAIN),
        "several speakers": ((SYSTEM, Message("user", FRANCE, speaker="S2")), PLAIN),
        "nothing": ((), PLAIN),
    },
)
def test_request_is_not_looked_up(messages: tuple[Message, ...], options: ChatOptions) -> None:
    scene = Scene()
    assert scene.outcome(messages, options=options) == "excluded"
    assert scene.store.kept == []
    assert len(scene.model.asked) == 1


def test_failure_of_the_store_asks_the_model() -> None:
    scene = Scene()
    scene.ask(asking(FRANCE))
    scene.store.fails = True
    events = scene.ask(asking(FRANCE))
    assert isinstance(events[0], CacheLookup)
    assert events[0].outcome == "failed"
    assert events[1:] == list(ANSWERED)
