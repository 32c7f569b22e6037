"""Sound cards without hardware."""
