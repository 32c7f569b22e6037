"""Tells operators of the server: log, health, load, metrics and the stream of turn records.

May import `process` and `wire`.
"""
