"""Measures who speaks: the focus on one voice beside another person, a television and babble, and the embedder itself.

May import nothing else of the benches.
"""
