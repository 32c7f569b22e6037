"""Identifies what a speaker plays. The ids of replies are defined above this package, in `assistant.turns.events`."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SoundId:
    """Identifies a sound that a speaker plays. Subclasses have the fields."""


@dataclass(frozen=True, slots=True)
class NamedSound(SoundId):
    """Identifies a sound that is no reply, such as a test tone."""

    name: str
