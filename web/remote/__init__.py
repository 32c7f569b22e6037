"""`repartee talk --server`: a conversation that runs on a server, with this machine's microphone and loudspeaker.

May import `access` and `wire`.
"""
