"""Microphone and loudspeaker on a sound card: opens the streams, supervises them and recovers lost ones."""
