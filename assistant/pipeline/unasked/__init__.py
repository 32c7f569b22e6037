"""Begins replies that nobody has asked for: what rings, and announcements of other programs."""
