"""HTTP endpoints of OpenAI's API beside the WebSocket: client secrets, models, speech and transcriptions.

May import `access`, `client_audio`, `limits`, `observation`, `session` and `wire`.
"""
