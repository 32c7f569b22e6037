"""Tests of replies whose endpoint or loudspeaker fails, in virtual time."""

import math

import numpy as np
import pytest
from support.conversations import simulation
from support.conversations.simulation import NOON, ScriptedModel, Simulation, SimulationResult, Utterance
from support.texts.text_cases import text_cases

from assistant.events import ChunkSpoken, ReplyStopped
from assistant.history.items import AssistantMessage, UserMessage
from assistant.pipeline.engines import ReplyOptions
from assistant.pipeline.reply_production import ANSWER_BROKE_OFF, NO_LOUDSPEAKER
from assistant.skills.answers import ChangeVolume
from assistant.skills.effects import SkillEffects
from assistant.support.notice import notice
from assistant.text.chunker import Chunker, TextChunk
from assistant.trace.record import TurnRecord
from assistant.turns.events import ReplyId
from audio.speaker import OnPlayed, WavSpeaker
from audio.tones import failure_tone
from llm.chat import REPETITION
from llm.errors import LlmBroken, LlmUnreachable
from llm.routing.endpoint_selection import Endpoint, Routing
from llm.routing.hedging import HedgeBudget
from llm.routing.router import Router
from llm.text_pieces import PIECE_CHARS

TIME = Utterance(1000, 1600, "what time is it")
BROKEN = LlmBroken("home", "home: torn", spoken="The connection broke.", retryable=True)
LOOP = "It is ten o'clock. It is ten o'clock. It is ten"
APOLOGY = f"{ANSWER_BROKE_OFF} The connection broke."


def units(text: str) -> list[str]:
    """Returns the chunks heard of a broken answer, and of its repetition."""
    simulation = Simulation([TIME], length_ms=30_000, replies=((text, BROKEN),))
    simulation.at(20_000, lambda: simulation.session.repeat())  # noqa: PLW0108 - there is no session yet
    result = simulation.run()
    assert result.records[0].error == "home: torn"
    first, again = (item.text for item in result.history.items if isinstance(item, AssistantMessage))
    assert again == first
    return [event.text for _, event in result.events if isinstance(event, ChunkSpoken) and event.reply_id.turn == 1]


def test_broken_answer_ends_with_its_last_whole_sentence() -> None:
    assert units("It is ten o'clock.") == ["It is ten o'clock.", APOLOGY]


@text_cases("torn", ["And then the", "It costs 3.", "We"])
def test_broken_answer_does_not_end_with_half_a_sentence(torn: str) -> None:
    assert units(f"It is ten o'clock. {torn}") == ["It is ten o'clock.", APOLOGY]


def test_queued_whole_sentences_of_a_broken_answer_are_spoken() -> None:
    assert units('It is ten. She said: "Never mind! I know."') == [
        "It is ten.",
        'She said: "Never mind! I know."',
        APOLOGY,
    ]


def test_broken_long_sentence_is_not_continued() -> None:
    first, begun, apology = units("It is ten o'clock. " + "and then the bell rings and " * 40)
    assert (first, begun[-4:], apology) == ("It is ten o'clock.", "bell", APOLOGY)


def test_chunk_in_synthesis_of_a_broken_answer_is_kept() -> None:
    said = units("The museum in the old town opens at nine in the morning, and then the")
    assert said == ["The museum in the old town opens at nine in the morning,", APOLOGY]


def router_of(*models: ScriptedModel, share: float = 1.0) -> Router:
    budget = HedgeBudget(share)
    budget.ask(10_000)
    routing = Routing([Endpoint(model.name) for model in models], "ordered", budget, lambda: 0.5)
    return Router(models, routing, first_token_timeout_s=8.0)


def answered_by(router: Router) -> Simulation:
    simulation = Simulation([TIME])
    simulation.model = router  # type: ignore[assignment]
    return simulation


def test_hedged_request_is_traced_and_stages_add_up() -> None:
    router = router_of(ScriptedModel((None,), name="near"), ScriptedModel(("It is ten.",), name="far"))
    (record,) = answered_by(router).run().records
    assert record.engines["answered_by"] == "far"
    tried = [event.detail for event in record.events if event.name == "tried"]
    assert any("near: first, overtaken after 500 ms" in detail and "tokens in vain" in detail for detail in tried)
    assert any("far: hedge, answered after 100 ms" in detail for detail in tried)
    (lost,) = [span for span in record.spans if span.name.startswith("asked near") and not span.dropped]
    assert lost.end_ms - lost.start_ms == pytest.approx(500, abs=1)
    # Waiting for the slower endpoint does not count as time of the one that answered.
    assert record.stages["queue"].ms + record.stages["endpoint_wait"].ms > 300
    assert record.stages["llm_network"].ms == pytest.approx(10, abs=1)
    assert record.stages["llm_first_token"].ms == pytest.approx(90, abs=1)


