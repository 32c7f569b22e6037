"""State of a conversation on another server: its replies, typed texts, commands and record. No I/O.

May import nothing else of the client.
"""
