"""A recording holds a conversation with the assistant, at the pace of real time."""

import asyncio
import secrets
import shutil
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path

from rich.console import Console
from rich.text import Text

from assistant import build
from assistant.config import Loaded
from assistant.conversation import Conversation
from assistant.facts import Trouble
from assistant.recorder import Recorder
from assistant.screen import Screen, summary
from assistant.session import Engines, Session
from assistant.settings import Settings
from assistant.trace_file import TraceFile
from assistant.turns import Turns
from audio.clock import StreamClock
from audio.errors import AudioFileError
from audio.frame import Frame
from audio.recording import Recording, open_recording
from audio.speaker import WavSpeaker
from audio.stereo import StereoWriter
from audio.units import Pcm, Samples
from audio.wav import WavMicrophone

SHIPPED = "recordings/conversation.wav"
TAIL_S = 4.0
"""Silence after the recording: room for the last turn's endpoint and reply."""


class _Taped:
    """A microphone whose frames are also written to the left channel."""

    def __init__(self, microphone: WavMicrophone, tape: StereoWriter) -> None:
        self._microphone = microphone
        self._tape = tape

    @property
    def clock(self) -> StreamClock:
        return self._microphone.clock

    @property
    def invented_frames(self) -> int:
        return self._microphone.invented_frames

    async def frames(self) -> AsyncGenerator[Frame]:
        async with aclosing(self._microphone.frames()) as frames:
            async for frame in frames:
                self._tape.person(frame.start, frame.pcm)
                yield frame


async def demo(wav: Path | None, out: Path, loaded: Loaded, environ: Mapping[str, str], console: Console) -> None:
    """Let the recording (None: the shipped one) talk with the assistant; write `demo.wav` and the trace to `out`.

    Raises:
        AudioError: The recording cannot be read, an engine cannot be loaded, or `out` cannot be written.
    """
    recording = open_recording(wav if wav is not None else Path(str(files("assistant") / SHIPPED)))
    _make(out)
    _headline(console, recording)
    workshop = build.Workshop(loaded.settings, environ)
    with console.status("loading engines"):
        engines = await workshop.engines()
    screen = Screen(console)
    name = f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(4)}"
    trace = TraceFile(loaded.settings.trace.dir, name, lambda what: screen.show(Trouble(what)))
    try:
        with StereoWriter(out / "demo.wav") as tape:
            microphone = _Taped(WavMicrophone(recording, tail_s=TAIL_S), tape)
            await _converse(microphone, tape, loaded.settings, trace, workshop, engines, screen)
    finally:  # also of a conversation that broke off
        screen.close()
        await build.close(engines, lambda what: screen.show(Trouble(what)))
        summary(console, screen.records, workshop.chosen)
        console.print(f"\nsound  {out / 'demo.wav'}  (left: the person, right: the assistant)", soft_wrap=True)
        console.print(f"trace  {_keep_beside(trace.path, out)}", soft_wrap=True)


def _make(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise AudioFileError(f"{out} cannot be made ({error.strerror}); name another folder with --out.") from error


def _keep_beside(trace: Path, out: Path) -> str:
    """This conversation's trace once more, beside its sound: what belongs together lies together."""
    beside = out / "trace.jsonl"
    try:
        beside.unlink(missing_ok=True)  # an earlier run's
        shutil.copyfile(trace, beside)
    except FileNotFoundError:
        return "none: no turn was finished"
    except OSError as error:
        there = f"{trace}  " if trace.is_file() else "none "
        return f"{there}({beside} cannot be written: {error.strerror})"
    return f"{beside}  (also {trace})"


def _headline(console: Console, recording: Recording) -> None:
    console.print(
        Text.assemble(
            ("Repartee", "bold"), f"  {recording.path.name}, {recording.duration_s:.1f} s, at the pace of real time\n"
        )
    )
    if recording.warning is not None:
        console.print(Text(recording.warning, style="yellow"))


async def _converse(  # noqa: PLR0917
    microphone: _Taped,
    tape: StereoWriter,
    settings: Settings,
    trace: TraceFile,
    workshop: build.Workshop,
    engines: Engines,
    screen: Screen,
) -> None:
    speaker = WavSpeaker(
        lambda at_s, pcm: _tape_reply(tape, microphone, speaker, at_s, pcm), duck_db=settings.speaker.duck_db
    )
    recorder = Recorder(
        conversation=trace.path.stem,
        started_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
        salt=secrets.token_bytes(16),
        engines={chosen.stage: chosen.name for chosen in workshop.chosen},
        fallbacks=workshop.fallbacks,
        keep_words=settings.trace.words,
        speech_end_bias_ms=engines.vad.end_bias_ms,
        counters=lambda: {
            "clock_steps": microphone.clock.steps,
            "invented_frames": microphone.invented_frames,
            "underruns": speaker.counts.underruns,
            "dropped_records": trace.dropped,
        },
        write=trace.put,
        show=screen.show,
    )
    session = Session(
        microphone,
        speaker,
        engines,
        Turns(build.turn_settings(settings)),
        Conversation(settings.assistant.instructions, settings.llm.max_history_turns),
        recorder,
        build.session_settings(settings),
        screen.show,
    )
    async with asyncio.TaskGroup() as tasks:
        writer = tasks.create_task(trace.run(), name="trace")
        await session.run()
        writer.cancel()


def _tape_reply(tape: StereoWriter, microphone: _Taped, speaker: WavSpeaker, at_s: float, pcm: Pcm) -> None:
    """A block of the speaker belongs on the microphone's line: both started at about, but not exactly, one time."""
    if microphone.clock.running and speaker.begun_s is not None:
        tape.assistant(speaker.begun_s + at_s - microphone.clock.to_loop_s(Samples(0)), pcm)
