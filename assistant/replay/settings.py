"""Defines which settings can be replayed, and applies changes to them. Pure."""

from collections.abc import Sequence
from dataclasses import replace

from assistant.config.keys import Value
from assistant.config.settings import Settings
from assistant.config.sources import from_overrides
from assistant.config.turn_settings import PROFILE_HANGOVER_MS, ProfileName, TurnSection
from assistant.replay.course import Change
from assistant.setup.derived_settings import PROFILES, stuck_after_s
from assistant.trace_report.reading import TraceError
from assistant.turns.settings import TurnSettings

REPLAYABLE = (
    "turn.profile",
    "turn.hangover_ms",
    "turn.speculate_after_ms",
    "turn.interrupt_after_ms",
    "turn.stuck_after_s",
)
"""Settings that only change decisions. All others change what is recorded, or how fast it is processed."""


def change_of(overrides: Sequence[str]) -> Change:
    """Returns the change that `--set` flags describe. Without flags: no change.

    Raises:
        TraceError: A setting cannot be replayed, or its value is not allowed.
    """
    change = from_overrides(overrides)
    if change.problems:
        raise TraceError("; ".join(change.problems))
    given: dict[str, Value] = {}
    for item in change.given:
        if item.key not in REPLAYABLE or isinstance(item.value, tuple):
            raise TraceError(
                f"{item.key} cannot be replayed: a replay repeats only the decisions of turn taking. These settings "
                f"can be changed: {', '.join(REPLAYABLE)}."
            )
        given[item.key.removeprefix("turn.")] = item.value
    return lambda settings: _changed(settings, given)


def profile_of(settings: TurnSettings) -> ProfileName:
    """Returns the current version of the profile that was in effect; auto for silences of fixed length.

    Its numbers may come from another version, and its ceiling may have been lowered for a sound card.
    """
    if settings.profile is None:
        return "auto"
    unfinished_ms = settings.profile.unfinished_ms
    return min(PROFILES, key=lambda name: abs(PROFILES[name].unfinished_ms - unfinished_ms))


def _changed(settings: TurnSettings, given: dict[str, Value]) -> TurnSettings:
    rest = {name: value for name, value in given.items() if name not in ("profile", "hangover_ms")}
    if "speculate_after_ms" in rest:
        rest["speculate_after_ms"] = rest["speculate_after_ms"] or None  # type: ignore[assignment]
    if isinstance(stuck_s := rest.get("stuck_after_s"), float):  # with the default limits: a trace does not hold them
        rest["stuck_after_s"] = stuck_after_s(Settings(turn=TurnSection(stuck_after_s=stuck_s)))
    changed = replace(settings, **rest)  # type: ignore[arg-type]
    hangover_ms = given.get("hangover_ms", 0)
    fixed_ms = hangover_ms if isinstance(hangover_ms, int) else 0
    if fixed_ms:
        return replace(changed, hangover_ms=float(fixed_ms), profile=None)
    if not {"profile", "hangover_ms"} & given.keys():
        return changed
    named = given.get("profile")
    name = next((name for name in PROFILES if name == named), profile_of(settings))
    return replace(changed, hangover_ms=float(PROFILE_HANGOVER_MS[name]), profile=PROFILES[name])
