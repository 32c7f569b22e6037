"""Random conversations in any legal order are sent to the client as consistent events."""

import base64
import json
from dataclasses import replace
from typing import Any, Literal, assert_never

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.conversations.simulation import Simulation, Utterance
from support.protocol.wire_client import Client

from assistant.events import (
    ChunkSpoken,
    FunctionCalled,
    InterimWords,
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
from assistant.history.items import AssistantMessage, FunctionCallItem, Item, ItemId, UserMessage
from assistant.turns.events import ReplyId
from web.wire.incoming.commands import (
    Append,
    CancelBackground,
    CancelResponse,
    ChangeTimer,
    ClearInput,
    ClearOutput,
    Command,
    CommitInput,
    CreateItem,
    CreateResponse,
    DeleteItem,
    EndHomeCall,
    PlayoutReport,
    RemoveListItems,
    ReportWakeWord,
    RetrieveItem,
    TruncateItem,
    UpdateHomeStates,
    UpdateSession,
)
from web.wire.values.errors import ProtocolError
from web.wire.values.session_config import AudioFormat, Extensions, SemanticVad, SessionConfig

Why = Literal["voice", "went on", "requested", "stuck", "client"]

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
WHYS: st.SearchStrategy[Why] = st.sampled_from(["voice", "went on", "requested", "stuck", "client"])


class Core:
    """A random conversation in legal order, which also answers the client's commands.

    Attributes:
        speech: The user's speech in progress.
        reply_id: The reply in progress, or sent and still playing.
    """

    def __init__(self, client: Client, data: st.DataObject) -> None:
        self.speech: SpeechStarted | None = None
        self.reply_id: ReplyId | None = None
        self._sent = False
        self._client = client
        self._data = data
        self._turn = 0
        self._attempt = 0
        self._count = 0
        self._history: dict[ItemId, Item] = {}

    def step(self) -> None:
        """Performs one random step that is legal now."""
        steps = [self._hear, self._client_says]
        steps.append(self._start if self.speech is None else self._stop)
        if self.reply_id is None:
            steps.append(self._reply_unasked)
        elif self._sent:
            steps += [self._cut, self._played]
        else:
            steps += [self._say, self._say, self._play, self._call, self._send, self._cut]
        self._data.draw(st.sampled_from(steps))()

    def finish(self) -> None:
        """Ends what is in progress."""
        if self.reply_id is not None and not self._sent:
            self._send()

    def _new_id(self) -> ItemId:
        self._count += 1
        return ItemId(f"item_{self._count}")

    def _start(self) -> None:
        if self.reply_id is not None:
            self._cut()
        self._turn += 1
        self._attempt = 0
        self.speech = SpeechStarted(self._turn, self._data.draw(st.floats(0, 1e6)), self._new_id())
        self._client.tell(self.speech)

    def _hear(self) -> None:
        self._client.tell(InterimWords(self._data.draw(TEXTS), low_confidence=self._data.draw(st.booleans())))

    def _stop(self) -> None:
        assert self.speech is not None
        speech, self.speech = self.speech, None
        end_ms = self._data.draw(st.floats(0, 1e6))
        if self._data.draw(st.booleans()):
            self._client.tell(SpeechDiscarded(speech.turn, end_ms, "no words"))
            return
        said = UserMessage(speech.item, self._data.draw(TEXTS), spoken=True)
        self._history[said.id] = said
        answered = self._data.draw(st.booleans())
        self._client.tell(UserTurnCommitted(speech.turn, said.text, False, said, end_ms, "spoken", answered))
        if answered:
            self._begin()

    def _reply_unasked(self) -> None:
        self._turn += 1
        self._attempt = 0
        self._client.tell(
            UserTurnCommitted(
                self._turn, "", False, None, None, self._data.draw(st.sampled_from(["greeting", "requested"]))
            )
        )
        self._begin()

    def _begin(self) -> None:
        self._attempt += 1
        self.reply_id, self._sent = ReplyId(self._turn, self._attempt), False
        self._client.tell(ReplyStarted(self.reply_id, self._new_id(), spoken=self._data.draw(st.booleans())))

    def _say(self) -> None:
        assert self.reply_id is not None
        text = self._data.draw(TEXTS)
        words = (TimedWord(text, 0.0, 1.0, estimated=True),)
        self._client.tell(ChunkSpoken(self.reply_id, text), WordsTimed(self.reply_id, words))

    def _play(self) -> None:
        assert self.reply_id is not None
        self._client.sound(self._data.draw(st.integers(0, 2000)), self.reply_id)

    def _call(self) -> None:
        assert self.reply_id is not None
        call = FunctionCallItem(self._new_id(), "call", "f", self._data.draw(TEXTS))
        self._history[call.id] = call
        self._client.tell(FunctionCalled(self.reply_id, call))

    def _send(self) -> None:
        assert self.reply_id is not None
        error = self._data.draw(st.none() | TEXTS)
        incomplete = self._data.draw(st.none() | st.sampled_from(["length", "content_filter", "other"]))
        tokens = self._data.draw(st.none() | st.integers(0, 100))
        self._client.tell(ReplySent(self.reply_id, "", error, incomplete, tokens, None))
        self._sent = True

    def _cut(self) -> None:
        assert self.reply_id is not None
        reply_id, self.reply_id = self.reply_id, None
        cut = ReplyStopped(reply_id, self._data.draw(TEXTS), self._data.draw(st.floats(0, 1e5)), self._data.draw(WHYS))
        self._client.tell(cut)

    def _played(self) -> None:
        self.reply_id = None

    def _client_says(self) -> None:
        before = len(self._client.commands)
        self._client.send(self._data.draw(CLIENT_EVENTS))
        for command in self._client.commands[before:]:
            self._answer(command)

    def _answer(self, command: Command) -> None:  # noqa: C901 - one case for each command
        wire = self._client.do
        match command:
            case UpdateSession():
                wire(lambda end: end.session_updated(voice=self._data.draw(st.none() | st.just("amy"))))
            case CreateItem(_, item) if item.id in self._client.items:
                wire(lambda end: end.refuse(command, "item_create_duplicate_item_id"))
            case CreateItem(_, item):
                item = replace(item, id=item.id or self._new_id())
                self._history[item.id] = item
                wire(lambda end: end.item_created(command, item))
            case RetrieveItem(_, item_id):
                wire(lambda end: end.item_retrieved(command, self._history.get(item_id)))
            case DeleteItem(_, item_id) if item_id in self._history:
                del self._history[item_id]
                wire(lambda end: end.item_deleted(item_id))
            case DeleteItem(_, item_id) if item_id in self._client.items and item_id not in self._history:
                wire(lambda end: end.item_deleted(item_id))  # an answer
                wire(lambda end: end.item_retrieved(RetrieveItem(None, item_id), None))
                assert self._client.events[-1]["type"] == "error", "it is gone"
            case DeleteItem():
                wire(lambda end: end.refuse(command, "item_delete_invalid_item_id"))
            case TruncateItem(_, item_id, audio_end_ms):
                wire(lambda end: end.item_truncated(item_id, audio_end_ms))
            case ClearInput():
                wire(lambda end: end.input_cleared())
            case ClearOutput():
                wire(lambda end: end.output_cleared(command, self.reply_id))
            case CommitInput() if self.speech is None:
                wire(lambda end: end.refuse(command, "input_audio_buffer_commit_empty"))
            case CreateResponse() if self.reply_id is not None:
                wire(lambda end: end.refuse(command, "conversation_already_has_active_response"))
            case CancelResponse() if self.reply_id is None:
                wire(lambda end: end.refuse(command, "response_cancel_not_active"))
            case CancelResponse():
                self._cut()
            case (
                Append()
                | CommitInput()
                | CreateResponse()
                | PlayoutReport()
                | CancelBackground()
                | ChangeTimer()
                | RemoveListItems()
                | EndHomeCall()
                | UpdateHomeStates()
                | ReportWakeWord()
            ):
                pass
            case _:
                assert_never(command)


ITEM_IDS = st.sampled_from([f"item_{number}" for number in range(1, 12)])
CLIENT_EVENTS: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.fixed_dictionaries(
        {
            "type": st.sampled_from(
                [
                    "input_audio_buffer.commit",
                    "input_audio_buffer.clear",
                    "output_audio_buffer.clear",
                    "response.cancel",
                    "x",
                ]
            )
        }
    ),
    st.fixed_dictionaries(
        {
            "type": st.sampled_from(["conversation.item.retrieve", "conversation.item.delete"]),
            "event_id": TEXTS,
            "item_id": ITEM_IDS,
        }
    ),
    st.fixed_dictionaries(
        {
            "type": st.just("conversation.item.create"),
            "previous_item_id": st.none() | st.just("root") | ITEM_IDS,
            "item": st.fixed_dictionaries(
                {
                    "type": st.just("message"),
                    "id": st.none() | st.just("mine"),
                    "role": st.sampled_from(["user", "assistant"]),
                    "content": st.sampled_from(
                        [[{"type": "input_text", "text": "a"}], [{"type": "output_text", "text": "a"}]]
                    ),
                }
            ),
        }
    ),
    st.fixed_dictionaries(
        {
            "type": st.just("response.create"),
            "response": st.sampled_from([{}, {"metadata": {"k": "v"}}, {"conversation": "none"}]),
        }
    ),
    st.fixed_dictionaries(
        {
            "type": st.just("session.update"),
            "session": st.sampled_from(
                [
                    {"audio": {"input": {"turn_detection": None}}},
                    {"audio": {"input": {"turn_detection": {"type": "server_vad"}, "transcription": None}}},
                    {"audio": {"output": {"format": {"type": "audio/pcma"}}}},
                    {"repartee": {"duck": True, "events": False}},
                    {"repartee": {"events": True}},
                    {"unknown": 1},
                ]
            ),
        }
    ),
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.data_too_large])
@given(st.data())
def test_any_conversation_is_sent_as_consistent_events(data: st.DataObject) -> None:
    """The client checks each event: its shape, one response at a time, the sum of deltas, the order of items."""
    client = Client()
    core = Core(client, data)
    for _ in range(data.draw(st.integers(1, 40))):
        core.step()
    core.finish()
    created = [event["response"]["id"] for event in client.events if event["type"] == "response.created"]
    done = [event["response"]["id"] for event in client.events if event["type"] == "response.done"]
    assert created == done
    assert len(set(created)) == len(created)
    assert client.fetch() == []


