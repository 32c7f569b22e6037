"""Turn taking: the table of people who go on, and the invariants under any order of events."""

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import count, cycle
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from assistant.end_of_turn.estimator import EndOfTurnEstimate, EndOfTurnProfile
from assistant.turns.backchannel import plain_words
from assistant.turns.events import (
    CloseSegment,
    CommitTurn,
    DiscardSegment,
    DropAttempt,
    DuckReply,
    Effect,
    EndOfTurn,
    EndOfTurnScored,
    Event,
    FinalTranscript,
    FrameProcessed,
    HoldPlayback,
    InputCleared,
    InputCommitted,
    InterimTranscript,
    InterruptReply,
    KeyPressed,
    OpenSegment,
    PlaybackProgress,
    PrepareReply,
    RecordTurn,
    ReleasePlayback,
    ReplyCancelled,
    ReplyEnded,
    ReplyId,
    ReplyRequested,
    RequestTranscript,
    ResumeReply,
    RetractReply,
    Transcribe,
    TranscriptFailed,
    TurnDiscarded,
    TurnStarted,
    UnduckReply,
)
from assistant.turns.machine import TurnTaking
from assistant.turns.push_to_talk import PushToTalk
from assistant.turns.queued_turns import MAX_QUEUED_TURNS
from assistant.turns.resume_guard import LOOK_MS
from assistant.turns.settings import TurnSettings
from assistant.turns.states import Phase
from assistant.turns.user_turn import EARLY_ATTEMPTS, EARLY_ATTEMPTS_PER_S, LATE_ATTEMPT_MS
from audio.frame import Frame
from audio.stt import SegmentId, Transcript
from audio.units import FRAME_SAMPLES, Samples, samples_of_ms
from audio.vad import VadResult

SOME_SEGMENT = SegmentId(0)
LOUD = np.full(FRAME_SAMPLES, 5000, np.int16)


def at(ms: float) -> Samples:
    return samples_of_ms(ms)


def words(text: str, segment: SegmentId = SOME_SEGMENT) -> Transcript:
    return Transcript(segment, Samples(0), text)


class Scene:
    """A conversation told by hand: stretches of voice and silence, and what the session would report."""

    def __init__(self, settings: TurnSettings | None = None) -> None:
        self.turns = TurnTaking(settings or TurnSettings())
        self.now_ms = 0.0
        self.edge_ms = self.onset_ms = 0.0
        self.speaking = False
        self.effects: list[Effect] = []

    def floor(self) -> Phase:
        return self.turns.phase

    def tell(self, event: Event) -> tuple[Effect, ...]:
        effects = self.turns.tell(event)
        self.effects.extend(effects)
        return effects

    def voice(self, ms: float) -> tuple[Effect, ...]:
        return self._go(ms, speaking=True)

    def silence(self, ms: float) -> tuple[Effect, ...]:
        return self._go(ms, speaking=False)

    def fading(self, ms: float) -> tuple[Effect, ...]:
        """The detector has not closed yet, but hears no voice any more."""
        if self.speaking:
            self.onset_ms, self.edge_ms, self.speaking = self.edge_ms, self.now_ms, False
        told: tuple[Effect, ...] = ()
        for _ in range(0, int(ms), 20):
            self.now_ms += 20
            voicing = VadResult(True, at(self.onset_ms), 0.1, possible_end=at(self.edge_ms))
            told += self.tell(FrameProcessed(at(self.now_ms), voicing))
        return told

    def babble(self, ms: float, probability: float = 0.58) -> tuple[Effect, ...]:
        """Something that may be voice, and never surely is."""
        return self._go(ms, speaking=True, probability=probability)

    def stirring(self, ms: float) -> tuple[Effect, ...]:
        """Silence that may be the beginning of a voice."""
        return self._go(ms, speaking=False, stirs=True)

    def beginning(self, ms: float, probability: float) -> tuple[Effect, ...]:
        """The first syllable: louder than anything in the silence before it."""
        return self._go(ms, speaking=True, probability=probability, clear=True)

    def murmur(self, ms: float) -> tuple[Effect, ...]:
        """Surely a voice, and no louder than what was heard before it."""
        return self._go(ms, speaking=True, murmur=True)

    def _go(
        self,
        ms: float,
        *,
        speaking: bool,
        probability: float = 1.0,
        stirs: bool = False,
        clear: bool = False,
        murmur: bool = False,
    ) -> tuple[Effect, ...]:
        if speaking != self.speaking:
            self.speaking, self.edge_ms = speaking, self.now_ms
        told: list[Effect] = []
        end_ms = self.now_ms + ms
        while self.now_ms < end_ms:
            self.now_ms += 20
            sure = speaking * probability
            voicing = VadResult(
                speaking, at(self.edge_ms), sure, possible_onset=stirs, above_noise=clear, background_level=murmur
            )
            told += self.tell(FrameProcessed(at(self.now_ms), voicing))
        return tuple(told)

    def transcribed(self, reply: ReplyId, text: str) -> tuple[Effect, ...]:
        return self.tell(FinalTranscript(at(self.now_ms), reply, words(text)))

    def asked(self, text: str, effects: tuple[Effect, ...], *, rough: bool = False) -> tuple[Effect, ...]:
        """The words that a voice into a reply was asked for come."""
        [asked] = [effect for effect in effects if isinstance(effect, RequestTranscript)]
        heard = replace(words(text, asked.segment), low_confidence=rough)
        return self.tell(InterimTranscript(at(self.now_ms), heard, was_requested=True))

    def playing(self, reply: ReplyId, words_heard: int, *, audible: bool = True) -> tuple[Effect, ...]:
        return self.tell(PlaybackProgress(at(self.now_ms), reply, words_heard, audible))

    def replying(self, text: str = "what time is it", *, words_heard: int = 0, audible: bool = False) -> ReplyId:
        """Up to a committed reply of which so much was heard."""
        self.silence(500)
        self.voice(800)
        self.silence(500)
        reply = ReplyId(1, 1)
        self.transcribed(reply, text)
        assert self.floor() is Phase.REPLYING
        if audible:
            self.playing(reply, words_heard)
        return reply


FIRST = ReplyId(1, 1)


def test_a_plain_turn() -> None:
    scene = Scene()
    assert scene.silence(500) == ()
    assert scene.voice(800) == (OpenSegment(SegmentId(at(200)), at(500)), TurnStarted(1, at(500)))
    assert scene.silence(380) == ()
    assert scene.silence(20) == (Transcribe(FIRST, SegmentId(at(200)), at(1300)), EndOfTurn(1))
    assert scene.floor() is Phase.AWAITING_TRANSCRIPT
    assert scene.transcribed(FIRST, " what time is it ") == (
        PrepareReply(FIRST, "what time is it", "what time is it"),
        CommitTurn(FIRST, "what time is it", "what time is it", at(1300)),
        CloseSegment(SegmentId(at(200)), 1),
    )
    assert scene.floor() is Phase.REPLYING
    assert scene.tell(ReplyEnded(at(3000), FIRST)) == ()
    assert scene.floor() is Phase.IDLE


def test_the_pre_roll_does_not_reach_into_the_turn_before() -> None:
    scene = Scene()
    scene.replying()
    scene.tell(ReplyEnded(at(scene.now_ms), FIRST))
    opened = [effect for effect in scene.voice(100) if isinstance(effect, OpenSegment)]
    assert opened == [OpenSegment(SegmentId(at(1500)), at(1800))]


def test_speculation_prepares_before_the_endpoint_and_commits_at_it() -> None:
    scene = Scene(TurnSettings(hangover_ms=400, speculate_after_ms=100))
    scene.voice(800)
    assert scene.silence(100) == (Transcribe(FIRST, SegmentId(0), at(800)),)
    assert scene.transcribed(FIRST, "hello") == (PrepareReply(FIRST, "hello", "hello"),)
    assert scene.floor() is Phase.USER_SPEAKING
    assert scene.silence(280) == ()
    assert scene.silence(20) == (
        EndOfTurn(1),
        CommitTurn(FIRST, "hello", "hello", at(800)),
        CloseSegment(SegmentId(0), 1),
    )


def test_going_on_before_the_commit_drops_the_attempt() -> None:
    scene = Scene(TurnSettings(hangover_ms=400, speculate_after_ms=100))
    scene.voice(800)
    scene.silence(100)
    scene.transcribed(FIRST, "a small coffee")
    assert scene.voice(20) == (DropAttempt(FIRST, "went on"),)
    scene.voice(500)
    assert scene.silence(100) == (Transcribe(ReplyId(1, 2), SegmentId(0), at(1420)),)
    assert scene.transcribed(FIRST, "a small coffee") == ()  # late words of the dropped attempt
    scene.transcribed(ReplyId(1, 2), "a small coffee with milk")
    assert CommitTurn(ReplyId(1, 2), "a small coffee with milk", "a small coffee with milk", at(1420)) in scene.silence(
        300
    )


def test_going_on_while_the_words_are_awaited_reopens_the_turn() -> None:
    scene = Scene()
    scene.voice(800)
    scene.silence(500)
    assert scene.floor() is Phase.AWAITING_TRANSCRIPT
    assert scene.voice(20) == (DropAttempt(FIRST, "went on"),)
    assert scene.floor() is Phase.USER_SPEAKING


def test_going_on_before_anything_was_heard_retracts_and_joins() -> None:
    scene = Scene()
    reply = scene.replying("a small coffee")
    segment = SegmentId(at(1500))
    assert scene.voice(20) == (OpenSegment(segment, at(1800)), RetractReply(reply), TurnStarted(1, at(1800)))
    scene.voice(500)
    assert Transcribe(ReplyId(1, 2), segment, at(2320)) in scene.silence(400)
    assert scene.transcribed(ReplyId(1, 2), "with milk") == (
        PrepareReply(ReplyId(1, 2), "a small coffee with milk", "with milk"),
        CommitTurn(ReplyId(1, 2), "a small coffee with milk", "with milk", at(2320)),
        CloseSegment(segment, 1),
    )


def prepared_by_the_end() -> Scene:
    """Up to 20 ms before the end of a turn whose answer is ready."""
    scene = Scene(TurnSettings(hangover_ms=400, speculate_after_ms=100))
    scene.voice(800)
    scene.silence(100)
    scene.transcribed(FIRST, "a small coffee")
    scene.silence(280)
    return scene


def test_a_turn_does_not_end_on_a_frame_that_may_be_them_going_on() -> None:
    scene = prepared_by_the_end()
    assert scene.stirring(60) == ()
    assert scene.voice(20) == (DropAttempt(FIRST, "went on"),)


def test_what_stirs_and_is_no_voice_costs_a_moment() -> None:
    scene = prepared_by_the_end()
    assert scene.stirring(60) == ()
    assert EndOfTurn(1) in scene.silence(20)


def test_nor_is_a_room_that_is_never_silent_waited_for() -> None:
    scene = prepared_by_the_end()
    assert scene.stirring(LOOK_MS) == ()
    ended = scene.stirring(20)
    assert [effect for effect in ended if isinstance(effect, EndOfTurn | CommitTurn | HoldPlayback)] == [
        EndOfTurn(1),
        CommitTurn(FIRST, "a small coffee", "a small coffee", at(800)),
    ]
    assert scene.stirring(200) == (), "it was waited for already"


def test_each_silence_is_looked_at_afresh() -> None:
    scene = prepared_by_the_end()
    assert scene.stirring(60) == ()
    scene.voice(500)
    scene.silence(100)
    scene.transcribed(ReplyId(1, 2), "a small coffee with milk")
    scene.silence(280)
    assert scene.stirring(LOOK_MS) == ()
    assert EndOfTurn(1) in scene.stirring(20)


def test_so_it_is_where_the_silence_turns_out_to_be_longer() -> None:
    scene = prepared_by_the_end()
    assert scene.stirring(40) == ()
    assert scene.turns._state.turn is not None
    scene.turns._state.turn.wait_ms = 600.0
    assert scene.silence(160) == ()
    assert scene.stirring(LOOK_MS) == ()
    assert EndOfTurn(1) in scene.stirring(20)


@pytest.mark.parametrize("changed", [{"interruptible": False}, {"manual": True}, {"held": True}, {"by_client": True}])
def test_what_a_client_ends_or_nobody_may_interrupt_is_answered_at_once(changed: dict[str, bool]) -> None:
    scene = Scene(TurnSettings(hangover_ms=400, speculate_after_ms=100, **changed))  # type: ignore[arg-type]
    scene.voice(800)
    scene.silence(60)
    told = scene.stirring(400)
    told += scene.tell(InputCommitted(at(scene.now_ms)))
    told += scene.stirring(40)
    for attempt in (1, 2):
        told += scene.transcribed(ReplyId(1, attempt), "hello")
    told += scene.tell(ReplyRequested(at(scene.now_ms), "requested"))
    assert any(isinstance(effect, CommitTurn) for effect in told)
    assert not any(isinstance(effect, HoldPlayback) for effect in told)


def test_an_answer_that_was_not_heard_yet_waits_for_a_moment_where_they_may_be_going_on() -> None:
    scene = Scene()
    reply = scene.replying("a small coffee")
    assert not scene.turns.is_quiet, "the next silent frame may hold it"
    assert scene.stirring(20) == (HoldPlayback(reply),)
    assert scene.stirring(40) == ()
    assert not scene.turns.is_quiet
    assert scene.silence(20) == (ReleasePlayback(reply),)
    assert scene.stirring(LOOK_MS) == (HoldPlayback(reply),)
    assert scene.stirring(20) == (ReleasePlayback(reply),)
    assert scene.stirring(100) == ()
    scene.playing(reply, 0)
    assert scene.turns.is_quiet
    assert scene.voice(20)[0] == DuckReply(reply)


def test_who_goes_on_while_it_waits_has_heard_nothing() -> None:
    scene = Scene()
    reply = scene.replying("a small coffee")
    assert scene.stirring(40) == (HoldPlayback(reply),)
    assert scene.voice(20)[1:] == (RetractReply(reply), TurnStarted(1, at(scene.now_ms - 20)))


def test_it_waits_from_the_beginning_where_the_words_came_on_such_a_frame() -> None:
    scene = Scene()
    scene.voice(800)
    scene.silence(460)
    assert scene.stirring(40) == ()
    assert scene.transcribed(FIRST, "hello")[2] == HoldPlayback(FIRST)
    assert scene.silence(20) == (ReleasePlayback(FIRST),)


@pytest.mark.parametrize("case", ["heard", "greeting", "not interruptible"])
def test_no_other_answer_waits(case: str) -> None:
    scene = Scene(TurnSettings(interruptible=case != "not interruptible"))
    if case == "greeting":
        scene.tell(ReplyRequested(at(0), "greeting", "Hello."))
    else:
        scene.replying(audible=case == "heard")
    assert scene.stirring(100) == ()


def test_an_answer_that_may_not_be_interrupted_any_more_does_not_wait_any_longer() -> None:
    for speaks in (False, True):
        scene = Scene()
        reply = scene.replying()
        assert scene.stirring(20) == (HoldPlayback(reply),)
        scene.turns.settings = replace(scene.turns.settings, interruptible=False)
        assert (scene.voice(20) if speaks else scene.stirring(20))[0] == ReleasePlayback(reply)


def test_going_on_within_the_first_word_retracts_after_a_moment() -> None:
    scene = Scene()
    reply = scene.replying(words_heard=0, audible=True)
    assert scene.voice(20) == (DuckReply(reply), OpenSegment(SegmentId(at(1500)), at(1800)))
    assert scene.voice(260) == ()
    assert scene.voice(20) == (RetractReply(reply), TurnStarted(1, at(1800)))
    assert scene.floor() is Phase.USER_SPEAKING


def test_going_on_after_a_word_interrupts_and_opens_a_new_turn() -> None:
    scene = Scene()
    reply = scene.replying(words_heard=3, audible=True)
    scene.voice(280)
    assert scene.voice(20) == (TurnStarted(2, at(1800)), InterruptReply(reply, continues_turn=True))
    scene.voice(500)
    assert Transcribe(ReplyId(2, 1), SegmentId(at(1500)), at(2600)) in scene.silence(400)


def test_a_cough_ducks_and_lets_the_reply_swell_up_again() -> None:
    scene = Scene()
    reply = scene.replying(words_heard=3, audible=True)
    assert scene.voice(160) == (DuckReply(reply), OpenSegment(SegmentId(at(1500)), at(1800)))
    assert scene.silence(140) == ()
    asked = scene.silence(20)
    assert asked == (RequestTranscript(SegmentId(at(1500)), at(1960)),), "a short word, or a cough?"
    assert scene.floor() is Phase.REPLYING
    assert scene.asked("", asked) == (UnduckReply(reply), DiscardSegment(SegmentId(at(1500)), 1))
    assert scene.floor() is Phase.REPLYING
    assert scene.silence(2000) == ()


