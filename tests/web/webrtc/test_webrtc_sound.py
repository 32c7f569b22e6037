"""Sound of WebRTC calls: order and loss of packets, concealment, paced replies and what was played of them."""

import random

import numpy as np
import pytest

from audio.units import REPLY_RATE_HZ, Pcm
from web.webrtc.incoming import IncomingAudio
from web.webrtc.jitter_buffer import MAX_WAIT_S, JitterBuffer, OrderedPacket
from web.webrtc.opus import FRAME_SAMPLES, FRAME_TICKS, SILENCE, OpusDecoder, OpusEncoder, ticks_of
from web.webrtc.outgoing import OutgoingAudio

TICKS = FRAME_TICKS
FRAME = b"\x48abc"
"""A SILK packet of 20 ms."""


def tone(ms: int) -> Pcm:
    at = np.arange(REPLY_RATE_HZ * ms // 1000)
    wave: Pcm = (8000 * np.sin(at * 2 * np.pi * 310 / REPLY_RATE_HZ)).astype(np.int16)
    return wave


def packets(pcm: Pcm) -> list[bytes]:
    encoder = OpusEncoder()
    return [encoder.encode(frame) for frame in pcm.reshape(-1, FRAME_SAMPLES)]


def pushed(buffer: JitterBuffer, sequence: int, now_s: float) -> list[OrderedPacket]:
    return buffer.push_packet(sequence & 0xFFFF, sequence * TICKS & 0xFFFFFFFF, FRAME, now_s)


def lost_frames(ready: list[OrderedPacket]) -> list[int]:
    return [one.lost_ticks // TICKS for one in ready]


def test_packets_in_order_do_not_wait_whatever_their_jitter() -> None:
    buffer = JitterBuffer()
    for number, now_s in enumerate([0.0, 0.02, 0.3, 0.3, 0.3, 0.31]):
        assert lost_frames(pushed(buffer, number, now_s)) == [0]
    assert buffer.due_s is None


def test_packets_are_put_in_order() -> None:
    buffer = JitterBuffer()
    pushed(buffer, 5, 0.0)
    assert pushed(buffer, 7, 0.02) == []
    assert lost_frames(pushed(buffer, 6, 0.03)) == [0, 0]
    assert buffer.due_s is None


def test_missing_packet_is_given_up_after_the_wait() -> None:
    buffer = JitterBuffer()
    pushed(buffer, 0, 0.0)
    pushed(buffer, 2, 0.02)
    due_s = buffer.due_s
    assert due_s is not None
    assert 0.02 < due_s <= 0.02 + 0.05
    assert buffer.on_time(due_s - 0.001) == []
    assert lost_frames(buffer.on_time(due_s)) == [1]
    assert pushed(buffer, 1, due_s + 0.01) == []  # too late
    assert (buffer.received, buffer.lost, buffer.late) == (2, 1, 1)


def test_wait_grows_with_lateness_and_shrinks_again() -> None:
    buffer = JitterBuffer()
    now_s, number = 0.0, 0
    for _ in range(20):
        pushed(buffer, number, now_s)
        pushed(buffer, number + 2, now_s + 0.02)
        for ready_s in np.arange(now_s + 0.02, now_s + 0.12, 0.01):
            buffer.on_time(float(ready_s))
        pushed(buffer, number + 1, now_s + 0.12)
        now_s, number = now_s + 0.2, number + 3
    assert 0.1 <= buffer.wait_s <= MAX_WAIT_S
    for _ in range(2000):
        pushed(buffer, number, now_s)
        now_s, number = now_s + 0.02, number + 1
    assert buffer.wait_s < 0.03


def test_sequence_numbers_and_timestamps_wrap() -> None:
    buffer = JitterBuffer()
    first = 0xFFFF * 3 + 0xFFFE
    for number in range(first, first + 6):
        at = (0xFFFFFFFF - TICKS + (number - first) * TICKS) & 0xFFFFFFFF
        assert lost_frames(buffer.push_packet(number & 0xFFFF, at, FRAME, 0.0)) == [0]


def test_stream_that_begins_anew_has_no_gap() -> None:
    buffer = JitterBuffer()
    pushed(buffer, 0, 0.0)
    assert lost_frames(pushed(buffer, 20_000, 0.02)) == [0]


def test_packet_sent_twice_is_passed_on_once() -> None:
    buffer = JitterBuffer()
    pushed(buffer, 0, 0.0)
    assert pushed(buffer, 0, 0.0) == []
    pushed(buffer, 2, 0.0)
    assert pushed(buffer, 2, 0.0) == []


@pytest.mark.parametrize(("packet", "ms"), [(SILENCE, 20), (b"\x58x", 60), (b"\x48x", 20), (b"\x40x", 10), (b"", 0)])
def test_packet_tells_its_length(packet: bytes, ms: float) -> None:
    assert ticks_of(packet) == ms * 48


@pytest.mark.parametrize("loss", [0.0, 0.05, 0.1, 0.3])
def test_sound_keeps_its_length_under_loss_and_reordering(loss: float) -> None:
    pcm, chance, incoming = tone(4000), random.Random(1), IncomingAudio()
    arrivals = []
    for number, packet in enumerate(packets(pcm)):
        if number == 0 or number > 190 or chance.random() >= loss:
            arrivals.append((number * 0.02 + chance.random() * 0.06, number, packet))
    heard = [
        block
        for now_s, number, packet in sorted(arrivals)
        for block in incoming.on_time(now_s) + incoming.push_packet(number, number * TICKS, packet, now_s)
    ]
    heard += incoming.on_time(99.0)
    assert abs(sum(map(len, heard)) - len(pcm)) <= FRAME_SAMPLES
    assert incoming.buffer.late <= 4


def test_lost_frame_is_restored_from_the_copy_in_the_next_one() -> None:
    """Its sound is closer to the original than a concealed frame."""
    chance = np.random.default_rng(3)
    pcm = tone(1000)
    pcm[12_000:] = (chance.normal(0, 1500, 12_000)).astype(np.int16) + tone(500)[::-1] // 2
    sent, missing = packets(pcm), 25  # where the sound changes

    def restored(*, copy: bool) -> Pcm:
        decoder = OpusDecoder()
        for packet in sent[:missing]:
            decoder.decode(packet)
        return decoder.decode_copy(sent[missing + 1], FRAME_SAMPLES) if copy else decoder.conceal(FRAME_SAMPLES)

    whole = OpusDecoder()
    original = [whole.decode(packet) for packet in sent][missing].astype(float)

    def error(pcm: Pcm) -> float:
        return float(np.mean((pcm.astype(float) - original) ** 2))

    assert error(restored(copy=True)) < error(restored(copy=False))


def test_invalid_packets_are_no_sound() -> None:
    incoming = IncomingAudio()
    for number, packet in enumerate([b"", b"\xff", b"\x03\xff\xff", bytes(40)]):
        incoming.push_packet(number, number * TICKS, packet, number * 0.02)


# ---- replies ----


def sent_out(outgoing: OutgoingAudio, frames: int, at_s: float = 0.0) -> list[Pcm | None]:
    return [outgoing.next_frame(at_s + number * 0.02 + 0.08) for number in range(frames)]


def test_reply_is_sent_in_frames_and_its_playback_is_reported_later() -> None:
    outgoing, told = OutgoingAudio(), []
    outgoing.started = lambda response: told.append(("started", response))
    outgoing.stopped = lambda response: told.append(("stopped", response))
    outgoing.push_chunk("r", "i", tone(250))
    assert [frame is not None for frame in sent_out(outgoing, 14)] == [True] * 12 + [False] * 2
    outgoing.complete("r")
    assert [frame is not None for frame in sent_out(outgoing, 2, 0.28)] == [True, False]
    assert told == [("started", "r"), ("stopped", "r")]
    assert outgoing.reports(0.05) == []
    first, *_, last = outgoing.reports(1.0)
    assert (first.played_ms, first.finished) == (0.0, False)
    assert (last.played_ms, last.finished) == (250.0, True)


def test_interrupted_reply_ends_within_a_frame_and_is_not_reported_further() -> None:
    outgoing = OutgoingAudio()
    outgoing.push_chunk("r", "i", tone(1000))
    sent_out(outgoing, 10)
    assert outgoing.drop(item_id="i") == "r"
    assert outgoing.next_frame(1.0) is None
    assert outgoing.reports(9.0) == []
    outgoing.push_chunk("r", "i", tone(100))  # was on its way
    assert outgoing.next_frame(1.0) is None
    assert outgoing.drop(response_id="r") is None


def test_next_reply_waits_for_the_one_before() -> None:
    outgoing = OutgoingAudio()
    outgoing.push_chunk("a", "1", tone(40))
    outgoing.push_chunk("b", "2", tone(40))
    sent_out(outgoing, 3)
    assert not [one for one in outgoing.reports(9.0) if one.response_id == "b"]
    outgoing.complete("a")
    outgoing.complete("b")
    sent_out(outgoing, 5)
    assert [one.response_id for one in outgoing.reports(9.0) if one.finished] == ["a", "b"]
    assert not outgoing.playing
