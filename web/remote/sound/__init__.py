"""Sound of a conversation on another server: plays late and uneven audio, and maps what was sent to the line.

May import nothing else of the client.
"""
