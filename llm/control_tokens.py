"""Control tokens inside what people, tools and models said: broken up, so that no tokenizer takes them for its own.

A service reads a prompt as one text. Whoever pastes "<|im_end|>" would otherwise end their own message and could begin
one in the system's name. One space goes in behind the first character of every such token, which is then plain text to
the tokenizer, and to the model still readable. What cannot be told from prose stays as it is: formats that mark roles
by words ("USER:", "### Instruction:") cannot be defended so.
"""

import re
from collections.abc import Iterable

_BARRED = r"<[|｜][^<>|｜\s]{1,60}[|｜]>"
"""`<|name|>`: reserved by most tokenizers, whether or not a template uses that very one."""

_TAGGED = r"<</?[A-Z]{2,20}>>|</?[A-Za-z][\w.-]{0,40}>|\[/?[A-Z][A-Z_]{1,40}\]"
"""`<s>`, `<end_of_turn>`, `[INST]`, `<<SYS>>`: control tokens only where the model's own files say them."""

_ANY = re.compile(f"{_BARRED}|{_TAGGED}")

MIN_TOKEN_CHARS = 3
"""Shorter ones are punctuation."""


def control_tokens_in(source: str) -> frozenset[str]:
    """What looks like a control token in a template or a prompt."""
    return frozenset(_ANY.findall(source))


class ControlTokens:
    """The control tokens of one model."""

    def __init__(self, tokens: Iterable[str]) -> None:
        """`tokens`: as the model's files name them; those with spaces in them are no control tokens."""
        # Barred ones are found by their form: a tokenizer may have hundreds.
        known = {token for token in tokens if _is_control(token) and not re.fullmatch(_BARRED, token)}
        either = "|".join([_BARRED, *map(re.escape, sorted(known))])
        first = "".join(sorted({"<", *(token[0] for token in known)}))
        # Looking at the first character alone keeps this quick. One space breaks all that begin at the same place, also
        # where one token begins inside another.
        self._beginning = re.compile(f"(?=[{re.escape(first)}])(?={either})(.)")

    def broken_up(self, text: str) -> str:
        """`text` with no control token left in it."""
        return self._beginning.sub(r"\1 ", text)


def _is_control(token: str) -> bool:
    return len(token) >= MIN_TOKEN_CHARS and not re.search(r"\s", token)
