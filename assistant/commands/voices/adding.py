"""Implements `repartee voices add`: asks, records or reads, checks, and keeps a voice."""

import asyncio
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.live import Live
from rich.text import Text

from assistant.commands.devices import meter
from assistant.commands.first_run.prompts import Prompts, Skipped
from assistant.config.errors import ConfigError
from assistant.enrolment.recording import MAX_RECORD_S, RECORD_S, EnrolmentError, SpeechCollector, voiceprint_of
from assistant.enrolment.voice_file import VoiceFile
from assistant.enrolment.voice_names import VoiceNameError, same_name, voice_name
from assistant.models.needs import installed
from assistant.setup.build import spare_vad
from audio.card.microphone import CardMicrophone
from audio.devices import list_devices, pick
from audio.errors import DeviceError, EngineError, EngineLoadError
from audio.formats.recording import open_recording
from audio.formats.wav import WavMicrophone
from audio.noisy_libraries import hushed
from audio.speaker_embedding.catalogue import SPEAKER_EMBEDDER
from audio.speaker_embedding.embedder import SpeakerEmbedder

DRAW_EVERY_S = 0.1

NO_MICROPHONE = "no microphone was found: plug one in (repartee devices), or use a recording: --wav FILE"

NO_TERMINAL = "voices add asks whether the person agrees, and its input is no terminal: add --yes if the person agrees"


@dataclass(frozen=True, slots=True)
class VoiceAdder:
    """Adds one voice.

    Attributes:
        file: The voices.
        microphone: Name of the microphone; "" for the default.
        console: Shows what is done.
        prompts: Asks whether the person agrees; None: nobody can be asked.
    """

    file: VoiceFile
    microphone: str
    console: Console
    prompts: Prompts | None

    def add(self, text: str, wav: Path | None, *, agreed: bool) -> bool:
        """Adds a voice. Returns False if the person does not agree, or the recording was broken off.

        Args:
            text: The name, as it was typed.
            wav: A recording; None: the microphone records.
            agreed: Whether the person agrees; else the terminal asks.

        Raises:
            ConfigError: The name, the recording or the file cannot be used.
            AudioError: The model is missing, or there is no microphone.
        """
        try:
            name = voice_name(text)
        except VoiceNameError as error:
            raise ConfigError([f"{text}: {error}"]) from error
        if any(same_name(name, known.name) for known in self.file.voices()):
            raise ConfigError([f'"{name}" is kept already; remove it first: repartee voices remove "{name}"'])
        embedder = SpeakerEmbedder.load(installed(SPEAKER_EMBEDDER))
        collector = SpeechCollector(spare_vad())
        if wav is None:
            self._check_microphone()
        if not (agreed or self._agrees(name)):
            self._say("Nothing was kept.")
            return False
        try:
            asyncio.run(self._record(collector) if wav is None else _read(collector, wav))
        except KeyboardInterrupt:
            self._say("Nothing was kept.")
            return False
        try:
            voice = voiceprint_of(name, collector.checked_speech(), embedder.embedding)
        except EnrolmentError as error:
            raise ConfigError([f"{error}; nothing was kept"]) from error
        except EngineError as error:
            raise EngineLoadError(str(error)) from error
        self.file.add(voice)
        self._say(f'The voice "{name}" is kept in {self.file.path}, of {voice.speech_s:.0f} s of speech.')
        self._say(f'To remove it: repartee voices remove "{name}"')
        return True

    def _agrees(self, name: str) -> bool:
        """Says what is kept, and asks. Raises ConfigError without a terminal."""
        if self.prompts is None:
            raise ConfigError([NO_TERMINAL])
        self._say(
            f"256 numbers that describe the voice are kept in {self.file.path} on this machine, and no sound. They are "
            "personal data of this person. They never leave this machine, and you can remove them at any time. They "
            "unlock nothing: a similar voice or a recording may pass for this one."
        )
        try:
            return self.prompts.confirm(f"Does {name} agree that this is kept?", default=False)
        except (Skipped, EOFError, KeyboardInterrupt):
            return False

    def _check_microphone(self) -> None:
        """Raises DeviceError."""
        with hushed():
            devices = [device for device in list_devices() if device.channels("input") > 0]
        if not devices:
            raise DeviceError(NO_MICROPHONE)
        if self.microphone:
            pick(devices, self.microphone, "input")

    async def _record(self, collector: SpeechCollector) -> None:
        """Records by the microphone and shows the progress."""
        self._say(f"Speak for {RECORD_S:.0f} s as you usually do; for example, read something aloud. Ctrl-C ends it.")
        microphone = CardMicrophone(self.microphone, report=self._say)
        shown_s = -1.0
        with hushed(), Live(console=self.console, auto_refresh=False, transient=True) as live:
            async with aclosing(microphone.frames()) as frames:
                async for frame in frames:
                    collector.add_frame(frame.pcm)
                    if collector.heard_s >= RECORD_S:
                        break
                    if collector.heard_s - shown_s >= DRAW_EVERY_S:
                        shown_s = collector.heard_s
                        left_s = RECORD_S - collector.heard_s
                        figures = f"{left_s:>2.0f} s left, {collector.speech_s:.0f} s of speech"
                        live.update(Text(f"{figures}  {meter(microphone.level_dbfs)}"), refresh=True)

    def _say(self, text: str) -> None:
        self.console.print(text, soft_wrap=True)


async def _read(collector: SpeechCollector, wav: Path) -> None:
    """Reads a recording. Raises AudioFileError."""
    microphone = WavMicrophone(open_recording(wav), tail_s=0.0, realtime=False)
    async with aclosing(microphone.frames()) as frames:
        async for frame in frames:
            collector.add_frame(frame.pcm)
            if collector.heard_s >= MAX_RECORD_S:
                break
