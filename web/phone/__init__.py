"""Telephone calls: media streams of a telephony provider, over a WebSocket at /v1/phone (docs/telephony.md).

May import `access`, `limits`, `observation`, `sockets` and `wire`.
"""
