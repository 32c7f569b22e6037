"""Measures how late blocks of sound come by TCP and by UDP over a lossy network. Linux, as root.

    python -m bench.network.webrtc_delays [--loss 0,2,5,10] [--jitter-ms 0,30,60] [--seconds 30]

A sender in one network namespace sends a block every 20 ms: by TCP as large as an append of a WebSocket, by UDP as
large as an Opus packet. A receiver in another one notes when each block can be used: by TCP when everything before it
is there, by UDP after the server's jitter buffer. It prints the delay beyond that of the network without loss and
jitter. A response has two such ways: the last block of the user's speech, and the first one of the reply. No engine
runs, so other work on the machine matters little.
"""

import argparse
import json
import select
import socket
import struct
import subprocess
import sys
import time

import numpy as np

from bench.network.lossy_network import ADDRESSES, CLIENT, ONE_WAY_S, SERVER, LossyNetwork, inside, lossy_network
from web.webrtc.jitter_buffer import JitterBuffer
from web.webrtc.opus import FRAME_TICKS

PORT = 9000
BLOCK_S = 0.02
TCP_BYTES, UDP_BYTES = 1332, 90
HEAD = struct.Struct("!Id")
OPUS = b"\x48"
"""First byte of a packet of 20 ms."""
SETTLE_S = 3.0
HEADER = (
    "| loss % | jitter ms | TCP p50 / p95 / p99 / max ms | UDP p50 / p95 / p99 / max ms | UDP missing blocks % |\n"
    "|---|---|---|---|---|"
)


def send(seconds: float) -> None:
    """Sends blocks both ways of sending, from this namespace."""
    address = (ADDRESSES[SERVER], PORT)
    tcp = socket.create_connection(address, timeout=60)
    tcp.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    began_s = time.monotonic()
    for number in range(round(seconds / BLOCK_S)):
        time.sleep(max(0.0, began_s + number * BLOCK_S - time.monotonic()))
        head = HEAD.pack(number, time.monotonic())
        tcp.sendall(head.ljust(TCP_BYTES, b"\0"))
        udp.sendto(head.ljust(UDP_BYTES, b"\0"), address)
    time.sleep(SETTLE_S)


def receive(seconds: float) -> dict[str, list[float]]:
    """Receives blocks in this namespace. Returns the delays in ms, of TCP and UDP."""
    listener = socket.create_server((ADDRESSES[SERVER], PORT))
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind((ADDRESSES[SERVER], PORT))
    print("ready", flush=True)
    tcp, _ = listener.accept()
    buffer, sent_s, unread = JitterBuffer(), dict[int, float](), b""
    delays: dict[str, list[float]] = {"tcp": [], "udp": []}
    passed, until_s = 0, time.monotonic() + seconds + SETTLE_S

    def note(now_s: float) -> None:
        """Notes the packets that the jitter buffer has passed on: the next ones that have come."""
        nonlocal passed
        while buffer.received > passed:
            passed += 1
            first = min(sent_s)
            delays["udp"].append((now_s - sent_s.pop(first)) * 1000)

    while (now_s := time.monotonic()) < until_s:
        due_s = buffer.due_s
        wait_s = min(0.1, max(0.0, due_s - now_s)) if due_s is not None else 0.1
        ready, _, _ = select.select([tcp, udp], [], [], wait_s)
        now_s = time.monotonic()
        buffer.on_time(now_s)
        note(now_s)
        if tcp in ready:
            unread += tcp.recv(1 << 16)
            while len(unread) >= TCP_BYTES:
                _, at_s = HEAD.unpack_from(unread)
                delays["tcp"].append((now_s - at_s) * 1000)
                unread = unread[TCP_BYTES:]
        if udp in ready:
            number, at_s = HEAD.unpack_from(udp.recv(2048))
            late = buffer.late
            sent_s[number] = at_s
            buffer.push_packet(number & 0xFFFF, number * FRAME_TICKS, OPUS, now_s)
            if buffer.late > late:
                del sent_s[number]
            note(now_s)
    return delays


def measure(network: LossyNetwork, loss: float, jitter_ms: float, seconds: float) -> str:
    """Measures one network. Returns one line of the table."""
    network.loss, network.jitter_s = 0.0, 0.0
    command = [sys.executable, "-m", "bench.network.webrtc_delays", "--seconds", str(seconds), "--role"]
    receiver = subprocess.Popen(inside(SERVER, [*command, "receiver"]), stdout=subprocess.PIPE)
    assert receiver.stdout is not None
    receiver.stdout.readline()
    network.loss, network.jitter_s = loss / 100, jitter_ms / 1000
    subprocess.run(inside(CLIENT, [*command, "sender"]), check=False)
    delays: dict[str, list[float]] = json.loads(receiver.communicate()[0])
    block_count = round(seconds / BLOCK_S)
    concealed = 100 * (block_count - len(delays["udp"])) / block_count
    return f"| {loss:g} | {jitter_ms:g} | {_spread(delays['tcp'])} | {_spread(delays['udp'])} | {concealed:.1f} |"


def _spread(delays_ms: list[float]) -> str:
    if not delays_ms:
        return "-"
    beyond = np.array(delays_ms) - ONE_WAY_S * 1000
    return " / ".join(f"{delay:.0f}" for delay in (*np.percentile(beyond, [50, 95, 99]), beyond.max()))


def main() -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description="Measures delays of sound by TCP and UDP over a lossy network.")
    parser.add_argument("--loss", default="0,2,5,10", help="percent of the packets, each way")
    parser.add_argument("--jitter-ms", default="0,30,60")
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--role", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.role == "sender":
        send(options.seconds)
    elif options.role == "receiver":
        print(json.dumps(receive(options.seconds)))
    else:
        with lossy_network() as network:
            print(HEADER, flush=True)
            for loss in map(float, options.loss.split(",")):
                for jitter_ms in map(float, options.jitter_ms.split(",")):
                    print(measure(network, loss, jitter_ms, options.seconds), flush=True)


if __name__ == "__main__":
    main()
