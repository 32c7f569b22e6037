"""`repartee talk`: a conversation at this machine's microphone, as a screen or as lines."""
