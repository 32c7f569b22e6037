"""Is the turn over? Words, sound and silence, fused into one probability and the wait that follows from it."""
