"""Derives the settings of turn taking, sessions, tools and the wake phrase from the sections of config.toml.

Pure, except for `needs`, which reads the disk.
"""

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType

from assistant.config.settings import Settings
from assistant.config.turn_settings import ProfileName
from assistant.end_of_turn.dictation.dictation_rules import DictationRules
from assistant.end_of_turn.estimator import AUTO, BALANCED, EAGER, PATIENT, EndOfTurnProfile
from assistant.models.catalogue import CHAT_MODELS
from assistant.models.language_hint import language_hint
from assistant.models.model_choice import model_choice
from assistant.models.needs import LOCAL_MODEL, Need, installed, needed
from assistant.pipeline.engines import SessionSettings
from assistant.registry.listening import RECOGNIZERS, measured_recognizer, turn_end_engine
from assistant.registry.voices import CLUSTER
from assistant.setup.listening.recognizer_choice import chosen_recognizer, recognizer_need
from assistant.setup.listening.spoken_wake_words import spoken_wake_words
from assistant.tools import ToolSettings
from assistant.tools.cancel_phrases import cancels_in
from assistant.turns.settings import (
    ListeningSoundThresholds,
    OverlapThresholds,
    RecheckThresholds,
    ReplyThresholds,
    TurnSettings,
)
from assistant.turns.words.wake_phrase import WakePhrase, WakePhraseGate
from audio.engines.recognizer import RecognizerThresholds
from audio.errors import EngineLoadError
from audio.speaker_embedding.catalogue import MODELS as SPEAKER_MODELS
from audio.speaker_embedding.catalogue import SPEAKER_EMBEDDER
from audio.units import samples_of_s
from llm.chat import TOKEN_GAP_TIMEOUT_S

DUCKING_MS = 2000.0
"""Longest ducking in ms where words decide. A user who still speaks should not hear the reply return: one interruption
in twenty is not decided in 1 s, one in fifty in 2 s (docs/lab/turn-taking.md, "Overlaps")."""

PROFILES: Mapping[ProfileName, EndOfTurnProfile] = MappingProxyType(
    {"auto": AUTO, "eager": EAGER, "balanced": BALANCED, "patient": PATIENT}
)
"""End-of-turn profile by `turn.profile`."""

BACKCHANNEL_RESUME_DELAY_MS = 440.0
"""Silence in ms after words known to be a backchannel before the reply resumes: the longest after a sentence that
sounds finished in the balanced profile. 16 of 74 users paused for as long and went on (docs/lab/turn-taking.md,
"Overlaps"); they retract the rest, of which nothing was heard yet."""

STUCK_MARGIN_S = 2.0
"""Added to the longest timeout, because an operation with its own timeout reports its failure best."""

LATEST_TRANSCRIPT_S = 600.0
"""Wait for a transcript after which its turn is given up, in seconds. A recognizer ends every request before: with a
transcript, late on a busy machine, or because it hangs."""

MOMENTS: Mapping[str, str] = MappingProxyType(
    {"en": "One moment.", "de": "Einen Moment.", "fr": "Un instant.", "es": "Un momento."}
)
"""Spoken while a tool is slow, by language. For other languages the configuration must supply it."""

FALLBACK_NOTICES: Mapping[str, str] = MappingProxyType(
    {
        "en": "I can't reach my usual language model, so a smaller one on this machine answers.",
        "de": "Ich erreiche mein übliches Sprachmodell nicht, deshalb antwortet ein kleineres auf diesem Gerät.",
        "fr": "Je ne peux pas joindre mon modèle habituel, un plus petit répond donc sur cette machine.",
        "es": "No puedo contactar con mi modelo habitual, así que responde uno más pequeño en este equipo.",
    }
)
"""Spoken once when the local model stands in, by language; English for other languages."""


def needs(settings: Settings) -> list[Need]:
    """Returns the models that these settings need on this machine; engines on a cluster need none here."""
    engine, estimator = measured_recognizer(), turn_end_engine()
    uses_other = settings.stt.engine == CLUSTER or chosen_recognizer(settings) is not engine
    elsewhere = {engine.models.name} if engine.models is not None and uses_other else set()
    if estimator.models is not None and settings.turn.smart_turn == CLUSTER:
        elsewhere.add(estimator.models.name)
    needs = needed(
        language=settings.assistant.language,
        stt_language=settings.assistant.language_of_models,
        stt_model=model_choice(settings).name,
        tts_engine=settings.tts.engine,
        voice=settings.tts.voice,
        chat_models=_chat_models(settings),
        chat_key="model" if settings.llm.endpoints else LOCAL_MODEL,
    )
    needs = [need for need in needs if need.kind not in elsewhere]
    if settings.voice.focus != "off":
        needs.append(Need(SPEAKER_EMBEDDER.name, SPEAKER_MODELS.name, SPEAKER_MODELS.purpose))
    own = recognizer_need(settings)
    return needs if own is None else [own, *needs]


def _chat_models(settings: Settings) -> list[str]:
    """Returns the language models that run on this machine: configured, or used because none is configured."""
    named = [endpoint.model for endpoint in settings.llm.endpoints if endpoint.is_on_this_machine]
    if settings.llm.endpoints or settings.llm.local_model == "off":
        return named
    if settings.llm.local_model != "auto":
        return [settings.llm.local_model]
    there = (model for model in reversed(CHAT_MODELS) if installed(model) and model.covers(settings.assistant.language))
    return [model.name for model in there][:1]


