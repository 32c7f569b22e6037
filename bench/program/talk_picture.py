"""Draws the screen of `repartee talk` from a scripted conversation, without a microphone or measurements.

python -m bench.program.talk_picture docs/talk.svg [--size 120x36] [--shade light] [--floor listening]
"""

import argparse
import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from assistant.commands.talk.controls import DeviceChoice, Status
from assistant.commands.talk.screen import TalkScreen
from assistant.events import (
    ChunkSpoken,
    Floor,
    InterimWords,
    Problem,
    ReplyStarted,
    SessionEvent,
    SpeechStarted,
    TurnFinished,
    UserTurnCommitted,
    WordsTimed,
)
from assistant.history.cut_to_heard import TimedWord
from assistant.history.items import ItemId
from assistant.registry.engine_choice import EngineChoice
from assistant.trace.latency import STAGES, Stage, StageShare
from assistant.trace.record import SCHEMA, Outcome, TurnRecord
from assistant.turns.events import ReplyId
from audio.devices import Direction

WORD_MS = 300.0

ENGINES = (
    EngineChoice("vad", "silero", "20 ms frames", "as configured", fallback=False, load_ms=40),
    EngineChoice("stt", "faster-whisper", "tiny.en, int8_float32 on CPU", "auto: its model is downloaded",
           fallback=False, load_ms=420),
    EngineChoice("llm", "local", "http://127.0.0.1:8000/v1", "as configured", fallback=False, load_ms=12),
    EngineChoice("tts", "espeak-ng", "English (Great Britain)", "instead of piper, because the Piper voice "
           "en_US-joe-medium is not downloaded; fetch it: repartee models pull en_US-joe-medium",
           fallback=True, load_ms=24),
)  # fmt: skip

STATUS = Status(
    floor="listening",
    input_dbfs=-47.0,
    output_dbfs=-float("inf"),
    input="Built-in Audio Analog Stereo, 48 kHz, 10 ms blocks, 12 ms",
    output="Built-in Audio Analog Stereo, 48 kHz, 10 ms blocks, 21 ms",
    echo="canceled, 34 ms delay",
    mode="open",
    wake_phrase="",
    endpoint="local, 38 ms to the first token",
    muted=False,
    talking=False,
    troubles={},
    played_ms=None,
)

DEVICES = (
    DeviceChoice("input", "Built-in Audio Analog Stereo", in_use=True),
    DeviceChoice("input", "USB headset", in_use=False),
    DeviceChoice("output", "Built-in Audio Analog Stereo", in_use=True),
    DeviceChoice("output", "USB headset", in_use=False),
)


@dataclass
class ScriptedControls:
    """Controls without a conversation: records the actions; the status is set from outside.

    Attributes:
        deaf: Whether the talk key does nothing, as before loading ends or while the microphone is closed.
    """

    now: Status = STATUS
    deaf: bool = False

    def __post_init__(self) -> None:
        """Starts without any actions."""
        self.done: list[tuple[object, ...]] = []

    def interrupt(self) -> None:
        """See `Controls`."""
        self.done.append(("interrupt",))

    def repeat(self) -> None:
        """See `Controls`."""
        self.done.append(("repeat",))

    def type(self, text: str) -> None:
        """See `Controls`."""
        self.done.append(("type", text))

    def mute(self, on: bool) -> None:
        """See `Controls`."""
        self.done.append(("mute", on))

    def set_push_to_talk(self, pressed: bool) -> None:
        """See `Controls`."""
        self.done.append(("talk", pressed))
        self.now = replace(self.now, talking=pressed and not self.deaf)

    def devices(self) -> Sequence[DeviceChoice]:
        """See `Controls`."""
        return DEVICES

    def use(self, direction: Direction, name: str) -> None:
        """See `Controls`."""
        self.done.append(("use", direction, name))

    def status(self) -> Status:
        """See `Controls`."""
        return self.now

    def quit(self) -> None:
        """See `Controls`."""
        self.done.append(("quit",))


def record(turn: int, stages: Mapping[Stage, float], outcome: Outcome = "answered") -> TurnRecord:
    """Returns a turn whose latency consists of these milliseconds; without any, it has no latency."""
    latency_ms = sum(stages.values()) if stages else None
    shares = {stage: StageShare(stages.get(stage, 0.0), stages.get(stage, 0.0)) for stage in STAGES} if stages else {}
    return TurnRecord(
        schema=SCHEMA, conversation="scripted", turn=turn, trace_id="0" * 32, started_at="2026-01-01T00:00:00Z",
        outcome=outcome, rough=False, speech_start_ms=0.0, speech_end_ms=1000.0, speech_end_bias_ms=30.0,
        endpoint_ms=1200.0, playout_start_ms=None if latency_ms is None else 1000.0 + latency_ms,
        response_latency_ms=latency_ms, no_latency_reason=None if stages else "no reply", stages=shares, spans=(),
        answers=(), events=(), attempts=1, hearings=(), engines={}, fallbacks=(), error=None, counters={}, words=None,
    )  # fmt: skip