def test_a_word_that_was_not_surely_a_voice_interrupts_as_soon_as_it_is_known() -> None:
    scene = Scene()
    reply = scene.replying(words_heard=3, audible=True)
    scene.silence(1000)
    scene.babble(160)
    asked = scene.silence(160)
    assert scene.asked("Quit.", asked) == (TurnStarted(2, at(2800)), InterruptReply(reply))
    scene.silence(500)
    assert [(effect.reply.turn, effect.speech_end) for effect in scene.effects if isinstance(effect, Transcribe)][
        -1
    ] == (2, at(2960))


def test_who_was_understood_once_is_believed_also_where_their_last_words_are_a_guess() -> None:
    scene = Scene()
    scene.replying(words_heard=3, audible=True)
    scene.silence(1000)
    scene.babble(160, 0.6)
    scene.asked("Quit.", scene.silence(160))
    [asking] = [effect for effect in scene.silence(500) if isinstance(effect, Transcribe)]
    told = FinalTranscript(at(scene.now_ms), asking.reply, replace(words("quit", asking.segment), low_confidence=True))
    assert any(isinstance(effect, CommitTurn) for effect in scene.tell(told)), "no noise"


@pytest.mark.parametrize(("text", "rough"), [("", False), ("Mhm.", False), ("the", True)])
def test_what_is_no_word_to_interrupt_with_lets_the_reply_swell_up_at_once(text: str, *, rough: bool) -> None:
    scene = Scene()
    reply = scene.replying(words_heard=3, audible=True)
    scene.silence(1000)
    scene.babble(160)
    asked = scene.silence(160)
    discarded = DiscardSegment(SegmentId(at(2500)), 1)
    assert scene.asked(text, asked, rough=rough) == (UnduckReply(reply), discarded)
    assert scene.asked("quit", asked) == (), "of a voice that was forgiven"


def test_words_that_do_not_come_in_time_are_not_waited_for() -> None:
    scene = Scene()
    reply = scene.replying(words_heard=3, audible=True)
    scene.silence(1000)
    scene.babble(160)
    asked = scene.silence(160)
    assert scene.silence(780) == ()
    assert scene.silence(20) == (UnduckReply(reply), DiscardSegment(SegmentId(at(2500)), 1))
    assert scene.asked("quit", asked) == ()


def test_a_voice_that_begins_anew_while_words_are_waited_for_counts_from_nothing_and_is_asked_for_as_well() -> None:
    scene = Scene()
    reply = scene.replying(words_heard=3, audible=True)
    scene.silence(1000)
    scene.voice(280)
    asked = scene.silence(200)
    assert scene.voice(280) == (), "the reply is lowered as it was, and 280 ms are not enough"
    assert scene.asked("", asked) == (), "nothing, but of what was said before"
    again = scene.silence(160)
    assert again == (RequestTranscript(SegmentId(at(2500)), at(3560)),)
    assert scene.asked("no wait", again) == (TurnStarted(2, at(2800)), InterruptReply(reply))


def test_babble_that_goes_on_and_off_lowers_the_reply_for_a_second() -> None:
    scene = Scene()
    scene.replying(words_heard=3, audible=True)
    scene.silence(1000)
    for _ in range(20):
        scene.babble(300, 0.6)
        scene.silence(100)
    ducks = [type(effect) for effect in scene.effects if isinstance(effect, DuckReply | UnduckReply)]
    assert ducks[:2] == [DuckReply, UnduckReply]
    assert ducks == [DuckReply, UnduckReply] * 3 + [DuckReply], "three of its segments are over"


def test_who_is_called_roughly_into_a_silence_is_believed() -> None:
    scene = Scene()
    scene.silence(1000)
    scene.babble(200, 0.6)
    [wanted] = [effect for effect in scene.silence(160) if isinstance(effect, RequestTranscript)]
    heard = replace(words("computer", wanted.segment), low_confidence=True)
    assert scene.tell(InterimTranscript(at(scene.now_ms), heard, has_wake_phrase=True, was_requested=True)) == (
        TurnStarted(1, at(1000)),
    )
    scene.silence(400)
    told = FinalTranscript(at(scene.now_ms), FIRST, replace(words("what time", wanted.segment), low_confidence=True))
    assert any(isinstance(effect, CommitTurn) for effect in scene.tell(told)), "no noise"


@pytest.mark.parametrize("silence_ms", [20, 160])
@pytest.mark.parametrize(("text", "said"), [("quit", (TurnStarted(2, at(2800)),)), ("", ())])
def test_a_voice_that_waits_for_its_words_when_the_reply_ends_is_a_turn_if_it_has_any(
    silence_ms: float, text: str, said: tuple[Effect, ...]
) -> None:
    scene = Scene()
    reply = scene.replying(words_heard=3, audible=True)
    scene.silence(1000)
    scene.babble(160)
    asked = scene.silence(silence_ms)
    assert scene.tell(ReplyEnded(at(scene.now_ms), reply)) == (UnduckReply(reply),)
    assert scene.floor() is Phase.IDLE
    asked += scene.silence(160 - silence_ms)
    assert scene.asked(text, asked) == (said or (DiscardSegment(SegmentId(at(2500)), 1),))
    asking = [effect for effect in scene.silence(600) if isinstance(effect, Transcribe)]
    assert [effect.speech_end for effect in asking] == [at(2960)] * len(said)


def test_a_voice_that_is_never_sure_lowers_the_reply_for_a_second() -> None:
    scene = Scene()
    reply = scene.replying(words_heard=3, audible=True)
    scene.silence(1000)
    assert scene.babble(1000) == (DuckReply(reply), OpenSegment(SegmentId(at(2500)), at(2800)))
    assert scene.babble(20) == (UnduckReply(reply),)
    assert scene.babble(3000) == ()
    assert scene.voice(280) == (), "what becomes sure in the midst of it interrupts all the same"
    assert scene.voice(20) == (TurnStarted(2, at(2800)), InterruptReply(reply))


def test_a_voice_that_is_never_sure_is_nothing_where_it_ends_and_the_next_one_lowers_the_reply_again() -> None:
    scene = Scene()
    reply = scene.replying(words_heard=3, audible=True)
    scene.silence(1000)
    scene.babble(2100)
    assert scene.silence(20) == (DiscardSegment(SegmentId(at(2500)), 1),), "so long a babble is not asked for words"
    assert scene.babble(20)[0] == DuckReply(reply)


@pytest.mark.parametrize("beside", [False, True])
def test_a_reply_gets_stuck_also_under_a_voice_that_is_never_sure(*, beside: bool) -> None:
    scene = Scene()
    if beside:
        scene.voice(500)
        scene.tell(ReplyRequested(at(500), "requested"))
        scene.silence(200)
        scene.playing(ReplyId(2, 1), 1)
    else:
        scene.replying(words_heard=3, audible=True)
        scene.silence(1000)
    effects = scene.babble(10_000)
    assert [type(effect) for effect in effects if isinstance(effect, DuckReply | UnduckReply)] == [
        DuckReply,
        UnduckReply,
    ]
    assert any(isinstance(effect, InterruptReply) and effect.reason == "stuck" for effect in effects)


def test_two_coughs_have_two_segments() -> None:
    scene = Scene()
    scene.replying(words_heard=3, audible=True)
    scene.voice(100)
    scene.asked("", scene.silence(160))
    scene.voice(100)
    segments = [effect.segment for effect in scene.effects if isinstance(effect, OpenSegment)]
    assert len(segments) == len(set(segments)) == 3


@pytest.mark.parametrize(("text", "rough"), [("", False), ("the", True)])
def test_who_goes_on_right_behind_a_beginning_that_was_not_understood_is_heard_from_there(
    text: str, *, rough: bool
) -> None:
    """A soft first word, in itself nothing: what is asked behind it is not answered without it."""
    scene = Scene()
    reply = scene.replying(words_heard=3, audible=True)
    scene.silence(1000)
    scene.babble(160)
    scene.asked(text, scene.silence(160), rough=rough)
    scene.silence(220)
    segment = SegmentId(at(2500) + 1)
    assert scene.voice(280) == (DuckReply(reply), OpenSegment(segment, at(3340)))
    assert scene.voice(20) == (TurnStarted(2, at(3340)), InterruptReply(reply))
    scene.voice(500)
    [asking] = [effect for effect in scene.silence(400) if isinstance(effect, Transcribe)][:1]
    assert asking.segment == segment


@pytest.mark.parametrize(
    ("silence_ms", "text", "echo", "clears"),
    [(240, "", False, False), (160, "", True, False), (160, "", False, True), (160, "Mhm.", False, False)],
)
def test_what_is_too_far_from_it_or_behind_an_echo_a_listener_or_what_was_dropped_begins_by_itself(
    silence_ms: float, text: str, *, echo: bool, clears: bool
) -> None:
    scene = Scene()
    scene.replying(words_heard=3, audible=True)
    scene.silence(1000)
    scene.babble(160)
    [asked] = [effect for effect in scene.silence(160) if isinstance(effect, RequestTranscript)]
    scene.tell(InterimTranscript(at(scene.now_ms), words(text, asked.segment), was_requested=True, is_echo=echo))
    if clears:
        scene.tell(InputCleared(at(scene.now_ms)))
    scene.silence(silence_ms)
    [opened] = [effect for effect in scene.voice(20) if isinstance(effect, OpenSegment)]
    assert opened.segment >= at(2960)


def test_what_goes_on_and_off_without_words_is_joined_for_a_second() -> None:
    scene = Scene()
    scene.replying(words_heard=3, audible=True)
    scene.silence(1000)
    segments = []
    for _ in range(12):
        segments += [effect.segment for effect in scene.babble(200) if isinstance(effect, OpenSegment)]
        scene.asked("", scene.silence(200))
    assert len(segments) == len(set(segments)) == 12
    assert [segment - at(2500) for segment in segments[:2]] == [0, 1]
    assert segments[2] > at(2500 + 400)


@pytest.mark.parametrize(("probability", "stops"), [(0.49, False), (0.5, True), (0.6, True)])
def test_a_likely_voice_that_is_clear_of_the_silence_before_it_counts_as_a_sure_one(
    probability: float, *, stops: bool
) -> None:
    scene = Scene()
    reply = scene.replying(words_heard=3, audible=True)
    scene.silence(1000)
    assert not any(isinstance(effect, InterruptReply) for effect in scene.beginning(280, probability))
    assert (InterruptReply(reply) in scene.beginning(20, probability)) == stops


def test_what_is_clear_of_the_silence_counts_together_with_what_is_sure() -> None:
    scene = Scene()
    reply = scene.replying(words_heard=3, audible=True)
    scene.silence(1000)
    scene.beginning(200, 0.5)
    scene.babble(200, 0.6)
    assert scene.babble(180, 0.8) == (), "half of each frame"
    assert InterruptReply(reply) in scene.babble(20, 0.8)


SOON = TurnSettings(interrupt_after_ms=40.0)


def test_a_voice_no_louder_than_the_room_takes_the_floor_with_a_word() -> None:
    """As those of a coffee shop: the reply is lowered for them, and goes on."""
    scene = Scene(SOON)
    reply = scene.replying(words_heard=3, audible=True)
    scene.silence(1000)
    assert scene.murmur(600) == (DuckReply(reply), OpenSegment(SegmentId(at(2500)), at(2800)))
    guess = replace(words("I like it.", SegmentId(at(2500))), low_confidence=True)
    assert scene.tell(InterimTranscript(at(scene.now_ms), guess)) == ()
    heard = InterimTranscript(at(scene.now_ms), words("Stop it.", SegmentId(at(2500))))
    assert scene.tell(heard) == (TurnStarted(2, at(2800)), InterruptReply(reply))


def test_a_voice_no_louder_than_the_room_takes_the_floor_when_it_goes_on() -> None:
    scene = Scene(SOON)
    reply = scene.replying(words_heard=3, audible=True)
    scene.silence(1000)
    assert scene.murmur(980)[0] == DuckReply(reply)
    assert scene.murmur(20) == (TurnStarted(2, at(2800)), InterruptReply(reply))


def test_a_voice_that_becomes_louder_than_the_room_takes_the_floor() -> None:
    scene = Scene(SOON)
    reply = scene.replying(words_heard=3, audible=True)
    scene.silence(1000)
    scene.murmur(380)
    assert scene.voice(20)[-1] == InterruptReply(reply)


@pytest.mark.parametrize(("rough", "why"), [(False, InterruptReply), (True, DiscardSegment)])
def test_the_words_of_a_voice_no_louder_than_the_room_are_asked_for_however_long_it_was(
    rough: bool, why: type[Effect]
) -> None:
    scene = Scene(SOON)
    scene.replying(words_heard=3, audible=True)
    scene.silence(1000)
    for _ in range(4):
        scene.murmur(780)
        scene.silence(120)
    asked = scene.silence(60)
    assert any(isinstance(effect, why) for effect in scene.asked("Stop it now.", asked, rough=rough))


def test_right_behind_the_beginning_of_an_answer_a_voice_no_louder_than_the_room_waits_too() -> None:
    scene = Scene(SOON)
    reply = scene.replying(words_heard=1, audible=True)
    scene.silence(300)
    scene.murmur(400)
    assert InterruptReply(reply, continues_turn=True) not in scene.effects
    assert scene.voice(20)[-1] == InterruptReply(reply, continues_turn=True)


def test_over_an_echo_nobody_need_be_louder() -> None:
    scene = Scene()
    reply = scene.replying(words_heard=3, audible=True)
    scene.silence(1000)
    assert InterruptReply(reply) not in scene.murmur(280)
    assert scene.murmur(20)[-1] == InterruptReply(reply)


def test_a_backchannel_is_given_twice_the_time() -> None:
    scene = Scene()
    reply = scene.replying(words_heard=3, audible=True)
    scene.silence(1000)
    scene.voice(200)
    scene.tell(InterimTranscript(at(scene.now_ms), words("Mhm.", SegmentId(at(2500)))))
    assert scene.voice(300) == ()
    assert scene.voice(100) == (TurnStarted(2, at(2800)), InterruptReply(reply))


@pytest.mark.parametrize("behind_ms", [0, 300, 700])
@pytest.mark.parametrize("probability", [0.5, 0.58])
def test_who_speaks_up_right_behind_the_beginning_of_an_answer_goes_on_however_unsure_the_voice(
    behind_ms: int, probability: float
) -> None:
    scene = Scene()
    reply = scene.replying(audible=True)
    scene.silence(behind_ms)
    assert DuckReply(reply) in scene.babble(280, probability)
    assert scene.babble(20, probability) == (RetractReply(reply), TurnStarted(1, at(1800 + behind_ms)))


def test_one_window_of_a_noise_right_behind_the_beginning_of_an_answer_is_not_enough() -> None:
    soon = TurnSettings(interrupt_after_ms=40.0)
    for probability, enough_ms in ((0.58, 100), (0.62, 40)):
        scene = Scene(soon)
        reply = scene.replying(words_heard=1, audible=True)
        scene.silence(300)
        assert not any(isinstance(effect, InterruptReply) for effect in scene.babble(enough_ms - 20, probability))
        assert InterruptReply(reply, continues_turn=True) in scene.babble(20, probability)


def test_who_speaks_right_behind_an_answer_that_a_client_asked_for_did_not_only_pause() -> None:
    scene = Scene(TurnSettings(by_client=True, interrupt_after_ms=40.0))
    scene.voice(800)
    scene.tell(InputCommitted(at(scene.now_ms)))
    scene.silence(20)
    scene.transcribed(FIRST, "what time is it")
    scene.playing(FIRST, 1)
    scene.silence(200)
    assert InterruptReply(FIRST) in scene.voice(300)


def test_later_on_it_has_to_be_sure() -> None:
    scene = Scene()
    scene.replying(audible=True)
    scene.silence(720)
    assert [type(effect) for effect in scene.babble(2000)] == [DuckReply, OpenSegment, UnduckReply]


def test_where_no_voice_may_interrupt_an_early_one_counts_no_more_than_any() -> None:
    scene = Scene(TurnSettings(interruptible=False, by_client=True))
    scene.replying(audible=True)
    scene.silence(300)
    scene.babble(300)
    assert [type(effect) for effect in scene.silence(20)] == [DiscardSegment]


def test_babble_takes_an_answer_back_once_and_not_for_ever() -> None:
    scene = Scene()
    reply = scene.replying(audible=True)
    scene.silence(300)
    assert RetractReply(reply) in scene.babble(300)
    scene.silence(500)
    scene.transcribed(ReplyId(1, 2), "")
    again = scene.turns.replying
    assert again is not None
    assert again.turn == 1
    scene.playing(again, 0)
    scene.silence(300)
    assert [type(effect) for effect in scene.babble(2000)] == [DuckReply, OpenSegment, UnduckReply]


def test_a_mhm_right_behind_the_beginning_of_an_answer_is_none() -> None:
    scene = Scene()
    reply = scene.replying(words_heard=1, audible=True)
    scene.babble(200)
    scene.tell(InterimTranscript(at(scene.now_ms), words("Mhm.", SegmentId(at(1500)))))
    assert InterruptReply(reply, continues_turn=True) in scene.babble(100)


