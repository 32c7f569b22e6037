"""A cascade of two detectors: the one of WebRTC activates Silero."""
