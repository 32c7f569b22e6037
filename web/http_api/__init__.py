"""HTTP endpoints of the API beside the WebSocket: client secrets, models, speech, transcriptions and announcements.

May import `access`, `client_audio`, `limits`, `observation`, `rooms`, `session` and `wire`.
"""
