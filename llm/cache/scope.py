"""Names what an answer depends on besides the request: answers are valid only within one scope."""

import json
from collections.abc import Sequence
from hashlib import blake2b

from llm.chat import ChatOptions, Message

VERSION = 1
"""Changes when stored answers become invalid, for example because the rules of what may be stored have changed."""


def scope_of(messages: Sequence[Message], options: ChatOptions, *, language: str, answered_by: str) -> str:
    """Returns a hash of the instructions, a greeting, the language, the language models and the tools.

    `answered_by`: names the endpoints with their models and settings.
    """
    begins = next((number for number, message in enumerate(messages) if message.role == "user"), len(messages))
    instructions = [
        message.content for number, message in enumerate(messages) if message.role == "system" or number < begins
    ]
    functions = [(one.name, one.description, one.parameters) for one in options.functions]
    parts = [VERSION, language, answered_by, instructions, functions, options.choice, options.max_tokens]
    return blake2b(json.dumps(parts).encode(), digest_size=12).hexdigest()
