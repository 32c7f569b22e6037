"""Defines the variants that a run repeats: turn-taking profiles and recognizers."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.conversations.processes import REPARTEE
from bench.serving.rows import Scenario

PROFILES = ("auto", "eager", "balanced", "patient")
ENGINES = ("whisper-tiny", "whisper-base", "whisper-small")
"""Recognizers. Whisper has true shapes, random weights and scripted words: bench/conversations/whisper_server.py."""


@dataclass(frozen=True, slots=True)
class Variant:
    """One variant.

    Attributes:
        name: Name in rows and tables.
        settings: Settings of the server, `section.key=value`, after those of the run.
        scenarios: Scenarios to play again.
        program: Program that runs the server.
    """

    name: str
    settings: tuple[str, ...]
    scenarios: tuple[Scenario, ...]
    program: tuple[str, ...] = REPARTEE


def of_profile(name: str) -> Variant:
    """Returns the variant of a profile."""
    return Variant(name, (f"turn.profile={name}",), ("turns", "paused"))


def of_engine(name: str, manifest: Path) -> Variant:
    """Returns the variant of a recognizer; the words come from the manifest."""
    program = ("-m", "bench.conversations.whisper_server", name.removeprefix("whisper-"), str(manifest.resolve()))
    return Variant(name, (), ("turns",), program)


def profiles_of(text: str) -> list[str]:
    """Parses a list of profiles. Raises argparse.ArgumentTypeError."""
    return _names(text, PROFILES)


def engines_of(text: str) -> list[str]:
    """Parses a list of recognizers. Raises argparse.ArgumentTypeError."""
    return _names(text, ENGINES)


def _names(text: str, known: Sequence[str]) -> list[str]:
    names = [name for name in text.split(",") if name]
    unknown = [name for name in names if name not in known]
    if unknown:
        raise argparse.ArgumentTypeError(f"unknown: {', '.join(unknown)}; choose from {','.join(known)}")
    return names
