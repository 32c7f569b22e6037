"""Large letters for the word that shows the state of the conversation. Pure."""

from assistant.events import Floor

ROWS = 3

_FONT = {
    "A": "·██· █··█ ████ █··█ █··█",
    "C": "·███ █··· █··· █··· ·███",
    "D": "███· █··█ █··█ █··█ ███·",
    "E": "████ █··· ███· █··· ████",
    "G": "·███ █··· █·██ █··█ ·███",
    "H": "█··█ █··█ ████ █··█ █··█",
    "I": "█ █ █ █ █",
    "K": "█··█ █·█· ██·· █·█· █··█",
    "L": "█··· █··· █··· █··· ████",
    "M": "█···█ ██·██ █·█·█ █···█ █···█",
    "N": "█··█ ██·█ █·██ █··█ █··█",
    "O": "·██· █··█ █··█ █··█ ·██·",
    "P": "███· █··█ ███· █··· █···",
    "R": "███· █··█ ███· █·█· █··█",
    "S": "·███ █··· ·██· ···█ ███·",
    "T": "███ ·█· ·█· ·█· ·█·",
    "U": "█··█ █··█ █··█ █··█ ·██·",
    "Y": "█·█ █·█ ·█· ·█· ·█·",
}
"""Five rows of dots for each letter needed. Two rows of dots are one row of the terminal."""

_HALVES = {"··": " ", "█·": "▀", "·█": "▄", "██": "█"}


def big(word: Floor) -> tuple[str, ...]:
    """Returns the word in letters three rows high; all rows have the same width."""
    letters = [_FONT[letter].split() for letter in word.upper()]
    dots = ["·".join(letter[row] for letter in letters) for row in range(5)]
    dots.append("·" * len(dots[0]))
    return tuple(
        "".join(_HALVES[upper + lower] for upper, lower in zip(dots[row], dots[row + 1], strict=True))
        for row in range(0, 2 * ROWS, 2)
    )