def test_babble_that_no_detector_takes_for_speech_counts_for_nothing_even_there() -> None:
    scene = Scene()
    reply = scene.replying(audible=True)
    assert [type(effect) for effect in scene.babble(2000, probability=0.49)] == [DuckReply, OpenSegment, UnduckReply]
    assert scene.turns.replying == reply


@pytest.mark.parametrize("asked", [ReplyRequested(at(0), "greeting", "Hello."), ReplyRequested(at(0), "requested")])
def test_where_nobody_spoke_before_a_reply_nobody_goes_on_right_behind_its_beginning(asked: ReplyRequested) -> None:
    scene = Scene()
    scene.tell(asked)
    scene.silence(20)
    scene.playing(FIRST, 1)
    assert [type(effect) for effect in scene.babble(2000)] == [DuckReply, OpenSegment, UnduckReply]


def test_a_partial_of_another_segment_says_nothing_about_this_voice() -> None:
    scene = Scene()
    reply = scene.replying(words_heard=3, audible=True)
    scene.voice(200)
    scene.tell(InterimTranscript(at(scene.now_ms), words("mhm", SegmentId(7))))
    assert InterruptReply(reply, continues_turn=True) in scene.voice(100)


def test_a_word_that_was_surely_heard_takes_the_floor_at_once() -> None:
    scene = Scene()
    reply = scene.replying(words_heard=3, audible=True)
    scene.voice(200)
    rough = Transcript(SegmentId(at(1500)), Samples(0), "stop", low_confidence=True)
    assert scene.tell(InterimTranscript(at(scene.now_ms), rough)) == (), "a cough may be taken for a word, roughly"
    sure = words("stop", SegmentId(at(1500)))
    assert scene.tell(InterimTranscript(at(scene.now_ms), sure)) == (
        TurnStarted(2, at(1800)),
        InterruptReply(reply, continues_turn=True),
    )


def test_attempts_before_the_endpoint_are_bounded() -> None:
    scene = Scene(TurnSettings(hangover_ms=400, speculate_after_ms=40, settle_ms=300))
    seconds = 0.0
    while seconds < 20:
        scene.voice(100)
        scene.silence(100)
        seconds = scene.now_ms / 1000
    asked = sum(isinstance(effect, Transcribe) for effect in scene.effects)
    assert asked == pytest.approx(EARLY_ATTEMPTS + EARLY_ATTEMPTS_PER_S * seconds, abs=1.5)
    scene.silence(400)
    assert scene.floor() is Phase.AWAITING_TRANSCRIPT


def test_a_turn_that_cost_much_is_still_weighed_in_a_long_silence() -> None:
    scene = Scene(TurnSettings(hangover_ms=400, speculate_after_ms=40, settle_ms=300))
    for _ in range(30):
        scene.voice(60)
        scene.silence(60)
    scene.voice(60)
    assert scene.silence(LATE_ATTEMPT_MS - 20) == ()
    assert [type(effect) for effect in scene.silence(20)] == [Transcribe]


def test_a_detector_that_takes_over_in_a_pause_does_not_move_the_end() -> None:
    scene = Scene()
    scene.voice(800)
    scene.silence(100)
    for ms in (920, 940, 960, 1200):
        scene.tell(FrameProcessed(at(ms), VadResult(speaking=False, boundary=Samples(0), probability=0.0)))
    assert Transcribe(FIRST, SegmentId(0), at(800)) in scene.effects


def test_a_retracted_greeting_leaves_no_words() -> None:
    scene = Scene()
    scene.tell(ReplyRequested(at(0), "greeting", "Hello, I am here."))
    assert RetractReply(FIRST) in scene.voice(20)
    scene.voice(500)
    scene.silence(400)
    assert PrepareReply(ReplyId(1, 2), "what time is it", "what time is it") in scene.transcribed(
        ReplyId(1, 2), "what time is it"
    )


def test_roughness_survives_a_retraction() -> None:
    scene = Scene()
    scene.voice(800)
    scene.silence(400)
    scene.tell(
        FinalTranscript(at(1200), FIRST, Transcript(SegmentId(0), Samples(0), "a smell coffee", low_confidence=True))
    )
    scene.voice(400)
    scene.silence(400)
    (commit,) = (e for e in scene.transcribed(ReplyId(1, 2), "with milk") if isinstance(e, CommitTurn))
    assert commit.low_confidence


def test_a_voice_without_words_ends_without_an_answer() -> None:
    scene = Scene()
    scene.voice(300)
    scene.silence(400)
    assert scene.transcribed(FIRST, "  ") == (
        DropAttempt(FIRST, "no words"),
        DiscardSegment(SegmentId(0), 1),
        TurnDiscarded(1, at(700), at(300), "no words"),
    )
    assert scene.floor() is Phase.IDLE


def guessed(scene: Scene, reply: ReplyId, text: str = "the") -> tuple[Effect, ...]:
    """What a recognizer makes of anything."""
    return scene.tell(FinalTranscript(at(scene.now_ms), reply, replace(words(text), low_confidence=True)))


def last_asked(scene: Scene) -> ReplyId:
    """The attempt whose words were asked for last."""
    return next(effect.reply for effect in reversed(scene.effects) if isinstance(effect, Transcribe))


def test_a_guess_at_what_was_never_surely_a_voice_is_not_answered() -> None:
    scene = Scene()
    scene.babble(600, 0.74)
    scene.silence(400)
    assert guessed(scene, FIRST) == (
        DropAttempt(FIRST, "noise"),
        DiscardSegment(SegmentId(0), 1),
        TurnDiscarded(1, at(1000), at(600), "noise"),
    )
    assert not [effect for effect in scene.effects if isinstance(effect, PrepareReply)]
    assert scene.floor() is Phase.IDLE


def test_a_guess_at_what_was_surely_a_voice_for_a_moment_is_answered() -> None:
    scene = Scene()
    scene.babble(140, 0.6)
    scene.babble(20, 0.76)
    scene.babble(140, 0.6)
    scene.silence(400)
    assert any(isinstance(effect, CommitTurn) for effect in guessed(scene, FIRST))


def test_words_that_are_no_guess_are_answered_however_unsure_the_voice() -> None:
    scene = Scene()
    scene.babble(600)
    scene.silence(400)
    assert any(isinstance(effect, CommitTurn) for effect in scene.transcribed(FIRST, "stop"))


def test_a_guess_in_a_turn_that_a_client_ends_is_answered() -> None:
    scene = Scene(TurnSettings(by_client=True))
    scene.babble(300)
    scene.tell(InputCommitted(at(scene.now_ms)))
    assert any(isinstance(effect, CommitTurn) for effect in guessed(scene, FIRST))


@pytest.mark.parametrize("settings", [TurnSettings(by_client=True, manual=True), TurnSettings(held=True)])
def test_a_guess_at_what_somebody_wants_to_be_heard_is_answered(settings: TurnSettings) -> None:
    scene = Scene(settings)
    scene.babble(600)
    scene.silence(100)
    asked = [effect.reply for effect in scene.effects if isinstance(effect, Transcribe)]
    for reply in asked:
        guessed(scene, reply)
    told = scene.tell(InputCommitted(at(scene.now_ms)))
    asked = [effect.reply for effect in told if isinstance(effect, Transcribe)]
    for reply in asked:
        guessed(scene, reply)
    assert [effect.text for effect in scene.effects if isinstance(effect, CommitTurn | RecordTurn)] == ["the"]


def test_a_guess_that_goes_on_with_what_was_surely_said_is_part_of_it() -> None:
    scene = Scene()
    scene.replying("set the volume to")
    scene.babble(300, 0.72)
    scene.silence(600)
    commit = next(e for e in guessed(scene, last_asked(scene), "fifty") if isinstance(e, CommitTurn))
    assert (commit.text, commit.low_confidence) == ("set the volume to fifty", True)


def test_words_that_are_a_guess_when_they_are_asked_for_again_confirm_the_same_ones() -> None:
    scene = Scene(TurnSettings(hangover_ms=400, speculate_after_ms=40, settle_ms=100))
    scene.babble(600, 0.72)
    scene.silence(60)
    scene.transcribed(last_asked(scene), "what time is it")
    scene.silence(60)
    assert guessed(scene, last_asked(scene), "what time is it") == (DropAttempt(ReplyId(1, 2), "same words"),)
    assert any(isinstance(effect, CommitTurn) for effect in scene.silence(400))


@pytest.mark.parametrize("guesses", [(True, False), (False, True)])
def test_words_that_are_once_no_guess_are_none(guesses: tuple[bool, bool]) -> None:
    scene = Scene(TurnSettings(hangover_ms=400, speculate_after_ms=40, settle_ms=100))
    scene.voice(300)
    scene.silence(60)
    for rough in guesses:
        heard = replace(words("what time is it"), low_confidence=rough)
        scene.tell(FinalTranscript(at(scene.now_ms), last_asked(scene), heard))
        scene.silence(60)
    commit = next(effect for effect in scene.silence(400) if isinstance(effect, CommitTurn))
    assert not commit.low_confidence


def test_a_guess_that_is_none_when_it_is_asked_for_again_is_answered() -> None:
    scene = Scene(TurnSettings(hangover_ms=400, speculate_after_ms=40, settle_ms=100))
    scene.babble(600, 0.72)
    scene.silence(60)
    guessed(scene, last_asked(scene), "stock")
    scene.silence(60)
    scene.transcribed(last_asked(scene), "stop")
    commit = next(effect for effect in scene.silence(400) if isinstance(effect, CommitTurn))
    assert commit.text == "stop"


def test_a_guess_that_stays_one_is_noise_and_nothing_is_prepared() -> None:
    scene = Scene(TurnSettings(hangover_ms=400, speculate_after_ms=40, settle_ms=100))
    scene.babble(600, 0.72)
    scene.silence(60)
    guessed(scene, last_asked(scene), "the")
    scene.silence(60)
    assert guessed(scene, last_asked(scene), "they") == (DropAttempt(ReplyId(1, 2), "same words"),)
    assert [effect.reason for effect in scene.silence(400) if isinstance(effect, TurnDiscarded)] == ["noise"]
    assert not [effect for effect in scene.effects if isinstance(effect, PrepareReply)]


@pytest.mark.parametrize("answers", [True, False])
def test_a_guess_for_which_a_client_asks_behind_its_end_is_answered(answers: bool) -> None:
    scene = Scene(TurnSettings(by_client=True, answers=answers))
    scene.babble(600, 0.7)
    scene.silence(400)
    assert scene.floor() is Phase.AWAITING_TRANSCRIPT
    scene.tell(InputCommitted(at(scene.now_ms)) if answers else ReplyRequested(at(scene.now_ms), "requested", ""))
    commit = next(effect for effect in guessed(scene, last_asked(scene), "fifty") if isinstance(effect, CommitTurn))
    assert commit.text == "fifty"


def test_what_a_client_may_want_to_answer_is_not_withheld() -> None:
    scene = Scene(TurnSettings(by_client=True, answers=False))
    scene.babble(600, 0.7)
    scene.silence(400)
    assert [effect.text for effect in guessed(scene, last_asked(scene)) if isinstance(effect, RecordTurn)] == ["the"]


@pytest.mark.parametrize("during_a_reply", [True, False])
def test_who_calls_it_by_name_is_no_noise(during_a_reply: bool) -> None:
    scene = Scene(TurnSettings(by_name=True, interruptible=False))
    if during_a_reply:
        scene.replying(words_heard=3, audible=True)
        scene.silence(1000)
    scene.babble(600, 0.7)
    segment = next(effect.segment for effect in reversed(scene.effects) if isinstance(effect, OpenSegment))
    scene.tell(
        InterimTranscript(at(scene.now_ms), replace(words("stop", segment), low_confidence=True), has_wake_phrase=True)
    )
    scene.silence(400)
    commit = next(effect for effect in guessed(scene, last_asked(scene), "stop") if isinstance(effect, CommitTurn))
    assert commit.text == "stop"


def test_who_was_addressing_it_beside_a_reply_is_no_noise_when_they_go_on() -> None:
    scene = Scene(TurnSettings(by_name=True, interruptible=False))
    scene.replying(words_heard=3, audible=True)
    scene.silence(1000)
    scene.babble(600, 0.7)
    scene.silence(400)
    guessed(scene, last_asked(scene), "what time")
    scene.babble(300, 0.7)
    scene.silence(600)
    commit = next(e for e in guessed(scene, last_asked(scene), "what time is it") if isinstance(e, CommitTurn))
    assert commit.text == "what time is it"


def test_only_voice_makes_a_turn_sure() -> None:
    """The trace keeps nothing else, and a replay decides alike."""
    scene = Scene()
    scene.babble(600, 0.6)
    scene.tell(FrameProcessed(at(620), VadResult(False, at(600), 1.0)))
    scene.now_ms, scene.speaking, scene.edge_ms = 620, False, 600
    scene.silence(400)
    assert TurnDiscarded(1, at(1020), at(600), "noise") in guessed(scene, FIRST)


# ---- a voice that may be none ----


def test_noise_that_opens_the_detector_for_an_instant_begins_no_turn() -> None:
    scene = Scene()
    for _ in range(10):
        assert scene.babble(380, 0.74) == ()
        assert scene.asked("", scene.silence(160)) == (DiscardSegment(SegmentId(max(0, at(scene.edge_ms - 680))), 0),)
        assert scene.silence(240) == ()
    assert scene.floor() is Phase.IDLE


def test_a_word_of_which_nobody_was_sure_begins_a_turn_as_soon_as_it_is_known() -> None:
    scene = Scene()
    scene.silence(1000)
    scene.babble(200, 0.7)
    assert scene.silence(140) == ()
    asked = scene.silence(20)
    assert asked == (OpenSegment(SegmentId(at(700)), at(1000)), RequestTranscript(SegmentId(at(700)), at(1200)))
    assert scene.floor() is Phase.IDLE
    assert scene.asked("Quit.", asked) == (TurnStarted(1, at(1000)),)
    assert Transcribe(FIRST, SegmentId(at(700)), at(1200)) in scene.silence(400)


@pytest.mark.parametrize(("text", "rough"), [("", False), ("the", True)])
def test_what_is_no_word_begins_no_turn(text: str, *, rough: bool) -> None:
    scene = Scene()
    scene.silence(1000)
    scene.babble(200, 0.7)
    asked = scene.silence(160)
    assert scene.asked(text, asked, rough=rough) == (DiscardSegment(SegmentId(at(700)), 0),)
    assert scene.asked("quit", asked) == (), "of a voice that was forgotten"
    assert scene.silence(1000) == ()


def test_words_of_a_voice_that_is_forgotten_begin_no_turn() -> None:
    scene = Scene()
    scene.silence(1000)
    scene.babble(200, 0.7)
    asked = scene.silence(780)
    assert scene.silence(20) == (DiscardSegment(SegmentId(at(700)), 0),)
    assert scene.asked("quit", asked) == ()


def test_a_voice_behind_one_whose_words_are_waited_for_is_another_one_after_a_while() -> None:
    scene = Scene()
    scene.silence(1000)
    scene.babble(200, 0.7)
    scene.silence(400)
    forgotten, opened, started = scene.voice(20)
    assert forgotten == DiscardSegment(SegmentId(at(700)), 0)
    assert (opened, started) == (OpenSegment(SegmentId(at(1300)), at(1600)), TurnStarted(1, at(1600)))


def test_a_client_that_asks_meanwhile_asks_for_an_answer_to_it() -> None:
    scene = Scene(TurnSettings(by_client=True))
    scene.silence(1000)
    scene.babble(200, 0.7)
    scene.silence(200)
    effects = scene.tell(InputCommitted(at(scene.now_ms)))
    assert effects[0] == TurnStarted(1, at(1000))
    assert EndOfTurn(1) in effects


def test_a_turn_begins_where_its_voice_did_and_not_where_it_was_sure() -> None:
    scene = Scene()
    scene.silence(1000)
    assert scene.babble(300, 0.6) == ()
    assert scene.babble(20, 0.76) == (OpenSegment(SegmentId(at(700)), at(1000)), TurnStarted(1, at(1000)))


def test_a_soft_first_word_belongs_to_the_turn() -> None:
    scene = Scene()
    scene.silence(1000)
    scene.babble(200, 0.6)
    scene.silence(380)
    segment = SegmentId(at(700))
    assert scene.voice(20) == (DiscardSegment(segment, 0), OpenSegment(segment, at(1000)), TurnStarted(1, at(1000)))


def test_a_voice_of_which_nobody_is_ever_sure_begins_a_turn() -> None:
    scene = Scene()
    assert scene.babble(380, 0.55) == ()
    assert scene.babble(20, 0.55) == (OpenSegment(SegmentId(0), at(0)), TurnStarted(1, at(0)))


def test_noises_in_a_row_are_joined_no_further_than_recognizers_hear() -> None:
    scene = Scene()
    for _ in range(6):
        scene.babble(60, 0.55)
        scene.asked("", scene.silence(380))
    assert scene.voice(20) == (OpenSegment(SegmentId(at(1900)), at(2200)), TurnStarted(1, at(2200)))


