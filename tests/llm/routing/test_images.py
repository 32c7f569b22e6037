"""Requests with images: only endpoints that take images are asked, whatever the policy. On virtual time."""

from collections.abc import Sequence

import pytest
from support.clocks.virtual_time import run_virtual
from support.engines.routed_models import RoutedModel, ask, unreachable

from llm.chat import Image, Message, Size
from llm.routing.endpoint_selection import Endpoint, Policy, Routing
from llm.routing.hedging import HedgeBudget
from llm.routing.router import Router, prompt_tokens

PHOTO = (Message("user", "what is this", images=(Image("image/png", "iVBO", 640, 480),)),)


def model(name: str, first_token_s: float = 0.1) -> RoutedModel:
    """Returns a model that says its name, or fails if that is "broken"."""
    return RoutedModel(name, first_token_s, (name,), unreachable(name) if name == "broken" else None)


def router_of(*models: RoutedModel, policy: Policy = "ordered", sizes: Sequence[Size | None] = ()) -> Router:
    """Returns a router over "blind", which is first, and endpoints that see."""
    endpoints = [
        Endpoint(one.name, images=one.name != "blind", size=size)
        for one, size in zip(models, sizes or [None] * len(models), strict=True)
    ]
    budget = HedgeBudget(1.0)
    budget.ask(1_000_000)
    return Router(models, Routing(endpoints, policy, budget, lambda: 0.0), first_token_timeout_s=8.0)


@pytest.mark.parametrize("policy", ["ordered", "latency", "weighted"])
def test_only_an_endpoint_that_takes_images_is_asked(policy: Policy) -> None:
    blind, sees = model("blind"), model("sees", 3.0)

    async def main() -> None:
        router = router_of(blind, sees, policy=policy)
        for _ in range(60):
            assert (await ask(router, PHOTO)).text == "sees"

    run_virtual(main())
    assert blind.asked == []


def test_text_is_asked_as_before() -> None:
    assert run_virtual(ask(router_of(model("blind"), model("sees")))).text == "blind"


def test_another_endpoint_that_takes_images_replaces_one_that_failed() -> None:
    assert run_virtual(ask(router_of(model("blind"), model("broken"), model("sees")), PHOTO)).text == "sees"


def test_without_another_endpoint_for_images_the_question_fails() -> None:
    blind = model("blind")
    assert run_virtual(ask(router_of(blind, model("broken")), PHOTO)).error is not None
    assert blind.asked == []


def test_size_does_not_count_for_images() -> None:
    router = router_of(model("blind"), model("sees"), sizes=("small", "large"))
    assert run_virtual(ask(router, PHOTO)).text == "sees"


def test_image_has_its_share_of_the_hedge_budget() -> None:
    assert prompt_tokens(PHOTO) == 409 + prompt_tokens((Message("user", "what is this"),))
