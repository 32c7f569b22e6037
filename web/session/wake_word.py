"""Applies the wake word of a client to its session."""

from assistant.pipeline.session import Session
from assistant.setup.listening.spoken_wake_words import spoken_wake_words
from assistant.setup.listening.wake_word_loader import WakeWordLoader
from assistant.setup.listening.wake_words import sleeping_listener
from assistant.support.notice import notice
from audio.errors import EngineLoadError
from audio.units import s_of_samples
from web.wire.values.session_config import SessionConfig


def apply_wake_word(session: Session, config: SessionConfig) -> None:
    """Lets the session sleep until the client's wake word, or ends that. The detector is loaded in a thread.

    It sleeps before the detector is loaded, and if that fails: nothing is recognized that the client has not allowed.
    Another update then tries again. Speech that the client itself ends is addressed to the assistant, as with the wake
    phrase.
    """
    name = config.extensions.wake_word
    if config.turn_detection is None or config.kind != "realtime":
        name = None
    gate = session.wake_phrase
    if name == next(iter(gate.by_sound), None) and (name is None) == (session.wake_word is None):
        return
    gate.by_sound = {}
    if name is None:
        session.use_wake_word(None)
        return
    listener = sleeping_listener(s_of_samples(gate.window))
    session.use_wake_word(listener)
    try:
        gate.by_sound = spoken_wake_words([name])
    except EngineLoadError as error:  # removed since the server was started
        session.context.report_problem(notice("wake_word_failed", reason=f"{error}"))
        return

    def forget() -> None:
        gate.by_sound = {}

    WakeWordLoader(session, listener, [name], forget).start()
