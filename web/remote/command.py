"""`repartee talk --server`: a conversation with a server, through this machine's microphone and loudspeaker."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console

from assistant.config.loading import ConfigError, Loaded
from assistant.config.settings import Settings
from assistant.engines import Chosen
from assistant.facts import Trouble
from assistant.talk.cards import Cards, chime, open_cards
from assistant.talk.controls import Floor
from assistant.talk.keys import TalkControls
from assistant.talk.stage import Stage, perform, stage_of
from web.remote.address import Address, address_of
from web.remote.talk import RemoteTalk
from web.remote.wire import ServerLostError
from web.serve import token_of

TICK_S = 0.02

READABLE = (
    "REPARTEE_TOKEN goes to {place} in plain text: anybody on the way can read it; use wss:// if the server has it"
)


@dataclass(slots=True)
class RemoteTalker:
    """A conversation with a server, as the keys reach into it. Implements `Talker`."""

    talk_with: RemoteTalk
    model: str

    @property
    def floor(self) -> Floor:
        """See `Talker`."""
        talk = self.talk_with
        if not talk.wire.open and not talk.mouth.sounding:
            return "starting"
        if talk.mouth.sounding:
            return "speaking" if talk.mouth.playing is None or (talk.mouth.played_ms or 0.0) > 0 else "thinking"
        if talk.conversation.hearing or talk.talking:
            return "hearing"
        return "thinking" if talk.conversation.thinking else "listening"

    @property
    def endpoint(self) -> str:
        """See `Talker`."""
        place = self.talk_with.address.place
        return f"{self.model} at {place}" if self.talk_with.wire.open else f"{place}, not connected"

    @property
    def played_ms(self) -> float | None:
        """See `Talker`."""
        return self.talk_with.mouth.played_ms

    @property
    def key_held(self) -> bool:
        """See `Talker`."""
        return self.talk_with.talking

    @property
    def needs_sound(self) -> bool:
        """See `Talker`."""
        return self.talk_with.needs_sound

    def interrupt(self) -> None:
        """See `Talker`."""
        self.talk_with.interrupt()

    def repeat(self) -> bool:
        """See `Talker`."""
        return self.talk_with.repeat()

    def type(self, text: str) -> None:
        """See `Talker`."""
        self.talk_with.type(text)

    def forget(self) -> None:
        """See `Talker`."""
        self.talk_with.forget()

    def talk(self, on: bool) -> None:
        """See `Talker`."""
        self.talk_with.talk(on)

    def counts(self) -> dict[str, int]:
        """See `Talker`."""
        return {"sound not sent": self.talk_with.wire.dropped}

    def leave(self) -> None:
        """See `Talker`."""
        self.talk_with.leave()


async def talk_with(
    server: str, loaded: Loaded, environ: Mapping[str, str], _console: Console, *, plain: bool = False
) -> None:
    """Hold a conversation with a server until the person leaves.

    Args:
        server: Its address, as the person writes it.
        loaded: The settings; those of the server's own matters have no effect.
        environ: Where REPARTEE_TOKEN is.
        plain: Print lines.

    Raises:
        AudioError: There is no sound card.
        ConfigError: The address is none, the server cannot be talked to, or the mode is one of this machine's only.
    """
    settings, address, token = loaded.settings, address_of(server), token_of(environ)
    if settings.talk.mode == "wake":
        raise ConfigError(
            ["talk.mode wake: with --server everything that is said here would go there; use open or push-to-talk"]
        )
    controls = TalkControls(settings.talk.mode, "")
    stage = stage_of(controls, plain=plain)
    controls.tell = stage.show
    try:
        await perform(stage, controls, _Remote(settings, address, token, stage, controls).hold)
    except* ServerLostError as errors:
        raise ConfigError([f"--server: {_first(errors)}"]) from None


@dataclass(slots=True)
class _Remote:
    """One conversation, from opening the card to hanging up."""

    settings: Settings
    address: Address
    token: str | None
    stage: Stage
    controls: TalkControls
    _ready: bool = False

    async def hold(self) -> None:
        """Until the controls say that it is over, or the server does."""
        loop = asyncio.get_running_loop()

        def report(what: str) -> None:
            loop.call_soon_threadsafe(self._trouble, what)

        cards = await asyncio.to_thread(open_cards, self.settings.audio, self.settings.speaker.duck_db, report)
        if self.token is not None and not (self.address.secure or self.address.near):
            self._trouble(READABLE.format(place=self.address.place))
        talk = RemoteTalk(
            self.address,
            self.token,
            cards.microphone,
            cards.speaker,
            self.stage.show,
            lambda chosen: self._greeted(cards, chosen),
            push_to_talk=self.settings.talk.mode == "push-to-talk",
            interrupt_after_ms=cards.interrupt_after_ms or None,
        )
        self.controls.cards, self.controls.talker = cards, RemoteTalker(talk, "")
        try:
            async with asyncio.TaskGroup() as tasks:
                ending = tasks.create_task(self._end(talk), name="the end")
                await talk.run()
                ending.cancel()
        finally:
            await cards.aclose()

    async def _end(self, talk: RemoteTalk) -> None:
        await self.controls.ended.wait()
        talk.leave()

    def _greeted(self, cards: Cards, chosen: Sequence[Chosen]) -> None:
        self.stage.engines([*chosen, *cards.chosen])
        model = next((one.name for one in chosen if one.stage == "llm"), "")
        if isinstance(self.controls.talker, RemoteTalker):
            self.controls.talker.model = model
        if not self._ready:
            self._ready = True
            self.stage.ready()
            if self.settings.talk.ready_sound:
                cards.speaker.chime(chime())

    def _trouble(self, what: str) -> None:
        self.stage.show(Trouble(what))


def _first(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    error: BaseException = errors
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
