"""Many conversations, other programs beside them, and hours of use.

May import `controlled_llm`, `conversations`, `doc_tables`, `serve` and `serving`.
"""
