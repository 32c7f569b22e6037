"""Puts the packets of a stream back in order, and decides which of them are lost. Pure: the clock is passed in.

Recognition needs no steady playback: a packet that comes in order is passed on at once, whatever its jitter. Only a
packet after a gap waits for the missing ones. How long depends on how late packets have come lately.
"""

from dataclasses import dataclass

from web.webrtc.opus import RTP_RATE_HZ, ticks_of

MIN_WAIT_S, MAX_WAIT_S = 0.02, 0.2
FIRST_LATENESS_S = 0.04
"""Assumed until a packet comes late."""
LATENESS_MARGIN = 1.25
LATENESS_DECAY = 0.9986
"""For each packet: half is forgotten in 10 s."""

MAX_HELD = 50
"""Packets that wait for a missing one, 1 s."""
RESTART_PACKETS = 3000
"""A jump of this many sequence numbers, a minute, is a stream that began anew."""
MAX_GAP_S = 5.0
"""Longest gap in the sound that is filled."""


@dataclass(frozen=True, slots=True)
class OrderedPacket:
    """A packet in order.

    Attributes:
        lost_ticks: How much sound is missing before it, on the RTP clock.
    """

    payload: bytes
    lost_ticks: int


class JitterBuffer:
    """The packets of one stream.

    Attributes:
        received: Packets that came in time.
        lost: Packets that were given up.
        late: Packets that came after they were given up, or twice.
    """

    def __init__(self) -> None:
        """Starts empty."""
        self.received = self.lost = self.late = 0
        self._held: dict[int, tuple[int, bytes]] = {}
        self._next: int | None = None  # extended sequence number
        self._due_ticks: int | None = None  # RTP time at which the next packet begins
        self._gap_s: float | None = None  # when the gap before the held packets was noticed
        self._given_up: dict[int, float] = {}  # when their gaps were noticed
        self._lateness_s = FIRST_LATENESS_S

    @property
    def wait_s(self) -> float:
        """Longest wait for a missing packet."""
        return min(MAX_WAIT_S, max(MIN_WAIT_S, LATENESS_MARGIN * self._lateness_s))

    @property
    def due_s(self) -> float | None:
        """Time at which `on_time` must be called; None: never."""
        return None if self._gap_s is None else self._gap_s + self.wait_s

    def push_packet(self, sequence: int, timestamp: int, payload: bytes, now_s: float) -> list[OrderedPacket]:
        """Takes a packet as it comes. Returns the packets that are complete now, in order."""
        self._lateness_s *= LATENESS_DECAY
        if self._next is None:
            self._next = sequence
        number = self._next + ((sequence - self._next + 0x8000) & 0xFFFF) - 0x8000
        if abs(number - self._next) > RESTART_PACKETS:
            self._held.clear()
            self._given_up.clear()
            self._next, self._due_ticks, self._gap_s = number, None, None
        if number < self._next or number in self._held:
            self._came_late(number, now_s)
            return []
        self._held[number] = (timestamp, payload)
        if self._gap_s is not None and number < max(self._held):
            self._lateness_s = max(self._lateness_s, now_s - self._gap_s)
        ready = self._in_order(now_s)
        if self._held and (
            len(self._held) > MAX_HELD or (self._gap_s is not None and now_s >= self._gap_s + self.wait_s)
        ):
            ready += self._give_up(now_s)
        return ready

    def on_time(self, now_s: float) -> list[OrderedPacket]:
        """Gives up the missing packets if their time is over. Returns the packets after them."""
        if self.due_s is None or now_s < self.due_s:
            return []
        return self._give_up(now_s)

    def _came_late(self, number: int, now_s: float) -> None:
        self.late += 1
        noticed_s = self._given_up.pop(number, None)
        if noticed_s is not None:
            self._lateness_s = max(self._lateness_s, now_s - noticed_s)

    def _in_order(self, now_s: float) -> list[OrderedPacket]:
        ready = []
        assert self._next is not None
        while self._next in self._held:
            ready.append(self._taken(*self._held.pop(self._next)))
            self._next += 1
        if ready or not self._held:
            self._gap_s = None
        if self._held and self._gap_s is None:
            self._gap_s = now_s
        return ready

    def _give_up(self, now_s: float) -> list[OrderedPacket]:
        first, noticed_s = min(self._held), self._gap_s or now_s
        assert self._next is not None
        for number in range(max(self._next, first - MAX_HELD), first):
            self._given_up[number] = noticed_s
        while len(self._given_up) > MAX_HELD:
            del self._given_up[next(iter(self._given_up))]
        self.lost += first - self._next
        self._next = first
        return self._in_order(now_s)

    def _taken(self, timestamp: int, payload: bytes) -> OrderedPacket:
        """Measures the gap before a packet by the RTP clock: a client may also leave out silence (DTX)."""
        lost = 0 if self._due_ticks is None else (timestamp - self._due_ticks) & 0xFFFFFFFF
        if lost > MAX_GAP_S * RTP_RATE_HZ:  # also where the timestamp goes backwards
            lost = 0
        self._due_ticks = (timestamp + ticks_of(payload)) & 0xFFFFFFFF
        self.received += 1
        return OrderedPacket(payload, lost)
