"""The sections of engines' own settings, [tts.piper], which the packages of the engines declare."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Self, cast

from assistant.config.keys import check_section
from assistant.registry.entry_points import Registry
from assistant.registry.listening import RECOGNIZERS
from assistant.registry.skills import SKILLS
from assistant.registry.voices import VOICES
from declarations.settings import NoSettings

STAGES: Mapping[str, Registry[Any]] = MappingProxyType({"stt": RECOGNIZERS, "tts": VOICES, "skills": SKILLS})
"""Registries of the stages whose engines may have sections."""


@dataclass(frozen=True, slots=True)
class EngineSections:
    """The sections of all engines that have settings of their own.

    Attributes:
        content: Name of each section, as in "tts.piper", and its values.
    """

    content: tuple[tuple[str, object], ...] = ()

    def of(self, stage: str, engine: str) -> object:
        """Returns the section of an engine; `NoSettings` if it has none."""
        return dict(self.content).get(f"{stage}.{engine}", NoSettings())

    def changed(self, name: str, values: dict[str, object]) -> Self:
        """Returns the sections with other values in one of them. Raises ValueError for one that is not allowed."""
        content = []
        for own, section in self.content:
            changed = replace(cast("Any", section), **values) if own == name else section
            check_section(changed)
            content.append((own, changed))
        return replace(self, content=tuple(content))


def default_sections() -> EngineSections:
    """Returns the sections of the installed engines with their defaults."""
    return EngineSections(tuple(_sections()))


def sections_of_broken_engines() -> frozenset[str]:
    """Returns the names of sections that cannot be checked, because their engines cannot be loaded."""
    for engines in STAGES.values():
        _declarations(engines)
    return frozenset(
        f"{stage}.{engine.name}" for stage, engines in STAGES.items() for engine in engines.broken_so_far()
    )


def _sections() -> Iterator[tuple[str, object]]:
    for stage, engines in STAGES.items():
        for engine in _declarations(engines):
            if engine.settings is not NoSettings:
                yield f"{stage}.{engine.name}", engine.settings()


def _declarations(engines: Registry[Any]) -> tuple[Any, ...]:
    """Returns the engines that may have sections.

    The program's skills have none, and importing them takes as long as the rest of a start.
    """
    return engines.of_other_packages() if engines is SKILLS else engines.all()
