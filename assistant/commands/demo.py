"""Plays a recording to the assistant as a conversation, in real time."""

import asyncio
import os
import shutil
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import replace
from functools import partial
from importlib.resources import files
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.text import Text

from assistant.commands.demo_cache import requests_of, spoken, with_cache
from assistant.commands.demo_screen import Screen, summary
from assistant.commands.llm_endpoints.local_search import beside
from assistant.config.loading import Loaded
from assistant.config.settings import Settings
from assistant.endpoint_probe.local_servers import AUTO, SUGGESTED, LlmChoice, choose, mention
from assistant.events import Problem
from assistant.pipeline.engines import Engines
from assistant.setup import build
from assistant.setup.conversation import new_session
from assistant.setup.engine_loader import EngineLoader
from assistant.setup.loading import close_engine
from assistant.support.atomic_file import is_among
from assistant.trace.file import TraceFile
from assistant.trace.folder import RetentionLimits
from audio.card.speaker import CardSpeaker
from audio.devices import list_devices, pick
from audio.errors import AudioFileError, DeviceError, EngineLoadError
from audio.formats.recording import Recording, open_recording
from audio.formats.stereo import StereoWriter
from audio.formats.wav import WavMicrophone
from audio.frame import Frame
from audio.noisy_libraries import hushed
from audio.private_file import make_private_folder, open_private
from audio.sound_id import NamedSound
from audio.speaker import WavSpeaker
from audio.units import REPLY_RATE_HZ, Pcm, Samples
from llm.discovery import PORTS, discover

SHIPPED = "recordings/demo.flac"
TAPE = "demo.wav"

TAIL_S = 4.0
"""Seconds of silence after the recording: time for the last end of turn and reply."""


BLOCK_SAMPLES = REPLY_RATE_HZ // 2
"""Half a second: the first is played at once."""

MAX_EXTRA_S = 10.0
"""Longest time beyond the length of the sound, after which a loudspeaker counts as stuck."""


async def play_tape(path: Path, device: str, console: Console) -> None:
    """Plays a stereo file at 24 kHz on a loudspeaker, or says why not. `device`: its name; "": the system's default."""
    try:
        pick(list_devices(), device, "output")
    except DeviceError as error:
        console.print(f"not played: {error}", soft_wrap=True, markup=False)
        return
    recording = open_recording(path)
    speaker = CardSpeaker(device, report=lambda what: console.print(what, soft_wrap=True, markup=False))
    ended, sound = asyncio.Event(), NamedSound("tape")

    def played(_sound: object, _total: int, _leaves_at_s: float, finished: bool) -> None:
        if finished:
            ended.set()

    speaker.on_played = played
    console.print("playing it; Ctrl-C stops", soft_wrap=True)
    async with asyncio.TaskGroup() as tasks:
        card = tasks.create_task(speaker.run(), name="speaker")
        try:
            async with asyncio.timeout(recording.duration_s + MAX_EXTRA_S):
                speaker.open(sound)
                for block in recording.blocks(BLOCK_SAMPLES):
                    if not await speaker.play_chunk(sound, _mixed(block)):
                        break
                speaker.end(sound)
                await ended.wait()
                await asyncio.sleep(speaker.latency_s)
        except TimeoutError:
            console.print("the loudspeaker did not play it in time", soft_wrap=True)
        card.cancel()


def _mixed(block: Pcm) -> Pcm:
    """Returns the sum of both channels, limited to full scale. One of them is silent most of the time."""
    mixed: Pcm = np.clip(block.astype(np.int32).sum(axis=1), -32768, 32767).astype(np.int16)
    return mixed


class _TapedMicrophone:
    """A microphone whose frames are also written to the left channel of the tape."""

    def __init__(self, microphone: WavMicrophone, tape: StereoWriter) -> None:
        self.clock = microphone.clock
        self.batches_silence = False
        self._microphone = microphone
        self._tape = tape

    async def frames(self) -> AsyncGenerator[Frame]:
        async with aclosing(self._microphone.frames()) as frames:
            async for frame in frames:
                self._tape.person(frame.start, frame.pcm)
                yield frame


