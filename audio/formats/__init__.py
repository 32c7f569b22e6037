"""Formats of sound in files, requests and calls: reads, writes and converts them.

May import the modules of `audio` that know no engine.
"""
