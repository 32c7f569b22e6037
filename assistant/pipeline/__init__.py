"""The running conversation: audio input, replies, engine recovery and the trace of each turn. Read session.py first."""
