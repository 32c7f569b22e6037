"""The history of a conversation: its items, what the model sees of it, and which words of a reply were heard."""
