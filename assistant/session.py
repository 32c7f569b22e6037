"""One conversation, from the first frame of the microphone to the last sample of the speaker.

    microphone ─frame─▶ vad ─▶ turns ─effect─▶ session ─▶ stt ─words─▶ turns ─▶ reply ─▶ speaker

Read it top to bottom: a frame comes in (`_hear`), turn taking is told (`_tell`), what it decides is done
(`_perform`), and what was done reports back. Everything between is synchronous; whatever takes time is a task of
this session's group, with a deadline.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Hashable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import assert_never

from assistant.conversation import Conversation
from assistant.facts import Fact, ReplyCut, SpeechStarted, Trouble, TurnTaken, UnitSpoken, WordsHeard
from assistant.recorder import Recorder
from assistant.reply import Reply, recite
from assistant.sentences import Sentences
from assistant.trace import TurnTrace
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
    Transcribe,
    Transcribed,
    Unduck,
)
from assistant.turns import Floor, Turns
from audio.errors import AudioError, SttError, VadError
from audio.frame import Frame
from audio.microphone import Microphone
from audio.ring import Ring
from audio.speaker import Speaker
from audio.stt import Hearing, SegmentId, Transcriber, Words
from audio.tts import Voice
from audio.units import ReplySamples, Samples, ms_of_samples, samples_of_s
from audio.vad import Vad
from llm.chat import ChatEvent, ChatModel

RING_S = 5.0
"""Sound kept for segments that begin in the past: the pre-roll, a late detection, a restarted recognizer."""

RESTART_TIMEOUT_S = 30.0
LAST_REPLY_TIMEOUT_S = 60.0

NOT_HEARD = "Sorry, I could not hear that. My speech recognition stopped, and I am restarting it."


@dataclass(frozen=True, slots=True)
class Engines:
    """What a conversation runs on; owned by whoever built them.

    Attributes:
        spare_vad: Takes over, and says so, if `vad` fails.
    """

    vad: Vad
    spare_vad: Vad
    transcriber: Transcriber
    model: ChatModel
    voice: Voice


@dataclass(frozen=True, slots=True)
class SessionSettings:
    """Deadlines of the stages, and the greeting ("" for none)."""

    stt_timeout_s: float = 3.0
    voice_timeout_s: float = 3.0
    greeting: str = ""


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
    _ring: Ring = field(init=False)
    _tasks: asyncio.TaskGroup = field(init=False)
    _at: Samples = Samples(0)
    _segment: SegmentId | None = None  # the open one; `_hearing` is None where the recognizer lost it
    _hearing: Hearing | None = None
    _ears: asyncio.Event = field(default_factory=asyncio.Event)  # set while the recognizer works
    _asking: dict[ReplyId, asyncio.Task[None]] = field(default_factory=dict)
    _replies: dict[ReplyId, Reply] = field(default_factory=dict)
    _answering: dict[ReplyId, asyncio.Task[None]] = field(default_factory=dict)
    _idle: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self._vad = self.engines.vad
        self._ring = Ring(samples_of_s(RING_S))
        self._ears.set()
        self.speaker.on_played = self._played

    async def run(self) -> None:
        """Hold the conversation until the microphone ends and the last reply was played."""
        async with asyncio.TaskGroup() as self._tasks:
            sound = self._tasks.create_task(self.speaker.run(), name="speaker")
            if self.settings.greeting:
                self._tell(Asked(self._at, "greeting", self.settings.greeting))
            async with aclosing(self.microphone.frames()) as frames:
                async for frame in frames:
                    self._hear(frame)
            await self._let_it_finish()
            self._hang_up()
            sound.cancel()

    @property
    def idle(self) -> bool:
        """Nobody speaks and nothing is being answered."""
        return self.turns.floor is Floor.IDLE

    # ---- a frame comes in ----

    def _hear(self, frame: Frame) -> None:
        self._at = frame.end
        self._ring.write(frame.start, frame.pcm)
        if self._hearing is not None:
            self._feed(self._hearing, frame)
        try:
            voicing = self._vad.process(frame)
        except VadError as error:
            self._replace_vad(error)
            return
        self.recorder.frame(frame, voicing, self.microphone.clock)
        self._tell(Heard(frame.end, voicing))

    def _feed(self, hearing: Hearing, frame: Frame) -> None:
        try:
            hearing.feed(frame.pcm)
        except SttError as error:
            self._stt_failed(error)

    def _replace_vad(self, error: VadError) -> None:
        if self._vad is self.engines.spare_vad:
            raise error
        self._vad = self.engines.spare_vad
        self._trouble(f"the voice detector failed ({error}); {self._vad.name} has taken over", "vad")

    # ---- turn taking decides ----

    def _tell(self, event: Event) -> None:
        for effect in self.turns.tell(event):
            self._perform(effect)
        if self.turns.floor is Floor.IDLE:
            self._idle.set()
        else:
            self._idle.clear()

    def _perform(self, effect: Effect) -> None:  # noqa: C901, PLR0912 - one case for each kind of effect
        match effect:
            case OpenSegment():
                self._open_segment(effect)
            case Transcribe():
                self.recorder.attempt(effect, self._now_s(), self._clocked(effect.speech_end))
                self._asking[effect.reply] = self._tasks.create_task(
                    self._transcribe(effect), name=f"stt {effect.reply}"
                )
            case Prepare():
                self._prepare(effect)
            case Endpoint():
                self.recorder.endpoint(effect.turn, self._now_s())
            case Commit():
                self._commit(effect)
            case CloseSegment():
                self._end_segment(effect.segment, used=True)
            case DiscardSegment():
                self._end_segment(effect.segment, used=False)
            case Drop():
                self.recorder.drop(effect.reply, self._now_s(), effect.why)
                self._cancel(effect.reply)
            case Retract():
                self._silence(effect.reply)
                self.conversation.retract(effect.reply)
                self.recorder.retract(effect.reply, self._now_s())
                self.show(SpeechStarted(ms_of_samples(effect.onset)))
            case Interrupt():
                self._interrupt(effect)
            case Duck():
                self.speaker.duck()
                self.recorder.event(effect.reply.turn, "duck", self._now_s())
            case Unduck():
                self.speaker.unduck()
                self.recorder.event(effect.reply.turn, "unduck", self._now_s())
            case NothingSaid():
                self.recorder.nothing_said(effect, self._now_s(), self._clocked(effect.speech_end))
            case _:
                assert_never(effect)

    # ---- somebody speaks ----

    def _open_segment(self, effect: OpenSegment) -> None:
        self.recorder.speech_started(effect, self._clocked(effect.onset))
        if self.idle or not self._replies:
            self.show(SpeechStarted(ms_of_samples(effect.onset)))
        self._segment = effect.segment
        self._listen(effect.segment)

    def _listen(self, segment: SegmentId) -> None:
        """Give the recognizer the segment from its beginning, which lies in the past."""
        if self._hearing is not None:
            self._hearing.cancel()
            self._hearing = None
        try:
            self._hearing = self.engines.transcriber.open(segment, self._partial)
            self._hearing.feed(self._ring.read(Samples(segment), self._at))
        except SttError as error:
            self._stt_failed(error)

    def _partial(self, words: Words) -> None:
        if self._hearing is None or self._hearing.segment != words.segment:
            return  # of a segment that is over
        self.recorder.partial(words, self._now_s())
        self.show(WordsHeard(words.text, words.rough))
        self._tell(Partial(self._at, words))

    def _end_segment(self, segment: SegmentId, *, used: bool) -> None:
        if segment != self._segment:
            return
        hearing, self._hearing, self._segment = self._hearing, None, None
        if hearing is None:
            return
        if used:
            hearing.close()
        else:
            hearing.cancel()

    # ---- a silence: what was said? ----

    async def _transcribe(self, effect: Transcribe) -> None:
        began_s = self._now_s()
        try:
            async with asyncio.timeout(self.settings.stt_timeout_s):
                words = await self._words(effect.segment)
        except (SttError, TimeoutError) as error:
            self._stt_failed(error)
            self.recorder.transcribed(effect.reply, began_s, self._now_s())
            self._tell(NotTranscribed(self._at, effect.reply, effect.segment))
        else:
            self.recorder.transcribed(effect.reply, began_s, self._now_s())
            self._tell(Transcribed(self._at, effect.reply, words))
        finally:
            self._asking.pop(effect.reply, None)

    async def _words(self, segment: SegmentId) -> Words:
        await self._ears.wait()
        if self._hearing is None or self._hearing.segment != segment:
            raise SttError("the sound of this turn is lost")
        return await self._hearing.words()

    def _stt_failed(self, error: Exception) -> None:
        if self._hearing is not None:
            self._hearing.cancel()
            self._hearing = None
        if not self._ears.is_set():
            return  # it is known, and being mended
        self._ears.clear()
        name = self.engines.transcriber.name
        reason = f"{error}" or f"no answer within {self.settings.stt_timeout_s:g} s"
        self._trouble(f"speech recognition failed: {reason}; {name} is being restarted", "stt")
        self._tasks.create_task(self._mend_ears(), name="restart speech recognition")

    async def _mend_ears(self) -> None:
        mended = await self._load_again(self.engines.transcriber.name, self.engines.transcriber.load)
        self._ears.set()  # if it is still dead, the next segment will find out and try again
        if mended and self._segment is not None and self._ring.oldest <= self._segment:
            self._listen(self._segment)  # nothing of what is being said is lost

    # ---- the reply ----

    def _prepare(self, effect: Prepare) -> None:
        trace = self.recorder.trace_of(effect.reply)
        reply = Reply(
            effect.reply,
            self.engines.voice,
            self.speaker,
            Sentences(),
            trace,
            self.settings.voice_timeout_s,
            on_unit=self._unit_spoken,
        )
        self._replies[effect.reply] = reply
        answer = self._answer(reply, self._source(effect, trace))
        self._answering[effect.reply] = self._tasks.create_task(answer, name=f"reply {effect.reply}")

    def _source(self, effect: Prepare, trace: TurnTrace) -> AsyncGenerator[ChatEvent]:
        """What answers. The messages are taken now: a commit that follows at once adds the user's own."""
        if effect.unheard:
            trace.error = "speech recognition failed"
            return recite(NOT_HEARD, by="apology")
        if effect.greeting:
            return recite(effect.text, by="greeting")
        trace.answered_by = self.engines.model.name
        return self.engines.model.stream(self.conversation.messages(effect.text))

    async def _answer(self, reply: Reply, source: AsyncGenerator[ChatEvent]) -> None:
        outcome = await reply.run(source)
        await reply.gate.wait()  # an attempt that ends early must not be told of before its turn is committed
        self.speaker.end(reply.id)
        if outcome.error is not None:
            reply.trace.error = outcome.error
            self._trouble(outcome.error, None)
        if outcome.voice_failed:
            self._trouble(f"not spoken: {reply.script.text}", None)
        if reply.script.samples == 0:
            self._reply_over(reply)  # nothing was played, hence no report will come
        if outcome.voice_failed:
            await self._load_again(self.engines.voice.name, self.engines.voice.load)

    def _commit(self, effect: Commit) -> None:
        reply = self._replies[effect.reply]
        self.recorder.commit(effect, self._now_s())
        self.conversation.commit(effect.reply, effect.text if effect.origin != "greeting" else "")
        self.show(TurnTaken(effect.reply.turn, effect.text if effect.origin != "greeting" else ""))
        self.speaker.open(effect.reply)
        reply.gate.set()

    def _unit_spoken(self, reply: ReplyId, text: str) -> None:
        self.show(UnitSpoken(reply.turn, text))

    # ---- the speaker reports ----

    def _played(self, key: Hashable, played: ReplySamples, leaves_at_s: float, finished: bool) -> None:
        reply = self._replies.get(key) if isinstance(key, ReplyId) else None
        if reply is None:
            return  # of a reply that was cancelled
        reply.was_played(played, leaves_at_s, finished=finished)
        self._tell(Playing(self._at, reply.id, reply.words_heard, reply.audible))
        if finished:
            self._reply_over(reply)

    def _reply_over(self, reply: Reply) -> None:
        if self._replies.pop(reply.id, None) is None:
            return
        self._answering.pop(reply.id, None)
        self.speaker.close(reply.id)
        heard = self.conversation.heard(reply.id, reply.script, reply.played)
        self.recorder.finish(reply.id.turn, "failed" if reply.playout_start_s is None else "answered", heard)
        self._tell(ReplyEnded(self._at, reply.id))

    # ---- interruption ----

    def _interrupt(self, effect: Interrupt) -> None:
        reply = self._silence(effect.reply)
        self.show(SpeechStarted(ms_of_samples(effect.onset)))
        if reply is None:
            return
        heard = self.conversation.heard(reply.id, reply.script, reply.played)
        self.show(ReplyCut(reply.id.turn, heard))
        self.recorder.event(reply.id.turn, "interrupt", self._now_s(), effect.why)
        self.recorder.finish(reply.id.turn, "stuck" if effect.why == "stuck" else "interrupted", heard)

    def _silence(self, reply_id: ReplyId) -> Reply | None:
        """Close the door first: from here on nothing of this reply is heard. Then stop the work behind it."""
        reply = self._replies.get(reply_id)
        if reply is not None:
            reply.played = self.speaker.close(reply_id)
            self.speaker.unduck()
        self._cancel(reply_id)
        return reply

    def _cancel(self, reply_id: ReplyId) -> None:
        self._replies.pop(reply_id, None)
        for tasks in (self._asking, self._answering):
            task = tasks.pop(reply_id, None)
            if task is not None:
                task.cancel()

    # ---- what goes wrong ----

    def _trouble(self, what: str, stage: str | None) -> None:
        self.show(Trouble(what))
        if stage is not None:
            self.recorder.trouble(f"{stage}: {what}", self._now_s())

    async def _load_again(self, name: str, load: Callable[[], Awaitable[None]]) -> bool:
        try:
            async with asyncio.timeout(RESTART_TIMEOUT_S):
                await load()
        except (AudioError, TimeoutError) as error:
            reason = str(error) or f"no answer within {RESTART_TIMEOUT_S:g} s"
            self._trouble(f"{name} could not be restarted: {reason}", None)
            return False
        return True

    # ---- the end ----

    async def _let_it_finish(self) -> None:
        try:
            async with asyncio.timeout(LAST_REPLY_TIMEOUT_S):
                await self._idle.wait()
        except TimeoutError:
            self._trouble("the last reply did not end in time and was cut off", None)

    def _hang_up(self) -> None:
        for reply_id in [*self._asking, *self._answering]:
            self._cancel(reply_id)
        if self._hearing is not None:
            self._hearing.cancel()
            self._hearing = None

    def _now_s(self) -> float:
        return asyncio.get_running_loop().time()

    def _clocked(self, position: Samples) -> float:
        """Loop time of a position on the microphone's line."""
        return self.microphone.clock.to_loop_s(position)
