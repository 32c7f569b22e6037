"""Screens of the program, and what its commands cost.

May import nothing else of the benches.
"""