def test_how_sure_a_voice_was_is_forgotten_with_it() -> None:
    scene = Scene()
    scene.voice(300)
    scene.silence(400)
    scene.transcribed(FIRST, "")
    assert scene.babble(300, 0.7) == ()


def test_behind_a_pause_nobody_need_be_sure() -> None:
    scene = Scene(TurnSettings(hangover_ms=400, speculate_after_ms=40))
    scene.voice(300)
    scene.silence(200)
    assert any(isinstance(effect, DropAttempt) for effect in scene.babble(20, 0.55))


@pytest.mark.parametrize("settings", [TurnSettings(by_client=True, manual=True), TurnSettings(held=True)])
def test_where_a_key_or_a_client_ends_turns_any_voice_begins_one(settings: TurnSettings) -> None:
    assert TurnStarted(1, at(0)) in Scene(settings).babble(20, 0.55)


def test_what_a_client_submits_is_heard_however_unsure() -> None:
    scene = Scene(TurnSettings(by_client=True))
    scene.silence(1000)
    scene.babble(100, 0.55)
    told = scene.tell(InputCommitted(at(scene.now_ms)))
    assert told[:2] == (OpenSegment(SegmentId(at(700)), at(1000)), TurnStarted(1, at(1000)))
    assert any(isinstance(effect, CommitTurn) for effect in guessed(scene, last_asked(scene)))


def test_what_is_typed_while_somebody_may_be_speaking_does_not_swallow_them() -> None:
    scene = Scene()
    scene.babble(100, 0.55)
    asked = scene.tell(ReplyRequested(at(scene.now_ms), "requested", ""))
    assert asked[:2] == (OpenSegment(SegmentId(0), at(0)), TurnStarted(1, at(0)))


def test_an_announcement_waits_for_who_may_be_speaking() -> None:
    scene = Scene()
    scene.voice(300)
    scene.tell(ReplyRequested(at(scene.now_ms), "announcement", "Your timer rings."))
    scene.silence(400)
    scene.transcribed(FIRST, "")
    assert scene.babble(300, 0.6) == ()
    assert not scene.turns.is_quiet
    scene.asked("", scene.silence(380))
    assert any(isinstance(effect, CommitTurn) for effect in scene.silence(20))


def test_a_noise_that_lasts_longer_than_a_turn_may_is_not_answered() -> None:
    scene = Scene(TurnSettings(max_turn_s=2.0))
    asked = next(effect.reply for effect in scene.babble(2200) if isinstance(effect, Transcribe))
    assert TurnDiscarded(1, at(2200), at(2000), "noise") in guessed(scene, asked)


@pytest.mark.parametrize("words_heard", [0, 2])
def test_who_was_surely_a_voice_while_they_interrupted_is_answered(words_heard: int) -> None:
    scene = Scene()
    scene.replying(words_heard=words_heard, audible=True)
    scene.silence(1000)
    while scene.floor() is Phase.REPLYING:
        scene.voice(20)
    scene.babble(100)
    scene.silence(600)
    asked = next(effect.reply for effect in reversed(scene.effects) if isinstance(effect, Transcribe))
    commit = next(effect for effect in guessed(scene, asked) if isinstance(effect, CommitTurn))
    assert commit.new_text == "the"


def test_a_reply_that_a_noise_cut_goes_on() -> None:
    scene = Scene()
    cut = scene.replying(words_heard=3, audible=True)
    scene.silence(1000)
    assert InterruptReply(cut) in scene.babble(1400, 0.7)
    scene.silence(400)
    guessed(scene, ReplyId(2, 1))
    assert scene.silence(1000)[-1] == ResumeReply(cut)


def test_a_cough_after_a_retracted_reply_still_answers_the_words_before() -> None:
    scene = Scene()
    scene.replying("what time is it")
    scene.voice(200)
    scene.silence(400)
    assert CommitTurn(ReplyId(1, 2), "what time is it", "", at(2000)) in scene.transcribed(ReplyId(1, 2), "")


def cut_by_voice(scene: Scene) -> ReplyId:
    """Somebody speaks into the reply for long enough, and then no more: the attempt at their turn."""
    scene.voice(300)
    scene.silence(400)
    return next(effect.reply for effect in reversed(scene.effects) if isinstance(effect, Transcribe))


def went_on(scene: Scene) -> bool:
    return any(isinstance(effect, ResumeReply) for effect in scene.effects)


def test_a_reply_that_was_cut_by_a_cough_goes_on() -> None:
    scene = Scene()
    scene.replying(words_heard=3, audible=True)
    scene.transcribed(cut_by_voice(scene), "")
    assert scene.turns.resume_pending
    assert scene.silence(580) == ()  # 980 since the voice
    assert scene.silence(20) == (ResumeReply(FIRST),)
    answer = ReplyId(3, 1)
    assert scene.tell(ReplyRequested(at(scene.now_ms), "resumed", "and a half")) == (
        PrepareReply(answer, "and a half", is_literal=True),
        CommitTurn(answer, "", "", None, origin="resumed"),
    )
    scene.tell(PlaybackProgress(at(scene.now_ms), answer, 0, audible=True))
    again = cut_by_voice(scene)  # before a word of the rest was heard
    assert RetractReply(answer) in scene.effects
    scene.transcribed(again, "")
    assert scene.silence(600)[-1] == ResumeReply(answer)


def listens(scene: Scene, reply: ReplyId) -> tuple[Effect, ...]:
    return scene.tell(FinalTranscript(at(scene.now_ms), reply, words("yeah"), "backchannel"))


def test_backchannel_that_cut_a_reply_is_no_turn_and_reply_goes_on() -> None:
    scene = Scene()
    scene.replying(words_heard=3, audible=True)
    scene.silence(1000)
    effects = listens(scene, cut_by_voice(scene))
    assert not any(isinstance(effect, PrepareReply | CommitTurn) for effect in effects)
    assert [effect.reason for effect in effects if isinstance(effect, TurnDiscarded)] == ["backchannel"]
    scene.silence(1000)
    assert went_on(scene)


def test_backchannel_right_behind_the_beginning_of_a_reply_is_a_turn() -> None:
    scene = Scene()
    scene.replying(words_heard=3, audible=True)
    assert any(isinstance(effect, PrepareReply | CommitTurn) for effect in listens(scene, cut_by_voice(scene)))


def test_backchannel_that_cut_nothing_is_a_turn() -> None:
    scene = Scene()
    scene.silence(1000)
    assert any(
        isinstance(effect, CommitTurn) and effect.text == "yeah" for effect in listens(scene, cut_by_voice(scene))
    )


def test_who_hums_and_then_goes_on_is_heard_out() -> None:
    scene = Scene()
    scene.replying(words_heard=3, audible=True)
    scene.transcribed(cut_by_voice(scene), "")
    scene.transcribed(cut_by_voice(scene), "")  # once more, before the reply goes on
    scene.silence(580)
    assert not went_on(scene)
    scene.transcribed(cut_by_voice(scene), "what is the date")
    scene.silence(2000)
    assert not went_on(scene)
    assert scene.turns.phase is Phase.REPLYING


def ringing_into_what_was_cut(words_heard: int) -> Scene:
    """A cough cut a reply, and a timer rings before that goes on."""
    scene = Scene()
    scene.replying(words_heard=3, audible=True)
    scene.transcribed(cut_by_voice(scene), "")
    scene.tell(ReplyRequested(at(scene.now_ms), "announcement", "Your timer is done."))
    scene.silence(20)
    scene.tell(PlaybackProgress(at(scene.now_ms), ReplyId(3, 1), words_heard, audible=True))
    return scene


@pytest.mark.parametrize("words_heard", [0, 2])
def test_a_reply_that_was_to_go_on_does_not_where_words_are_said_into_what_rings_meanwhile(words_heard: int) -> None:
    scene = ringing_into_what_was_cut(words_heard)
    asking = cut_by_voice(scene)
    scene.transcribed(asking, "what is the date")
    scene.tell(PlaybackProgress(at(scene.now_ms), asking, 2, audible=True))
    again = cut_by_voice(scene)
    scene.transcribed(again, "stop")
    scene.tell(ReplyEnded(at(scene.now_ms), again))
    scene.silence(2000)
    assert not went_on(scene)


@pytest.mark.parametrize(("words_heard", "rest_of"), [(0, FIRST), (2, ReplyId(3, 1))])
def test_what_a_cough_cuts_before_the_reply_goes_on_goes_on_in_its_place_if_it_was_heard(
    words_heard: int, rest_of: ReplyId
) -> None:
    scene = ringing_into_what_was_cut(words_heard)
    scene.transcribed(cut_by_voice(scene), "")
    if not words_heard:  # it rings again, before the reply goes on
        scene.silence(20)
        scene.tell(PlaybackProgress(at(scene.now_ms), ReplyId(4, 1), 4, audible=True))
        scene.tell(ReplyEnded(at(scene.now_ms), ReplyId(4, 1)))
    scene.silence(2000)
    assert [effect for effect in scene.effects if isinstance(effect, ResumeReply)] == [ResumeReply(rest_of)]


@pytest.mark.parametrize("event", [ReplyRequested(at(0), "requested"), ReplyCancelled(at(0))])
def test_a_reply_that_was_to_go_on_does_not_where_something_else_is_wanted(
    event: ReplyRequested | ReplyCancelled,
) -> None:
    scene = Scene()
    scene.replying(words_heard=3, audible=True)
    scene.transcribed(cut_by_voice(scene), "")
    scene.tell(replace(event, at=at(scene.now_ms)))
    scene.silence(2000)
    assert not scene.turns.resume_pending
    assert not went_on(scene)


def test_a_reply_does_not_go_on_over_words() -> None:
    scene = Scene()
    scene.replying(words_heard=3, audible=True)
    effects = scene.transcribed(cut_by_voice(scene), "what is the date")
    assert CommitTurn(ReplyId(2, 1), "what is the date", "what is the date", at(2100)) in effects
    scene.silence(2000)
    assert not went_on(scene)


def test_where_the_client_asks_for_answers_it_asks_for_the_rest_of_one() -> None:
    scene = Scene(TurnSettings(answers=False))
    scene.tell(ReplyRequested(at(0), "requested"))
    scene.tell(PlaybackProgress(at(0), FIRST, 3, audible=True))
    scene.transcribed(cut_by_voice(scene), "")
    scene.silence(2000)
    assert scene.floor() is Phase.IDLE
    assert not went_on(scene)


def test_the_wake_phrase_alone_ends_a_reply() -> None:
    scene = Scene()
    scene.replying(words_heard=3, audible=True)
    cough = cut_by_voice(scene)
    effects = scene.tell(FinalTranscript(at(scene.now_ms), cough, words(""), "called"))
    assert effects[-1] == TurnDiscarded(2, at(scene.now_ms), at(2100), "called")
    scene.silence(2000)
    assert not went_on(scene)


def test_lost_words_are_answered_with_an_apology() -> None:
    scene = Scene()
    scene.voice(300)
    scene.silence(400)
    assert scene.tell(TranscriptFailed(at(800), FIRST, SegmentId(0))) == (
        PrepareReply(FIRST, "", transcript_lost=True),
        CommitTurn(FIRST, "", "", at(300)),
        CloseSegment(SegmentId(0), 1),
    )


def test_words_that_never_come_give_the_floor_back() -> None:
    scene = Scene()
    scene.voice(300)
    scene.silence(400)
    scene.silence(9_980)
    assert scene.floor() is Phase.AWAITING_TRANSCRIPT
    assert scene.silence(20) == (
        DropAttempt(FIRST, "stuck"),
        DiscardSegment(SegmentId(0), 1),
        TurnDiscarded(1, at(10_700), at(300), "stuck"),
    )
    assert scene.floor() is Phase.IDLE


def test_a_reply_without_progress_gives_the_floor_back() -> None:
    scene = Scene()
    reply = scene.replying()
    scene.silence(5_000)
    scene.playing(reply, 2)
    scene.silence(9_980)
    assert scene.floor() is Phase.REPLYING
    assert scene.silence(20) == (InterruptReply(reply, "stuck"),)
    assert scene.floor() is Phase.IDLE


def too_long(text: str, *, rough: bool = False, words_heard: int | None = None) -> Scene:
    """A turn that is ended in the midst of voice."""
    scene = Scene(TurnSettings(max_turn_s=2))
    assert EndOfTurn(1) in scene.voice(2000)
    assert scene.voice(500) == ()  # it goes on, and does not reopen the turn
    scene.tell(FinalTranscript(at(scene.now_ms), FIRST, Transcript(SOME_SEGMENT, Samples(0), text, rough)))
    if words_heard is not None:
        scene.playing(FIRST, words_heard)
    scene.effects.clear()
    return scene


def test_who_speaks_for_longer_than_a_turn_may_be_goes_on_where_it_was_ended() -> None:
    scene = too_long("blah")
    segment = SegmentId(at(2000))
    assert scene.voice(20) == (OpenSegment(segment, at(2000)), RetractReply(FIRST), TurnStarted(1, at(2000)))
    scene.voice(500)
    scene.silence(400)
    again = ReplyId(1, 2)
    assert CommitTurn(again, "blah blah", "blah", at(3020)) in scene.transcribed(again, "blah")


def test_who_still_speaks_as_the_answer_is_heard_interrupts_it() -> None:
    scene = too_long("blah", words_heard=1)
    assert scene.voice(300)[-2:] == (TurnStarted(2, at(2000)), InterruptReply(FIRST))


@pytest.mark.parametrize(("text", "rough"), [("", False), ("blah", True)])
def test_a_voice_that_never_ends_and_has_no_words_is_nothing_until_it_pauses(text: str, *, rough: bool) -> None:
    scene = too_long(text, rough=rough)
    assert scene.voice(3000) == ()  # nor does it interrupt
    scene.tell(ReplyEnded(at(scene.now_ms), FIRST))
    assert scene.voice(3000) == ()
    scene.silence(500)
    assert any(isinstance(effect, OpenSegment) for effect in scene.voice(100))


def test_a_reply_that_ends_under_a_voice_leaves_the_floor_to_it() -> None:
    scene = Scene()
    reply = scene.replying(words_heard=3, audible=True)
    scene.voice(100)
    assert scene.tell(ReplyEnded(at(scene.now_ms), reply)) == (UnduckReply(reply), TurnStarted(2, at(1800)))
    assert scene.floor() is Phase.USER_SPEAKING
    assert Transcribe(ReplyId(2, 1), SegmentId(at(1500)), at(1900)) in scene.silence(400)


def test_a_greeting_waits_for_nobody_and_yields_to_everybody() -> None:
    scene = Scene()
    scene.voice(100)
    assert scene.tell(ReplyRequested(at(100), "greeting", "Hello.")) == ()
    fresh = Scene()
    assert fresh.tell(ReplyRequested(at(0), "greeting", "Hello.")) == (
        PrepareReply(FIRST, "Hello.", is_literal=True),
        CommitTurn(FIRST, "", "", None, origin="greeting"),
    )


def test_an_announcement_waits_until_nobody_speaks() -> None:
    scene = Scene()
    scene.voice(500)
    assert scene.tell(ReplyRequested(at(500), "announcement", "Your timer is done.")) == ()
    scene.silence(400)
    scene.transcribed(FIRST, "what time is it")
    assert scene.silence(1000) == ()
    scene.tell(ReplyEnded(at(scene.now_ms), FIRST))
    second = ReplyId(2, 1)
    assert scene.silence(20) == (
        PrepareReply(second, "Your timer is done.", is_literal=True),
        CommitTurn(second, "", "", None, origin="announcement"),
    )


def test_an_announcement_that_nobody_heard_is_made_again() -> None:
    scene = Scene()
    scene.tell(ReplyRequested(at(0), "announcement", "Your timer is done."))
    scene.silence(20)
    assert RetractReply(FIRST) in scene.voice(20)
    scene.voice(300)
    scene.silence(400)
    scene.transcribed(ReplyId(1, 2), "")
    assert PrepareReply(ReplyId(2, 1), "Your timer is done.", is_literal=True) in scene.silence(20)


def ringing(settings: TurnSettings | None = None) -> Scene:
    """A timer rings, and nothing of it is heard yet."""
    scene = Scene(settings)
    scene.tell(ReplyRequested(at(0), "announcement", "Your timer is done."))
    scene.silence(20)
    return scene


def rings(scene: Scene) -> int:
    return sum(isinstance(effect, PrepareReply) and effect.is_literal for effect in scene.effects)


@pytest.mark.parametrize("fails", ["ends", "stuck"])
def test_an_announcement_that_failed_is_made_once_more(fails: str) -> None:
    scene = ringing()
    for _ in range(5):
        if fails == "ends" and scene.turns.replying is not None:
            scene.tell(ReplyEnded(at(scene.now_ms), scene.turns.replying))
        scene.silence(12_000)
    assert rings(scene) == 2
    assert scene.floor() is Phase.IDLE


def test_an_announcement_that_was_heard_a_little_and_failed_is_not_made_again() -> None:
    scene = ringing()
    scene.playing(FIRST, 0)
    scene.tell(ReplyEnded(at(scene.now_ms), FIRST))
    scene.silence(1000)
    assert rings(scene) == 1


