"""Implements `repartee talk --server`: a conversation with a server through this machine's sound card."""

import asyncio
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

from assistant.commands.talk.cards import Cards, chime, open_cards
from assistant.commands.talk.keys import TalkControls
from assistant.commands.talk.stage import Stage, perform, stage_of
from assistant.config.errors import ConfigError
from assistant.config.loading import Loaded
from assistant.config.settings import Settings
from assistant.events import Problem
from assistant.registry.engine_choice import EngineChoice
from assistant.setup.listening.wake_words import after_word_s, wake_word_engine
from assistant.support.console import write_error
from assistant.support.exception_groups import first_of
from audio.errors import EngineLoadError
from repartee.satellite import DeviceWishes, SatelliteOptions, become_satellite
from repartee.wake_words import WakeWords
from web.access.server_token import token_of
from web.remote.address import ServerAddress, address_of
from web.remote.server_trust import client_tls
from web.remote.state_display import shown_state, state_display
from web.remote.talk import RemoteTalk
from web.remote.wire import ServerLostError

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
    wake_words = _wake_words(settings)
    controls = TalkControls(settings.talk.mode, "" if wake_words is None else " or ".join(wake_words.phrases.values()))
    stage = stage_of(controls, plain=plain)
    controls.on_event = stage.show
    try:
        await perform(stage, controls, _Remote(settings, address, token, stage, controls, tls, wake_words).hold)
    except* ServerLostError as errors:
        raise ConfigError([f"--server: {first_of(errors)}"]) from None


def _wake_words(settings: Settings) -> WakeWords | None:
    """Returns the wake words of the settings; None without one. Raises ConfigError."""
    talk = settings.talk
    if not talk.wake_word:
        return None
    if talk.mode != "open":
        raise ConfigError([f"talk.wake_word: needs talk.mode = open, not {talk.mode}; choose one of both"])
    names = talk.wake_word.split()
    try:
        engine = wake_word_engine(names)
    except EngineLoadError as error:
        raise ConfigError([f"talk.wake_word: {error}"]) from error
    phrases = {name: engine.words[name] for name in names}
    return WakeWords(phrases, engine.make, after_word_s(talk.listen_s), talk.listen_s)


def run_headless(
    server: str, loaded: Loaded, environ: Mapping[str, str], *, tls_fingerprint: str | None, tls_ca: str | None
) -> NoReturn:
    """Becomes a satellite, which ends with a signal. The arguments are those of `talk_with`. Raises ConfigError."""
    address = address_of(server)
    if token_of(environ) is not None and not (address.secure or address.near):
        write_error(READABLE.format(place=address.place))
    become_satellite(satellite_options(server, loaded.settings, tls_fingerprint=tls_fingerprint, tls_ca=tls_ca))


def satellite_options(
    server: str, settings: Settings, *, tls_fingerprint: str | None, tls_ca: str | None
) -> SatelliteOptions:
    """Returns the options of a satellite, all of them checked. Raises ConfigError."""
    client_tls(address_of(server), tls_fingerprint, tls_ca)
    wake_words = _wake_words(settings)
    if wake_words is None:
        raise ConfigError(["--headless: add --wake-word, as in --wake-word okay_nabu: nobody is there to press a key"])
    audio, satellite, make = settings.audio, settings.satellite, wake_words.make
    state_display(satellite.state_command, satellite.state_file, write_error)
    return SatelliteOptions(
        server,
        tls_fingerprint,
        tls_ca,
        DeviceWishes(audio.input, audio.output, audio.echo),
        dict(wake_words.phrases),
        (make.__module__, make.__qualname__),
        wake_words.after_word_s,
        wake_words.listen_s,
        settings.talk.ready_sound,
        satellite.room,
        satellite.state_command,
        satellite.state_file,
    )


@dataclass(slots=True)
class _Remote:
    """One conversation, from opening the sound card to hanging up."""

    settings: Settings
    address: ServerAddress
    token: str | None
    stage: Stage
    controls: TalkControls
    tls: ssl.SSLContext | None = None
    wake_words: WakeWords | None = None
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
        sounds, words = self.settings.talk.ready_sound, self.wake_words
        waking = None if words is None else words.waking(cards, self._trouble, sounds=sounds)
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
            waking=waking,
            room=self.settings.satellite.room,
            keeps_trying=self.wake_words is not None,
        )
        self.controls.cards, self.controls.talker = cards, talk
        try:
            if not self.controls.ended.is_set():  # from here on the controls call `leave`
                await self._run(talk)
        finally:
            await cards.aclose()

    async def _run(self, talk: RemoteTalk) -> None:
        satellite = self.settings.satellite
        display = state_display(satellite.state_command, satellite.state_file, self._trouble)
        if display is None:
            await talk.run()
            return
        talk.on_step = lambda: display.show(shown_state(self.controls.floor))
        async with display.running():
            await talk.run()

    def _greeted(self, cards: Cards, chosen: Sequence[EngineChoice]) -> None:
        room = self.settings.satellite.room
        shown = [EngineChoice("room", room, "satellite.room", "as configured", False, 0.0)] if room else []
        self.stage.engines([*chosen, *cards.chosen, *shown])
        if not self._ready:
            self._ready = True
            self.stage.ready()
            self.controls.begin()
            if self.settings.talk.ready_sound:
                cards.speaker.chime(chime())

    def _trouble(self, what: str) -> None:
        self.stage.show(Problem(what))
