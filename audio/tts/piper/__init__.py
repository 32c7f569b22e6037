"""The voice Piper: neural, one model per voice."""
