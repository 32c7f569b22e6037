"""Holds what is the same for all engines and protocols: settings, models to download, and the word on a missing extra.

It imports only the standard library.
"""
