"""`repartee talk --server`: a conversation that a server holds, at this machine's microphone and loudspeaker."""
