"""Holds every threshold of who speaks. Similarities are cosines of speaker embeddings, -1..1.

They were chosen on the *train* speakers of real calls and dictation (docs/performance.md, "Who speaks"): the cosines of
a voice with its own speech and with speech of others.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SpeakerThresholds:
    """Thresholds of labels and of the focus."""

    min_speech_s: float = 0.8
    """Least speech in s whose embedding counts. The network hears windows of 0.8 s; shorter speech is padded."""

    same_voice: float = 0.65
    """Similarity from which speech is of a known voice: near the equal error rate."""

    enrolled_voice: float = 0.8
    """Similarity from which speech gets the name of an enrolled voice: stricter, since a wrong name says more. Two
    thirds of a voice's own recordings of other calls reach it, and one in twelve of another person's."""

    keep_voice: float = 0.5
    """Similarity from which speech keeps the label of the speech before it. Few stretches of the same voice are
    below."""

    new_voice: float = 0.45
    """Similarity to every known voice below which speech is a new voice. Between, it keeps the label before it."""

    min_lead: float = 0.1
    """Lead in similarity by which another known voice takes the label from the voice that spoke last."""

    max_voices: int = 8
    """Limit on the voices that get a label S1, S2, ... in one conversation. Later ones get none."""

    max_memory_s: float = 20.0
    """Seconds of speech up to which what a voice is made of counts, so that it follows a voice that changes."""

    # ---- the focus: verdicts on windows of 0.8 s, one for each 0.6 s of speech ----

    other: tuple[float, ...] = (0.15, 0.38, 0.45)
    """Similarity to the voices that the assistant listens to below which speech is certainly of another voice, after
    one, two, and more windows. One window says little, so it decides only where it is far below. With these, none of 96
    own turns of *train* was lost, alone or over another voice; with 0.42 and 0.5, four were."""

    own: float = 0.66
    """Similarity from which speech is certainly of a voice that the assistant listens to."""

    max_windows: int = 3
    """Windows that count, the last 2 s of speech, so that a voice that begins in the speech of another shows soon."""

    max_ignored: int = 4
    """Turns of one other voice in a row, with none answered between, after which the first voice is let go: a person
    who gets no answer repeats it two or three times. In a television, people mostly speak in turn."""

    min_first_s: float = 0.8
    """Least speech in s of the turn whose voice becomes that of the conversation."""


THRESHOLDS = SpeakerThresholds()
