"""The sound of a client: its microphone, its loudspeaker, and the recordings that it sends.

May import `limits`, `process` and `wire`.
"""
