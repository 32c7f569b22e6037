"""Transcription sessions: their settings, their events, and what they refuse."""

import json
from typing import Any

import pytest
from openai.types.realtime.realtime_transcription_session_create_response import (
    RealtimeTranscriptionSessionCreateResponse,
)
from support.protocol.wire_client import SERVICE, Event, check_shape, unknown_fields

from assistant.events import InterimWords, SessionEvent, SpeechDiscarded, SpeechStarted, UserTurnCommitted
from assistant.history.items import ItemId, UserMessage
from assistant.turns.settings import EndsTurn, TurnSettings
from web.session.client_settings import turn_settings
from web.wire.incoming.commands import UpdateSession
from web.wire.outgoing.input_events import StableTranscript
from web.wire.realtime import Realtime
from web.wire.values.session_config import Delay, SemanticVad, ServerVad, SessionConfig

USER = ItemId("item_1")
TRANSCRIPTION = SessionConfig(kind="transcription")


class Session:
    """Holds the server end of the protocol of a transcription session."""

    def __init__(self, config: SessionConfig = TRANSCRIPTION) -> None:
        self.wire = Realtime(config, SERVICE, session_id="s1")

    def send(self, **event: object) -> list[Event]:
        for command in self.wire.receive(json.dumps(event)):
            if isinstance(command, UpdateSession):
                self.wire.config = command.config
                self.wire.session_updated()
        return self.fetch()

    def tell(self, *events: SessionEvent) -> list[Event]:
        for event in events:
            self.wire.on_event(event)
        return self.fetch()

    def fetch(self) -> list[Event]:
        return [json.loads(text) for text in self.wire.to_send()]


def check_session(shown: Event) -> None:
    """Checks the session object against the SDK's type."""
    unknown = unknown_fields(RealtimeTranscriptionSessionCreateResponse.model_validate(shown))
    assert set(unknown) <= {"repartee", "eagerness"}  # the SDK knows semantic_vad only in requests


def test_session_object_is_that_of_a_transcription_session() -> None:
    session = Session()
    session.wire.begin()
    (created,) = session.fetch()
    check_session(created["session"])
    shown = {name: value for name, value in created["session"].items() if name != "repartee"}
    assert shown == {
        "type": "transcription",
        "object": "realtime.transcription_session",
        "id": "s1",
        "expires_at": None,
        "include": None,
        "audio": {
            "input": {
                "format": {"type": "audio/pcm", "rate": 24_000},
                "transcription": {"model": "faster-whisper", "language": "en", "prompt": None, "delay": "low"},
                "noise_reduction": None,
                "turn_detection": {"type": "semantic_vad", "eagerness": "auto"},
            }
        },
    }


def test_conversation_becomes_a_transcription_session_before_it_begins() -> None:
    session = Session(SessionConfig())
    detection = {"type": "server_vad", "threshold": 0.5, "silence_duration_ms": 350, "prefix_padding_ms": 600}
    audio = {"input": {"transcription": {"model": "gpt-4o-transcribe", "prompt": ""}, "turn_detection": detection}}
    (updated,) = session.send(type="session.update", session={"type": "transcription", "audio": audio})
    assert updated["type"] == "session.updated"
    check_session(updated["session"])
    assert updated["session"]["type"] == "transcription"
    assert session.wire.config.turn_detection == ServerVad(silence_duration_ms=350, prefix_padding_ms=600)


def test_type_of_a_session_is_fixed_once_it_has_begun() -> None:
    for config, other, what in (
        (SessionConfig(), "transcription", "a conversation that has begun"),
        (TRANSCRIPTION, "realtime", "a transcription session"),
    ):
        session = Session(config)
        session.send(type="input_audio_buffer.append", audio="")
        audio = {"input": {"format": {"type": "audio/pcmu"}}}
        error, updated = session.send(type="session.update", session={"type": other, "audio": audio})
        assert (error["error"]["code"], error["error"]["param"]) == ("invalid_value", "session.type")
        assert what in error["error"]["message"]
        assert updated["session"]["type"] == config.kind
        assert updated["session"]["audio"]["input"]["format"] == {"type": "audio/pcmu"}


@pytest.mark.parametrize("field", ["instructions", "tools", "output_modalities", "truncation", "prompt", "tracing"])
def test_fields_of_responses_are_refused(field: str) -> None:
    error, _ = Session().send(type="session.update", session={"type": "transcription", field: "x"})
    assert (error["error"]["code"], error["error"]["param"]) == ("unknown_parameter", f"session.{field}")


