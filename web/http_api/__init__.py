"""HTTP endpoints of OpenAI's API beside the WebSocket: client secrets, models, speech and transcriptions."""
