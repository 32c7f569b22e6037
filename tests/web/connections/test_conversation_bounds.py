"""The documented bounds of what one conversation may hold are those of the code."""

from pathlib import Path

import pytest

from assistant.history import items, prompt_limits
from assistant.pipeline import out_of_band, reply_production
from assistant.support import background_writer
from audio.stt.whisper import stream
from web.client_audio import audio_backlog, item_sounds
from web.connections import client_socket
from web.session import recording_transcriber

PAGE = Path(__file__).parents[3] / "docs" / "serving.md"


def mib(size: int) -> str:
    """Returns a size as documented. Fails if it is no whole number of MiB."""
    assert size % (1 << 20) == 0
    return f"{size >> 20} MiB"


BOUNDS = {
    "sound ahead of real time": (
        f"{mib(audio_backlog.MAX_BYTES)}; {mib(audio_backlog.MAX_BYTES_OF_ALL)} for all conversations, of which each "
        f"may have {mib(audio_backlog.MIN_BYTES)}"
    ),
    "sound that waits for the recognizer": f"{stream.MAX_BACKLOG_S:g} s",
    "recordings that wait for their transcript": (
        f"{recording_transcriber.MAX_WAITING}, {mib(recording_transcriber.MAX_WAITING_BYTES)}; "
        f"{mib(recording_transcriber.MAX_WAITING_BYTES_OF_ALL)} for all conversations"
    ),
    "events that wait for a client": (
        f"{client_socket.MAX_WAITING_CHARS:,} characters, then replies wait; "
        f"{4 * client_socket.MAX_WAITING_CHARS:,}, then it is closed"
    ),
    "history": (
        f"{prompt_limits.MAX_ITEMS:,} items or {prompt_limits.MAX_ITEMS_PER_TURN} for each turn of the prompt, "
        f"{prompt_limits.MAX_TOKENS:,} tokens; {items.MAX_IMAGES} images, {items.MAX_IMAGE_CHARS:,} characters"
    ),
    "sound of items": f"{mib(item_sounds.MAX_BYTES)}, {item_sounds.MAX_ITEMS} items",
    "text of a reply that waits for the voice": f"{reply_production.MAX_QUEUED_CHUNKS} chunks, `llm.max_tokens` tokens",
    "responses outside of the conversation": f"{out_of_band.MAX_ANSWERS} at a time",
    "turn records that wait for the disk": f"{background_writer.MAX_WAITING:,}",
}


@pytest.mark.parametrize(("part", "bound"), BOUNDS.items(), ids=list(BOUNDS))
def test_documented_bound_is_that_of_the_code(part: str, bound: str) -> None:
    assert f"| {part} | {bound} |" in PAGE.read_text(encoding="utf-8").splitlines()
