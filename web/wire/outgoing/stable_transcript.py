"""Finds the words of interim transcripts that will not change any more. Pure."""

from web.wire.values.session_config import Delay

_SIGHTINGS: dict[Delay, int] = {"minimal": 1, "low": 2, "medium": 3, "high": 4}
"""Interim transcripts in a row in which a word must be the same. With "xhigh" only the final transcript counts."""


class StableTranscript:
    """The transcript of one item while the user speaks. Its deltas add up to the final transcript.

    The last word of an interim transcript is never stable: it may be cut, and its punctuation is unknown. If the final
    transcript changes a word that was sent, the deltas after it go on from the same word count.
    """

    def __init__(self, delay: Delay) -> None:
        self._sightings = _SIGHTINGS.get(delay)
        self._recent: list[list[str]] = []
        self._sent: list[str] = []

    def add_interim(self, text: str) -> str:
        """Takes an interim transcript of all words so far. Returns the text that has become stable, or ""."""
        if self._sightings is None:
            return ""
        self._recent = [*self._recent, text.split()[:-1]][-self._sightings :]
        if len(self._recent) < self._sightings:
            return ""
        stable = self._recent[-1]
        for words in self._recent:
            same = next((at for at, (one, other) in enumerate(zip(stable, words, strict=False)) if one != other), None)
            stable = stable[: min(len(stable), len(words)) if same is None else same]
        return self._send(stable)

    @property
    def has_sent(self) -> bool:
        """Whether any text was returned."""
        return bool(self._sent)

    def finish(self, text: str) -> str:
        """Takes the final transcript. Returns what is still to be sent."""
        return self._send(text.split()) if self._sent else text

    def _send(self, words: list[str]) -> str:
        new = words[len(self._sent) :]
        joint = " " if self._sent and new else ""
        self._sent = [*self._sent, *new]
        return joint + " ".join(new)
