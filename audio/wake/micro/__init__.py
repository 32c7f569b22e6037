"""The wake words of microWakeWord, by the package pymicro-wakeword. It imports `audio` only."""
