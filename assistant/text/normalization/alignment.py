"""From what was spoken back to what was written: "12 km" is heard as "twelve kilometers"."""

from bisect import bisect_right
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise


@dataclass(frozen=True, slots=True)
class Alignment:
    """Where in the written text one is, after so much of the spoken text.

    Attributes:
        spoken_ends: Places in the spoken text, in order.
        written_ends: The places in the written text that they answer to.
    """

    spoken_ends: tuple[int, ...]
    written_ends: tuple[int, ...]

    def written(self, spoken_end: int) -> int:
        """How much was written of what was spoken up to here; an expression counts when all of it was spoken."""
        at = bisect_right(self.spoken_ends, spoken_end) - 1
        return self.written_ends[at] if at >= 0 else 0


def align(written: str, spoken: str) -> Alignment:
    """Align two texts word by word: equal words answer each other, what differs does so as a whole."""
    ours, theirs = _word_ends(written), _word_ends(spoken)
    matcher = SequenceMatcher(None, [word for word, _ in ours], [word for word, _ in theirs], autojunk=False)
    pairs = [(0, 0)]
    for tag, _, our_end, their_start, their_end in matcher.get_opcodes():
        if tag == "equal":
            shift = our_end - their_end
            pairs += [(theirs[at][1], ours[at + shift][1]) for at in range(their_start, their_end)]
        elif their_end > their_start or our_end:
            spoken_end = theirs[their_end - 1][1] if their_end else 0
            pairs.append((spoken_end, ours[our_end - 1][1] if our_end else 0))
    kept = [pair for pair, after in pairwise([*pairs, (len(spoken) + 1, 0)]) if pair[0] < after[0]]
    return Alignment(tuple(end for end, _ in kept), tuple(end for _, end in kept))


def _word_ends(text: str) -> list[tuple[str, int]]:
    ends, at = [], 0
    for word in text.split():
        at = text.index(word, at) + len(word)
        ends.append((word, at))
    return ends
