"""Onsets and offsets from scripted scores over known audio."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

import numpy as np
import pytest

from audio.frame import Frame
from audio.units import FRAME_SAMPLES, Pcm, Samples
from audio.vad import VadResult
from audio.vad.hysteresis import HysteresisSettings
from audio.vad.speech_tracker import SpeechTracker, TrackSettings

SETTINGS = TrackSettings(
    hysteresis=HysteresisSettings(
        open_score=0.5, close_score=0.5, open_samples=Samples(640), hold_samples=Samples(1_280)
    ),
    margin_db=6.0,
    end_bias_ms=0.0,
)


def sound(frames: int, *bursts: tuple[int, int, float]) -> Pcm:
    """A quiet room with 1 kHz between pairs of samples at an amplitude."""
    wave = np.random.default_rng(2).normal(0, 8, frames * FRAME_SAMPLES)
    for begin, end, amplitude in bursts:
        wave[begin:end] += amplitude * np.sin(2 * np.pi * np.arange(begin, end) / 16)
    return wave.round().astype(np.int16)


def heard(
    pcm: Pcm, scores: Mapping[int, float], *, track: SpeechTracker | None = None, inserted: Collection[int] = ()
) -> Iterator[tuple[SpeechTracker, VadResult]]:
    """Yields the tracker and its result after each frame. Frames without a score have 0; `inserted` ones are silent."""
    track = track or SpeechTracker(SETTINGS)
    for number in range(len(pcm) // FRAME_SAMPLES):
        is_inserted, score = number in inserted, scores.get(number, 0.0)
        samples = pcm[number * FRAME_SAMPLES : (number + 1) * FRAME_SAMPLES] * (not is_inserted)
        frame = Frame(Samples(number * FRAME_SAMPLES), samples, is_inserted)
        track.push_frame(frame)
        track.step(score, frame.start, frame.end)
        yield track, track.result(score)


def results(track: SpeechTracker, pcm: Pcm, voiced: set[int]) -> list[VadResult]:
    """Score 1 in the frames of `voiced`, else 0."""
    return [result for _, result in heard(pcm, dict.fromkeys(voiced, 1.0), track=track)]


def test_onset_and_end_in_reverberation_are_dated_by_audio() -> None:
    """Sound from 8 000 to 16 000; the detector fires 80 ms late and stays open for 40 ms after the sound."""
    voicings = results(SpeechTracker(SETTINGS), sound(80, (8_000, 16_000, 4_000)), set(range(29, 52)))
    assert not voicings[29].speaking
    assert voicings[30].speaking
    assert abs(voicings[30].boundary - 8_000) <= 80
    assert [result.speaking for result in voicings[54:57]] == [True, False, False]
    assert abs(voicings[-1].boundary - 16_000) <= 320


def test_end_is_dated_by_scores_if_audio_continues() -> None:
    voicings = results(SpeechTracker(SETTINGS), sound(80, (8_000, 20_000, 4_000)), set(range(26, 52)))
    assert voicings[-1].boundary == 52 * FRAME_SAMPLES


@pytest.mark.parametrize("bias_ms", [-10.0, 30.0], ids="bias of {} ms".format)
def test_bias_is_subtracted_from_end_only(bias_ms: float) -> None:
    pcm, voiced = sound(80, (8_000, 20_000, 4_000)), set(range(26, 52))
    plain = results(SpeechTracker(SETTINGS), pcm, voiced)
    shifted = results(SpeechTracker(replace(SETTINGS, end_bias_ms=bias_ms)), pcm, voiced)
    assert shifted[30] == plain[30]
    assert plain[-1].boundary - shifted[-1].boundary == bias_ms * 16


def test_second_onset_is_not_dated_into_first_speech() -> None:
    """The sound is continuous, the scores are not: the second speech starts where the first ended."""
    pcm = sound(80, (8_000, 11_000, 4_000), (11_000, 15_000, 1_500), (15_000, 20_000, 4_000))
    voicings = results(SpeechTracker(SETTINGS), pcm, set(range(26, 40)) | set(range(45, 60)))
    closed = next(result for result in voicings[30:] if not result.speaking)
    reopened = next(result for result in voicings[45:] if result.speaking)
    assert reopened.boundary == closed.boundary


def test_bias_longer_than_speech_ends_at_onset() -> None:
    track = SpeechTracker(replace(SETTINGS, end_bias_ms=500.0))
    voicings = results(track, sound(60, (8_000, 9_600, 4_000)), set(range(25, 30)))
    assert voicings[-1].boundary == voicings[27].boundary
    assert voicings[27].speaking


def test_boundaries_do_not_depend_on_level_reads() -> None:
    pcm = sound(600, (8_000, 20_000, 4_000), (60_000, 64_000, 900), (90_000, 150_000, 6_000))
    rng = np.random.default_rng(5)
    voiced = {
        i for i in range(600) if rng.random() < (0.9 if np.abs(pcm[i * 320 : i * 320 + 320]).max() > 400 else 0.1)
    }
    seldom, always = SpeechTracker(SETTINGS), SpeechTracker(SETTINGS)
    loud = 0
    for i in range(600):
        frame = Frame(
            Samples(i * FRAME_SAMPLES), pcm[i * FRAME_SAMPLES : (i + 1) * FRAME_SAMPLES], is_inserted=i % 70 == 9
        )
        for track in (seldom, always):
            track.push_frame(frame)
            loud += track is always and track.above_noise_floor
            if i % 3:  # like windows longer than frames
                track.step(float(i in voiced), frame.start, frame.end)
        assert seldom.result(0.0) == always.result(0.0)
    assert seldom.above_noise_floor == always.above_noise_floor
    assert loud > 20


def test_reset_drops_frames_without_levels() -> None:
    used = SpeechTracker(SETTINGS)
    results(used, sound(25, (0, 8_000, 9_000)), set())
    used.reset()
    pcm = sound(80, (8_000, 16_000, 4_000))
    assert results(used, pcm, set(range(29, 52))) == results(SpeechTracker(SETTINGS), pcm, set(range(29, 52)))


def possible_onsets(pcm: Pcm, scores: dict[int, float]) -> list[int]:
    """Returns the frames with a possible onset, for the given scores (default 0)."""
    found = [number for number, (_, result) in enumerate(heard(pcm, scores)) if result.possible_onset]
    assert not any(result.speaking and result.possible_onset for _, result in heard(pcm, scores))
    return found


SPOKEN = dict.fromkeys(range(26, 50), 1.0)
"""Scores of a second's half, of sound from 8 000 to 16 000: from frame 54 on it is known to be over."""


