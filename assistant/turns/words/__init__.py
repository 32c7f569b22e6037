"""Judges recognized words: backchannels, speech to others, evidence of speech, the wake phrase.

May import `settings`.
"""
