"""Implements the keys of `repartee talk`, for local conversations and for those with a server."""

import asyncio
import math
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

from assistant.commands.talk.cards import Cards
from assistant.commands.talk.controls import NOT_YET, DeviceChoice, Mode, Status
from assistant.events import Floor, Problem, SessionEvent
from audio.devices import Direction
from audio.errors import DeviceError

KEY_TICK_S = 0.02
"""Delay in s after which the microphone follows the key."""

MAX_PENDING_ACTIONS = 20
"""Maximum number of pending actions that take time. If there are more, the sound system hangs, which has been
reported."""

REPLY_BEGINS_S = 1.0
"""Seconds within which the reply to a typed text begins; a server may be that far away."""

REPLY_ENDS_S = 60.0
"""Seconds after which the next text typed during the start is sent, although the reply to the one before goes on."""

REPEATS_WITHIN_S = 1.0
"""Keyboards begin to repeat 0.25–0.7 s after the press: a second press within this time may be a repetition."""

SINGLE_PRESS_S = 0.1
"""Without another press for this time, a press was not a repetition: keyboards repeat every 30–40 ms."""

RELEASED_S = 0.15
"""Without a repetition for this time, a held key was released."""


class HeldKey:
    """State of a push-to-talk key whose release is not reported. No I/O, no clock.

    A terminal reports only presses. One press starts recording, the next one ends it. A key that is held down is
    recognized by the repeated presses that the keyboard then sends.

    Attributes:
        talking: Whether speech is currently recorded.
    """

    def __init__(self) -> None:
        """Starts without recording."""
        self.talking = False
        self._held = False
        self._doubtful = False  # the last press ends recording, unless it is repeated
        self._pressed_s: float | None = None

    def press(self, at_s: float, *, talking: bool) -> None:
        """Handles a press or a repetition. `talking`: the conversation's state; it may have ended recording."""
        since_s = float("inf") if self._pressed_s is None else at_s - self._pressed_s
        self._pressed_s = at_s
        if since_s > REPEATS_WITHIN_S:
            self.talking, self._held, self._doubtful = not talking, False, False
        elif not self.talking:
            # Repetitions of the press that ended recording do not start it again.
            self.talking = since_s > RELEASED_S
        elif self._doubtful:
            self._held, self._doubtful = True, False
        elif not self._held:
            self._doubtful = True

    def due_s(self) -> float | None:
        """Returns the time at which `wait` has to decide, on the clock of the presses; None if there is none."""
        if self._pressed_s is None or not (self._held or self._doubtful):
            return None
        return self._pressed_s + (RELEASED_S if self._held else SINGLE_PRESS_S)

    def wait(self, at_s: float) -> None:
        """Handles time that passed without a press."""
        due_s = self.due_s()
        if due_s is not None and at_s >= due_s:
            self.talking = self._held = self._doubtful = False


class Talker(Protocol):
    """A conversation, local or with a server."""

    @property
    def floor(self) -> Floor:
        """State in one word."""
        ...

    @property
    def endpoint(self) -> str:
        """Returns the name of the answering engine in one line."""
        ...

    @property
    def played_ms(self) -> float | None:
        """Played part of the current reply in ms."""
        ...

    @property
    def key_held(self) -> bool:
        """Push-to-talk: whether speech is currently recorded."""
        ...

    @property
    def needs_sound(self) -> bool:
        """Push-to-talk: whether the microphone must be open, possibly only for audio still on its way."""
        ...

    def interrupt(self) -> None:
        """Stops the current reply."""
        ...

    def repeat(self) -> bool:
        """Speaks the last reply again; returns False if there is none."""
        ...

    def type(self, text: str) -> None:
        """Sends a typed text to the assistant."""
        ...

    def forget(self) -> None:
        """Discards the current user speech without a reply."""
        ...

    def set_push_to_talk(self, pressed: bool) -> None:
        """Push-to-talk: passes on the state of the key."""
        ...

    def counts(self) -> dict[str, int]:
        """Returns counts of problems other than the sound card's."""
        ...

    def leave(self) -> None:
        """Starts to end the conversation."""
        ...


