"""The voice espeak-ng: robotic, about 140 languages and dialects."""