def placed(reply_id: ReplyId, text: str, start_ms: float = 0.0) -> WordsTimed:
    """Places the words of a text one after another."""
    words = tuple(
        TimedWord(word, start_ms + index * WORD_MS, start_ms + (index + 1) * WORD_MS, estimated=False)
        for index, word in enumerate(text.split())
    )
    return WordsTimed(reply_id, words)


def exchange(turn: int, text: str, units: Sequence[str], stages: Mapping[Stage, float]) -> list[SessionEvent]:
    """Returns the events of a turn from its first word to its record."""
    reply_id = ReplyId(turn, 1)
    facts: list[SessionEvent] = [
        SpeechStarted(turn, 0.0, ItemId(f"user-{turn}")),
        InterimWords(text, low_confidence=False),
        UserTurnCommitted(turn, text, low_confidence=False, item=None, speech_end_ms=1000.0, origin="spoken"),
        ReplyStarted(reply_id, ItemId(f"reply-{turn}"), spoken=True),
    ]
    start_ms = 0.0
    for unit in units:
        facts += [ChunkSpoken(reply_id, unit), placed(reply_id, unit, start_ms)]
        start_ms += len(unit.split()) * WORD_MS
    return [*facts, TurnFinished(record(turn, stages))]


LAST = exchange(
    4,
    "why is the sky blue",
    [
        "Sunlight holds all colours.",
        "Air scatters the blue ones far more than the red ones, so blue light comes from everywhere above you.",
    ],
    {
        "endpoint_wait": 236.0,
        "stt": 14.0,
        "llm_first_token": 62.0,
        "first_sentence": 31.0,
        "tts": 38.0,
        "playout": 21.0,
    },
)

CONVERSATION: tuple[SessionEvent, ...] = (
    *exchange(1, "what time is it", ["It's ten past two."], {"endpoint_wait": 228.0, "playout": 18.0}),
    Problem("the loudspeaker has gone: USB headset. Sound goes to the system's default until it is back."),
    *exchange(2, "set a timer for ten minutes", ["Your 10 minute timer is set."],
              {"endpoint_wait": 244.0, "stt": 9.0, "playout": 19.0}),
    *exchange(3, "and how long is that in seconds", ["600 seconds."],
              {"endpoint_wait": 420.0, "stt": 22.0, "llm_first_token": 95.0, "tts": 30.0, "playout": 20.0}),
    *LAST,
)  # fmt: skip

MOMENTS: Mapping[Floor, tuple[tuple[SessionEvent, ...], Status]] = {
    "starting": ((), replace(STATUS, floor="starting")),
    "listening": (CONVERSATION, STATUS),
    "hearing": (
        (
            *CONVERSATION,
            SpeechStarted(5, 0.0, ItemId("user-5")),
            InterimWords("and why is it red in the", low_confidence=False),
        ),
        replace(STATUS, floor="hearing", input_dbfs=-19.0),
    ),
    "speaking": (CONVERSATION, replace(STATUS, floor="speaking", output_dbfs=-17.0, played_ms=8.2 * WORD_MS)),
    "thinking": (CONVERSATION, replace(STATUS, floor="thinking")),
    "muted": (CONVERSATION, replace(STATUS, floor="muted", muted=True, input="closed", input_dbfs=-float("inf"))),
    "asleep": (CONVERSATION, replace(STATUS, floor="asleep", mode="wake", wake_phrase="hey computer")),
}
"""Events and status for a picture of each turn state."""


async def picture(floor: Floor, size: tuple[int, int], environ: Mapping[str, str]) -> str:
    """Returns the screen at that moment as SVG without external resources."""
    facts, status = MOMENTS[floor]
    screen = TalkScreen(ScriptedControls(status), clock=lambda: "14:10:07", environ=environ)
    async with screen.run_test(size=size) as pilot:
        screen.engines(ENGINES[:2] if floor == "starting" else ENGINES)
        if floor != "starting":
            screen.ready()
        for fact in facts:
            screen.show(fact)
        await pilot.pause(0.3)
        svg = screen.export_screenshot()
    svg = re.sub(r"@font-face \{.*?\}|<!--.*?-->", "", svg, flags=re.DOTALL)
    return svg.replace("Fira Code", 'ui-monospace, "DejaVu Sans Mono", Menlo, Consolas')


def main() -> None:
    """Writes the picture."""
    parser = argparse.ArgumentParser(description="Draws a picture of the screen of repartee talk.")
    parser.add_argument("out", type=Path)
    parser.add_argument("--size", default="120x36", help="columns x rows")
    parser.add_argument("--shade", choices=("dark", "light", "none"), default="dark")
    parser.add_argument("--floor", choices=tuple(MOMENTS), default="speaking")
    options = parser.parse_args()
    columns, rows = map(int, options.size.split("x"))
    environ = {"dark": {}, "light": {"COLORFGBG": "0;15"}, "none": {"NO_COLOR": "1"}}[options.shade]
    options.out.write_text(asyncio.run(picture(options.floor, (columns, rows), environ)), encoding="utf-8")


if __name__ == "__main__":
    main()
