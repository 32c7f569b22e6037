"""PortAudio, owned by one thread; which cards there are, and how each host API wants them opened."""
