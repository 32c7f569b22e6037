"""Tests of the assignment of events to turns, and of the wait between end of turn and commit."""

import pytest
from support.conversations.simulation import Simulation, Utterance
from support.conversations.trace_samples import TIME

from assistant.pipeline.recorder import Recorder
from assistant.pipeline.transcript_requests import RecognizerRequest
from assistant.trace.latency import Span
from assistant.turns.effects import CommitTurn
from assistant.turns.events import ReplyId
from assistant.turns.push_to_talk import PushToTalk
from assistant.turns.settings import EndsTurn, TurnSettings
from audio.stt import SegmentId
from audio.units import Samples
from llm.errors import LlmBroken

SPEECH_END_S = 10.0
HEARD_S = 10.6


def new_recorder() -> Recorder:
    return Recorder("c", "2026-01-01T00:00:00+00:00", b"", {}, [], False, 0.0, dict, lambda _: None, lambda _: None)


@pytest.mark.parametrize(
    ("first_ms", "again_ms", "endpoint_ms", "commit_ms", "wait_ms", "stt_ms"),
    [
        pytest.param((50, 60), (100, 110), 200, 200.1, 200.1, 0, id="transcript long before the end of turn"),
        pytest.param((50, 260), None, 200, 261, 50, 211, id="first transcript after the end of turn"),
        pytest.param((50, 60), (190, 250), 200, 251, 190, 61, id="second transcript, requested before the end of turn"),
        pytest.param((50, 60), (203, 250), 200, 251, 200, 51, id="second transcript, requested at the end of turn"),
    ],
)
def test_wait_for_transcript_after_end_of_turn_counts_as_stt(
    first_ms: tuple[float, float],
    again_ms: tuple[float, float] | None,
    endpoint_ms: float,
    commit_ms: float,
    wait_ms: float,
    stt_ms: float,
) -> None:
    """A delay by a busy event loop after the transcript does not count as the end-of-turn decision."""
    recorder = new_recorder()
    for attempt, asked_ms in enumerate([first_ms, again_ms], start=1):
        if asked_ms is not None:
            reply_id = ReplyId(1, attempt)
            began_s, ended_s = (SPEECH_END_S + ms / 1000 for ms in asked_ms)
            recorder.transcript_requested(RecognizerRequest(reply_id, SegmentId(1), Samples(0)), began_s, SPEECH_END_S)
            recorder.transcribed(reply_id, began_s, ended_s)
            if attempt == 2:
                recorder.drop(reply_id, ended_s, "same words")
    recorder.end_of_turn(1, SPEECH_END_S + endpoint_ms / 1000)
    recorder.commit(CommitTurn(ReplyId(1, 1), "", "", Samples(0)), SPEECH_END_S + commit_ms / 1000, SPEECH_END_S)
    trace = recorder.trace_of(ReplyId(1, 1))
    trace.span(1, Span("playout", "playout", SPEECH_END_S + commit_ms / 1000, HEARD_S, ("tts", "commit")))
    trace.playout_start_s = HEARD_S
    stages = trace.stages()
    assert stages["endpoint_wait"].ms == pytest.approx(wait_ms)
    assert stages["stt"].ms == pytest.approx(stt_ms)
    assert sum(share.ms for share in stages.values()) == pytest.approx(600)


def test_reply_error_is_not_recorded_on_the_overlapping_turn() -> None:
    utterances = [Utterance(1000, 1800, "what time is it"), Utterance(5900, 6900, "what is the date")]
    torn = LlmBroken("home", "home: torn", spoken="The connection broke.", retryable=True)
    reply = "It is ten o'clock. All is well in town, and in the country, and everywhere else."
    simulation = Simulation(utterances, length_ms=12000, replies=((reply, torn), "It is Monday."))
    simulation.model.token_ms = 100.0
    first, second = simulation.run().records
    (error_ms,) = [event.at_ms for event in first.events if event.name == "error"]
    assert first.error == "home: torn"
    assert second.speech_start_ms is not None
    assert error_ms > second.speech_start_ms, "it is told while the next turn is being spoken"
    assert [event.detail for event in second.events if event.name == "error"] == []
    assert second.error is None


@pytest.mark.parametrize("with_key", [False, True], ids=["without key", "push-to-talk"])
def test_only_frames_that_the_microphone_inserted_are_counted(with_key: bool) -> None:
    """Frames that the push-to-talk key mutes do not count, and neither does the silence after the microphone ended."""
    key, settings = (
        (PushToTalk(), TurnSettings(ends_turn=EndsTurn.PUSH_TO_TALK)) if with_key else (None, TurnSettings())
    )
    simulation = Simulation([TIME], length_ms=2000, turns=settings, push_to_talk=key)
    simulation.at(110, lambda: setattr(simulation.microphone, "muted", True))
    simulation.at(210, lambda: setattr(simulation.microphone, "muted", False))
    if with_key:
        simulation.at(500, lambda: simulation.session.set_push_to_talk(pressed=True))
        simulation.at(1900, lambda: simulation.session.set_push_to_talk(pressed=False))
    (record,) = simulation.run().records
    assert record.outcome == "answered"
    assert record.counters["inserted_frames"] == 5