def test_what_a_client_submits_into_an_announcement_that_nobody_heard_comes_before_it() -> None:
    scene = ringing(TurnSettings(manual=True))
    scene.voice(500)
    scene.tell(InputCommitted(at(scene.now_ms)))
    scene.transcribed(ReplyId(2, 1), "hello")
    scene.silence(20)
    assert rings(scene) == 2


def test_a_request_takes_the_floor() -> None:
    scene = Scene()
    reply = scene.replying(words_heard=3, audible=True)
    scene.voice(100)
    assert scene.tell(ReplyRequested(at(scene.now_ms), "requested")) == (
        DiscardSegment(SegmentId(at(1500)), 1),
        InterruptReply(reply, "requested"),
        PrepareReply(ReplyId(2, 1), ""),
        CommitTurn(ReplyId(2, 1), "", "", None, origin="requested"),
    )


def test_a_request_in_the_midst_of_speech_is_answered_and_what_is_said_is_a_turn_behind_it() -> None:
    scene = Scene()
    scene.voice(500)
    typed, spoken = ReplyId(2, 1), ReplyId(3, 1)
    assert scene.tell(ReplyRequested(at(500), "requested")) == (
        TurnDiscarded(1, at(500), at(500), "requested"),
        PrepareReply(typed, ""),
        CommitTurn(typed, "", "", None, origin="requested"),
    )
    assert scene.voice(500) == (), "what goes on interrupts nothing"
    scene.playing(typed, 1)
    assert scene.voice(500) == ()
    assert scene.silence(400) == (), "and is not forgiven where it pauses"
    assert scene.tell(ReplyEnded(at(1900), typed)) == (TurnStarted(3, at(0)),)
    assert scene.silence(20) == (Transcribe(spoken, SegmentId(0), at(1500)), EndOfTurn(3))
    assert scene.transcribed(spoken, "what time is it") == (
        PrepareReply(spoken, "what time is it", "what time is it"),
        CommitTurn(spoken, "what time is it", "what time is it", at(1500)),
        CloseSegment(SegmentId(0), 3),
    )


def test_who_speaks_up_anew_interrupts_it_and_nothing_said_before_is_lost() -> None:
    scene = Scene()
    scene.voice(500)
    scene.tell(ReplyRequested(at(500), "requested"))
    typed = ReplyId(2, 1)
    scene.voice(200)
    scene.silence(400)
    scene.playing(typed, 1)
    assert scene.voice(40) == (DuckReply(typed),)
    assert scene.silence(200) == (UnduckReply(typed),)
    assert scene.voice(280) == (DuckReply(typed),)
    assert scene.voice(20) == (TurnStarted(3, at(0)), InterruptReply(typed))
    scene.silence(400)
    assert CommitTurn(ReplyId(3, 1), "a b", "a b", at(1640)) in scene.transcribed(ReplyId(3, 1), "a b")


def test_before_it_is_heard_who_goes_on_is_answered_with_it() -> None:
    scene = Scene()
    scene.voice(500)
    scene.tell(ReplyRequested(at(500), "requested"))
    scene.silence(200)
    assert scene.voice(20) == (RetractReply(ReplyId(2, 1)), TurnStarted(2, at(0)))
    scene.silence(400)
    again = ReplyId(2, 2)
    assert CommitTurn(again, "hello", "hello", at(720)) in scene.transcribed(again, "hello")


def test_what_is_said_is_kept_behind_many_requests_and_behind_one_that_is_stopped() -> None:
    scene = Scene()
    scene.voice(500)
    scene.tell(ReplyRequested(at(500), "requested"))
    scene.voice(100)
    assert scene.tell(ReplyRequested(at(600), "requested")) == (
        InterruptReply(ReplyId(2, 1), "requested"),
        PrepareReply(ReplyId(3, 1), ""),
        CommitTurn(ReplyId(3, 1), "", "", None, origin="requested"),
    )
    assert scene.tell(ReplyCancelled(at(600))) == (InterruptReply(ReplyId(3, 1), "client"), TurnStarted(4, at(0)))
    scene.voice(100)
    scene.silence(400)
    assert CommitTurn(ReplyId(4, 1), "hello", "hello", at(700)) in scene.transcribed(ReplyId(4, 1), "hello")


def test_a_request_that_was_retracted_is_still_answered() -> None:
    scene = Scene()
    scene.tell(ReplyRequested(at(0), "requested"))
    assert RetractReply(FIRST) in scene.voice(20)
    scene.voice(300)
    scene.silence(400)
    again = ReplyId(1, 2)
    assert scene.transcribed(again, "")[:2] == (PrepareReply(again, ""), CommitTurn(again, "", "", at(320)))


# ---- early attempts -----------------------------------------------------------------------------------------

EARLY = TurnSettings(hangover_ms=400, speculate_after_ms=40, settle_ms=60)
SLOW_TO_SETTLE = TurnSettings(hangover_ms=300, speculate_after_ms=40, settle_ms=160)


def test_an_attempt_begins_before_the_detector_is_sure() -> None:
    scene = Scene(EARLY)
    scene.voice(800)
    assert scene.fading(60) == (Transcribe(FIRST, SegmentId(0), at(800), early=True, draft=True),)
    assert scene.transcribed(FIRST, "hello") == (
        PrepareReply(FIRST, "hello", "hello"),
        Transcribe(ReplyId(1, 2), SegmentId(0), at(800)),
    )


def test_words_that_come_when_they_have_settled_are_asked_for_again_at_once() -> None:
    scene = Scene(EARLY)
    scene.voice(800)
    scene.fading(40)
    scene.silence(40)
    again = ReplyId(1, 2)
    assert scene.transcribed(FIRST, "turn on the") == (
        PrepareReply(FIRST, "turn on the", "turn on the"),
        Transcribe(again, SegmentId(0), at(800)),
    )
    assert scene.silence(60) == (), "they are on their way"
    assert scene.transcribed(again, "turn on the lamp") == (
        DropAttempt(FIRST, "other words"),
        PrepareReply(again, "turn on the lamp", "turn on the lamp"),
    )
    assert scene.silence(60) == (), "nothing better will come"


def test_words_that_confirm_a_draft_too_late_are_asked_for_again_at_once() -> None:
    scene = Scene(SLOW_TO_SETTLE)
    drafted(scene, "turn on the lamp")
    scene.silence(140)
    again, settled = ReplyId(1, 2), ReplyId(1, 3)
    assert scene.transcribed(again, "turn on the lamp") == (
        DropAttempt(again, "same words"),
        Transcribe(settled, SegmentId(0), at(800)),
    )


def test_a_dip_in_the_voice_drops_it_again() -> None:
    scene = Scene(EARLY)
    scene.voice(800)
    scene.fading(60)
    assert scene.voice(20) == (DropAttempt(FIRST, "went on"),)


def test_words_asked_for_early_are_asked_for_again() -> None:
    scene = Scene(EARLY)
    scene.voice(800)
    scene.fading(40)
    scene.transcribed(FIRST, "turn on the")
    again = ReplyId(1, 2)
    assert scene.silence(20) == (Transcribe(again, SegmentId(0), at(800)),)
    assert scene.transcribed(again, "Turn on the lamp.") == (
        DropAttempt(FIRST, "other words"),
        PrepareReply(again, "Turn on the lamp.", "Turn on the lamp."),
    )
    assert scene.transcribed(FIRST, "late") == ()


def test_the_same_words_again_change_nothing() -> None:
    scene = Scene(EARLY)
    scene.voice(800)
    scene.fading(40)
    scene.transcribed(FIRST, "turn on the lamp")
    scene.fading(20)
    again = ReplyId(1, 2)
    assert scene.transcribed(again, "Turn on the lamp.") == (DropAttempt(again, "same words"),)
    assert CommitTurn(FIRST, "turn on the lamp", "turn on the lamp", at(800)) in scene.silence(400)


def drafted(scene: Scene, text: str) -> tuple[Effect, ...]:
    """A silence whose first asking is answered with a draft."""
    scene.voice(800)
    scene.fading(40)
    return scene.tell(FinalTranscript(at(scene.now_ms), FIRST, replace(words(text), is_draft=True)))


def test_behind_a_draft_the_words_are_asked_for_at_once() -> None:
    scene = Scene(SLOW_TO_SETTLE)
    again = ReplyId(1, 2)
    assert drafted(scene, "turn on the lamp") == (
        PrepareReply(FIRST, "turn on the lamp", "turn on the lamp"),
        Transcribe(again, SegmentId(0), at(800), early=True),
    )
    assert scene.silence(100) == (), "they are on their way"
    assert scene.transcribed(again, "Turn on the lamp.") == (DropAttempt(again, "same words"),)
    settled = ReplyId(1, 3)
    assert scene.silence(20) == (Transcribe(settled, SegmentId(0), at(800)),)
    assert scene.transcribed(settled, "Turn on the lamp.") == (DropAttempt(settled, "same words"),)
    assert CommitTurn(FIRST, "turn on the lamp", "turn on the lamp", at(800)) in scene.silence(140)


def test_a_draft_of_other_words_is_dropped() -> None:
    scene = Scene(SLOW_TO_SETTLE)
    drafted(scene, "turn on the")
    again = ReplyId(1, 2)
    assert scene.transcribed(again, "Turn on the lamp.") == (
        DropAttempt(FIRST, "other words"),
        PrepareReply(again, "Turn on the lamp.", "Turn on the lamp."),
    )


def test_a_draft_is_no_answer_even_where_the_turn_is_over() -> None:
    scene = Scene(replace(SLOW_TO_SETTLE, hangover_ms=100))
    drafted(scene, "turn on the")
    assert scene.silence(160) == (EndOfTurn(1),)
    again, settled = ReplyId(1, 2), ReplyId(1, 3)
    assert scene.transcribed(again, "turn on the")[1:] == (Transcribe(settled, SegmentId(0), at(800)),)
    assert CommitTurn(settled, "turn on the lamp", "turn on the lamp", at(800)) in scene.transcribed(
        settled, "turn on the lamp"
    )


def answered_with(scene: Scene, answer: Callable[[Transcribe], Event]) -> list[CommitTurn]:
    """The silence goes on, and whatever is asked is answered so."""
    told = list[Effect]()
    for _ in range(40):
        told += scene.silence(20)
        told += [more for effect in told if isinstance(effect, Transcribe) for more in scene.tell(answer(effect))]
        told = [effect for effect in told if not isinstance(effect, Transcribe)]
    return [effect for effect in told if isinstance(effect, CommitTurn)]


def test_behind_a_draft_words_that_are_lost_are_lost() -> None:
    """It may lack a word: nobody is answered to half a sentence."""
    scene = Scene(SLOW_TO_SETTLE)
    drafted(scene, "set a timer for twenty")
    again = ReplyId(1, 2)
    assert scene.tell(TranscriptFailed(at(scene.now_ms), again, SegmentId(0))) == (
        DropAttempt(FIRST, "other words"),
        PrepareReply(again, "", "", transcript_lost=True),
    )
    commits = answered_with(scene, lambda asked: TranscriptFailed(at(scene.now_ms), asked.reply, SegmentId(0)))
    assert commits == [CommitTurn(again, "", "", at(800))]


def test_words_are_as_sure_as_what_confirms_the_draft() -> None:
    scene = Scene(SLOW_TO_SETTLE)
    drafted(scene, "turn it on")
    again = ReplyId(1, 2)
    guess = replace(words("Turn it on."), low_confidence=True)
    assert scene.tell(FinalTranscript(at(scene.now_ms), again, guess)) == (DropAttempt(again, "same words"),)
    commits = answered_with(scene, lambda asked: FinalTranscript(at(scene.now_ms), asked.reply, guess))
    assert commits == [CommitTurn(FIRST, "turn it on", "turn it on", at(800), low_confidence=True)]


def test_a_sure_draft_of_noise_is_no_answer() -> None:
    """Of less sound a decoder is sometimes sure of what nobody said."""
    scene = Scene(SLOW_TO_SETTLE)
    scene.babble(800, 0.6)
    scene.fading(40)
    scene.tell(FinalTranscript(at(scene.now_ms), FIRST, replace(words("thank you"), is_draft=True)))
    guess = replace(words("Thank you."), low_confidence=True)
    assert scene.tell(FinalTranscript(at(scene.now_ms), ReplyId(1, 2), guess)) == (DropAttempt(FIRST, "other words"),)
    assert answered_with(scene, lambda asked: FinalTranscript(at(scene.now_ms), asked.reply, guess)) == []
    assert scene.floor() is Phase.IDLE


def test_a_draft_that_comes_after_its_attempt_was_dropped_asks_for_nothing() -> None:
    scene = Scene(SLOW_TO_SETTLE)
    scene.voice(800)
    scene.fading(40)
    scene.voice(20)
    assert scene.tell(FinalTranscript(at(scene.now_ms), FIRST, replace(words("turn on"), is_draft=True))) == ()


def test_only_a_silence_that_may_be_none_is_answered_with_a_draft() -> None:
    scene = Scene(TurnSettings(hangover_ms=400, speculate_after_ms=None, settle_ms=160))
    scene.voice(800)
    asked = [effect for effect in scene.silence(400) if isinstance(effect, Transcribe)]
    assert asked == [Transcribe(FIRST, SegmentId(0), at(800))]


def test_no_answer_before_the_words_are_settled() -> None:
    scene = Scene(TurnSettings(hangover_ms=60, speculate_after_ms=40, settle_ms=60))
    scene.voice(800)
    scene.fading(40)
    scene.transcribed(FIRST, "turn on the")
    scene.fading(20)
    assert scene.silence(400)[0] == EndOfTurn(1)
    assert [type(effect) for effect in scene.transcribed(ReplyId(1, 2), "turn on the lamp")] == [
        DropAttempt,
        PrepareReply,
        CommitTurn,
        CloseSegment,
    ]


def test_words_are_asked_for_on_the_way_to_where_they_settle() -> None:
    scene = Scene(SLOW_TO_SETTLE)
    scene.voice(800)
    scene.fading(40)
    scene.transcribed(FIRST, "turn on the")
    assert scene.silence(20) == ()
    assert scene.silence(20) == (Transcribe(ReplyId(1, 2), SegmentId(0), at(800), early=True),)
    scene.transcribed(ReplyId(1, 2), "turn on the lamp")
    for later, early in ((ReplyId(1, 3), True), (ReplyId(1, 4), False)):
        assert scene.silence(20) == ()
        assert scene.silence(20) == (Transcribe(later, SegmentId(0), at(800), early=early),)
        assert scene.transcribed(later, "turn on the lamp") == (DropAttempt(later, "same words"),)
    assert scene.silence(140)[-2:] == (
        CommitTurn(ReplyId(1, 2), "turn on the lamp", "turn on the lamp", at(800)),
        CloseSegment(SegmentId(0), 1),
    )


def test_words_that_come_after_the_end_are_confirmed_before_they_are_answered() -> None:
    scene = Scene(SLOW_TO_SETTLE)
    scene.voice(800)
    scene.fading(60)
    scene.transcribed(FIRST, "turn on the")
    scene.silence(40)
    assert scene.silence(300) == (EndOfTurn(1),)
    third = ReplyId(1, 3)
    assert scene.transcribed(ReplyId(1, 2), "turn on the") == (
        DropAttempt(ReplyId(1, 2), "same words"),
        Transcribe(third, SegmentId(0), at(800), early=False),
    )
    assert scene.transcribed(third, "turn on the lamp") == (
        DropAttempt(FIRST, "other words"),
        PrepareReply(third, "turn on the lamp", "turn on the lamp"),
        CommitTurn(third, "turn on the lamp", "turn on the lamp", at(800)),
        CloseSegment(SegmentId(0), 1),
    )


def test_the_phrase_alone_still_calls_where_asking_again_comes_to_nothing() -> None:
    scene = Scene(SLOW_TO_SETTLE)
    scene.voice(800)
    scene.fading(40)
    scene.tell(FinalTranscript(at(scene.now_ms), FIRST, words(""), "called"))
    for again in (2, 3, 4):
        scene.silence(40)
        scene.tell(TranscriptFailed(at(scene.now_ms), ReplyId(1, again), SegmentId(0)))
    scene.silence(140)
    assert scene.effects[-1] == TurnDiscarded(1, at(scene.now_ms), at(800), "called")


def test_early_words_that_come_after_the_end_are_asked_for_once_more() -> None:
    scene = Scene(SLOW_TO_SETTLE)
    scene.voice(800)
    scene.silence(400)
    second = ReplyId(1, 2)
    assert scene.transcribed(FIRST, "hello") == (
        PrepareReply(FIRST, "hello", "hello"),
        Transcribe(second, SegmentId(0), at(800), early=False),
    )
    assert scene.transcribed(second, "hello") == (
        DropAttempt(second, "same words"),
        CommitTurn(FIRST, "hello", "hello", at(800)),
        CloseSegment(SegmentId(0), 1),
    )


# ---- how long a silence is waited for -----------------------------------------------------------------------