@pytest.mark.parametrize(
    ("score", "stirs"), [(0.24, []), (0.25, [60]), (0.49, [60])], ids=["score 0.24", "score 0.25", "score 0.49"]
)
def test_half_likely_score_is_possible_onset(score: float, stirs: list[int]) -> None:
    assert possible_onsets(sound(80, (8_000, 16_000, 4_000)), SPOKEN | {60: score}) == stirs


@pytest.mark.parametrize(("amplitude", "stirs"), [(10.0, []), (60.0, [60])], ids=["soft", "loud"])
def test_level_above_silence_is_possible_onset(amplitude: float, stirs: list[int]) -> None:
    burst = (60 * FRAME_SAMPLES, 61 * FRAME_SAMPLES, amplitude)
    assert possible_onsets(sound(80, (8_000, 16_000, 4_000), burst), SPOKEN) == stirs


def test_room_after_digital_silence_is_no_possible_onset() -> None:
    pcm = sound(80, (8_000, 16_000, 4_000))
    pcm[16_000 : 60 * FRAME_SAMPLES] = 0
    assert possible_onsets(pcm, SPOKEN) == []


def test_no_possible_onset_before_speech_or_long_after() -> None:
    long_after = 60 + 250
    before = (5 * FRAME_SAMPLES, 6 * FRAME_SAMPLES, 900.0)
    after = (long_after * FRAME_SAMPLES, (long_after + 1) * FRAME_SAMPLES, 900.0)
    pcm = sound(320, before, (8_000, 16_000, 4_000), after)
    assert possible_onsets(pcm, SPOKEN | {10: 0.4, long_after + 3: 0.4}) == []


def test_inserted_silence_does_not_change_noise_floor() -> None:
    course = heard(sound(80, (8_000, 16_000, 4_000)), SPOKEN, inserted=range(56, 70))
    assert not any(result.possible_onset for _, result in course)


