"""The server for browsers and Realtime clients, and the protocol they speak."""
