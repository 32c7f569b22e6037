"""Audio input and output, voice activity detection, speech to text and text to speech."""
