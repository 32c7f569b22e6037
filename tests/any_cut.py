"""A text fed to the filter for speech, or to the chunker, as a whole, in pieces, and character by character."""

from assistant.text.chunker import Chunker
from assistant.text.normalization.reading import spoken
from assistant.text.speakable import Speakable


def over_any_cut(text: str) -> set[str]:
    """What is said of `text`: one answer where the cut into tokens does not matter."""
    cuts = [[text], list(text)] + [[text[:cut], text[cut:]] for cut in range(1, len(text))]
    return {_said(tokens) for tokens in cuts}


def _said(tokens: list[str]) -> str:
    out = Speakable()
    return ("".join([out.feed(token) for token in tokens]) + out.finish()).strip()


def chunks_of(tokens: list[str]) -> list[str]:
    """The chunks of a reply that comes in these tokens."""
    sentences = Chunker()
    units = [unit for token in tokens for unit in sentences.feed(token)]
    return [unit.text for unit in (*units, *sentences.finish())]


def heard_over_any_cut(text: str, language: str = "en") -> set[str]:
    """What a voice is given for `text`: one answer where no cut, of tokens or of chunks, falls into an expression."""
    ways = [[text], list(text), [text[at : at + 3] for at in range(0, len(text), 3)]]
    return {" ".join(spoken(chunk, language) for chunk in chunks_of(tokens)) for tokens in ways}