def test_failover_is_traced_and_loses_no_turn() -> None:
    down = LlmUnreachable("near", "near: refused", spoken="No.", retryable=True)
    router = router_of(ScriptedModel((down,), name="near"), ScriptedModel(("It is ten.",), name="far"))
    result = answered_by(router).run()
    (record,) = result.records
    assert result.chunks == ["It is ten."]
    assert record.error is None
    assert [event.detail.split(": ", 1)[1][:12] for event in record.events if event.name == "tried"]


def test_error_after_the_first_words_starts_no_failover() -> None:
    far = ScriptedModel(("It is eleven.",), name="far")
    router = router_of(ScriptedModel((("It is ten o'clock. And then the", BROKEN),), name="near"), far)
    result = answered_by(router).run()
    assert result.chunks == ["It is ten o'clock.", APOLOGY]
    assert far.asked == []


def test_single_model_has_a_complete_latency_breakdown() -> None:
    simulation = Simulation([TIME])
    (record,) = simulation.run().records
    assert record.stages["llm_first_token"].ms + record.stages["llm_network"].ms <= 100.1
    assert not [event for event in record.events if event.name == "tried"]


def test_voice_is_told_how_much_sound_is_ahead() -> None:
    simulation = Simulation([TIME], replies=("It is ten o'clock. And it is sunny today.",))
    simulation.run()
    first_s, second_s = simulation.voice.aheads_s
    assert first_s == 0
    assert 0 < second_s <= 2.0


# ---- the loudspeaker is gone ----


class UnpluggedSpeaker(WavSpeaker):
    """A speaker without a device for some samples of every reply."""

    gone: tuple[int, int] = (0, 0)

    @property
    def on_played(self) -> OnPlayed:
        return self._told

    @on_played.setter
    def on_played(self, told: OnPlayed) -> None:
        since, until = self.gone
        self._told: OnPlayed = lambda key, total, leaves_at_s, finished: told(
            key, total, math.inf if since < total <= until else leaves_at_s, finished
        )


def without_loudspeaker(since: int, until: int, monkeypatch: pytest.MonkeyPatch) -> tuple[SimulationResult, Simulation]:
    monkeypatch.setattr(UnpluggedSpeaker, "gone", (since, until))
    monkeypatch.setattr(simulation, "WavSpeaker", UnpluggedSpeaker)
    scene = Simulation([TIME])
    return scene.run(), scene


def heard_after(gone_samples: int, monkeypatch: pytest.MonkeyPatch) -> TurnRecord:
    (record,) = without_loudspeaker(0, gone_samples, monkeypatch)[0].records
    return record


def answered(result: SimulationResult) -> AssistantMessage:
    (item,) = [item for item in result.history.items if isinstance(item, AssistantMessage)]
    return item


