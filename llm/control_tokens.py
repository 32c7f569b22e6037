"""Breaks up control tokens in texts of users, tools and models, so that no tokenizer recognizes them.

A service reads a prompt as one text. A pasted "<|im_end|>" would otherwise end its message and could begin a system
message. A space is inserted after the first character of every control token: the tokenizer then reads plain text, and
the model can still read it. Formats that mark roles by words ("USER:", "### Instruction:") cannot be protected in this
way, because they cannot be distinguished from prose.
"""

import re
from collections.abc import Iterable

_BARRED = r"<[|｜][^<>|｜\s]{1,60}[|｜]>"
"""`<|name|>`: most tokenizers reserve this form, whether or not the template uses the particular token."""

_TAGGED = r"<</?[A-Z]{2,20}>>|</?[A-Za-z][\w.-]{0,40}>|\[/?[A-Z][A-Z_]{1,40}\]"
"""`<s>`, `<end_of_turn>`, `[INST]`, `<<SYS>>`: control tokens only if the model's own files name them."""

_ANY = re.compile(f"{_BARRED}|{_TAGGED}")

MIN_TOKEN_CHARS = 3
"""Shorter tokens are punctuation."""


def control_tokens_in(source: str) -> frozenset[str]:
    """Returns the texts in a template or prompt that have the form of a control token."""
    return frozenset(_ANY.findall(source))


class ControlTokens:
    """The control tokens of one model."""

    def __init__(self, tokens: Iterable[str]) -> None:
        """Compiles the pattern. `tokens`: as the model's files name them; those with spaces are ignored."""
        # `<|name|>` tokens are matched by their form: a tokenizer may have hundreds of them.
        known = {token for token in tokens if _is_control(token) and not re.fullmatch(_BARRED, token)}
        either = "|".join([_BARRED, *map(re.escape, sorted(known))])
        first = "".join(sorted({"<", *(token[0] for token in known)}))
        # The test of the first character keeps the search fast. One space breaks all tokens that begin at the same
        # position, and matching one character at a time also finds a token that begins inside another.
        self._pattern = re.compile(f"(?=[{re.escape(first)}])(?={either})(.)")

    def break_up(self, text: str) -> str:
        """Returns `text` without any complete control token."""
        return self._pattern.sub(r"\1 ", text)


def _is_control(token: str) -> bool:
    return len(token) >= MIN_TOKEN_CHARS and not re.search(r"\s", token)
