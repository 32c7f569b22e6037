"""A text fed to the filter for speech as a whole, in two pieces, and character by character."""

from assistant.speakable import Speakable


def over_any_cut(text: str) -> set[str]:
    """What is said of `text`: one answer where the cut into tokens does not matter."""
    cuts = [[text], list(text)] + [[text[:cut], text[cut:]] for cut in range(1, len(text))]
    return {_said(tokens) for tokens in cuts}


def _said(tokens: list[str]) -> str:
    out = Speakable()
    return ("".join([out.feed(token) for token in tokens]) + out.finish()).strip()
