"""Turn taking alone: scenes, random conversations, and the session that they need."""
