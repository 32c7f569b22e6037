"""Content of the screen after each event."""

from dataclasses import replace
from typing import Literal, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.commands.talk.panels import big, headline, latency, running
from assistant.commands.talk.view import MAX_ENTRIES, Entry, View
from assistant.events import (
    ChunkSpoken,
    Floor,
    InterimWords,
    Problem,
    ReplySent,
    ReplyStarted,
    ReplyStopped,
    SessionEvent,
    SpeechDiscarded,
    SpeechStarted,
    TurnFinished,
    UserTurnCommitted,
)
from assistant.history.items import ItemId
from assistant.trace.latency_summary import Latencies, LatencySummary
from assistant.turns.events import Origin, ReplyId
from bench.program.talk_picture import ENGINES, STATUS, WORD_MS, exchange, placed, record

AT = "14:10:07"
REPLY = ReplyId(1, 1)


def told(*events: SessionEvent) -> View:
    view = View()
    for event in events:
        view.apply(event, AT)
    return view


def taken(
    text: str, turn: int = 1, origin: Origin = "spoken", *, rough: bool = False, answered: bool = True
) -> SessionEvent:
    return UserTurnCommitted(turn, text, rough, None, 1000.0, origin, answered)


def started(turn: int = 1) -> SessionEvent:
    return SpeechStarted(turn, 0.0, ItemId(f"user-{turn}"))


def begun(spoken: bool = True) -> SessionEvent:
    return ReplyStarted(REPLY, ItemId("reply"), spoken)


def plain(view: View) -> list[tuple[str, str, str]]:
    return [(entry.who, entry.text, entry.mark) for entry in view.entries]


def test_interim_words_are_replaced_by_the_transcript() -> None:
    view = told(started(), InterimWords("what", low_confidence=False), InterimWords("what time", low_confidence=False))
    (heard,) = view.entries
    assert (heard.text, heard.settled) == ("what time", False)
    view.apply(taken("what time is it", rough=True), AT)
    assert list(view.entries) == [Entry(heard.key, "you", "what time is it", mark="roughly")]


def test_interim_words_may_precede_their_speech() -> None:
    view = told(InterimWords("stop", low_confidence=False))
    assert not view.entries
    view.apply(started(), AT)
    assert plain(view) == [("you", "stop", "")]


def test_discarded_speech_leaves_no_entry() -> None:
    view = told(started(), InterimWords("the", low_confidence=True), SpeechDiscarded(1, 900.0, "no words"), started(2))
    assert plain(view) == [("you", "", "")]


def test_continued_turn_is_one_entry() -> None:
    view = told(started(), taken("set a timer"), begun(), ReplyStopped(REPLY, "", 0.0, "went on"))
    view.apply(started(), AT)
    view.apply(taken("set a timer for ten minutes"), AT)
    assert plain(view) == [("you", "set a timer for ten minutes", "")]


def test_unheard_reply_is_removed() -> None:
    view = told(begun(), ChunkSpoken(REPLY, "Your"), ReplyStopped(REPLY, "", 20.0, "went on"))
    assert not view.entries


def test_spoken_word_is_highlighted_and_later_ones_unheard() -> None:
    view = told(begun(), ChunkSpoken(REPLY, "It's ten past."), placed(REPLY, "It's ten past."))
    view.set_status(replace(STATUS, floor="speaking", played_ms=1.5 * WORD_MS))
    assert [(entry.highlight, entry.unheard_from) for entry in view.entries] == [((5, 8), 8)]
    view.set_status(STATUS)
    assert [(entry.highlight, entry.unheard_from) for entry in view.entries] == [(None, None)]


@pytest.mark.parametrize(("why", "mark"), [("voice", "interrupted"), ("unheard", "not heard")])
def test_interruption_marks_the_unheard_part(why: Literal["voice", "unheard"], mark: str) -> None:
    view = told(begun(), ChunkSpoken(REPLY, "one two three"), ReplyStopped(REPLY, "one two", 700.0, why))
    assert [(entry.unheard_from, entry.mark) for entry in view.entries] == [(7, mark)]
    view.set_status(replace(STATUS, played_ms=100.0))
    assert [entry.highlight for entry in view.entries] == [None]


