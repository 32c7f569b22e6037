"""Implements `repartee read`: documents are summarized part by part, aloud, and questions about them are answered."""

import asyncio
import os
import sys
import wave
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
from rich.console import Console

from assistant.commands.read.opening import ReadingOpening
from assistant.commands.read.written import WrittenConversation
from assistant.commands.talk.command import converse
from assistant.config.errors import ConfigError
from assistant.config.loading import Loaded
from assistant.config.settings import Settings
from assistant.documents import DocumentError, SplitDocument
from assistant.documents.fan_out import MAX_REQUESTS
from assistant.documents.files import open_file
from assistant.documents.reading import CONTEXT_CHARS, Reading, context_chars_of, reading_of
from assistant.documents.separate_reader import ReadLimits, read_document
from assistant.endpoint_probe.local_servers import AUTO, choose
from assistant.history.prompt_limits import BYTES_PER_TOKEN
from assistant.registry.listening import spare_detector
from assistant.setup.derived_settings import STUCK_MARGIN_S
from assistant.support.atomic_file import is_among
from audio.card.speaker import CardSpeaker
from audio.devices import Direction, list_devices, pick
from audio.errors import AudioFileError, DeviceError
from audio.private_file import open_private
from audio.speaker import Speaker, WavSpeaker
from audio.units import REPLY_RATE_HZ, Pcm
from llm.discovery import PORTS, discover

MAX_FILES = 50
"""Files of one reading."""

PART_TIMEOUT_S = 30.0
"""Longest wait for the first token of a part, in seconds: nobody waits for it in silence."""

MAX_STUCK_S = 120.0
"""Upper limit of `turn.stuck_after_s`, in seconds."""

TYPED_HANGOVER_MS = 400
"""Fixed silence in ms where nobody speaks, so that no end-of-turn model is loaded."""


class SoundFile:
    """A mono WAV file at 24 kHz. Silence before its first sample is left out."""

    def __init__(self, path: Path) -> None:
        """Creates the file. Raises AudioFileError."""
        self.path = path
        try:
            self._file = os.fdopen(open_private(path, os.O_RDWR | os.O_TRUNC), "wb")
            self._wave = wave.open(self._file, "wb")  # noqa: SIM115 - closed by __exit__
            self._wave.setnchannels(1)
            self._wave.setsampwidth(2)
            self._wave.setframerate(REPLY_RATE_HZ)
        except OSError as error:
            raise self._unwritable(error) from error
        self._begins_s: float | None = None
        self._samples = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._wave.close()
            self._file.close()
        except OSError as failure:
            raise self._unwritable(failure) from failure

    @property
    def duration_s(self) -> float:
        """Length of the sound."""
        return self._samples / REPLY_RATE_HZ

    def write(self, at_s: float, pcm: Pcm) -> None:
        """Writes a block that is played at `at_s`. Gaps become silence. Raises AudioFileError."""
        if self._begins_s is None:
            if not pcm.any():
                return
            self._begins_s = at_s
        gap = round((at_s - self._begins_s) * REPLY_RATE_HZ) - self._samples
        try:
            if gap > 0:
                self._wave.writeframes(np.zeros(gap, np.int16).tobytes())
            self._wave.writeframes(pcm.astype("<i2").tobytes())
        except OSError as error:
            raise self._unwritable(error) from error
        self._samples += max(0, gap) + len(pcm)

    def _unwritable(self, error: OSError) -> AudioFileError:
        return AudioFileError(f"{self.path} cannot be written ({error.strerror}); name another file with --out.")


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Options of the command.

    Attributes:
        text: Print the summaries instead of speaking them.
        once: End after the reading.
        out: Write the sound to this file instead of playing it.
        plain: Print lines instead of the screen of `repartee talk`.
        llm: Selects the language model, as for `choose`.
    """

    text: bool = False
    once: bool = False
    out: Path | None = None
    plain: bool = False
    llm: str | None = None


@dataclass(slots=True)
class _Output:
    """Implements `Output`."""

    speaker: Speaker | None = None

    def counters(self) -> dict[str, int]:
        """See `Output`."""
        speaker = self.speaker
        if isinstance(speaker, CardSpeaker):
            unheard_ms = round(speaker.silent_samples * 1000 / REPLY_RATE_HZ)
            return {"underruns": speaker.counts.underruns, "unheard_ms": unheard_ms}
        return {"underruns": speaker.counts.underruns} if isinstance(speaker, WavSpeaker) else {}


async def read(
    files: Sequence[Path],
    loaded: Loaded,
    environ: Mapping[str, str],
    console: Console,
    options: ReadOptions,
    *,
    ports: Sequence[int] = PORTS,
) -> None:
    """Reads documents, then answers questions about them.

    Args:
        files: The documents, in order.
        loaded: The settings.
        environ: Environment variables with the API keys.
        console: Receives the lines before and after the reading.
        options: Options of the command.
        ports: Local ports to search for a language model.

    Raises:
        AudioError: An engine cannot be loaded, there is no language model, or the sound file cannot be written.
        ConfigError: A document cannot be read, or there is no endpoint of that name.
    """
    llm = options.llm
    choice = choose(loaded.settings, llm, await discover(ports) if llm == AUTO else (), ports)
    if choice.message:
        console.print(choice.message, soft_wrap=True, markup=False)
    settings = reading_settings(choice.settings)
    reading = await reading_from(files, settings)
    _check_output(options.out, files)
    opening = ReadingOpening(reading, context_chars_of(settings))
    if settings.tools.servers:
        console.print("tools are off during a conversation about documents: documents are not trusted", style="dim")
    if reading.left_out:
        console.print(reading.left_out, soft_wrap=True, markup=False, style="yellow")
    directions, problem = ((), "") if options.text or options.out else await asyncio.to_thread(_devices, settings)
    try:
        if "input" in directions and "output" in directions and not options.once:
            await converse(settings, environ, console, plain=options.plain, opening=opening)
        else:
            if problem and not options.once:
                console.print(f"{problem}; questions are typed", soft_wrap=True, markup=False, style="dim")
            await _written(settings, environ, console, opening, options, speaks="output" in directions)
    finally:
        if figures := opening.figures():
            console.print(f"read   {figures}", soft_wrap=True, markup=False)


async def _written(
    settings: Settings,
    environ: Mapping[str, str],
    console: Console,
    opening: ReadingOpening,
    options: ReadOptions,
    *,
    speaks: bool,
) -> None:
    async with AsyncExitStack() as closing:
        output, sound = _Output(), None
        if options.out is not None:
            sound = closing.enter_context(SoundFile(options.out))
            output.speaker = WavSpeaker(sound.write)
        conversation = WrittenConversation(
            without_microphone(settings), environ, opening, output, options.once, sys.stdout
        )
        if speaks:
            output.speaker = card = CardSpeaker(settings.audio.output, report=conversation.report)
            closing.push_async_callback(card.aclose)
        await conversation.hold()
    if sound is not None:
        console.print(f"sound  {sound.path}, {sound.duration_s:.1f} s", soft_wrap=True, markup=False)
    if conversation.trace is not None and conversation.trace.path.is_file():
        console.print(f"trace  {conversation.trace.path}", soft_wrap=True, markup=False)


async def reading_from(files: Sequence[Path], settings: Settings) -> Reading:
    """Returns the reading of these files. Raises ConfigError with one line for each that cannot be read."""
    if len(files) > MAX_FILES:
        raise ConfigError([f"read: {len(files)} files are too many; name at most {MAX_FILES}"])
    documents: list[SplitDocument] = []
    problems: list[str] = []
    section = settings.documents
    limits = ReadLimits(section.part_chars, section.max_parts)
    names = names_of(files)
    for file, name in zip(files, names, strict=True):
        try:
            documents.append(await read_document(open_file(file), str(file), name, limits))
        except DocumentError as error:
            problems.append(f"read: {error}")
    if problems:
        raise ConfigError(problems)
    reading = reading_of(documents, settings)
    if not reading.selection.asked:
        raise ConfigError(["read: documents.max_price is below the price of a single part: raise it, or set it to 0"])
    return reading


def names_of(files: Sequence[Path]) -> list[str]:
    """Returns how the documents are called: the file's name, with its path if another has the same."""
    counts = Counter(file.name for file in files)
    return [file.name if counts[file.name] == 1 else str(file) for file in files]


