"""What the keys of `repartee talk` do: the same for a conversation here and for one with a server."""

import asyncio
import math
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from assistant.commands.talk.cards import Cards
from assistant.commands.talk.controls import NOT_YET, DeviceChoice, Floor, Mode, Status
from assistant.events import Problem, SessionEvent
from audio.devices import Direction
from audio.errors import DeviceError

KEY_TICK_S = 0.02
"""How soon after the key the microphone is opened or closed."""

MOST_WISHES = 20
"""That take time and are not done yet; with more of them the sound system hangs, which was told."""


class Talker(Protocol):
    """A conversation, wherever it is held."""

    @property
    def floor(self) -> Floor:
        """Who has it."""
        ...

    @property
    def endpoint(self) -> str:
        """Who answers, in one line."""
        ...

    @property
    def played_ms(self) -> float | None:
        """How much was heard of the reply that sounds."""
        ...

    @property
    def key_held(self) -> bool:
        """Push-to-talk: what is said now counts."""
        ...

    @property
    def needs_sound(self) -> bool:
        """Push-to-talk: the microphone must be open, if only for what is still on its way."""
        ...

    def interrupt(self) -> None:
        """Stop the reply under way."""
        ...

    def repeat(self) -> bool:
        """Say the last reply again; False where there is none."""
        ...

    def type(self, text: str) -> None:
        """Say this to the assistant."""
        ...

    def forget(self) -> None:
        """What is being said is not to be answered."""
        ...

    def talk(self, on: bool) -> None:
        """Push-to-talk: the key."""
        ...

    def counts(self) -> dict[str, int]:
        """What went wrong besides the card."""
        ...

    def leave(self) -> None:
        """End the conversation; it need not be over yet."""
        ...


@dataclass(slots=True)
class TalkControls:
    """Implements `Controls`. Before `cards` and `talker` are there, keys do nothing.

    Attributes:
        tell: Told what goes wrong.
    """

    mode: Mode
    wake_phrase: str
    tell: Callable[[SessionEvent], None] = lambda _fact: None
    cards: Cards | None = None
    talker: Talker | None = None
    muted: bool = False
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    _wishes: "asyncio.Queue[Coroutine[Any, Any, None]]" = field(default_factory=lambda: asyncio.Queue(MOST_WISHES))

    async def run(self) -> None:
        """Do what takes time, one after the other, until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            if self.mode == "push-to-talk":
                tasks.create_task(self._follow_key(), name="the talk key")
            while True:
                wish = await self._wishes.get()
                try:
                    await wish
                except DeviceError as error:
                    self.tell(Problem(str(error)))

    async def _follow_key(self) -> None:
        """The microphone is open only while what is said counts."""
        while True:
            cards, talker = self.cards, self.talker
            if cards is not None and talker is not None:
                closed = self.muted or not talker.needs_sound
                if cards.microphone.muted != closed:
                    await cards.microphone.mute(closed)
            await asyncio.sleep(KEY_TICK_S)

    # ---- see `Controls` ----

    def interrupt(self) -> None:
        """See `Controls`."""
        if self.talker is not None:
            self.talker.interrupt()

    def repeat(self) -> None:
        """See `Controls`."""
        if self.talker is not None and not self.talker.repeat():
            self.tell(Problem("nothing was said yet that could be said again"))

    def type(self, text: str) -> None:
        """See `Controls`."""
        if self.talker is not None and text.strip():
            self.talker.type(text.strip())

    def mute(self, on: bool) -> None:
        """See `Controls`. What was being said when the microphone is closed is not answered."""
        self.muted = on
        if on and self.talker is not None:
            self.talker.forget()
        if self.cards is not None and self.mode != "push-to-talk":
            self._wish(self.cards.microphone.mute(on))

    def talk(self, on: bool) -> None:
        """See `Controls`."""
        if self.talker is not None and self.mode == "push-to-talk" and not (on and self.muted):
            self.talker.talk(on)

    def devices(self) -> Sequence[DeviceChoice]:
        """See `Controls`."""
        if self.cards is None:
            return ()
        self._wish(self.cards.look())  # for the next time
        return self.cards.choices()

    def use(self, direction: Direction, name: str) -> None:
        """See `Controls`."""
        if self.cards is not None:
            self._wish(self.cards.use(direction, name))

    def status(self) -> Status:
        """See `Controls`."""
        cards, talker = self.cards, self.talker
        return Status(
            floor=self._floor(),
            input_dbfs=-math.inf if cards is None or self.muted else cards.microphone.level_dbfs,
            output_dbfs=-math.inf if cards is None else cards.speaker.level_dbfs,
            input=NOT_YET if cards is None else cards.line("input"),
            output=NOT_YET if cards is None else cards.line("output"),
            echo=NOT_YET if cards is None else cards.echo,
            mode=self.mode,
            wake_phrase=self.wake_phrase if self.mode == "wake" else "",
            endpoint="" if talker is None else talker.endpoint,
            muted=self.muted,
            talking=talker is not None and talker.key_held,
            troubles={} if cards is None or talker is None else {**cards.counts(), **talker.counts()},
            played_ms=None if talker is None else talker.played_ms,
        )

    def quit(self) -> None:
        """See `Controls`."""
        if not self.ended.is_set():
            self.ended.set()
            if self.talker is not None:
                self.talker.leave()

    def _floor(self) -> Floor:
        if self.talker is None or self.cards is None:
            return "starting"
        floor = self.talker.floor
        return "muted" if self.muted and floor in {"listening", "asleep"} else floor

    def _wish(self, wish: Coroutine[Any, Any, None]) -> None:
        try:
            self._wishes.put_nowait(wish)
        except asyncio.QueueFull:
            wish.close()
            self.tell(Problem("the sound system does not answer: what you asked of it is left undone"))
