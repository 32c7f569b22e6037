"""Does the I/O of each state in the life of a reply; `reply_life.py` has the states and their table.

The reply is made by a task (`reply_production.py`) whose sound waits at a gate until the commit.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, Protocol

from assistant.events import (
    ItemForgotten,
    Problem,
    ReplyStarted,
    ReplyStopped,
    SessionEvent,
    UserTurnCommitted,
)
from assistant.history.history import HeardReply, History
from assistant.history.items import UserMessage
from assistant.pipeline.answer_reports import AnswerReports
from assistant.pipeline.delegated_calls import DelegatedCalls
from assistant.pipeline.engine_recovery import EngineRecovery
from assistant.pipeline.engines import ReplyOptions
from assistant.pipeline.history_summarizer import HistorySummarizer
from assistant.pipeline.reply_life import (
    AllSent,
    ConversationOver,
    LifeEvent,
    NextReplyBegan,
    PlayedOut,
    ReplyState,
    TrailingReplyStopped,
    next_state,
)
from assistant.pipeline.reply_production import ReplyProduction
from assistant.pipeline.reply_source import GUESSED, ReplySource
from assistant.pipeline.session_context import SessionContext
from assistant.pipeline.side_tasks import cancel_task
from assistant.pipeline.unasked.ringing import RingSound
from assistant.skills.answers import changes_something
from assistant.support.notice import notice
from assistant.text.failure_sentences import failure_sentence
from assistant.tools.rounds import ReplyEvent
from assistant.trace.record import Outcome
from assistant.turns.effects import (
    CommitTurn,
    CommitWithoutReply,
    InterruptReply,
    PrepareReply,
    RetractReply,
    StopReason,
)
from assistant.turns.events import PlaybackProgress, ReplyEnded, ReplyId
from audio.sound_id import SoundId
from audio.speaker import Speaker
from audio.tts import Voice
from audio.tts.relief_voice import relief_of
from audio.units import REPLY_RATE_HZ, ReplySamples, ms_of_reply_samples, ms_of_samples

MAX_TRAILING_REPLIES = 4
"""Maximum number of trailing replies. A further request waits."""

MAX_HEARD_HOLD_S = 0.5
"""Longest time for which a reply that is heard is held, even if frames stop. Turn taking usually decides sooner."""

MAX_ECHO_S = 3.0
"""Longest delay of a word that comes back as echo: 2 s of overlap, 160 ms of silence and the loudspeaker's latency."""

_MAX_ECHO_SAMPLES = round(MAX_ECHO_S * REPLY_RATE_HZ)

NO_WORD_RECOGNIZED = "clear speech in which no word was recognized"


class OnReplyHeard(Protocol):
    """Receives the text of a reply that was heard. `rang`: the reply has rung."""

    def __call__(self, heard: str, *, rang: bool = False) -> None: ...


