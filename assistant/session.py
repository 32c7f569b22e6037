"""One conversation, from the first frame of the microphone to the last sample of the speaker.

    microphone ─frame─▶ vad ─▶ turns ─effect─▶ session ─▶ stt ─words─▶ turns ─▶ reply ─▶ speaker

Read it top to bottom: a frame comes in (`_hear`), turn taking is told (`_tell`), what it decides is done
(`_perform`), and what was done reports back. Everything between is synchronous; whatever takes time is a task of
this session's group, with a deadline.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Hashable
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import assert_never

import numpy as np

from assistant.attention import Attention
from assistant.conversation import Conversation
from assistant.ears import Ears
from assistant.engines import Engines, SessionSettings, Wishes
from assistant.facts import (
    Fact,
    FunctionCalled,
    NothingHeard,
    ReplyBegun,
    ReplyCut,
    ReplySent,
    SpeechStarted,
    Trouble,
    TurnTaken,
    WordsHeard,
)
from assistant.floor import Floor
from assistant.items import ItemId, Said
from assistant.judge import Judge
from assistant.push_to_talk import TalkKey
from assistant.record import Outcome
from assistant.recorder import Recorder
from assistant.reply import Reply, recite
from assistant.restarting import Restarting, reason_of
from assistant.tool_rounds import ReplyEvent, ToolRounds
from assistant.turn_end import Estimate
from assistant.turn_events import (
    Asked,
    Cancelled,
    Cleared,
    CloseSegment,
    Commit,
    DiscardSegment,
    Drop,
    Duck,
    Effect,
    Endpoint,
    Event,
    Heard,
    Interrupt,
    Judged,
    NothingSaid,
    NotTranscribed,
    OpenSegment,
    Partial,
    Playing,
    Prepare,
    Pressed,
    ReplyEnded,
    ReplyId,
    Retract,
    Started,
    Submitted,
    TakeDown,
    Transcribe,
    Transcribed,
    Unduck,
)
from assistant.turns import Turns
from assistant.warmth import Warmth
from audio.frame import Frame
from audio.microphone import Microphone
from audio.speaker import Speaker
from audio.stt import SegmentId, Words
from audio.units import FRAME_MS, FRAME_SAMPLES, ReplySamples, Samples, ms_of_reply_samples, ms_of_samples
from audio.vad import Vad, Voicing
from llm.chat import Message

LAST_REPLY_TIMEOUT_S = 60.0
REAP_TIMEOUT_S = 2.0

MOST_TYPED = 20
"""Waiting while spoken words are still to come; then the oldest are forgotten."""

NOT_HEARD = "Sorry, I could not hear that. My speech recognition stopped, and I am restarting it."


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


@dataclass(slots=True)
class Session:
    """One conversation. `run` is its whole life."""

    microphone: Microphone
    speaker: Speaker
    engines: Engines
    turns: Turns
    conversation: Conversation
    recorder: Recorder
    settings: SessionSettings
    show: Callable[[Fact], None]
    wishes: Wishes = field(default_factory=Wishes)
    attention: Attention = field(default_factory=Attention)
    key: TalkKey | None = None  # only while it is held is anything heard
    _vad: Vad = field(init=False)
    _ears: Ears = field(init=False)
    _mouth: Restarting = field(init=False)
    _judge: Judge | None = None
    _warmth: Warmth | None = None
    _tasks: asyncio.TaskGroup = field(init=False)
    _at: Samples = Samples(0)
    _attempts: dict[ReplyId, _Attempt] = field(default_factory=dict)
    _onset: Samples = Samples(0)  # of the speech that was heard last
    _meant: bool = True  # as far as is known, it is for the assistant
    _last_reply: str = ""
    _typed: deque[str] = field(default_factory=lambda: deque(maxlen=MOST_TYPED))
    _heard_as: ItemId | None = None  # what the words of the speech at hand will be in the history
    _this_once: Wishes | None = None  # of the reply that a client asked for
    _waiting_request: bool = False  # to be made when the reply under way has ended
    _leaving: bool = False
    _leave_tools: Callable[[], None] = lambda: None

    def __post_init__(self) -> None:
        self._vad = self.engines.vad
        transcriber, voice = self.engines.transcriber, self.engines.voice
        restarting = Restarting(transcriber.name, transcriber.load, self._trouble)
        self._ears = Ears(transcriber, restarting, self.settings.stt_timeout_s, self._partial, self._trouble)
        self._mouth = Restarting(voice.name, voice.load, self._trouble)
        if self.engines.turn_end is not None:
            self._judge = Judge(
                self.engines.turn_end,
                self.engines.listener,
                self.engines.understands,
                self.settings.reads,
                self._judged,
                self._trouble,
            )
        if self.engines.warm is not None:
            self._warmth = Warmth(self.engines.warm)
        self.speaker.on_played = self._played

    async def run(self) -> None:
        """Hold the conversation until the microphone ends and the last reply was played.

        Raises an ExceptionGroup with the AudioError of a microphone or speaker that failed; the turn it broke into is
        recorded all the same.
        """
        try:
            async with asyncio.TaskGroup() as self._tasks:
                await self._converse()
        except BaseException as error:
            self.recorder.give_up(f"the conversation broke off ({type(error).__name__})", self.microphone.clock)
            raise
        finally:
            self._leave_tools()

    async def _converse(self) -> None:
        self._ears.restarting.tasks = self._mouth.tasks = self._tasks
        if self._judge is not None:
            self._judge.tasks = self._tasks
        if self._warmth is not None:
            self._warmth.tasks = self._tasks
        if self.engines.tools is not None:
            self._leave_tools = self.engines.tools.attend(self._trouble)
        sound = self._tasks.create_task(self.speaker.run(), name="speaker")
        if self.settings.greeting:
            self._tell(Asked(self._at, "greeting", self.settings.greeting))
        async with aclosing(self.microphone.frames()) as frames:
            async for frame in frames:
                self._hear(frame)
        if not self._leaving:
            await self._let_it_finish()
        self._hang_up()
        await asyncio.sleep(self.speaker.latency_s)  # the last block has been taken, not yet heard
        sound.cancel()

    @property
    def request_waits(self) -> bool:
        """An answer was asked for and is not begun yet."""
        return self._waiting_request or self.turns.owes

    @property
    def idle(self) -> bool:
        """Nobody speaks and nothing is being answered."""
        return self.turns.floor is Floor.IDLE

    # ---- what a client wants ----

    def request(self, this_once: Wishes | None = None, *, after_reply: bool = False) -> None:
        """Answer the history as it stands, or what is being transcribed right now.

        A reply that is still playing is cut; with `after_reply` its end is waited for. Where the person speaks up
        first, the answer to that is the answer.
        """
        self._this_once = this_once
        # Who speaks is heard out, but where only the client knows when they have finished.
        taken = {Floor.REPLY, Floor.ENDED} if self.turns.settings.manual else {Floor.REPLY, Floor.ENDED, Floor.USER}
        self._waiting_request = after_reply and self.turns.floor in taken and not self.turns.unasked
        if not self._waiting_request:
            self._tell(Asked(self._at, "requested"))

    def submit(self) -> None:
        """What was said is a turn; silence need not say so."""
        self._tell(Submitted(self._at))

    def clear(self) -> None:
        """What is being said is to be forgotten."""
        self._tell(Cleared(self._at))

    def cancel(self, *, request_too: bool = False) -> None:
        """Stop the reply under way, if there is one; with `request_too`, one that waits for its end is not made."""
        if request_too:
            self._waiting_request, self._this_once = False, None
        self._tell(Cancelled(self._at))

    def measured(self, reply_id: ReplyId, latency_s: float, device_s: float) -> None:
        """The client has measured when the reply was audible: so long after the speech ended, on its own clock.

        `device_s`: the part of it that the sound spent in the client's buffer and device.
        """
        attempt = self._attempts.get(reply_id)
        if attempt is not None and attempt.reply is not None and attempt.speech_end is not None:
            attempt.reply.was_measured(self._clocked(attempt.speech_end) + latency_s, device_s)

    @property
    def awake(self) -> bool:
        """What begins now is listened to, without the wake phrase."""
        return self.attention.awake(self._at)

    def type(self, text: str) -> bool:
        """The person types instead of speaking: a reply that plays is cut. False where there is nothing in it.

        Behind words that are spoken but not yet known it waits until they are.
        """
        if not text.strip():
            return False
        self._typed.append(text.strip())
        self._take_typed()
        return True

    def repeat(self) -> bool:
        """Say the last reply again, or the one that plays, from its beginning. False where there was none."""
        replying = self._attempts.get(self.turns.replying) if self.turns.replying is not None else None
        written = "" if replying is None or replying.reply is None else replying.reply.written
        text = written or self._last_reply
        if text:
            self._tell(Asked(self._at, "repeated", text))
        return bool(text)

    def talk(self, on: bool) -> None:
        """Push-to-talk: the key is pressed, which ends a reply that plays, or let go.

        The turn ends when everything that was said before the release has come: until then `key.waits`, and the
        microphone must not be closed.
        """
        if self.key is None:
            return
        if not on:
            self.key.release(self._position_now())
        elif self.key.press(self._position_now()):
            self._tell(Pressed(self._at))

    def leave(self) -> None:
        """The microphone is about to end, and nobody waits for the last reply."""
        self._leaving = True

    # ---- a frame comes in ----

    def _hear(self, frame: Frame) -> None:
        if self.key is not None:
            frame = self.key.heard(frame)
        self._at = frame.end
        if self.turns.floor is Floor.REPLY:
            self.attention.replying(self._at)
        self._ears.hear(frame)
        voicing = self._detect(frame)
        self.recorder.frame(frame, voicing, self.microphone.clock)
        if self._judge is not None:
            self._judge.hear(frame, voicing)
        self._tell(Heard(frame.end, voicing))
        if self.key is not None:
            self._let_go(self.key)
        for announcement in self.engines.deeds.due(self._now_s()):
            self._tell(Asked(self._at, "announcement", announcement))

    def _let_go(self, key: TalkKey) -> None:
        match key.due(self._at, self._onset if self.turns.floor is Floor.USER else None):
            case "submit":
                self._tell(Submitted(self._at))
            case "clear":
                self._tell(Cleared(self._at))

    def _detect(self, frame: Frame) -> Voicing:
        try:
            return self._vad.process(frame)
        except Exception as error:
            if self._vad is self.engines.spare_vad:
                raise
            self._vad = self.engines.spare_vad
            why = f"vad: {self._vad.name}, in place of a detector that failed: {reason_of(error)}"
            self.recorder.vad_replaced(self._vad.name, self._vad.end_bias_ms, why)
            self._trouble(why)
            return self._vad.process(frame)

    # ---- turn taking decides ----

    def _tell(self, event: Event) -> None:
        self.recorder.told.tell(event, self.turns.settings)
        for effect in self.turns.tell(event):
            self._perform(effect)
        if self._waiting_request and self.turns.floor is Floor.IDLE:
            self.request(self._this_once)
        self._take_typed()

    def _take_typed(self) -> None:
        """Typed text enters the history in its turn, behind what was spoken before."""
        if not self._typed or self.turns.floor is Floor.ENDED:
            return
        while self._typed:
            self.conversation.insert(Said(self.conversation.reserve(), self._typed.popleft(), spoken=False))
        self.request()

    def _perform(self, effect: Effect) -> None:  # noqa: C901, PLR0912 - one case for each kind of effect
        match effect:
            case OpenSegment():
                self._onset, self._meant = effect.onset, self.attention.awake(effect.onset)
                self.recorder.segment_opened(effect, self._clocked(effect.onset), meant=self._meant)
                self._ears.open(effect.segment)
                if self._judge is not None:
                    self._judge.began(effect.onset)
                if self._warmth is not None and self._meant:
                    self._warmth.began()
            case Started():
                self.recorder.started(effect.turn, self._clocked(effect.onset))
                self._heard_as = self.conversation.reserve()
                self.show(SpeechStarted(effect.turn, ms_of_samples(effect.onset), self._heard_as))
            case Transcribe():
                self._transcribe(effect)
            case Prepare():
                self._prepare(effect)
            case Endpoint():
                self.recorder.endpoint(effect.turn, self._now_s())
            case Commit():
                self._commit(effect)
            case TakeDown():
                self._take_down(effect)
            case CloseSegment() | DiscardSegment():
                self._ears.end(effect.segment, used=isinstance(effect, CloseSegment))
                self.recorder.segment_ended(effect.turn, self._now_s())
                if self._judge is not None:
                    self._judge.ended(turn=isinstance(effect, CloseSegment))
                if self._warmth is not None:
                    self._warmth.ended()
            case Drop():
                self._end(effect.reply)
                self.recorder.drop(effect.reply, self._now_s(), effect.why)
            case Retract():
                self._retract(effect)
                if self._judge is not None:
                    self._judge.went_on()
            case Interrupt():
                self._interrupt(effect)
            case Duck():
                self.speaker.duck()
                self.recorder.event(effect.reply.turn, "duck", self._now_s())
            case Unduck():
                self.speaker.unduck()
                self.recorder.event(effect.reply.turn, "unduck", self._now_s())
            case NothingSaid():
                self._nothing_said(effect if self._meant else replace(effect, why="overheard"))
            case _:
                assert_never(effect)

    def _nothing_said(self, effect: NothingSaid) -> None:
        if effect.why == "called":
            self.attention.called(self._at)
        self.recorder.nothing_said(effect, self._clocked(effect.speech_end), self.microphone.clock)
        self.show(NothingHeard(effect.turn, ms_of_samples(effect.speech_end), effect.why))

    # ---- somebody speaks ----

    def _partial(self, words: Words) -> None:
        address = self.attention.address(words.text, self._onset)
        if address.kind == "overheard":
            return
        self._addressed()
        heard = replace(words, text=self.attention.name if address.kind == "called" else address.text)
        self.recorder.partial(heard, self._now_s())
        self.show(WordsHeard(heard.text, heard.rough))
        self._tell(Partial(self._at, heard, address.named))

    def _addressed(self) -> None:
        """What is being said is for the assistant: from here on, it may cost something."""
        if not self._meant and self._warmth is not None:
            self._warmth.began()
        self._meant = True
        self.recorder.addressed()

    # ---- a silence: what was said? ----

    def _transcribe(self, effect: Transcribe) -> None:
        now_s = self._now_s()
        self.recorder.attempt(effect, now_s, self._clocked(effect.speech_end))
        asking = self._tasks.create_task(self._ask(effect, self._onset), name=f"words of {effect.reply}")
        self._attempts[effect.reply] = _Attempt(asking, now_s)
        if self._judge is not None:
            self._judge.silence(effect.segment, effect.speech_end)

    async def _ask(self, effect: Transcribe, onset: Samples) -> None:
        began_s = self._now_s()
        words = await self._ears.words(effect.segment)
        self.recorder.transcribed(effect.reply, began_s, self._now_s())
        if effect.reply in self._attempts:
            self._attempts[effect.reply].asking = None
        if words is None and self._meant:
            self._tell(NotTranscribed(self._at, effect.reply, effect.segment))
            return
        words = words or Words(effect.segment, self._at, "")  # nobody waits for what was lost of it
        address = self.attention.address(words.text, onset)
        if effect.reply in self._attempts and address.kind != "overheard":
            self._addressed()
            if self._judge is not None:
                self._judge.words(effect.segment, address.text)
        void = "" if address.kind == "meant" else address.kind
        self._tell(Transcribed(self._at, effect.reply, replace(words, text=address.text), void))

    def _judged(self, segment: SegmentId, estimate: Estimate) -> None:
        self._tell(Judged(self._at, segment, estimate))
        self.recorder.judged(estimate, self._now_s())

    def _take_down(self, effect: TakeDown) -> None:
        """The turn's words enter the history, unanswered."""
        for reply_id in [reply_id for reply_id in self._attempts if reply_id.turn == effect.turn]:
            self._attempts.pop(reply_id)
        said = self._said(effect.text, effect.added) or self.conversation.said(self.conversation.reserve(), "")
        end_ms = ms_of_samples(effect.speech_end)
        self.show(TurnTaken(effect.turn, effect.text, effect.rough, said, end_ms, "spoken", answered=False))
        self.recorder.taken_down(effect, self._clocked(effect.speech_end), self.microphone.clock)

    def _said(self, text: str, added: str) -> Said | None:
        if not added:
            return None
        item, self._heard_as = self._heard_as or self.conversation.reserve(), None
        return self.conversation.said(item, added, continues=added != text)

    # ---- the reply ----

    def _prepare(self, effect: Prepare) -> None:
        attempt = self._attempts.setdefault(effect.reply, _Attempt())
        wishes = self.wishes if effect.recited else self._this_once or self.wishes
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
            speed=lambda: wishes.speed * self.engines.deeds.speed,
            error="speech recognition failed" if effect.unheard else None,
        )
        attempt.answering = self._tasks.create_task(
            self._answer(reply, self._source(effect, attempt, wishes, reply)), name=f"reply {effect.reply}"
        )

    def _source(self, effect: Prepare, attempt: _Attempt, wishes: Wishes, reply: Reply) -> AsyncGenerator[ReplyEvent]:
        if effect.unheard:
            return recite(NOT_HEARD, by="apology")
        if effect.recited:
            return recite(effect.text, by="itself")
        # The messages are taken now: a commit that follows at once adds the user's own.
        attempt.messages = self.conversation.messages(
            effect.added, continues=effect.added != effect.text, instructions=wishes.instructions
        )
        options = replace(wishes.options, traceparent=self.recorder.traceparent(effect.reply))
        if self.engines.tools is None:
            return self.engines.model.stream(attempt.messages, options)
        return ToolRounds(
            self.engines.model,
            attempt.messages,
            options,
            self.engines.tools,
            self.settings.tools,
            reply.gate,
            written=lambda: reply.written,
            remember=lambda used: self.conversation.used(reply.id, used),
            waiting=lambda so_far_s: self._waiting_for_tools(reply, so_far_s),
        ).stream()

    def _waiting_for_tools(self, reply: Reply, so_far_s: float) -> None:
        """Nobody is stuck: a call has a limit of its own."""
        tools = self.settings.tools
        if tools.moment and so_far_s >= tools.moment_after_s:
            reply.ask_for_a_moment(tools.moment)
        self._tell(Playing(self._at, reply.id, reply.words_heard, reply.sounding))

    async def _answer(self, reply: Reply, source: AsyncGenerator[ReplyEvent]) -> None:
        await reply.run(source)
        if reply.voice_failed:
            self._mouth.restart()
        await reply.gate.wait()  # an attempt that ends early must not be told of before its turn is committed
        if reply.error is not None:
            self._trouble(reply.error)
        if reply.unspoken:
            self._trouble(f"not spoken: {' '.join(reply.unspoken)}", private=True)
        for call in reply.calls:
            self.show(FunctionCalled(reply.id, self.conversation.called(call)))
        self.show(_sent(reply))
        self.speaker.end(reply.id)
        if reply.script.samples == 0:
            self._reply_over(reply.id)  # nothing was played, hence no report will come

    def _commit(self, effect: Commit) -> None:
        self.attention.replying(self._at)
        attempt = self._attempts[effect.reply]
        reply = attempt.reply
        assert reply is not None, "turn taking commits what it had prepared"
        attempt.speech_end = effect.speech_end
        if attempt.messages:
            self._waiting_request, self._this_once = (
                False,
                None,
            )  # the history is being answered: what waited in it, too
            attempt.take_back = self.engines.deeds.do(self.engines.deeds.effect_of(attempt.messages), self._now_s())
        reply.gain_db = self.engines.deeds.gain_db
        speech_end_s = None if effect.speech_end is None else self._clocked(effect.speech_end)
        self.recorder.commit(effect, self._now_s(), speech_end_s)
        said = self._said(effect.text, effect.added)
        end_ms = None if effect.speech_end is None else ms_of_samples(effect.speech_end)
        self.show(TurnTaken(effect.reply.turn, effect.text, effect.rough, said, end_ms, effect.origin))
        item = self.conversation.answering(effect.reply, reply.script)
        self.show(ReplyBegun(effect.reply, item, reply.spoken))
        self.speaker.open(effect.reply)
        reply.gate.set()

    # ---- the speaker reports ----

    def _written(self, reply_id: ReplyId, fact: Fact) -> None:
        """Text that is shown counts as heard."""
        self.show(fact)
        attempt = self._attempts.get(reply_id)
        if attempt is not None and attempt.reply is not None:
            self._tell(Playing(self._at, reply_id, attempt.reply.words_heard, audible=True))

    def _played(self, key: Hashable, played: ReplySamples, leaves_at_s: float, finished: bool) -> None:
        attempt = self._attempts.get(key) if isinstance(key, ReplyId) else None
        if attempt is None or attempt.reply is None:
            return  # of a reply that was cancelled
        reply = attempt.reply
        reply.was_played(played, leaves_at_s, finished=finished)
        self._tell(Playing(self._at, reply.id, reply.words_heard, reply.sounding))
        if finished:
            self._reply_over(reply.id)

    def _reply_over(self, reply_id: ReplyId) -> None:
        reply = self._end(reply_id)
        if reply is not None:
            heard = self.conversation.heard(reply.id, reply.played, complete=True)
            self._finish(reply, "answered" if reply.answered else "failed", heard)
            self._tell(ReplyEnded(self._at, reply_id))

    def _finish(self, reply: Reply, outcome: Outcome, heard: str) -> None:
        self._last_reply = reply.written or self._last_reply
        if self._judge is not None:
            self._judge.assistant_said(heard)
        reply.trace.error, reply.trace.answered_by = reply.error, reply.answered_by
        self.recorder.finish(reply.id.turn, outcome, heard, self.microphone.clock)

    # ---- interruption ----

    def _interrupt(self, effect: Interrupt) -> None:
        reply = self._end(effect.reply)
        if reply is None:
            return
        self.recorder.event(reply.id.turn, "interrupt", self._now_s(), effect.why)
        if effect.why == "stuck":
            reply.error = reply.error or f"the reply by {reply.answered_by} got stuck and was given up"
            self._trouble(reply.error)
        heard = self.conversation.heard(reply.id, reply.played, complete=False)
        self.show(ReplyCut(reply.id, heard, ms_of_reply_samples(reply.played), effect.why))
        self._finish(reply, "stuck" if effect.why == "stuck" else "interrupted", heard)

    def _retract(self, effect: Retract) -> None:
        """Nothing of it was heard: it never was, and what it has done is undone."""
        take_back = self._attempts[effect.reply].take_back
        reply = self._end(effect.reply)
        take_back()
        self.conversation.retract(effect.reply)
        self.recorder.retract(effect.reply, self._now_s())
        played_ms = 0.0 if reply is None else ms_of_reply_samples(reply.played)
        self.show(ReplyCut(effect.reply, "", played_ms, "went on"))

    def _end(self, reply_id: ReplyId) -> Reply | None:
        """Close the door first: from here on nothing of it is heard. Then stop the work behind it."""
        attempt = self._attempts.pop(reply_id, None)
        if attempt is None:
            return None
        reply = attempt.reply
        if reply is not None and reply.gate.is_set():
            reply.played = self.speaker.close(reply_id)
            self.speaker.unduck()
        if attempt.asking is not None:
            self.recorder.transcribed(reply_id, attempt.asked_s, self._now_s())
        if reply is not None:
            reply.abandon(self._now_s())
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
        self._trouble(f"the task of {task.get_name()} did not stop")

    # ---- what goes wrong ----

    def _trouble(self, what: str, *, private: bool = False) -> None:
        """One sentence for the person; into the trace unless it holds words."""
        self.show(Trouble(what))
        if not private:
            self.recorder.trouble(what, self._now_s())

    # ---- the end ----

    async def _let_it_finish(self) -> None:
        """The microphone has ended; the line goes on in silence until the last turn is over."""
        self.talk(on=False)
        loop = asyncio.get_running_loop()
        silence = np.zeros(FRAME_SAMPLES, np.int16)
        due_s, give_up_s = loop.time(), loop.time() + LAST_REPLY_TIMEOUT_S
        while not self.idle and self._at > 0 and loop.time() < give_up_s:
            due_s += FRAME_MS / 1000
            await asyncio.sleep(max(0.0, due_s - loop.time()))
            self._hear(Frame(self._at, silence, invented=True))

    def _hang_up(self) -> None:
        for reply_id in list(self._attempts):
            reply = self._end(reply_id)
            if reply is not None and reply.gate.is_set():
                if not self._leaving:
                    self._trouble("the last reply did not end in time and was cut off")
                self._finish(reply, "interrupted", self.conversation.heard(reply.id, reply.played, complete=False))
        self._ears.close()
        if self._warmth is not None:
            self._warmth.close()

    def _now_s(self) -> float:
        return asyncio.get_running_loop().time()

    def _position_now(self) -> Samples:
        """What the microphone captures at this moment; it will be heard a little later."""
        clock = self.microphone.clock
        return max(self._at, clock.to_position(self._now_s())) if clock.running else self._at

    def _clocked(self, position: Samples) -> float:
        """Loop time of a position on the microphone's line."""
        return self.microphone.clock.to_loop_s(position)


def _sent(reply: Reply) -> ReplySent:
    finished = reply.finished
    if finished is None:
        return ReplySent(reply.id, reply.script.text, reply.error, None, None, None)
    incomplete = finished.reason if finished.reason in {"length", "content_filter"} else None
    tokens = finished.prompt_tokens, finished.completion_tokens
    return ReplySent(reply.id, reply.script.text, reply.error, incomplete, *tokens)
