"""What is under way for each attempt at a turn: asking for its words, then its reply, up to what of it was heard.

prepare ─▶ task of the reply, held at its gate ─▶ commit: the gate opens, words enter the history ─▶ played ─▶ finished
                                                      └▶ retract, interrupt: the door closes first, then the work stops
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Hashable
from dataclasses import dataclass, field, replace
from typing import Literal

from assistant.events import (
    FunctionCalled,
    ItemForgotten,
    Problem,
    ReplySent,
    ReplyStarted,
    ReplyStopped,
    SessionEvent,
    UserTurnCommitted,
)
from assistant.history.history import History
from assistant.history.items import ItemId, UserMessage
from assistant.pipeline.engine_recovery import EngineRecovery
from assistant.pipeline.engines import Engines, ReplyOptions, SessionSettings
from assistant.pipeline.recorder import Recorder
from assistant.pipeline.reply import Reply, recite
from assistant.tools.rounds import ReplyEvent, ToolRounds, without_made_up
from assistant.trace.record import Outcome
from assistant.turns.events import (
    CommitTurn,
    DropAttempt,
    Event,
    InterruptReply,
    PlaybackProgress,
    PrepareReply,
    RecordTurn,
    ReplyEnded,
    ReplyId,
    RetractReply,
    Transcribe,
)
from audio.clock import StreamClock
from audio.speaker import Speaker
from audio.units import REPLY_RATE_HZ, ReplySamples, Samples, ms_of_reply_samples, ms_of_samples
from llm.chat import Message

REAP_TIMEOUT_S = 2.0

MOST_TRAILING = 4
"""Replies that are played while another one is made; a fifth waits. All of them together were sent ahead."""

ReplyCutReason = Literal["voice", "requested", "stuck", "client"]

ECHOES_S = 3.0
"""A word may come back from a room for so long: a voice of 2 s, the 160 ms behind it, and a loudspeaker's latency."""

_ECHOES = round(ECHOES_S * REPLY_RATE_HZ)

NOT_HEARD = "Sorry, I could not hear that. My speech recognition stopped, and I am restarting it."

PARTLY_HEARD = "{s:.1f} s of the reply were not heard: there was no loudspeaker"


@dataclass(slots=True)
class _Attempt:
    """What is under way for one attempt: asking for its words, then its reply."""

    asking: asyncio.Task[None] | None = None
    asked_s: float = 0.0
    reply: Reply | None = None
    answering: asyncio.Task[None] | None = None
    messages: tuple[Message, ...] = ()
    speech_end: Samples | None = None
    take_back: Callable[[], None] = lambda: None
    unheard: bool = False
    sent: bool = False


