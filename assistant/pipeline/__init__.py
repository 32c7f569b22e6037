"""One conversation at run time: audio input, replies, recovery, and the trace of each turn. Read session.py first."""
