"""One client's Realtime session: carries out its commands, applies its settings and keeps its conversation.

May import `access`, `client_audio`, `limits`, `phone` and `wire`.
"""
