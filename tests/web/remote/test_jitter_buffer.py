"""The size of the buffer before playback."""

from audio.units import reply_samples_of_ms
from web.remote.sound.jitter_buffer import FIRST_MS, MAX_MS, JitterBuffer


def test_buffer_grows_after_underruns_and_shrinks_without() -> None:
    jitter_buffer = JitterBuffer()
    assert jitter_buffer.samples == 0
    sizes = []
    for _ in range(5):
        jitter_buffer.begin()
        jitter_buffer.ran_dry()
        jitter_buffer.over()
        sizes.append(jitter_buffer.samples)
    assert sizes == [reply_samples_of_ms(ms) for ms in (FIRST_MS, 120, 240, MAX_MS, MAX_MS)]
    assert jitter_buffer.underruns == 5
    sizes = []
    for _ in range(5):
        jitter_buffer.begin()
        jitter_buffer.over()
        sizes.append(jitter_buffer.samples)
    assert sizes == [reply_samples_of_ms(ms) for ms in (240, 120, FIRST_MS, 0, 0)]
