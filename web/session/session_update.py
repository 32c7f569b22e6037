"""Applies the settings of a `session.update` to the running session."""

from dataclasses import asdict, replace

from assistant.config.turn_settings import ProfileName
from assistant.history.history import History
from assistant.pipeline.session import Session
from assistant.skills.lists.items import UserLists
from assistant.skills.timers.timers import Timers
from assistant.turns.settings import InterruptedBy, TurnSettings
from assistant.turns.words.wake_phrase import WakePhrase
from audio.stt import PromptedRecognizer, Recognizer, TokenRecognizer
from audio.vad import DEFAULT_THRESHOLD, AdjustableVad
from web.session.client_settings import reply_options, turn_settings
from web.session.wake_word import apply_wake_word
from web.wire.items.items import JsonObject
from web.wire.values.session_config import ServerVad, SessionConfig


def apply_settings(session: Session, base: TurnSettings, profile: ProfileName, config: SessionConfig) -> None:
    """Applies all settings of a client.

    Args:
        session: The session.
        base: The server's turn-taking settings.
        profile: The server's setting turn.profile.
        config: The client's settings.
    """
    apply_wake_word(session, config)
    gate = session.wake_phrase
    gate.phrase = _wake_phrase(config)
    settings = turn_settings(base, profile, config)
    if not gate.interruptible and settings.interrupted_by is InterruptedBy.VOICE:
        settings = replace(settings, interrupted_by=InterruptedBy.WAKE_PHRASE)
    if gate.phrase is not None:  # only the words show whether speech is a turn
        settings = replace(settings, sound_decides=False)
    if settings.focus is not None:
        settings = replace(settings, focus=replace(settings.focus, waits_for_words=gate.phrase is not None))
    session.turns.settings = settings
    session.history.instructions = config.instructions
    session.engines.skill_effects.enter_room(config.extensions.room)
    _truncate(session.history, config)
    session.reply_options = reply_options(config)
    tracing = asdict(config.tracing) if config.tracing is not None else {}
    session.recorder.tracing = {name: value for name, value in tracing.items() if value}
    if config.kind == "transcription":  # it may have begun as a conversation
        session.context.settings = replace(session.context.settings, greeting="")
        session.engines.skill_effects.timers, session.engines.skill_effects.lists = Timers(), UserLists()
    recognizer = session.engines.recognizer
    if isinstance(recognizer, PromptedRecognizer):
        recognizer.set_prompt(_recognizer_prompt(config))
    if isinstance(recognizer, TokenRecognizer):
        recognizer.keep_tokens(enabled=config.logprobs)
    detection, vad = config.turn_detection, session.engines.vad
    if isinstance(vad, AdjustableVad):
        vad.set_threshold(detection.threshold if isinstance(detection, ServerVad) else DEFAULT_THRESHOLD)


def _recognizer_prompt(config: SessionConfig) -> str:
    return ". ".join(part for part in (", ".join(config.keywords), config.transcription_prompt) if part)


def _wake_phrase(config: SessionConfig) -> WakePhrase | None:
    """Returns the client's wake phrase. Speech that the client itself ends is addressed to the assistant."""
    phrase = config.extensions.wake_phrase
    return None if phrase is None or config.turn_detection is None or config.kind != "realtime" else WakePhrase(phrase)


def _truncate(history: History, config: SessionConfig) -> None:
    truncation = config.truncation
    # A transcription session has no prompt: nothing leaves it, and no summary is made of what does.
    history.truncates = truncation.kind != "disabled" and config.kind == "realtime"
    history.own_max_tokens, history.kept = truncation.post_instructions, truncation.retention_ratio


def logprobs_of(recognizer: Recognizer, text: str) -> list[JsonObject] | None:
    """Returns the probabilities of the tokens of a transcript with these words, if the recognizer knows them."""
    tokens = recognizer.tokens_of(text) if isinstance(recognizer, TokenRecognizer) else None
    if tokens is None:
        return None
    return [
        {
            "token": token.text,
            "bytes": list(token.text.encode(errors="replace")),
            "logprob": round(token.log_probability, 5),
        }
        for token in tokens
    ]
