"""Computes speaker embeddings: 256 numbers that are similar for speech of the same person.

Imports nothing of the other rooms of `audio`. `assistant/speakers/` decides who speaks.
"""
