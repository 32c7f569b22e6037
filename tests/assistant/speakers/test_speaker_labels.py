"""Labels of voices: known ones keep theirs, new ones are numbered, and short speech changes nothing."""

import numpy as np
import pytest
from support.conversations.voices import between, voice

from assistant.speakers.speaker_labels import SpeakerLabels
from assistant.speakers.thresholds import THRESHOLDS
from assistant.speakers.voiceprint import Voiceprint

ANN, BOB, EVE = voice(0), voice(1), voice(2)


def test_voices_are_numbered_in_their_order() -> None:
    labels = SpeakerLabels()
    assert [labels.learn(each, 2.0) for each in (ANN, BOB, ANN, EVE, BOB)] == ["S1", "S2", "S1", "S3", "S2"]


def test_enrolled_voice_has_its_name() -> None:
    labels = SpeakerLabels([Voiceprint("Ada", ANN, 30.0)])
    assert [labels.learn(each, 2.0) for each in (BOB, ANN)] == ["S1", "Ada"]


def test_short_speech_keeps_the_last_label() -> None:
    labels = SpeakerLabels()
    assert labels.learn(ANN, 0.5) == ""
    assert [labels.learn(ANN, 2.0), labels.learn(BOB, 0.5)] == ["S1", "S1"]


def test_unsure_speech_keeps_the_last_label() -> None:
    labels = SpeakerLabels()
    labels.learn(ANN, 2.0)
    unsure = between(ANN, BOB, (THRESHOLDS.new_voice + THRESHOLDS.keep_voice) / 2)
    assert [labels.learn(unsure, 2.0), labels.learn(BOB, 2.0)] == ["S1", "S2"]


def test_last_voice_keeps_its_label_at_a_lower_similarity() -> None:
    similar = between(ANN, BOB, (THRESHOLDS.keep_voice + THRESHOLDS.same_voice) / 2)
    labels = SpeakerLabels()
    labels.learn(ANN, 2.0)
    assert labels.learn(similar, 2.0) == "S1"
    assert len(labels.voices) == 1


def test_number_of_voices_has_a_limit() -> None:
    labels = SpeakerLabels()
    found = [labels.learn(voice(number), 2.0) for number in range(THRESHOLDS.max_voices + 1)]
    assert found == [*(f"S{number + 1}" for number in range(THRESHOLDS.max_voices)), ""]


def test_speech_of_others_does_not_change_an_enrolled_voice() -> None:
    labels = SpeakerLabels([Voiceprint("Ada", ANN, 30.0)])
    labels.learn(between(ANN, BOB, 0.8), 5.0)
    assert np.array_equal(labels.voices[0].embedding, ANN)


def test_voiceprint_is_the_mean_of_its_speech() -> None:
    made = Voiceprint.of("Ada", [(ANN, 3.0), (BOB, 1.0)])
    assert (made.name, made.speech_s) == ("Ada", 4.0)
    assert np.linalg.norm(made.embedding) == pytest.approx(1)
    assert made.similarity(ANN) == pytest.approx(3 * made.similarity(BOB))


def test_voiceprint_follows_its_voice_within_limits() -> None:
    voiceprint = Voiceprint("S1", ANN, 100.0).with_speech(BOB, 10.0, max_speech_s=10.0)
    assert voiceprint.similarity(ANN) == pytest.approx(voiceprint.similarity(BOB))
    assert voiceprint.speech_s == 20.0


def test_label_of_an_attempt_changes_nothing() -> None:
    labels = SpeakerLabels()
    assert [labels.label(ANN, 2.0), labels.label(BOB, 2.0)] == ["S1", "S1"]
    assert labels.voices == ()
    assert labels.learn(BOB, 2.0) == "S1"
    assert [labels.label(ANN, 2.0), labels.learn(ANN, 2.0)] == ["S2", "S2"]


def test_similar_voice_does_not_get_an_enrolled_name() -> None:
    labels = SpeakerLabels([Voiceprint("Ada", ANN, 30.0)])
    similar = between(ANN, BOB, (THRESHOLDS.same_voice + THRESHOLDS.enrolled_voice) / 2)
    assert labels.learn(similar, 2.0) == ""