def test_resumed_reply_replaces_the_unheard_part() -> None:
    rest = ReplyId(2, 1)
    chunks = [ChunkSpoken(REPLY, "One. Two three."), ChunkSpoken(REPLY, "Four.")]
    view = told(begun(), *chunks, ReplyStopped(REPLY, "One. Two", 700.0, "voice"), taken("", 2, "resumed"))
    for text in ("Two three.", "Four."):
        view.apply(ChunkSpoken(rest, text), AT)
    shown = [(entry.text, entry.unheard_from) for entry in view.entries]
    assert (shown[0], " ".join(text for text, _ in shown[1:])) == (("One. Two", None), "Two three. Four.")


def test_speech_during_a_reply_stays_last() -> None:
    view = told(begun(), ChunkSpoken(REPLY, "One."), started(), Problem("the network is slow"))
    assert [entry.who for entry in view.entries] == ["repartee", "problem", "you"]


def test_typed_text_is_shown_at_once_and_only_once() -> None:
    view = View()
    view.typed("hello [red]there")
    view.apply(taken("hello [red]there", origin="requested"), AT)
    assert plain(view) == [("you", "hello [red]there", "typed")]


def test_text_typed_while_disconnected_is_shown_once() -> None:
    view = View()
    for text in ("one", "two"):
        view.typed(text)
    for text in ("one", "two", "from before"):
        view.apply(taken(text, origin="requested"), AT)
    assert plain(view) == [("you", "one", "typed"), ("you", "two", "typed"), ("you", "from before", "")]


def test_typed_text_may_be_spoken_again() -> None:
    view = View()
    view.typed("yes")
    seemed_to_go_on = (started(2), InterimWords("and", low_confidence=False), taken("yes", 2, "requested"))
    for event in (taken("", origin="requested"), started(2), taken("yes", 2), *seemed_to_go_on):
        view.apply(event, AT)
    assert [(entry.text, entry.mark, entry.settled) for entry in view.entries] == [
        ("yes", "typed", True),
        ("yes", "", True),
    ]


def test_request_does_not_remove_current_speech() -> None:
    view = told(started(), InterimWords("what", low_confidence=False), taken("", turn=2, origin="requested"))
    assert plain(view) == [("you", "what", "")]


def test_unanswered_turn_is_marked() -> None:
    assert plain(told(started(), taken("to somebody else", answered=False))) == [
        ("you", "to somebody else", "not answered")
    ]


def test_early_end_of_a_reply_is_explained() -> None:
    view = told(begun(), ChunkSpoken(REPLY, "One."), ReplySent(REPLY, "One.", None, "length", None, None))
    assert plain(view) == [("repartee", "One.", "stopped early: length")]


def test_text_reply_is_joined_from_its_pieces() -> None:
    view = told(begun(spoken=False), ChunkSpoken(REPLY, "Hel"), ChunkSpoken(REPLY, "lo you"))
    assert plain(view) == [("repartee", "Hello you", "")]


def test_running_latency_is_computed() -> None:
    view = told(*[TurnFinished(record(turn, {"endpoint_wait": ms})) for turn, ms in enumerate((250.0, 450.0, 700.0))])
    assert view.latencies == LatencySummary(Latencies(3, 2, 450.0, 700.0))
    assert view.last is not None
    assert view.last.response_latency_ms == 700.0


def test_failed_turn_is_not_in_the_running_latency() -> None:
    failed = replace(record(2, {"endpoint_wait": 300.0}), error="the endpoint failed")
    view = told(TurnFinished(record(1, {"endpoint_wait": 450.0})), TurnFinished(failed))
    assert view.latencies == LatencySummary(Latencies(1, 1, 450.0, 450.0), 1, Latencies(1, 1, 300.0, 300.0))
    assert [line.plain for line in running(view.latencies)] == [
        "p50 450 ms  p95 450 ms", "1 of 1 turn within 200–500 ms", "1 more failed, apology after 300 ms",
    ]  # fmt: skip
    assert view.last == failed
    assert "failed, not counted" in headline(failed).plain
    assert "✓" not in headline(failed).plain


