"""Describes how a reply ended: the event for clients, its tokens, whether all of it was heard."""

from assistant.events import ReplySent
from assistant.pipeline.reply import Reply


def heard_completely(reply: Reply) -> bool:
    """Returns whether the reply answered without an error and no part of it was left out."""
    return reply.answered and reply.error is None and not reply.unheard and not reply.unsynthesized


def reply_sent_event(reply: Reply) -> ReplySent:
    """Returns the event for a reply whose audio was sent completely."""
    finished = reply.finished
    if reply.filtered:
        return ReplySent(reply.id, reply.spoken_transcript.text, None, "content_filter", *tokens_of(reply))
    reason = None if finished is None else finished.reason
    incomplete = reason if reason in {"length", "content_filter"} else None
    return ReplySent(reply.id, reply.spoken_transcript.text, reply.error, incomplete, *tokens_of(reply))


def tokens_of(reply: Reply) -> tuple[int | None, int | None, int | None]:
    """Returns prompt, completion and cached tokens as the service counts them; None where it did not say."""
    found = reply.finished
    return (None, None, None) if found is None else (found.prompt_tokens, found.completion_tokens, found.cached_tokens)
