"""The OpenAI Realtime protocol, without I/O: converts client messages to commands, and session events to messages.

May import nothing else of the server.
"""
