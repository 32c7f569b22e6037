"""Manages the attempts of a conversation: their transcription, their replies, and how much of each reply was heard.

    prepare ─▶ reply task waits at its gate ─▶ commit: the gate opens ─▶ played ─▶ finished
            └▶ drop: the task is cancelled                           └▶ retract or interrupt: playout stops

The gate keeps the reply silent until its turn is committed. `hold` and `release` delay its first audio after that.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Hashable
from dataclasses import dataclass, field
from typing import Literal, Protocol

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
from assistant.pipeline.reply import Reply
from assistant.pipeline.reply_outcome import heard_completely, reply_sent_event, tokens_of
from assistant.pipeline.reply_source import GUESSED, ReplySource
from assistant.pipeline.ringing import RingSound
from assistant.pipeline.session_context import SessionContext
from assistant.pipeline.transcript_requests import RecognizerRequest
from assistant.support.notice import notice
from assistant.text.failure_sentences import failure_sentence
from assistant.tools.rounds import ReplyEvent
from assistant.trace.record import Outcome
from assistant.turns.effects import (
    CommitTurn,
    CommitWithoutReply,
    DropAttempt,
    InterruptReply,
    PrepareReply,
    RetractReply,
)
from assistant.turns.events import PlaybackProgress, ReplyEnded, ReplyId
from audio.speaker import Speaker
from audio.tts.relief_voice import relief_of
from audio.units import REPLY_RATE_HZ, ReplySamples, Samples, ms_of_reply_samples, ms_of_samples
from llm.chat import Message

REAP_TIMEOUT_S = 2.0
"""Time limit for a cancelled task to stop; then it is cancelled again."""

MAX_EARLIER_REPLIES = 4
"""Maximum number of earlier replies that still play while the current one is prepared. A further request waits."""

ReplyCutReason = Literal["voice", "requested", "stuck", "client"]
"""Reason for stopping a reply: the user spoke, another reply was requested, it made no progress, the client did it."""

MAX_ECHO_S = 3.0
"""Longest delay of a word that comes back as echo: 2 s of overlap, 160 ms of silence and the loudspeaker's latency."""

_MAX_ECHO_SAMPLES = round(MAX_ECHO_S * REPLY_RATE_HZ)

NO_WORD_RECOGNIZED = "clear speech in which no word was recognized"


class OnReplyHeard(Protocol):
    """Receives the text of a reply that was heard. `rang`: the reply has rung."""

    def __call__(self, heard: str, *, rang: bool = False) -> None: ...


