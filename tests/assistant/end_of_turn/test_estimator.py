"""Tests of the EOT estimate and of the silence timeout."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.end_of_turn.boosted_trees import BoostedTrees, trees_of
from assistant.end_of_turn.dictation.dictation_rules import NOTHING, Dictation, Kind
from assistant.end_of_turn.estimator import (
    AUTO,
    BALANCED,
    EAGER,
    OFTEN,
    PATIENT,
    SELDOM,
    EndOfTurnEstimate,
    EndOfTurnEvidence,
    EndOfTurnProfile,
    FusedEstimator,
    fitted_turn_end,
    silence_timeout_ms,
    turn_end_of,
)
from assistant.end_of_turn.priors import SpeakerPauseStats
from audio.end_of_turn.prosody_features import Prosody
from audio.stt import Punctuation

FEATURES = list(Prosody.__dataclass_fields__)
PROFILES = (EAGER, BALANCED, PATIENT, AUTO)
DICTATIONS = (
    Dictation("announcement", "incomplete"),
    Dictation("phone number", "complete"),
    Dictation("phone number", "incomplete"),
    Dictation("spelling", "unknown"),
)


def shortest_ms(profile: EndOfTurnProfile) -> float:
    return profile.sure_floor_ms or profile.floor_ms


def prosody(**changed: float) -> Prosody:
    return Prosody(**(dict.fromkeys(FEATURES, 0.0) | changed))


@st.composite
def evidences(draw: st.DrawFn) -> EndOfTurnEvidence:
    number = st.floats(-1e6, 1e6) | st.just(math.nan)
    habits = SpeakerPauseStats()
    for pause_ms in draw(st.lists(st.floats(0, 5000), max_size=4)):
        habits = habits.with_pause(pause_ms)
    return EndOfTurnEvidence(
        silence_ms=draw(st.floats(0, 5000)),
        prosody=draw(st.none() | st.builds(Prosody, **dict.fromkeys(FEATURES, number))),
        text=draw(st.none() | st.text(max_size=30) | st.sampled_from(["yes", "turn on the", "a small coffee"])),
        punctuation=draw(st.none() | st.builds(Punctuation, st.floats(0, 1), st.floats(0, 1))),
        known_sentence=draw(st.booleans()),
        smart_turn=draw(st.none() | st.floats(0, 1) | st.just(math.nan)),
        pause_stats=habits,
        expected=draw(st.sampled_from(["anything", "yes or no", "a phrase"])),
        dictation=draw(st.sampled_from([NOTHING, *DICTATIONS])),
    )


@given(evidences(), st.floats(0, 3000))
def test_probability_grows_with_silence(evidence: EndOfTurnEvidence, more_ms: float) -> None:
    estimator = fitted_turn_end()
    now = estimator.estimate(evidence)
    later = estimator.estimate(replace(evidence, silence_ms=evidence.silence_ms + more_ms))
    assert 0 <= now.probability <= later.probability <= 1
    for profile in PROFILES:
        longest_ms = max(profile.unfinished_ms, 2 * profile.dictating_ms)
        assert shortest_ms(profile) <= silence_timeout_ms(now, profile) <= longest_ms


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 2000), st.floats(50, 3000), st.sampled_from(PROFILES))
def test_silence_timeout_falls_with_probability(
    one: float, other: float, silence_ms: float, excess_ms: float, profile: EndOfTurnProfile
) -> None:
    low, high = sorted((one, other))
    waits = [silence_timeout_ms(EndOfTurnEstimate(p, silence_ms, excess_ms, ""), profile) for p in (low, high)]
    assert waits[0] >= waits[1]


@given(evidences(), st.floats(0, 500))
def test_later_estimate_with_same_evidence_keeps_timeout(evidence: EndOfTurnEvidence, more_ms: float) -> None:
    """A later estimate in the same silence with the same evidence ends the turn at the same sample."""
    estimator = fitted_turn_end()
    early = estimator.estimate(evidence)
    later = estimator.estimate(replace(evidence, silence_ms=evidence.silence_ms + more_ms))
    if abs(early.logit) < 7.9 and abs(later.logit) < 7.9:
        assert silence_timeout_ms(early, BALANCED) == pytest.approx(silence_timeout_ms(later, BALANCED), abs=0.1)


@given(st.floats(0, 1), st.floats(0, 2000))
def test_patient_profiles_have_longer_timeouts(probability: float, silence_ms: float) -> None:
    waits = [
        silence_timeout_ms(EndOfTurnEstimate(probability, silence_ms, 650, ""), profile)
        for profile in (EAGER, BALANCED, PATIENT)
    ]
    assert waits == sorted(waits)


def test_available_evidence_selects_model() -> None:
    estimator = fitted_turn_end()
    assert estimator.estimate(EndOfTurnEvidence(200)).sources == ""
    assert estimator.estimate(EndOfTurnEvidence(200)).probability == pytest.approx(0.5)
    assert estimator.estimate(EndOfTurnEvidence(200, text="yes")).sources == "text+closure"
    punctuation = Punctuation(sentence_end=0.9, continuation=0.05)
    assert (
        estimator.estimate(EndOfTurnEvidence(200, prosody(), "yes", punctuation, smart_turn=0.5)).sources
        == "sound+text+closure+smart"
    )
    assert estimator.estimate(EndOfTurnEvidence(200, text="", punctuation=punctuation)).sources == "", (
        "a transcript without words is no evidence"
    )
    assert estimator.estimate(EndOfTurnEvidence(200, punctuation=punctuation, smart_turn=0.5)).sources == "smart", (
        "no transcript was requested"
    )


def test_each_source_moves_probability_in_its_direction() -> None:
    estimator = fitted_turn_end()

    def chance(evidence: EndOfTurnEvidence) -> float:
        return estimator.estimate(evidence).probability

    low, high = prosody(pitch_end_st=-3, level_end_db=-20), prosody(pitch_end_st=2, level_end_db=-5)
    assert chance(EndOfTurnEvidence(200, low)) > chance(EndOfTurnEvidence(200, high)) + 0.1
    whole, open_ended = "what is the weather today", "what is the weather in"
    assert chance(EndOfTurnEvidence(200, text=whole)) > chance(EndOfTurnEvidence(200, text=open_ended)) + 0.1
    assert chance(EndOfTurnEvidence(200, smart_turn=0.98)) > chance(EndOfTurnEvidence(200, smart_turn=0.1)) + 0.3
    over, more = Punctuation(sentence_end=0.97, continuation=0.01), Punctuation(sentence_end=0.4, continuation=0.4)
    assert (
        chance(EndOfTurnEvidence(200, text=whole, punctuation=over))
        > chance(EndOfTurnEvidence(200, text=whole, punctuation=more)) + 0.2
    )
    assert chance(EndOfTurnEvidence(200, text=whole, known_sentence=True)) > chance(EndOfTurnEvidence(200, text=whole))
    assert chance(EndOfTurnEvidence(200, text="yes", expected="yes or no")) > chance(EndOfTurnEvidence(200, text="yes"))
    slow = SpeakerPauseStats(pauses=6, turns=1)
    assert chance(EndOfTurnEvidence(200, text=whole, pause_stats=slow)) < chance(EndOfTurnEvidence(200, text=whole))


def test_nan_feature_counts_as_its_median() -> None:
    model = BoostedTrees(("pitch", "level"), (3.0, -20.0), ((0, 2.5, -1.0, 1.0), (1, -15.0, 0.5, -0.5)), 0.25)
    assert model.logit({"pitch": math.nan, "level": -10.0}) == model.logit({"pitch": 3.0, "level": -10.0}) == 0.75


def test_fluent_speaker_is_waited_for_in_unfinished_turn() -> None:
    fluent = SpeakerPauseStats()
    for _ in range(20):
        fluent = fluent.with_turn()
    for stats in (SpeakerPauseStats(), fluent):
        evidence = EndOfTurnEvidence(
            200, text="turn on the", punctuation=Punctuation(0.05, 0.3), smart_turn=0.02, pause_stats=stats
        )
        assert silence_timeout_ms(fitted_turn_end().estimate(evidence), BALANCED) == BALANCED.unfinished_ms


def test_incomplete_value_that_was_asked_for_goes_on() -> None:
    evidence = EndOfTurnEvidence(200, text="J", smart_turn=0.7, dictation=Dictation("spelling", "incomplete"))
    asked = replace(evidence, expected="a spelling")
    assert silence_timeout_ms(fitted_turn_end().estimate(asked), BALANCED) == BALANCED.dictating_ms


def test_complete_question_has_shortest_timeout_and_filler_longest() -> None:
    estimator = fitted_turn_end()
    over = estimator.estimate(EndOfTurnEvidence(160, text="what time is it", known_sentence=True, smart_turn=0.99))
    hesitates = estimator.estimate(EndOfTurnEvidence(160, text="what is the um", smart_turn=0.05))
    assert silence_timeout_ms(over, BALANCED) == BALANCED.sure_floor_ms
    assert silence_timeout_ms(over, EAGER) == EAGER.floor_ms
    assert silence_timeout_ms(hesitates, BALANCED) == BALANCED.unfinished_ms


def test_trees_add_the_value_of_the_leaf_that_the_features_reach() -> None:
    tree = (0, 0.5, -2.0, (1, 10.0, 1.0, 3.0))
    model = BoostedTrees(("smart_logit", "rate_hz"), (0.0, 0.0), (tree, 0.25), 0.5)
    assert model.logit({"smart_logit": 0.5, "rate_hz": 99.0}) == -1.25
    assert model.logit({"smart_logit": 0.6, "rate_hz": 10.0}) == 1.75
    assert model.logit({"smart_logit": 0.6, "rate_hz": 10.1}) == 3.75


def test_estimate_is_the_logistic_function_of_the_trees() -> None:
    model = BoostedTrees(("smart_logit",), (0.0,), ((0, 0.0, -1.5, 1.5),), 0.5)
    estimate = FusedEstimator({"smart": model}, 200).estimate(EndOfTurnEvidence(200, smart_turn=0.4))
    assert estimate.probability == pytest.approx(1 / (1 + math.exp(1.0)))


@pytest.mark.parametrize("tree", ["leaf", [0, 1.0, 2.0], [1, 0.0, 1.0, 2.0], [-1, 0.0, 1.0, 2.0], [0, 0.0, None, 2.0]])
def test_malformed_tree_raises(tree: object) -> None:
    with pytest.raises(ValueError, match="neither a value nor a test"):
        trees_of({"names": ["smart_logit"], "typical": [0.0], "trees": [tree], "bias": 0.0})


def test_weights_without_models_raise() -> None:
    with pytest.raises(TypeError, match=r"bench\.end_of_turn\.evaluation fit"):
        turn_end_of({"models": None, "reference_ms": 200})
    with pytest.raises(TypeError, match="has no names"):
        turn_end_of({"models": {"text": {"names": None, "typical": [], "trees": [], "bias": 0}}, "reference_ms": 1})


def test_profile_with_inconsistent_limits_raises() -> None:
    with pytest.raises(ValueError, match="floor is 500 ms"):
        EndOfTurnProfile(500, 400, 400, 0)
    with pytest.raises(ValueError, match="ceiling 400, that of an unfinished turn 300"):
        EndOfTurnProfile(200, 400, 300, 0)

    with pytest.raises(ValueError, match="who pauses often is 900 ms, that of an unfinished turn 800"):
        EndOfTurnProfile(200, 400, 800, 0, 900)


def test_speaker_who_pauses_often_has_longer_ceiling() -> None:
    def waits(pausing: float, profile: EndOfTurnProfile, probability: float = 0.3) -> float:
        return silence_timeout_ms(EndOfTurnEstimate(probability, 200, 650, "", pausing), profile)

    stranger, often = SpeakerPauseStats().pausing, OFTEN
    assert [waits(stranger, profile) for profile in PROFILES] == [400, 440, 820, 600]
    assert [waits(often, profile) for profile in PROFILES] == pytest.approx([400, 760, 1600, 1076], abs=1)
    assert waits(stranger, BALANCED) < waits((SELDOM + OFTEN) / 2, BALANCED) < waits(often, BALANCED)
    assert waits(often, BALANCED, 0.99) == BALANCED.sure_floor_ms, (
        "a turn that is certainly over still has the shortest timeout"
    )
    assert waits(often, BALANCED, 0.05) == BALANCED.unfinished_ms


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1), st.floats(0, 2000), st.sampled_from(PROFILES))
def test_silence_timeout_grows_with_pausing_share(
    one: float, other: float, probability: float, silence_ms: float, profile: EndOfTurnProfile
) -> None:
    seldom, often = sorted((one, other))
    waits = [
        silence_timeout_ms(EndOfTurnEstimate(probability, silence_ms, 650, "", share), profile)
        for share in (seldom, often)
    ]
    assert shortest_ms(profile) <= waits[0] <= waits[1] <= profile.unfinished_ms


def test_pause_in_current_turn_lowers_probability() -> None:
    estimator = fitted_turn_end()
    once = SpeakerPauseStats().with_pause(450)
    chances = [
        estimator.estimate(EndOfTurnEvidence(200, text="a small coffee", pause_stats=habits)).probability
        for habits in (SpeakerPauseStats(), once, once.with_turn(), SpeakerPauseStats().with_turn().with_return(450))
    ]
    assert chances[1] < chances[0] - 0.05
    assert chances[1] < chances[2] <= chances[0]
    assert chances[3] == pytest.approx(chances[1], abs=0.02)


def test_pause_of_half_a_second_raises_the_ceiling_for_the_rest_of_the_turn() -> None:
    def pausing(stats: SpeakerPauseStats) -> float:
        return fitted_turn_end().estimate(EndOfTurnEvidence(200, text="a small coffee", pause_stats=stats)).pausing

    short, long = SpeakerPauseStats().with_pause(480), SpeakerPauseStats().with_pause(500)
    assert pausing(short) < SELDOM
    assert pausing(long) == OFTEN
    assert pausing(long.without_turn()) < SELDOM, "it counts in its own turn"


def timeout_ms(dictation: Dictation, profile: EndOfTurnProfile, probability: float = 0.5) -> float:
    return silence_timeout_ms(EndOfTurnEstimate(probability, 200, 650, "", dictation=dictation), profile)


@pytest.mark.parametrize("profile", PROFILES, ids=["eager", "balanced", "patient", "auto"])
def test_incomplete_value_is_waited_for_whatever_the_sound_says(profile: EndOfTurnProfile) -> None:
    incomplete = Dictation("phone number", "incomplete")
    assert timeout_ms(incomplete, profile, 0.999) == timeout_ms(incomplete, profile, 0.001) == profile.dictating_ms
    announced = Dictation("announcement", "incomplete")
    assert timeout_ms(announced, profile, 0.999) == 2 * profile.dictating_ms


@pytest.mark.parametrize("profile", PROFILES, ids=["eager", "balanced", "patient", "auto"])
def test_value_that_may_go_on_has_longer_floor_and_ceiling(profile: EndOfTurnProfile) -> None:
    spelling = Dictation("spelling", "unknown")
    assert profile.floor_ms < timeout_ms(spelling, profile, 0.999) < profile.dictating_ms / 2
    assert timeout_ms(NOTHING, profile, 0.25) < timeout_ms(spelling, profile, 0.25) <= profile.dictating_ms
    assert timeout_ms(spelling, profile, 0.001) == profile.dictating_ms


@pytest.mark.parametrize("kind", ["date", "time", "none"])
def test_value_said_at_once_keeps_ceiling(kind: Kind) -> None:
    assert timeout_ms(Dictation(kind, "unknown"), BALANCED, 0.25) == timeout_ms(NOTHING, BALANCED, 0.25)


def test_complete_value_raises_probability() -> None:
    evidence = EndOfTurnEvidence(200, text="555 121 2345", smart_turn=0.5)
    complete = replace(evidence, dictation=Dictation("phone number", "complete"))
    estimator = fitted_turn_end()
    assert estimator.estimate(complete).probability > estimator.estimate(evidence).probability + 0.1
    assert silence_timeout_ms(estimator.estimate(complete), BALANCED) == BALANCED.sure_floor_ms


def test_profile_without_dictation_ignores_incomplete_values() -> None:
    older = replace(BALANCED, dictating_ms=0)
    for dictation in (Dictation("spelling", "unknown"), Dictation("spelling", "incomplete")):
        assert timeout_ms(dictation, older, 0.65) == timeout_ms(NOTHING, older, 0.65)


def test_one_unannounced_number_that_sounds_finished_ends_as_usual() -> None:
    number = Dictation("digits", "unknown")
    assert timeout_ms(number, BALANCED, 0.5) > timeout_ms(NOTHING, BALANCED, 0.5)
    assert timeout_ms(number, BALANCED, 0.9) == timeout_ms(NOTHING, BALANCED, 0.9)
    assert timeout_ms(Dictation("phone number", "unknown"), BALANCED, 0.9) > timeout_ms(NOTHING, BALANCED, 0.9)
