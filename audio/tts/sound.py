"""What all voices' sound has in common: its chunks, its pauses, and what its loudness is measured on."""

from audio.units import reply_samples_of_ms

CHUNK_SAMPLES = reply_samples_of_ms(100)
"""Every chunk but the last. Half of what the port allows: an interruption waits for less."""

SENTENCE_PAUSE_MS = 120
"""The silence kept after a sentence. espeak-ng gives 300, and as much where nothing ends the unit."""

CLAUSE_PAUSE_MS = 60
"""The same after anything else. espeak-ng gives 150 after a comma."""

LOUDNESS_REFERENCE = "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20"
"""What the loudness is measured on: digits are spoken in the language of every voice, letters are not."""
