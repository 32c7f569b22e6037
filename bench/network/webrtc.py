"""Measures response latency and word errors by WebSocket and by WebRTC over a lossy network. Linux, as root.

    python -m bench.network.webrtc [--loss 0,2,5,10] [--jitter-ms 0,30,60] [--transport websocket,webrtc] [--clips 4]
        [--set section.key=value]

Server and client run in network namespaces; all packets between them, TCP and UDP, pass `bench.network.lossy_network`.
For each network and transport a new client says the clips in real time. Latency: from the labelled end of speech to the
first audible sample at the client. It plays 60 ms after the sound came by WebRTC (a jitter buffer), by WebSocket at
once.
"""

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from websockets.exceptions import WebSocketException

from assistant.commands.engine_bench.words import word_errors
from audio.units import REPLY_RATE_HZ
from bench.controlled_llm import LlmBehaviour
from bench.conversations.processes import model, server
from bench.conversations.recordings import Recording, read_recordings, room_of
from bench.network.lossy_network import ADDRESSES, CLIENT, SERVER, LossyNetwork, inside, lossy_network
from bench.network.webrtc_client import TRANSCRIBED, Microphone, NotConnectedError, by_webrtc, by_websocket

MANIFEST = Path(__file__).parents[1] / "clips" / "manifest.jsonl"
LEAD_S = 1.0
ANSWERED_WITHIN_S = 12.0
QUIET_S = 2.0
LONGEST_S = 6.0
TICK_S = 0.02
TRIES = 3

_INSECURE = (
    "-c",
    "import sys; from repartee.cli import main; sys.argv[0] = 'repartee'; sys.argv.append('--insecure'); main()",
)
HEAD = (
    "| loss % | jitter ms | transport | latency p50 ms | p90 ms | answered | word errors % |\n"
    "|---|---|---|---|---|---|---|"
)


def clips(count: int) -> list[Recording]:
    """Returns short clips with a known end and transcript."""
    known = [recording for recording in read_recordings(MANIFEST) if recording.kind == "plain" and recording.transcript]
    return [
        recording
        for recording in known
        if len(recording.pcm) < LONGEST_S * REPLY_RATE_HZ and recording.end_unsure_s < 0.06
    ][:count]


