"""How a stretch of speech ended, by its sound: prosody, and Smart Turn."""
