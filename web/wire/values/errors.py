"""Errors that are sent to a client. An error does not end the session."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Kind = Literal["invalid_request_error", "server_error"]


@dataclass(frozen=True, slots=True)
class ProtocolError:
    """The content of an `error` event.

    Attributes:
        code: Machine-readable reason.
        message: Human-readable: what is wrong, where, and what is allowed. Never contains words of the user.
        param: Path of the field it is about; None: the whole event.
        event_id: Id of the client's event it is about; None if the event had none.
        kind: Whether the client or the server caused it.
    """

    code: str
    message: str
    param: str | None = None
    event_id: str | None = None
    kind: Kind = "invalid_request_error"


Refusal = Literal[
    "call_id_taken",
    "conversation_already_has_active_response",
    "input_audio_buffer_commit_empty",
    "invalid_approval_request_id",
    "invalid_tool_call_id",
    "item_create_duplicate_item_id",
    "item_create_invalid_previous_item_id",
    "item_delete_invalid_item_id",
    "item_retrieve_invalid_item_id",
    "item_truncate_invalid_item_id",
    "item_truncate_too_long",
    "output_audio_buffer_clear_empty",
    "response_cancel_not_active",
    "response_input_invalid_item_id",
    "response_input_invalid_tool_call_id",
    "too_many_responses",
    "too_many_recordings",
    "unsupported_content_type",
]
"""Reason for refusing a well-formed command. It is the error's code, except for those in `CODES`."""

CODES: dict[Refusal, str] = {
    "item_truncate_too_long": "invalid_value",
    "response_input_invalid_tool_call_id": "invalid_tool_call_id",
    "too_many_recordings": "rate_limit_exceeded",
}

# Codes and the beginnings of messages are those of OpenAI's service, because clients compare them: LiveKit ignores
# errors that begin with "Cancellation failed", and Pipecat stays connected only after item_retrieve_invalid_item_id. A
# remedy may follow.
_REFUSALS: dict[Refusal, tuple[str, str | None]] = {
    "call_id_taken": (
        "Error adding item: a function call with call_id '{call_id}' already exists. Use another call_id.",
        "item.call_id",
    ),
    "conversation_already_has_active_response": (
        "Conversation already has an active response in progress: {response_id}. Wait until the response is finished "
        "before creating a new one.",
        None,
    ),
    "input_audio_buffer_commit_empty": (
        "Error committing input audio buffer: buffer too small. Expected at least 100ms of audio, but buffer only has "
        "{buffer_ms:.2f}ms of audio.",
        None,
    ),
    "invalid_approval_request_id": (
        "Error adding item: there is no unanswered approval request with id '{approval_request_id}'.",
        "item.approval_request_id",
    ),
    "invalid_tool_call_id": ("Tool call ID '{call_id}' not found in conversation.", "item.call_id"),
    "item_create_duplicate_item_id": (
        "Error adding item: an item with id '{item_id}' already exists. Leave the id out to be given one.",
        "item.id",
    ),
    "item_create_invalid_previous_item_id": (
        "Error adding item: the previous item with id '{previous_item_id}' does not exist. Use 'root' for the "
        "beginning, or leave previous_item_id out for the end.",
        "previous_item_id",
    ),
    "item_delete_invalid_item_id": ("Error deleting item: the item with id '{item_id}' does not exist.", "item_id"),
    "item_retrieve_invalid_item_id": ("Error retrieving item: the item with id '{item_id}' does not exist.", "item_id"),
    "item_truncate_invalid_item_id": ("Error truncating item: the item with id '{item_id}' does not exist.", "item_id"),
    "item_truncate_too_long": (
        "Audio content of {audio_ms}ms is already shorter than {audio_end_ms}ms.",
        "audio_end_ms",
    ),
    "output_audio_buffer_clear_empty": ("Nothing is being played.", None),
    "response_cancel_not_active": ("Cancellation failed: no active response found", "response_id"),
    "response_input_invalid_item_id": (
        "Error creating response: the item with id '{item_id}' does not exist.",
        "response.input[{index}].id",
    ),
    "response_input_invalid_tool_call_id": (
        "Tool call ID '{call_id}' not found in conversation or input.",
        "response.input[{index}].call_id",
    ),
    "too_many_responses": (
        "{count} responses outside of the conversation are in progress already. Wait until one of them is finished.",
        "response.conversation",
    ),
    "too_many_recordings": (
        "Error adding item: too many recordings wait for their transcript. Wait for one to be transcribed.",
        "item.content",
    ),
    "unsupported_content_type": ("Only model output audio messages can be truncated", "item_id"),
}


def refused(refusal: Refusal, event_id: str | None, about: Mapping[str, object]) -> ProtocolError:
    """Builds the error for a refusal; `about`: the ids and amounts that its message names."""
    message, param = _REFUSALS[refusal]
    values = _MessageValues(about)
    param = None if param is None else param.format_map(values)
    return ProtocolError(CODES.get(refusal, refusal), message.format_map(values), param, event_id)


class _MessageValues(dict[str, object]):
    """Values of a message; an unknown value is 0, so that formatting never fails."""

    def __missing__(self, _name: str) -> object:
        return 0
