"""Draws a QR code with the characters of a terminal."""

from collections.abc import Sequence

import segno

QUIET = 2
"""Light modules around the code; readers need some."""

_HALVES = {(0, 0): " ", (1, 0): "▀", (0, 1): "▄", (1, 1): "█"}


def qr_lines(text: str) -> Sequence[str]:
    """Returns the lines of a QR code, two rows of modules each. They must be printed dark on light."""
    rows = [list(row) for row in segno.make_qr(text, error="l").matrix_iter(border=QUIET)]
    rows += [[0] * len(rows[0])] * (len(rows) % 2)
    pairs = zip(rows[::2], rows[1::2], strict=True)
    return ["".join(_HALVES[above, below] for above, below in zip(*pair, strict=True)) for pair in pairs]
