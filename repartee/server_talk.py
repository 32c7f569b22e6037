"""Implements `repartee talk --server`: a conversation with a server through this machine's sound card."""

import asyncio
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assistant.commands.talk.cards import Cards, chime, open_cards
from assistant.commands.talk.keys import TalkControls
from assistant.commands.talk.stage import Stage, perform, stage_of
from assistant.config.errors import ConfigError
from assistant.config.loading import Loaded
from assistant.config.settings import Settings
from assistant.events import Problem
from assistant.pipeline.engines import EngineChoice
from assistant.support.exception_groups import first_of
from web.remote.address import ServerAddress, address_of
from web.remote.server_trust import client_tls
from web.remote.talk import RemoteTalk
from web.remote.wire import ServerLostError
from web.serve import token_of

READABLE = (
    "REPARTEE_TOKEN goes to {place} in plain text: anyone on the way can read it; use wss:// if the server has it"
)


async def talk_with(
    server: str,
    loaded: Loaded,
    environ: Mapping[str, str],
    *,
    plain: bool = False,
    tls_fingerprint: str | None = None,
    tls_ca: str | None = None,
) -> None:
    """Runs a conversation with a server until the user leaves.

    Args:
        server: The value of `--server`.
        loaded: The settings. Settings of the server have no effect.
        environ: Environment variables: REPARTEE_TOKEN.
        plain: Whether to print plain lines instead of the screen.
        tls_fingerprint: The value of `--tls-fingerprint`.
        tls_ca: The value of `--tls-ca`.

    Raises:
        AudioError: There is no sound card.
        ConfigError: The address is invalid, the server cannot be used, or the mode does not work with a server.
    """
    settings, address, token = loaded.settings, address_of(server), token_of(environ)
    tls = client_tls(address, tls_fingerprint, tls_ca)
    if settings.talk.mode == "wake":
        raise ConfigError(
            ["talk.mode wake: does not work with --server, because all speech would be sent; use open or push-to-talk"]
        )
    if settings.talk.wake_word:
        raise ConfigError(["talk.wake_word: does not work with --server; the page of the server has wake words"])
    controls = TalkControls(settings.talk.mode, "")
    stage = stage_of(controls, plain=plain)
    controls.on_event = stage.show
    try:
        await perform(stage, controls, _Remote(settings, address, token, stage, controls, tls).hold)
    except* ServerLostError as errors:
        raise ConfigError([f"--server: {first_of(errors)}"]) from None


@dataclass(slots=True)
class _Remote:
    """One conversation, from opening the sound card to hanging up."""

    settings: Settings
    address: ServerAddress
    token: str | None
    stage: Stage
    controls: TalkControls
    tls: ssl.SSLContext | None = None
    _ready: bool = False

    async def hold(self) -> None:
        """Runs the conversation until the controls or the server end it."""
        loop = asyncio.get_running_loop()

        def report(what: str) -> None:
            loop.call_soon_threadsafe(self._trouble, what)

        cards = await asyncio.to_thread(open_cards, self.settings.audio, report)
        if "input" in cards.lacking:
            self.controls.muted = True
            await cards.microphone.mute(True)
        if cards.notice:
            self._trouble(cards.notice)
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
            sound_output=cards.sound_output,
            tls=self.tls,
        )
        self.controls.cards, self.controls.talker = cards, talk
        try:
            if not self.controls.ended.is_set():  # from here on the controls call `leave`
                await talk.run()
        finally:
            await cards.aclose()

    def _greeted(self, cards: Cards, chosen: Sequence[EngineChoice]) -> None:
        self.stage.engines([*chosen, *cards.chosen])
        if not self._ready:
            self._ready = True
            self.stage.ready()
            self.controls.begin()
            if self.settings.talk.ready_sound:
                cards.speaker.chime(chime())

    def _trouble(self, what: str) -> None:
        self.stage.show(Problem(what))