def reading_settings(settings: Settings) -> Settings:
    """Returns the settings of a conversation about documents: a longer prompt, and patience for the first token."""
    llm = settings.llm
    history_tokens = min(1_000_000, llm.max_history_tokens + CONTEXT_CHARS // BYTES_PER_TOKEN)
    patience_s = max(llm.first_token_timeout_s, PART_TIMEOUT_S)
    stuck_after_s = min(MAX_STUCK_S, max(settings.turn.stuck_after_s, MAX_REQUESTS * patience_s + STUCK_MARGIN_S))
    return replace(
        settings,
        assistant=replace(settings.assistant, greeting=""),
        turn=replace(settings.turn, stuck_after_s=stuck_after_s),
        talk=replace(settings.talk, ready_sound=False),
        llm=replace(llm, max_history_tokens=history_tokens, first_token_timeout_s=patience_s),
    )


def without_microphone(settings: Settings) -> Settings:
    """Returns the settings of a conversation in which nobody speaks: nothing for that is loaded."""
    turn = replace(settings.turn, hangover_ms=TYPED_HANGOVER_MS, listening_sounds=False)
    return replace(settings, turn=turn, vad=replace(settings.vad, engine=spare_detector().name))


def _devices(settings: Settings) -> tuple[tuple[Direction, ...], str]:
    """Returns which sound devices there are, and what is missing, in one sentence. Blocking."""
    names: dict[Direction, str] = {"input": settings.audio.input, "output": settings.audio.output}
    directions: list[Direction] = []
    problem = ""
    try:
        devices = list_devices()
    except DeviceError as error:
        return (), str(error).rstrip(".")
    for direction, name in names.items():
        try:
            pick(devices, name, direction)
        except DeviceError as error:
            problem = problem or str(error).rstrip(".")
        else:
            directions.append(direction)
    return tuple(directions), problem


def _check_output(out: Path | None, files: Sequence[Path]) -> None:
    """Raises AudioFileError if the sound file would replace a document or is no file."""
    if out is None:
        return
    if out.is_dir():
        raise AudioFileError(f"{out} is a folder; name a file with --out, as in {out / 'reading.wav'}.")
    if any(is_among(file, [out]) for file in files):
        raise AudioFileError(f"{out} would replace a document; name another file with --out.")
