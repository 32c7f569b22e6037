"""Hands conversations over to other gateways, through Redis.

May import `access`, `limits`, `observation`, `session` and `wire`.
"""
