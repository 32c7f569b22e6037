"""A recorded question, and conversations of a scripted user with a real model, on the running loop."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from support.conversations.simulation import Simulation, Utterance

from assistant.turns.settings import TurnSettings
from llm.chat import ChatModel

RECORDINGS = Path(__file__).parents[2] / "recordings"
WHAT_TIME = RECORDINGS / "rhasspy3_what-time-is-it.wav"
"""2 s; "what time is it" is said from 0.7 to 1.6 s."""


def scripted(utterances: Sequence[Utterance], length_ms: int, model: ChatModel, turns: TurnSettings) -> Simulation:
    """Returns a conversation with scripted user, VAD, recognizer and voice, and a real model."""
    simulation = Simulation(utterances, length_ms, turns=turns, keep_words=False)
    simulation.model = model  # type: ignore[assignment]
    return simulation


def bare_environment() -> Mapping[str, str]:
    """Returns this process's environment without settings of the program."""
    return {name: value for name, value in os.environ.items() if not name.startswith("REPARTEE_")}
