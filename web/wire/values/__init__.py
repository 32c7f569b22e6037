"""Errors, ids, settings and readers of fields that all parts of the protocol use.

May import nothing else of the protocol.
"""