@dataclass(slots=True)
class TalkControls:
    """Implements `Controls`. Before `cards` and `talker` are set, keys do nothing.

    Attributes:
        on_event: Receives problems.
        typed_early: What was typed during the start and is not sent yet.
        lacking: Devices that the machine did not have at the start; None until they are known.
    """

    mode: Mode
    wake_phrase: str
    on_event: Callable[[SessionEvent], None] = lambda _fact: None
    cards: Cards | None = None
    talker: Talker | None = None
    muted: bool = False
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    typed_early: list[str] = field(default_factory=list)
    lacking: frozenset[Direction] | None = None
    _began: asyncio.Event = field(default_factory=asyncio.Event)
    _actions: "asyncio.Queue[Coroutine[Any, Any, None]]" = field(
        default_factory=lambda: asyncio.Queue(MAX_PENDING_ACTIONS)
    )

    async def run(self) -> None:
        """Runs actions that take time, one after another, until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            if self.mode == "push-to-talk":
                tasks.create_task(self._follow_key(), name="the talk key")
            tasks.create_task(self._send_early(), name="what was typed during the start")
            while True:
                action = await self._actions.get()
                try:
                    await action
                except DeviceError as error:
                    self.on_event(Problem(str(error)))

    async def _follow_key(self) -> None:
        """Opens the microphone only while speech is recorded."""
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
            self.on_event(Problem("there is no reply to repeat yet"))

    def type(self, text: str) -> None:
        """See `Controls`. What is typed during the start is sent when everything is ready, in its order."""
        if not text.strip():
            return
        if self.talker is not None and not self.typed_early:
            self.talker.type(text.strip())
        elif len(self.typed_early) < MAX_PENDING_ACTIONS:
            self.typed_early.append(text.strip())
        else:
            self.on_event(Problem(f"{MAX_PENDING_ACTIONS} texts are waiting already, so the last one was not sent"))

    def begin(self) -> None:
        """Begins to send what was typed during the start. Called when everything is ready."""
        self._began.set()

    async def _send_early(self) -> None:
        """Sends what was typed during the start, each text after the reply to the one before.

        Sent at once, they would be answered together: each interrupts the reply to the one before.
        """
        await self._began.wait()
        while self.typed_early and self.talker is not None:
            self.talker.type(self.typed_early.pop(0))
            if self.typed_early:
                await _wait_while(self.talker, {"listening", "asleep"}, REPLY_BEGINS_S)
                await _wait_while(self.talker, {"hearing", "thinking", "speaking"}, REPLY_ENDS_S)

    def mute(self, on: bool) -> None:
        """See `Controls`. Speech in progress when the microphone closes is not answered."""
        self.muted = on
        if on and self.talker is not None:
            self.talker.forget()
        if self.cards is not None and self.mode != "push-to-talk":
            self._start(self.cards.microphone.mute(on))

    def set_push_to_talk(self, pressed: bool) -> None:
        """See `Controls`."""
        if self.talker is not None and self.mode == "push-to-talk" and not (pressed and self.muted):
            self.talker.set_push_to_talk(pressed)

    def devices(self) -> Sequence[DeviceChoice]:
        """See `Controls`."""
        if self.cards is None:
            return ()
        self._start(self.cards.refresh())  # for the next call
        return self.cards.choices()

    def use(self, direction: Direction, name: str) -> None:
        """See `Controls`."""
        if self.cards is not None:
            self._start(self.cards.use(direction, name))

    def status(self) -> Status:
        """See `Controls`."""
        cards, talker = self.cards, self.talker
        return Status(
            floor=self.floor,
            input_dbfs=-math.inf if cards is None or self.muted else cards.microphone.level_dbfs,
            output_dbfs=-math.inf if cards is None else cards.speaker.level_dbfs,
            input=NOT_YET if cards is None else cards.line("input"),
            output=NOT_YET if cards is None else cards.line("output"),
            echo=NOT_YET if cards is None else cards.echo,
            mode=self.mode,
            wake_phrase=self.wake_phrase,
            endpoint="" if talker is None else talker.endpoint,
            muted=self.muted,
            talking=talker is not None and talker.key_held,
            troubles={} if cards is None or talker is None else {**cards.counts(), **talker.counts()},
            played_ms=None if talker is None else talker.played_ms,
            typing=self.typing,
        )

    def quit(self) -> None:
        """See `Controls`."""
        if not self.ended.is_set():
            self.ended.set()
            if self.talker is not None:
                self.talker.leave()

    @property
    def typing(self) -> bool:
        """Whether letters are text, not key commands: there is no microphone, or it is not known yet."""
        if self.cards is not None:
            return not self.cards.has_microphone
        return self.lacking is None or "input" in self.lacking

    @property
    def floor(self) -> Floor:
        """State of the conversation in one word."""
        if self.talker is None or self.cards is None:
            return "starting"
        floor = self.talker.floor
        if floor not in {"listening", "asleep"}:
            return floor
        if not self.cards.has_microphone:
            return "typing"
        if self.muted:
            return "muted"
        return "closed" if self.mode == "push-to-talk" and not self.talker.key_held else floor

    def _start(self, action: Coroutine[Any, Any, None]) -> None:
        try:
            self._actions.put_nowait(action)
        except asyncio.QueueFull:
            action.close()
            self.on_event(Problem("the sound system does not answer, so the command was not executed"))


async def _wait_while(talker: Talker, floors: set[Floor], limit_s: float) -> None:
    """Waits while the conversation is in one of these states, `limit_s` at most."""
    with suppress(TimeoutError):
        async with asyncio.timeout(limit_s):
            while talker.floor in floors:  # noqa: ASYNC110 - a talker sends no event
                await asyncio.sleep(KEY_TICK_S)