@pytest.mark.parametrize(
    ("since", "heard", "cut_ms"),
    [(0, "", 0.0), (9_600, "It is", 400.0), (12_000, "It is", 500.0)],
    ids=["nothing heard", "400 ms heard", "500 ms heard"],
)
def test_unheard_words_do_not_enter_the_history(
    since: int, heard: str, cut_ms: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    result, _ = without_loudspeaker(since, 1_000_000, monkeypatch)
    (record,) = result.records
    item = answered(result)
    assert (item.text, item.complete) == (heard, False)
    assert result.events_of(ReplyStopped) == [ReplyStopped(ReplyId(1, 1), heard, cut_ms, "unheard")]
    assert record.words is not None
    assert record.words.assistant == heard
    assert record.outcome == ("answered" if heard else "failed")
    assert [event.name for event in record.events].count("unheard") == 1
    assert (notice("partly_heard", seconds=f"{1.2 - since / 24_000:.1f}") in result.problems) == bool(heard)
    assert (record.response_latency_ms is None) == (not heard)


def test_unheard_gap_is_marked_in_the_history(monkeypatch: pytest.MonkeyPatch) -> None:
    result, _ = without_loudspeaker(4_800, 9_600, monkeypatch)
    assert (answered(result).text, answered(result).complete) == ("It … ten o'clock. Anything else?", False)
    assert result.events_of(ReplyStopped) == []
    assert result.problems == [notice("partly_heard", seconds=0.2)]


def test_speech_without_loudspeaker_interrupts_and_keeps_effects(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The unheard reply does not enter the history, but its effects stay."""
    monkeypatch.setattr(UnpluggedSpeaker, "gone", (0, 1_000_000))
    monkeypatch.setattr(simulation, "WavSpeaker", UnpluggedSpeaker)
    scene = Simulation(
        [TIME, Utterance(2600, 3400, "hello")], replies=("It is louder. Anything else to be done?", "Yes.")
    )
    scene.skill_effects = SkillEffects(lambda messages: ChangeVolume(6.0) if len(messages) == 2 else None, lambda: NOON)
    result = scene.run()
    said = [item.text for item in result.history.items if isinstance(item, UserMessage | AssistantMessage)]
    assert said == ["what time is it", "", "hello", ""]
    assert result.records[0].outcome == "interrupted"
    assert scene.skill_effects.gain_db == 6.0


def test_reply_without_loudspeaker_is_not_audible(monkeypatch: pytest.MonkeyPatch) -> None:
    record = heard_after(1_000_000, monkeypatch)
    assert (record.outcome, record.error) == ("failed", NO_LOUDSPEAKER)
    assert (record.playout_start_ms, record.response_latency_ms) == (None, None)
    assert record.no_latency_reason == "no loudspeaker"
    assert [event.name for event in record.events].count("unheard") == 1


def test_latency_ends_when_the_loudspeaker_returns(monkeypatch: pytest.MonkeyPatch) -> None:
    at_once, later = heard_after(0, monkeypatch), heard_after(4800, monkeypatch)
    assert later.outcome == "answered"
    assert at_once.response_latency_ms is not None
    assert later.response_latency_ms is not None
    onset_ms = at_once.response_latency_ms
    assert later.response_latency_ms == pytest.approx(onset_ms + 200, abs=15)
    assert sum(share.ms for share in later.stages.values()) == pytest.approx(later.response_latency_ms, abs=0.01)
    assert "unheard" in {event.name for event in later.events}
    assert "unheard" not in {event.name for event in at_once.events}


def test_answer_stopped_for_repetition_ends_with_a_sentence() -> None:
    simulation = Simulation([TIME])
    simulation.model = ScriptedModel((LOOP,), finish_reason=REPETITION)
    result = simulation.run()
    (record,) = result.records
    assert result.chunks == ["It is ten o'clock.", "It is ten o'clock."]
    assert (record.answers[-1].reason, record.outcome) == ("repetition", "answered")
    assert [problem for problem in result.problems if "repeated itself" in problem]


def test_call_that_could_not_be_read_is_told_beside_the_answer(caplog: pytest.LogCaptureFixture) -> None:
    simulation = Simulation([TIME])
    simulation.model = ScriptedModel(("I'll look.",), unread_calls=1)
    result = simulation.run()
    (record,) = result.records
    assert result.chunks == ["I'll look."]
    assert [problem for problem in result.problems if "could not be read; nothing was done" in problem]
    assert "could not be read; nothing was done" in caplog.text
    assert [one.detail for one in record.events if one.name == "model_finished"] == [
        "attempt 1: stop; calls that could not be read: 1"
    ]


def test_apology_after_text_that_is_not_spoken_is_a_new_paragraph() -> None:
    simulation = Simulation([TIME], replies=(("nine ten", BROKEN),))
    simulation.at(0, lambda: setattr(simulation.session, "reply_options", ReplyOptions(spoken=False)))
    shown = "".join(event.text for _, event in simulation.run().events if isinstance(event, ChunkSpoken))
    assert shown == f"nine ten\n\n{APOLOGY}"


def test_voice_that_fails_is_heard_as_a_tone_and_its_text_is_shown() -> None:
    simulation = Simulation([TIME])
    simulation.voice.fails = True
    result = simulation.run()
    (record,) = result.records
    heard = np.concatenate([pcm for _, pcm in result.sound])
    assert np.array_equal(heard[heard != 0], failure_tone()[failure_tone() != 0])
    assert (record.outcome, record.response_latency_ms) == ("failed", None)
    assert any(problem.startswith("not spoken: It is ten") for problem in result.problems)


def test_long_text_in_one_token_is_chunked_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    fed: list[int] = []
    feed = Chunker.feed

    def counted(chunker: Chunker, token: str) -> tuple[TextChunk, ...]:
        fed.append(len(token))
        return feed(chunker, token)

    monkeypatch.setattr(Chunker, "feed", counted)
    text = "It is ten o'clock. " * 40
    simulation = Simulation([TIME], length_ms=30_000, replies=(text,))
    simulation.at(20_000, lambda: simulation.session.repeat())  # noqa: PLW0108 - there is no session yet
    simulation.run()
    assert sum(fed) >= 2 * len(text.strip())
    assert max(fed) == PIECE_CHARS
