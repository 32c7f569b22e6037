"""Stores conversations in files, so that they can be resumed."""
