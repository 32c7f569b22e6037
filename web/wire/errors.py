"""What a client is told went wrong. An error ends nothing: the session lives on."""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["invalid_request_error", "server_error"]


@dataclass(frozen=True, slots=True)
class ProtocolError:
    """An `error` event to be.

    Attributes:
        code: For programs.
        message: For people: what, where, and what is allowed. Never what somebody said.
        param: The field it is about, as a path; None: the whole event.
        event_id: Of the client's event it is about; None where it gave none.
        kind: Whose fault it is.
    """

    code: str
    message: str
    param: str | None = None
    event_id: str | None = None
    kind: Kind = "invalid_request_error"


Refusal = Literal[
    "call_id_not_found",
    "call_id_taken",
    "conversation_already_has_active_response",
    "input_audio_buffer_commit_empty",
    "item_id_taken",
    "item_not_found",
    "item_truncate_not_assistant",
    "item_truncate_too_long",
    "nothing_to_answer",
    "output_audio_buffer_clear_empty",
    "previous_item_not_found",
    "response_cancel_not_active",
]
"""Why the core does not do what a well-formed command asks: the error's code."""

_REFUSALS: dict[Refusal, tuple[str, str | None]] = {
    "call_id_not_found": ("no function call of this call_id is in the conversation", "item.call_id"),
    "call_id_taken": ("a function call of this call_id is in the conversation already", "item.call_id"),
    "conversation_already_has_active_response": (
        "a response is under way; wait for its response.done or send response.cancel first",
        None,
    ),
    "input_audio_buffer_commit_empty": (
        "no words were heard in the input audio buffer; append at least 100 ms of speech before committing",
        None,
    ),
    "item_id_taken": ("the conversation has an item of this id already; leave the id out to be given one", "item.id"),
    "item_not_found": ("the conversation has no item of this id", "item_id"),
    "item_truncate_not_assistant": ("only a spoken message of the assistant can be truncated", "item_id"),
    "item_truncate_too_long": (
        "audio_end_ms is later than the end of the item's audio, or of what a truncation left of it",
        "audio_end_ms",
    ),
    "nothing_to_answer": ("there is nothing to answer yet; create an item or commit audio first", None),
    "output_audio_buffer_clear_empty": ("nothing is being played", None),
    "previous_item_not_found": (
        "the conversation has no item of this id; use 'root' for the beginning, or leave it out for the end",
        "previous_item_id",
    ),
    "response_cancel_not_active": ("there is no such response under way", "response_id"),
}


def refused(refusal: Refusal, event_id: str | None) -> ProtocolError:
    """The error that tells a client of a refusal."""
    message, param = _REFUSALS[refusal]
    return ProtocolError(refusal, message, param, event_id)
