"""Applies the wake word of a client to its session."""

import asyncio
from functools import partial

from assistant.pipeline.session import Session
from assistant.setup.listening.wake_words import spoken_wake_words, wake_word_listener
from assistant.support.notice import notice
from audio.errors import EngineLoadError
from audio.units import s_of_samples
from web.wire.values.session_config import SessionConfig


def apply_wake_word(session: Session, config: SessionConfig) -> None:
    """Lets the session sleep until the client's wake word, or ends that. The detector is loaded in a thread.

    Speech that the client itself ends is addressed to the assistant, as with the wake phrase.
    """
    name = config.extensions.wake_word
    if config.turn_detection is None or config.kind != "realtime":
        name = None
    gate = session.wake_phrase
    if name == next(iter(gate.by_sound), None):
        return
    gate.by_sound = {}
    session.use_wake_word(None)
    if name is None:
        return
    try:
        gate.by_sound = spoken_wake_words([name])
    except EngineLoadError as error:  # removed since the server was started
        session.context.report_problem(notice("wake_word_failed", reason=error))
        return
    session.side_tasks.start_task(partial(_load, session, name), name=f"wake word {name}")


async def _load(session: Session, name: str) -> None:
    listen_s = s_of_samples(session.wake_phrase.window)
    listener = await asyncio.to_thread(wake_word_listener, [name], listen_s)
    if name in session.wake_phrase.by_sound:  # the client has not changed it meanwhile
        session.use_wake_word(listener)