def judged(scene: Scene, probability: float, silence_ms: float, segment: int = 0) -> tuple[Effect, ...]:
    estimate = EndOfTurnEstimate(probability, silence_ms, 650.0, "sound")
    return scene.tell(EndOfTurnScored(at(scene.now_ms), SegmentId(segment), estimate))


PATIENCE = EndOfTurnProfile(floor_ms=180, ceiling_ms=900, unfinished_ms=900, threshold=0.8)


@pytest.mark.parametrize(("probability", "silence_ms"), [(0.99, 180), (0.5, 720), (0.01, 900)])
def test_a_turn_that_sounds_finished_ends_sooner(probability: float, silence_ms: int) -> None:
    scene = Scene(TurnSettings(hangover_ms=400, speculate_after_ms=40, patience=PATIENCE))
    scene.voice(800)
    scene.silence(60)
    scene.transcribed(FIRST, "hello")
    judged(scene, probability, 200)
    assert EndOfTurn(1) not in scene.silence(silence_ms - 80)
    assert EndOfTurn(1) in scene.silence(20)


def test_an_estimate_of_another_silence_says_nothing() -> None:
    scene = Scene(TurnSettings(hangover_ms=400, patience=PATIENCE))
    scene.voice(800)
    scene.silence(60)
    judged(scene, 0.99, 60, segment=77)
    assert scene.silence(200) == ()
    judged(scene, 0.99, 260)
    assert EndOfTurn(1) in scene.silence(20)


def test_who_goes_on_is_judged_anew() -> None:
    scene = Scene(TurnSettings(hangover_ms=400, patience=PATIENCE))
    scene.voice(800)
    scene.silence(60)
    judged(scene, 0.99, 60)
    scene.voice(200)
    assert scene.silence(380) == ()


# ---- what the client decides --------------------------------------------------------------------------------


def test_without_turn_detection_silence_ends_nothing() -> None:
    scene = Scene(TurnSettings(manual=True))
    scene.voice(500)
    assert scene.silence(3000) == ()
    assert scene.tell(InputCommitted(at(scene.now_ms))) == (Transcribe(FIRST, SegmentId(0), at(500)), EndOfTurn(1))
    assert scene.transcribed(FIRST, "hello") == (
        RecordTurn(1, "hello", "hello", at(500)),
        CloseSegment(SegmentId(0), 1),
    )
    assert scene.floor() is Phase.IDLE


def test_speech_that_is_cut_in_two_is_two_turns() -> None:
    scene = Scene(TurnSettings(manual=True))
    scene.voice(1000)
    scene.tell(InputCommitted(at(1000)))
    scene.transcribed(FIRST, "the first half")
    scene.effects.clear()
    scene.voice(1000)
    segment = SegmentId(at(1000))
    assert scene.effects == [OpenSegment(segment, at(1000)), TurnStarted(2, at(1000))]
    scene.silence(100)
    assert scene.tell(InputCommitted(at(scene.now_ms)))[0] == Transcribe(ReplyId(2, 1), segment, at(2000))


def test_speech_that_goes_on_into_the_answer_to_its_first_half_is_a_turn_behind_it() -> None:
    scene = Scene(TurnSettings(manual=True))
    scene.voice(1000)
    scene.tell(InputCommitted(at(1000)))
    scene.tell(ReplyRequested(at(1000), "requested"))
    scene.transcribed(FIRST, "the first half")
    scene.voice(1000)
    scene.silence(100)
    assert scene.tell(ReplyEnded(at(scene.now_ms), FIRST)) == (TurnStarted(2, at(1000)),)


def test_the_end_of_what_was_submitted_is_no_turn() -> None:
    scene = Scene(TurnSettings(manual=True))
    scene.voice(1000)
    scene.tell(InputCommitted(at(1000)))
    scene.transcribed(FIRST, "all of it")
    scene.effects.clear()
    scene.voice(240)
    scene.silence(500)
    assert scene.effects == []
    assert scene.floor() is Phase.IDLE


MANUAL = TurnSettings(manual=True, by_client=True)


def told_behind_a_commit(scene: Scene) -> None:
    """A turn that a client ended at 1000 ms, and half a second of voice before its words come."""
    scene.voice(1000)
    scene.tell(InputCommitted(at(1000)))
    scene.silence(200)
    scene.voice(500)
    scene.silence(200)
    scene.effects.clear()


def test_what_is_said_while_the_words_before_are_still_to_come_is_a_turn_of_its_own() -> None:
    scene = Scene(MANUAL)
    told_behind_a_commit(scene)
    scene.transcribed(FIRST, "the first half")
    begun = (OpenSegment(SegmentId(at(1000)), at(1200)), TurnStarted(2, at(1200)))
    assert scene.silence(20) == begun
    asked = Transcribe(ReplyId(2, 1), SegmentId(at(1000)), at(1700))
    assert scene.tell(InputCommitted(at(scene.now_ms)))[0] == asked


def test_what_is_said_and_submitted_while_the_words_before_are_still_to_come_is_a_turn_of_its_own() -> None:
    scene = Scene(MANUAL)
    told_behind_a_commit(scene)
    assert scene.tell(InputCommitted(at(1900))) == ()
    scene.voice(400)
    scene.tell(InputCommitted(at(2300)))
    scene.transcribed(FIRST, "the first")
    scene.silence(20)
    scene.transcribed(ReplyId(2, 1), "the second")
    scene.silence(20)
    scene.transcribed(ReplyId(3, 1), "the third")
    assert [effect.text for effect in scene.effects if isinstance(effect, RecordTurn)] == [
        "the first",
        "the second",
        "the third",
    ]
    assert [effect.segment for effect in scene.effects if isinstance(effect, OpenSegment)] == [
        SegmentId(at(1000)),
        SegmentId(at(1900)),
    ]


def test_an_answer_that_is_asked_for_behind_two_commits_answers_the_second() -> None:
    scene = Scene(MANUAL)
    told_behind_a_commit(scene)
    scene.tell(InputCommitted(at(1900)))
    assert scene.tell(ReplyRequested(at(1900), "requested")) == ()
    assert isinstance(scene.transcribed(FIRST, "the first")[0], RecordTurn)
    scene.silence(20)
    commit = next(e for e in scene.transcribed(ReplyId(2, 1), "the second") if isinstance(e, CommitTurn))
    assert commit.text == "the second"


def test_a_commit_of_nothing_behind_another_one_is_nothing_once_the_words_of_that_have_come() -> None:
    scene = Scene(MANUAL)
    scene.voice(1000)
    scene.tell(InputCommitted(at(1000)))
    scene.silence(500)
    assert scene.tell(InputCommitted(at(1500))) == ()
    scene.transcribed(FIRST, "all of it")
    assert scene.silence(20) == (TurnDiscarded(2, at(1520), at(1500), "no words", submitted=True),)


def test_what_is_cleared_behind_a_commit_is_no_turn() -> None:
    scene = Scene(MANUAL)
    told_behind_a_commit(scene)
    scene.tell(InputCleared(at(scene.now_ms)))
    scene.transcribed(FIRST, "the first half")
    assert scene.silence(500) == ()


def test_the_end_of_a_word_behind_a_commit_is_no_turn_when_its_words_come_late() -> None:
    scene = Scene(MANUAL)
    scene.voice(1000)
    scene.tell(InputCommitted(at(1000)))
    scene.voice(240)
    scene.silence(300)
    scene.transcribed(FIRST, "all of it")
    assert scene.silence(500) == ()


def test_the_rest_of_a_turn_that_was_too_long_is_the_next_one_though_it_is_over_when_the_words_come() -> None:
    scene = Scene(TurnSettings(max_turn_s=1.0, interruptible=False))
    scene.voice(1500)
    scene.silence(200)
    scene.transcribed(FIRST, "the first half")
    assert OpenSegment(SegmentId(at(1000)), at(1000)) in scene.silence(20)


def test_the_rest_of_a_noise_that_was_too_long_is_nothing() -> None:
    scene = Scene(TurnSettings(max_turn_s=1.0))
    scene.voice(1500)
    scene.silence(200)
    scene.transcribed(FIRST, "")
    assert scene.silence(1000) == ()


def test_who_goes_on_behind_a_commit_and_has_finished_when_its_words_come_has_the_floor() -> None:
    scene = Scene(TurnSettings(by_client=True))
    told_behind_a_commit(scene)
    scene.transcribed(FIRST, "what time")
    assert RetractReply(FIRST) in scene.silence(20)
    scene.silence(400)
    commit = next(e for e in scene.transcribed(last_asked(scene), "is it") if isinstance(e, CommitTurn))
    assert commit.text == "what time is it"


def test_noise_behind_a_commit_takes_nothing_back() -> None:
    scene = Scene(TurnSettings(by_client=True))
    scene.voice(1000)
    scene.tell(InputCommitted(at(1000)))
    scene.silence(200)
    scene.babble(200)
    scene.silence(200)
    scene.transcribed(FIRST, "what time is it")
    assert scene.silence(100) == ()


def test_of_many_commits_the_last_ones_are_one() -> None:
    scene = Scene(MANUAL)
    scene.voice(1000)
    scene.tell(InputCommitted(at(1000)))
    for _ in range(12):
        scene.silence(100)
        scene.voice(300)
        scene.silence(100)
        scene.tell(InputCommitted(at(scene.now_ms)))
    for number in range(1, 30):
        scene.transcribed(ReplyId(number, 1), "one")
        scene.silence(20)
    assert sum(isinstance(effect, RecordTurn) for effect in scene.effects) == 1 + MAX_QUEUED_TURNS


@pytest.mark.parametrize("settings", [TurnSettings(manual=True), TurnSettings(interruptible=False)])
def test_what_was_said_into_a_reply_outlives_its_cancel(settings: TurnSettings) -> None:
    scene = Scene(settings)
    scene.tell(ReplyRequested(at(0), "requested"))
    scene.voice(7000)
    assert scene.tell(ReplyCancelled(at(7000))) == (InterruptReply(FIRST, "client"), TurnStarted(2, at(0)))


def test_words_that_never_come_do_not_cost_the_answer_to_those_before() -> None:
    scene = Scene()
    scene.replying("what time is it")
    scene.voice(200)
    scene.silence(400)
    scene.silence(10_000)
    assert [effect for effect in scene.effects if isinstance(effect, CommitTurn)][-1] == CommitTurn(
        ReplyId(1, 3), "what time is it", "", None, origin="requested"
    )


def test_an_answer_asked_for_while_the_words_are_due_answers_them() -> None:
    scene = Scene(TurnSettings(manual=True))
    scene.voice(500)
    scene.tell(InputCommitted(at(500)))
    assert scene.tell(ReplyRequested(at(500), "requested")) == ()
    assert scene.transcribed(FIRST, "hello") == (
        PrepareReply(FIRST, "hello", "hello"),
        CommitTurn(FIRST, "hello", "hello", at(500), submitted=True),
        CloseSegment(SegmentId(0), 1),
    )


def test_an_answer_that_is_cancelled_while_the_words_are_due_is_not_given() -> None:
    scene = Scene(TurnSettings(manual=True))
    scene.voice(500)
    scene.tell(InputCommitted(at(500)))
    scene.tell(ReplyRequested(at(500), "requested"))
    assert scene.tell(ReplyCancelled(at(500))) == (), "which is of replies only"
    assert scene.turns.owes_reply
    assert scene.tell(ReplyCancelled(at(500), including_request=True)) == ()
    assert not scene.turns.owes_reply
    assert scene.transcribed(FIRST, "hello")[0] == RecordTurn(1, "hello", "hello", at(500))


def test_an_answer_that_is_cancelled_while_it_is_prepared_for_is_dropped() -> None:
    """Its words are asked for once more, since they may have settled otherwise."""
    scene = Scene(TurnSettings(answers=False, speculate_after_ms=40, settle_ms=160, hangover_ms=100))
    scene.voice(500)
    scene.silence(60)
    scene.transcribed(FIRST, "hello")
    scene.silence(100)
    assert scene.turns.phase is Phase.AWAITING_TRANSCRIPT, "and its words are being asked for again"
    assert scene.tell(ReplyRequested(at(660), "requested"))[0] == PrepareReply(FIRST, "hello", "hello")
    effects = scene.tell(ReplyCancelled(at(660), including_request=True))
    third = ReplyId(1, 3)
    assert effects == (
        DropAttempt(FIRST, "cleared"),
        DropAttempt(ReplyId(1, 2), "cleared"),
        Transcribe(third, SegmentId(0), at(500)),
    )
    assert scene.transcribed(third, "hello")[0] == RecordTurn(1, "hello", "hello", at(500))


def test_silence_that_is_submitted_is_nothing() -> None:
    scene = Scene(TurnSettings(manual=True))
    scene.silence(500)
    assert scene.tell(InputCommitted(at(500))) == (TurnDiscarded(1, at(500), at(500), "no words", submitted=True),)


@pytest.mark.parametrize("lost", [False, True])
def test_a_voice_without_words_that_is_submitted_is_nothing_unless_they_were_lost(*, lost: bool) -> None:
    scene = Scene(TurnSettings(manual=True))
    scene.voice(500)
    scene.tell(InputCommitted(at(500)))
    if lost:
        effects = scene.tell(TranscriptFailed(at(500), FIRST, SegmentId(0)))
        assert effects == (RecordTurn(1, "", "", at(500)), CloseSegment(SegmentId(0), 1))
    else:
        assert scene.transcribed(FIRST, "")[-1] == TurnDiscarded(1, at(500), at(500), "no words", submitted=True)


def test_without_turn_detection_a_voice_interrupts_nothing() -> None:
    scene = Scene(TurnSettings(manual=True))
    scene.tell(ReplyRequested(at(0), "requested"))
    effects = scene.voice(2000)
    assert [type(effect) for effect in effects] == [OpenSegment]
    scene.silence(400)
    assert scene.tell(ReplyEnded(at(scene.now_ms), FIRST)) == (TurnStarted(2, at(0)),)


def test_what_was_said_into_a_reply_can_be_submitted() -> None:
    scene = Scene(TurnSettings(manual=True))
    scene.tell(ReplyRequested(at(0), "requested"))
    scene.voice(500)
    second = ReplyId(2, 1)
    assert scene.tell(InputCommitted(at(500))) == (
        InterruptReply(FIRST, "client"),
        TurnStarted(2, at(0)),
        Transcribe(second, SegmentId(0), at(500)),
        EndOfTurn(2),
    )


def test_a_client_that_decides_is_told_the_words_and_asks() -> None:
    scene = Scene(TurnSettings(answers=False))
    scene.voice(500)
    scene.silence(400)
    assert scene.transcribed(FIRST, "hello")[0] == RecordTurn(1, "hello", "hello", at(500))
    scene.tell(ReplyRequested(at(1000), "requested"))
    assert scene.turns.phase is Phase.REPLYING


def test_a_reply_that_may_not_be_interrupted_plays_on() -> None:
    scene = Scene(TurnSettings(interruptible=False))
    scene.replying(words_heard=3, audible=True)
    assert [type(effect) for effect in scene.voice(2000)] == [OpenSegment]
    assert [type(effect) for effect in scene.silence(200)] == [DiscardSegment]
    assert scene.turns.phase is Phase.REPLYING


@pytest.mark.parametrize(
    "changed", [TurnSettings(manual=True), TurnSettings(interruptible=False), TurnSettings(held=True)]
)
def test_a_reply_that_may_not_be_interrupted_any_more_swells_up_again(changed: TurnSettings) -> None:
    scene = Scene()
    reply = scene.replying(words_heard=3, audible=True)
    scene.voice(100)
    scene.turns.settings = changed
    assert scene.voice(20) == (UnduckReply(reply),)
    assert scene.voice(2000) == ()


def test_what_is_said_into_a_reply_that_only_the_client_interrupts_is_a_turn_behind_it() -> None:
    scene = Scene(TurnSettings(interruptible=False, by_client=True))
    scene.replying(words_heard=3, audible=True)
    began = scene.now_ms
    assert [type(effect) for effect in scene.voice(200)] == [OpenSegment]
    assert scene.voice(200) == (TurnStarted(2, at(began)),), "which the client is told, to interrupt it or not"
    scene.tell(ReplyEnded(at(scene.now_ms), FIRST))
    assert [type(effect) for effect in scene.silence(400)] == [Transcribe, EndOfTurn]
    second = ReplyId(2, 1)
    assert scene.transcribed(second, "and then")[:2] == (
        PrepareReply(second, "and then", "and then"),
        CommitTurn(second, "and then", "and then", at(began + 400)),
    )


BESIDE = TurnSettings(interruptible=False, by_client=True)


def said_beside_a_reply(settings: TurnSettings = BESIDE, text: str = "and then") -> tuple[Scene, tuple[Effect, ...]]:
    """Speech that may not interrupt, and its words, while the reply goes on."""
    scene = Scene(BESIDE)
    scene.replying(words_heard=3, audible=True)
    scene.turns.settings = settings
    scene.voice(400)
    scene.effects.clear()
    assert scene.silence(380) == ()
    assert scene.silence(20) == (Transcribe(ReplyId(2, 1), SegmentId(at(scene.now_ms - 1100)), at(scene.now_ms - 400)),)
    return scene, scene.transcribed(ReplyId(2, 1), text)


