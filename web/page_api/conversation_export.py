"""Writes a kept conversation as Markdown or JSON. Pure. No sound is kept, so none is exported."""

import json
from datetime import UTC, datetime

from assistant.history.items import AssistantMessage, UserMessage
from assistant.storage.conversation_file import KeptConversation

_UNSAFE = {ord(char): None for char in map(chr, (*range(9), *range(11, 32), 127))}


def message_objects(kept: KeptConversation) -> list[dict[str, object]]:
    """Returns what was said. Of a reply that was not heard to its end, only the words heard; `complete` is false."""
    messages: list[dict[str, object]] = []
    for item in kept.items:
        if isinstance(item, UserMessage) and item.text:
            messages.append({"role": "user", "text": item.text, "spoken": item.spoken, "complete": True})
        elif isinstance(item, AssistantMessage) and item.text:
            messages.append({"role": "assistant", "text": item.text, "spoken": True, "complete": item.complete})
    return messages


def as_json(kept: KeptConversation) -> str:
    """Returns the conversation as JSON."""
    changed_at = datetime.fromtimestamp(kept.changed_s, UTC).isoformat(timespec="seconds")
    described = {"id": kept.id, "title": kept.title, "began_at": kept.began_at, "changed_at": changed_at}
    return json.dumps({**described, "messages": message_objects(kept)}, ensure_ascii=False, indent=2) + "\n"


def as_markdown(kept: KeptConversation) -> str:
    """Returns the conversation as Markdown."""
    lines = [f"# {kept.title or 'Conversation'}", f"Began {kept.began_at}." if kept.began_at else ""]
    for message in message_objects(kept):
        who = "You" if message["role"] == "user" else "Repartee"
        note = "" if message["complete"] else " *(interrupted)*"
        lines.append(f"**{who}:** {str(message['text']).translate(_UNSAFE)}{note}")
    return "\n\n".join(filter(None, lines)) + "\n"
