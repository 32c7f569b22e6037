"""Two network namespaces with a lossy, late network between them, for UDP and TCP alike. Linux, as root.

Each namespace has a TUN device. A thread passes the IP packets on: it drops some at random, and delays each by a fixed
time and a random one, in order, as one path does.
"""

import contextlib
import fcntl
import heapq
import os
import random
import select
import struct
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

SERVER, CLIENT = "repartee-server", "repartee-client"
"""Names of the namespaces."""
ADDRESSES = {SERVER: "10.77.0.1", CLIENT: "10.77.0.2"}

ONE_WAY_S = 0.02
MAX_PACKET = 2048

_TUNSETIFF, _IFF_TUN_NO_PI = 0x400454CA, 0x1001
_PRIORITY = -10


@dataclass(slots=True)
class LossyNetwork:
    """The network between the namespaces.

    Attributes:
        loss: Share of packets that is dropped, each way.
        jitter_s: Largest random delay.
        passed: Packets passed on.
        dropped: Packets dropped.
    """

    loss: float = 0.0
    jitter_s: float = 0.0
    passed: int = 0
    dropped: int = 0
    ended: threading.Event = field(default_factory=threading.Event)

    def relay(self, devices: tuple[int, int]) -> None:
        """Passes packets on until `ended`."""
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _PRIORITY)
        other = {devices[0]: devices[1], devices[1]: devices[0]}
        waiting: list[tuple[float, int, int, bytes]] = []
        last_s = dict.fromkeys(devices, 0.0)
        rng, number = random.Random(7), 0
        while not self.ended.is_set():
            wait_s = min(0.2, max(0.0, waiting[0][0] - time.monotonic())) if waiting else 0.2
            ready, _, _ = select.select(devices, [], [], wait_s)
            now_s = time.monotonic()
            for device in ready:
                packet = os.read(device, MAX_PACKET)
                if rng.random() < self.loss:
                    self.dropped += 1
                    continue
                due_s = max(last_s[device], now_s + ONE_WAY_S + rng.uniform(0, self.jitter_s))
                last_s[device], number = due_s, number + 1
                heapq.heappush(waiting, (due_s, number, other[device], packet))
            while waiting and waiting[0][0] <= now_s:
                _, _, device, packet = heapq.heappop(waiting)
                with contextlib.suppress(OSError):
                    os.write(device, packet)
                self.passed += 1


@contextmanager
def lossy_network() -> Iterator[LossyNetwork]:
    """Sets the namespaces up while the block runs. Raises OSError, subprocess.CalledProcessError."""
    devices: list[int] = []
    network = LossyNetwork()
    try:
        for number, name in enumerate((SERVER, CLIENT)):
            _ip("netns", "add", name)
            device = os.open("/dev/net/tun", os.O_RDWR)
            devices.append(device)
            tun = f"reptun{number}"
            fcntl.ioctl(device, _TUNSETIFF, struct.pack("16sH22x", tun.encode(), _IFF_TUN_NO_PI))
            _ip("link", "set", tun, "netns", name)
            _ip("-n", name, "addr", "add", f"{ADDRESSES[name]}/24", "dev", tun)
            _ip("-n", name, "link", "set", "lo", "up")
            _ip("-n", name, "link", "set", tun, "mtu", "1400", "up")
        relay = threading.Thread(target=network.relay, args=(tuple(devices),), name="network")
        relay.start()
        try:
            yield network
        finally:
            network.ended.set()
            relay.join()
    finally:
        for device in devices:
            os.close(device)
        for name in (SERVER, CLIENT):
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


def inside(name: str, command: list[str]) -> list[str]:
    """Returns the command that runs in a namespace."""
    return ["ip", "netns", "exec", name, *command]


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)