@pytest.mark.parametrize(
    "after", [None, "root", "item_a", "unknown"], ids=["not given", "root", "known item", "unknown item"]
)
def test_item_is_inserted_after_previous_item(after: str | None) -> None:
    history: list[Item] = [UserMessage(ItemId("item_a"), "a", spoken=False), AssistantMessage(ItemId("item_b"), "b")]
    client = Client(history=history)
    item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "c"}]}
    client.send({"type": "conversation.item.create", "previous_item_id": after, "item": item})
    command = client.commands[-1]
    assert isinstance(command, CreateItem)
    client.do(lambda wire: wire.item_created(command, replace(command.item, id=ItemId("item_c"))))
    place = {"root": 0, "item_a": 1}.get(after or "", 2)
    assert client.items.index("item_c") == place


@pytest.mark.parametrize(
    "refusal",
    ["invalid_tool_call_id", "call_id_taken", "unsupported_content_type", "item_create_invalid_previous_item_id",
     "response_cancel_not_active"],
)  # fmt: skip
def test_refusal_names_the_event(refusal: Any) -> None:
    client = Client()
    client.send({"type": "response.cancel", "event_id": "mine"})
    (event,) = client.do(lambda wire: wire.refuse(client.commands[-1], refusal))
    assert event["error"]["code"] == refusal
    assert event["error"]["event_id"] == "mine"
    assert event["error"]["message"]


