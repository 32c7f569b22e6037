"""Checks and parses what a client sends: events, commands, and settings of a session.

May import `home`, `items` and `values`.
"""
