"""Writes the events of turn taking as lines, and reads them for replay.

May import `events`, `settings` and `words`.
"""