def test_refused_commit_is_not_refused_again() -> None:
    client = Client()
    client.send({"type": "input_audio_buffer.commit"})
    client.do(lambda wire: wire.refuse(client.commands[-1], "input_audio_buffer_commit_empty"))
    events = client.tell(SpeechStarted(1, 0.0, ItemId("item_u")), SpeechDiscarded(1, 10.0, "no words"))
    assert "error" not in [event["type"] for event in events]


def test_commit_continued_without_words_is_answered() -> None:
    client = Client()
    client.tell(SpeechStarted(1, 0.0, ItemId("item_u")))
    client.send({"type": "input_audio_buffer.commit", "event_id": "mine"})
    events = client.tell(UserTurnCommitted(1, "before", False, None, 10.0, "spoken"))
    assert [event["type"] for event in events] == ["input_audio_buffer.speech_stopped", "error"]


SPOKEN = UserMessage(ItemId("item_u"), "hello", spoken=True)
TAKEN = UserTurnCommitted(1, "hello", False, SPOKEN, 1020.4, "spoken")


@pytest.mark.parametrize("end", [TAKEN, SpeechDiscarded(1, 1020.4, "no words")], ids=["committed", "discarded"])
def test_end_of_speech_has_inserted_silence(
    end: UserTurnCommitted | SpeechDiscarded,
) -> None:
    client = Client()
    client.tell(SpeechStarted(1, 400.0, ItemId("item_u")))
    client.wire.use_positions(lambda _at_ms: 140.04)
    stopped = client.tell(end)[0]
    assert (stopped["audio_end_ms"], stopped["repartee"]) == (1020, {"inserted_ms": 140.0})


def test_manual_turn_has_inserted_silence_in_committed_event() -> None:
    client = Client(SessionConfig(voice="amy", turn_detection=None, extensions=Extensions(events=True)))
    client.tell(SpeechStarted(1, 400.0, ItemId("item_u")))
    client.wire.use_positions(lambda _at_ms: 140.0)
    committed = client.tell(TAKEN)[0]
    assert committed["type"] == "input_audio_buffer.committed"
    assert committed["repartee"] == {"audio_end_ms": 1020, "inserted_ms": 140.0}