async def serve(settings: Sequence[str]) -> None:
    """Runs the server in this namespace until stdin ends."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        async with model(LlmBehaviour(), folder) as llm:
            assigned = [f"trace.dir={folder / 'traces'}", f"server.host={ADDRESSES[SERVER]}", *settings]
            async with server(llm.url, assigned, folder / "serve.log", _INSECURE) as running_server:
                print(running_server.url.split("/")[2], flush=True)
                await asyncio.to_thread(sys.stdin.read)


def _run_calls(host: str, transport: str, count: int) -> list[dict[str, Any]]:
    """Runs `say_all`. Ends the program with one line if the network is too bad for a connection."""
    try:
        return asyncio.run(say_all(host, transport, count))
    except (NotConnectedError, OSError, TimeoutError, httpx.HTTPError, WebSocketException) as error:
        sys.exit(f"no connection by {transport}: {error or type(error).__name__}")


async def say_all(host: str, transport: str, count: int) -> list[dict[str, Any]]:
    """Says the clips on one connection. Returns latency, words and errors of each."""
    microphone, delays = Microphone(), []
    loop = asyncio.get_running_loop()
    async with (by_webrtc if transport == "webrtc" else by_websocket)(host, microphone) as heard:
        for clip in clips(count):
            room = room_of(clip)
            sound = [np.resize(room, round(LEAD_S * REPLY_RATE_HZ)), clip.pcm, np.resize(room, 12 * REPLY_RATE_HZ)]
            first, before = len(heard.events), len(heard.onsets_s)
            microphone.began_s, microphone.pcm = loop.time(), np.concatenate(sound)
            end_s = microphone.began_s + LEAD_S + clip.end_s
            while loop.time() < end_s + ANSWERED_WITHIN_S and not heard.answered(before, end_s):  # noqa: ASYNC110
                await asyncio.sleep(TICK_S)
            await asyncio.sleep(QUIET_S)
            while loop.time() < end_s + ANSWERED_WITHIN_S and not heard.transcribed(first):  # noqa: ASYNC110
                await asyncio.sleep(TICK_S)
            events = [event for _, event in heard.events[first:]]
            words = " ".join(event["transcript"].strip() for event in events if event["type"] == TRANSCRIBED)
            onsets = [at_s for at_s in heard.onsets_s[before:] if at_s > end_s]
            counted = word_errors([(clip.transcript or "", words)], "en")
            latency_ms = (onsets[0] - end_s) * 1000 if onsets else None
            delays.append({"ms": latency_ms, "errors": counted.errors, "of": counted.reference_words, "words": words})
    return delays


def row(loss: float, jitter_ms: float, transport: str, turns: Sequence[dict[str, Any]]) -> str:
    """Returns one line of the table."""
    latencies = sorted(turn["ms"] for turn in turns if turn["ms"] is not None)
    p50 = f"{statistics.median(latencies):.0f}" if latencies else "-"
    p90 = f"{latencies[min(len(latencies) - 1, round(0.9 * len(latencies)))]:.0f}" if latencies else "-"
    share = 100 * sum(turn["errors"] for turn in turns) / max(1, sum(turn["of"] for turn in turns))
    return f"| {loss:g} | {jitter_ms:g} | {transport} | {p50} | {p90} | {len(latencies)}/{len(turns)} | {share:.0f} |"


async def measure(network: LossyNetwork, options: argparse.Namespace) -> None:
    """Measures all networks and prints the table."""
    python = [sys.executable, "-m", "bench.network.webrtc"]
    settings = [part for setting in options.set for part in ("--set", setting)]
    pipe = asyncio.subprocess.PIPE
    serving = await asyncio.create_subprocess_exec(
        *inside(SERVER, [*python, "--role", "server", *settings]), stdin=pipe, stdout=pipe
    )
    assert serving.stdout is not None
    assert serving.stdin is not None
    try:
        host = (await serving.stdout.readline()).decode().strip()
        if not host:
            raise SystemExit("the server did not start; is the machine busy?")
        await _client(python, host, "websocket", 1)  # warms the server up
        print(HEAD, flush=True)
        for loss in options.loss.split(","):
            for jitter_ms in options.jitter_ms.split(","):
                for transport in options.transport.split(","):
                    network.loss, network.jitter_s = float(loss) / 100, float(jitter_ms) / 1000
                    turns = await _client(python, host, transport, options.clips)
                    print(row(float(loss), float(jitter_ms), transport, turns), flush=True)
                    if options.words:
                        print(json.dumps(turns), file=sys.stderr)
    finally:
        serving.stdin.close()
        await serving.wait()


async def _client(python: list[str], host: str, transport: str, count: int) -> list[dict[str, Any]]:
    """Runs a client, again if it could not connect."""
    command = [*python, "--role", "client", "--host", host, "--transport", transport, "--clips", str(count)]
    for _ in range(TRIES):
        client = await asyncio.create_subprocess_exec(*inside(CLIENT, command), stdout=asyncio.subprocess.PIPE)
        output, _ = await client.communicate()
        if client.returncode == 0:
            turns: list[dict[str, Any]] = json.loads(output)
            return turns
    return []


def main() -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description="Measures WebSocket and WebRTC over a lossy network.")
    parser.add_argument("--loss", default="0,2,5,10", help="percent of the packets, each way")
    parser.add_argument("--jitter-ms", default="0,30,60")
    parser.add_argument("--transport", default="websocket,webrtc")
    parser.add_argument("--clips", type=int, default=4)
    parser.add_argument("--words", action="store_true", help="print every turn")
    parser.add_argument("--set", action="append", default=[], metavar="section.key=value")
    parser.add_argument("--role", default="", help=argparse.SUPPRESS)
    parser.add_argument("--host", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.role == "server":
        asyncio.run(serve(options.set))
    elif options.role == "client":
        print(json.dumps(_run_calls(options.host, options.transport, options.clips)))
    else:
        with lossy_network() as network:
            asyncio.run(measure(network, options))


if __name__ == "__main__":
    main()
