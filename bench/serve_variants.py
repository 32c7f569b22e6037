"""Settings of the server that a run is repeated with: profiles of turn taking, and recognizers."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.processes import REPARTEE
from bench.serve_rows import Scenario

PROFILES = ("eager", "balanced", "patient")
ENGINES = ("pocketsphinx", "whisper-tiny", "whisper-base", "whisper-small")
"""Whisper has the released models' shapes, random weights and the recordings' words: see bench/whisper_server.py."""


@dataclass(frozen=True, slots=True)
class Variant:
    """One of them.

    Attributes:
        name: In rows and tables.
        settings: Of the server, `section.key=value`, after those of the run.
        scenarios: That are played again.
        program: What runs the server.
    """

    name: str
    settings: tuple[str, ...]
    scenarios: tuple[Scenario, ...]
    program: tuple[str, ...] = REPARTEE


def of_profile(name: str) -> Variant:
    """A profile: what it costs and what it saves."""
    return Variant(name, (f"turn.profile={name}",), ("turns", "paused"))


def of_engine(name: str, manifest: Path) -> Variant:
    """A recognizer; the words are those of the manifest's recordings."""
    if name == "pocketsphinx":
        return Variant(name, ("stt.engine=pocketsphinx",), ("turns",))
    program = ("-m", "bench.whisper_server", name.removeprefix("whisper-"), str(manifest.resolve()))
    return Variant(name, (), ("turns",), program)


def profiles_of(text: str) -> list[str]:
    """A list of profiles. Raises argparse.ArgumentTypeError."""
    return _names(text, PROFILES)


def engines_of(text: str) -> list[str]:
    """A list of recognizers. Raises argparse.ArgumentTypeError."""
    return _names(text, ENGINES)


def _names(text: str, known: Sequence[str]) -> list[str]:
    wanted = [name for name in text.split(",") if name]
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise argparse.ArgumentTypeError(f"there is no {', '.join(unknown)}; choose from {','.join(known)}")
    return wanted
