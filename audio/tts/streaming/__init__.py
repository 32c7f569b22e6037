"""Common parts of the voices that load a model, ask it in one thread, and give a sentence in pieces.

It may import from `audio.tts` and `audio`, but no engine's package.
"""
