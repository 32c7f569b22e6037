"""Constants of the audio of all voices: chunk length, pauses and the text that loudness is measured on."""

from audio.units import reply_samples_of_ms

CHUNK_SAMPLES = reply_samples_of_ms(100)
"""Length of every chunk but the last: half of the allowed 200 ms, so that an interruption takes effect sooner."""

SENTENCE_PAUSE_MS = 120
"""Silence after a sentence. espeak-ng produces 300 ms, also where nothing ends the text."""

CLAUSE_PAUSE_MS = 60
"""Silence after any other text. espeak-ng produces 150 ms after a comma."""

LOUDNESS_REFERENCE = "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20"
"""Text that loudness is measured on: voices of all languages speak digits, but not all speak Latin letters."""
