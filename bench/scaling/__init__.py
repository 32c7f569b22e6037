"""Parts of `bench.scale`: inputs, limits and cost of many conversations.

May import nothing else of the benches.
"""
