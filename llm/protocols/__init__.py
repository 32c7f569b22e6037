"""Declarations of protocols: what one package says about the LLM endpoints of its kind, so that nothing else has to.

It may import `declarations`, `llm.chat` and the standard library, and what it imports on use only.
"""
