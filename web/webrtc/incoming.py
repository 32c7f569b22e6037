"""The client's sound: Opus packets from the network to gapless PCM. Pure: the clock is passed in."""

import numpy as np

from audio.units import REPLY_RATE_HZ, Pcm
from web.webrtc.jitter_buffer import JitterBuffer, OrderedPacket
from web.webrtc.opus import FRAME_SAMPLES, RTP_RATE_HZ, OpusDecoder

CONCEALED_SAMPLES = 3 * FRAME_SAMPLES
"""A longer gap ends in silence: concealment repeats the last sound, and fades out."""

_STEP = REPLY_RATE_HZ // 400
"""libopus conceals multiples of 2.5 ms."""


class IncomingAudio:
    """Decodes one stream in order. Its length is that of the RTP clock: what is lost is concealed.

    Attributes:
        buffer: Orders the packets.
    """

    def __init__(self) -> None:
        """Creates the decoder. Raises OpusMissingError."""
        self.buffer = JitterBuffer()
        self._decoder = OpusDecoder()

    def push_packet(self, sequence: int, timestamp: int, payload: bytes, now_s: float) -> list[Pcm]:
        """Takes a packet as it comes. Returns blocks of int16 (n,) at 24 kHz."""
        return self._decoded(self.buffer.push_packet(sequence, timestamp, payload, now_s))

    def on_time(self, now_s: float) -> list[Pcm]:
        """Gives up missing packets whose time is over (`buffer.due_s`). Returns the blocks after them."""
        return self._decoded(self.buffer.on_time(now_s))

    def _decoded(self, packets: list[OrderedPacket]) -> list[Pcm]:
        blocks: list[Pcm] = []
        for packet in packets:
            if packet.lost_ticks:
                blocks += self._concealed(packet)
            blocks.append(self._decoder.decode(packet.payload))
        return [block for block in blocks if len(block)]

    def _concealed(self, packet: OrderedPacket) -> list[Pcm]:
        """Returns sound for the gap before a packet, whose last frame may have a copy in the packet."""
        missing = packet.lost_ticks * REPLY_RATE_HZ // RTP_RATE_HZ
        copied = min(FRAME_SAMPLES, missing // _STEP * _STEP)
        before = missing - copied
        blocks: list[Pcm] = []
        left = min(before, CONCEALED_SAMPLES)
        while left >= _STEP:
            block = self._decoder.conceal(min(left // _STEP * _STEP, FRAME_SAMPLES))
            blocks.append(block)
            left -= len(block)
            if not len(block):
                break
        filled = sum(len(block) for block in blocks)
        if filled < before:
            blocks.append(np.zeros(before - filled, np.int16))
        if copied:
            blocks.append(self._decoder.decode_copy(packet.payload, copied))
        return blocks
