"""Runs sessions on the sockets of clients, which may be lost and replaced, with the engines that they share.

May import `access`, `client_audio`, `handover`, `limits`, `observation`, `phone`, `process`, `rooms`, `session`,
`sockets` and `wire`.
"""
