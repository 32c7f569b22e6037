"""Conversation items of the protocol: text, images, sound and MCP calls.

May import `values`.
"""
