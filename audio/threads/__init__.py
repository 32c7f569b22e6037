"""Runs an engine in a thread of its own, and loads it once for all who need it.

May import the modules of `audio` that know no engine.
"""
