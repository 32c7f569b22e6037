"""Checks that the server makes at its start, and `repartee doctor` for a person."""
