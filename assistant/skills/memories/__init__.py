"""Remembers what the user asks to remember, forgets it, and tells it."""
