"""Parts of `bench.serve`: its scenarios, rows, figures, tables and plots.

May import `controlled_llm`, `conversations` and `end_of_turn`.
"""