@dataclass(slots=True)
class ReplyManager:
    """Of one conversation; lives on the event loop.

    Attributes:
        clock: Of the microphone.
        at: How far the microphone has come.
        tell: Turn taking hears of it.
        show: Whoever shows the conversation does.
        trouble: Told what goes wrong, in one sentence that holds no words.
        said: Told what of a reply was heard, when it is over.
        last_reply: As it was written.
        trailing: Replies that were sent whole and are still played, though another one has the floor, in order.
    """

    engines: Engines
    speaker: Speaker
    conversation: History
    recorder: Recorder
    clock: StreamClock
    settings: SessionSettings
    at: Callable[[], Samples]
    tell: Callable[[Event], None]
    show: Callable[[SessionEvent], None]
    trouble: Callable[[str], None]
    said: Callable[[str], None]
    last_reply: str = ""
    trailing: tuple[ReplyId, ...] = ()
    _rest: tuple[ReplyId | None, str | None] = None, ""  # what nobody heard of the last one that was cut
    _tail: tuple[str, float] = "", 0.0  # of the last one that ended, and when
    _resumed: ReplyId | None = None  # no reply of its own, but the rest of the last one
    _tasks: asyncio.TaskGroup = field(init=False)
    _mouth: EngineRecovery = field(init=False)
    _attempts: dict[ReplyId, _Attempt] = field(default_factory=dict)
    _heard_as: ItemId | None = None  # what the words of the speech at hand will be in the history

    def __post_init__(self) -> None:
        voice = self.engines.voice
        self._mouth = EngineRecovery(voice.name, voice.load, self.trouble)
        self.speaker.on_played = self._played
        self.conversation.on_given_up = lambda item: self.show(ItemForgotten(item))

    def begin(self, tasks: asyncio.TaskGroup) -> None:
        """From here on anything may be said; `tasks` owns what takes time."""
        self._tasks = self._mouth.tasks = tasks

    # ---- words ----

    def spoken(self) -> ItemId:
        """Somebody begins to speak: what their words will be in the history."""
        self._heard_as = self.conversation.promise()
        return self._heard_as

    def asked(self, effect: Transcribe, asking: "asyncio.Task[None]", now_s: float) -> None:
        """Its words are being asked for."""
        self._attempts[effect.reply] = _Attempt(asking, now_s)

    def came(self, reply_id: ReplyId) -> bool:
        """They have come; False where the attempt was dropped meanwhile."""
        if reply_id in self._attempts:
            self._attempts[reply_id].asking = None
        return reply_id in self._attempts

    def take_down(self, effect: RecordTurn) -> None:
        """The turn's words enter the history, unanswered."""
        for reply_id in [reply_id for reply_id in self._attempts if reply_id.turn == effect.turn]:
            self._attempts.pop(reply_id)
        said = self._said(effect.text, effect.new_text)
        lost, end_ms = said is None, ms_of_samples(effect.speech_end)
        said = said or self.wordless()
        self.show(
            UserTurnCommitted(
                effect.turn, effect.text, effect.low_confidence, said, end_ms, "spoken", answered=False, lost=lost
            )
        )
        self.recorder.taken_down(effect, self.clock.to_loop_s(effect.speech_end), self.clock)

    def wordless(self) -> UserMessage:
        """A turn without words enters the history: the client ended it, or its words are lost."""
        return self.conversation.add_user_text(self._item(), "")

    def _said(self, text: str, added: str) -> UserMessage | None:
        if not added:
            return None
        return self.conversation.add_user_text(self._item(), added, continues=added != text)

    def _item(self) -> ItemId:
        """As it was announced, if it was."""
        item, self._heard_as = self._heard_as or self.conversation.reserve(), None
        return item

    # ---- the reply ----

    def prepare(self, effect: PrepareReply, wishes: ReplyOptions) -> None:
        """The reply is begun, and held at its gate."""
        attempt = self._attempts.setdefault(effect.reply, _Attempt())
        attempt.reply = reply = Reply(
            effect.reply,
            self.engines.voice,
            self._mouth.works,
            self.speaker,
            self.recorder.trace_of(effect.reply),
            self.settings.voice_timeout_s,
            show=self.show if wishes.spoken else lambda fact: self._written(effect.reply, fact),
            say=self.engines.say,
            answered_by=self.engines.model.name,
            spoken=wishes.spoken,
            speed=lambda: wishes.speed * self.engines.skill_effects.speed,
            error="speech recognition failed" if effect.transcript_lost else None,
        )
        attempt.unheard = effect.transcript_lost
        attempt.answering = self._tasks.create_task(
            self._answer(reply, self._source(effect, attempt, wishes, reply)), name=f"reply {effect.reply}"
        )

    def _source(
        self, effect: PrepareReply, attempt: _Attempt, wishes: ReplyOptions, reply: Reply
    ) -> AsyncGenerator[ReplyEvent]:
        if effect.transcript_lost:
            return recite(NOT_HEARD, by="apology")
        if effect.is_literal:
            return recite(effect.text, by="itself")
        # The messages are taken now: a commit that follows at once adds the user's own.
        attempt.messages = self.conversation.messages(
            effect.new_text, continues=effect.new_text != effect.text, instructions=wishes.instructions
        )
        options = replace(wishes.options, traceparent=self.recorder.traceparent(effect.reply))
        if self.engines.tools is None:
            return without_made_up(self.engines.model.stream(attempt.messages, options), options.functions)
        return ToolRounds(
            self.engines.model,
            attempt.messages,
            options,
            self.engines.tools,
            self.settings.tools,
            reply.gate,
            written=lambda: reply.written,
            remember=lambda used: self.conversation.add_tool_call(reply.id, used),
            waiting=lambda so_far_s: self._waiting_for_tools(reply, so_far_s),
        ).stream()

    def _waiting_for_tools(self, reply: Reply, so_far_s: float) -> None:
        """Nobody is stuck: a call has a limit of its own."""
        tools = self.settings.tools
        if tools.moment and so_far_s >= tools.moment_after_s:
            reply.ask_for_a_moment(tools.moment)
        self.tell(PlaybackProgress(self.at(), reply.id, reply.words_heard, reply.sounding))

    async def _answer(self, reply: Reply, source: AsyncGenerator[ReplyEvent]) -> None:
        await reply.run(source)
        if reply.voice_failed:
            self._mouth.restart()
        await reply.gate.wait()  # an attempt that ends early must not be told of before its turn is committed
        if reply.error is not None:
            self._failed(reply.id, reply.error)
        if reply.unspoken:
            self.show(Problem(f"not spoken: {' '.join(reply.unspoken)}", private=True))
        for call in reply.calls:
            self.show(FunctionCalled(reply.id, self.conversation.add_function_call(call)))
        if (attempt := self._attempts.get(reply.id)) is not None:
            attempt.sent = True
        self.show(_sent(reply))
        self.speaker.end(reply.id)
        if reply.spoken_transcript.samples == 0:
            self._reply_over(reply.id)  # nothing was played, hence no report will come

    def answers_history(self, reply_id: ReplyId) -> bool:
        """A model is asked: what waited in the history is answered, too."""
        return bool(self._attempts[reply_id].messages)

    def commit(self, effect: CommitTurn) -> None:
        """What was prepared is heard, what was said is remembered."""
        attempt = self._attempts[effect.reply]
        reply = attempt.reply
        assert reply is not None, "turn taking commits what it had prepared"
        attempt.speech_end = effect.speech_end
        self._resumed = effect.reply if effect.origin == "resumed" else None
        if attempt.messages:
            attempt.take_back = self.engines.skill_effects.do(
                self.engines.skill_effects.effect_of(attempt.messages), _now_s()
            )
        reply.gain_db = self.engines.skill_effects.gain_db
        speech_end_s = None if effect.speech_end is None else self.clock.to_loop_s(effect.speech_end)
        self.recorder.commit(effect, _now_s(), speech_end_s)
        said = self._said(effect.text, effect.new_text)
        lost = said is None and (attempt.unheard or (effect.submitted and effect.origin == "requested"))
        if said is None and (attempt.unheard or effect.submitted):
            said = self.wordless()
        end_ms = None if effect.speech_end is None else ms_of_samples(effect.speech_end)
        taken = UserTurnCommitted(
            effect.reply.turn, effect.text, effect.low_confidence, said, end_ms, effect.origin, lost=lost
        )
        self.show(taken)
        item = self.conversation.answering(effect.reply, reply.spoken_transcript)
        self.show(ReplyStarted(effect.reply, item, reply.spoken))
        self.speaker.open(effect.reply)
        reply.gate.set()

    def hold(self, reply_id: ReplyId) -> None:
        """Its first sound waits."""
        reply = self._attempts[reply_id].reply
        if reply is not None:
            reply.clear.clear()

    def release(self, reply_id: ReplyId) -> None:
        """And waits no longer."""
        reply = self._attempts[reply_id].reply
        if reply is not None:
            reply.clear.set()

    def measured(self, reply_id: ReplyId, latency_s: float, device_s: float) -> None:
        """See `Session.measured`."""
        attempt = self._attempts.get(reply_id)
        if attempt is not None and attempt.reply is not None and attempt.speech_end is not None:
            attempt.reply.was_measured(self.clock.to_loop_s(attempt.speech_end) + latency_s, device_s)

    def written(self, reply_id: ReplyId | None) -> str:
        """The text of this reply so far, else of the last one; "" where there was none."""
        attempt = None if reply_id in {None, self._resumed} else self._attempts.get(reply_id)
        return ("" if attempt is None or attempt.reply is None else attempt.reply.written) or self.last_reply

    def just_said(self, reply_id: ReplyId | None) -> str:
        """What a microphone may have heard of this reply, or of the last one, in the last three seconds."""
        attempt = None if reply_id is None else self._attempts.get(reply_id)
        if attempt is not None and attempt.reply is not None:
            played = attempt.reply.played
            return attempt.reply.spoken_transcript.text_between(played - _ECHOES, played)
        tail, ended_s = self._tail
        return tail if _now_s() - ended_s <= ECHOES_S else ""

    def rest_of(self, reply_id: ReplyId) -> str | None:
        """What nobody heard of a reply that was cut; "" where another was since, None if it was not even written."""
        cut, rest = self._rest
        return rest if cut == reply_id else ""

    # ---- the speaker reports ----

    def _written(self, reply_id: ReplyId, fact: SessionEvent) -> None:
        """Text that is shown counts as heard."""
        self.show(fact)
        attempt = self._attempts.get(reply_id)
        if attempt is not None and attempt.reply is not None:
            self.tell(PlaybackProgress(self.at(), reply_id, attempt.reply.words_heard, audible=True))

    def _played(self, key: Hashable, played: ReplySamples, leaves_at_s: float, finished: bool) -> None:
        attempt = self._attempts.get(key) if isinstance(key, ReplyId) else None
        if attempt is None or attempt.reply is None:
            return  # of a reply that was cancelled
        reply = attempt.reply
        reply.was_played(played, leaves_at_s, finished=finished)
        self.tell(PlaybackProgress(self.at(), reply.id, reply.words_heard, reply.sounding))
        if finished:
            self._reply_over(reply.id)

    def _reply_over(self, reply_id: ReplyId) -> None:
        reply = self._end(reply_id)
        if reply is not None:
            self._tail = reply.spoken_transcript.text_between(reply.played - _ECHOES, reply.played), _now_s()
            heard = self._heard(reply, complete=True)
            if reply.audible and reply.unheard:
                self.trouble(PARTLY_HEARD.format(s=reply.unheard_ms / 1000))
            if reply.unheard_end is not None:  # played to its end, and heard to where the loudspeaker left
                heard_ms = ms_of_reply_samples(ReplySamples(reply.unheard_end))
                self.show(ReplyStopped(reply.id, heard, heard_ms, "unheard"))
            self._finish(reply, "answered" if reply.answered else "failed", heard)
            self.tell(ReplyEnded(self.at(), reply_id))

    def _heard(self, reply: Reply, *, complete: bool) -> str:
        """What of it was heard is remembered, and nothing else."""
        return self.conversation.heard(reply.id, reply.played, complete=complete, unheard=reply.unheard)

    def _finish(self, reply: Reply, outcome: Outcome, heard: str) -> None:
        if reply.id != self._resumed:
            self.last_reply = reply.written or self.last_reply
        self.said(heard)
        reply.trace.error, reply.trace.answered_by = reply.error, reply.answered_by
        self.recorder.finish(reply.id.turn, outcome, heard, self.clock)

    # ---- replies behind one another ----

    def let_trail(self, reply_id: ReplyId | None) -> bool:
        """Another reply is to follow this one, which is played to its end. False where it was not sent whole.

        It is remembered whole from now on, and less only if its end is cut.
        """
        attempt = None if reply_id is None else self._attempts.get(reply_id)
        if reply_id is None or attempt is None or attempt.reply is None or not attempt.sent:
            return False
        if len(self.trailing) >= MOST_TRAILING:
            return False
        self.trailing = (*self.trailing, reply_id)
        self.conversation.heard(reply_id, attempt.reply.spoken_transcript.samples, complete=True)
        return True

    def cut_trailing(self, why: ReplyCutReason, only: ReplyId | None = None) -> None:
        """What is played of replies before the one that has the floor ends here, too; `only`: of one of them."""
        for reply_id in self.trailing:
            if only not in {None, reply_id}:
                continue
            reply = self._end(reply_id)
            if reply is not None:
                heard = self._heard(reply, complete=False)
                self.show(ReplyStopped(reply_id, heard, ms_of_reply_samples(reply.played), why, *_tokens(reply)))
                self._finish(reply, "interrupted", heard)

    # ---- interruption ----

    def drop(self, effect: DropAttempt) -> None:
        """It was never committed, and is not wanted any more."""
        self._end(effect.reply)
        self.recorder.drop(effect.reply, _now_s(), effect.reason)

    def interrupt(self, effect: InterruptReply) -> None:
        """It ends here; what of it was heard is remembered."""
        reply = self._end(effect.reply)
        if reply is None:
            return
        self._rest = reply.id, reply.rest
        self.recorder.event(reply.id.turn, "interrupt", _now_s(), effect.reason)
        if effect.reason == "stuck":
            reply.error = reply.error or f"the reply by {reply.answered_by} got stuck and was given up"
            self._failed(reply.id, reply.error)
        heard = self._heard(reply, complete=False)
        self.show(ReplyStopped(reply.id, heard, ms_of_reply_samples(reply.played), effect.reason, *_tokens(reply)))
        self._finish(reply, "stuck" if effect.reason == "stuck" else "interrupted", heard)

    def retract(self, effect: RetractReply) -> bool:
        """Nothing of it was heard: it never was, and what it has done is undone. Whether it answered speech."""
        attempt = self._attempts[effect.reply]
        reply = self._end(effect.reply)
        if reply is not None and reply.id == self._resumed:
            self._rest = reply.id, reply.rest  # of any other the turn is answered anew
        attempt.take_back()
        self.conversation.retract(effect.reply)
        self.recorder.retract(effect.reply, _now_s())
        played_ms = 0.0 if reply is None else ms_of_reply_samples(reply.played)
        tokens = (None, None, None) if reply is None else _tokens(reply)
        self.show(ReplyStopped(effect.reply, "", played_ms, "went on", *tokens))
        return attempt.speech_end is not None

    def _end(self, reply_id: ReplyId) -> Reply | None:
        """Close the door first: from here on nothing of it is heard. Then stop the work behind it."""
        self.trailing = tuple(one for one in self.trailing if one != reply_id)
        attempt = self._attempts.pop(reply_id, None)
        if attempt is None:
            return None
        reply = attempt.reply
        if reply is not None and reply.gate.is_set():
            reply.played = self.speaker.close(reply_id)
            self.speaker.unduck()
        if attempt.asking is not None:
            self.recorder.transcribed(reply_id, attempt.asked_s, _now_s())
        if reply is not None:
            reply.abandon(_now_s())
        for task in (attempt.asking, attempt.answering):
            if task is not None and task is not asyncio.current_task() and task.cancel():
                self._tasks.create_task(self._reap(task), name=f"reap {task.get_name()}")
        return reply

    async def _reap(self, task: asyncio.Task[None]) -> None:
        """See a cancelled task off; one that is held up in its own clean-up is interrupted there too."""
        for _ in range(3):
            await asyncio.wait({task}, timeout=REAP_TIMEOUT_S)
            if task.done():
                return
            task.cancel()
        self.trouble(f"the task of {task.get_name()} did not stop")

    def hang_up(self, *, leaving: bool, broke_off: str | None = None) -> None:
        """The conversation is over; `leaving`: and nobody waits for the last reply; `broke_off`: why, if it did."""
        for reply_id in list(self._attempts):
            reply = self._end(reply_id)
            if reply is not None and reply.gate.is_set():
                reply.error = reply.error or broke_off
                if not leaving and broke_off is None:
                    self.trouble("the last reply did not end in time and was cut off")
                self._finish(reply, "failed" if broke_off else "interrupted", self._heard(reply, complete=False))
        self._mouth.close()

    def _failed(self, reply_id: ReplyId, why: str) -> None:
        """A fact of its own turn, also where somebody speaks into it: that turn is another one."""
        self.show(Problem(why))
        self.recorder.event(reply_id.turn, "error", _now_s(), why)


def _sent(reply: Reply) -> ReplySent:
    finished = reply.finished
    if reply.filtered:
        return ReplySent(reply.id, reply.spoken_transcript.text, None, "content_filter", *_tokens(reply))
    reason = None if finished is None else finished.reason
    incomplete = reason if reason in {"length", "content_filter"} else None
    return ReplySent(reply.id, reply.spoken_transcript.text, reply.error, incomplete, *_tokens(reply))


def _tokens(reply: Reply) -> tuple[int | None, int | None, int | None]:
    """Of the prompt, of the answer and cached, as the service counts; None where it has not told."""
    finished = reply.finished
    if finished is None:
        return None, None, None
    return finished.prompt_tokens, finished.completion_tokens, finished.cached_tokens


def _now_s() -> float:
    return asyncio.get_running_loop().time()
