"""Speech to text by faster-whisper."""