async def demo(
    wav: Path | None,
    out: Path,
    loaded: Loaded,
    environ: Mapping[str, str],
    console: Console,
    *,
    llm: str | None = None,
    cache: bool = False,
    verbose: bool = False,
    play: bool = False,
    ports: Sequence[int] = PORTS,
) -> None:
    """Runs a conversation with the recording (None: the shipped one). Writes `demo.wav` and the trace to `out`.

    Args:
        wav: The recording.
        out: Output folder.
        loaded: The settings.
        environ: Environment variables with the API keys.
        console: Shows the conversation.
        llm: Selects the language model, as for `choose`.
        verbose: Whether to print all engines.
        play: Whether to play the conversation afterwards.
        cache: Whether answers are cached. Without a recording, the user then makes a request twice.
        ports: Local ports to search for a language model.

    Raises:
        AudioError: The recording cannot be read, an engine cannot be loaded, there is no recognizer, or `out` cannot be
            written.
        ConfigError: There is no endpoint called `llm`.
    """
    choice = choose(loaded.settings, llm, await discover(ports) if llm == AUTO else (), ports)
    recording = None
    if wav is not None or not cache:
        recording = open_recording(wav if wav is not None else Path(str(files("assistant") / SHIPPED)))
    loader = EngineLoader(
        with_cache(choice.settings, out) if cache else choice.settings,
        environ,
        show_measuring=lambda what: console.print(f"measuring {what}", style="dim", soft_wrap=True),
    )
    if loader.lacking_recognizer:
        raise EngineLoadError(f"the demo needs speech recognition, but {loader.lacking_recognizer}.")
    if recording is not None and is_among(recording.path, [out / TAPE]):
        raise AudioFileError(f"{wav} would be overwritten by {TAPE} of this run; name another folder with --out.")
    _prepare_output(out)
    if recording is not None:
        _headline(console, recording)
    screen = Screen(console)
    loader.export = build.span_export(choice.settings, lambda what: screen.show(Problem(what)))
    with console.status("loading engines"):
        async with beside(ports, enabled=llm is None and not loaded.settings.llm.endpoints) as servers:
            engines = await loader.engines()
    if recording is None:
        recording = await _spoken_requests(loader, engines, out)
        _headline(console, recording)
    _show_llm_choice(console, choice, loader, mention(loaded.settings, llm, servers))
    trace = TraceFile(
        loaded.settings.trace.dir,
        new_session.conversation_name(),
        lambda what: screen.show(Problem(what)),
        RetentionLimits.of(loaded.settings.trace),
    )
    tape, whole = None, False
    try:
        with StereoWriter(out / TAPE) as tape:
            microphone = _TapedMicrophone(WavMicrophone(recording, tail_s=TAIL_S), tape)
            await _converse(microphone, tape, loaded.settings, trace, loader, engines, screen)
        whole = True
    finally:  # also if the conversation was aborted
        screen.close()
        for close in (partial(close_engine, engines.recognizer), loader.aclose):
            await close(lambda what: screen.show(Problem(what)))
        summary(console, screen.records, loader.chosen, whole=whole, verbose=verbose)
        console.print(f"\nsound  {_sound_description(out / TAPE, tape)}", soft_wrap=True)
        console.print(f"trace  {_copy_trace(trace.path, out, finished=bool(screen.records))}", soft_wrap=True)
    if play:
        with hushed():
            await play_tape(out / TAPE, loaded.settings.audio.output, console)


async def _spoken_requests(loader: EngineLoader, engines: Engines, out: Path) -> Recording:
    """Returns the recording of the cache's conversation. Closes the engines if there is none."""
    try:
        return await spoken(engines.voice, requests_of(loader.settings), out)
    except BaseException:
        for close in (partial(close_engine, engines.recognizer), loader.aclose):
            await close(lambda _what: None)
        raise


