"""Holds the parts of declarations that are the same for all engines and protocols: settings, and models to download.

It imports only the standard library.
"""
