"""Spelling. Found by a pattern, not by a template: the word is any word, and must stay as it was heard."""

from assistant.skills.language import Spelling

_MOST_LETTERS = 45


def spelling_of(words: tuple[str, ...], spelling: Spelling) -> str | None:
    """The answer to a request to spell a word, or two; None if `words` are no such request.

    Args:
        words: Lower case, as they were heard, without the politeness around them.
        spelling: How people ask in this language.
    """
    text = " ".join(words)
    found = next((found for request in spelling.requests if (found := request.fullmatch(text))), None)
    if found is None:
        return None
    spelled = found["word"].split()
    bare = [word.replace("'", "") for word in spelled]
    if not 1 <= len(bare) <= 2 or sum(map(len, bare)) > _MOST_LETTERS:
        return None
    if not all(word.isalpha() for word in bare) or (spelling.not_spelled & set(spelled) and len(spelled) > 1):
        return None
    if spelled[0] in spelling.pronouns:  # which word that is, only a model may know
        return None
    # Between letters a comma makes a voice pause; capitals make it say the letter's name.
    return ". ".join(", ".join(spelling.letters.get(letter, letter.upper()) for letter in word) for word in bare) + "."
