"""The voice Hibari: neural and small, American English, the whole model in the package hibari-tts.

It may import from `audio.tts.streaming`, `audio.tts` and `audio`, but no other engine's package.
"""
