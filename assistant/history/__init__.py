"""The history of a conversation: its items, the messages for the LLM, and which words of a reply were heard."""
