"""Describes the installed engines in the `info` of Wyoming."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, metadata, version

from wyoming.event import Event
from wyoming.info import (
    AsrModel,
    AsrProgram,
    Attribution,
    HandleModel,
    HandleProgram,
    Info,
    TtsProgram,
    TtsVoice,
    WakeModel,
    WakeProgram,
)

from assistant.models.language_names import NAMES
from assistant.registry.listening import RECOGNIZERS
from assistant.registry.skills import SKILLS
from assistant.setup.conversation.chosen_engines import EngineChoices
from assistant.setup.conversation.engine_options import EngineOptions, base_of
from assistant.setup.listening.wake_words import wake_words
from assistant.setup.voices.installed import installed_voices

PROGRAM = "Repartee"
"""Name of each program, as Home Assistant shows it. There is one of a kind, so `select-program` is ignored."""

_PACKAGE = "repartee"

KEPT_S = 5.0
"""Age up to which a description is sent again."""
OF_LANGUAGE = ":"
"""Separates the name of a voice of many languages from the code of one."""
WAKE_LANGUAGE = "en"
"""Language of the wake words, which are English."""

_OURS = Attribution("Repartee", "")
_HOME_PAGES = ("homepage", "repository", "source", "source code")


@dataclass(slots=True)
class Descriptions:
    """Describes the server to any number of clients. A description takes 10 ms and some of the disk.

    Attributes:
        choices: The engines.
        wake: Returns the wake words.
    """

    choices: EngineChoices
    wake: Callable[[], Sequence[str]]
    _latest: tuple[float, Event] | None = None
    _making: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def info(self) -> Event:
        """Returns the event for `describe`, at most some seconds old."""
        now_s = asyncio.get_running_loop().time
        async with self._making:
            if self._latest is None or now_s() > self._latest[0] + KEPT_S:
                options = await self.choices.refresh()
                info = await asyncio.to_thread(describe, self.choices, options, self.wake())
                self._latest = now_s(), info.event()
            return self._latest[1]


def describe(choices: EngineChoices, options: EngineOptions, wake: Sequence[str]) -> Info:
    """Returns what is installed, as it is now; `wake`: the wake words. Reads the disk."""
    loader = choices.loader
    chosen = {choice.stage: choice for choice in loader.chosen}
    own = version(_PACKAGE)
    listening, speaking = chosen.get("stt"), chosen.get("tts")
    info = Info()
    if listening is not None and not listening.fallback:
        engine = RECOGNIZERS.get(listening.name)
        attribution = _OURS if engine is None else attribution_of(engine.name, *engine.packages)
        languages = languages_of(choices, options)
        listener = AsrModel(listening.name, attribution, True, listening.detail or None, None, languages)
        info.asr = [
            AsrProgram(
                PROGRAM, _OURS, True, "Speech to text", own, [listener],
                supports_transcript_streaming=True,
                prefers_noise_reduction_enabled=False,
            )
        ]  # fmt: skip
    if speaking is not None:
        info.tts = [
            TtsProgram(
                PROGRAM, _OURS, True, "Text to speech", own, _voices(choices, options),
                supports_synthesize_streaming=True,
            )
        ]  # fmt: skip
    answering, settings = chosen.get("llm"), loader.settings
    if answering is not None:
        languages = languages_of(choices, options)
        if loader.language_model is None:
            languages = [
                language for language in languages if any(language in skill.languages for skill in SKILLS.all())
            ]
        model = HandleModel(answering.name, _OURS, True, answering.detail or None, None, languages)
        info.handle = [
            HandleProgram(
                PROGRAM, _OURS, True, "The assistant: skills and language model", own, [model],
                supports_handled_streaming=True,
                supports_home_control=bool(settings.home.url),
            )
        ]  # fmt: skip
    if wake:
        engines = wake_words()
        words = [
            WakeModel(
                word, attribution_of(detector.name, *detector.packages), True, detector.words[word], None,
                [WAKE_LANGUAGE], detector.words[word],
            )
            for word in wake
            if (detector := engines[word])
        ]  # fmt: skip
        info.wake = [WakeProgram(PROGRAM, _OURS, True, "Wake words", own, words)]
    return info


def languages_of(choices: EngineChoices, options: EngineOptions) -> list[str]:
    """Returns the languages that are recognized, the server's own first."""
    settings = choices.loader.settings.assistant
    own = (settings.language, *settings.languages)
    return list(dict.fromkeys(map(base_of, (*own, *options.languages))))


def _voices(choices: EngineChoices, options: EngineOptions) -> list[TtsVoice]:
    """Returns the voices that a client may choose, the server's own first."""
    default = choices.default_voice
    allowed = {voice.name for voice in options.voices}
    own = base_of(choices.loader.settings.assistant.language)
    voices = []
    for voice in installed_voices():
        if voice.name in allowed or voice.name == default:
            attribution = attribution_of(voice.engine.name, *voice.engine.packages)
            if voice.language or voice.name == default:
                languages = [voice.language or own]
                voices.append(TtsVoice(voice.name, attribution, True, voice.label, None, languages))
            if not voice.language and voice.name in allowed:  # a client that names a voice names no language
                for code, language in NAMES.items():
                    name, label = f"{voice.name}{OF_LANGUAGE}{code}", f"{voice.label} ({language})"
                    voices.append(TtsVoice(name, attribution, True, label, None, [code]))
    if all(voice.name != default for voice in voices):  # as on a cluster
        voices.append(TtsVoice(default, _OURS, True, default, None, [own]))
    return sorted(voices, key=lambda voice: voice.name != default)


@cache
def attribution_of(engine: str, *packages: str) -> Attribution:
    """Returns who made an engine: its library, and the library's page. Reads the disk once."""
    for package in packages:
        try:
            about = metadata(package)
        except PackageNotFoundError:
            continue
        pages = [entry.partition(", ") for entry in about.get_all("Project-URL") or ()]
        named = [page for name, _, page in pages if name.lower() in _HOME_PAGES]
        return Attribution(package, next(iter(named), ""))
    return Attribution(engine, "")