def above_noise_frames(pcm: Pcm, voiced: set[int]) -> list[int]:
    """Returns the frames that are above the noise before them; frames of `voiced` score 1."""
    found = []
    for number, (track, result) in enumerate(heard(pcm, dict.fromkeys(voiced, 1.0))):
        assert result.above_noise == (track.speaking and track.above_silence)
        found += [number] * track.above_silence
    return found


def frames_of(first: int, last: int, amplitude: float) -> tuple[int, int, float]:
    return first * FRAME_SAMPLES, (last + 1) * FRAME_SAMPLES - 4, amplitude  # levels use the four preceding samples


@pytest.mark.parametrize(
    ("amplitude", "clear"), [(20.0, []), (60.0, [40, 41, 42])], ids=["less than 10 dB", "more than 10 dB"]
)
def test_10_db_above_silence_is_above_noise(amplitude: float, clear: list[int]) -> None:
    assert above_noise_frames(sound(80, frames_of(40, 42, amplitude)), set()) == clear


def test_click_raises_threshold_for_two_seconds() -> None:
    pcm = sound(240, frames_of(40, 40, 1000), frames_of(60, 61, 500), frames_of(170, 171, 500))
    assert above_noise_frames(pcm, set()) == [40, 170, 171]


def test_nothing_is_above_noise_at_start_of_silence() -> None:
    """The first 200 ms of the silence do not count, nor the newest 120; 200 ms between them are needed."""
    assert above_noise_frames(sound(80, frames_of(24, 24, 500)), set()) == []
    assert above_noise_frames(sound(80, frames_of(25, 25, 500)), set()) == [25]
    spoken, voiced = frames_of(40, 59, 4_000), set(range(40, 60))
    assert above_noise_frames(sound(120, spoken, frames_of(88, 88, 500)), voiced) == [*range(40, 60)]
    assert above_noise_frames(sound(120, spoken, frames_of(89, 89, 500)), voiced) == [*range(40, 60), 89]


def test_only_first_words_are_above_noise() -> None:
    found = above_noise_frames(sound(120, frames_of(40, 99, 4_000)), set(range(40, 100)))
    assert found == list(range(40, 62)), "open from frame 41 on, and 400 ms longer"


def test_inserted_silence_is_no_reference_for_above_noise() -> None:
    course = heard(sound(80, frames_of(40, 42, 60.0)), {}, inserted=range(40))
    assert not any(track.above_silence for track, _ in course)


def background_frames(pcm: Pcm, voiced: set[int]) -> list[int]:
    """Returns the frames in which a voice is no louder than the room before it."""
    return [i for i, result in enumerate(results(SpeechTracker(SETTINGS), pcm, voiced)) if result.background_level]


def test_voice_no_louder_than_noise_is_background_level() -> None:
    noise, voice = frames_of(20, 99, 300), set(range(60, 80))
    assert background_frames(sound(100, noise, frames_of(60, 79, 500)), voice) == list(range(61, 83)), (
        "until the track closes"
    )
    assert background_frames(sound(100, noise, frames_of(60, 79, 2_000)), voice) == []


def test_louder_voice_is_no_longer_background_level() -> None:
    pcm = sound(100, frames_of(20, 99, 300), frames_of(60, 69, 500), frames_of(70, 71, 2_000))
    assert background_frames(pcm, set(range(60, 90))) == list(range(61, 70))


def test_room_level_is_known_after_speech_too() -> None:
    """The above-noise check needs half a second of silence; background voices come sooner."""
    noise, voices = frames_of(20, 139, 300), {*range(60, 80), *range(90, 110)}
    assert background_frames(sound(140, noise), voices) == [*range(61, 83), *range(91, 113)]


@pytest.mark.parametrize(("known", "murmurs"), [(14, False), (15, True)], ids=["14 frames known", "15 frames known"])
def test_immediate_speech_is_not_background_level(known: int, murmurs: bool) -> None:
    voiced = set(range(known - 1, known + 20))
    pcm = sound(80, frames_of(0, 79, 300))
    assert bool(background_frames(pcm, voiced)) is murmurs


def test_no_background_level_after_inserted_silence() -> None:
    course = heard(sound(80, frames_of(40, 79, 20.0)), dict.fromkeys(range(40, 80), 1.0), inserted=range(40))
    assert not any(result.background_level for _, result in course)
