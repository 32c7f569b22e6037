"""The detector of WebRTC behind a noise gate."""
