"""Tests of the messages between replicas and gateways, also of a newer version."""

import numpy as np
from support.engines.scripted_cluster import INFO

from audio.cluster.wire import (
    received_chunk,
    received_info,
    received_pcm,
    sent_chunk,
    sent_info,
    sent_pcm,
)
from audio.stt import FirstWord, Punctuation, TokenProbability
from audio.stt.whisper.cluster.wire import received_decode, sent_decode
from audio.stt.whisper.model import Decoded
from audio.tts import Chunk, WordMark
from audio.units import ReplySamples

PCM = np.array([0, 1, -32768, 32767], np.int16)


def test_sound_arrives_unchanged() -> None:
    assert np.array_equal(received_pcm(sent_pcm(PCM)), PCM)
    assert received_pcm(sent_pcm(PCM)).dtype == np.int16


def test_decode_arrives_unchanged() -> None:
    decoded = Decoded(
        "what time",
        "loop",
        "en",
        True,
        Punctuation(0.9, 0.1),
        True,
        "de",
        FirstWord((("wh", 0.5), ("", 0.5))),
        (TokenProbability("what", -0.1),),
    )
    assert received_decode(sent_decode(decoded), PCM) == decoded
    bare = Decoded("", "", "en", False)
    assert received_decode(sent_decode(bare), PCM) == bare


def test_segment_stands_for_the_encoding_that_stays_in_the_replica() -> None:
    decoded = Decoded("what", "", "en", False, encoded=object())
    assert received_decode(sent_decode(decoded), PCM).encoded is PCM
    assert received_decode(sent_decode(Decoded("what", "", "en", False)), PCM).encoded is None


def test_unknown_fields_of_a_newer_replica_are_ignored() -> None:
    assert received_decode({**sent_decode(Decoded("what", "", "en", False)), "new": 1}, PCM).text == "what"
    assert received_info({**sent_info(INFO), "new": 1}) == INFO


def test_chunk_arrives_with_its_marks() -> None:
    mark = WordMark(0, 5, ReplySamples(0), ReplySamples(4), estimated=True)
    chunk = received_chunk(sent_chunk(Chunk(PCM, (mark,))))
    assert np.array_equal(chunk.pcm, PCM)
    assert chunk.marks == (mark,)
