"""G.711 compared with known vectors and with the standard library if available."""

import sys
import warnings

import numpy as np
import pytest

from audio.formats.g711 import decode_alaw, decode_ulaw, encode_alaw, encode_ulaw

EVERY_SAMPLE = np.arange(-32_768, 32_768, dtype=np.int32).astype(np.int16)
EVERY_BYTE = bytes(range(256))


@pytest.mark.parametrize(
    ("sample", "ulaw", "alaw"),
    [(0, 0xFF, 0xD5), (-1, 0x7E, 0x55), (32_767, 0x80, 0xAA), (-32_768, 0x00, 0x2A), (1_000, 0xCE, 0xFA)],
    ids=["zero", "minus one", "largest", "smallest", "1000"],
)
def test_encoding_of_known_samples(sample: int, ulaw: int, alaw: int) -> None:
    pcm = np.array([sample], np.int16)
    assert encode_ulaw(pcm) == bytes([ulaw])
    assert encode_alaw(pcm) == bytes([alaw])


@pytest.mark.parametrize(
    ("code", "of_ulaw", "of_alaw"),
    [
        pytest.param(0x00, -32_124, -5_504, id="0x00"),
        pytest.param(0x80, 32_124, 5_504, id="0x80"),
        pytest.param(0xFF, 0, 848, id="0xff"),
        pytest.param(0x7F, 0, -848, id="0x7f"),
        pytest.param(0xD5, 716, 8, id="0xd5"),
        pytest.param(0x2A, -5_372, -32_256, id="0x2a"),
    ],
)
def test_decoding_of_known_bytes(code: int, of_ulaw: int, of_alaw: int) -> None:
    assert decode_ulaw(bytes([code])).tolist() == [of_ulaw]
    assert decode_alaw(bytes([code])).tolist() == [of_alaw]


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="audioop left the standard library with Python 3.13")
def test_all_values_match_standard_library() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        import audioop  # noqa: PLC0415 - deprecated: imported where the warning is caught

    linear = EVERY_SAMPLE.astype("<i2").tobytes()
    assert encode_ulaw(EVERY_SAMPLE) == audioop.lin2ulaw(linear, 2)
    assert encode_alaw(EVERY_SAMPLE) == audioop.lin2alaw(linear, 2)
    assert decode_ulaw(EVERY_BYTE).astype("<i2").tobytes() == audioop.ulaw2lin(EVERY_BYTE, 2)
    assert decode_alaw(EVERY_BYTE).astype("<i2").tobytes() == audioop.alaw2lin(EVERY_BYTE, 2)


def test_non_contiguous_input_is_accepted() -> None:
    every_second = EVERY_SAMPLE[::2]
    assert encode_ulaw(every_second) == encode_ulaw(every_second.copy())
    assert encode_alaw(every_second) == encode_alaw(every_second.copy())
    assert encode_ulaw(EVERY_SAMPLE[:0]) == b""
    assert decode_alaw(b"").dtype == np.int16
