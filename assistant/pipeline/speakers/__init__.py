"""Knows who speaks in the running conversation, where the configuration asks for it."""
