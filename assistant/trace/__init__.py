"""The books of a conversation: facts of a turn while they happen, the record they become, and its way to disk."""
