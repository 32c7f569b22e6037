"""Builds the event with the transcript of a recording in a message."""

from assistant.history.items import ItemId
from web.wire.items.items import JsonObject
from web.wire.outgoing.input_events import LOST_WORDS
from web.wire.outgoing.outbox import Outbox
from web.wire.outgoing.server_events import error_object


def tell_transcript(outbox: Outbox, item_id: ItemId, part: int, words: str | None, duration_s: float) -> None:
    """Sends the transcript of a content part of this length; None: the recording could not be transcribed."""
    of_part: JsonObject = {"item_id": item_id, "content_index": part}
    if words is None:
        error = {name: value for name, value in error_object(LOST_WORDS).items() if name != "event_id"}
        outbox.add("conversation.item.input_audio_transcription.failed", {**of_part, "error": error})
        return
    if words:
        outbox.add("conversation.item.input_audio_transcription.delta", {**of_part, "delta": words})
    usage: JsonObject = {"type": "duration", "seconds": round(duration_s, 3)}
    outbox.add(
        "conversation.item.input_audio_transcription.completed", {**of_part, "transcript": words, "usage": usage}
    )
