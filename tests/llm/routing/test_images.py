"""Requests with images: only endpoints that take images are asked, whatever the policy. On virtual time."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field

import pytest
from support.clocks.virtual_time import run_virtual

from llm.chat import PLAIN, ChatEvent, ChatOptions, Finished, Image, Message, Size, Token
from llm.errors import LlmError, LlmUnreachable
from llm.routing.endpoint_selection import Endpoint, Policy, Routing
from llm.routing.hedging import HedgeBudget
from llm.routing.router import Router, prompt_tokens

TEXT = (Message("user", "what is the tallest mountain"),)
PHOTO = (Message("user", "what is this", images=(Image("image/png", "iVBO", 640, 480),)),)


@dataclass
class Answering:
    """Answers after a time, or fails."""

    name: str
    first_token_s: float = 0.1
    fails: bool = False
    asked: int = 0
    detail: str = ""

    async def load(self) -> None:
        pass

    async def aclose(self) -> None:
        pass

    async def stream(self, messages: Sequence[Message], options: ChatOptions = PLAIN) -> AsyncGenerator[ChatEvent]:
        self.asked += 1
        await asyncio.sleep(self.first_token_s)
        if self.fails:
            raise LlmUnreachable(self.name, "nobody there", spoken="Nobody there.", retryable=True)
        yield Token(self.name)
        yield Finished("stop")


@dataclass
class Scene:
    """A router over "blind", which is first, and endpoints that see."""

    models: Sequence[Answering]
    policy: Policy = "ordered"
    sizes: Sequence[Size | None] = ()
    router: Router = field(init=False)

    def __post_init__(self) -> None:
        sizes = self.sizes or [None] * len(self.models)
        endpoints = [
            Endpoint(model.name, images=model.name != "blind", size=size)
            for model, size in zip(self.models, sizes, strict=True)
        ]
        budget = HedgeBudget(1.0)
        budget.ask(1_000_000)
        routing = Routing(endpoints, self.policy, budget, lambda: 0.0)
        self.router = Router(self.models, routing, first_token_timeout_s=8.0)

    async def answer(self, messages: Sequence[Message]) -> str:
        return "".join([event.text async for event in self.router.stream(messages) if isinstance(event, Token)])


@pytest.mark.parametrize("policy", ["ordered", "latency", "weighted"])
def test_only_an_endpoint_that_takes_images_is_asked(policy: Policy) -> None:
    blind, sees = Answering("blind"), Answering("sees", 3.0)

    async def main() -> None:
        scene = Scene((blind, sees), policy)
        for _ in range(60):
            assert await scene.answer(PHOTO) == "sees"

    run_virtual(main())
    assert blind.asked == 0


def test_text_is_asked_as_before() -> None:
    async def main() -> None:
        assert await Scene((Answering("blind"), Answering("sees"))).answer(TEXT) == "blind"

    run_virtual(main())


def test_another_endpoint_that_takes_images_replaces_one_that_failed() -> None:
    async def main() -> None:
        scene = Scene((Answering("blind"), Answering("broken", fails=True), Answering("sees")))
        assert await scene.answer(PHOTO) == "sees"

    run_virtual(main())


def test_without_another_endpoint_for_images_the_question_fails() -> None:
    blind = Answering("blind")

    async def main() -> None:
        with pytest.raises(LlmError):
            await Scene((blind, Answering("broken", fails=True))).answer(PHOTO)

    run_virtual(main())
    assert blind.asked == 0


def test_size_does_not_count_for_images() -> None:
    async def main() -> None:
        scene = Scene((Answering("blind"), Answering("sees")), sizes=("small", "large"))
        assert await scene.answer(PHOTO) == "sees"

    run_virtual(main())


def test_image_has_its_share_of_the_hedge_budget() -> None:
    assert prompt_tokens(PHOTO) == 409 + prompt_tokens((Message("user", "what is this"),))
