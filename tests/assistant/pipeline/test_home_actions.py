"""An action in the home happens once, when its turn is committed, and a conversation says what became of it."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from support.conversations.simulation import Simulation, Utterance

from assistant.events import Problem
from assistant.home import SERVERS_HOME, HomeFault, HomeState, ServiceCall
from assistant.pipeline.engines import ReplyOptions
from assistant.skills.answers import FAULT, HomeAction, SkillEffect
from assistant.skills.home.pending_action import CONFIRM_S
from assistant.turns.settings import TurnSettings
from llm.chat import Message

LIGHT_ON = (ServiceCall("light", "turn_on", ("light.kitchen",)),)
LIGHT_OFF = (ServiceCall("light", "turn_off", ("light.kitchen",)),)
LAMP_ON = (ServiceCall("light", "turn_on", ("light.lamp",)),)
UNREACHABLE = "I can't reach your home."
SAID = "Kitchen light on."


@dataclass
class StubHome:
    """A home that answers after a delay, and may fail."""

    after_s: float = 0.05
    fault: HomeFault | None = None
    state: HomeState | None = None
    kinds: frozenset[str] = frozenset()
    key: str = SERVERS_HOME
    calls: list[tuple[float, ServiceCall]] = field(default_factory=list)
    tasks: "list[asyncio.Task[HomeFault | None]]" = field(default_factory=list)

    def act(
        self, calls: Sequence[ServiceCall], after: "asyncio.Task[HomeFault | None] | None" = None
    ) -> "asyncio.Task[HomeFault | None]":
        self.tasks.append(asyncio.get_running_loop().create_task(self._act(calls, after)))
        return self.tasks[-1]

    async def _act(
        self, calls: Sequence[ServiceCall], after: "asyncio.Task[HomeFault | None] | None"
    ) -> HomeFault | None:
        if after is not None:
            await asyncio.wait({after})
        self.calls += [(asyncio.get_running_loop().time(), call) for call in calls]
        await asyncio.sleep(self.after_s)
        return self.fault

    def refresh_soon(self) -> None:
        pass

    async def aclose(self) -> None:
        pass


def action(calls: tuple[ServiceCall, ...], undo: tuple[ServiceCall, ...] = ()) -> HomeAction:
    faults = (("unreachable", UNREACHABLE), ("", "Your home refuses that."))
    return HomeAction(calls, undo, faults, f"Kitchen light: that did not work. {FAULT}")


def home_simulation(home: StubHome, *utterances: Utterance, turns: TurnSettings | None = None) -> Simulation:
    def effect_of(messages: Sequence[Message]) -> SkillEffect | None:
        words = messages[-1].content
        if words.startswith("turn on the light"):
            return action(LIGHT_ON, LIGHT_OFF) if "bedroom" not in words else action(LAMP_ON)
        return None

    said = utterances or (Utterance(1000, 1800, "turn on the light"),)
    simulation = Simulation(said, length_ms=9000, replies=(SAID,), turns=turns or TurnSettings())
    simulation.model.first_token_ms = simulation.model.token_ms = 0  # as skills answer: at once
    simulation.skill_effects.effect_of = effect_of
    simulation.skill_effects.home = home
    return simulation


def latency_ms(home: StubHome) -> float:
    (record,) = home_simulation(home).run().records
    assert record.response_latency_ms is not None
    return record.response_latency_ms


def test_quick_home_is_confirmed_before_the_answer() -> None:
    home = StubHome(after_s=0.05)
    result = home_simulation(home).run()
    (record,) = result.records
    assert [call for _, call in home.calls] == list(LIGHT_ON)
    assert (result.chunks, record.outcome) == ([SAID], "answered")
    (wait,) = [span for span in record.spans if span.name == "home"]
    assert wait.stage == "queue"
    assert wait.end_ms - wait.start_ms == pytest.approx(50, abs=20)


def test_home_costs_no_more_than_its_own_time() -> None:
    without = home_simulation(StubHome())
    without.skill_effects.home = None
    before_ms = without.run().records[0].response_latency_ms
    assert latency_ms(StubHome(after_s=0.0)) == before_ms
    assert latency_ms(StubHome(after_s=0.1)) == pytest.approx(before_ms + 100, abs=21)  # playback begins with a block
    assert latency_ms(StubHome(after_s=2.0)) == pytest.approx(before_ms + CONFIRM_S * 1000, abs=21)


def test_slow_home_is_confirmed_first_and_succeeds_silently() -> None:
    home = StubHome(after_s=2.0)
    result = home_simulation(home).run()
    assert [(result.chunks, record.outcome) for record in result.records] == [([SAID], "answered")]


def test_slow_failure_is_announced_afterwards() -> None:
    result = home_simulation(StubHome(after_s=2.0, fault="unreachable")).run()
    assert result.chunks == [SAID, "Kitchen light: that did not work.", UNREACHABLE]
    assert [record.no_latency_reason for record in result.records] == [None, "announcement"]


def test_quick_failure_replaces_the_answer_and_counts_as_failed() -> None:
    result = home_simulation(StubHome(fault="unreachable")).run()
    (record,) = result.records
    assert (result.chunks, record.outcome) == ([UNREACHABLE], "failed")
    assert result.history.items[-1].text == UNREACHABLE  # type: ignore[union-attr]
    (problem,) = [event.text for _, event in result.events if isinstance(event, Problem)]
    assert problem == "the home did not do what was asked (unreachable): run `repartee doctor`"


def test_other_fault_has_the_general_sentence() -> None:
    result = home_simulation(StubHome(fault="not_found")).run()
    assert result.chunks == ["Your home refuses that."]


def test_dropped_attempt_does_not_act() -> None:
    home = StubHome()
    utterances = [Utterance(1000, 1800, "turn on the light"), Utterance(2040, 2600, "in the bedroom")]
    home_simulation(home, *utterances, turns=TurnSettings(hangover_ms=400, speculate_after_ms=100)).run()
    assert [call for _, call in home.calls] == list(LAMP_ON)


def test_first_action_is_undone_if_the_user_goes_on_with_another() -> None:
    home = StubHome(after_s=0.4)
    utterances = [Utterance(1000, 1800, "turn on the light"), Utterance(2300, 2900, "in the bedroom")]
    result = home_simulation(home, *utterances).run()
    assert [call for _, call in home.calls] == [*LIGHT_ON, *LIGHT_OFF, *LAMP_ON]
    assert result.chunks == [SAID]


def test_same_request_after_a_retraction_is_not_done_again() -> None:
    home = StubHome(after_s=0.4)
    utterances = [Utterance(1000, 1800, "turn on the light"), Utterance(2300, 2900, "please")]
    result = home_simulation(home, *utterances).run()
    assert [call for _, call in home.calls] == list(LIGHT_ON)
    assert result.chunks == [SAID]


def test_without_a_home_nothing_is_done() -> None:
    home = StubHome()
    simulation = home_simulation(home)
    simulation.skill_effects.home = None
    assert simulation.run().chunks == [SAID]
    assert not home.calls


def test_quick_failure_replaces_a_reply_that_is_only_shown() -> None:
    simulation = home_simulation(StubHome(fault="unreachable"))
    simulation.at(0, lambda: setattr(simulation.session, "reply_options", ReplyOptions(spoken=False)))
    result = simulation.run()
    assert (result.chunks, result.records[0].outcome) == ([UNREACHABLE], "failed")