def _show_llm_choice(console: Console, choice: LlmChoice, loader: EngineLoader, mentioned: str) -> None:
    """Shows the effect of `--llm` and records it for the table and the trace; without it, names usable servers."""
    if choice.message:
        console.print(Text(choice.message, style="yellow" if choice.fallback else ""), soft_wrap=True)
    if choice.why:
        loader.chosen[:] = [
            replace(chosen, why=choice.why, fallback=choice.fallback) if chosen.stage == "llm" else chosen
            for chosen in loader.chosen
        ]
    alone = any(chosen.stage == "llm" and chosen.fallback for chosen in loader.chosen)
    alone = alone and not loader.settings.llm.endpoints
    if not mentioned and not choice.message and alone:
        get_one = f"; to get one: repartee models pull {SUGGESTED}, or to connect one: repartee endpoints add"
        why = f", because {loader.local_problem}" if loader.local_problem else get_one
        mentioned = f"no language model: the built-in skills answer{why}"
    if mentioned:
        console.print(Text(mentioned, style="dim"), soft_wrap=True)


def _prepare_output(out: Path) -> None:
    try:
        make_private_folder(out)
    except OSError as error:
        raise AudioFileError(f"{out} cannot be created ({error.strerror}); name another folder with --out.") from error
    tape = out / TAPE
    created = not tape.exists()
    try:  # before engines are loaded, and without changing the output of an earlier run
        with open(open_private(tape, os.O_WRONLY | os.O_APPEND), "ab", buffering=0) as file:  # noqa: PTH123
            if created:
                file.write(b"\0")  # on a full disk a file can be created but not written
    except OSError as error:
        remedy = "free some space there" if created and tape.exists() else "remove it"
        raise AudioFileError(
            f"{tape} cannot be written ({error.strerror}); {remedy}, or name another folder with --out."
        ) from error
    finally:
        if created:
            with suppress(OSError):
                tape.unlink(missing_ok=True)


def _sound_description(path: Path, tape: StereoWriter | None) -> str:
    """Describes the sound file that was written."""
    if tape is None or (tape.broke and not tape.duration_s):
        return "none: it could not be written"
    part = f"only the first {tape.duration_s:.1f} s could be written; " if tape.broke else ""
    return f"{path}  ({part}left: the user, right: the assistant)"


def _copy_trace(trace: Path, out: Path, *, finished: bool) -> str:
    """Copies the trace of this conversation beside its sound file. Returns its description.

    `finished`: whether any turn was completed.
    """
    beside = out / "trace.jsonl"
    try:
        beside.unlink(missing_ok=True)  # from an earlier run
        if not trace.is_file() or not trace.stat().st_size:  # on a full disk a file can be created but not written
            return f"none: {trace} could not be written" if finished else "none: no turn was completed"
        os.close(open_private(beside, os.O_WRONLY))
        shutil.copyfile(trace, beside)
    except OSError as error:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
        there = f"{trace}  " if trace.is_file() else "none "
        return f"{there}({beside} cannot be written: {error.strerror})"
    return f"{beside}  (also {trace})"


def _headline(console: Console, recording: Recording) -> None:
    console.print(
        Text.assemble(("Repartee", "bold"), f"  {recording.path.name}, {recording.duration_s:.1f} s, in real time\n")
    )
    if recording.warning is not None:
        console.print(Text(recording.warning, style="yellow"))


async def _converse(  # noqa: PLR0917
    microphone: _TapedMicrophone,
    tape: StereoWriter,
    settings: Settings,
    trace: TraceFile,
    loader: EngineLoader,
    engines: Engines,
    screen: Screen,
) -> None:
    speaker = WavSpeaker(lambda at_s, pcm: _tape_reply(tape, microphone, speaker, at_s, pcm))
    session = new_session.session(
        loader,
        engines=engines,
        microphone=microphone,
        speaker=speaker,
        trace=trace,
        on_event=screen.show,
        counters=lambda: {"underruns": speaker.counts.underruns},
        sound_output=speaker,
    )
    async with asyncio.TaskGroup() as tasks:
        writers = [tasks.create_task(trace.run(), name="trace")]
        if loader.export is not None:
            writers.append(tasks.create_task(loader.export.run(), name="span export"))
        await session.run()
        for writer in writers:
            writer.cancel()


def _tape_reply(tape: StereoWriter, microphone: _TapedMicrophone, speaker: WavSpeaker, at_s: float, pcm: Pcm) -> None:
    """Writes a speaker block at its time on the microphone clock; both started at slightly different times."""
    if microphone.clock.running and speaker.begun_s is not None:
        tape.assistant(speaker.begun_s + at_s - microphone.clock.to_loop_s(Samples(0)), pcm)
