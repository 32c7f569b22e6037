"""Measures recognition and latency for clients that send long, late, or bursty blocks of sound.

    python -m bench.network.uneven_blocks [--url ws://127.0.0.1:8765/v1/realtime] [--block-ms 20,100]
        [--jitter-ms 0,10,200] [--stall-ms 0] [--format pcm] [--stops] [--rounds 2] [--clip ID] [--words]
        [--set section.key=value]

Says one clip `--rounds` times over one connection for each length and jitter, in real time. Each block leaves when its
last sample would have been captured, plus a random delay up to the jitter, and never before the previous block. With
`--stall-ms` nothing is sent for that long from the middle of the speech on, and then all of it at once. With `--stops`
nothing is sent after the clip. Without `--url` it starts a server and a controlled LLM.

For each network: word errors of all rounds; the median length of speech, from the first `speech_started` to the last
`speech_stopped`, including silence that the server inserted; the number of turns per clip in each round; and the
median response latency, from the labelled end of speech to the first audible sample.
"""

import argparse
import asyncio
import base64
import json
import random
import statistics
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from websockets.asyncio.client import ClientConnection, connect

from assistant.commands.engine_bench.words import word_errors
from audio.formats import g711
from audio.resample import StreamResampler
from audio.units import REPLY_RATE_HZ, Pcm
from bench.controlled_llm import LlmBehaviour
from bench.conversations.processes import model, server
from bench.conversations.recordings import Recording, read_recordings, room_of
from bench.conversations.reply_listener import ReplyListener

LEAD_S = 1.2
ANSWERED_WITHIN_S = 10.0
QUIET_S = 1.0
TICK_S = 0.02
TRANSCRIBED = "conversation.item.input_audio_transcription.completed"
MANIFEST = Path(__file__).parents[1] / "clips" / "manifest.jsonl"


@dataclass(frozen=True, slots=True)
class Network:
    """Pattern in which a client sends its sound.

    Attributes:
        block_ms: Length of its blocks.
        jitter_ms: Maximum random delay of a block.
        stall_ms: Duration of a stall in the middle of the speech.
        stops: Whether nothing is sent after the clip.
        format: pcm, pcmu or pcma.
    """

    block_ms: int
    jitter_ms: float = 0.0
    stall_ms: float = 0.0
    stops: bool = False
    format: str = "pcm"


@dataclass(frozen=True, slots=True)
class Turn:
    """Result of one clip; None: not measured."""

    words: str
    errors: int
    length_ms: float | None
    turns: int
    latency_ms: float | None


@dataclass(slots=True)
class Client:
    """One connection."""

    socket: ClientConnection
    network: Network
    listener: ReplyListener = field(default_factory=ReplyListener)
    events: list[tuple[float, dict[str, Any]]] = field(default_factory=list)

    async def listen(self) -> None:
        """Records the server's events until cancelled."""
        loop = asyncio.get_running_loop()
        async for message in self.socket:
            event = json.loads(message)
            self.listener.receive(loop.time(), event)
            self.events.append((loop.time(), event))

    async def say(self, recording: Recording, rng: random.Random) -> Turn:
        """Says one clip in its room noise and returns the result."""
        loop = asyncio.get_running_loop()
        room = room_of(recording)
        lead = np.resize(room, round(LEAD_S * REPLY_RATE_HZ))
        tail_s = 0.0 if self.network.stops else ANSWERED_WITHIN_S
        sound = np.concatenate([lead, recording.pcm, np.resize(room, round(tail_s * REPLY_RATE_HZ))])
        first, before = len(self.events), len(self.listener.replies)
        began_s = loop.time()
        end_s = began_s + LEAD_S + recording.end_s
        middle_s = began_s + LEAD_S + (recording.start_s + recording.end_s) / 2
        speaking = asyncio.create_task(self._send(sound, began_s, middle_s, rng))
        try:
            late_s = end_s + ANSWERED_WITHIN_S
            await _until(lambda: self._answered(before, end_s), late_s)
            await asyncio.sleep(QUIET_S)
            await _until(lambda: not self._awaits_words(first), late_s)
            await _until(
                lambda: not self.listener.answering() and loop.time() > self.listener.silent_at_s() + 0.3, late_s + 20
            )
        finally:
            speaking.cancel()
        return self._turn(recording, self.events[first:], before, end_s)

    def _awaits_words(self, first: int) -> bool:
        kinds = [event["type"] for _, event in self.events[first:]]
        return kinds.count("input_audio_buffer.committed") > kinds.count(TRANSCRIBED)

    def _answered(self, before: int, end_s: float) -> bool:
        return any((reply.audible_s or 0.0) > end_s for reply in self.listener.replies[before:])

    def _turn(
        self, recording: Recording, events: Sequence[tuple[float, dict[str, Any]]], before: int, end_s: float
    ) -> Turn:
        def of(kind: str) -> list[dict[str, Any]]:
            return [event for _, event in events if event["type"] == kind]

        words = " ".join(event["transcript"].strip() for event in of(TRANSCRIBED))
        started, stopped = of("input_audio_buffer.speech_started"), of("input_audio_buffer.speech_stopped")
        length_ms = None
        if started and stopped:
            length_ms = stopped[-1]["audio_end_ms"] - started[0]["audio_start_ms"]
        audible = [reply.audible_s for reply in self.listener.replies[before:] if (reply.audible_s or 0.0) > end_s]
        errors = word_errors([(recording.transcript or "", words)], "en").errors
        return Turn(
            words,
            errors,
            length_ms,
            len(of("input_audio_buffer.committed")),
            (audible[0] - end_s) * 1000 if audible and audible[0] is not None else None,
        )

    async def _send(self, pcm: Pcm, began_s: float, middle_s: float, rng: random.Random) -> None:
        loop, network = asyncio.get_running_loop(), self.network
        size = REPLY_RATE_HZ * network.block_ms // 1000
        narrow = StreamResampler(REPLY_RATE_HZ, 8000)
        until_s = middle_s + network.stall_ms / 1000
        for start in range(0, len(pcm), size):
            due_s = began_s + min(start + size, len(pcm)) / REPLY_RATE_HZ + rng.uniform(0, network.jitter_ms) / 1000
            if middle_s < due_s < until_s:
                due_s = until_s
            await asyncio.sleep(max(0.0, due_s - loop.time()))
            part = pcm[start : start + size]
            if network.format == "pcm":
                coded = part.astype("<i2").tobytes()
            else:
                encode = g711.encode_ulaw if network.format == "pcmu" else g711.encode_alaw
                coded = encode(narrow.push_samples(part))
            audio = base64.b64encode(coded).decode()
            await self.socket.send(json.dumps({"type": "input_audio_buffer.append", "audio": audio}))


