"""Runs a server and speaks recordings to it as clients would, and notes what is heard.

May import `controlled_llm`.
"""
