"""Accepts conversations within limits of number, load and time, and tells clients why one is refused or ends.

May import `observation`, `process` and `wire`.
"""
