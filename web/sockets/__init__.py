"""Sockets that listen, encrypt, time out and apply backpressure, below ASGI.

May import `access` and `process`.
"""
