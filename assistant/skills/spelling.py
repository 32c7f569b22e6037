"""Spelling. It uses patterns, not templates, because any word may be spelled and it must stay as recognized."""

from assistant.skills.language import Spelling

_MAX_LETTERS = 45


def spelling_of(words: tuple[str, ...], spelling: Spelling) -> str | None:
    """Returns the answer to a request to spell one or two words; None if `words` are no such request.

    Args:
        words: Recognized words in lower case, without polite phrases.
        spelling: Spelling patterns of the language.
    """
    text = " ".join(words)
    found = next((found for request in spelling.requests if (found := request.fullmatch(text))), None)
    if found is None:
        return None
    spelled = found["word"].split()
    bare = [word.replace("'", "") for word in spelled]
    if not 1 <= len(bare) <= 2 or sum(map(len, bare)) > _MAX_LETTERS:
        return None
    if not all(word.isalpha() for word in bare) or (spelling.not_spelled & set(spelled) and len(spelled) > 1):
        return None
    if spelled[0] in spelling.pronouns:  # refers to a word that only a language model may know
        return None
    # A comma between letters makes a voice pause. Capitals make it say the name of the letter.
    return ". ".join(", ".join(spelling.letters.get(letter, letter.upper()) for letter in word) for word in bare) + "."
