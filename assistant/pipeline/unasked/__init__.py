"""Begins replies that nobody has asked for, and leaves others to a satellite in another room."""
