"""Names of all server events, and builders for those with more than a few fields."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from assistant.events import ReplySent, ReplyStopped
from assistant.history.cut_to_heard import TimedWord
from assistant.history.prompt_limits import HISTORY_FULL
from assistant.skills.lists.items import ListItem, items_of, list_names
from assistant.skills.ringing.shown_timers import ShownTimer
from web.wire.items.items import JsonObject
from web.wire.outgoing.hidden_addresses import without_addresses
from web.wire.values.errors import ProtocolError
from web.wire.values.session_config import AudioFormat, Limit

RealtimeType = Literal[
    "conversation.item.added",
    "conversation.item.deleted",
    "conversation.item.done",
    "conversation.item.input_audio_transcription.completed",
    "conversation.item.input_audio_transcription.delta",
    "conversation.item.input_audio_transcription.failed",
    "conversation.item.retrieved",
    "conversation.item.truncated",
    "error",
    "input_audio_buffer.cleared",
    "input_audio_buffer.committed",
    "input_audio_buffer.speech_started",
    "input_audio_buffer.speech_stopped",
    "input_audio_buffer.timeout_triggered",
    "mcp_list_tools.completed",
    "mcp_list_tools.failed",
    "mcp_list_tools.in_progress",
    "output_audio_buffer.cleared",
    "response.content_part.added",
    "response.content_part.done",
    "response.created",
    "response.done",
    "response.function_call_arguments.delta",
    "response.function_call_arguments.done",
    "response.mcp_call.completed",
    "response.mcp_call.failed",
    "response.mcp_call.in_progress",
    "response.mcp_call_arguments.delta",
    "response.mcp_call_arguments.done",
    "response.output_audio.delta",
    "response.output_audio.done",
    "response.output_audio_transcript.delta",
    "response.output_audio_transcript.done",
    "response.output_item.added",
    "response.output_item.done",
    "response.output_text.delta",
    "response.output_text.done",
    "session.created",
    "session.updated",
]
ExtensionType = Literal[
    "repartee.announcement",
    "repartee.choices",
    "repartee.conversation",
    "repartee.duck",
    "repartee.heard",
    "repartee.home.call",
    "repartee.language",
    "repartee.listening_sound",
    "repartee.listening_sound_stopped",
    "repartee.lists",
    "repartee.markup",
    "repartee.notice",
    "repartee.nothing_said",
    "repartee.partial",
    "repartee.timers",
    "repartee.trace",
    "repartee.unduck",
    "repartee.wake_word",
    "repartee.wake_word.yielded",
    "repartee.words",
]
EventType = RealtimeType | ExtensionType

SERVER_EVENTS: tuple[str, ...] = get_args(RealtimeType) + get_args(ExtensionType)

Status = Literal["in_progress", "completed", "cancelled", "incomplete", "failed"]

_WHY_INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}


@dataclass(frozen=True, slots=True)
class ResponseHead:
    """Properties of a response that do not change.

    Attributes:
        conversation_id: None: its items are no items of the conversation.
    """

    response_id: str
    conversation_id: str | None
    spoken: bool
    voice: str
    output_format: AudioFormat
    max_output_tokens: Limit
    metadata: Mapping[str, str] | None


@dataclass(frozen=True, slots=True)
class ResponseEnd:
    """End of a response.

    Attributes:
        status: The protocol's status.
        details: The reason, as status_details.
        usage: Token counts of the LLM service, 0 if it gave none; None while the response is in progress.
    """

    status: Status
    details: JsonObject | None = None
    usage: JsonObject | None = None


BEGUN = ResponseEnd("in_progress")


def ending_of(event: ReplySent | ReplyStopped) -> ResponseEnd:
    """Converts the end of a reply to that of its response."""
    if isinstance(event, ReplySent):
        usage = _usage(event)
        if event.error is not None:
            code = "context_length_exceeded" if event.error.startswith(HISTORY_FULL) else "reply_failed"
            return ResponseEnd("failed", _failure(code, event.error), usage)
        if event.incomplete is not None:
            details: JsonObject = {"type": "incomplete"}
            if event.incomplete in _WHY_INCOMPLETE:
                details["reason"] = _WHY_INCOMPLETE[event.incomplete]
            return ResponseEnd("incomplete", details, usage)
        return ResponseEnd("completed", {"type": "completed"}, usage)
    if event.reason == "stuck":
        return ResponseEnd(
            "failed", _failure("reply_stuck", "the reply made no progress and was stopped"), _usage(event)
        )
    reason = "turn_detected" if event.reason in ("voice", "went on") else "client_cancelled"
    return ResponseEnd("cancelled", {"type": "cancelled", "reason": reason}, _usage(event))


def response_object(head: ResponseHead, ending: ResponseEnd, output: list[JsonObject]) -> JsonObject:
    """Builds the response object of response.created and response.done."""
    return {
        "id": head.response_id,
        "object": "realtime.response",
        "status": ending.status,
        "status_details": ending.details,
        "output": output,
        "conversation_id": head.conversation_id,
        "output_modalities": ["audio" if head.spoken else "text"],
        "max_output_tokens": head.max_output_tokens,
        "audio": {"output": {"format": format_object(head.output_format), "voice": head.voice}},
        "usage": ending.usage,
        "metadata": None if head.metadata is None else dict(head.metadata),
    }


def format_object(form: AudioFormat) -> JsonObject:
    """Builds an audio format object. Only pcm has a rate."""
    return {"type": form.value, "rate": form.rate_hz} if form is AudioFormat.PCM else {"type": form.value}


def error_object(error: ProtocolError) -> JsonObject:
    """Builds the error object of an error event."""
    return {
        "type": error.kind,
        "code": error.code,
        "message": error.message,
        "param": error.param,
        "event_id": error.event_id,
    }


def word_object(word: TimedWord) -> JsonObject:
    """Builds a word of repartee.words."""
    return {
        "text": word.text,
        "start_ms": round(word.start_ms, 1),
        "end_ms": round(word.end_ms, 1),
        "estimated": word.estimated,
    }


def timer_object(timer: ShownTimer) -> JsonObject:
    """Builds a timer, alarm or reminder of repartee.timers."""
    return {
        "id": timer.number,
        "kind": timer.kind,
        "name": timer.name,
        "state": timer.state,
        "left_s": round(timer.left_s, 1),
        "length_s": round(timer.length_s, 1),
        "at": None if timer.local_time is None else timer.local_time.isoformat(timespec="seconds"),
        "repeats": timer.repeats,
    }


def list_objects(items: Sequence[ListItem]) -> list[JsonObject]:
    """Builds the lists of repartee.lists."""
    return [
        {"name": name, "items": [{"id": item.key, "text": item.text} for item in items_of(items, name)]}
        for name in list_names(items)
    ]


def _failure(code: str, message: str) -> JsonObject:
    return {"type": "failed", "error": {"type": "server_error", "code": code, "message": without_addresses(message)}}


def _usage(event: ReplySent | ReplyStopped) -> JsonObject:
    """Builds the token counts, 0 if the service gave none. All tokens are text, because this server makes the audio."""
    given, made, cached = event.prompt_tokens or 0, event.completion_tokens or 0, event.cached_tokens or 0
    input_details = {
        "text_tokens": given,
        "audio_tokens": 0,
        "image_tokens": 0,
        "cached_tokens": cached,
        "cached_tokens_details": {"text_tokens": cached, "audio_tokens": 0, "image_tokens": 0},
    }
    return {
        "total_tokens": given + made,
        "input_tokens": given,
        "output_tokens": made,
        "input_token_details": input_details,
        "output_token_details": {"text_tokens": made, "audio_tokens": 0},
    }
