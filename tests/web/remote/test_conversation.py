"""The client's conversion of server events, tested with the server's own protocol code."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.conversations.simulation import ScriptedMicrophone, Simulation, Utterance
from support.protocol.wire_client import SERVICE

from assistant.commands.talk import panels
from assistant.commands.talk.view import View
from assistant.events import (
    ChunkSpoken,
    InterimWords,
    MarkupWritten,
    Problem,
    ReplySent,
    ReplyStarted,
    ReplyStopped,
    SpeechDiscarded,
    SpeechStarted,
    TurnFinished,
    UserTurnCommitted,
    WordsTimed,
)
from assistant.history.cut_to_heard import TimedWord
from assistant.history.items import AssistantMessage, Item, ItemId, UserMessage
from assistant.turns.events import AbandonReason, ReplyId
from audio.speaker import WavSpeaker
from web.remote.address import address_of
from web.remote.conversation.commands import update_session
from web.remote.conversation.conversation import RemoteConversation, UnsupportedServerError
from web.remote.conversation.effects import Ducking, Effect, SessionOpened, Sound, SoundEnded, SpeechEnded, StopPlayback
from web.remote.talk import RemoteTalk
from web.wire.realtime import Realtime
from web.wire.values.session_config import Extensions, SessionConfig

ALL = SessionConfig(voice="amy", extensions=Extensions(events=True, duck=True, playout=True))
REPLY, AGAIN = ReplyId(1, 1), ReplyId(1, 2)
USER, USER_2, ANSWER, ANSWER_2 = ItemId("item_1"), ItemId("item_2"), ItemId("item_3"), ItemId("item_4")
TONE = np.full(2400, 3000, np.int16)
WORDS = (TimedWord("It's", 0.0, 200.0, estimated=False), TimedWord("noon.", 200.0, 400.0, estimated=False))


class ConnectedPair:
    """Server and client side, connected directly."""

    def __init__(self) -> None:
        self.server = Realtime(ALL, SERVICE, session_id="s1")
        self.remote = RemoteConversation()
        self.server.begin()
        self.greeting = self.fetch()

    def fetch(self) -> list[Effect]:
        return [effect for text in self.server.to_send() for effect in self.remote.handle(json.loads(text))]

    def tell(self, *events: Any, inserted_ms: float = 0.0) -> list[Effect]:
        self.server.use_positions(lambda _at_ms: inserted_ms)
        for event in events:
            self.server.on_event(event)
        return self.fetch()

    def sound(self, reply_id: ReplyId = REPLY) -> list[Effect]:
        self.server.sound(reply_id, TONE)
        return self.fetch()

    def again(self, history: Sequence[Item] = ()) -> list[Effect]:
        """Resumes the conversation on another connection."""
        self.remote.connection_lost()
        self.server = Realtime(ALL, SERVICE, session_id="s1")
        self.server.begin(history, resumed=True, heard_ms=500.0)
        return self.fetch()


def asked(line: ConnectedPair, reply_id: ReplyId = REPLY) -> list[Effect]:
    said = UserMessage(USER, "what time is it", spoken=True, speaker="S2")
    return line.tell(
        SpeechStarted(reply_id.turn, 100.0, USER),
        InterimWords("what time", low_confidence=False),
        UserTurnCommitted(
            reply_id.turn, "what time is it", low_confidence=False, item=said, speech_end_ms=900.0, origin="spoken"
        ),
        ReplyStarted(reply_id, ANSWER, spoken=True),
        inserted_ms=140.0,
    )


def answered(line: ConnectedPair) -> list[Effect]:
    effects = line.tell(ChunkSpoken(REPLY, "It's noon."), WordsTimed(REPLY, WORDS))
    effects += line.sound()
    return effects + line.tell(ReplySent(REPLY, "It's noon.", None, None, 11, 7))


def kinds(effects: Sequence[Effect]) -> list[str]:
    return [type(effect).__name__ for effect in effects]


def test_whole_turn_is_converted_unchanged() -> None:
    line = ConnectedPair()
    assert kinds(line.greeting) == ["SessionOpened"]
    heard = asked(line)
    assert heard == [
        StopPlayback(),
        SpeechStarted(1, 100.0, USER),
        InterimWords("what time", low_confidence=False),
        SpeechEnded(760.0),
        UserTurnCommitted(
            1,
            "what time is it",
            False,
            UserMessage(USER, "what time is it", spoken=True, speaker="S2"),
            900.0,
            "spoken",
        ),
        ReplyStarted(REPLY, ItemId(""), spoken=True),
    ]
    assert line.remote.reply_pending
    effects = answered(line)
    assert kinds(effects) == ["ChunkSpoken", "WordsTimed", "Sound", "SoundEnded", "SoundEnded", "ReplySent"]
    assert [effect for effect in effects if not isinstance(effect, Sound | SoundEnded)] == [
        ChunkSpoken(REPLY, "It's noon."),
        WordsTimed(REPLY, WORDS),
        ReplySent(REPLY, "It's noon.", None, None, 11, 7),
    ]
    sound = next(effect for effect in effects if isinstance(effect, Sound))
    assert sound.reply_id == REPLY
    assert np.array_equal(sound.pcm, TONE)
    assert not line.remote.reply_pending


def test_session_created_greets_with_its_facts() -> None:
    (greeted,) = ConnectedPair().greeting
    assert isinstance(greeted, SessionOpened)
    assert not greeted.resumed
    assert greeted.detection == {
        "type": "semantic_vad", "eagerness": "auto", "create_response": True, "interrupt_response": True
    }  # fmt: skip
    assert [(one.stage, one.name, one.fallback) for one in greeted.engines] == [("vad", "silero", False)]


@pytest.mark.parametrize(
    "session",
    [{}, {"repartee": {"version": "0.0"}}, {"repartee": None}],
    ids=["no extensions", "other version", "null"],
)
def test_server_without_extensions_is_refused(session: dict[str, Any]) -> None:
    with pytest.raises(UnsupportedServerError, match="not a Repartee server, or its version is too old"):
        RemoteConversation().handle({"type": "session.created", "session": session})


def test_interrupted_reply_is_cut_at_heard_position() -> None:
    line = ConnectedPair()
    asked(line)
    line.tell(ChunkSpoken(REPLY, "It's noon."), WordsTimed(REPLY, WORDS))
    line.sound()
    line.server.duck(REPLY, lower=True)
    assert line.fetch() == [Ducking(lower=True)]
    effects = line.tell(SpeechStarted(2, 2000.0, USER_2), ReplyStopped(REPLY, "It's", 250.0, "voice"))
    assert StopPlayback() in effects
    assert [effect for effect in effects if isinstance(effect, ReplyStopped)] == [
        ReplyStopped(REPLY, "It's", 250.0, "voice")
    ]


def test_sent_reply_may_still_be_cut_while_it_plays() -> None:
    line = ConnectedPair()
    asked(line)
    answered(line)
    assert line.tell(ReplyStopped(REPLY, "It's", 250.0, "voice")) == [
        StopPlayback(),
        ReplyStopped(REPLY, "It's", 250.0, "voice"),
    ]


def test_continued_turn_retracts_reply_and_joins_words() -> None:
    line = ConnectedPair()
    asked(line)
    line.tell(ChunkSpoken(REPLY, "It's noon."))
    effects = line.tell(SpeechStarted(1, 1100.0, USER_2), ReplyStopped(REPLY, "", 0.0, "went on"))
    assert [effect for effect in effects if isinstance(effect, ReplyStopped)] == [
        ReplyStopped(REPLY, "", 0.0, "went on")
    ]
    more = UserMessage(USER_2, "in Paris", spoken=True, continues=True)
    effects = line.tell(
        UserTurnCommitted(1, "what time is it in Paris", False, more, 1500.0, "spoken"),
        ReplyStarted(AGAIN, ANSWER_2, True),
    )
    taken = next(effect for effect in effects if isinstance(effect, UserTurnCommitted))
    assert taken.text == "what time is it in Paris"
    assert taken.turn == 1
    assert ReplyStarted(AGAIN, ItemId(""), spoken=True) in effects


def test_reply_without_words_is_cut() -> None:
    line = ConnectedPair()
    asked(line)
    assert line.tell(ReplyStopped(REPLY, "", 0.0, "client"))[-1] == ReplyStopped(REPLY, "", 0.0, "client")


@pytest.mark.parametrize("why", ["no words", "noise", "stuck"])
def test_speech_without_words_is_discarded_with_reason(why: AbandonReason) -> None:
    line = ConnectedPair()
    effects = line.tell(SpeechStarted(1, 100.0, USER), SpeechDiscarded(1, 400.0, why))
    assert effects[-1] == SpeechDiscarded(1, 400.0, why)
    assert not line.remote.hearing
    assert not line.remote.reply_pending


def test_typed_text_is_shown_once() -> None:
    line = ConnectedPair()
    typed = {"id": "item_9", "type": "message", "role": "user", "content": [{"type": "input_text", "text": "hello"}]}
    event = {"type": "conversation.item.added", "previous_item_id": None, "item": typed}
    (taken,) = line.remote.handle(event)
    assert isinstance(taken, UserTurnCommitted)
    assert (taken.text, taken.speech_end_ms, taken.origin) == ("hello", None, "requested")
    assert line.remote.handle(event) == []


def test_failed_reply_has_its_error() -> None:
    line = ConnectedPair()
    asked(line)
    effects = line.tell(ReplySent(REPLY, "", "the model's service refused: quota", None, None, None))
    sent = next(effect for effect in effects if isinstance(effect, ReplySent))
    assert sent.error == "the model's service refused: quota"


def test_notices_and_errors_are_shown_except_harmless_ones() -> None:
    line = ConnectedPair()
    assert line.tell(Problem("the disk is full")) == [Problem("the disk is full")]
    error = {"type": "error", "error": {"code": "invalid_value", "message": "speed is 2"}}
    assert line.remote.handle(error) == [Problem("the server reports: speed is 2")]
    error["error"] = {"code": "response_cancel_not_active", "message": "nothing to cancel"}
    assert line.remote.handle(error) == []


# ---- lost connections ----


def test_resent_reply_is_shown_once() -> None:
    line = ConnectedPair()
    asked(line)
    line.tell(ChunkSpoken(REPLY, "It's"), WordsTimed(REPLY, WORDS[:1]))
    line.sound()
    effects = line.again([UserMessage(USER, "what time is it", spoken=True)])
    assert kinds(effects) == ["SessionOpened"]
    effects = line.tell(ReplyStarted(REPLY, ANSWER, True), ChunkSpoken(REPLY, "It's noon."), WordsTimed(REPLY, WORDS))
    assert effects == [ChunkSpoken(REPLY, "noon."), WordsTimed(REPLY, WORDS[1:])]


def test_resent_markdown_is_passed_on_once() -> None:
    line = ConnectedPair()
    asked(line)
    line.tell(ChunkSpoken(REPLY, "Here is the code."))
    assert line.tell(MarkupWritten(REPLY, "```\nx")) == [MarkupWritten(REPLY, "```\nx")]
    line.again([UserMessage(USER, "what time is it", spoken=True)])
    effects = line.tell(ReplyStarted(REPLY, ANSWER, True), MarkupWritten(REPLY, "```\nx = 1\n```"))
    assert effects == [MarkupWritten(REPLY, " = 1\n```")]


def test_markdown_is_asked_of_servers_that_have_it() -> None:
    (greeted,) = ConnectedPair().greeting
    assert isinstance(greeted, SessionOpened)
    assert greeted.markup
    assert json.loads(update_session(None, markup=True))["session"]["repartee"]["markup"] is True
    assert "markup" not in json.loads(update_session(None))["session"]["repartee"]


def test_resent_complete_reply_is_shown_once() -> None:
    line = ConnectedPair()
    asked(line)
    whole = (ChunkSpoken(REPLY, "It's noon."), WordsTimed(REPLY, WORDS))
    sent = ReplySent(REPLY, "It's noon.", None, None, None, None)
    line.tell(*whole)
    line.sound()
    assert "ReplySent" in kinds(line.tell(sent))
    line.again([UserMessage(USER, "what time is it", spoken=True)])
    assert kinds(line.tell(ReplyStarted(REPLY, ANSWER, True), *whole, sent)) == ["SoundEnded", "SoundEnded"]


def test_reply_that_ended_during_disconnect_is_over() -> None:
    line = ConnectedPair()
    asked(line)
    line.tell(ChunkSpoken(REPLY, "It's noon."))
    line.sound()
    history: list[Item] = [
        UserMessage(USER, "what time is it", spoken=True),
        AssistantMessage(ANSWER, "It's", complete=False),
    ]
    assert kinds(line.again(history)) == ["SessionOpened"]
    effects = line.tell(Problem("something else"))
    assert kinds(effects) == ["StopPlayback", "ReplyStopped", "Problem"]
    assert not line.remote.reply_pending


def test_after_resume_only_new_messages_are_shown() -> None:
    line = ConnectedPair()
    asked(line)
    effects = line.again(
        [UserMessage(USER, "what time is it", spoken=True), UserMessage(USER_2, "and in Rome", spoken=True)]
    )
    assert [effect.text for effect in effects if isinstance(effect, UserTurnCommitted)] == ["and in Rome"]


# ---- any events ----

JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from(
    "item_id item response response_id delta session text words why audio_end_ms audio_start_ms repartee trace error "
    "transcript id type role content status status_details usage turn stages code message start_ms".split()
)
FIELDS = st.dictionaries(NAMES, JSON | st.dictionaries(NAMES, JSON, max_size=5), max_size=6)
KINDS = st.sampled_from(
    "session.created input_audio_buffer.speech_started input_audio_buffer.speech_stopped conversation.item.added "
    "input_audio_buffer.committed conversation.item.deleted conversation.item.truncated response.created response.done "
    "conversation.item.input_audio_transcription.completed response.output_item.added response.output_audio.delta "
    "response.output_audio_transcript.delta repartee.words repartee.trace repartee.notice repartee.partial error "
    "repartee.duck nonsense".split()
)


@settings(max_examples=50)
@given(st.lists(st.tuples(KINDS, FIELDS), max_size=12))
@example([("error", {})])
@example([("error", {"error": "boom"})])
@example([("repartee.trace", {"trace": {"turn": 1, "response_latency_ms": "soon"}})])
@example([("repartee.trace", {"trace": {"turn": 1, "stages": {"stt": {"ms": "inf", "slack_ms": 0.0}}}})])
def test_any_server_events_leave_client_and_screen_working(events: list[tuple[str, dict[str, Any]]]) -> None:
    async def main() -> None:
        view = View()
        speaker = WavSpeaker(lambda _at_s, _pcm: None)
        microphone = ScriptedMicrophone([], 20)
        talk = RemoteTalk(address_of("ws://127.0.0.1"), None, microphone, speaker, lambda event: view.apply(event, ""))
        for kind, fields in events:
            try:
                talk.event({**fields, "type": kind})
            except UnsupportedServerError:
                assert kind == "session.created"
        panels.latency(view, 40, None, brief=False)

    asyncio.run(main())


def test_invalid_event_is_reported_once() -> None:
    remote = RemoteConversation()
    (trouble,) = remote.handle({"type": "response.created"})
    assert isinstance(trouble, Problem)
    assert "response.created" in trouble.text
    assert remote.handle({"type": "response.created"}) == []


def test_trace_event_becomes_a_turn_record() -> None:
    trace = {
        "turn": 3,
        "outcome": "answered",
        "response_latency_ms": 321.5,
        "stages": {"tts": {"ms": 21.5, "slack_ms": 3.0}, "endpoint_wait": {"ms": 300.0, "slack_ms": 9.0}, "new": {}},
        "spans": [
            {"name": "tts", "stage": "tts", "attempt": 1, "start_ms": 1.0, "end_ms": 2.0, "after": ["stt"]},
            {"name": "x", "stage": "of tomorrow", "attempt": 1, "start_ms": 1.0, "end_ms": 2.0},
        ],
        "tomorrow": 1,
    }
    (finished,) = RemoteConversation().handle({"type": "repartee.trace", "turn": 3, "trace": trace})
    assert isinstance(finished, TurnFinished)
    record = finished.record
    assert (record.turn, record.response_latency_ms, record.words) == (3, 321.5, None)
    assert list(record.stages) == ["endpoint_wait", "tts"]
    assert [span.after for span in record.spans] == [("stt",)]


def test_real_record_is_unchanged_except_replay_inputs() -> None:
    utterances = [Utterance(200, 1200, "what time is it"), Utterance(2600, 3000, "and now")]
    record = Simulation(utterances, length_ms=5000).run().records[0]
    line = ConnectedPair()
    (finished,) = line.tell(TurnFinished(record))
    assert isinstance(finished, TurnFinished)
    assert finished.record.response_latency_ms is not None
    assert json.loads(finished.record.to_json()) == {
        **json.loads(record.to_json()),
        "turn_events": [],
        "turn_events_before": 0,
    }
