"""Language models: their endpoints, routing, the answer cache and documents.

May import `controlled_llm` and `piper`.
"""
