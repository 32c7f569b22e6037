"""Writes a kept conversation as Markdown or JSON. Pure. No sound is kept, so none is exported."""

import json
from datetime import UTC, datetime

from assistant.history.items import AssistantMessage, UserMessage, without_resumed_rests
from assistant.history.shown_speakers import shown_speakers
from assistant.storage.conversation_file import KeptConversation

_UNSAFE = {ord(char): None for char in map(chr, (*range(9), *range(11, 32), 127))}


def message_objects(kept: KeptConversation) -> list[dict[str, object]]:
    """Returns what was said. Of a reply that was not heard to its end, `text` has the words heard; `complete` is false.

    `speaker`: the label of who spoke, if it is known.

    A reply that was written in another form than it was spoken also has `markup`, and `unheard` if it was not heard to
    its end: what was written after the words heard, unless the next reply is that rest, after a false interruption.
    """
    messages: list[dict[str, object]] = []
    for item in without_resumed_rests(kept.items):
        if isinstance(item, UserMessage) and item.text:
            known = {"speaker": item.speaker} if item.speaker else {}
            messages.append({"role": "user", "text": item.text, "spoken": item.spoken, "complete": True, **known})
        elif isinstance(item, AssistantMessage) and (item.text or item.unheard):
            others = {"markup": item.markup, "unheard": item.unheard}
            message = {"role": "assistant", "text": item.text, "spoken": True, "complete": item.complete}
            messages.append({**message, **{name: text for name, text in others.items() if text}})
    return messages


def as_json(kept: KeptConversation) -> str:
    """Returns the conversation as JSON."""
    changed_at = datetime.fromtimestamp(kept.changed_s, UTC).isoformat(timespec="seconds")
    described = {"id": kept.id, "title": kept.title, "began_at": kept.began_at, "changed_at": changed_at}
    return json.dumps({**described, "messages": message_objects(kept)}, ensure_ascii=False, indent=2) + "\n"


def as_markdown(kept: KeptConversation) -> str:
    """Returns the conversation as Markdown."""
    lines = [f"# {kept.title or 'Conversation'}", f"Began {kept.began_at}." if kept.began_at else ""]
    messages = message_objects(kept)
    names = shown_speakers(str(message.get("speaker", "")) for message in messages)
    for message, name in zip(messages, names, strict=True):
        who = (name or "You") if message["role"] == "user" else "Repartee"
        note = "" if message["complete"] else "*(interrupted)*"
        text = str(message.get("markup", message["text"])).translate(_UNSAFE)
        begin, end = ("\n\n", "\n\n") if _has_blocks(text) else (" ", " ")
        lines.append(f"**{who}:**{begin}{text}{end + note if note else ''}" if text else f"**{who}:** {note}")
        if unheard := str(message.get("unheard", "")).translate(_UNSAFE).strip():
            lines.append(f"*(not heard)*{chr(10) * 2 if _has_blocks(unheard) else ' '}{unheard}")
    return "\n\n".join(filter(None, lines)) + "\n"


def _has_blocks(text: str) -> bool:
    """Returns whether a text has several lines, so that it does not follow a name on the same line."""
    return "\n" in text.strip()