def test_speech_that_may_not_interrupt_is_taken_down_when_it_ends() -> None:
    scene, effects = said_beside_a_reply()
    end = at(scene.now_ms - 400)
    assert effects == (
        RecordTurn(2, "and then", "and then", end),
        CloseSegment(SegmentId(end - samples_of_ms(700)), 2),
    )
    assert scene.turns.phase is Phase.REPLYING
    third = ReplyId(3, 1)
    assert scene.tell(ReplyEnded(at(scene.now_ms), FIRST)) == (
        PrepareReply(third, ""),
        CommitTurn(third, "", "", None, origin="requested"),
    )
    assert scene.silence(2000) == ()


def test_speech_beside_a_reply_is_not_answered_where_the_client_answers() -> None:
    scene, effects = said_beside_a_reply(replace(BESIDE, answers=False))
    assert isinstance(effects[0], RecordTurn)
    assert scene.tell(ReplyEnded(at(scene.now_ms), FIRST)) == ()
    assert scene.silence(2000) == ()


def test_speech_without_words_beside_a_reply_is_nothing() -> None:
    scene, effects = said_beside_a_reply(text="")
    assert effects[-1] == TurnDiscarded(2, at(scene.now_ms), at(scene.now_ms - 400), "no words")
    assert scene.tell(ReplyEnded(at(scene.now_ms), FIRST)) == ()


def test_speech_beside_a_reply_that_the_client_cancels_is_answered() -> None:
    scene, _ = said_beside_a_reply()
    assert scene.tell(ReplyCancelled(at(scene.now_ms))) == (InterruptReply(FIRST, "client"),)
    assert [type(effect) for effect in scene.silence(20)] == [PrepareReply, CommitTurn]


def test_speech_twice_beside_a_reply_is_answered_once() -> None:
    scene, _ = said_beside_a_reply()
    scene.voice(400)
    scene.silence(400)
    assert isinstance(scene.transcribed(ReplyId(3, 1), "more")[0], RecordTurn)
    assert [type(effect) for effect in scene.tell(ReplyEnded(at(scene.now_ms), FIRST))] == [PrepareReply, CommitTurn]
    assert scene.silence(2000) == ()


@pytest.mark.parametrize("text", ["more", ""])
def test_speech_at_the_end_of_a_reply_is_answered_with_what_was_said_beside_it(text: str) -> None:
    scene, _ = said_beside_a_reply()
    scene.voice(400)
    assert scene.tell(ReplyEnded(at(scene.now_ms), FIRST)) == ()
    scene.silence(400)
    effects = scene.transcribed(ReplyId(3, 1), text)
    assert [type(effect) for effect in effects] == [PrepareReply, CommitTurn, CloseSegment]
    assert effects[0] == PrepareReply(ReplyId(3, 1), text, text)


def test_words_lost_beside_a_reply_are_asked_for_or_apologized_for_behind_it() -> None:
    scene = Scene(BESIDE)
    scene.replying(words_heard=3, audible=True)
    scene.voice(400)
    scene.silence(400)
    segment = SegmentId(at(scene.now_ms - 1100))
    assert scene.tell(TranscriptFailed(at(scene.now_ms), ReplyId(2, 1), segment)) == ()
    assert scene.tell(ReplyEnded(at(scene.now_ms), FIRST)) == (PrepareReply(ReplyId(2, 1), "", transcript_lost=True),)
    assert isinstance(scene.silence(20)[-2], CommitTurn)


def test_a_cough_into_a_reply_that_only_the_client_interrupts_is_nothing() -> None:
    scene = Scene(TurnSettings(interruptible=False, by_client=True))
    scene.replying(words_heard=3, audible=True)
    scene.effects.clear()
    scene.voice(200)
    scene.silence(200)
    assert [type(effect) for effect in scene.effects] == [OpenSegment, DiscardSegment]


# ---- voice may not interrupt, but who is addressed ----

BY_NAME = TurnSettings(interruptible=False, by_name=True)
SECOND = ReplyId(2, 1)


def spoken_into_a_reply() -> Scene:
    """From 1.8 s on, with a breath in it, up to 3 s; the words are asked for."""
    scene = Scene(BY_NAME)
    scene.replying(words_heard=3, audible=True)
    scene.effects.clear()
    scene.voice(400)
    scene.silence(200)
    scene.voice(600)
    scene.silence(380)
    assert [type(effect) for effect in scene.effects] == [OpenSegment], "a breath ends nothing, and nothing ducks"
    assert scene.silence(20) == (TurnStarted(2, at(1800)), Transcribe(SECOND, SegmentId(at(1500)), at(3000)))
    assert scene.silence(200) == ()
    return scene


def test_who_is_addressed_in_a_reply_interrupts_it_when_the_words_have_come() -> None:
    scene = spoken_into_a_reply()
    assert scene.transcribed(SECOND, "stop") == (
        InterruptReply(FIRST),
        PrepareReply(SECOND, "stop", "stop"),
    )
    assert scene.silence(20) == (
        EndOfTurn(2),
        CommitTurn(SECOND, "stop", "stop", at(3000)),
        CloseSegment(SegmentId(at(1500)), 2),
    )


def test_what_is_said_into_a_reply_to_somebody_else_leaves_it_alone() -> None:
    scene = spoken_into_a_reply()
    assert scene.tell(FinalTranscript(at(scene.now_ms), SECOND, words(""), "overheard")) == (
        DropAttempt(SECOND, "overheard"),
        DiscardSegment(SegmentId(at(1500)), 2),
        TurnDiscarded(2, at(scene.now_ms), at(3000), "overheard"),
    )
    assert scene.floor() is Phase.REPLYING
    assert scene.voice(20) == (OpenSegment(SegmentId(at(3300)), at(3600)),)


def test_a_call_alone_interrupts_a_reply() -> None:
    scene = spoken_into_a_reply()
    called = FinalTranscript(at(scene.now_ms), SECOND, words(""), "called")
    assert scene.tell(called) == (InterruptReply(FIRST),)
    assert scene.silence(20)[-1] == TurnDiscarded(2, at(scene.now_ms), at(3000), "called")


def test_who_goes_on_before_the_words_have_come_is_asked_about_again() -> None:
    scene = spoken_into_a_reply()
    assert scene.voice(20) == (DropAttempt(SECOND, "went on"),)
    assert scene.transcribed(SECOND, "stop") == ()
    assert scene.silence(400)[-1] == Transcribe(ReplyId(2, 2), SegmentId(at(1500)), at(3620))
    assert scene.transcribed(ReplyId(2, 2), "stop it")[0] == InterruptReply(FIRST)


@pytest.mark.parametrize("goes_on", [False, True])
def test_a_reply_that_ends_before_the_words_have_come_leaves_the_floor_to_them(*, goes_on: bool) -> None:
    scene = spoken_into_a_reply()
    if goes_on:
        scene.voice(20)
    assert scene.tell(ReplyEnded(at(scene.now_ms), FIRST)) == ()
    scene.silence(400)
    asked = ReplyId(2, 2) if goes_on else SECOND
    assert PrepareReply(asked, "stop", "stop") in scene.transcribed(asked, "stop")


@pytest.mark.parametrize("event", [ReplyRequested(at(0), "requested"), InputCleared(at(0))])
def test_words_that_are_asked_for_beside_a_reply_are_dropped_with_it(event: ReplyRequested | InputCleared) -> None:
    scene = spoken_into_a_reply()
    now, why = at(scene.now_ms), "requested" if isinstance(event, ReplyRequested) else "cleared"
    assert scene.tell(replace(event, at=now))[:3] == (
        DropAttempt(SECOND, why),  # type: ignore[arg-type]
        DiscardSegment(SegmentId(at(1500)), 2),
        TurnDiscarded(2, now, at(3000), why),  # type: ignore[arg-type]
    )
    assert scene.transcribed(SECOND, "stop") == ()


def test_a_client_that_interrupts_hears_on_what_was_begun_into_the_reply() -> None:
    scene = Scene(TurnSettings(interruptible=False, by_client=True))
    scene.replying(words_heard=3, audible=True)
    scene.voice(400)
    assert scene.tell(ReplyCancelled(at(scene.now_ms))) == (InterruptReply(FIRST, "client"),)
    scene.voice(400)
    assert [type(effect) for effect in scene.silence(400)] == [Transcribe, EndOfTurn]


def test_what_was_begun_into_such_a_reply_is_over_when_it_is_cleared() -> None:
    scene = Scene(TurnSettings(interruptible=False, by_client=True))
    scene.replying(words_heard=3, audible=True)
    began = scene.now_ms
    scene.voice(400)
    end = at(scene.now_ms)
    assert scene.tell(InputCleared(end)) == (
        DiscardSegment(SegmentId(at(began - 300)), 1),
        TurnDiscarded(2, end, end, "cleared"),
    )
    assert scene.turns.phase is Phase.REPLYING


def test_what_was_begun_into_such_a_reply_interrupts_it_anew_where_it_may_by_now() -> None:
    scene = Scene(TurnSettings(interruptible=False, by_client=True))
    scene.replying(words_heard=3, audible=True)
    scene.voice(400)
    scene.silence(400)
    scene.turns.settings = TurnSettings(by_client=True)
    assert InterruptReply(FIRST) in scene.voice(400)
    assert [type(effect) for effect in scene.silence(400)] == [Transcribe, EndOfTurn]


@pytest.mark.parametrize("cut", [InputCleared, InputCommitted])
def test_speech_goes_on_behind_a_cut_also_where_silence_ends_turns(cut: Callable[[Samples], Event]) -> None:
    scene = Scene(TurnSettings(by_client=True))
    scene.voice(1000)
    scene.tell(cut(at(1000)))
    if cut is InputCommitted:
        scene.transcribed(FIRST, "")
    scene.effects.clear()
    scene.voice(1000)
    assert scene.effects == [OpenSegment(SegmentId(at(1000)), at(1000)), TurnStarted(2, at(1000))]
    assert [type(effect) for effect in scene.silence(400)] == [Transcribe, EndOfTurn]


def test_voice_that_was_too_long_does_not_begin_again_because_a_client_may_cut_it() -> None:
    scene = Scene(TurnSettings(by_client=True, max_turn_s=1.0))
    scene.voice(1000)
    scene.transcribed(FIRST, "")
    scene.effects.clear()
    scene.voice(2000)
    assert scene.effects == []


def test_a_turn_in_which_turn_detection_is_switched_off_is_not_answered_unasked() -> None:
    scene = Scene(TurnSettings(speculate_after_ms=100, by_client=True))
    scene.voice(500)
    scene.silence(120)
    scene.transcribed(FIRST, "hello")
    scene.turns.settings = TurnSettings(manual=True, by_client=True)
    assert scene.silence(20) == (DropAttempt(FIRST, "went on"),)
    scene.tell(InputCommitted(at(scene.now_ms)))
    assert scene.transcribed(ReplyId(1, 2), "hello")[0] == RecordTurn(1, "hello", "hello", at(500))


def test_a_turn_in_which_turn_detection_is_switched_on_is_answered() -> None:
    scene = Scene(TurnSettings(manual=True, by_client=True))
    scene.voice(500)
    scene.turns.settings = TurnSettings(by_client=True)
    assert [type(effect) for effect in scene.silence(400)] == [Transcribe, EndOfTurn]
    assert scene.transcribed(FIRST, "hello")[1] == CommitTurn(FIRST, "hello", "hello", at(500))


def test_what_is_cleared_was_never_said() -> None:
    scene = Scene()
    scene.voice(500)
    assert scene.tell(InputCleared(at(500))) == (
        DiscardSegment(SegmentId(0), 1),
        TurnDiscarded(1, at(500), at(500), "cleared"),
    )
    assert scene.voice(300) == (), "the same stretch of voice opens no other turn"


def test_what_is_cleared_behind_a_retracted_reply_leaves_the_words_before_to_be_answered() -> None:
    scene = Scene()
    scene.replying("what time is it")
    scene.voice(100)
    again = ReplyId(1, 2)
    assert scene.tell(InputCleared(at(1900))) == (
        DiscardSegment(SegmentId(at(1500)), 1),
        PrepareReply(again, "what time is it"),
        CommitTurn(again, "what time is it", "", None, origin="requested"),
    )
    assert scene.voice(300) == (), "the same stretch of voice retracts no other reply"


def test_a_repeat_gives_way_to_an_answer_that_is_due() -> None:
    scene = Scene()
    scene.replying("what time is it")
    scene.voice(100)
    assert scene.tell(ReplyRequested(at(1900), "repeated", "It is ten.")) == ()
    scene.silence(400)
    assert CommitTurn(ReplyId(1, 2), "what time is it", "", at(1900)) in scene.transcribed(ReplyId(1, 2), "")


def test_an_announcement_that_is_said_again_is_not_made_another_time() -> None:
    scene = Scene()
    scene.tell(ReplyRequested(at(0), "announcement", "Your timer is done."))
    scene.silence(20)
    again = ReplyId(2, 1)
    assert scene.tell(ReplyRequested(at(20), "repeated", "Your timer is done.")) == (
        InterruptReply(FIRST, "requested"),
        PrepareReply(again, "Your timer is done.", is_literal=True),
        CommitTurn(again, "", "", None, origin="repeated"),
    )
    scene.playing(again, 4)
    scene.tell(ReplyEnded(at(3000), again))
    assert scene.silence(3000) == ()


HELD = TurnSettings(held=True, speculate_after_ms=60, max_turn_s=5)


def test_a_key_that_was_forgotten_ends_its_turn_all_the_same() -> None:
    scene = Scene(HELD)
    scene.tell(KeyPressed(at(0)))
    scene.voice(800)
    scene.silence(60)
    scene.transcribed(FIRST, "what time is it")
    assert EndOfTurn(1) not in scene.silence(4120)
    assert CommitTurn(FIRST, "what time is it", "what time is it", at(800)) in scene.silence(20)


def test_who_holds_the_key_is_about_to_speak_and_no_announcement_comes_before() -> None:
    scene = Scene(HELD)
    scene.tell(KeyPressed(at(0)))
    scene.tell(ReplyRequested(at(0), "announcement", "Your timer is done."))
    ring = PrepareReply(FIRST, "Your timer is done.", is_literal=True)
    assert scene.silence(4980) == ()
    assert ring in scene.silence(20), "a key that was forgotten keeps nothing back"
    fresh = Scene(HELD)
    fresh.tell(KeyPressed(at(0)))
    fresh.tell(ReplyRequested(at(0), "announcement", "Your timer is done."))
    fresh.silence(1000)
    fresh.tell(InputCommitted(at(1000)))
    assert ring in fresh.silence(20)


@pytest.mark.parametrize(("words_heard", "again"), [(0, 2), (1, 1)])
def test_the_key_is_pressed_into_an_announcement_that_is_made_again_if_no_word_was_heard(
    words_heard: int, again: int
) -> None:
    scene = ringing(HELD)
    scene.playing(FIRST, words_heard)
    scene.tell(KeyPressed(at(scene.now_ms)))
    scene.voice(800)
    scene.silence(100)
    scene.tell(InputCommitted(at(scene.now_ms)))
    scene.transcribed(ReplyId(2, 1), "hello")
    scene.tell(ReplyEnded(at(scene.now_ms), ReplyId(2, 1)))
    scene.silence(20)
    assert rings(scene) == again


def test_an_announcement_that_a_client_cancels_is_over() -> None:
    scene = ringing()
    assert scene.tell(ReplyCancelled(at(scene.now_ms))) == (InterruptReply(FIRST, "client"),)
    scene.silence(1000)
    assert rings(scene) == 1


def test_a_client_cancels_a_reply() -> None:
    scene = Scene()
    assert scene.tell(ReplyCancelled(at(0))) == ()
    reply = scene.replying(words_heard=3, audible=True)
    assert scene.tell(ReplyCancelled(at(scene.now_ms))) == (InterruptReply(reply, "client"),)
    assert scene.floor() is Phase.IDLE


# ---- any order of events ------------------------------------------------------------------------------------


