"""Defines the verdict on a voice. Imports nothing: turn taking uses it."""

from typing import Literal

VoiceVerdict = Literal["own", "other", "unsure"]
"""The voice of speech: one that the assistant listens to, with certainty another one, or unsure."""
