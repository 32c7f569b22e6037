"""Common parts of the voices that compute a sentence in pieces in a thread of this process.

It may import from `audio.tts` and `audio`, but no engine's package.
"""