@pytest.mark.parametrize("turn_detection", [None, SemanticVad()], ids=["manual", "semantic_vad"])
def test_client_without_extensions_gets_standard_events(turn_detection: SemanticVad | None) -> None:
    quiet = Extensions(events=False)
    client = Client(SessionConfig(voice="amy", turn_detection=turn_detection, extensions=quiet))
    client.wire.use_positions(lambda _at_ms: 140.0)
    events = [*client.tell(SpeechStarted(1, 400.0, ItemId("item_u"))), *client.tell(TAKEN)]
    assert all("repartee" not in event for event in events)
    if turn_detection is not None:  # positions are in the sound that the client sent
        positions = [event.get("audio_start_ms", event.get("audio_end_ms")) for event in events[:2]]
        assert positions == [260, 880]


@pytest.mark.parametrize("wanted", [True, False], ids=["requested", "not requested"])
def test_replay_inputs_are_sent_only_on_request(wanted: bool) -> None:
    record = Simulation([Utterance(1000, 1800, "what time is it")]).run().records[0]
    client = Client(SessionConfig(voice="amy", extensions=Extensions(events=True)))
    if wanted:
        client.send({"type": "session.update", "session": {"repartee": {"turn_events": True}}})
    (event,) = client.do(lambda wire: wire.on_event(TurnFinished(record)))
    whole = json.loads(record.to_json())
    assert len(whole["turn_events"]) > 10
    assert event["trace"] == whole | ({} if wanted else {"turn_events": []})


def test_clear_without_playback_is_refused() -> None:
    client = Client()
    client.send({"type": "output_audio_buffer.clear"})
    command = client.commands[-1]
    assert isinstance(command, ClearOutput)
    (event,) = client.do(lambda wire: wire.output_cleared(command, None))
    assert event["error"]["code"] == "output_audio_buffer_clear_empty"


def test_other_errors_can_be_reported() -> None:
    client = Client()
    error = ProtocolError("too_fast", "sound comes faster than real time", kind="server_error")
    (event,) = client.do(lambda wire: wire.report(error))
    assert event["error"] == {
        "type": "server_error",
        "code": "too_fast",
        "message": "sound comes faster than real time",
        "param": None,
        "event_id": None,
    }


def test_update_applies_to_the_next_message() -> None:
    client = Client()
    client.send({"type": "session.update", "session": {"audio": {"input": {"format": {"type": "audio/pcmu"}}}}})
    client.send({"type": "input_audio_buffer.append", "audio": base64.b64encode(b"\xff").decode()})
    assert client.commands[-1] == Append(None, b"\xff", AudioFormat.ULAW)


def test_text_reply_has_no_audio() -> None:
    client = Client(SessionConfig(modality="text"))
    reply_id = ReplyId(1, 1)
    client.tell(ReplyStarted(reply_id, ItemId("item_a"), spoken=False), ChunkSpoken(reply_id, "Noon."))
    assert not client.wire.sound(reply_id, np.zeros(480, np.int16))
    client.tell(ReplySent(reply_id, "Noon.", None, None, None, None))
    assert client.tell(ReplyStopped(reply_id, "Noon.", 0.0, "client")) == []


def test_session_created_is_first_and_messages_are_one_line() -> None:
    client = Client(begin=False)
    assert client.wire.to_send() == []
    client.wire.begin()
    (text,) = client.wire.to_send()
    assert "\n" not in text
    assert json.loads(text)["type"] == "session.created"


def test_request_after_commit_is_its_response() -> None:
    client = Client(SessionConfig(voice="amy", turn_detection=None))
    client.send({"type": "response.create", "response": {"metadata": {"k": "v"}}})
    client.tell(TAKEN, ReplyStarted(ReplyId(1, 1), ItemId("item_a"), spoken=True))
    created = [event for event in client.events if event["type"] == "response.created"]
    assert created[-1]["response"]["metadata"] == {"k": "v"}


@pytest.mark.parametrize("events", [True, False])
def test_label_of_a_speaker_is_an_extension(events: bool) -> None:
    client = Client(SessionConfig(voice="amy", extensions=Extensions(events=events)))
    item = UserMessage(ItemId("item_u"), "hello", spoken=True, speaker="S2")
    committed = UserTurnCommitted(1, "hello", low_confidence=False, item=item, speech_end_ms=900.0, origin="spoken")
    told = client.tell(SpeechStarted(1, 400.0, ItemId("item_u")), committed)
    added = next(event["item"] for event in told if event["type"] == "conversation.item.added")
    (completed,) = (event for event in told if event["type"].endswith("transcription.completed"))
    expected = {"speaker": "S2"} if events else None
    assert (added.get("repartee"), completed.get("repartee")) == (expected, expected)
