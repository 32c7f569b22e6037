"""Silero VAD v6."""
