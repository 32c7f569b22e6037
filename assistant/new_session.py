"""A new conversation on engines that are ready, as the settings say, its records on their way."""

import asyncio
import secrets
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime

from assistant.attention import Attention
from assistant.conversation import Conversation
from assistant.derived_settings import attention, session_settings, turn_settings
from assistant.engines import Engines
from assistant.facts import Fact
from assistant.push_to_talk import TalkKey
from assistant.session import Session
from assistant.trace.file import TraceFile
from assistant.trace.record import TurnRecord
from assistant.trace.recorder import Recorder
from assistant.turns import Turns
from assistant.workshop import Workshop
from audio.microphone import Microphone
from audio.speaker import Speaker


def session(
    workshop: Workshop,
    *,
    engines: Engines,
    microphone: Microphone,
    speaker: Speaker,
    trace: TraceFile,
    show: Callable[[Fact], None],
    counters: Callable[[], Mapping[str, int]],
    in_use: Callable[[], Mapping[str, str]] = dict,
) -> Session:
    """A conversation on these engines, as the settings say, its records on their way to `trace`.

    `in_use`: what else is in use, asked at the end of every turn: it may be changed while the conversation lasts.
    """
    settings, talk = workshop.settings, workshop.settings.talk
    export = workshop.export

    def write(record: TurnRecord) -> None:
        trace.put(record)
        if export is not None:
            export.put(record)

    recorder = Recorder(
        conversation=trace.path.stem,
        started_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
        salt=secrets.token_bytes(16),
        engines={chosen.stage: chosen.name for chosen in workshop.chosen},
        fallbacks=list(workshop.fallbacks),
        keep_words=settings.trace.words,
        speech_end_bias_ms=engines.vad.end_bias_ms,
        counters=lambda: {
            "clock_steps": microphone.clock.steps,
            "invented_frames": microphone.invented_frames,
            "dropped_records": trace.dropped,
            "dropped_exports": 0 if export is None else export.dropped,
            **counters(),
        },
        in_use=in_use,
        write=write,
        show=show,
        started_s=asyncio.get_running_loop().time(),
        exports=export is not None,
    )
    who, by_key = attention(settings) if workshop.talks else Attention(), workshop.talks and talk.mode == "push-to-talk"
    turns = turn_settings(settings, engines.transcriber.name)
    return Session(
        microphone,
        speaker,
        engines,
        Turns(replace(turns, held=by_key, interruptible=who.interruptible, by_name=not who.interruptible)),
        Conversation(settings.assistant.instructions, settings.llm.max_history_turns, settings.llm.max_history_tokens),
        recorder,
        session_settings(settings),
        show,
        attention=who,
        key=TalkKey() if by_key else None,
    )


def conversation_name() -> str:
    """When it began, and what tells it from others that began then."""
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(4)}"
