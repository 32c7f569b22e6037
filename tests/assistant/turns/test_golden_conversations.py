"""Golden test: the effects of turn taking in 340 random conversations stay the same."""

from difflib import unified_diff

from support.turns.random_conversations import conversations, golden_conversations


def test_random_conversations_have_the_recorded_effects() -> None:
    """To accept a change of behaviour, write the file anew; see random_conversations.py."""
    for recorded, now in zip(golden_conversations(), conversations(), strict=True):
        assert now == recorded, "\n".join(unified_diff(recorded, now, "recorded", "now", lineterm="", n=8))
