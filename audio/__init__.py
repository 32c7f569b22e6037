"""Samples: frames in, voice activity, speech to text, text to speech, sound out."""
