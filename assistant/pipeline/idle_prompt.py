"""Prompts a user who has said nothing for the idle timeout after a reply."""

from dataclasses import replace

from assistant.events import SilenceTimedOut
from assistant.history.history import History
from assistant.pipeline.engines import ReplyOptions
from assistant.turns.effects import IdleTimedOut
from audio.units import ms_of_samples

IDLE_PROMPT = (
    "The user has said nothing for a while. In one short sentence, in the language of the conversation, ask whether "
    "they are still there or help them to go on. Do not repeat what you have said."
)
"""Added to the instructions of this reply."""


def prompting(options: ReplyOptions, history: History) -> ReplyOptions:
    """Returns the options of a reply that prompts the user."""
    instructions = history.instructions if options.instructions is None else options.instructions
    return replace(options, instructions=f"{instructions}\n\n{IDLE_PROMPT}".strip())


def silence_timed_out(effect: IdleTimedOut, history: History) -> SilenceTimedOut:
    """Adds the silence to the history, as a user message without words, and returns the event about it."""
    item = history.add_user_text("")
    return SilenceTimedOut(item, ms_of_samples(effect.heard_at), ms_of_samples(effect.at))
