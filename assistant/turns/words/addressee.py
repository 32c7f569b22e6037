"""Classifies transcripts of speech during a reply that are not for the assistant, by their words alone. Pure.

The rules know English only. They need strong evidence, because a wrong one ignores the user: "call mom" and "text mom
that I'll be there in a minute" are for the assistant.
"""

import re
from typing import Literal

from assistant.turns.words.backchannel import is_backchannel

_NAMES = (
    "mom|mum|mommy|mummy|mama|dad|daddy|papa|grandma|grandpa|honey|hon|sweetie|sweetheart|darling|babe|baby|dear|buddy|"
    "kids|guys|boys|girls|everyone|everybody"
)
"""Words by which people call somebody in the room."""

_LEADS = (
    "(?:(?:hey|hi|no|yes|yeah|ok|okay|oh|sorry|wait|hold on|hang on|"
    "(?:just )?(?:a|one) (?:sec|second|minute|moment))[,.!]? )*"
)

_REQUESTS = re.compile(
    r"^(?:please |can you |could you |would you |will you )?(?:call|text|message|tell|ask|send|remind|write|add|note|"
    r"e-?mail|say|read|play|set|put|show|find|search|look|spell|translate|what|who|where|when|why|how)\b"
)
"""Beginnings of requests to the assistant, in which the other patterns may occur as content."""

_TO_OTHERS = re.compile(
    "|".join(
        (
            rf"^{_LEADS}(?:{_NAMES})(?:[,.!?]|$)",  # "Mom, …"
            rf"^{_LEADS}(?:mom|mum|mommy|dad|daddy|sweetie|sweetheart) (?:i'm|i am|i'll|wait|not now|please)\b",
            rf"[a-z,] ?, (?:{_NAMES})[.!?]*$",  # "… , honey."
            r"\bi(?:'m| am) (?:still |just )?(?:on the phone|on a call|in a call|in a meeting|on the line)\b",
            r"\b(?:talking|speaking) (?:to|with) (?:the|my|this|a) "
            r"(?:computer|machine|assistant|robot|phone|speaker)\b",
            r"\b(?:talking|speaking) to (?:somebody|someone) else\b",
            r"\bnot (?:talking|speaking) to you\b|\bwasn't (?:talking|speaking) to you\b|^no[,.]? not you\b",
            rf"^{_LEADS}(?:i'll |i will )?be (?:right )?(?:there|down|over)"
            r"(?: soon| in (?:a|one|two|five|ten)\b|[,.!]|$)",
            rf"^{_LEADS}i'm coming(?:[,.!]|$)",
            r"\bkeep it down\b",
        )
    )
)


def is_side_talk(text: str) -> bool:
    """Returns whether the words show that they are addressed to somebody else in the room."""
    words = " ".join(text.lower().replace("’", "'").split())
    return bool(_TO_OTHERS.search(words)) and not _REQUESTS.search(words)


def reason_to_ignore(text: str, *, reply_was_question: bool) -> Literal["", "overheard", "backchannel"]:
    """Returns why words that interrupted a reply get no answer; "" if they do.

    Args:
        text: The transcript of the turn.
        reply_was_question: The reply asked a question, so that "yeah" is an answer.
    """
    if is_side_talk(text):
        return "overheard"
    return "backchannel" if text and is_backchannel(text) and not reply_was_question else ""
