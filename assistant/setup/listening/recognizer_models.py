"""Keeps the recognizer's models: one for each line, and another one when turns have shown its cost."""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from assistant.config.settings import Settings
from assistant.models.model_choice import AUTO, ModelChoice, candidates, model_choice
from assistant.models.model_times import keep_choice, keep_turns
from assistant.models.turn_cost import DecodeTime, Line
from assistant.registry.listening import measured_recognizer
from assistant.setup.listening.recognizer_loader import make_recognizer
from audio.engine_lateness import EngineLateness
from audio.errors import EngineLoadError
from audio.stt import ModelRecognizer, Recognizer, SharedRecognizer

log = logging.getLogger(__name__)

MAX_UNKEPT_TURNS = 60
"""Turns of each model that wait to be kept; of more, only the latest count."""

KEEP_TIMEOUT_S = 5.0


@dataclass(slots=True)
class RecognizerModels:
    """The models of this process, each loaded once and kept until `aclose`. Use it on the event loop.

    Attributes:
        settings: The settings in effect.
        lateness: See `RecognizerRequest`.
    """

    settings: Settings
    lateness: EngineLateness
    _choices: dict[Line, ModelChoice] = field(default_factory=dict)
    _models: dict[str, SharedRecognizer] = field(default_factory=dict)
    _turns_ms: dict[str, list[float]] = field(default_factory=dict)
    _measured: dict[str, DecodeTime] = field(default_factory=dict)  # count if the cache folder cannot be written

    name = "speech recognition"

    async def choose(
        self, line: Line, measured: Mapping[str, DecodeTime] = MappingProxyType({})
    ) -> tuple[ModelChoice, SharedRecognizer]:
        """Returns the model of new conversations on a line, not loaded yet if it is new, and why.

        It is chosen once: another process, or a measurement that took too long, may add times meanwhile.
        """
        self._measured |= measured
        choice = self._choices.get(line)
        if choice is None:
            choice = self._choices[line] = await asyncio.to_thread(self._decide, line)
        return choice, self._model(choice.name)

    def note_turn(self, recognizer: Recognizer, share_ms: float) -> None:
        """Notes the recognizer's share of a turn's response latency."""
        model = recognizer.model if isinstance(recognizer, ModelRecognizer) else ""
        if self.settings.stt.model == AUTO and model in self._models:
            turns = self._turns_ms.setdefault(model, [])
            turns.append(share_ms)
            del turns[:-MAX_UNKEPT_TURNS]

    async def keep(self) -> bool:
        """Keeps the turns in the user's cache folder, within a time limit. Returns whether there were any."""
        turns, self._turns_ms = self._turns_ms, {}
        if not turns:
            return False
        try:
            async with asyncio.timeout(KEEP_TIMEOUT_S):
                await asyncio.to_thread(keep_turns, self.settings, turns)
        except TimeoutError:
            log.warning("the recognizer's times of the last turns are not kept: the disk is slow")
        return True

    async def follow(self) -> Mapping[Line, ModelChoice]:
        """Keeps the turns, and chooses again for later conversations. Returns the lines with another model."""
        changed: dict[Line, ModelChoice] = {}
        if not await self.keep():
            return changed
        for line, before in tuple(self._choices.items()):
            choice = await asyncio.to_thread(self._decide, line)
            if choice.name == before.name:
                continue
            try:
                await self._model(choice.name).load()
            except EngineLoadError as error:
                log.warning("speech recognition: %s stays, because %s", before.name, error)
                continue
            what = "speech recognition: %s instead of %s for the next conversations; %s"
            log.warning(what, choice.name, before.name, choice.why)
            changed[line] = self._choices[line] = choice
        return changed

    async def aclose(self) -> None:
        """Keeps the turns and releases the models. Idempotent."""
        await self.keep()
        models, self._models, self._choices = self._models, {}, {}
        for model in models.values():
            await model.aclose()

    def _decide(self, line: Line) -> ModelChoice:
        choice = model_choice(self.settings, self._measured, line)
        names = candidates(self.settings.assistant.language_of_models)
        if self.settings.stt.model == AUTO and len(names) > 1:
            keep_choice(self.settings, names, line, choice.name)
        return choice

    def _model(self, name: str) -> SharedRecognizer:
        if name not in self._models:
            settings = replace(self.settings, stt=replace(self.settings.stt, model=name))
            self._models[name] = make_recognizer(settings, measured_recognizer(), self.lateness)
        return self._models[name]
