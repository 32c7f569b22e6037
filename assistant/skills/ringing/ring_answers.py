"""Tells which words stop what rings, and are no other request. The ring itself ends when their turn is committed."""

from assistant.skills.languages.sentences import TemplateMatch

MAX_WORDS = 4
"""Limit on words that no skill understands and that answer a ring: "okay I got it", "shut that thing off"."""

_STOPPING = frozenset(("never_mind", "thanks", "greeting"))
_CANCELLING = frozenset(("timer_cancel", "alarm_cancel", "reminder_cancel"))


def only_stops_ring(words: int, skill: str | None, match: TemplateMatch | None) -> bool:
    """Returns whether an utterance, said while something rings, only stops it.

    Args:
        words: Number of its words.
        skill: The skill that understands it; None for none.
        match: Its template; None for none.
    """
    if skill is None:
        return words <= MAX_WORDS
    if match is not None and match.intent in _CANCELLING:
        return not match.values and not match.numbers  # no timer is named: it is the one that rings
    return skill in _STOPPING
