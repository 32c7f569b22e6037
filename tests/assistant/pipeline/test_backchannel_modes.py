"""A backchannel is a normal turn if a client or the key ends turns."""

from support.conversations.simulation import Simulation, Utterance

from assistant.history.items import AssistantMessage
from assistant.turns.push_to_talk import PushToTalk
from assistant.turns.settings import EndsTurn, TurnSettings

STORY = "It is ten o'clock. And this goes on for quite a while longer."
TIME = Utterance(1000, 1800, "what time is it")
YEAH = Utterance(3400, 3900, "Yeah.")


def replies_of(simulation: Simulation) -> list[str]:
    result = simulation.run()
    return [item.text for item in result.history.items if isinstance(item, AssistantMessage)]


def test_backchannel_that_a_client_commits_is_answered() -> None:
    turns = TurnSettings(speculate_after_ms=60.0, has_client=True, ends_turn=EndsTurn.CLIENT)
    simulation = Simulation([TIME, YEAH], length_ms=12_000, replies=(STORY, "Fine."), turns=turns)

    def commit_and_ask() -> None:
        simulation.session.end_user_turn()
        simulation.session.request_reply()

    for committed_ms in (2000, 4000):
        simulation.at(committed_ms, commit_and_ask)
    assert replies_of(simulation)[-1] == "Fine."
    assert len(simulation.model.asked) == 2


def test_backchannel_said_with_the_key_held_is_answered() -> None:
    turns = TurnSettings(speculate_after_ms=60.0, ends_turn=EndsTurn.PUSH_TO_TALK)
    simulation = Simulation(
        [TIME, YEAH], length_ms=12_000, replies=(STORY, "Fine."), turns=turns, push_to_talk=PushToTalk()
    )
    for ms, pressed in ((900, True), (1900, False), (3300, True), (4000, False)):
        simulation.at(ms, lambda pressed=pressed: simulation.session.set_push_to_talk(pressed))  # type: ignore[misc]
    assert replies_of(simulation)[-1] == "Fine."
    assert len(simulation.model.asked) == 2