@dataclass(slots=True)
class _Attempt:
    """The tasks of one attempt: transcription, then the reply."""

    transcription: asyncio.Task[None] | None = None
    requested_s: float = 0.0
    reply: Reply | None = None
    reply_task: asyncio.Task[None] | None = None
    messages: tuple[Message, ...] | None = None  # None: the LLM is not asked
    speech_end: Samples | None = None
    undo_effects: Callable[[], None] = lambda: None
    transcript_lost: bool = False
    low_confidence: bool = False
    sent: bool = False


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
        earlier_replies: Replies that were sent completely and still play while the current one is prepared, in order.
    """

    context: SessionContext
    speaker: Speaker
    history: History
    on_reply_heard: "OnReplyHeard"
    delegated: DelegatedCalls
    last_reply: str = ""
    earlier_replies: tuple[ReplyId, ...] = ()
    _unheard_rest: tuple[ReplyId | None, str | None] = None, ""  # unheard text of the last interrupted reply
    _recent_tail: tuple[str, float] = "", 0.0  # last words of the last finished reply, and when it ended
    _resumed: ReplyId | None = None  # a reply that is the rest of an interrupted one
    _tasks: asyncio.TaskGroup = field(init=False)
    _voice_recovery: EngineRecovery = field(init=False)
    _summarizer: HistorySummarizer | None = field(init=False)
    _source: ReplySource = field(init=False)
    _reports: AnswerReports = field(init=False)
    _attempts: dict[ReplyId, _Attempt] = field(default_factory=dict)
    _relief_reported: bool = False

    def __post_init__(self) -> None:
        voice = self.context.engines.voice
        self._voice_recovery = EngineRecovery(voice.name, voice.load, self.context.report_problem)
        summarizer = self.context.engines.summarizer
        self._summarizer = None if summarizer is None else HistorySummarizer(summarizer, self.history)
        self._reports = AnswerReports(self.context.on_event)
        self._source = ReplySource(self.context, self.history, self._on_tool_wait, self.delegated)
        self.speaker.on_played = self._on_played
        self.history.on_removed = lambda item: self.context.on_event(ItemForgotten(item))

    def start(self, tasks: asyncio.TaskGroup) -> None:
        """Starts the manager. `tasks` owns its asynchronous work."""
        self._tasks = self._voice_recovery.tasks = tasks
        if self._summarizer is not None:
            self._summarizer.tasks = tasks

    # ---- transcripts ----

    def add_attempt(self, effect: RecognizerRequest, transcription: "asyncio.Task[None]", now_s: float) -> None:
        """Creates an attempt whose transcript is being requested."""
        self._attempts[effect.reply] = _Attempt(transcription, now_s)

    def transcript_arrived(self, reply_id: ReplyId) -> bool:
        """Records that the transcript arrived. Returns False if the attempt was dropped meanwhile."""
        if reply_id in self._attempts:
            self._attempts[reply_id].transcription = None
        return reply_id in self._attempts

    def commit_without_reply(self, effect: CommitWithoutReply) -> None:
        """Adds the turn's words to the history without a reply."""
        for reply_id in [reply_id for reply_id in self._attempts if reply_id.turn == effect.turn]:
            self._attempts.pop(reply_id)
        said = self._add_user_text(effect.text, effect.new_text)
        lost, end_ms = said is None, ms_of_samples(effect.speech_end)
        said = said or self.history.add_user_text("")
        self.context.on_event(
            UserTurnCommitted(
                effect.turn, effect.text, effect.low_confidence, said, end_ms, "spoken", answered=False, lost=lost
            )
        )
        self.context.recorder.commit_without_reply(
            effect, self.context.clock.to_loop_s(effect.speech_end), self.context.clock
        )

    def _add_user_text(self, text: str, added: str) -> UserMessage | None:
        return self.history.add_user_text(added, continues=added != text) if added else None

    # ---- the reply ----

    def prepare(self, effect: PrepareReply, reply_options: ReplyOptions, ring: RingSound | None = None) -> None:
        """Starts the reply. Its audio is held at the gate. `ring`: what it rings."""
        if effect.foreseen:
            self.context.recorder.foreseen(effect.reply, _now_s())
        if self._summarizer is not None:
            self._summarizer.cancel()
        attempt = self._attempts.setdefault(effect.reply, _Attempt())
        attempt.reply = reply = Reply(
            effect.reply,
            self.context.engines.voice,
            self._voice_recovery.works,
            self.speaker,
            self.context.recorder.trace_of(effect.reply),
            self.context.settings.voice_timeout_s,
            on_event=self.context.on_event
            if reply_options.spoken
            else lambda event: self._show_text(effect.reply, event),
            normalize_text=self.context.engines.normalize_text,
            answered_by=self.context.engines.model.name,
            spoken=reply_options.spoken,
            speed=lambda: reply_options.speed * self.context.engines.skill_effects.speed,
            fallback_notice="" if self._reports.fallback_reported else self.context.settings.fallback_notice,
            language=self.context.settings.language,
            on_voice_wait=lambda: self._report_progress(reply),
            ring=ring,
            error=_error_of_transcript(effect),
        )
        attempt.transcript_lost = effect.transcript_lost or effect.unrecognized
        # Taken now, because a commit that follows at once adds the user's message to the history.
        attempt.messages = self._source.messages(effect, reply_options)
        source = self._source.events(effect, attempt.messages, reply_options, reply)
        attempt.reply_task = self._tasks.create_task(
            self._run_reply(reply, source, reply_options), name=f"reply {effect.reply}"
        )

    def _on_tool_wait(self, reply: Reply, waited_s: float) -> None:
        """Announces a wait if needed, and reports progress, because a slow tool call is not a stuck reply."""
        tools = self.context.settings.tools
        if tools.moment and waited_s >= tools.moment_after_s:
            reply.announce_wait(tools.moment)
        self._report_progress(reply)

    def _report_relief(self) -> None:
        """Reports once that the cheap voice speaks, until the voice itself speaks again."""
        relief = relief_of(self.context.engines.voice)
        if relief and not self._relief_reported:
            self.context.on_event(Problem(notice("simple_voice", reason=relief)))
        self._relief_reported = bool(relief)

    def _report_progress(self, reply: Reply) -> None:
        position = self.context.position()
        self.context.dispatch(PlaybackProgress(position, reply.id, reply.words_heard, reply.any_sound_heard))

    def report_backlog(self) -> None:
        """Reports progress of the replies: while late audio is caught up, sample time runs faster than their waits."""
        for attempt in self._attempts.values():
            if attempt.reply is not None:
                self._report_progress(attempt.reply)

    async def _run_reply(self, reply: Reply, source: AsyncGenerator[ReplyEvent], options: ReplyOptions) -> None:
        await reply.run(source)
        if reply.voice_failed:
            self._voice_recovery.restart()
        await reply.gate.wait()  # nothing may be shown before the turn is committed
        self._reports.report(reply)
        if reply.error is not None:
            self._report_error(reply.id, reply.error)
        self._report_relief()
        if reply.unspoken_notice and reply.unspoken_notice != reply.error:
            self.context.on_event(Problem(notice("unspoken_letters", reason=reply.unspoken_notice)))
        if reply.unsynthesized:
            self.context.on_event(Problem(notice("not_spoken", text=" ".join(reply.unsynthesized)), private=True))
        await reply.play_failure()
        self._source.report_calls(reply, options)
        if (attempt := self._attempts.get(reply.id)) is not None:
            attempt.sent = True
        if self._summarizer is not None:
            self._summarizer.start_if_due()
        self.context.on_event(reply_sent_event(reply))
        self.speaker.end(reply.id)
        if reply.spoken_transcript.samples == 0:
            self._finish_reply(reply.id)  # nothing was played, so no playout report will follow

    def asks_llm(self, reply_id: ReplyId) -> bool:
        """Returns whether the reply asks the LLM, and so also answers earlier messages in the history."""
        return self._attempts[reply_id].messages is not None

    def answers_lost_words(self, reply_id: ReplyId | None) -> bool:
        """Returns whether the reply only says that no words were recognized."""
        attempt = None if reply_id is None else self._attempts.get(reply_id)
        return attempt is not None and attempt.transcript_lost

    def commit(self, effect: CommitTurn) -> None:
        """Commits the attempt: its turn enters the history, its reply may play."""
        attempt = self._attempts[effect.reply]
        reply = attempt.reply
        assert reply is not None, "turn taking commits what it had prepared"
        attempt.speech_end, attempt.low_confidence = effect.speech_end, effect.low_confidence
        self._resumed = effect.reply if effect.origin == "resumed" else None
        if self._resumed is not None:
            self.history.drop_unheard(self._unheard_rest[0])
        effects = self.context.engines.skill_effects
        if attempt.messages and not self._source.tells_results(effect.reply):
            attempt.undo_effects = effects.do(effects.effect_of(attempt.messages), _now_s())
            reply.pending = effects.pending
        reply.gain_db = effects.gain_db
        speech_end_s = None if effect.speech_end is None else self.context.clock.to_loop_s(effect.speech_end)
        self.context.recorder.commit(effect, _now_s(), speech_end_s)
        said = self._add_user_text(effect.text, effect.new_text)
        lost = said is None and (attempt.transcript_lost or (effect.submitted and effect.origin == "requested"))
        if said is None and (attempt.transcript_lost or effect.submitted):
            said = self.history.add_user_text("")
        end_ms = None if effect.speech_end is None else ms_of_samples(effect.speech_end)
        committed = UserTurnCommitted(
            effect.reply.turn, effect.text, effect.low_confidence, said, end_ms, effect.origin, lost=lost
        )
        self.context.on_event(committed)
        if effect.guessed:
            self.context.on_event(Problem(failure_sentence(GUESSED, self.context.settings.language)))
            self.context.recorder.event(effect.reply.turn, "guessed", _now_s())
        item = self.history.add_reply(effect.reply, reply.spoken_transcript)
        self._source.committed(effect.reply)
        self.context.on_event(ReplyStarted(effect.reply, item, reply.spoken))
        self.speaker.open(effect.reply)
        reply.gate.set()
        if replaced := self.history.apply_summary():
            self.context.recorder.event(effect.reply.turn, "summarized", _now_s(), f"{replaced} items")

    def hold(self, reply_id: ReplyId) -> None:
        """Delays the reply's first audio, because the user may be resuming."""
        reply = self._attempts[reply_id].reply
        if reply is not None:
            reply.released.clear()

    def release(self, reply_id: ReplyId) -> None:
        """Lets the reply's first audio play."""
        reply = self._attempts[reply_id].reply
        if reply is not None:
            reply.released.set()

    def on_client_latency(self, reply_id: ReplyId, latency_s: float, device_s: float) -> None:
        """Records the response latency that the client has measured; see `Session.on_client_latency`."""
        attempt = self._attempts.get(reply_id)
        if attempt is not None and attempt.reply is not None and attempt.speech_end is not None:
            attempt.reply.on_client_latency(self.context.clock.to_loop_s(attempt.speech_end) + latency_s, device_s)

    def reply_text(self, reply_id: ReplyId | None) -> str:
        """Returns the text of this reply so far, else of the last reply; "" if there was none."""
        attempt = None if reply_id in {None, self._resumed} else self._attempts.get(reply_id)
        return ("" if attempt is None or attempt.reply is None else attempt.reply.repeatable_text) or self.last_reply

    def recent_text(self, reply_id: ReplyId | None) -> str:
        """Returns the text of this reply, or of the last one, that was played in the last `MAX_ECHO_S`.

        The microphone may pick up these words from the loudspeaker.
        """
        attempt = None if reply_id is None else self._attempts.get(reply_id)
        if attempt is not None and attempt.reply is not None:
            played = attempt.reply.played
            return attempt.reply.spoken_transcript.text_between(played - _MAX_ECHO_SAMPLES, played)
        tail, ended_s = self._recent_tail
        return tail if _now_s() - ended_s <= MAX_ECHO_S else ""

    def unheard_text(self, reply_id: ReplyId) -> str | None:
        """Returns the unheard text of an interrupted reply.

        It is "" if another reply was interrupted since, and None if the text was not complete.
        """
        interrupted, rest = self._unheard_rest
        return rest if interrupted == reply_id else ""

    # ---- playout reports of the speaker ----

    def _show_text(self, reply_id: ReplyId, event: SessionEvent) -> None:
        """Shows an event of a text reply. Shown text counts as heard."""
        self.context.on_event(event)
        attempt = self._attempts.get(reply_id)
        if attempt is not None and attempt.reply is not None:
            self.context.dispatch(
                PlaybackProgress(self.context.position(), reply_id, attempt.reply.words_heard, audible=True)
            )

    def _on_played(self, key: Hashable, played: ReplySamples, leaves_at_s: float, finished: bool) -> None:
        attempt = self._attempts.get(key) if isinstance(key, ReplyId) else None
        if attempt is None or attempt.reply is None:
            return  # the reply was cancelled
        reply = attempt.reply
        reply.on_played(played, leaves_at_s, finished=finished)
        words = reply.words_heard
        if reply.ring is not None and reply.any_sound_heard:
            words = max(words, 1)  # who speaks into the tone answers the ring
        self.context.dispatch(PlaybackProgress(self.context.position(), reply.id, words, reply.any_sound_heard))
        if finished:
            self._finish_reply(reply.id)

    def _finish_reply(self, reply_id: ReplyId) -> None:
        attempt = self._attempts.get(reply_id)
        reply = self._end(reply_id)
        if reply is not None:
            if attempt is not None and attempt.messages and not attempt.low_confidence and heard_completely(reply):
                self.context.engines.on_answer_heard(attempt.messages)
            self._recent_tail = (
                reply.spoken_transcript.text_between(reply.played - _MAX_ECHO_SAMPLES, reply.played),
                _now_s(),
            )
            heard = self._store_heard(reply, complete=True)
            if reply.audible and reply.unheard:
                self.context.report_problem(notice("partly_heard", seconds=f"{reply.unheard_ms / 1000:.1f}"))
            if reply.unheard_end is not None:  # there was no loudspeaker to play its end
                heard_ms = ms_of_reply_samples(ReplySamples(reply.unheard_end))
                self.context.on_event(ReplyStopped(reply.id, heard, heard_ms, "unheard"))
            self._record_reply(reply, "answered" if reply.answered else "failed", heard)
            self.context.dispatch(ReplyEnded(self.context.position(), reply_id))

    def heard_so_far(self) -> tuple[HeardReply, ...]:
        """Returns how much was heard of each reply that is being prepared or played."""
        replies = [attempt.reply for attempt in self._attempts.values() if attempt.reply is not None]
        return tuple(HeardReply(reply.id, reply.played, tuple(reply.unheard)) for reply in replies)

    def _store_heard(self, reply: Reply, *, complete: bool) -> str:
        """Stores the heard part of the reply in the history and returns it."""
        return self.history.set_heard(
            reply.id, reply.played, complete=complete, unheard=reply.unheard, answer=reply.answer_text
        )

    def _record_reply(self, reply: Reply, outcome: Outcome, heard: str) -> None:
        if reply.id != self._resumed:
            self.last_reply = reply.repeatable_text or self.last_reply
        self.on_reply_heard(heard, rang=reply.ring is not None)
        reply.trace.error, reply.trace.answered_by = reply.error, reply.answered_by
        self.context.recorder.finish(reply.id.turn, "failed" if reply.apology else outcome, heard, self.context.clock)

    # ---- replies that are played one after another ----

    def play_to_end(self, reply_id: ReplyId | None) -> bool:
        """Makes the reply an earlier reply: it plays to its end while another one is prepared.

        The history shows the whole reply from now on. If the reply is stopped, the history is cut to what was heard.

        Returns:
            False if the reply was not sent completely, or if there are `MAX_EARLIER_REPLIES` already.
        """
        attempt = None if reply_id is None else self._attempts.get(reply_id)
        if reply_id is None or attempt is None or attempt.reply is None or not attempt.sent:
            return False
        if len(self.earlier_replies) >= MAX_EARLIER_REPLIES:
            return False
        self.earlier_replies = (*self.earlier_replies, reply_id)
        self.history.set_heard(reply_id, attempt.reply.spoken_transcript.samples, complete=True)
        return True

    def stop_earlier_replies(self, reason: ReplyCutReason, only: ReplyId | None = None) -> None:
        """Stops the earlier replies. `only`: stops only this one."""
        for reply_id in self.earlier_replies:
            if only not in {None, reply_id}:
                continue
            reply = self._end(reply_id)
            if reply is not None:
                heard = self._store_heard(reply, complete=False)
                self.context.on_event(
                    ReplyStopped(reply_id, heard, ms_of_reply_samples(reply.played), reason, *tokens_of(reply))
                )
                self._record_reply(reply, "interrupted", heard)

    # ---- interruption ----

    def drop(self, effect: DropAttempt) -> None:
        """Drops an attempt that was never committed."""
        self._end(effect.reply)
        self.context.recorder.drop(effect.reply, _now_s(), effect.reason)

    def interrupt(self, effect: InterruptReply) -> None:
        """Stops the reply. The part that was heard stays in the history."""
        attempt = self._attempts.get(effect.reply)
        reply = self._end(effect.reply)
        if reply is None:
            return
        self._unheard_rest = reply.id, reply.unheard_text
        self.context.recorder.event(reply.id.turn, "interrupt", _now_s(), effect.reason)
        if effect.reason == "stuck":
            reply.error = reply.error or f"the reply by {reply.answered_by} made no progress and was stopped"
            self._report_error(reply.id, reply.error)
        elif reply.error is not None and attempt is not None and not attempt.sent:
            self._report_error(reply.id, reply.error)  # the user spoke into the apology
        heard = self._store_heard(reply, complete=False)
        self.context.on_event(
            ReplyStopped(reply.id, heard, ms_of_reply_samples(reply.played), effect.reason, *tokens_of(reply))
        )
        self._record_reply(reply, "stuck" if effect.reason == "stuck" else "interrupted", heard)

    def retract(self, effect: RetractReply) -> bool:
        """Withdraws a reply of which nothing was heard and undoes its effects. Returns whether it answered speech."""
        attempt = self._attempts[effect.reply]
        reply = self._end(effect.reply)
        if reply is not None and reply.id == self._resumed:
            self._unheard_rest = reply.id, reply.unheard_text  # after any other, the turn is answered again
        attempt.undo_effects()
        self.history.retract(effect.reply)
        self.context.recorder.retract(effect.reply, _now_s())
        played_ms = 0.0 if reply is None else ms_of_reply_samples(reply.played)
        tokens = (None, None, None) if reply is None else tokens_of(reply)
        self.context.on_event(ReplyStopped(effect.reply, "", played_ms, "went on", *tokens))
        return attempt.speech_end is not None

    def _end(self, reply_id: ReplyId) -> Reply | None:
        """Stops playout of the reply first, then cancels its tasks."""
        self.earlier_replies = tuple(one for one in self.earlier_replies if one != reply_id)
        attempt = self._attempts.pop(reply_id, None)
        if attempt is None:
            return None
        reply = attempt.reply
        if reply is not None and reply.gate.is_set():
            reply.played = self.speaker.close(reply_id)
            self.speaker.unduck()
        if attempt.transcription is not None:
            self.context.recorder.transcribed(reply_id, attempt.requested_s, _now_s())
        if reply is not None:
            reply.abandon(_now_s())
        for task in (attempt.transcription, attempt.reply_task):
            if task is not None and task is not asyncio.current_task() and task.cancel():
                self._tasks.create_task(self._await_cancelled(task), name=f"reap {task.get_name()}")
        return reply

    async def _await_cancelled(self, task: asyncio.Task[None]) -> None:
        """Waits for a cancelled task. A task that hangs in its clean-up is cancelled again."""
        for _ in range(3):
            await asyncio.wait({task}, timeout=REAP_TIMEOUT_S)
            if task.done():
                return
            task.cancel()
        self.context.report_problem(notice("task_stuck", name=task.get_name()))

    def stop(self, *, skip_last_reply: bool, failure: str | None = None) -> None:
        """Stops all replies, because the conversation is over.

        Args:
            skip_last_reply: The user has left: an unfinished last reply is no problem to report.
            failure: Why the conversation ended early, if it did.
        """
        for reply_id in list(self._attempts):
            reply = self._end(reply_id)
            if reply is not None and reply.gate.is_set():
                reply.error = reply.error or failure
                if not skip_last_reply and failure is None:
                    self.context.report_problem(notice("last_reply_cut"))
                self._record_reply(
                    reply, "failed" if failure else "interrupted", self._store_heard(reply, complete=False)
                )
        self._voice_recovery.close()
        if self._summarizer is not None:
            self._summarizer.cancel()

    def _report_error(self, reply_id: ReplyId, reason: str) -> None:
        """Reports an error on the reply's own turn, even if the user has started another one."""
        self.context.on_event(Problem(notice("reply_failed", reason=reason)))
        self.context.recorder.event(reply_id.turn, "error", _now_s(), reason)


def _error_of_transcript(effect: PrepareReply) -> str | None:
    if effect.transcript_lost:
        return "speech recognition failed"
    return NO_WORD_RECOGNIZED if effect.unrecognized else None


def _now_s() -> float:
    return asyncio.get_running_loop().time()
