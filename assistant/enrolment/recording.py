"""Makes a voice of a recording: finds the speech, checks it, computes its embedding. Blocks: call it in a thread."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from assistant.speakers.voiceprint import Voiceprint
from audio.frame import Frame
from audio.speaker_embedding.embedder import Embedding
from audio.units import FRAME_SAMPLES, MIC_RATE_HZ, Pcm, Samples, samples_of_s
from audio.vad import Vad

RECORD_S = 30.0
"""Length of a recording by the microphone, in seconds."""

MAX_RECORD_S = 120.0
"""Seconds of a longer file that are used."""

MIN_SPEECH_S = 10.0
"""Least speech of a voice, in seconds: four to five times the 2 s with which the embedder was judged."""

PIECE_S = 2.0
"""Length of the pieces that are compared with each other, in seconds."""

MIN_LEVEL_DBFS = -45.0
"""Least level of the speech, as for the check of a microphone (`assistant/first_run/microphone.py`)."""

MIN_ABOVE_BACKGROUND_DB = 10.0
"""Least level of the speech above the pauses; below it a television or another person may be in it."""

MAX_CLIPPED_SHARE = 0.01
"""Largest share of speech samples at full scale."""

ONE_VOICE = 0.4
"""Similarity of two pieces below which they may be of two people: of 12 *train* speakers, at most 3 % of the pairs of
one are below, even across recordings; of 132 mixtures with 2 to 10 s of another, 80 % are refused."""

MAX_UNLIKE_SHARE = 0.1
"""Largest share of pairs of pieces that are unlike. One piece of ten by somebody else makes a fifth of the pairs."""

_FULL_SCALE = 32_700
_SILENCE_DBFS = -100.0


class EnrolmentError(Exception):
    """A recording cannot become a voice. The text is a sentence: what is wrong, and the remedy.

    Attributes:
        code: By which the page has the sentence in its own language.
    """

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code


@dataclass(slots=True)
class SpeechCollector:
    """Collects the speech of a recording, frame by frame.

    Attributes:
        vad: Finds the speech.
    """

    vad: Vad
    _speech: list[Pcm] = field(default_factory=list)
    _pauses_dbfs: list[float] = field(default_factory=list)
    _position: Samples = Samples(0)

    @property
    def speech_s(self) -> float:
        """Seconds of speech so far."""
        return len(self._speech) * FRAME_SAMPLES / MIC_RATE_HZ

    @property
    def heard_s(self) -> float:
        """Seconds of sound so far."""
        return self._position / MIC_RATE_HZ

    def add_frame(self, pcm: Pcm) -> None:
        """Takes the next 20 ms, int16 at 16 kHz. Raises VadError."""
        frame = Frame(self._position, pcm)
        self._position = frame.end
        if self.vad.process(frame).speaking:
            self._speech.append(pcm.copy())
        else:
            self._pauses_dbfs.append(_level_dbfs(pcm))

    def add_sound(self, pcm: Pcm) -> None:
        """Takes the next sound of any length; an incomplete frame at its end is left out. Raises VadError."""
        for start in range(0, len(pcm) - FRAME_SAMPLES + 1, FRAME_SAMPLES):
            self.add_frame(pcm[start : start + FRAME_SAMPLES])

    def checked_speech(self) -> Pcm:
        """Returns the speech. Raises EnrolmentError if it is too little, too quiet, clipped or too noisy."""
        if not self._speech or max(map(_level_dbfs, self._speech)) <= _SILENCE_DBFS:
            raise EnrolmentError(
                "voice_no_speech",
                "no speech was heard: the microphone is muted, or it is the wrong one. Unmute it, or choose another",
            )
        speech = np.concatenate(self._speech)
        level_dbfs = float(np.median([_level_dbfs(frame) for frame in self._speech]))
        if level_dbfs < MIN_LEVEL_DBFS:
            raise EnrolmentError(
                "voice_too_quiet",
                f"the voice is too quiet ({level_dbfs:.0f} dBFS): raise the microphone's level, or move nearer",
            )
        if self.speech_s < MIN_SPEECH_S:
            raise EnrolmentError(
                "voice_too_short",
                f"only {self.speech_s:.0f} s of speech were heard, and {MIN_SPEECH_S:.0f} s are needed: speak for the "
                "whole time, without long pauses",
            )
        if float(np.mean(np.abs(speech.astype(np.int32)) >= _FULL_SCALE)) > MAX_CLIPPED_SHARE:
            raise EnrolmentError(
                "voice_clipped", "the voice is clipped: lower the microphone's level, or move away from it"
            )
        if self._pauses_dbfs and level_dbfs - float(np.median(self._pauses_dbfs)) < MIN_ABOVE_BACKGROUND_DB:
            raise EnrolmentError(
                "voice_too_noisy",
                "the background is nearly as loud as the voice: record again in a quiet room, nearer to the microphone",
            )
        return speech


def voiceprint_of(name: str, speech: Pcm, embedding: Callable[[Pcm], Embedding]) -> Voiceprint:
    """Returns the voice of checked speech. Raises EnrolmentError if several people speak, and EngineError.

    Args:
        name: The name of the person.
        speech: Speech without pauses, int16 at 16 kHz.
        embedding: Computes the embedding of a piece.
    """
    step = samples_of_s(PIECE_S)
    pieces = [speech[start : start + step] for start in range(0, len(speech) - step + 1, step)]
    embeddings = [embedding(piece) for piece in pieces]
    pairs = list(combinations(embeddings, 2))
    unlike = sum(float(np.dot(one, other)) < ONE_VOICE for one, other in pairs)
    if unlike > MAX_UNLIKE_SHARE * len(pairs):
        raise EnrolmentError(
            "voice_several",
            "more than one voice was heard: record again without other people, television or music",
        )
    return Voiceprint.of(name, [(piece, PIECE_S) for piece in embeddings])


def _level_dbfs(pcm: Pcm) -> float:
    power = float(np.mean(np.square(pcm.astype(np.float32) / 32_768)))
    return max(_SILENCE_DBFS, 10 * math.log10(power)) if power > 0 else _SILENCE_DBFS
