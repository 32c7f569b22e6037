"""Remembers a user across conversations: short dated sentences in the user's own words.

May import `support`, and the interfaces `llm.chat`, `llm.cache` and `llm.errors`. `assistant/setup/answering` connects
it with the conversations.
"""
