"""Spelling. Found by a pattern, not by a template: the word is any word, and must stay as it was heard."""

import re

# Bare words without their politeness. "what's" and "litre" have not been made "what is" and "liter" yet.
_REQUEST = re.compile(
    r"(?:(?:how|can|could|would) (?:do|does|would|can|could|should) (?:you|i|we|one) spell"
    r"|how to spell|spell(?: out)?(?: for me)?|(?:what is|what's|whats) the spelling (?:of|for))"
    r"(?: the (?:word|name))? (?P<word>.+)"
    r"|how (?:is|do you write)(?: the (?:word|name))? (?P<written>.+?)(?: (?:spelled|spelt|written))?"
)
_ASKS_HOW_WRITTEN = re.compile(r"how is .+ (?:spelled|spelt|written)|how do you write the (?:word|name) .+")
_MOST_LETTERS = 45
# A run of words with one of these is a sentence about spelling.
_NOT_SPELLED = frozenset(
    "a an and any backwards correctly for in it like like me my of on or out spell that the this to with without words "
    "your yourself".split()
)
EVERYDAY = (
    "necessary accommodate mississippi rhythm embarrass separate definitely restaurant receive because beautiful "
    "february wednesday tomorrow friend science weather knowledge language bicycle queue colonel schedule calendar "
    "neighbor psychology photograph elephant chocolate vegetable"
).split()
"""Words people ask the spelling of, for the sample."""


def spelling_of(words: tuple[str, ...]) -> str | None:
    """The answer to a request to spell a word, or two; None if `words` are no such request.

    Args:
        words: Lower case, as they were heard, without the politeness around them.
    """
    text = " ".join(words)
    found = _REQUEST.fullmatch(text)
    if found is None or (found["word"] is None and not _ASKS_HOW_WRITTEN.fullmatch(text)):
        return None
    spelled = (found["word"] or found["written"]).split()
    bare = [word.replace("'", "") for word in spelled]
    if not 1 <= len(bare) <= 2 or sum(map(len, bare)) > _MOST_LETTERS:
        return None
    if not all(word.isalpha() for word in bare) or (_NOT_SPELLED & set(spelled) and len(spelled) > 1):
        return None
    if spelled[0] in ("it", "that", "this", "words"):  # which word that is, only a model may know
        return None
    # Between letters a comma makes a voice pause; capitals make it say the letter's name.
    return ". ".join(", ".join(word.upper()) for word in bare) + "."
