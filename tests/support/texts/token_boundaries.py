"""Feeds a text to `Speakable` or `Chunker` as a whole, in pieces, and character by character."""

from assistant.text.chunker import Chunker
from assistant.text.normalization.reading import spoken
from assistant.text.speakable import Speakable


def speakable_results(text: str) -> set[str]:
    """Returns all results for `text`; a single one if token boundaries do not matter."""
    cuts = [[text], list(text)] + [[text[:cut], text[cut:]] for cut in range(1, len(text))]
    return {_speakable_text(tokens) for tokens in cuts}


def _speakable_text(tokens: list[str]) -> str:
    out = Speakable()
    return ("".join([out.feed(token) for token in tokens]) + out.finish()).strip()


def chunks_of(tokens: list[str]) -> list[str]:
    """Returns the chunks of a reply that arrives in these tokens."""
    sentences = Chunker()
    units = [unit for token in tokens for unit in sentences.feed(token)]
    return [unit.text for unit in (*units, *sentences.finish())]


def spoken_results(text: str, language: str = "en") -> set[str]:
    """Returns all spoken forms of `text`; a single one if no token or chunk boundary divides an expression."""
    ways = [[text], list(text), [text[at : at + 3] for at in range(0, len(text), 3)]]
    return {" ".join(spoken(chunk, language) for chunk in chunks_of(tokens)) for tokens in ways}
