"""Decides by state and settings: the start and end of a turn, overlaps, listening sounds.

May import `effects`, `events`, `settings`, `state` and `words`.
"""
