"""PortAudio in one thread: lists the sound cards and opens streams with the parameters of each host API."""
