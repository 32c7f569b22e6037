"""A VAD with scripted results, independent of the sound."""

from audio.frame import Frame
from audio.units import Samples, samples_of_ms
from audio.vad import Vad, VadResult


class ScriptedVad(Vad):
    """Reports scripted speech: from and to in ms, with a probability."""

    name, end_bias_ms = "scripted", 0.0

    def __init__(self, *voices: tuple[int, int, float]) -> None:
        self.voices = voices

    def process(self, frame: Frame) -> VadResult:
        edge = Samples(0)
        for begin_ms, end_ms, probability in self.voices:
            begin, end = samples_of_ms(begin_ms), samples_of_ms(end_ms)
            if begin < frame.end <= end:
                return VadResult(True, begin, probability)
            edge = end if end < frame.end else edge
        return VadResult(False, edge, 0.0)

    def reset(self) -> None:
        pass