@pytest.mark.parametrize(
    "detection",
    [
        {"type": "server_vad", "idle_timeout_ms": 6000},
        {"type": "server_vad", "create_response": True},
        {"type": "semantic_vad", "interrupt_response": True},
    ],
    ids=["idle timeout", "create response", "interrupt response"],
)
def test_turn_detection_without_responses_is_shown_as_it_is(detection: dict[str, object]) -> None:
    (updated,) = Session().send(type="session.update", session={"audio": {"input": {"turn_detection": detection}}})
    shown = updated["session"]["audio"]["input"]["turn_detection"]
    assert not (shown.keys() & {"idle_timeout_ms", "create_response", "interrupt_response"})


@pytest.mark.parametrize(
    "event",
    [
        {"type": "response.create"},
        {"type": "conversation.item.create", "item": {"type": "message", "role": "user", "content": []}},
        {"type": "conversation.item.truncate", "item_id": "x", "content_index": 0, "audio_end_ms": 0},
    ],
    ids=lambda event: event["type"],
)
def test_client_events_about_replies_are_refused(event: dict[str, Any]) -> None:
    (error,) = Session().send(**event, event_id="mine")
    assert (error["error"]["code"], error["error"]["event_id"]) == ("not_supported", "mine")
    assert "transcription session" in error["error"]["message"]


def test_stable_words_are_sent_while_the_user_speaks() -> None:
    session = Session()
    text = "what time is it in Rome"
    item = UserMessage(USER, text, spoken=True)
    session.tell(SpeechStarted(1, 100.0, USER))
    deltas = [
        event["delta"]
        for interim in ("what", "what time", "what time is", "what time is", "what time isn't it now")
        for event in session.tell(InterimWords(interim, low_confidence=False))
    ]
    assert deltas == ["what", " time"]
    events = session.tell(UserTurnCommitted(1, text, False, item, 1900.0, "spoken", answered=False))
    for event in events:
        check_shape(event)
    assert [event["type"] for event in events] == [
        "input_audio_buffer.speech_stopped",
        "input_audio_buffer.committed",
        "conversation.item.added",
        "conversation.item.done",
        "conversation.item.input_audio_transcription.delta",
        "conversation.item.input_audio_transcription.completed",
    ]
    assert events[-2]["delta"] == " is it in Rome"
    assert events[-1]["transcript"] == text
    assert {event["item_id"] for event in events if "item_id" in event} == {USER}


def test_speech_that_comes_to_nothing_is_completed_if_words_of_it_were_sent() -> None:
    session = Session()
    for sent in (True, False):
        session.tell(SpeechStarted(1, 100.0, USER))
        session.tell(*[InterimWords("thank you very", low_confidence=False)] * (2 * sent))
        events = session.tell(SpeechDiscarded(1, 900.0, "no words"))
        completed = [event["transcript"] for event in events if event["type"].endswith(".completed")]
        assert completed == ([""] if sent else [])


def test_conversation_gets_its_transcript_in_one_delta() -> None:
    session = Session(SessionConfig())
    session.tell(SpeechStarted(1, 100.0, USER))
    assert session.tell(*[InterimWords("what time is it", low_confidence=False)] * 3) == []


@pytest.mark.parametrize(("delay", "first"), [("minimal", 1), ("low", 2), ("medium", 3), ("high", 4), ("xhigh", None)])
def test_delay_is_the_number_of_interims_that_agree(delay: Delay, first: int | None) -> None:
    transcript = StableTranscript(delay)
    sent = [transcript.add_interim("one two three") for _ in range(5)]
    assert sent == ["one two" if number == first else "" for number in range(1, 6)]
    assert transcript.finish("one two three") == ("one two three" if first is None else " three")


def test_words_that_change_after_they_were_sent_are_not_sent_twice() -> None:
    transcript = StableTranscript("minimal")
    assert transcript.add_interim("I scream for") == "I scream"
    assert transcript.add_interim("ice cream for you") == " for"
    assert transcript.finish("Ice cream for you.") == " you."
    assert StableTranscript("minimal").finish("Nothing before.") == "Nothing before."


def test_turn_taking_never_replies() -> None:
    for detection in (SemanticVad(), ServerVad(idle_timeout_ms=5000)):
        settings = turn_settings(TurnSettings(), "auto", SessionConfig(kind="transcription", turn_detection=detection))
        assert not settings.answers
    manual = SessionConfig(kind="transcription", turn_detection=None)
    assert turn_settings(TurnSettings(), "auto", manual).ends_turn is EndsTurn.CLIENT
