"""What the settings mean to each part: from the sections of config.toml to what turn taking, a session, its tools and
whoever is listened to are given. Pure."""

from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType

from assistant.config.settings import Profile, Settings
from assistant.end_of_turn.estimator import BALANCED, EAGER, PATIENT, EndOfTurnProfile
from assistant.models.language_hint import language_hint
from assistant.models.needs import Need, needed
from assistant.pipeline.engines import SessionSettings
from assistant.tools import ToolSettings
from assistant.turns.settings import TurnSettings
from assistant.turns.wake_phrase import WakePhrase, WakePhraseGate
from audio.errors import EngineLoadError
from audio.units import samples_of_s

SETTLE_MS: Mapping[str, float] = MappingProxyType({"pocketsphinx": 120.0, "faster-whisper": 160.0})
"""Silence after which a recognizer's words are as good as they get: pocketsphinx looks 40 to 80 ms ahead; Whisper
may answer at first with a decode that was begun before the detector heard the end (docs/stt.md)."""

PATIENCE: Mapping[Profile, EndOfTurnProfile] = MappingProxyType(
    {"eager": EAGER, "balanced": BALANCED, "patient": PATIENT}
)
"""How long a silence is waited for, by `turn.profile`."""

STUCK_MARGIN_S = 2.0
"""What has a limit of its own is given so much longer: it knows best how to say that it failed."""

MOMENTS: Mapping[str, str] = MappingProxyType(
    {"en": "One moment.", "de": "Einen Moment.", "fr": "Un instant.", "es": "Un momento."}
)
"""What is said while a tool is slow, by language; in any other the configuration has to say it."""


def needs(settings: Settings) -> list[Need]:
    """The models that these settings need."""
    return needed(
        language=settings.assistant.language,
        stt_engine=settings.stt.engine,
        stt_model=settings.stt.model,
        tts_engine=settings.tts.engine,
        voice=settings.tts.voice,
    )


def turn_settings(settings: Settings, recognizer: str) -> TurnSettings:
    """What turn taking needs of the settings, with this recognizer."""
    turn = settings.turn
    return TurnSettings(
        hangover_ms=turn.hangover_in_use_ms,
        patience=None if turn.hangover_ms else PATIENCE[turn.profile],
        speculate_after_ms=turn.speculate_after_ms or None,
        settle_ms=min(SETTLE_MS.get(recognizer, 0.0), turn.hangover_in_use_ms),  # no answer to words that may be wrong
        interrupt_after_ms=turn.interrupt_after_ms,
        max_turn_s=turn.max_turn_s,
        stuck_after_s=stuck_after_s(settings),
        pre_roll_ms=turn.pre_roll_ms,
    )


def stuck_after_s(settings: Settings) -> float:
    """How long nothing may be heard of before the assistant listens again: longer than anything that has a limit."""
    llm = settings.llm
    longest_s = max(settings.stt.timeout_s, llm.first_token_timeout_s, llm.token_gap_timeout_s, settings.tts.timeout_s)
    return max(settings.turn.stuck_after_s, longest_s + STUCK_MARGIN_S)


def with_phrase(sentences: Sequence[str], phrase: str) -> tuple[str, ...]:
    """Sentences to be recognized, the wake phrase before each, and it alone, too."""
    called = " ".join(phrase.lower().split())
    return (*sentences, called, *(f"{called} {sentence}" for sentence in sentences))


def attention(settings: Settings) -> WakePhraseGate:
    """Who is listened to. Raises EngineLoadError for a wake phrase that is none."""
    if settings.talk.mode != "wake":
        return WakePhraseGate()
    try:
        return WakePhraseGate(WakePhrase(settings.talk.wake_phrase), samples_of_s(settings.talk.listen_s))
    except ValueError as error:
        raise EngineLoadError(str(error)) from error


def session_settings(settings: Settings) -> SessionSettings:
    """What a session needs of the settings."""
    # The voice is given its own limit first: it knows how to get rid of a library that hangs.
    voice_timeout_s = settings.tts.timeout_s + 0.5
    return SessionSettings(
        settings.stt.timeout_s,
        voice_timeout_s,
        settings.assistant.greeting,
        reads(settings),
        tool_settings(settings),
        partial(language_hint, settings),
    )


def tool_settings(settings: Settings) -> ToolSettings:
    """How tools may behave."""
    tools = settings.tools
    moment = tools.moment or MOMENTS.get(settings.assistant.language.partition("-")[0], "")
    return ToolSettings(
        timeout_s=tools.timeout_s,
        moment=moment if tools.moment_after_s else "",
        moment_after_s=tools.moment_after_s,
        max_rounds=tools.max_rounds,
        max_result_chars=tools.max_result_chars,
    )


def reads(settings: Settings) -> bool:
    """Whether the estimate of turn ends knows the grammar of the conversation's language."""
    return settings.assistant.language.partition("-")[0] == "en"
