"""Remembers a turn, an attempt, an overlap and waiting turns; `states.py` has the states of the machine.

May import `effects`, `events`, `settings` and `words`.
"""
