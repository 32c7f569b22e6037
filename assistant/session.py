"""One conversation, from the first frame of the microphone to the last sample of the speaker.

    microphone ─frame─▶ vad ─▶ turns ─effect─▶ session ─▶ stt ─words─▶ turns ─▶ reply ─▶ speaker

Read it top to bottom: a frame comes in (`_hear`), turn taking is told (`_tell`), what it decides is done
(`_perform`), and what was done reports back. Everything between is synchronous; whatever takes time is a task of
this session's group, with a deadline.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Hashable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import assert_never

import numpy as np

from assistant.conversation import Conversation
from assistant.deeds import Deeds
from assistant.ears import Ears
from assistant.facts import Fact, ReplyCut, SpeechStarted, Trouble, TurnTaken, UnitSpoken, WordsHeard
from assistant.record import Outcome
from assistant.recorder import Recorder
from assistant.reply import Reply, recite
from assistant.restarting import Restarting, reason_of
from assistant.turn_events import (
    Asked,
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
    NothingSaid,
    NotTranscribed,
    OpenSegment,
    Partial,
    Playing,
    Prepare,
    ReplyEnded,
    ReplyId,
    Retract,
    Started,
    Transcribe,
    Transcribed,
    Unduck,
)
from assistant.turns import Floor, Turns
from audio.frame import Frame
from audio.microphone import Microphone
from audio.speaker import Speaker
from audio.stt import Transcriber, Words
from audio.tts import Voice
from audio.units import FRAME_MS, FRAME_SAMPLES, ReplySamples, Samples, ms_of_samples
from audio.vad import Vad, Voicing
from llm.chat import ChatEvent, ChatModel, Message

LAST_REPLY_TIMEOUT_S = 60.0
REAP_TIMEOUT_S = 2.0

NOT_HEARD = "Sorry, I could not hear that. My speech recognition stopped, and I am restarting it."


@dataclass(frozen=True, slots=True)
class Engines:
    """What a conversation runs on; owned by whoever built them.

    Attributes:
        spare_vad: Takes over, and says so, if `vad` fails.
        deeds: What answers do besides being spoken.
        say: From what is written to the words to be spoken: "12 km" is "twelve kilometers".
    """

    vad: Vad
    spare_vad: Vad
    transcriber: Transcriber
    model: ChatModel
    voice: Voice
    deeds: Deeds
    say: Callable[[str], str] = str


@dataclass(frozen=True, slots=True)
class SessionSettings:
    """Deadlines of the stages, and the greeting ("" for none)."""

    stt_timeout_s: float = 3.0
    voice_timeout_s: float = 3.0
    greeting: str = ""


@dataclass(slots=True)
class _Attempt:
    """What is under way for one attempt: asking for its words, then its reply."""

    asking: asyncio.Task[None] | None = None
    asked_s: float = 0.0
    reply: Reply | None = None
    answering: asyncio.Task[None] | None = None
    messages: tuple[Message, ...] = ()
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
    _vad: Vad = field(init=False)
    _ears: Ears = field(init=False)
    _mouth: Restarting = field(init=False)
    _tasks: asyncio.TaskGroup = field(init=False)
    _at: Samples = Samples(0)
    _attempts: dict[ReplyId, _Attempt] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._vad = self.engines.vad
        transcriber, voice = self.engines.transcriber, self.engines.voice
        restarting = Restarting(transcriber.name, transcriber.load, self._trouble)
        self._ears = Ears(transcriber, restarting, self.settings.stt_timeout_s, self._partial, self._trouble)
        self._mouth = Restarting(voice.name, voice.load, self._trouble)
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

    async def _converse(self) -> None:
        self._ears.restarting.tasks = self._mouth.tasks = self._tasks
        sound = self._tasks.create_task(self.speaker.run(), name="speaker")
        if self.settings.greeting:
            self._tell(Asked(self._at, "greeting", self.settings.greeting))
        async with aclosing(self.microphone.frames()) as frames:
            async for frame in frames:
                self._hear(frame)
        await self._let_it_finish()
        self._hang_up()
        await asyncio.sleep(self.speaker.latency_s)  # the last block has been taken, not yet heard
        sound.cancel()

    @property
    def idle(self) -> bool:
        """Nobody speaks and nothing is being answered."""
        return self.turns.floor is Floor.IDLE

    # ---- a frame comes in ----

    def _hear(self, frame: Frame) -> None:
        self._at = frame.end
        self._ears.hear(frame)
        voicing = self._detect(frame)
        self.recorder.frame(frame, voicing, self.microphone.clock)
        self._tell(Heard(frame.end, voicing))
        for announcement in self.engines.deeds.due(self._now_s()):
            self._tell(Asked(self._at, "announcement", announcement))

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
        for effect in self.turns.tell(event):
            self._perform(effect)

    def _perform(self, effect: Effect) -> None:  # noqa: C901, PLR0912 - one case for each kind of effect
        match effect:
            case OpenSegment():
                self.recorder.segment_opened(effect, self._clocked(effect.onset))
                self._ears.open(effect.segment)
            case Started():
                self.recorder.started(effect.turn, self._clocked(effect.onset))
                self.show(SpeechStarted(ms_of_samples(effect.onset)))
            case Transcribe():
                self._transcribe(effect)
            case Prepare():
                self._prepare(effect)
            case Endpoint():
                self.recorder.endpoint(effect.turn, self._now_s())
            case Commit():
                self._commit(effect)
            case CloseSegment() | DiscardSegment():
                self._ears.end(effect.segment, used=isinstance(effect, CloseSegment))
                self.recorder.segment_ended(effect.turn, self._now_s())
            case Drop():
                self._end(effect.reply)
                self.recorder.drop(effect.reply, self._now_s(), effect.why)
            case Retract():
                take_back = self._attempts[effect.reply].take_back
                self._end(effect.reply)
                take_back()
                self.conversation.retract(effect.reply)
                self.recorder.retract(effect.reply, self._now_s())
            case Interrupt():
                self._interrupt(effect)
            case Duck():
                self.speaker.duck()
                self.recorder.event(effect.reply.turn, "duck", self._now_s())
            case Unduck():
                self.speaker.unduck()
                self.recorder.event(effect.reply.turn, "unduck", self._now_s())
            case NothingSaid():
                self.recorder.nothing_said(effect, self._clocked(effect.speech_end), self.microphone.clock)
            case _:
                assert_never(effect)

    # ---- somebody speaks ----

    def _partial(self, words: Words) -> None:
        self.recorder.partial(words, self._now_s())
        self.show(WordsHeard(words.text, words.rough))
        self._tell(Partial(self._at, words))

    # ---- a silence: what was said? ----

    def _transcribe(self, effect: Transcribe) -> None:
        now_s = self._now_s()
        self.recorder.attempt(effect, now_s, self._clocked(effect.speech_end))
        asking = self._tasks.create_task(self._ask(effect), name=f"words of {effect.reply}")
        self._attempts[effect.reply] = _Attempt(asking, now_s)

    async def _ask(self, effect: Transcribe) -> None:
        began_s = self._now_s()
        words = await self._ears.words(effect.segment)
        self.recorder.transcribed(effect.reply, began_s, self._now_s())
        if effect.reply in self._attempts:
            self._attempts[effect.reply].asking = None
        if words is None:
            self._tell(NotTranscribed(self._at, effect.reply, effect.segment))
        else:
            self._tell(Transcribed(self._at, effect.reply, words))

    # ---- the reply ----

    def _prepare(self, effect: Prepare) -> None:
        attempt = self._attempts.setdefault(effect.reply, _Attempt())
        attempt.reply = reply = Reply(
            effect.reply,
            self.engines.voice,
            self._mouth.works,
            self.speaker,
            self.recorder.trace_of(effect.reply),
            self.settings.voice_timeout_s,
            on_unit=self._unit_spoken,
            say=self.engines.say,
            answered_by=self.engines.model.name,
            error="speech recognition failed" if effect.unheard else None,
        )
        # The messages are taken now: a commit that follows at once adds the user's own.
        attempt.messages = () if effect.unheard or effect.recited else self.conversation.messages(effect.text)
        answer = self._answer(reply, self._source(effect, attempt.messages))
        attempt.answering = self._tasks.create_task(answer, name=f"reply {effect.reply}")

    def _source(self, effect: Prepare, messages: tuple[Message, ...]) -> AsyncGenerator[ChatEvent]:
        if effect.unheard:
            return recite(NOT_HEARD, by="apology")
        if effect.recited:
            return recite(effect.text, by="itself")
        return self.engines.model.stream(messages)

    async def _answer(self, reply: Reply, source: AsyncGenerator[ChatEvent]) -> None:
        await reply.run(source)
        if reply.voice_failed:
            self._mouth.restart()
        await reply.gate.wait()  # an attempt that ends early must not be told of before its turn is committed
        if reply.error is not None:
            self._trouble(reply.error)
        if reply.unspoken:
            self._trouble(f"not spoken: {' '.join(reply.unspoken)}", private=True)
        self.speaker.end(reply.id)
        if reply.script.samples == 0:
            self._reply_over(reply.id)  # nothing was played, hence no report will come

    def _commit(self, effect: Commit) -> None:
        attempt = self._attempts[effect.reply]
        reply = attempt.reply
        assert reply is not None, "turn taking commits what it had prepared"
        if attempt.messages:
            attempt.take_back = self.engines.deeds.do(self.engines.deeds.effect_of(attempt.messages), self._now_s())
        reply.gain_db = self.engines.deeds.gain_db
        self.recorder.commit(effect, self._now_s())
        self.conversation.commit(effect.reply, effect.text)
        self.show(TurnTaken(effect.reply.turn, effect.text, effect.rough))
        self.speaker.open(effect.reply)
        reply.gate.set()

    def _unit_spoken(self, reply: ReplyId, text: str) -> None:
        self.show(UnitSpoken(reply.turn, text))

    # ---- the speaker reports ----

    def _played(self, key: Hashable, played: ReplySamples, leaves_at_s: float, finished: bool) -> None:
        attempt = self._attempts.get(key) if isinstance(key, ReplyId) else None
        if attempt is None or attempt.reply is None:
            return  # of a reply that was cancelled
        reply = attempt.reply
        reply.was_played(played, leaves_at_s, finished=finished)
        self._tell(Playing(self._at, reply.id, reply.words_heard, reply.audible))
        if finished:
            self._reply_over(reply.id)

    def _reply_over(self, reply_id: ReplyId) -> None:
        reply = self._end(reply_id)
        if reply is not None:
            self._remember(reply, "answered" if reply.audible else "failed")
            self._tell(ReplyEnded(self._at, reply_id))

    def _remember(self, reply: Reply, outcome: Outcome) -> str:
        """The turn is finished: what was heard of its reply stays in the history, everything else in the trace."""
        heard = self.conversation.heard(reply.id, reply.script, reply.played)
        reply.trace.error, reply.trace.answered_by = reply.error, reply.answered_by
        self.recorder.finish(reply.id.turn, outcome, heard, self.microphone.clock)
        return heard

    # ---- interruption ----

    def _interrupt(self, effect: Interrupt) -> None:
        reply = self._end(effect.reply)
        if reply is None:
            return
        self.recorder.event(reply.id.turn, "interrupt", self._now_s(), effect.why)
        if effect.why == "stuck":
            reply.error = reply.error or f"the reply by {reply.answered_by} got stuck and was given up"
            self._trouble(reply.error)
        heard = self._remember(reply, "stuck" if effect.why == "stuck" else "interrupted")
        self.show(ReplyCut(reply.id.turn, heard))

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
                self._trouble("the last reply did not end in time and was cut off")
                self._remember(reply, "interrupted")
        self._ears.close()

    def _now_s(self) -> float:
        return asyncio.get_running_loop().time()

    def _clocked(self, position: Samples) -> float:
        """Loop time of a position on the microphone's line."""
        return self.microphone.clock.to_loop_s(position)