def use_of_chat_model(settings: Settings, name: str) -> str:
    """Returns whether a downloaded language model answers with these settings, and how to change that, in one line."""
    llm, used = settings.llm, _chat_models(settings)
    if name in used and (llm.endpoints or llm.local_model == name):
        return f"{name} is used, as your settings say."
    if name in used:
        return (
            f"From now on {name} answers what the built-in skills do not know, in every command, because no other "
            'language model is configured (llm.local_model = "auto"). To go on without it, set llm.local_model = "off".'
        )
    if llm.endpoints:
        fallback = f"repartee endpoints add here --kind local --model {name}"
        return f"{name} is not used: {llm.endpoints[0].name} answers. To add it as a fallback, run {fallback}"
    other = f"{used[0]} answers" if used else f'llm.local_model is "{llm.local_model}"'
    if llm.local_model == "auto" and not used:
        other = f"it does not speak the language {settings.assistant.language}"
    return f'{name} is not used: {other}. To use it, set llm.local_model = "{name}".'


def turn_settings(settings: Settings, recognizer: str) -> TurnSettings:
    """Returns the settings of turn taking with this recognizer."""
    turn = settings.turn
    return TurnSettings(
        hangover_ms=turn.hangover_in_use_ms,
        profile=None if turn.hangover_ms else PROFILES[turn.profile],
        speculate_after_ms=turn.speculate_after_ms or None,
        interrupt_after_ms=turn.interrupt_after_ms,
        stuck_after_s=stuck_after_s(settings),
        transcript_stuck_after_s=LATEST_TRANSCRIPT_S,
        listening_sounds=ListeningSoundThresholds() if turn.listening_sounds else None,
        # no reply to words that may still change
        overlap=overlap_thresholds(recognizer),
        replies=ReplyThresholds(backchannel_resume_delay_ms=BACKCHANNEL_RESUME_DELAY_MS),
        rechecks=RecheckThresholds(settle_ms=min(thresholds_of(recognizer).settle_ms, turn.hangover_in_use_ms)),
    )


def thresholds_of(recognizer: str) -> RecognizerThresholds:
    """Returns when the words of a recognizer can be used."""
    engine = RECOGNIZERS.get(recognizer)
    return RecognizerThresholds() if engine is None else engine.thresholds


def overlap_thresholds(recognizer: str) -> OverlapThresholds:
    """Returns the thresholds of overlaps with this recognizer."""
    thresholds = thresholds_of(recognizer)
    if thresholds.words_after_ms is None:
        return OverlapThresholds()
    return OverlapThresholds(
        words_after_ms=thresholds.words_after_ms,
        first_word_until_ms=thresholds.first_word_until_ms,
        max_ducking_ms=DUCKING_MS,
    )


def stuck_after_s(settings: Settings) -> float:
    """Returns how long no progress is tolerated before the assistant listens again: longer than every timeout."""
    llm = settings.llm
    max_s = max(settings.stt.timeout_s, llm.first_token_timeout_s, TOKEN_GAP_TIMEOUT_S, settings.tts.timeout_s)
    max_s = max(max_s, *(endpoint.protocol.least_timeout_s for endpoint in llm.endpoints), 0.0)
    return max(settings.turn.stuck_after_s, max_s + STUCK_MARGIN_S)


def wake_phrase_gate(settings: Settings) -> WakePhraseGate:
    """Returns the gate for speech addressed to the assistant. Raises EngineLoadError for an invalid wake phrase."""
    if settings.talk.wake_word:
        words = spoken_wake_words(settings.talk.wake_word.split())
        return WakePhraseGate(None, samples_of_s(settings.talk.listen_s), by_sound=words)
    if settings.talk.mode != "wake":
        return WakePhraseGate()
    try:
        return WakePhraseGate(WakePhrase(settings.talk.wake_phrase), samples_of_s(settings.talk.listen_s))
    except ValueError as error:
        raise EngineLoadError(str(error)) from error


def session_settings(settings: Settings) -> SessionSettings:
    """Returns the settings of a session."""
    # The voice's own timeout expires first, because the voice can stop a library that hangs.
    voice_timeout_s = settings.tts.timeout_s + 0.5
    return SessionSettings(
        settings.stt.timeout_s,
        voice_timeout_s,
        settings.assistant.greeting,
        knows_grammar(settings),
        tool_settings(settings),
        FALLBACK_NOTICES.get(settings.assistant.language.partition("-")[0], FALLBACK_NOTICES["en"]),
        partial(language_hint, settings),
        DictationRules(settings.assistant.language, settings.assistant.region),
        settings.assistant.language,
    )


def tool_settings(settings: Settings) -> ToolSettings:
    """Returns the settings of tools."""
    tools = settings.tools
    moment = tools.moment or MOMENTS.get(settings.assistant.language.partition("-")[0], "")
    return ToolSettings(
        timeout_s=tools.timeout_s,
        moment=moment if tools.moment_after_s else "",
        moment_after_s=tools.moment_after_s,
        mode=tools.mode,
        cancels=cancels_in(settings.assistant.language),
    )


def knows_grammar(settings: Settings) -> bool:
    """Returns whether the end-of-turn estimate knows the grammar of the conversation's language."""
    return settings.assistant.language.partition("-")[0] == "en"
