"""Maps positions in the spoken text to positions in the written text: "twelve kilometers" to "12 km"."""

from bisect import bisect_right
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise


@dataclass(frozen=True, slots=True)
class Alignment:
    """Position pairs of a spoken and a written text.

    Attributes:
        spoken_ends: Positions in the spoken text, ascending.
        written_ends: The corresponding positions in the written text.
    """

    spoken_ends: tuple[int, ...]
    written_ends: tuple[int, ...]

    def written(self, spoken_end: int) -> int:
        """Returns the length of the written text that was spoken up to `spoken_end`.

        An expression counts once all of it is spoken.
        """
        position = bisect_right(self.spoken_ends, spoken_end) - 1
        return self.written_ends[position] if position >= 0 else 0


def align(written: str, spoken: str) -> Alignment:
    """Aligns two texts by words. Equal words correspond to each other; differing passages correspond as a whole."""
    ours, theirs = _word_ends(written), _word_ends(spoken)
    matcher = SequenceMatcher(None, [word for word, _ in ours], [word for word, _ in theirs], autojunk=False)
    pairs = [(0, 0)]
    for tag, _, our_end, their_start, their_end in matcher.get_opcodes():
        if tag == "equal":
            shift = our_end - their_end
            pairs += [(theirs[index][1], ours[index + shift][1]) for index in range(their_start, their_end)]
        elif their_end > their_start or our_end:
            spoken_end = theirs[their_end - 1][1] if their_end else 0
            pairs.append((spoken_end, ours[our_end - 1][1] if our_end else 0))
    used = [pair for pair, after in pairwise([*pairs, (len(spoken) + 1, 0)]) if pair[0] < after[0]]
    return Alignment(tuple(end for end, _ in used), tuple(end for _, end in used))


def _word_ends(text: str) -> list[tuple[str, int]]:
    ends, position = [], 0
    for word in text.split():
        position = text.index(word, position) + len(word)
        ends.append((word, position))
    return ends