@dataclass(slots=True)
class ReplyManager:
    """Manages the replies of one conversation. Not thread-safe: call it on the event loop.

    Attributes:
        context: What it shares with the rest of the session.
        speaker: Plays the replies.
        history: The history.
        on_reply_heard: Receives the text of each reply that was heard, when the reply is over.
        delegated: The tool calls in the background.
        last_reply: Text of the last reply, as written.
    """

    context: SessionContext
    speaker: Speaker
    history: History
    on_reply_heard: OnReplyHeard
    delegated: DelegatedCalls
    last_reply: str = ""
    _replies: dict[ReplyId, ReplyProduction] = field(default_factory=dict)  # replies that have not ended, in order
    _unheard_rest: tuple[ReplyId | None, str | None] = None, ""  # unheard text of the last interrupted reply
    _recent_tail: tuple[str, float] = "", 0.0  # last words of the last finished reply, and when it ended
    _tasks: asyncio.TaskGroup = field(init=False)
    _voice_recoveries: dict[int, EngineRecovery] = field(default_factory=dict)  # by the voice's identity
    _summarizer: HistorySummarizer | None = field(init=False)
    _source: ReplySource = field(init=False)
    _reports: AnswerReports = field(init=False)
    _relief_reported: bool = False
    _hold_limit: asyncio.TimerHandle | None = None

    def __post_init__(self) -> None:
        summarizer = self.context.engines.summarizer
        self._summarizer = None if summarizer is None else HistorySummarizer(summarizer, self.history)
        self._reports = AnswerReports(self.context.on_event)
        self._source = ReplySource(self.context, self.history, self._on_tool_wait, self.delegated)
        self.speaker.on_played = self._on_played
        self.history.on_removed = lambda item: self.context.on_event(ItemForgotten(item))

    def start(self, tasks: asyncio.TaskGroup) -> None:
        """Starts the manager. `tasks` owns its asynchronous work."""
        self._tasks = tasks
        if self._summarizer is not None:
            self._summarizer.tasks = tasks

    def stop(self, *, user_left: bool, failure: str | None = None) -> None:
        """Stops all replies, because the conversation is over; see `ConversationOver`."""
        for reply_id in list(self._replies):
            self.handle(ConversationOver(reply_id, failure, user_left))
        for recovery in self._voice_recoveries.values():
            recovery.close()
        if self._summarizer is not None:
            self._summarizer.cancel()

    def commit_without_reply(self, effect: CommitWithoutReply) -> None:
        """Adds the turn's words to the history without a reply."""
        self.context.commit_language(effect.turn)
        message = self._add_user_text(effect.turn, effect.text, effect.new_text)
        self._record_speaker(effect.turn, message)
        lost, end_ms = message is None, ms_of_samples(effect.speech_end)
        message = message or self.history.add_user_text("", effect.turn)
        self.context.on_event(
            UserTurnCommitted(
                effect.turn,
                effect.text,
                effect.low_confidence,
                message,
                end_ms,
                "spoken",
                answered=False,
                lost=lost,
            )
        )
        self.context.recorder.commit_without_reply(
            effect, self.context.clock.to_loop_s(effect.speech_end), self.context.clock
        )

    def _add_user_text(self, turn: int, text: str, added: str) -> UserMessage | None:
        language = self.context.languages.current
        return self.history.add_user_text(added, turn, continues=added != text, language=language) if added else None

    def _record_speaker(self, turn: int, message: UserMessage | None) -> None:
        if message is not None and message.speaker:
            self.context.recorder.speaker_known(turn, message.speaker)
        if message is not None and message.language:
            self.context.recorder.language_known(turn, message.language)

    # ---- the life of a reply ----

    def handle(self, event: LifeEvent) -> bool:
        """Passes an event of a reply through its life, and does what its new state needs.

        Returns False if the event has no effect, because the reply has ended or is in another state.
        """
        production = self._replies.get(event.reply_id)
        before = None if production is None else production.state
        if production is None or before is None or (state := next_state(before, event)) is None:
            return False
        production.state = state
        if state.has_ended:
            self._stop_production(production)
        if (enter := _ENTER.get(state)) is not None:
            enter(self, production, event)
        return True

    def has_effect(self, reply_id: ReplyId) -> bool:
        """Returns whether a reply has called a tool or changed something."""
        production = self._replies.get(reply_id)
        return production is not None and production.has_effect

    def withdraw_turn(self, reply_id: ReplyId) -> None:
        """Undoes a reply of which nothing was heard, and removes the words that it answers."""
        for item in self.history.remove_question(reply_id):
            self.context.on_event(ItemForgotten(item))
        self.handle(RetractReply(reply_id))

    def prepare(self, effect: PrepareReply, reply_options: ReplyOptions, ring: RingSound | None = None) -> None:
        """Starts the life of a reply: it is made, and its audio is held at the gate. `ring`: what it rings."""
        if effect.foreseen:
            self.context.recorder.foreseen(effect.reply_id, _now_s())
        if self._summarizer is not None:
            self._summarizer.cancel()
        language = self.context.languages.of(effect.reply_id.turn)
        parts = self.context.parts_of(language)
        voice = self.context.voice_of(parts)
        self._replies[effect.reply_id] = production = ReplyProduction(
            effect.reply_id,
            voice,
            self._recovery_of(voice).works,
            self.speaker,
            self.context.recorder.trace_of(effect.reply_id),
            self.context.settings.voice_timeout_s,
            on_event=self.context.on_event
            if reply_options.spoken
            else lambda event: self._show_text(effect.reply_id, event),
            normalize_text=parts.normalize_text,
            answered_by=self.context.engines.model.name,
            spoken=reply_options.spoken,
            speed=lambda: reply_options.speed * self.context.engines.skill_effects.speed,
            fallback_notice="" if self._reports.fallback_reported else parts.settings.fallback_notice,
            language=parts.settings.language,
            on_voice_wait=lambda: self._report_progress(production),
            ring=ring,
            error=_error_of_transcript(effect, is_busy=self.context.recognizer_is_busy),
            # Taken now, because a commit that follows at once adds the user's message to the history.
            messages=self._source.messages(effect, reply_options, language),
            without_words=effect.without_words,
        )
        self.context.engines.change.when_open(partial(self._engines_known, production))
        source = self._source.events(effect, reply_options, production)
        production.task = self._tasks.create_task(
            self._produce(production, source, reply_options), name=f"reply {effect.reply_id}"
        )

    def _speaking(self, production: ReplyProduction, commit: CommitTurn) -> None:
        """Writes the turn to the history and lets the reply play."""
        production.commit, reply_id = commit, commit.reply_id
        self.context.commit_language(reply_id.turn)
        if commit.origin == "resumed":
            self.history.drop_unheard(self._unheard_rest[0])
        production.is_answer = bool(production.messages) and not self._source.tells_results(reply_id)
        self._do_effect(production)
        speech_end_s = None if commit.speech_end is None else self.context.clock.to_loop_s(commit.speech_end)
        self.context.recorder.commit(commit, _now_s(), speech_end_s)
        message = self._add_user_text(reply_id.turn, commit.text, commit.new_text)
        self._record_speaker(reply_id.turn, message)
        lost = message is None and (production.without_words or (commit.submitted and commit.origin == "requested"))
        placed = self.history.is_placed(reply_id.turn)
        if message is None and (production.without_words or commit.submitted or placed):
            message = self.history.add_user_text("", reply_id.turn)
        end_ms = None if commit.speech_end is None else ms_of_samples(commit.speech_end)
        self.context.on_event(
            UserTurnCommitted(
                reply_id.turn,
                commit.text,
                commit.low_confidence,
                message,
                end_ms,
                commit.origin,
                lost=lost,
            )
        )
        if commit.guessed:
            self.context.on_event(Problem(failure_sentence(GUESSED, self.context.settings.language)))
            self.context.recorder.event(reply_id.turn, "guessed", _now_s())
        item = self.history.add_reply(reply_id, production.spoken_transcript)
        self._source.committed(reply_id)
        self.context.on_event(ReplyStarted(reply_id, item, production.spoken))
        self.speaker.open(reply_id)
        production.gate.set()
        if replaced := self.history.apply_summary():
            self.context.recorder.event(reply_id.turn, "summarized", _now_s(), f"{replaced} items")

    def _engines_known(self, production: ReplyProduction) -> None:
        """Notes which engines answer: those in use, at the end of a change that began before the reply."""
        if self._replies.get(production.reply_id) is not production:
            return  # the reply has ended
        production.effect_of = self.context.engines.skill_effects.effect_of
        parts = self.context.parts_of(self.context.languages.of(production.reply_id.turn))
        production.voice = self.context.voice_of(parts)
        production.voice_works = self._recovery_of(production.voice).works
        production.normalize_text, production.language = parts.normalize_text, parts.settings.language
        if production.commit is not None:
            self._do_effect(production)

    def _do_effect(self, production: ReplyProduction) -> None:
        """Does what a skill answers to a committed turn. Waits for a change of the engines, as the answer does."""
        effects = self.context.engines.skill_effects
        if production.is_answer and production.effect_of is not None:
            effect = production.effect_of(production.messages)
            production.undo_effects = effects.do(effect, _now_s())
            production.pending = effects.pending
            production.has_effect = changes_something(effect)
        production.gain_db = effects.gain_db

    def _sent(self, production: ReplyProduction, _event: AllSent) -> None:
        """Reports the whole reply. The speaker may still play it."""
        if self._summarizer is not None:
            self._summarizer.start_if_due()
        self.context.on_event(production.sent_event)
        self.speaker.end(production.reply_id)
        if production.spoken_transcript.samples == 0:
            self.handle(PlayedOut(production.reply_id))  # no playout report will follow

    def _trailing(self, production: ReplyProduction, _event: NextReplyBegan) -> None:
        """Lets the history show the whole reply. If it is stopped, the history is cut to what was heard."""
        self.history.set_heard(production.reply_id, production.spoken_transcript.samples, complete=True)

    def _retracted(self, production: ReplyProduction, _event: RetractReply) -> None:
        """Undoes what was done for the reply, and takes it out of the prompt. The history keeps heard words."""
        production.undo_effects()
        heard = self.history.withdraw(production.reply_id, production.played, production.unheard)
        if production.is_rest or heard:  # after any other, the turn is answered again
            self._unheard_rest = production.reply_id, production.unheard_text
        if heard and not production.is_rest:
            self.last_reply = production.repeatable_text or self.last_reply
        self.context.recorder.retract(production.reply_id, _now_s())
        self._report_stopped(production, heard, "went on")

    def _interrupted(self, production: ReplyProduction, event: InterruptReply | TrailingReplyStopped) -> None:
        """Keeps the heard part in the history."""
        stuck = event.reason == "stuck"
        if isinstance(event, InterruptReply):  # the trace has only decisions of turn taking, which can be replayed
            self._unheard_rest = production.reply_id, production.unheard_text
            self.context.recorder.event(production.reply_id.turn, "interrupt", _now_s(), event.reason)
        if stuck and production.error is None:
            production.error = f"the reply by {production.answered_by} made no progress and was stopped"
        self._report_error(production)  # the user may speak into an apology
        heard = self._store_heard(production, complete=False)
        self._report_stopped(production, heard, event.reason)
        self._record_outcome(production, "stuck" if stuck else "interrupted", heard)

    def _finished(self, production: ReplyProduction, _event: PlayedOut) -> None:
        """Keeps the whole reply in the history."""
        if production.messages and production.was_heard_completely:
            self.context.engines.on_answer_heard(production.messages)
        self._recent_tail = _recent_text(production), _now_s()
        heard = self._store_heard(production, complete=True)
        if production.audible and production.unheard:
            self.context.report_problem(notice("partly_heard", seconds=f"{production.unheard_ms / 1000:.1f}"))
        if production.unheard_end is not None:  # there was no loudspeaker to play its end
            heard_ms = ms_of_reply_samples(ReplySamples(production.unheard_end))
            self.context.on_event(ReplyStopped(production.reply_id, heard, heard_ms, "unheard"))
        self._record_outcome(production, "answered" if production.answered else "failed", heard)
        self.context.dispatch(ReplyEnded(self.context.position(), production.reply_id))

    def _abandoned(self, production: ReplyProduction, event: ConversationOver) -> None:
        """Keeps the heard part in the history, because the conversation is over."""
        production.error = production.error or event.failure
        if not event.user_left and event.failure is None:
            self.context.report_problem(notice("last_reply_cut"))
        heard = self._store_heard(production, complete=False)
        self._record_outcome(production, "failed" if event.failure else "interrupted", heard)

    def _stop_production(self, production: ReplyProduction) -> None:
        """Stops playout of a reply that has ended first, then cancels its task."""
        del self._replies[production.reply_id]
        if production.gate.is_set():
            production.played = self.speaker.close(production.reply_id)
            self.speaker.unduck()
            self._end_hold()
        production.abandon(_now_s())
        cancel_task(production.task, self._tasks, self.context.report_problem)

    def _report_stopped(self, production: ReplyProduction, heard: str, reason: StopReason | Literal["went on"]) -> None:
        played_ms = ms_of_reply_samples(production.played)
        self.context.on_event(ReplyStopped(production.reply_id, heard, played_ms, reason, *production.tokens))

    def _store_heard(self, production: ReplyProduction, *, complete: bool) -> str:
        """Stores the heard part of the reply in the history and returns it."""
        unheard, answer = production.unheard, production.answer_text
        return self.history.set_heard(
            production.reply_id, production.played, complete=complete, unheard=unheard, answer=answer
        )

    def _record_outcome(self, production: ReplyProduction, outcome: Outcome, heard: str) -> None:
        if not production.is_rest:
            self.last_reply = production.repeatable_text or self.last_reply
        self.on_reply_heard(heard, rang=production.ring is not None)
        production.trace.error, production.trace.answered_by = production.error, production.answered_by
        outcome = "failed" if production.apology else outcome
        self.context.recorder.finish(production.reply_id.turn, outcome, heard, self.context.clock)

    def _report_error(self, production: ReplyProduction) -> None:
        """Reports an error once, on the reply's own turn, even if the user has started another one."""
        if production.error is not None and not production.error_reported:
            production.error_reported = True
            self.context.on_event(Problem(notice("reply_failed", reason=production.error)))
            self.context.recorder.event(production.reply_id.turn, "error", _now_s(), production.error)

    # ---- what is made of it ----

    async def _produce(
        self, production: ReplyProduction, source: AsyncGenerator[ReplyEvent], options: ReplyOptions
    ) -> None:
        """Makes the reply, and reports what went wrong after its commit."""
        await production.run(source)
        if production.voice_failed:
            self._recovery_of(production.voice).restart()
        await production.gate.wait()  # nothing may be shown before the turn is committed
        self._reports.report(production)
        self._report_error(production)
        self._report_relief()
        if production.unspoken_notice and production.unspoken_notice != production.error:
            self.context.on_event(Problem(notice("unspoken_letters", reason=production.unspoken_notice)))
        if production.unsynthesized:
            unsynthesized = " ".join(production.unsynthesized)
            self.context.on_event(Problem(notice("not_spoken", text=unsynthesized), private=True))
        await production.play_failure()
        self._source.report_calls(production, options)
        self.handle(AllSent(production.reply_id))

    def _recovery_of(self, voice: Voice) -> EngineRecovery:
        """Returns what loads a voice again after a failure. Several languages have several voices."""
        if (recovery := self._voice_recoveries.get(id(voice))) is None:
            recovery = EngineRecovery(voice.name, voice.load, self.context.report_problem)
            recovery.tasks = self._tasks
            self._voice_recoveries[id(voice)] = recovery
        return recovery

    def _on_tool_wait(self, production: ReplyProduction, waited_s: float) -> None:
        """Announces a wait if needed, and reports progress, because a slow tool call is not a stuck reply."""
        tools = self.context.settings.tools
        if tools.moment and waited_s >= tools.moment_after_s:
            production.announce_wait(tools.moment)
        self._report_progress(production)

    def _report_relief(self) -> None:
        """Reports once that the cheap voice speaks, until the voice itself speaks again."""
        relief = relief_of(self.context.engines.voice)
        if relief and not self._relief_reported:
            self.context.on_event(Problem(notice("simple_voice", reason=relief)))
        self._relief_reported = bool(relief)

    def _show_text(self, reply_id: ReplyId, event: SessionEvent) -> None:
        """Shows an event of a text reply. Shown text counts as heard."""
        self.context.on_event(event)
        if (production := self._replies.get(reply_id)) is not None:
            position, heard = self.context.position(), production.words_heard
            self.context.dispatch(PlaybackProgress(position, reply_id, heard, True, production.has_effect))

    # ---- playout ----

    def hold(self, reply_id: ReplyId) -> None:
        """Holds the reply where it is, or before its first audio, because the user may be resuming."""
        if (production := self._replies.get(reply_id)) is None:
            return  # the reply has ended
        production.released.clear()
        if production.spoken_transcript.samples:  # its sound is at the speaker, even if nothing was played
            self._end_hold()
            self.speaker.hold()
            self._hold_limit = asyncio.get_running_loop().call_later(MAX_HEARD_HOLD_S, self.speaker.release)

    def release(self, reply_id: ReplyId) -> None:
        """Lets a held reply play."""
        if (production := self._replies.get(reply_id)) is not None:
            production.released.set()
            self._end_hold()

    def _end_hold(self) -> None:
        if self._hold_limit is not None:
            self._hold_limit.cancel()
            self._hold_limit = None
            self.speaker.release()

    def play_to_end(self, reply_id: ReplyId | None) -> bool:
        """Plays a reply that was sent completely to its end, while another one is prepared.

        Returns False if it was not sent completely, or if there are `MAX_TRAILING_REPLIES` already.
        """
        full = len(self.trailing_replies) >= MAX_TRAILING_REPLIES
        return reply_id is not None and not full and self.handle(NextReplyBegan(reply_id))

    def stop_trailing_replies(self, reason: StopReason, only: ReplyId | None = None) -> None:
        """Stops the trailing replies. `only`: stops only this one."""
        for reply_id in self.trailing_replies:
            if only in {None, reply_id}:
                self.handle(TrailingReplyStopped(reply_id, reason))

    def _on_played(self, sound_id: SoundId, played: ReplySamples, leaves_at_s: float, finished: bool) -> None:
        production = self._replies.get(sound_id) if isinstance(sound_id, ReplyId) else None
        if production is None:
            return  # the reply has ended
        production.on_played(played, leaves_at_s, finished=finished)
        self._report_progress(production)
        if finished:
            self.handle(PlayedOut(production.reply_id))

    def _report_progress(self, production: ReplyProduction) -> None:
        words, audible = production.words_heard, production.any_sound_heard
        if production.ring is not None and audible:
            words = max(words, 1)  # who speaks into the tone answers the ring
        position, reply_id = self.context.position(), production.reply_id
        self.context.dispatch(PlaybackProgress(position, reply_id, words, audible, production.has_effect))

    def report_backlog(self) -> None:
        """Reports progress of the replies: while late audio is caught up, sample time runs faster than their waits."""
        for production in list(self._replies.values()):
            self._report_progress(production)

    def on_client_latency(self, reply_id: ReplyId, latency_s: float, device_s: float) -> None:
        """Records the response latency that the client has measured; see `Session.on_client_latency`."""
        production = self._replies.get(reply_id)
        commit = None if production is None else production.commit
        if production is not None and commit is not None and commit.speech_end is not None:
            production.on_client_latency(self.context.clock.to_loop_s(commit.speech_end) + latency_s, device_s)

    # ---- what others ask ----

    @property
    def trailing_replies(self) -> tuple[ReplyId, ...]:
        """The trailing replies, in order."""
        return tuple(
            reply_id for reply_id, production in self._replies.items() if production.state is ReplyState.TRAILING
        )

    def heard_so_far(self) -> tuple[HeardReply, ...]:
        """Returns how much was heard of each reply that is being prepared or played."""
        return tuple(HeardReply(reply.reply_id, reply.played, tuple(reply.unheard)) for reply in self._replies.values())

    def is_without_words(self, reply_id: ReplyId | None) -> bool:
        """Returns whether the reply only says that no words were recognized."""
        return reply_id in self._replies and self._replies[reply_id].without_words

    def answers_speech(self, reply_id: ReplyId) -> bool:
        """Returns whether the reply answers speech of the user."""
        commit = self._replies[reply_id].commit
        return commit is not None and commit.speech_end is not None

    def reply_text(self, reply_id: ReplyId | None) -> str:
        """Returns the text of this reply so far, else of the last reply; "" if there was none."""
        production = None if reply_id is None else self._replies.get(reply_id)
        text = "" if production is None or production.is_rest else production.repeatable_text
        return text or self.last_reply

    def recent_text(self, reply_id: ReplyId | None) -> str:
        """Returns the text of this reply, or of the last one, that was played in the last `MAX_ECHO_S`.

        The microphone may pick up these words from the loudspeaker.
        """
        if reply_id in self._replies:
            return _recent_text(self._replies[reply_id])
        tail, ended_s = self._recent_tail
        return tail if _now_s() - ended_s <= MAX_ECHO_S else ""

    def unheard_text(self, reply_id: ReplyId) -> str | None:
        """Returns the unheard text of an interrupted reply.

        It is "" if another reply was interrupted since, and None if the text was not complete.
        """
        interrupted, rest = self._unheard_rest
        return rest if interrupted == reply_id else ""


_ENTER: Mapping[ReplyState, Callable[[ReplyManager, ReplyProduction, Any], None]] = {
    ReplyState.SPEAKING: ReplyManager._speaking,
    ReplyState.SENT: ReplyManager._sent,
    ReplyState.TRAILING: ReplyManager._trailing,
    ReplyState.RETRACTED: ReplyManager._retracted,
    ReplyState.INTERRUPTED: ReplyManager._interrupted,
    ReplyState.FINISHED: ReplyManager._finished,
    ReplyState.ABANDONED: ReplyManager._abandoned,
}
"""Work of the manager when a reply enters a state. The table of the life guarantees the class of the event."""


def _recent_text(production: ReplyProduction) -> str:
    return production.spoken_transcript.text_between(production.played - _MAX_ECHO_SAMPLES, production.played)


def _error_of_transcript(effect: PrepareReply, *, is_busy: bool) -> str | None:
    if effect.transcript_lost:
        return "too many conversations waited for speech recognition" if is_busy else "speech recognition failed"
    return NO_WORD_RECOGNIZED if effect.unrecognized else None


def _now_s() -> float:
    return asyncio.get_running_loop().time()