async def _until(true: Callable[[], bool], by_s: float) -> None:
    """Waits until `true()` holds, at most until `by_s`."""
    left_s = by_s - asyncio.get_running_loop().time()
    for _ in range(max(0, round(left_s / TICK_S))):
        if true():
            return
        await asyncio.sleep(TICK_S)


async def measure(url: str, recording: Recording, network: Network, rounds: int) -> list[Turn]:
    """Says the clip `rounds` times on one connection."""
    session: dict[str, Any] = {
        "type": "realtime",
        "output_modalities": ["audio"],
        "audio": {"input": {"transcription": {"model": "default"}}},
        "repartee": {"events": True},
    }
    if network.format != "pcm":
        session["audio"]["input"]["format"] = {"type": f"audio/{network.format}"}
    rng = random.Random(31)
    async with connect(url, compression=None, max_size=None, max_queue=None) as socket:
        await socket.send(json.dumps({"type": "session.update", "session": session}))
        client = Client(socket, network)
        listening = asyncio.create_task(client.listen())
        try:
            return [await client.say(recording, rng) for _ in range(rounds)]
        finally:
            listening.cancel()


def row(network: Network, turns: Sequence[Turn]) -> str:
    """Returns one line of the table."""
    lengths = [turn.length_ms for turn in turns if turn.length_ms is not None]
    latencies = [turn.latency_ms for turn in turns if turn.latency_ms is not None]
    length = f"{statistics.median(lengths):.0f}" if lengths else "-"
    latency = f"{statistics.median(latencies):.0f}" if latencies else "-"
    errors, counts = sum(turn.errors for turn in turns), ", ".join(str(turn.turns) for turn in turns)
    return (
        f"| {network.block_ms} | {network.jitter_ms:.0f} | {network.stall_ms:.0f} | {network.format} | {errors} "
        f"| {length} | {counts} | {latency} |"
    )


HEAD = (
    "| block ms | jitter ms | stall ms | format | word errors | speech ms | turns | latency ms |\n"
    "|---|---|---|---|---|---|---|---|"
)


def networks(options: argparse.Namespace) -> list[Network]:
    """Returns the requested networks."""
    return [
        Network(int(block_ms), float(jitter_ms), options.stall_ms, options.stops, options.format)
        for jitter_ms in options.jitter_ms.split(",")
        for block_ms in options.block_ms.split(",")
    ]


async def run(options: argparse.Namespace) -> None:
    """Measures and prints."""
    recordings = [recording for recording in read_recordings(MANIFEST) if recording.id == options.clip]
    if not recordings:
        raise SystemExit(f"--clip {options.clip}: {MANIFEST} has no such clip.")
    async with AsyncExitStack() as running:
        url = options.url
        if not url:
            folder = Path(running.enter_context(tempfile.TemporaryDirectory()))
            llm = await running.enter_async_context(model(LlmBehaviour(), folder))
            assigned = [f"trace.dir={folder / 'traces'}", *options.set]
            url = (await running.enter_async_context(server(llm.url, assigned, folder / "serve.log"))).url
        print(HEAD, flush=True)
        for network in networks(options):
            turns = await measure(url, recordings[0], network, options.rounds)
            print(row(network, turns), flush=True)
            if options.words:
                for turn in turns:
                    print(f"  {turn}", file=sys.stderr)


def main() -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description="Measures clients that send long blocks, late, or in bursts.")
    parser.add_argument("--url", default="", help="address of a running server")
    parser.add_argument("--block-ms", default="20,100,128,200,341,500,1000")
    parser.add_argument("--jitter-ms", default="0,10,200")
    parser.add_argument("--stall-ms", type=float, default=0.0)
    parser.add_argument("--format", choices=["pcm", "pcmu", "pcma"], default="pcm")
    parser.add_argument("--stops", action="store_true", help="send nothing after the clip")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--clip", default="python-docs-sample_audio")
    parser.add_argument("--words", action="store_true", help="print every turn")
    parser.add_argument("--set", action="append", default=[], metavar="section.key=value")
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
