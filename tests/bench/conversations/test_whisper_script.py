"""Tests the words of a piece of a recording."""

from dataclasses import replace

import numpy as np
import pytest

from audio.units import MIC_RATE_HZ, REPLY_RATE_HZ, Pcm
from bench.conversations.recordings import Recording
from bench.conversations.whisper_script import UNKNOWN, Script


def babble(seconds: float, seed: int) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    """Returns noise at MIC_RATE_HZ below 400 Hz, where a voice is loudest."""
    spectrum = np.fft.rfft(np.random.default_rng(seed).normal(0, 3000, round(seconds * MIC_RATE_HZ)))
    spectrum[round(400 * seconds) :] = 0
    return np.fft.irfft(spectrum, round(seconds * MIC_RATE_HZ)) * 6


def recording(name: str, seed: int, transcript: str | None) -> tuple[Recording, Pcm]:
    """Returns a recording of 4 s whose third second is quiet, and its sound at MIC_RATE_HZ."""
    sound = babble(4.0, seed)
    sound[2 * MIC_RATE_HZ : 3 * MIC_RATE_HZ] /= 100
    grid = np.arange(4 * REPLY_RATE_HZ) / REPLY_RATE_HZ * MIC_RATE_HZ
    wire = np.interp(grid, np.arange(sound.size), sound).astype(np.int16)
    return Recording(name, "plain", name, wire, 0.5, 3.9, transcript), sound.astype(np.int16)


A, SOUND_A = recording("a", 1, "one two three four five six")
B, SOUND_B = recording("b", 2, None)
SCRIPT = Script([A, B])


def upto(sound: Pcm, seconds: float, since_s: float = 0.0) -> Pcm:
    return sound[round(since_s * MIC_RATE_HZ) : round(seconds * MIC_RATE_HZ)]


def test_complete_recording_has_all_its_words() -> None:
    assert SCRIPT.words(SOUND_A) == "one two three four five six"


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.6, 0), (1.2, 1), (2.0, 2), (3.4, 5)], ids=["0.6 s", "1.2 s", "2.0 s", "3.4 s"]
)
def test_piece_has_the_words_so_far(seconds: float, words: int) -> None:
    assert len(SCRIPT.words(upto(SOUND_A, seconds)).split()) == words


@pytest.mark.parametrize(("unsure_s", "words"), [(0.0, 5), (0.05, 6)], ids=["certain end", "uncertain end"])
def test_last_word_ends_at_earliest_labelled_end(unsure_s: float, words: int) -> None:
    script = Script([replace(A, end_unsure_s=unsure_s), B])
    assert len(script.words(upto(SOUND_A, 3.87)).split()) == words


def test_later_piece_has_only_its_own_words() -> None:
    assert SCRIPT.words(upto(SOUND_A, 3.95, since_s=2.0)) == "three four five six"


def test_surrounding_room_noise_adds_no_words() -> None:
    room = np.random.default_rng(9).normal(0, 20, MIC_RATE_HZ).astype(np.int16)
    assert SCRIPT.words(np.concatenate([room, SOUND_A, room])) == "one two three four five six"


def test_recording_without_transcript_has_words_at_usual_pace() -> None:
    assert SCRIPT.words(SOUND_B).split() == UNKNOWN[-8:]


def test_volume_does_not_matter() -> None:
    assert SCRIPT.words((SOUND_A * 0.3).astype(np.int16)) == "one two three four five six"


def test_unknown_sound_has_no_words() -> None:
    assert SCRIPT.words(babble(3.0, 77).astype(np.int16)) == ""
    assert SCRIPT.words((babble(3.0, 77) / 100).astype(np.int16)) == ""  # softer than any recording
    assert SCRIPT.words(np.zeros(MIC_RATE_HZ, np.int16)) == ""
    assert Script([]).words(SOUND_A) == ""
