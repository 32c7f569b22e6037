"""Chooses the recognizer's model for `stt.model = "auto"` from the installed ones and what they cost. Reads the disk.

`turn_cost.py` decides; `model_times.py` keeps what is measured.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from assistant.config.settings import Settings
from assistant.models.catalogue import MODELS
from assistant.models.model_times import read_costs
from assistant.models.needs import installed, kind_of_recognizer
from assistant.models.turn_cost import LINES, DecodeTime, Line, choose
from assistant.registry.listening import measured_recognizer
from assistant.support.cpu import is_busy
from declarations.models import Model

AUTO = "auto"
"""Value of `stt.model` for which the model is chosen here."""


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """The model in use.

    Attributes:
        name: As in `stt.model`: a name of the catalogue, or a path.
        why: Reason, for display; "" if the configuration names the model, or none is installed.
        unmeasured: Installed models without a time on this machine, the smallest first.
        doubtful: Models that were too slow while the machine was busy, the smallest first.
    """

    name: str
    why: str = ""
    unmeasured: tuple[str, ...] = ()
    doubtful: tuple[str, ...] = ()

    @property
    def to_measure(self) -> tuple[str, ...]:
        """The models to measure at this start, the smallest first: doubtful ones only if the machine is free now."""
        if not self.doubtful or is_busy():
            return self.unmeasured
        names = {*self.unmeasured, *self.doubtful}
        return tuple(sorted(names, key=lambda name: _size(MODELS[name])))

    def measuring(self, limit_s: float) -> str:
        """Returns what is measured, within this time, for display."""
        return f"the speed of speech recognition on this machine ({', '.join(self.to_measure)}), {limit_s:g} s at most"


def model_choice(
    settings: Settings, measured: Mapping[str, DecodeTime] = MappingProxyType({}), line: Line = "wide"
) -> ModelChoice:
    """Returns the configured model, or the one chosen for "auto". Never downloads or measures.

    Args:
        settings: The settings in effect.
        measured: Times of models that this process measured. They count if the cache folder cannot be written.
        line: The line of the conversation.
    """
    if settings.stt.model != AUTO:
        return ModelChoice(settings.stt.model)
    language, engine = settings.assistant.language_of_models, measured_recognizer()
    names = candidates(language)
    if len(names) < 2:
        default = engine.default_model(language)
        return ModelChoice(names[0], f"auto: {names[0]} is the only one here") if names else ModelChoice(default)
    costs, in_use = read_costs(settings, names)
    for name in names:
        if costs[name].decode is None:
            costs[name] = replace(costs[name], decode=measured.get(name))
    equals = engine.measured.equals if engine.measured is not None else {}
    chosen = {line: choose(costs, in_use.get(line, ""), line, equals.get(line, {})) for line in LINES}
    choice, by_telephone = chosen[line], chosen["telephone"].name
    other = "" if by_telephone == choice.name else f"; {by_telephone} on telephone lines"
    return ModelChoice(choice.name, choice.why + other, choice.unmeasured, choice.doubtful)


def candidates(language: str) -> list[str]:
    """Returns the installed catalogue models for a language by size; the English one follows that of the same size."""
    models = [model for model in MODELS.values() if model.kind == kind_of_recognizer() and model.covers(language)]
    return [model.name for model in sorted(models, key=_size) if installed(model) is not None]


def _size(model: Model) -> tuple[float, bool]:
    return model.size_mb or 0, bool(model.languages)
