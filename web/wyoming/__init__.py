"""Wyoming, the protocol of voice services in homes, over TCP or a Unix socket (docs/serving.md).

May import `access`, `client_audio`, `limits`, `sockets` and `wire`.
"""
