"""Says whether a phone number of a region has all its digits. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

ValueState = Literal["complete", "incomplete", "unknown"]
"""Whether a dictated value has all its parts. "unknown": it may be complete, and may go on."""

REGION_OF_LANGUAGE: Mapping[str, str] = MappingProxyType({"en": "US", "de": "DE", "fr": "FR", "es": "ES"})
"""The region whose numbers are expected where none is configured, by language."""


@dataclass(frozen=True, slots=True)
class NumberPlan:
    """The digits of a region's phone numbers, as they are dialled inside the region.

    Attributes:
        country: The country code.
        trunk: The digit before the area code inside the region; "" for none.
        shortest, longest: The number of digits after the country code or the trunk digit.
        without_trunk: Whether people also say a number without the trunk digit.
        never_first: Digits with which a number does not begin, after the trunk digit.
    """

    country: str
    trunk: str
    shortest: int
    longest: int
    without_trunk: bool = True
    never_first: str = ""


# National numbering plans (ITU-T E.164 and the national regulators). North America: area codes begin with 2 to 9.
_NORTH_AMERICA = NumberPlan("1", "1", 10, 10, never_first="01")
_PLANS: Mapping[str, NumberPlan] = MappingProxyType(
    {
        "US": _NORTH_AMERICA,
        "CA": _NORTH_AMERICA,
        "GB": NumberPlan("44", "0", 9, 10),
        "IE": NumberPlan("353", "0", 7, 9),
        "DE": NumberPlan("49", "0", 6, 11),
        "AT": NumberPlan("43", "0", 6, 12),
        "CH": NumberPlan("41", "0", 9, 9),
        "FR": NumberPlan("33", "0", 9, 9, without_trunk=False),
        "BE": NumberPlan("32", "0", 8, 9),
        "ES": NumberPlan("34", "", 9, 9),
        "MX": NumberPlan("52", "", 10, 10),
        "IN": NumberPlan("91", "0", 10, 10),
        "AU": NumberPlan("61", "0", 9, 9, without_trunk=False),
    }
)
_ANY = NumberPlan("", "", 7, 15)
_USUAL_WHERE_VARIABLE = 9
"""Shorter numbers are rare in regions whose numbers vary in length."""


def plan_of(region: str) -> NumberPlan:
    """Returns the plan of a two-letter region code; one with seven to fifteen digits for a region without a plan."""
    return _PLANS.get(region.upper(), _ANY)


def phone_completeness(digits: str, plan: NumberPlan, *, international: bool = False) -> ValueState:
    """Says whether a phone number is complete.

    Args:
        digits: The digits so far.
        plan: The region's plan.
        international: Whether a plus was said before them.

    Returns:
        incomplete: more digits follow. complete: a number of the region cannot be longer. unknown: it may be either.
    """
    rest, has_prefix = digits, False
    for prefix in (plan.country if international else "", f"00{plan.country}", plan.trunk):
        if prefix and digits.startswith(prefix):
            rest, has_prefix = digits.removeprefix(prefix), True
            break
    if international and not has_prefix and plan.country:
        plan, rest = _ANY, digits  # a number of another region
    if not has_prefix and not plan.without_trunk and not international:
        # A number that begins without its trunk digit is no number of the region, or its first digit was not heard.
        return "incomplete" if len(digits) < plan.shortest else "unknown"
    if len(rest) < plan.shortest:
        # "1 314 559 375" may be ten digits of a number that does not follow the plan.
        return "unknown" if len(digits) == plan.longest and plan.never_first else "incomplete"
    if plan.shortest == plan.longest or len(rest) >= plan.longest:
        # One digit too many is an error of the recognizer; more belong to another kind of number.
        return "complete" if len(rest) <= plan.longest + 1 else "unknown"
    return "incomplete" if len(rest) < min(_USUAL_WHERE_VARIABLE, plan.longest) else "unknown"