@dataclass
class World:
    """A session as it might be: it performs effects, with delays, failures and losses of its own."""

    turns: TurnTaking
    stt_delays_ms: list[float | None]  # None: fails
    reply_lengths_ms: list[float | None]  # None: no sound ever comes, and no end
    texts: list[str]
    voids: list[Literal["", "overheard", "called"]] = field(default_factory=lambda: [""])
    key: PushToTalk | None = None  # only while it is held is anything heard
    onset: Samples = Samples(0)
    now: Samples = Samples(0)
    due: list[tuple[int, int, Callable[[], Event | None]]] = field(default_factory=list)
    order: "count[int]" = field(default_factory=count)
    live: dict[ReplyId, str] = field(default_factory=dict)  # attempt -> asked | prepared | committed
    ended: set[ReplyId] = field(default_factory=set)
    open_segment: SegmentId | None = None
    asked_segment: dict[ReplyId, SegmentId] = field(default_factory=dict)
    outcome: dict[int, list[str]] = field(default_factory=dict)
    heard_words: dict[ReplyId, int] = field(default_factory=dict)
    ducked: bool = False
    held: ReplyId | None = None
    heard: set[ReplyId] = field(default_factory=set)
    reconsidered: int = 0
    confirmed: set[tuple[int, str]] = field(default_factory=set)  # turn, plain words that were no draft

    def later(self, ms: float, event: Callable[[], Event | None]) -> None:
        heapq.heappush(self.due, (self.now + samples_of_ms(ms), next(self.order), event))

    def hear(self, start: Samples, *, voiced: bool) -> bool:
        """Whether a frame is heard as voice, through the key."""
        return voiced and (self.key is None or self.key.heard(Frame(start, LOUD)).pcm is LOUD)

    def press(self) -> None:
        if self.key is not None and self.key.press(self.now):
            self.tell(KeyPressed(self.now))

    def let_go(self) -> None:
        """What the key has to say behind a frame."""
        if self.key is None:
            return
        match self.key.due(self.now, self.onset if self.turns.phase is Phase.USER_SPEAKING else None):
            case "submit":
                self.tell(InputCommitted(self.now))
            case "clear":
                self.tell(InputCleared(self.now))

    def until(self, position: int) -> None:
        while self.due and self.due[0][0] <= position:
            when, _, event = heapq.heappop(self.due)
            self.now = Samples(max(self.now, when))
            told = event()
            if told is not None:
                self.tell(told)
        self.now = Samples(position)

    def tell(self, event: Event) -> None:
        for effect in self.turns.tell(event):
            self.perform(effect)

    def perform(self, effect: Effect) -> None:  # noqa: C901
        match effect:
            case OpenSegment():
                assert self.open_segment is None, "two segments at once"
                assert effect.segment <= effect.onset
                self.open_segment, self.onset = effect.segment, effect.onset
            case CloseSegment() | DiscardSegment():
                assert self.open_segment == effect.segment, "closed what was not open"
                self.open_segment = None
            case RequestTranscript():
                assert self.open_segment == effect.segment
                self.reconsider(effect.segment)
            case TurnStarted():
                assert self.open_segment is not None
                assert effect.turn not in self.outcome, "somebody speaks in a turn that is over"
            case Transcribe():
                assert effect.reply not in self.live
                assert effect.reply not in self.ended
                assert self.open_segment == effect.segment
                asked = [reply for reply in self.live if self.live[reply] != "committed"]
                assert len(asked) <= 1, "more than an attempt and the same once more"
                self.live[effect.reply] = "asked"
                self.asked_segment[effect.reply] = effect.segment
                self.ask(effect)
            case PrepareReply():
                assert self.live.setdefault(effect.reply, "asked") == "asked"
                self.live[effect.reply] = "prepared"
            case EndOfTurn():
                pass
            case CommitTurn():
                assert self.live[effect.reply] == "prepared", "spoke without a prepared reply"
                assert "committed" not in self.live.values(), "answered twice"
                said = effect.reply.turn, plain_words(effect.new_text)
                assert not effect.new_text or said in self.confirmed, "answered a draft"
                self.live[effect.reply] = "committed"
                self.play(effect.reply)
            case DropAttempt():
                assert self.live.pop(effect.reply) in {"asked", "prepared"}
                self.ended.add(effect.reply)
            case RetractReply():
                assert self.live.pop(effect.reply) == "committed"
                assert self.heard_words.get(effect.reply, 0) == 0, "forgot what was heard"
                self.ended.add(effect.reply)
                self.ducked, self.held = False, None
            case InterruptReply():
                assert self.live.pop(effect.reply) == "committed"
                self.ended.add(effect.reply)
                self.end(effect.reply.turn, "interrupted")
                self.ducked, self.held = False, None
            case HoldPlayback():
                assert self.live[effect.reply] == "committed"
                assert self.held is None
                assert effect.reply not in self.heard, "held back what is heard already"
                self.held = effect.reply
            case ReleasePlayback():
                assert self.held == effect.reply
                self.held = None
            case DuckReply():
                assert self.live[effect.reply] == "committed"
                assert not self.ducked
                self.ducked = True
            case UnduckReply():
                assert self.ducked
                self.ducked = False
            case TurnDiscarded():
                self.end(effect.turn, "nothing")
            case RecordTurn():
                for reply in [reply for reply in self.live if reply.turn == effect.turn]:
                    assert self.live.pop(reply) == "asked", "prepared a reply that nobody wants"
                    self.ended.add(reply)
                self.end(effect.turn, "taken down")

    def end(self, turn: int, how: str) -> None:
        assert turn not in self.outcome, "a turn ended twice"
        self.outcome[turn] = [how]

    def ask(self, asked: Transcribe) -> None:
        delay_ms = self.stt_delays_ms[self._turn_of(asked.reply) % len(self.stt_delays_ms)]
        void = self.voids[self._turn_of(asked.reply) % len(self.voids)]
        text = "" if void else self.texts[self._turn_of(asked.reply) % len(self.texts)]
        if delay_ms is None:
            self.later(50, lambda: TranscriptFailed(self.now, asked.reply, asked.segment))
        else:
            draft = asked.draft and bool(text) and delay_ms % 3 == 0

            def come() -> Event:
                if not draft:
                    self.confirmed.add((asked.reply.turn, plain_words(text)))
                return FinalTranscript(
                    self.now, asked.reply, Transcript(asked.segment, self.now, text, is_draft=draft), void
                )

            self.later(delay_ms, come)

    def reconsider(self, segment: SegmentId) -> None:
        """Each asking may be answered otherwise; sometimes it is a guess, sometimes somebody calls."""
        self.reconsidered += 1
        which = self.reconsidered + segment
        delay_ms = self.stt_delays_ms[which % len(self.stt_delays_ms)]
        text = "" if delay_ms is None else self.texts[which % len(self.texts)]
        words, called = Transcript(segment, self.now, text, which % 3 == 0), bool(text) and which % 5 == 0
        self.later(
            delay_ms or 50, lambda: InterimTranscript(self.now, words, has_wake_phrase=called, was_requested=True)
        )

    def play(self, reply: ReplyId) -> None:
        length_ms = self.reply_lengths_ms[self._turn_of(reply) % len(self.reply_lengths_ms)]
        if length_ms is None:
            return
        for ms in range(0, int(length_ms), 100):
            self.later(30 + ms, lambda ms=ms: self._playing(reply, ms // 300))  # type: ignore[misc]
        self.later(30 + length_ms, lambda: self._ended(reply))

    def _playing(self, reply: ReplyId, heard: int) -> Event | None:
        if self.live.get(reply) != "committed":
            return (
                PlaybackProgress(self.now, reply, heard, audible=True) if heard % 2 else None
            )  # stale reports do come
        self.heard_words[reply] = heard
        self.heard.add(reply)
        return PlaybackProgress(self.now, reply, heard, audible=True)

    def _ended(self, reply: ReplyId) -> Event:
        if self.live.get(reply) == "committed":
            del self.live[reply]
            self.ended.add(reply)
            self.held = None
            self.end(reply.turn, "answered")
        return ReplyEnded(self.now, reply)

    def _turn_of(self, reply: ReplyId) -> int:
        return reply.turn * 7 + reply.attempt


def request(at: Samples) -> Event:
    return ReplyRequested(at, "requested")


def repeat(at: Samples) -> Event:
    return ReplyRequested(at, "repeated", "It is ten o'clock.")


def cancel_all(at: Samples) -> Event:
    return ReplyCancelled(at, including_request=True)


CLIENT: list[Callable[[Samples], Event]] = [
    request,
    repeat,
    InputCommitted,
    KeyPressed,
    InputCleared,
    ReplyCancelled,
    cancel_all,
]


def frames_of(stretches: list[tuple[int, int]], sure: list[float]) -> list[float]:
    """How sure a detector is of each frame: of voiced ones by turns as much as `sure` says."""
    course = zip(stretches, cycle(sure), strict=False)
    return [frame for (voiced, silent), voice in course for frame in [voice] * voiced + [0.0] * silent]


stretches = st.lists(st.tuples(st.integers(1, 150), st.integers(1, 150)), max_size=12)
hangovers = st.integers(100, 1500)


COMMITTED: dict[str, Any] = {
    "hangover_ms": 100,
    "speculate_ms": None,
    "reply_lengths_ms": [None],
    "texts": [""],
    "rings": [],
    "max_turn_s": 1.0,
    "ends": "manual",
    "answers": False,
    "interruptible": False,
    "by_name": False,
    "hold": 0,
    "settle_ms": 0.0,
    "voids": [""],
    "partials": [],
    "keys": [],
    "mutes": [],
    "stirs": [],
    "sure": [1.0],
    "interrupt_after_ms": 300.0,
    "murmurs": False,
}
"""A client ends turns, none is answered, and nobody understands a word."""


@settings(max_examples=300)
@example(  # committed in the frame in which the turn before is given up
    **{
        **COMMITTED,
        "stretches": [*[(1, 1)] * 3, (94, 150), (150, 150)],
        "client": [(150, InputCommitted)],
        "stt_delays_ms": [60_000.0],
    }
)
@example(  # committed twice, and the words come in a frame with a voice, before which another one waits
    **{**COMMITTED, "stretches": [(1, 1)] * 3, "client": [(0, InputCommitted)] * 2, "stt_delays_ms": [80.0]}
)
@given(
    stretches=stretches,
    hangover_ms=hangovers,
    speculate_ms=st.none() | st.integers(60, 1500),
    stt_delays_ms=st.lists(
        st.none() | st.sampled_from([0.0, 5.0, 80.0, 700.0, 4000.0, 60_000.0]), min_size=1, max_size=4
    ),
    reply_lengths_ms=st.lists(st.none() | st.integers(0, 4000), min_size=1, max_size=4),
    texts=st.lists(st.sampled_from(["", "yes", "what time is it"]), min_size=1, max_size=4),
    client=st.lists(st.tuples(st.integers(0, 600), st.sampled_from(CLIENT)), max_size=6),
    rings=st.lists(st.integers(0, 600), max_size=2),
    max_turn_s=st.sampled_from([1.0, 30.0]),
    ends=st.sampled_from(["silence", "client", "manual", "held"]),
    answers=st.booleans(),
    interruptible=st.booleans(),
    by_name=st.booleans(),
    hold=st.integers(0, 5),
    settle_ms=st.sampled_from([0.0, 60.0, 200.0]),
    voids=st.lists(st.sampled_from(["", "", "overheard", "called"]), min_size=1, max_size=4),
    partials=st.lists(st.tuples(st.integers(0, 600), st.sampled_from(["mhm", "stop it"]), st.booleans()), max_size=4),
    keys=st.lists(st.tuples(st.integers(0, 600), st.integers(1, 200)), max_size=4),
    mutes=st.lists(st.tuples(st.integers(0, 600), st.integers(1, 200)), max_size=2),
    stirs=st.lists(st.tuples(st.integers(0, 600), st.integers(1, 20)), max_size=6),
    sure=st.lists(st.sampled_from([1.0, 0.6]), min_size=1, max_size=4),
    interrupt_after_ms=st.sampled_from([40.0, 300.0]),
    murmurs=st.booleans(),
)
def test_whatever_happens(
    stretches: list[tuple[int, int]],
    hangover_ms: int,
    speculate_ms: int | None,
    stt_delays_ms: list[float | None],
    reply_lengths_ms: list[float | None],
    texts: list[str],
    client: list[tuple[int, Callable[[Samples], Event]]],
    rings: list[int],
    max_turn_s: float,
    ends: str,
    answers: bool,
    interruptible: bool,
    by_name: bool,
    hold: int,
    settle_ms: float,
    voids: list[Literal["", "overheard", "called"]],
    partials: list[tuple[int, str, bool]],
    keys: list[tuple[int, int]],
    mutes: list[tuple[int, int]],
    stirs: list[tuple[int, int]],
    sure: list[float],
    interrupt_after_ms: float,
    murmurs: bool,
) -> None:
    """Never speaks without a commit, never answers twice, never uses stale words, loses no turn, is never stuck."""
    config = TurnSettings(
        hangover_ms,
        speculate_ms,
        settle_ms,
        interrupt_after_ms,
        max_turn_s=max_turn_s,
        manual=ends == "manual",
        held=ends == "held",
        answers=answers,
        interruptible=interruptible,
        by_client=ends in {"client", "manual"},
        by_name=by_name,
    )
    lengths_ms = [length and float(length) for length in reply_lengths_ms]
    world = World(TurnTaking(config), stt_delays_ms, lengths_ms, texts, voids, PushToTalk() if ends == "held" else None)
    pressed, let_go = {first for first, _ in keys}, {first + length for first, length in keys}
    frames = frames_of(stretches, sure) + [0.0] * 4000  # 80 s: longer than every deadline
    edge, began, voiced_before = Samples(0), Samples(0), False
    held = hold  # frames of silence after which the detector closes
    for number, spoken in enumerate(frames):
        muted = any(first <= number < first + length for first, length in mutes)
        voiced = world.hear(Samples(number * FRAME_SAMPLES), voiced=spoken > 0 and not muted)
        if voiced != voiced_before:
            edge, voiced_before = Samples(number * FRAME_SAMPLES), voiced
            began = edge if voiced and held >= hold else began
        held = 0 if voiced else held + 1
        end = Samples((number + 1) * FRAME_SAMPLES)
        world.until(end)
        if voiced or held > hold:
            stirring = not voiced and any(first <= number < first + length for first, length in stirs)
            since, murmur = began if voiced else edge, voiced and murmurs
            world.tell(
                FrameProcessed(
                    end, VadResult(voiced, since, voiced * spoken, possible_onset=stirring, background_level=murmur)
                )
            )
        else:
            world.tell(FrameProcessed(end, VadResult(True, began, 0.0, possible_end=edge)))
        world.let_go()
        for when, told in client:
            if number == when:
                world.tell(told(end))
        for when, text, called in partials:
            if number == when and world.open_segment is not None:
                world.tell(InterimTranscript(end, words(text, world.open_segment), called))
        if world.key is not None and number in let_go:
            world.key.release(end)
        if number in pressed:
            world.press()
        if ends == "manual" and number == len(frames) - 3900:
            world.tell(InputCommitted(end))  # else a turn stays open, as the client wishes
        if number in rings:
            world.tell(ReplyRequested(end, "announcement", "a timer rings"))
    assert world.turns.phase is Phase.IDLE, "stuck"
    assert world.open_segment is None, "a segment was left open"
    assert not world.live, "an attempt was left behind"
    assert not world.ducked, "left ducked"
    assert world.held is None, "left without a sound"
    turns = {reply.turn for reply in world.ended} | set(world.outcome)
    assert turns == set(world.outcome), "a turn was lost"


events = st.one_of(
    st.builds(
        FrameProcessed,
        st.integers(0, 10**6),
        st.builds(
            VadResult, st.booleans(), st.integers(0, 10**6), st.floats(0, 1), st.none(), st.booleans(), st.booleans()
        ),
    ),
    st.builds(
        FinalTranscript,
        st.integers(0, 10**6),
        st.builds(ReplyId, st.integers(0, 4), st.integers(0, 4)),
        st.just(words("a")),
    ),
    st.builds(
        FinalTranscript,
        st.integers(0, 10**6),
        st.builds(ReplyId, st.integers(0, 4), st.integers(0, 4)),
        st.just(words("")),
        st.sampled_from(["overheard", "called"]),
    ),
    st.builds(ReplyEnded, st.integers(0, 10**6), st.builds(ReplyId, st.integers(0, 4), st.integers(0, 4))),
    st.builds(
        PlaybackProgress,
        st.integers(0, 10**6),
        st.builds(ReplyId, st.integers(0, 4), st.integers(0, 4)),
        st.integers(0, 5),
        st.booleans(),
    ),
    st.builds(
        TranscriptFailed,
        st.integers(0, 10**6),
        st.builds(ReplyId, st.integers(0, 4), st.integers(0, 4)),
        st.just(SegmentId(0)),
    ),
    st.builds(InterimTranscript, st.integers(0, 10**6), st.just(words("mhm")), st.booleans()),
    st.builds(
        ReplyRequested,
        st.integers(0, 10**6),
        st.sampled_from(["greeting", "announcement", "requested", "repeated", "resumed"]),
        st.just("x"),
    ),
    st.builds(InputCommitted, st.integers(0, 10**6)),
    st.builds(KeyPressed, st.integers(0, 10**6)),
    st.builds(InputCleared, st.integers(0, 10**6)),
    st.builds(ReplyCancelled, st.integers(0, 10**6), st.booleans()),
)


@given(
    st.lists(events, max_size=60),
    st.builds(TurnSettings, manual=st.booleans(), held=st.booleans(), answers=st.booleans()),
)
def test_no_order_of_events_raises(told: list[Event], config: TurnSettings) -> None:
    turns = TurnTaking(config)
    for event in told:
        turns.tell(event)
