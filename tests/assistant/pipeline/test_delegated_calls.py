"""Tool calls in the background, in virtual time: the conversation goes on, and results are told at the next opening."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import pytest
from support.conversations.simulation import Simulation, SimulationResult, Utterance
from support.engines.scripted_tools import ADD, WEATHER, CallingModel, Calls, ScriptedTools, calls, last_user

from assistant.events import ReplySent, ReplyStarted, UserTurnCommitted
from assistant.history.items import AssistantMessage
from assistant.pipeline.engines import SessionSettings
from assistant.tools import ToolSettings
from assistant.tools.cancel_phrases import cancels_in
from assistant.turns.settings import TurnSettings
from llm.chat import ChatOptions, Message

REPORT = replace(WEATHER, name="home_report", mode="background")
ASKS = Utterance(500, 1500, "write a report")
LIMITS = ToolSettings(moment="One moment.", cancels=cancels_in("en"), background_timeout_s=60)
STARTED = "started in the background"


def answers(messages: Sequence[Message], _options: ChatOptions) -> str | Calls:
    """Calls the tool, announces it, tells results, and answers other questions."""
    after = messages[last_user(messages) + 1 :]
    results = [one.content for one in after if one.role == "tool"]
    if any(one.startswith(STARTED) for one in results[-1:]):
        return "I will look into it."
    if results:
        return f"It says {results[-1].rpartition(': ')[2]}."
    if messages[-1].role == "user" and "report" in messages[-1].content:
        return calls("home_report")
    return "It is ten o'clock." if messages[-1].role == "user" else "Yes."


@dataclass
class Scene:
    """A conversation with a background tool."""

    takes_s: float = 5.0
    utterances: Sequence[Utterance] = (ASKS,)
    length_ms: int = 20_000
    limits: ToolSettings = LIMITS
    tools: ScriptedTools = field(default_factory=lambda: ScriptedTools(functions=(REPORT, WEATHER, ADD)))

    def __post_init__(self) -> None:
        self.tools.takes_s = self.takes_s
        self.model = CallingModel((), rule=answers)
        self.piece = Simulation(
            self.utterances,
            self.length_ms,
            settings=SessionSettings(tools=self.limits),
            turns=TurnSettings(hangover_ms=400, speculate_after_ms=100),
            tools=self.tools,
        )
        self.piece.model = self.model

    def run(self) -> SimulationResult:
        return self.piece.run()


def details(result: SimulationResult, name: str) -> list[str]:
    return [event.detail for record in result.records for event in record.events if event.name == name]


def test_conversation_goes_on_and_the_result_is_told_at_the_next_opening() -> None:
    scene = Scene()
    result = scene.run()
    assert result.chunks == ["I will look into it.", "It says sunny."]
    times = [ms for ms, event in result.events if isinstance(event, ReplyStarted)]
    assert times[1] - times[0] == pytest.approx(5000 + 500, abs=250), "half a second of quiet after the result"
    assert scene.tools.returned == 1
    assert result.records[0].response_latency_ms is not None
    assert result.records[0].response_latency_ms < 1500, "the answer does not wait for the tool"
    assert not result.problems


def test_prompt_grows_only_at_its_end_and_has_each_call_once() -> None:
    scene = Scene()
    result = scene.run()
    prompts = scene.model.wired
    assert all(later.startswith(earlier) for earlier, later in pairwise(prompts))
    messages = result.history.messages()
    assert [one.role for one in messages] == [
        "system", "user", "assistant", "tool", "assistant", "assistant", "tool", "assistant"
    ]  # fmt: skip
    ids = [call.call_id for one in messages for call in one.calls]
    assert len(set(ids)) == 2
    assert messages[6].content == "result of task 1: sunny"


def test_result_waits_while_the_user_speaks_and_is_in_the_answer_to_them() -> None:
    result = Scene(takes_s=5, utterances=(ASKS, Utterance(6000, 9000, "what time is it"))).run()
    assert result.chunks == ["I will look into it.", "It says sunny."], "one answer to both"
    turns = [event for event in result.events_of(UserTurnCommitted) if isinstance(event, UserTurnCommitted)]
    assert [turn.text for turn in turns] == ["write a report", "what time is it"]
    assert result.records[-1].response_latency_ms is not None


def test_user_is_answered_while_the_call_runs() -> None:
    result = Scene(takes_s=9, utterances=(ASKS, Utterance(4500, 5500, "what time is it"))).run()
    assert result.chunks == ["I will look into it.", "It is ten o'clock.", "It says sunny."]


def test_result_waits_until_a_playing_reply_has_ended() -> None:
    scene = Scene(takes_s=1.0)
    result = scene.run()
    sent = [ms for ms, event in result.events if isinstance(event, ReplySent)]
    started = [ms for ms, event in result.events if isinstance(event, ReplyStarted)]
    assert started[1] >= sent[0] + 500
    assert result.chunks == ["I will look into it.", "It says sunny."]


@pytest.mark.parametrize("words", ["never mind", "Please cancel that.", "Oh, forget about it, thanks"])
def test_user_cancels_the_call_by_words(words: str) -> None:
    scene = Scene(takes_s=15, utterances=(ASKS, Utterance(6000, 6800, words)))
    result = scene.run()
    assert scene.tools.cancelled == 1
    assert scene.tools.returned == 0
    assert result.chunks[-1] == "It says task 1 was cancelled by the user."
    (told,) = details(result, "delivered")
    assert "home_report: cancelled after" in told


def test_client_cancels_the_call_and_the_model_learns_it_with_the_next_turn() -> None:
    scene = Scene(takes_s=15, utterances=(ASKS, Utterance(9000, 9800, "what time is it")))
    scene.piece.at(6000, lambda: scene.piece.session.cancel_reply(including_request=True))
    result = scene.run()
    assert scene.tools.cancelled == 1
    assert result.chunks == ["I will look into it.", "It says task 1 was cancelled by the user."]


def test_cancelled_reply_leaves_the_call_running() -> None:
    scene = Scene(takes_s=5)
    scene.piece.at(2600, lambda: scene.piece.session.cancel_reply(including_request=True))
    result = scene.run()
    assert scene.tools.returned == 1
    assert result.chunks[-1] == "It says sunny."


def test_call_is_not_started_before_the_commit() -> None:
    """The user goes on before the turn is committed: the attempt is dropped, and nothing has started."""
    scene = Scene(utterances=(Utterance(500, 1500, "write a report"), Utterance(1800, 2600, "no what time is it")))
    scene.run()
    assert len(scene.tools.called) <= 1


def test_slow_call_ends_at_its_time_limit() -> None:
    result = Scene(takes_s=30, limits=replace(LIMITS, background_timeout_s=4)).run()
    assert result.chunks[-1] == "It says no answer within 4 s."
    assert "timed out after 4000 ms" in details(result, "delivered")[0]


def test_failed_call_is_told() -> None:
    tools = ScriptedTools(functions=(REPORT,), fails=True)
    result = Scene(takes_s=3, tools=tools).run()
    assert "failed after 3000 ms" in details(result, "delivered")[0]
    assert any(chunk.startswith("It says") for chunk in result.chunks)


def test_no_more_than_the_maximum_run_at_once() -> None:
    utterances = (ASKS, Utterance(5000, 6000, "write a report please"))
    scene = Scene(takes_s=12, utterances=utterances, limits=replace(LIMITS, max_background=1))
    scene.run()
    assert len(scene.tools.called) == 1
    told = [one.content for one in scene.model.asked[-1] if one.role == "tool"]
    assert "error: not started: 1 tasks are running; wait until one has ended" in told


def test_conversation_that_ends_cancels_the_call() -> None:
    scene = Scene(takes_s=60, length_ms=5000)
    result = scene.run()
    assert scene.tools.cancelled == 1
    assert not result.problems


def test_trace_shows_start_and_delivery() -> None:
    result = Scene().run()
    assert [detail.partition(": ")[2] for detail in details(result, "tool")] == [
        "home_report: delegated after 0 ms, 151 characters"
    ]
    assert details(result, "delivered")[0].partition(": ")[2] == "home_report: returned after 5000 ms, 23 characters"


def test_default_mode_is_the_setting_and_a_tool_may_say_otherwise() -> None:
    functions = (replace(REPORT, mode="wait"), replace(WEATHER, mode=""))
    limits = replace(LIMITS, mode="background")
    waiting = Scene(takes_s=1, tools=ScriptedTools(functions=functions), limits=limits)
    assert waiting.run().chunks == ["It says sunny."]
    background = Scene(takes_s=3, tools=ScriptedTools(functions=(replace(REPORT, mode=""),)), limits=limits)
    assert background.run().chunks == ["I will look into it.", "It says sunny."]


def test_ordinary_tools_are_unchanged() -> None:
    scene = Scene(takes_s=1, tools=ScriptedTools(functions=(replace(REPORT, mode=""), WEATHER)))
    result = scene.run()
    assert result.chunks == ["It says sunny."]
    answered = result.history.items[-1]
    assert isinstance(answered, AssistantMessage)
    assert [use.output for use in answered.tool_uses] == ["sunny"]
    assert details(result, "delivered") == []


@pytest.mark.parametrize(
    ("language", "text", "cancels"),
    [
        ("en", "Cancel that.", True),
        ("en", "never mind", True),
        ("en-US", "okay, never mind, thanks", True),
        ("en", "never mind the weather, what time is it", False),
        ("en", "cancel the meeting tomorrow", False),
        ("en", "", False),
        ("de", "Vergiss es, bitte!", True),
        ("de", "Ach, schon gut.", True),
        ("de", "vergiss nicht die Milch", False),
        ("fr", "Laisse tomber, s'il te plaît.", True),
        ("fr", "annule le rendez-vous", False),
        ("es", "Cancélalo, por favor", True),
        ("es", "No, déjalo.", True),
        ("es", "cancela la cita", False),
        ("pl", "never mind", False),
    ],
)
def test_only_whole_sentences_cancel(language: str, text: str, cancels: bool) -> None:
    assert cancels_in(language)(text) == cancels


def test_typed_words_cancel_the_call() -> None:
    scene = Scene(takes_s=15)
    scene.piece.at(6000, lambda: scene.piece.session.type("never mind"))
    result = scene.run()
    assert scene.tools.cancelled == 1
    assert result.chunks[-1] == "It says task 1 was cancelled by the user."


def test_no_skill_acts_on_words_that_cancel() -> None:
    """The words may also be a skill's, such as words that cancel a timer."""
    acted: list[str] = []
    scene = Scene(takes_s=15, utterances=(ASKS, Utterance(6000, 6800, "never mind")))
    scene.piece.skill_effects.effect_of = lambda messages: acted.append(messages[-1].content)
    scene.run()
    assert acted == ["write a report"]


def test_call_that_fails_for_an_unknown_reason_ends_and_is_told() -> None:
    class Broken(ScriptedTools):
        async def call(self, name: str, arguments: str) -> str:
            raise KeyError

    result = Scene(tools=Broken(functions=(REPORT, WEATHER, ADD))).run()
    assert result.chunks == ["I will look into it.", "It says internal error."]
    assert result.problems == ["internal error beside the conversation: KeyError"]
