"""Starts a conversation on loaded engines."""

import asyncio
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime

from assistant.events import SessionEvent
from assistant.history.history import History
from assistant.pipeline.busy_machine import BusyMachine
from assistant.pipeline.engines import Engines
from assistant.pipeline.listening_sounds import SoundOutput
from assistant.pipeline.recorder import Recorder
from assistant.pipeline.session import Session
from assistant.setup.derived_settings import session_settings, turn_settings, wake_phrase_gate
from assistant.setup.engine_loader import EngineLoader
from assistant.setup.listening.wake_word_loader import WakeWordLoader
from assistant.setup.listening.wake_words import wake_word_listener
from assistant.trace.file import TraceFile
from assistant.trace.record import TurnRecord
from assistant.turns.push_to_talk import PushToTalk
from assistant.turns.settings import EndsTurn, FocusThresholds, InterruptedBy
from assistant.turns.turn_taking import TurnTaking
from assistant.turns.words.wake_phrase import WakePhraseGate
from audio.machine_load import MachineLoadReader
from audio.microphone import Microphone
from audio.speaker import RemoteSpeaker, Speaker
from audio.units import samples_of_s


def session(
    loader: EngineLoader,
    *,
    engines: Engines,
    microphone: Microphone,
    speaker: Speaker,
    trace: TraceFile,
    on_event: Callable[[SessionEvent], None],
    counters: Callable[[], Mapping[str, int]],
    in_use: Callable[[], Mapping[str, str]] = dict,
    sound_output: SoundOutput | None = None,
    in_call: bool = False,
    room: str = "",
) -> Session:
    """Returns a session on these engines, configured by the settings, that writes its turn records to `trace`.

    Args:
        loader: Has loaded the engines.
        engines: The engines of this session.
        microphone: The source of the frames.
        speaker: Plays the replies.
        trace: Receives the turn records.
        on_event: Receives every session event.
        counters: Returns counts for the trace.
        in_use: Devices in use, read at the end of every turn, because they may change during the conversation.
        sound_output: Plays listening sounds; None: there are none.
        in_call: Whether the user only hears, as in a telephone call.
        room: Name of the room in which the user speaks; "" if it is not known.
    """
    settings, talk = loader.settings, loader.settings.talk
    export = loader.export

    def write(record: TurnRecord) -> None:
        trace.queue_record(record)
        if record.stages:
            loader.recognizer_models.note_turn(engines.recognizer, record.stages["stt"].ms)
        if export is not None:
            export.queue_record(record)

    recorder = Recorder(
        conversation_id=trace.path.stem,
        started_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
        salt=secrets.token_bytes(16),
        engines=loader.traced,
        fallbacks=list(loader.fallbacks),
        keep_words=settings.trace.words,
        speech_end_bias_ms=engines.vad.end_bias_ms,
        counters=lambda: {
            "clock_steps": microphone.clock.steps,
            "dropped_records": trace.dropped,
            "dropped_exports": 0 if export is None else export.dropped,
            **counters(),
        },
        in_use=lambda: {**in_use(), **loader.degraded},
        write=write,
        on_event=on_event,
        started_s=asyncio.get_running_loop().time(),
        exports=export is not None,
        busy_machine=BusyMachine(MachineLoadReader(), on_event, time.monotonic),
    )
    gate, push_to_talk = (
        wake_phrase_gate(settings) if loader.talks else WakePhraseGate(window=samples_of_s(talk.listen_s)),
        loader.talks and talk.mode == "push-to-talk",
    )
    wake_word = wake_word_listener(talk.wake_word.split(), talk.listen_s) if loader.talks and talk.wake_word else None
    turns = turn_settings(settings, engines.recognizer.name)
    if engines.listening_sound is None or sound_output is None:
        turns = replace(turns, listening_sounds=None)
    focus = loader.voice_focus()
    if focus is not None:
        turns = replace(turns, focus=FocusThresholds(waits_for_words=gate.phrase is not None))
    engines.skill_effects.enter_room(room)
    if isinstance(speaker, RemoteSpeaker):
        engines.skill_effects.is_unheard = lambda: speaker.is_disconnected
    session = Session(
        microphone,
        speaker,
        engines,
        TurnTaking(
            replace(
                turns,
                ends_turn=EndsTurn.PUSH_TO_TALK if push_to_talk else EndsTurn.AUTO,
                interrupted_by=InterruptedBy.VOICE if gate.interruptible else InterruptedBy.WAKE_PHRASE,
            )
        ),
        History(settings.assistant.instructions, settings.llm.max_history_turns, settings.llm.max_history_tokens),
        recorder,
        replace(session_settings(settings), in_call=in_call),
        on_event,
        focus=focus,
        wake_phrase=gate,
        wake_word=wake_word,
        push_to_talk=PushToTalk(turns.push_to_talk) if push_to_talk else None,
        sound_output=sound_output,
    )
    if wake_word is not None:
        WakeWordLoader(session, wake_word, talk.wake_word.split()).watch()
    return session


def conversation_name() -> str:
    """Returns a unique name: the UTC start time and a random suffix."""
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(4)}"
