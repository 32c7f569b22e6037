"""Decides which requests the server answers: by origin, token, client secret, rate and size.

May import `wire`.
"""
