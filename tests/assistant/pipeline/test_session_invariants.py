"""Invariants of complete conversations under random speech, typing, key presses and cancellations.

In virtual time. Every word of a scenario is unique, so that its origin is known wherever it appears.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.conversations.conversation_checks import (
    ObservedReply,
    check_history_was_heard,
    check_turn_ends_once,
    check_unconfirmed_reply_is_silent,
    observed_replies,
    restored_items,
)
from support.conversations.simulation import LoudnessVad, Simulation, Utterance
from support.examples import examples

from assistant.events import TurnFinished, UserTurnCommitted
from assistant.history.items import AssistantMessage, Item, UserMessage, without_resumed_rests
from assistant.storage.conversation_file import ConversationFile
from assistant.storage.conversation_store import ConversationStore, Draft
from assistant.storage.store_format import item_lines, parse_conversation
from assistant.turns.push_to_talk import PushToTalk
from assistant.turns.settings import EndsTurn, InterruptedBy, RecheckThresholds, TurnSettings
from assistant.turns.state.states import Phase
from assistant.turns.words.wake_phrase import WakePhrase, WakePhraseGate
from audio.units import samples_of_s

pytestmark = pytest.mark.slow

GRID_MS = 200
LATE_MS = (0, 60, 140)


@dataclass(frozen=True, slots=True)
class Action:
    """An action of the user at a moment."""

    at_ms: int
    what: str  # type, repeat, cancel, mute, unmute, press, release, clear


def utterances(says: Sequence[tuple[int, int]], longer: int = 0) -> list[Utterance]:
    """Returns utterances: for each, its number of 200 ms words and the pause before it, on the time grid.

    `longer`: time for this many more words is left after each.
    """
    spoken, at_ms = list[Utterance](), 400
    for number, (words, pause) in enumerate(says):
        at_ms += pause * GRID_MS
        text = " ".join(f"said{number}x{word}" for word in range(words))
        spoken.append(Utterance(at_ms, at_ms + words * GRID_MS, text))
        at_ms = spoken[-1].end_ms + longer * GRID_MS
    return spoken


class CheckedSimulation:
    """A simulation that stores the history at each event."""

    def __init__(self, simulation: Simulation, actions: Sequence[Action]) -> None:
        self.simulation = simulation
        self.kept: list[Item] = []
        self.typed: list[tuple[int, str]] = []
        simulation.recognizer.word_by_word = True
        for number, one in enumerate(actions):
            simulation.at(one.at_ms, lambda one=one, number=number: self._do(one, number))  # type: ignore[misc]
        self.result = simulation.run()
        self.floor = simulation.session.turns.phase
        self._keep()

    def _do(self, actions: Action, number: int) -> None:
        session = self.simulation.session
        match actions.what:
            case "type":
                self.typed.append((actions.at_ms, f"typed{number}"))
                session.type(f"typed{number}")
            case "repeat":
                session.repeat()
            case "cancel":
                session.cancel_reply(including_request=True)
            case "mute" | "unmute":
                self.simulation.microphone.muted = actions.what == "mute"
            case "press" | "release":
                session.set_push_to_talk(pressed=actions.what == "press")
            case "clear":
                session.clear_input()

    def _keep(self) -> None:
        """Passes the events to a conversation store."""
        memory = ConversationStore(ConversationFile(Path("nowhere"), lambda: 0.0), "one", "", pytest.fail)
        for _, event, items in self.simulation.events_with_history:
            memory.record(event, items)
        self.kept = [one for one in memory._writer._waiting if not isinstance(one, Draft)]


def check(watched: CheckedSimulation) -> None:
    result = watched.result
    replies = observed_replies(result)
    check_unconfirmed_reply_is_silent(result, replies)
    check_history_was_heard(result, replies)
    check_turn_ends_once(result, replies)
    check_every_word_is_answered(watched, replies)
    store_contains_the_final_history(watched)
    assert watched.floor is Phase.IDLE, "stuck"


def check_every_word_is_answered(watched: CheckedSimulation, replies: list[ObservedReply]) -> None:
    """Checks that each word is answered, by the reply to its own turn or to a later turn that interrupted it."""
    items = [item.text for item in watched.result.history.items if isinstance(item, UserMessage)]
    spoken = [
        (at_ms, event.item.text)
        for at_ms, event in watched.result.events
        if isinstance(event, UserTurnCommitted) and isinstance(event.item, UserMessage)
    ]
    assert sorted(items) == sorted(text for _, text in [*spoken, *watched.typed]), "words came in twice, or were lost"
    restored = restored_items(watched.result, replies)
    given = [one for one in replies if not one.retracted or one.item in restored]
    for at_ms, text in [*spoken, *watched.typed]:
        answered = [one for one in given if one.begun_ms >= at_ms and one.origin in {"spoken", "requested"}]
        assert answered, f"{text} was never answered"


def store_contains_the_final_history(watched: CheckedSimulation) -> None:
    """Checks the stored items. Only words that were resumed later may differ: the file still has them as unheard."""
    history, kept = list(watched.result.history.items), watched.kept
    resumed = without_resumed_rests(tuple(kept))
    assert len(kept) == len(history), "an item is missing in the file, or stands in it twice"
    for stored, without_rest, item in zip(kept, resumed, history, strict=True):
        assert item in (stored, without_rest), "what is in the file is not what was said and heard"
    assert list(parse_conversation(b"\n" + item_lines(kept)).items) == kept


says = st.lists(st.tuples(st.integers(1, 5), st.integers(1, 8)), min_size=1, max_size=4)
delays_ms = st.sampled_from([0.0, 20.0, 300.0, 1200.0])
REPLIES = ("one two three four five six seven eight. nine ten eleven twelve.", "thirteen.", "fourteen fifteen sixteen.")


def actions(*what: str) -> st.SearchStrategy[list[Action]]:
    """Sorted times that are not frame boundaries."""
    one = st.builds(Action, st.integers(1, 150).map(lambda number: number * 40 + 7), st.sampled_from(what))
    return st.lists(one, max_size=5).map(lambda found: sorted(found, key=lambda one: one.at_ms))


def end_ms(spoken: Sequence[Utterance], acts: Sequence[Action]) -> int:
    return max([part.end_ms for part in spoken] + [act.at_ms for act in acts]) + 600


def simulated_records(
    spoken: Sequence[Utterance], acts: Sequence[Action], turns: TurnSettings, delay_ms: float, **more: object
) -> Simulation:
    simulation = Simulation(spoken, end_ms(spoken, acts), REPLIES, turns, **more)  # type: ignore[arg-type]
    simulation.recognizer.delay_ms = delay_ms
    return simulation


@settings(max_examples=examples(12))
@given(
    says,
    st.lists(st.booleans(), min_size=4, max_size=4),
    actions("type", "repeat", "cancel", "mute", "unmute", "clear"),
    delays_ms,
    st.sampled_from([None, 60.0]),
    st.lists(st.tuples(st.integers(10, 300), st.integers(1, 8)), max_size=8),
)
@example([(3, 1), (1, 3)], [False, True], [], 0.0, None, [])
def test_open_microphone_invariants(
    parts: list[tuple[int, int]],
    coughs: list[bool],
    acts: list[Action],
    delay_ms: float,
    speculate_ms: float | None,
    possible_onsets: list[tuple[int, int]],
) -> None:
    acts = [*acts, Action(6_100, "unmute")]
    spoken = [
        replace(part, words="" if cough else part.words) for part, cough in zip(utterances(parts), coughs, strict=False)
    ]
    vad = LoudnessVad(possible_onsets=[(20 * since, 20 * (since + frames)) for since, frames in possible_onsets])
    check(
        CheckedSimulation(
            simulated_records(spoken, acts, TurnSettings(speculate_after_ms=speculate_ms), delay_ms, vad=vad), acts
        )
    )


@settings(max_examples=examples(12))
@given(
    st.integers(2, 12),
    st.lists(st.integers(0, 11), max_size=4),
    delays_ms,
    st.sampled_from([None, 60.0]),
    st.integers(0, 1),
    st.sampled_from([None, 0, 1, 3]),
)
@example(3, [], 900.0, 60.0, 1, None)
def test_no_spoken_word_is_lost(
    words: int,
    typed_at: list[int],
    delay_ms: float,
    speculate_ms: float | None,
    early_missing_words: int,
    draft_missing_words: int | None,
) -> None:
    """Typing at any moment of an utterance, repeatedly, with early transcripts, while one is pending,
    or with a draft: every word appears once and is answered."""
    spoken = utterances([(words, 1)])
    moments = sorted({spoken[0].start_ms + 120 + number % words * GRID_MS for number in typed_at})
    acts = [Action(at_ms, "type") for at_ms in moments]
    turns = TurnSettings(speculate_after_ms=speculate_ms, rechecks=RecheckThresholds(settle_ms=160.0))
    simulation = simulated_records(spoken, acts, turns, delay_ms)
    simulation.recognizer.early_missing_words, simulation.recognizer.draft_missing_words = (
        early_missing_words,
        draft_missing_words,
    )
    watched = CheckedSimulation(simulation, acts)
    check(watched)
    said = [item.text for item in watched.result.history.items if isinstance(item, UserMessage) and item.spoken]
    assert " ".join(said) == spoken[0].words


@settings(max_examples=examples(12))
@given(
    says,
    st.lists(st.sampled_from(["named", "not", "within"]), min_size=4, max_size=4),
    actions("type", "repeat", "cancel", "mute", "unmute"),
    delays_ms,
    st.sampled_from([0.0, 3.0]),
    st.booleans(),
    st.sampled_from([None, 0, 1, 3]),
)
def test_wake_phrase_invariants(
    parts: list[tuple[int, int]],
    named: list[str],
    acts: list[Action],
    delay_ms: float,
    listen_s: float,
    partials: bool,
    draft_missing_words: int | None,
) -> None:
    """Speech that is not addressed reaches no model, history, screen or trace, not even as timing."""
    spoken, secret = list[Utterance](), set[str]()
    for part, how in zip(utterances(parts, longer=4), named, strict=False):
        words = part.words.split()
        if how == "named":
            said = ["hey", "computer", *(word.replace("said", "asked") for word in words)]
        else:  # "within": it follows a sentence that is not addressed to the assistant
            said = [*words[:-1], f"{words[-1]}.", "hey", "computer", "what"] if how == "within" else words
            secret |= set(words)
        spoken.append(Utterance(part.start_ms, part.start_ms + len(said) * GRID_MS, " ".join(said)))
    attention = WakePhraseGate(WakePhrase("hey computer"), samples_of_s(listen_s))
    interrupted_by = InterruptedBy.VOICE if listen_s else InterruptedBy.WAKE_PHRASE
    turns = TurnSettings(speculate_after_ms=60.0, interrupted_by=interrupted_by)
    simulation = simulated_records(spoken, acts, turns, delay_ms, wake_phrase=attention)
    simulation.recognizer.partials, simulation.recognizer.draft_missing_words = partials, draft_missing_words
    watched = CheckedSimulation(simulation, acts)
    check(watched)
    if not listen_s and not any(act.what == "mute" for act in acts):  # muting may cut off all but the phrase
        check_absent(watched, secret - said_on(spoken))


def said_on(spoken: Sequence[Utterance]) -> set[str]:
    """Speech after the wake phrase, without a pause that ends the turn, is addressed to the assistant."""
    found, addressed = set[str](), False
    for before, part in pairwise([Utterance(-9000, -9000, ""), *spoken]):
        addressed = ("hey" in before.words or addressed) and part.start_ms - before.end_ms < 700
        found |= {word.strip(".") for word in part.words.split()} if addressed else set()
    return found


def check_absent(watched: CheckedSimulation, words: set[str]) -> None:
    result = watched.result
    everything = (
        repr([event for _, event in result.events if not isinstance(event, TurnFinished)]),
        repr(watched.simulation.model.asked),
        repr(result.history.items),
        json.dumps([record.to_json() for record in result.records]),
    )
    for word in words:
        assert not any(word in one for one in everything), f"{word} was for somebody else"


@settings(max_examples=examples(12))
@given(
    says,
    st.lists(st.tuples(st.integers(1, 15), st.integers(1, 15)), max_size=4),
    st.lists(st.sampled_from(LATE_MS), max_size=6),
    delays_ms,
)
@example([(1, 1)], [(1, 1), (1, 1)], [140], 0.0)
def test_push_to_talk_invariants(
    parts: list[tuple[int, int]], spans: list[tuple[int, int]], late_ms: list[int], delay_ms: float
) -> None:
    """Exactly the speech between press and release is in a turn, whenever its frames arrive.

    Exception: a word at the release. Its 200 ms lie within the 300 ms that are still recorded.
    """
    spoken, acts, at = utterances(parts), list[Action](), 1
    for apart, length in spans:
        acts += [Action((at + apart) * GRID_MS, "press"), Action((at + apart + length) * GRID_MS, "release")]
        at += apart + length
    turns = TurnSettings(speculate_after_ms=60.0, ends_turn=EndsTurn.PUSH_TO_TALK)
    watched = CheckedSimulation(
        simulated_records(spoken, acts, turns, delay_ms, push_to_talk=PushToTalk(), late_ms=[0, *late_ms]), acts
    )
    check(watched)
    inside = []
    for part in spoken:
        for number, word in enumerate(part.words.split()):
            start_ms = part.start_ms + number * GRID_MS
            for press, release in zip(acts[::2], acts[1::2], strict=True):
                spoken_into = number > 0 and start_ms == release.at_ms
                if press.at_ms <= start_ms < release.at_ms or spoken_into:
                    inside.append(word)
                    break
    said = [
        word for item in watched.result.history.items if isinstance(item, UserMessage) for word in item.text.split()
    ]
    assert said == inside


@settings(max_examples=examples(12))
@given(says, actions("press", "release", "type", "repeat", "cancel", "mute", "unmute"), delays_ms)
def test_push_to_talk_with_other_actions_invariants(
    parts: list[tuple[int, int]], acts: list[Action], delay_ms: float
) -> None:
    acts = [*acts, Action(6_100, "release"), Action(6_100, "unmute")]
    turns = TurnSettings(speculate_after_ms=60.0, ends_turn=EndsTurn.PUSH_TO_TALK)
    check(
        CheckedSimulation(simulated_records(utterances(parts), acts, turns, delay_ms, push_to_talk=PushToTalk()), acts)
    )


@settings(max_examples=examples(12))
@given(st.lists(st.tuples(st.integers(1, 25), st.integers(1, 6)), min_size=1, max_size=4), delays_ms)
@example([(4, 3), (2, 3)], 0.0)
def test_coughs_do_not_shorten_the_reply(coughs: list[tuple[int, int]], delay_ms: float) -> None:
    """At any position and any number of times."""
    says, at_ms = [Utterance(400, 1000, "what time is it")], 1000
    for apart, length in coughs:
        at_ms += apart * GRID_MS
        says.append(Utterance(at_ms, at_ms + length * 100, ""))
        at_ms += length * 100
    sentences = ["It is ten.", "And one, two, three, four, five, six.", "Seven, eight, nine, or ten.", "That is all."]
    text = " ".join(sentences)
    simulation = simulated_records(says, [], TurnSettings(speculate_after_ms=60.0), delay_ms)
    simulation.model.replies, simulation.model.token_ms = (text,), 0.1
    watched = CheckedSimulation(simulation, [])
    check(watched)
    items = watched.result.history.items
    answers = [item for item in items if isinstance(item, AssistantMessage) and not item.withdrawn]
    said, begins = 0, [text.index(sentence) for sentence in sentences]
    for answer in answers:  # each starts at the sentence in which the previous one was interrupted
        since = max(begin for begin in begins if begin <= said)
        assert text[since:].startswith(answer.text)
        said = since + len(answer.text) + 1
    assert said == len(text) + 1