def test_failed_turn_is_reported_but_not_one_without_words() -> None:
    view = told(TurnFinished(record(3, {}, "failed")), TurnFinished(record(4, {}, "no words")))
    assert plain(view) == [("problem", "turn 3 failed: no reply was heard", "")]
    assert (view.troubles, view.trouble_at, view.latencies) == (1, AT, LatencySummary(failed=1))
    assert latency(view, 60, None, brief=False).plain == "no turn has been answered yet\n1 failed"


def test_typed_turns_are_counted_where_the_latency_would_be() -> None:
    typed = replace(record(1, {}), no_latency_reason="requested")
    view = told(TurnFinished(typed))
    assert latency(view, 60, None, brief=False).plain == "1 typed turn; typed turns have no response latency"
    view = told(TurnFinished(typed), TurnFinished(replace(typed, turn=2)))
    assert latency(view, 60, None, brief=True).plain == "2 typed turns; typed turns have no response latency"


@pytest.mark.parametrize("brief", [True, False])
def test_screen_has_no_percentiles_of_failed_turns_only(brief: bool) -> None:
    view = told(TurnFinished(replace(record(1, {"endpoint_wait": 300.0}), error="the endpoint failed")))
    shown = latency(view, 60, None, brief=brief).plain
    assert "1 failed, apology after 300 ms" in shown
    assert "p50" not in shown


def test_fallback_is_reported_once() -> None:
    view = View()
    for loaded in range(1, len(ENGINES) + 1):
        view.engines(ENGINES[:loaded], AT)
    assert [entry.who for entry in view.entries] == ["fallback"]
    assert "repartee models pull" in view.entries[0].text


def test_state_letters_have_one_width() -> None:
    for floor in get_args(Floor):
        rows = big(floor)
        assert len(rows) == 3
        assert len({len(row) for row in rows}) == 1


_TEXT = st.text(st.sampled_from("ab \n\x1b日"), max_size=6)
_REPLIES = st.builds(ReplyId, st.integers(1, 2), st.integers(1, 2))
_EVENTS = st.lists(
    st.one_of(
        st.builds(started, st.integers(1, 2)),
        st.builds(InterimWords, _TEXT, st.booleans()),
        st.builds(SpeechDiscarded, st.just(1), st.just(0.0), st.just("no words")),
        st.builds(taken, _TEXT, st.integers(1, 2), st.sampled_from(["spoken", "requested", "greeting"])),
        st.builds(ReplyStarted, _REPLIES, st.just(ItemId("reply")), st.booleans()),
        st.builds(ChunkSpoken, _REPLIES, _TEXT),
        st.builds(placed, _REPLIES, _TEXT),
        st.builds(ReplyStopped, _REPLIES, _TEXT, st.just(100.0), st.sampled_from(["voice", "went on"])),
        st.builds(Problem, _TEXT),
        st.floats(0.0, 3000.0),
    ),
    max_size=40,
)


@given(_EVENTS)
def test_entries_stay_consistent_for_any_events(events: list[SessionEvent | float]) -> None:
    view = View()
    for event in events:
        if isinstance(event, float):
            view.set_status(replace(STATUS, played_ms=event))
        else:
            view.apply(event, AT)
        keys = [entry.key for entry in view.entries]
        assert len(set(keys)) == len(keys)
        assert sum(not entry.settled for entry in view.entries) <= 1
        assert sum(entry.highlight is not None for entry in view.entries) <= 1
        for entry in view.entries:
            assert "\n" not in entry.text
            assert entry.unheard_from is None or 0 <= entry.unheard_from <= len(entry.text)
            assert entry.highlight is None or 0 <= entry.highlight[0] < entry.highlight[1] <= len(entry.text)
            assert entry.settled or entry is view.entries[-1]


def test_long_conversation_keeps_its_end() -> None:
    view = View()
    for turn in range(MAX_ENTRIES):
        for event in exchange(turn, f"question {turn}", ["An answer."], {}):
            view.apply(event, AT)
    assert len(view.entries) == MAX_ENTRIES
    assert view.entries[-2].text == f"question {MAX_ENTRIES - 1}"
