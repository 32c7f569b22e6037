"""Converts results between a replica and a gateway: dictionaries of plain values.

They are not pickled objects, so that a gateway and a replica of different versions understand each other during an
update: unknown keys are ignored, and keys that were added after the first version have defaults.
"""

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

import numpy as np

from audio.cluster import ReplicaInfo
from audio.tts import Chunk, WordMark
from audio.units import Pcm, ReplySamples

Wire = Mapping[str, Any]


def sent_pcm(pcm: Pcm) -> bytes:
    """Returns the samples as little-endian int16."""
    return pcm.astype("<i2", copy=False).tobytes()


def received_pcm(sound: bytes) -> Pcm:
    """Returns the samples that `sent_pcm` has converted. They cannot be modified."""
    return np.frombuffer(sound, "<i2").astype(np.int16, copy=False)


def sent_chunk(chunk: Chunk) -> dict[str, Any]:
    """Returns an audio chunk as a dictionary."""
    marks = [(mark.text_start, mark.text_end, mark.start, mark.end, mark.estimated) for mark in chunk.marks]
    return {"pcm": sent_pcm(chunk.pcm), "marks": marks}


def received_chunk(wire: Wire) -> Chunk:
    """Returns the audio chunk of a dictionary."""
    marks = (
        WordMark(text_start, text_end, ReplySamples(start), ReplySamples(end), estimated)
        for text_start, text_end, start, end, estimated in wire["marks"]
    )
    return Chunk(received_pcm(wire["pcm"]), tuple(marks))


def sent_info(info: ReplicaInfo) -> dict[str, Any]:
    """Returns the state of a replica as a dictionary."""
    return asdict(info)


def received_info(wire: Wire) -> ReplicaInfo:
    """Returns the state of a replica. Raises TypeError if a field is missing."""
    known = {field.name for field in fields(ReplicaInfo)}
    return ReplicaInfo(**{key: value for key, value in wire.items() if key in known})
