"""LLM text to speakable chunks: chunk boundaries, markup, and normalization for speech."""
