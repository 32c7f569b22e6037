"""Decides in which of several languages an utterance is: pure, without I/O. It imports nothing of this program."""
