"""Tests which settings can be replayed, and how they change the settings in effect."""

import pytest

from assistant.commands.talk.card_profile import adapt_to_card
from assistant.config.settings import Settings
from assistant.config.turn_settings import TurnSection
from assistant.end_of_turn.estimator import AUTO, BALANCED, EAGER, PATIENT, EndOfTurnProfile
from assistant.replay.settings import REPLAYABLE, change_of, profile_of
from assistant.setup.derived_settings import turn_settings
from assistant.trace_report.reading import TraceError
from assistant.turns.settings import TurnSettings

RECORDED = turn_settings(Settings(), "faster-whisper")


@pytest.mark.parametrize(
    ("overrides", "section"),
    [
        pytest.param([], TurnSection(), id="default"),
        pytest.param(["turn.profile=eager"], TurnSection(profile="eager"), id="profile"),
        pytest.param(["turn.hangover_ms=250"], TurnSection(hangover_ms=250), id="hangover"),
        pytest.param(["turn.hangover_ms=250", "turn.hangover_ms=0"], TurnSection(), id="hangover reset"),
        pytest.param(["turn.speculate_after_ms=0"], TurnSection(speculate_after_ms=0), id="no speculation"),
        pytest.param(
            ["turn.speculate_after_ms=100", "turn.profile=patient"],
            TurnSection(profile="patient", speculate_after_ms=100),
            id="speculation and profile",
        ),
        pytest.param(
            ["turn.interrupt_after_ms=300", "turn.stuck_after_s=9"],
            TurnSection(interrupt_after_ms=300, stuck_after_s=9),
            id="interruption and turn limit",
        ),
        pytest.param(["turn.stuck_after_s=3"], TurnSection(stuck_after_s=3), id="stuck limit"),
    ],
)
def test_replayed_settings_equal_configured_settings(overrides: list[str], section: TurnSection) -> None:
    changed = change_of(overrides)(RECORDED)
    wanted = turn_settings(Settings(turn=section), "faster-whisper")
    if changed.profile is None:  # otherwise the profile's own wait is not read
        assert (changed.hangover_ms, changed.profile) == (wanted.hangover_ms, wanted.profile)
    assert changed == wanted


def test_profile_replaces_fixed_silence() -> None:
    fixed = TurnSettings(hangover_ms=300.0)
    assert change_of(["turn.profile=patient"])(fixed).profile == PATIENT
    assert change_of(["turn.hangover_ms=0"])(fixed).profile == AUTO
    assert profile_of(TurnSettings(profile=EAGER)) == "eager"


def test_profile_of_old_trace_or_slow_card_is_recognized() -> None:
    assert profile_of(TurnSettings(profile=EndOfTurnProfile(220, 440, 840, 1.0))) == "balanced"
    assert profile_of(TurnSettings(profile=EndOfTurnProfile(300, 820, 2000, 1.4))) == "patient"
    assert profile_of(TurnSettings(profile=adapt_to_card(BALANCED, 300))) == "balanced"


@pytest.mark.parametrize(
    "override", ["turn.listening_sounds=true", "stt.threads=4", "llm.hedge_share=0.2"], ids=["turn", "stt", "llm"]
)
def test_other_settings_are_rejected_with_list_of_replayable(override: str) -> None:
    with pytest.raises(TraceError) as refused:
        change_of([override])
    assert override.partition("=")[0] in str(refused.value)
    assert all(key in str(refused.value) for key in REPLAYABLE)


@pytest.mark.parametrize(
    ("override", "said"),
    [("turn.profile=hasty", '"eager"'), ("turn.hangover_ms=20", "100 to 3000"), ("turn.profil=eager", "turn.profile")],
    ids=["unknown choice", "below minimum", "misspelled key"],
)
def test_invalid_values_are_rejected_as_in_configuration(override: str, said: str) -> None:
    with pytest.raises(TraceError, match=said):
        change_of([override])
