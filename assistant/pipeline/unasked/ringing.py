"""Rings in a conversation: starts and ends the reply that rings, and ends the rings that the user has answered.

A ring is a reply without an end: sentences between phrases of a tone. So it ducks, stops and is delayed as any reply.

    waiting ──nobody speaks──▶ playing ──the user speaks──▶ interrupted ──their turn is committed──▶ answered
       ▲                          │                             │
       └──────────────────────────┴──── the speech was none ────┘
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field

from assistant.skills.answers import Rung
from assistant.skills.effects import SkillEffects
from assistant.tools.rounds import ReplyEvent
from assistant.turns.effects import (
    CommitTurn,
    CommitWithoutReply,
    InterruptReply,
    PrepareReply,
    RetractReply,
    TurnDiscarded,
)
from assistant.turns.events import ReplyCancelled, ReplyId, ReplyRequested
from audio.tones import ring_phrase
from audio.units import Pcm, Samples
from llm.chat import AnsweringEndpoint, Finished, Token

RING_LASTS_S = 300.0
"""A ring that nobody answers ends after this time, in seconds, and is told as missed. Android's clock offers 1, 5 and
10 minutes, and more, under "Silence after"."""

_NOT_SPEECH = frozenset({"no words", "noise", "overheard", "backchannel", "other voice"})
"""Reasons of a discarded turn that was no answer to the ring."""

_MAX_SPOKEN_FAILURES, _MAX_FAILURES = 2, 4
"""After this many failures the ring is a tone without sentences; after so many it ends and is told as missed."""


@dataclass(slots=True)
class RingSound:
    """Sound and sentences of one reply that rings. The reply takes the sentences from `events` and repeats them.

    Attributes:
        began_s: Loop time at which the ring began.
        speaks: Whether the voice says the sentences. Otherwise they are only shown, because the voice has failed.
        is_finite: The reply ends after its sentences.
    """

    began_s: float
    speaks: bool = True
    is_finite: bool = False
    _texts: "asyncio.Queue[str | None]" = field(default_factory=asyncio.Queue)

    def add_sentence(self, text: str) -> None:
        """Adds the sentence of something else that rings now."""
        self._texts.put_nowait(text)

    def finish(self) -> None:
        """Lets the reply end after the sentences that were added."""
        if not self.is_finite:
            self.is_finite = True
            self._texts.put_nowait(None)

    async def events(self) -> AsyncGenerator[ReplyEvent]:
        """Yields the sentences. Ends after `finish`."""
        yield AnsweringEndpoint("itself")
        while (text := await self._texts.get()) is not None:
            yield Token(text)
        yield Finished("stop")

    def phrase(self) -> Pcm:
        """Returns the next phrase of the tone, int16 at 24 kHz."""
        return ring_phrase(asyncio.get_running_loop().time() - self.began_s)


@dataclass(slots=True)
class RingControl:
    """The ring of one conversation. Not thread-safe.

    Attributes:
        effects: Knows what rings.
        position: Returns the current position on the sample clock.
        dispatch: Passes an event to the turn-taking machine.
        may_begin: Returns whether nobody speaks and no reply is due.
        sound: What the current reply rings; None if none rings.
        reply_id: The reply that rings; None while none does.
    """

    effects: Callable[[], SkillEffects]
    position: Callable[[], Samples]
    dispatch: Callable[[ReplyCancelled | ReplyRequested], None]
    may_begin: Callable[[], bool]
    sound: RingSound | None = None
    reply_id: ReplyId | None = None
    _told: set[int] = field(default_factory=set)  # numbers of what the current reply has said
    _interrupted: bool = False
    _failures: int = 0
    _began_s: float | None = None
    _latest: ReplyId | None = None
    _input_ended: bool = False

    def on_frame(self, now_s: float) -> None:
        """Begins or ends the reply. Called with every frame."""
        rings = self.effects().rings()
        if not rings:
            if self._began_s is not None:
                self._stop_reply()
                self._reset()
            return
        if self._began_s is None:
            self._began_s = now_s
        if now_s - self._began_s > RING_LASTS_S:
            self._end(now_s, answered=False)
        elif self.reply_id is not None:
            self._tell(rings)
        elif not self._interrupted and self.may_begin():
            self.dispatch(ReplyRequested(self.position(), "ring"))

    def prepare(self, *, spoken: bool) -> RingSound:
        """Returns what the reply rings that is being prepared. A reply that is only shown ends after its sentences."""
        assert self._began_s is not None, "a ring is requested only while something rings"
        self.sound, self._told = RingSound(self._began_s, self._failures < _MAX_SPOKEN_FAILURES), set()
        self._tell(self.effects().rings())
        if not spoken or self._input_ended:
            self.sound.finish()
        return self.sound

    def stop(self, now_s: float) -> None:
        """The user has answered in another way than by speech."""
        if self._began_s is not None:
            self._end(now_s, answered=True)

    def make_way(self) -> None:
        """An announcement replaces the reply that rings, if one does; the ring begins again after it."""
        self.reply_id = self.sound = None

    def on_input_ended(self) -> None:
        """The microphone has ended, so nobody can answer: each ring is announced once."""
        self._input_ended = True
        if self.sound is not None:
            self.sound.finish()

    def has_rung(self, reply_id: ReplyId) -> bool:
        """Returns whether this is the latest reply that rang."""
        return reply_id == self._latest

    def on_effect(self, effect: object, now_s: float) -> None:
        """Follows what turn taking has decided."""
        match effect:
            case PrepareReply(rings=True, reply_id=reply_id):
                self.reply_id = self._latest = reply_id
            case RetractReply(reply_id=reply_id) if reply_id == self.reply_id:
                self.reply_id = self.sound = None  # it was not audible yet: it begins again after the user's turn
            case InterruptReply(reply_id=reply_id, reason=reason) if reply_id == self.reply_id:
                self.reply_id = self.sound = None
                if reason == "voice":
                    self._interrupted = True
                elif reason == "stuck":
                    self._fail(now_s)
                else:
                    self._end(now_s, answered=True)
            case TurnDiscarded(reason=reason) if self._interrupted:
                self._interrupted = False
                if reason not in _NOT_SPEECH:
                    self._end(now_s, answered=True)
            case CommitTurn() | CommitWithoutReply() if self._interrupted:
                self._end(now_s, answered=True)

    def on_reply_ended(self, reply_id: ReplyId, now_s: float) -> None:
        """Notes that the reply has ended by itself: it was only shown, or it failed."""
        if reply_id == self.reply_id and self.sound is not None:
            told = self.sound.is_finite
            self.reply_id = self.sound = None
            if told:
                self._end(now_s, answered=True)
            else:
                self._fail(now_s)

    def _tell(self, rings: tuple[Rung, ...]) -> None:
        for ring in rings:
            if self.sound is not None and ring.number not in self._told:
                self._told.add(ring.number)
                self.sound.add_sentence(ring.sentence)

    def _fail(self, now_s: float) -> None:
        self._failures += 1
        if self._failures >= _MAX_FAILURES:
            self._end(now_s, answered=False)

    def _end(self, now_s: float, *, answered: bool) -> None:
        effects = self.effects()
        effects.end_rings([ring.number for ring in effects.rings()], now_s, answered=answered)
        self._stop_reply()
        self._reset()

    def _stop_reply(self) -> None:
        reply_id, self.reply_id, self.sound = self.reply_id, None, None
        if reply_id is not None:
            self.dispatch(ReplyCancelled(self.position()))

    def _reset(self) -> None:
        self._began_s, self._interrupted, self._failures = None, False, 0
